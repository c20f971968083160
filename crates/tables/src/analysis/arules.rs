//! Association rules: the Apriori algorithm finds frequent sets of values level by level; each set gives a
//! rule for each of its values that is implied by the others.

use std::collections::{HashMap, HashSet};

use eval::value::NumberText;

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Record, Rows};

/// Maximum number of values in a set.
const LARGEST: usize = 4;

/// Size of a set of values in memory, in bytes.
const SET: usize = 120;

/// A row for each rule, the strongest first.
#[derive(Debug)]
pub struct Arules {
    /// Minimum number of rows in which values must occur together.
    pub support: usize,
    /// Minimum confidence of a rule, from 0 to 1.
    pub confidence: f64,
    /// The fields whose values occur in rules.
    pub fields: Vec<String>,
}

/// Numbers of values, sorted.
type Items = Vec<u32>;

impl Operation for Arules {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let (names, events) = self.items(&rows)?;
        let frequent = self.frequent(&events, context)?;
        let mut rules: Vec<(Items, u32, f64)> = Vec::new();
        for (set, together) in frequent.iter().filter(|(set, _)| set.len() > 1) {
            for implied in set {
                let given: Items = set.iter().copied().filter(|item| item != implied).collect();
                let Some(support) = frequent.get(&given) else { continue };
                let strength = statistics::number(*together) / statistics::number(*support);
                if strength >= self.confidence {
                    rules.push((given, *implied, strength));
                }
            }
        }
        rules.sort_by(|a, b| {
            let support = |rule: &(Items, u32, f64)| frequent.get(&rule.0).copied();
            let strength = b.2.total_cmp(&a.2).then(support(b).cmp(&support(a)));
            strength.then(a.0.len().cmp(&b.0.len())).then((&a.0, a.1).cmp(&(&b.0, b.1)))
        });
        let name = |item: &u32| names[*item as usize].clone();
        let count = |items: &Items| frequent.get(items).copied().unwrap_or_default().to_string();
        let record = |(given, implied, strength): (Items, u32, f64)| -> Record {
            let cells = [
                ("Given fields", given.iter().map(name).collect()),
                ("Implied fields", vec![name(&implied)]),
                ("Strength", vec![NumberText::float(strength).to_string()]),
                ("Given fields support", vec![count(&given)]),
                ("Implied fields support", vec![count(&vec![implied])]),
            ];
            cells.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
        };
        Ok(Rows::of_records(rules.into_iter().map(record).collect()))
    }
}

impl Arules {
    /// Returns the value names, `field=value`, and the values of each row as indexes into them.
    fn items(&self, rows: &Rows) -> Result<(Vec<String>, Vec<Items>), Error> {
        let mut names = Vec::new();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut events = vec![Items::new(); rows.count];
        for field in &self.fields {
            for (event, list) in events.iter_mut().zip(rows.lists(field)?) {
                for value in list {
                    let name = format!("{field}={value}");
                    let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
                    event.push(*known.entry(name).or_insert_with_key(|name| {
                        names.push(name.clone());
                        next
                    }));
                }
            }
        }
        for event in &mut events {
            event.sort_unstable();
            event.dedup();
        }
        Ok((names, events))
    }

    /// Returns the frequent sets of values with their counts.
    fn frequent(
        &self,
        events: &[Items],
        context: &Context,
    ) -> Result<HashMap<Items, usize>, Error> {
        let most = context.limits.bytes / SET;
        let mut all: HashMap<Items, usize> = HashMap::new();
        let mut before: HashSet<Items> = HashSet::new();
        for size in 1..=LARGEST.min(self.fields.len().max(2)) {
            let mut counts: HashMap<Items, usize> = HashMap::new();
            for event in events {
                context.stop.check()?;
                if all.len() + counts.len() > most {
                    return Err(Error::Exhausted { message: self.too_many(context) });
                }
                // A set can be frequent only if all of its subsets are.
                let single = |item: &u32| all.contains_key(&vec![*item]);
                let items: Items =
                    event.iter().copied().filter(|item| size == 1 || single(item)).collect();
                subsets(&items, size, &mut Items::new(), &mut |set| {
                    let shorter = set
                        .split_last()
                        .is_none_or(|(_, rest)| rest.is_empty() || before.contains(rest));
                    if shorter {
                        *counts.entry(set.to_vec()).or_default() += 1;
                    }
                });
            }
            counts.retain(|_, count| *count >= self.support);
            before = counts.keys().cloned().collect();
            all.extend(counts);
            if before.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    fn too_many(&self, context: &Context) -> String {
        format!(
            "arules: the sets of values that occur together take more than {} MB, which is what a search may hold: \
             raise sup=, name fewer fields, or raise max_mem_usage_mb in limits.conf [search]",
            context.limits.bytes >> 20
        )
    }
}

/// Visits the subsets of a given size, in order.
fn subsets(items: &[u32], size: usize, chosen: &mut Items, visit: &mut dyn FnMut(&[u32])) {
    if chosen.len() == size {
        visit(chosen);
        return;
    }
    for (at, item) in items.iter().enumerate() {
        chosen.push(*item);
        subsets(&items[at + 1..], size, chosen, visit);
        chosen.pop();
    }
}

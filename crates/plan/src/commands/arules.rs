//! `arules`: values that imply others.
//!
//! Split: runs at the search head, over all rows. Sets of values that occur together often enough
//! are found level by level (Apriori); each gives a rule for each of its values that the others
//! imply.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use spl::ast::ArulesCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, sample};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Record, Rows, TableOp};
use crate::value::{NumberText, parse_number};

impl CommandPlan for ArulesCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Arules(self.clone()))))
    }
}

/// Values in a set at most.
const LARGEST: usize = 4;

#[derive(Debug)]
struct Arules(ArulesCommand);

/// Values of fields, sorted.
type Items = Vec<u32>;

#[async_trait]
impl TableOp for Arules {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let (names, events) = self.items(&rows)?;
        let frequent = self.frequent(&events);
        let confidence = parse_number(&self.0.conf).unwrap_or_default();
        let mut rules: Vec<(Items, u32, f64)> = Vec::new();
        for (set, together) in frequent.iter().filter(|(set, _)| set.len() > 1) {
            for implied in set {
                let given: Items = set.iter().copied().filter(|item| item != implied).collect();
                let Some(support) = frequent.get(&given) else { continue };
                let strength = sample::number(*together) / sample::number(*support);
                if strength >= confidence {
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
    /// The values of each row as numbers, and what they stand for: `field=value`.
    fn items(&self, rows: &Rows) -> Result<(Vec<String>, Vec<Items>), Error> {
        let mut names = Vec::new();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut events = vec![Items::new(); rows.count];
        for field in &self.0.fields {
            for (event, list) in events.iter_mut().zip(rows.lists(&field.node)?) {
                for value in list {
                    let name = format!("{}={value}", field.node);
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

    /// The sets of values that occur together often enough, and how often.
    fn frequent(&self, events: &[Items]) -> HashMap<Items, usize> {
        let least = usize::try_from(self.0.sup).unwrap_or(usize::MAX);
        let mut all: HashMap<Items, usize> = HashMap::new();
        let mut before: HashSet<Items> = HashSet::new();
        for size in 1..=LARGEST.min(self.0.fields.len().max(2)) {
            let mut counts: HashMap<Items, usize> = HashMap::new();
            for event in events {
                // A set can only be frequent if all that it holds is.
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
            counts.retain(|_, count| *count >= least);
            before = counts.keys().cloned().collect();
            all.extend(counts);
            if before.is_empty() {
                break;
            }
        }
        all
    }
}

/// Visits the subsets of a size, in order.
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

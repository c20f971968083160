//! The number of users that two items have in common.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// A row for each pair of items with a common user.
#[derive(Debug)]
pub struct Cofilter {
    /// The field with the users.
    pub user: String,
    /// The field with the items.
    pub item: String,
}

impl Operation for Cofilter {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let (users, items) = (rows.lists(&self.user)?, rows.lists(&self.item)?);
        let mut names: Vec<&str> = Vec::new();
        let mut number: HashMap<&str, usize> = HashMap::new();
        let mut of_user: HashMap<&str, HashSet<usize>> = HashMap::new();
        for (users, items) in users.iter().zip(&items) {
            for item in items {
                let next = names.len();
                let item = *number.entry(item).or_insert_with(|| {
                    names.push(item);
                    next
                });
                for user in users {
                    of_user.entry(user).or_default().insert(item);
                }
            }
        }
        let mut popular = vec![0_i64; names.len()];
        of_user.values().flatten().for_each(|item| popular[*item] += 1);
        // Orders items by popularity, then by their first occurrence.
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|item| Reverse(popular[*item]));
        let mut rank = vec![0; names.len()];
        order.iter().enumerate().for_each(|(at, item)| rank[*item] = at);
        let mut pairs: HashMap<(usize, usize), i64> = HashMap::new();
        let limit = context.limits.rows;
        let mut steps = context.steps();
        for items in of_user.values() {
            let mut ranks: Vec<usize> = items.iter().map(|item| rank[*item]).collect();
            ranks.sort_unstable();
            for (at, one) in ranks.iter().enumerate() {
                // A user with 100,000 items makes five billion pairs.
                steps.take(ranks.len() - at)?;
                for two in &ranks[at + 1..] {
                    *pairs.entry((*one, *two)).or_default() += 1;
                }
                if pairs.len() > limit {
                    let message = format!("cofilter finds more than {limit} pairs (a fixed limit)");
                    return Err(Error::Exhausted { message });
                }
            }
        }
        let mut pairs: Vec<((usize, usize), i64)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        let mut made = Rows::blank(pairs.len());
        let item = |at: usize| Some(names[order[at]]);
        let users = |at: usize| Some(popular[order[at]]);
        made.set_texts("Item 1", pairs.iter().map(|((one, _), _)| item(*one)));
        made.set_integers("Item 1 user count", pairs.iter().map(|((one, _), _)| users(*one)));
        made.set_texts("Item 2", pairs.iter().map(|((_, two), _)| item(*two)));
        made.set_integers("Item 2 user count", pairs.iter().map(|((_, two), _)| users(*two)));
        made.set_integers("Pair count", pairs.iter().map(|(_, count)| Some(*count)));
        Ok(made)
    }
}

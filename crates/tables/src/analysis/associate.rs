//! Correlations between values and fields: by how much the entropy of a field falls if another field has a
//! certain value.

use std::collections::HashMap;

use spl::ast::FieldPattern;

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Record, Rows};

/// A row for each value and each field whose entropy falls enough in the rows with this value.
#[derive(Debug)]
pub struct Associate {
    /// Minimum number of occurrences of a value.
    pub least_count: usize,
    /// Minimum share of the rows in which a value occurs, from 0 to 1.
    pub least_share: f64,
    /// Minimum decrease of the entropy, in bits.
    pub improvement: f64,
    /// The fields; all except internal ones if empty.
    pub fields: Vec<FieldPattern>,
}

/// A field with its values as integers.
struct Coded {
    name: String,
    values: Vec<String>,
    /// The value of each row.
    codes: Vec<Option<usize>>,
}

impl Coded {
    fn of(rows: &Rows, name: String) -> Result<Self, Error> {
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut values = Vec::new();
        let mut codes = Vec::with_capacity(rows.count);
        for text in rows.texts(&name)? {
            codes.push(text.map(|text| {
                *known.entry(text).or_insert_with_key(|text| {
                    values.push(text.clone());
                    values.len() - 1
                })
            }));
        }
        Ok(Self { name, values, codes })
    }
}

/// The counts of the values of a field.
struct Distribution {
    counts: Vec<usize>,
    total: usize,
}

impl Distribution {
    fn of(field: &Coded, rows: impl Iterator<Item = usize>) -> Self {
        let mut counts = vec![0; field.values.len()];
        let mut total = 0;
        for code in rows.filter_map(|row| field.codes[row]) {
            counts[code] += 1;
            total += 1;
        }
        Self { counts, total }
    }

    fn share(&self, code: usize) -> f64 {
        statistics::number(self.counts[code]) / statistics::number(self.total)
    }

    /// Returns the entropy in bits.
    fn entropy(&self) -> f64 {
        let occurring = (0..self.counts.len()).filter(|code| self.counts[*code] > 0);
        let bits = |code| {
            let share = self.share(code);
            -share * share.log2()
        };
        // `abs` and not `max(0.0)`, as the maximum of -0 and 0 may be either of them.
        occurring.map(bits).sum::<f64>().abs()
    }

    /// Returns the most frequent value; of equally frequent ones, the first.
    fn top(&self) -> Option<usize> {
        (0..self.counts.len()).rev().max_by_key(|code| self.counts[*code])
    }
}

impl Operation for Associate {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let names = rows.matching(&self.fields);
        let fields = names.into_iter().map(|name| Coded::of(&rows, name));
        let fields: Vec<Coded> = fields.collect::<Result<_, _>>()?;
        let all: Vec<Distribution> =
            fields.iter().map(|field| Distribution::of(field, 0..rows.count)).collect();
        let mut records = Vec::new();
        for (key, distribution) in fields.iter().zip(&all) {
            for value in self.supported(distribution, rows.count) {
                context.stop.check()?;
                let with: Vec<usize> =
                    (0..rows.count).filter(|row| key.codes[*row] == Some(value)).collect();
                for (target, before) in fields.iter().zip(&all) {
                    if target.name != key.name {
                        let after = Distribution::of(target, with.iter().copied());
                        let support =
                            statistics::number(with.len()) / statistics::number(rows.count);
                        records.extend(self.record(
                            (key, value),
                            target,
                            (before, &after),
                            support,
                        ));
                    }
                }
            }
        }
        Ok(Rows::of_records(records))
    }
}

impl Associate {
    /// Returns the values that occur often enough, the most frequent first.
    fn supported(&self, distribution: &Distribution, rows: usize) -> Vec<usize> {
        let least = self.least_share * statistics::number(rows);
        let often = |value: &usize| {
            let found = distribution.counts[*value];
            found >= self.least_count && statistics::number(found) >= least
        };
        let mut values: Vec<usize> = (0..distribution.counts.len()).filter(often).collect();
        values.sort_by_key(|value| std::cmp::Reverse(distribution.counts[*value]));
        values
    }

    fn record(
        &self,
        (key, value): (&Coded, usize),
        target: &Coded,
        (before, after): (&Distribution, &Distribution),
        support: f64,
    ) -> Option<Record> {
        let top = after.top().filter(|_| after.total > 0)?;
        let (wide, narrow) = (before.entropy(), after.entropy());
        if wide - narrow < self.improvement {
            return None;
        }
        let percent = |share: f64| format!("{:.2}%", share * 100.0);
        let cells = [
            ("Reference_Key", key.name.clone()),
            ("Reference_Value", key.values[value].clone()),
            ("Target_Key", target.name.clone()),
            ("Unconditional_Entropy", format!("{wide:.3}")),
            ("Conditional_Entropy", format!("{narrow:.3}")),
            ("Entropy_Improvement", format!("{:.3}", wide - narrow)),
            (
                "Top_Conditional_Value",
                format!(
                    "{} ({} -> {})",
                    target.values[top],
                    percent(before.share(top)),
                    percent(after.share(top))
                ),
            ),
            (
                "Description",
                format!(
                    "When '{}' has the value '{}', the entropy of '{}' decreases from {wide:.3} \
                     to {narrow:.3}.",
                    key.name, key.values[value], target.name
                ),
            ),
            ("Support", percent(support)),
        ];
        Some(cells.into_iter().map(|(name, text)| (name.to_owned(), vec![text])).collect())
    }
}

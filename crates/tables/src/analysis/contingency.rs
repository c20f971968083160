//! Contingency tables: how often values of two fields occur together.

use std::collections::HashMap;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{FreeNames, Rows};

/// The representation of the empty text.
const EMPTY: &str = "EMPTY_STR";

/// A table of the counts of pairs of values.
#[derive(Debug)]
pub struct Contingency {
    /// The field whose values become rows.
    pub rows: Side,
    /// The field whose values become columns.
    pub columns: Side,
    /// The name of the row and the column with totals; no totals if absent.
    pub total: Option<String>,
}

/// A field of a [`Contingency`].
#[derive(Debug)]
pub struct Side {
    /// Its name.
    pub field: String,
    /// Maximum number of values, the most common ones.
    pub most: usize,
    /// The minimum share of all values that the shown values cover, from 0 to 1.
    pub cover: f64,
}

impl Operation for Contingency {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let (ones, twos) = (rows.lists(&self.rows.field)?, rows.lists(&self.columns.field)?);
        let mut cells: HashMap<(&str, &str), i64> = HashMap::new();
        let (mut by_row, mut by_column) = (Counts::default(), Counts::default());
        for (one, two) in ones.iter().zip(&twos) {
            for (one, two) in one.iter().flat_map(|one| two.iter().map(move |two| (one, two))) {
                let (one, two) = (shown(one), shown(two));
                *cells.entry((one, two)).or_default() += 1;
                by_row.add(one);
                by_column.add(two);
            }
        }
        let row_names = by_row.most(&self.rows);
        let column_names = by_column.most(&self.columns);
        for (names, all, option) in
            [(&row_names, &by_row, "maxrows"), (&column_names, &by_column, "maxcols")]
        {
            if names.len() < all.known.len() && names.len() >= 1000 {
                let text = format!("contingency shows only the {} most common values", names.len());
                context.warn(format!("{text} ({option})"));
            }
        }
        let count = |row: &str, column: &str| cells.get(&(row, column)).copied().unwrap_or(0);
        let total = usize::from(self.total.is_some());
        let mut made = Rows::blank(row_names.len() + total);
        let names = row_names.iter().copied().chain(self.total.as_deref());
        made.set_texts(&self.rows.field, names.map(Some));
        let mut free = FreeNames::beside(&made);
        let mut sums = vec![0; made.count];
        for column in &column_names {
            let mut numbers: Vec<i64> = row_names.iter().map(|row| count(row, column)).collect();
            if self.total.is_some() {
                numbers.push(numbers.iter().sum());
            }
            sums.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum += number);
            made.push_integers(free.take(column), numbers.into_iter().map(Some));
        }
        if let Some(total) = &self.total {
            made.push_integers(free.take(total), sums.into_iter().map(Some));
        }
        Ok(made)
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { EMPTY } else { value }
}

/// The counts of values, in the order of their first occurrence.
#[derive(Debug, Default)]
struct Counts<'v> {
    known: HashMap<&'v str, usize>,
    counts: Vec<(&'v str, i64)>,
}

impl<'v> Counts<'v> {
    fn add(&mut self, value: &'v str) {
        let next = self.counts.len();
        let at = *self.known.entry(value).or_insert(next);
        if at == next {
            self.counts.push((value, 0));
        }
        self.counts[at].1 += 1;
    }

    /// Returns the most common values: as many as are needed to cover a share of all, up to the maximum.
    #[allow(clippy::cast_precision_loss)]
    fn most(&self, side: &Side) -> Vec<&'v str> {
        let mut sorted = self.counts.clone();
        sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all: i64 = sorted.iter().map(|(_, count)| count).sum();
        let wanted = side.cover * all as f64;
        let mut covered = 0;
        let mut names = Vec::new();
        for (name, count) in sorted.into_iter().take(side.most) {
            if covered as f64 >= wanted {
                break;
            }
            covered += count;
            names.push(name);
        }
        names
    }
}

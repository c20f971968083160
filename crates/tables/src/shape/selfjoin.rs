//! Joins the rows of a result with each other.
//!
//! Each row is joined with later rows that have equal values, up to `most` of them; the values of the later
//! row take precedence, and the result has its position. Rows with equal times are processed from the last
//! one on, as if the result were ordered newest first.

use std::collections::HashMap;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Rows, check_count, places};

/// A row for each pair of rows with equal values.
#[derive(Debug)]
pub struct Selfjoin {
    /// The fields that must have equal values.
    pub fields: Vec<String>,
    /// Maximum number of later rows that a row is joined with; 0 for all.
    pub most: u64,
    /// Whether the values of the later row take precedence.
    pub overwrite: bool,
    /// Whether rows without a match are kept.
    pub keep_single: bool,
}

impl Operation for Selfjoin {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let keys = rows.keys(&self.fields)?;
        let times = rows.numbers("_time")?;
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, key) in keys.iter().enumerate().rev() {
            if let Some(key) = key {
                groups.entry(key).or_default().push(place);
            }
        }
        let most = match usize::try_from(self.most).unwrap_or(usize::MAX) {
            0 => usize::MAX,
            max => max,
        };
        // The row that determines the position of the result, and the row with which it is joined.
        let mut pairs: Vec<(usize, Option<usize>)> = Vec::new();
        for group in groups.values_mut() {
            let time = |place: usize| times[place].unwrap_or(f64::INFINITY);
            group.sort_by(|a, b| time(*a).total_cmp(&time(*b)));
            if let ([single], true) = (group.as_slice(), self.keep_single) {
                pairs.push((*single, None));
            }
            for (at, main) in group.iter().enumerate() {
                let others = group[at + 1..].iter().take(most);
                pairs.extend(others.map(|other| (*other, Some(*main))));
                check_count(pairs.len(), context.limits.rows)?;
            }
        }
        pairs.sort_unstable();
        let later = places(pairs.iter().map(|(later, _)| Some(*later)));
        let earlier = places(pairs.iter().map(|(_, earlier)| *earlier));
        rows.beside(&later, &rows, &earlier, |_| !self.overwrite)
    }
}

//! Hash join of two tables.

use std::collections::HashMap;

use crate::error::Error;
use crate::operation::{Steps, Stop};
use crate::rows::{Rows, check_count};

/// Options of a join.
#[derive(Debug, Clone, Copy)]
pub struct Matching {
    /// Maximum number of rows of the right side per row of the left side; the first ones are used. 0 means
    /// all.
    pub most: u64,
    /// Whether rows of the left side without a match are kept.
    pub outer: bool,
    /// Whether rows of the right side must be earlier (`true`) or later than the row of the left side, or in
    /// the same second; no condition if absent.
    pub time: Option<bool>,
}

impl Matching {
    /// Returns the indexes of matching rows of both sides, in the order of the left side.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if there are more than `limit`; [`Error::Cancelled`] if the search was cancelled.
    pub fn pairs(
        &self,
        (rows, left_fields): (&Rows, &[String]),
        (other, right_fields): (&Rows, &[String]),
        limit: usize,
        stop: &Stop,
    ) -> Result<Vec<(usize, Option<usize>)>, Error> {
        let mut steps = Steps::new(stop.clone());
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        let right_keys = match right_fields {
            [] => Vec::new(),
            fields => other.keys(fields)?,
        };
        for (place, key) in right_keys.iter().enumerate() {
            if let Some(key) = key {
                groups.entry(key).or_default().push(place);
            }
        }
        let most = match usize::try_from(self.most).unwrap_or(usize::MAX) {
            0 => usize::MAX,
            max => max,
        };
        let times = match self.time {
            Some(earlier) => Some((earlier, seconds(rows)?, seconds(other)?)),
            None => None,
        };
        let in_time = |left: usize, right: usize| {
            let Some((earlier, left_times, right_times)) = &times else { return true };
            match (left_times[left], right_times[right]) {
                (Some(left), Some(right)) if *earlier => right <= left,
                (Some(left), Some(right)) => right >= left,
                _ => true,
            }
        };
        let mut pairs = Vec::with_capacity(rows.count);
        for (left, key) in rows.keys(left_fields)?.iter().enumerate() {
            let before = pairs.len();
            let group = key.as_deref().and_then(|key| groups.get(key));
            // Rows that do not match by time take time, too.
            steps.take(group.map_or(1, Vec::len))?;
            let found = group.into_iter().flatten().filter(|right| in_time(left, **right));
            pairs.extend(found.take(most).map(|right| (left, Some(*right))));
            if pairs.len() == before && self.outer {
                pairs.push((left, None));
            }
            check_count(pairs.len(), limit)?;
        }
        Ok(pairs)
    }
}

/// Returns `_time` in whole seconds: times within a second are neither earlier nor later.
fn seconds(rows: &Rows) -> Result<Vec<Option<f64>>, Error> {
    Ok(rows.numbers("_time")?.into_iter().map(|time| time.map(f64::floor)).collect())
}

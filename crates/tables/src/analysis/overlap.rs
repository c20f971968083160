//! Gaps and overlaps between the time ranges of the searches that fill a summary index.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Record, Rows};

/// A row for each gap and each overlap.
#[derive(Debug)]
pub struct Overlap;

impl Operation for Overlap {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let names = rows.texts("search_name")?;
        let (starts, ends) = (rows.numbers("info_min_time")?, rows.numbers("info_max_time")?);
        // Integers, so that comparisons are exact and times have a total order.
        #[allow(clippy::cast_possible_truncation)]
        let millis = |seconds: f64| (seconds * 1_000.0).round() as i64;
        let mut ranges: BTreeMap<Option<&String>, BTreeSet<(i64, i64)>> = BTreeMap::new();
        for row in 0..rows.count {
            if let (Some(start), Some(end)) = (starts[row], ends[row]) {
                let of_search = ranges.entry(names[row].as_ref()).or_default();
                of_search.insert((millis(start), millis(end)));
            }
        }
        let mut records = Vec::new();
        for (name, ranges) in &ranges {
            let mut covered: Option<i64> = None;
            for (start, end) in ranges {
                if let Some(before) = covered.filter(|before| before != start) {
                    records.push(record(*name, before, *start, *end));
                }
                covered = Some(covered.map_or(*end, |before| before.max(*end)));
            }
        }
        Ok(Rows::of_records(records))
    }
}

/// Returns the row for a gap or overlap between the end of the covered range and the start of the next range.
fn record(name: Option<&String>, covered: i64, start: i64, end: i64) -> Record {
    let (kind, from, to) = match covered < start {
        true => ("gap", covered, start),
        false => ("overlap", start, covered.min(end)),
    };
    #[allow(clippy::cast_precision_loss)]
    let seconds = |millis: i64| vec![(millis as f64 / 1_000.0).to_string()];
    vec![
        ("search_name".to_owned(), name.into_iter().cloned().collect()),
        ("type".to_owned(), vec![kind.to_owned()]),
        ("start".to_owned(), seconds(from)),
        ("end".to_owned(), seconds(to)),
        ("duration".to_owned(), seconds(to - from)),
    ]
}

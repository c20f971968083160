//! `overlap`: gaps between and overlaps of the time ranges of the searches behind a summary index.
//!
//! Split: runs at the search head, over all rows.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use spl::ast::OverlapCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Record, Rows, TableOp};

impl CommandPlan for OverlapCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for name in ["search_name", "info_min_time", "info_max_time"] {
            fields.name(name);
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Overlap)))
    }
}

#[derive(Debug)]
struct Overlap;

#[async_trait]
impl TableOp for Overlap {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let names = rows.texts("search_name")?;
        let (starts, ends) = (rows.numbers("info_min_time")?, rows.numbers("info_max_time")?);
        // Whole milliseconds are exact and have an order.
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

/// What is between the end of what was covered and the start of the next range.
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

//! Groups events into transactions: `grouping` decides which events belong together, `rendering` creates a
//! row for each transaction.

mod grouping;
mod rendering;

use std::cmp::Reverse;

use arrow::array::{AsArray, TimestampMicrosecondArray};
use arrow::datatypes::TimestampMicrosecondType;
use grouping::{Events, Groups, Keys};

pub use grouping::Rules;
pub use rendering::Rendering;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

const TIME: &str = "_time";
/// The column that is 1 for events that match `startswith`.
pub const STARTS: &str = "__starts";
/// The column that is 1 for events that match `endswith`.
pub const ENDS: &str = "__ends";

/// A row per transaction. The input has `_time` and the columns [`STARTS`] and [`ENDS`], if such
/// conditions exist.
#[derive(Debug)]
pub struct Transaction {
    /// The fields whose values connect events, at most 64.
    pub fields: Vec<String>,
    /// The rules of grouping.
    pub rules: Rules,
    /// The options of rendering.
    pub rendering: Rendering,
    /// Whether transactions without their first or last event are kept.
    pub keep_evicted: bool,
    /// Whether events that belong to no transaction are kept.
    pub keep_orphans: bool,
}

impl Operation for Transaction {
    fn apply(&self, mut rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let times = times(&rows)?;
        let mut order: Vec<usize> = (0..rows.count).collect();
        if !times.is_sorted_by(|one, two| one >= two) {
            order.sort_by_key(|row| Reverse(times[*row]));
        }
        let mark = |name: &str| -> Result<Vec<bool>, Error> {
            Ok(rows.numbers(name)?.into_iter().map(|mark| mark == Some(1.0)).collect())
        };
        let keys = self.fields.iter().map(|name| Keys::of(&rows, name));
        let events = Events {
            times,
            keys: keys.collect::<Result<_, _>>()?,
            starts: mark(STARTS)?,
            ends: mark(ENDS)?,
        };
        let mut groups = Groups::of(&self.rules, &events, &order);
        if groups.crowded > 0 {
            context.warn(format!(
                "transaction closed {} transactions early (maxopentxn, maxopenevents)",
                groups.crowded
            ));
        }
        if !self.keep_evicted {
            groups.found.retain(|group| !group.evicted);
        }
        if self.keep_orphans {
            groups.adopt_orphans(&events);
        }
        rows.remove(STARTS);
        rows.remove(ENDS);
        self.rendering.rows(&rows, &events, groups)
    }
}

/// Returns the time of each row in microseconds; rows without one come last.
fn times(rows: &Rows) -> Result<Vec<i64>, Error> {
    let Some(column) = rows.column(TIME) else {
        return Err(Error::internal("no _time"));
    };
    let array: &TimestampMicrosecondArray = column.array.as_primitive::<TimestampMicrosecondType>();
    Ok(array.iter().map(|time| time.unwrap_or(i64::MIN)).collect())
}

//! Reading and writing times: formats in Splunk's dialect of strptime, time zones, relative times
//! (docs/decisions/0017).
//!
//! Guarantees: no function here panics, or allocates per call except for the text that it writes. Leaves to
//! others: finding the timestamp in an event (`knowledge::timestamp`).

pub mod civil;
mod error;
mod format;
mod modifier;
mod strftime;
mod strptime;
mod zone;

pub use civil::Fields;
pub use error::Error;
pub use format::TimeFormat;
pub use modifier::{TimeModifier, parse_time};
pub(crate) use strftime::TextKey;
pub use strptime::{Parsed, fraction_at};
pub use zone::{LocalClock, abbreviation_offset, parse_offset, parse_zone};

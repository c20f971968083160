//! Reading and writing times: formats in Splunk's dialect of strptime, time zones, relative times.
//!
//! Guarantees: nothing here panics or allocates per call except for the text it writes. Leaves to
//! others: where in an event the timestamp is (`timestamp`).

pub(crate) mod civil;
mod format;
mod modifier;
mod strftime;
mod strptime;
mod zone;

pub use civil::Fields;
pub use format::TimeFormat;
pub use modifier::{TimeModifier, parse_time};
pub use strptime::Parsed;
pub(crate) use strptime::fraction_at;
pub(crate) use zone::parse_offset;
pub use zone::{LocalClock, abbreviation_offset, parse_zone};

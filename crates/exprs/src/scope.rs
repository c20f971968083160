//! What an expression is compiled against: the types of fields, the time, the lookups that it may ask.

use std::fmt::Debug;
use std::sync::Arc;

use jiff::tz::TimeZone;
use model::EventTime;

use crate::column::Values;
use crate::types::ValueType;
use crate::{Error, Report};

/// What an expression can see.
pub trait Scope {
    /// The type of a field; `None` if there is no such field, which makes it null.
    fn field(&self, name: &str) -> Option<ValueType>;

    /// The names of all fields, where they are known.
    fn fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// A lookup that `lookup()` asks by these of its fields; none where expressions cannot ask.
    fn lookup(&self, table: &str, inputs: &[String]) -> Option<Arc<dyn AskedLookup>> {
        let _ = (table, inputs);
        None
    }

    /// Where functions say that a limit took values away; none where nobody listens.
    fn report(&self) -> Option<Report> {
        None
    }

    /// When the search started.
    fn now(&self) -> EventTime;

    /// The time zone of the user.
    fn timezone(&self) -> &TimeZone;
}

/// A lookup, read and ready to be asked by some of its fields.
pub trait AskedLookup: Debug + Send + Sync {
    /// Whether its rows belong to times, so that the time of an event is asked, too.
    fn has_time(&self) -> bool;

    /// The rows that belong to the values of an event at a time (epoch seconds), in order, not more than the
    /// lookup gives.
    fn find(&self, values: &[Option<&str>], time: Option<f64>) -> Arc<[u32]>;

    /// The values of one of its fields by row; nulls if it has no such field.
    ///
    /// # Errors
    /// If the column is not one of SPL values.
    fn values(&self, field: &str) -> Result<Values, Error>;

    /// What stands for the fields of the rows where this many were found, if that is fewer than the lookup
    /// promises.
    fn default_match(&self, found: usize) -> Option<&str>;
}

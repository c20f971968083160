//! The scope in which an expression is compiled: types of fields, time, and lookups.

use std::fmt::Debug;
use std::sync::Arc;

use jiff::tz::TimeZone;
use model::EventTime;

use crate::column::Values;
use crate::types::ValueType;
use crate::{Error, Report};

/// The scope of an expression.
pub trait Scope {
    /// Returns the type of a field; `None` if it does not exist, which makes it null.
    fn field(&self, name: &str) -> Option<ValueType>;

    /// Returns the names of all fields, as far as known.
    fn fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the lookup with these input fields for `lookup()`; `None` if lookups are not available.
    fn lookup(&self, table: &str, inputs: &[String]) -> Option<Arc<dyn AskedLookup>> {
        let _ = (table, inputs);
        None
    }

    /// Returns the receiver of messages about limits; `None` if messages are ignored.
    fn report(&self) -> Option<Report> {
        None
    }

    /// Returns the start time of the search.
    fn now(&self) -> EventTime;

    /// Returns the time zone of the user.
    fn timezone(&self) -> &TimeZone;
}

/// An opened lookup with fixed input fields.
pub trait AskedLookup: Debug + Send + Sync {
    /// Whether the lookup is time-based, so that the time of an event is needed.
    fn has_time(&self) -> bool;

    /// Returns the rows that match the values of an event at a time (epoch seconds), in order, up to the
    /// lookup's maximum.
    fn find(&self, values: &[Option<&str>], time: Option<f64>) -> Arc<[u32]>;

    /// Returns the values of one of its fields by row; nulls if the field does not exist.
    ///
    /// # Errors
    /// If the column is not one of SPL values.
    fn values(&self, field: &str) -> Result<Values, Error>;

    /// Returns the default value of output fields if fewer rows were found than the lookup's minimum.
    fn default_match(&self, found: usize) -> Option<&str>;
}

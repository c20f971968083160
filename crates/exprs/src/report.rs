//! The receiver of messages about limits that functions and aggregates have reached.

use std::fmt;
use std::sync::Arc;

/// A callback for messages to the user.
#[derive(Clone)]
pub struct Report(Arc<dyn Fn(&str) + Send + Sync>);

impl Report {
    /// Creates a receiver that calls `say` with a message, possibly many times with the same one.
    pub fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(say))
    }

    pub(crate) fn say(&self, text: &str) {
        (self.0)(text);
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}

//! Where functions and aggregates say that a limit took something away.

use std::fmt;
use std::sync::Arc;

/// Takes sentences for the user.
#[derive(Clone)]
pub struct Report(Arc<dyn Fn(&str) + Send + Sync>);

impl Report {
    /// Calls `say` with a sentence for the user; it may be the same one many times.
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

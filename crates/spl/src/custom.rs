//! The commands that apps define, by name. Their arguments are any text.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Names of custom commands; a clone shares them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomCommands(Arc<BTreeSet<String>>);

impl CustomCommands {
    /// Commands of these names.
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        Self(Arc::new(names.into_iter().collect()))
    }

    /// The name as it is defined; upper and lower case are the same where only one command fits.
    pub(crate) fn find(&self, word: &str) -> Option<&str> {
        if let Some(name) = self.0.get(word) {
            return Some(name);
        }
        let mut fitting = self.0.iter().filter(|name| name.eq_ignore_ascii_case(word));
        let found = fitting.next();
        found.filter(|_| fitting.next().is_none()).map(String::as_str)
    }
}

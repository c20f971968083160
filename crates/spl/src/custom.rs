//! The names of the commands that apps define. Their arguments have no fixed syntax.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Names of custom commands; clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomCommands(Arc<BTreeSet<String>>);

impl CustomCommands {
    /// Creates a set of these names.
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        Self(Arc::new(names.into_iter().collect()))
    }

    /// Returns the name as it is defined; case is ignored if only one command matches.
    pub(crate) fn find(&self, word: &str) -> Option<&str> {
        if let Some(name) = self.0.get(word) {
            return Some(name);
        }
        let mut fitting = self.0.iter().filter(|name| name.eq_ignore_ascii_case(word));
        let found = fitting.next();
        found.filter(|_| fitting.next().is_none()).map(String::as_str)
    }
}

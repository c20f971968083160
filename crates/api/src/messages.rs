//! Notices for administrators: those that clients create, and those of the server itself. They are in memory
//! and end with the process.

use std::collections::BTreeMap;

use access::Rights;
use parking_lot::Mutex;

/// Notices kept at most; a new one beyond that is refused.
pub(crate) const MAX_MESSAGES: usize = 1_000;
/// Bytes of a notice.
pub(crate) const MAX_BYTES: usize = 64 << 10;

/// A notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    /// `info`, `warn` or `error`.
    pub(crate) severity: String,
    /// Epoch seconds.
    pub(crate) created: i64,
    pub(crate) readers: Readers,
}

/// Who may read a notice: without roles and capabilities, every user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Readers {
    /// One of these roles is required.
    pub(crate) roles: Vec<String>,
    /// All of these capabilities are required.
    pub(crate) capabilities: Vec<String>,
}

impl Readers {
    pub(crate) fn include(&self, rights: &Rights) -> bool {
        let has_role = self.roles.is_empty() || rights.is_named(&self.roles);
        has_role && self.capabilities.iter().all(|capability| rights.may(capability))
    }
}

/// All notices, by name.
#[derive(Debug, Default)]
pub struct Messages(Mutex<BTreeMap<String, Notice>>);

impl Messages {
    /// Leaves a warning of the server, or replaces the one of that name; false if there are too many.
    pub fn warn(&self, name: &str, text: String, created: i64) -> bool {
        let readers = Readers::default();
        self.put(name, Notice { text, severity: "warn".to_owned(), created, readers })
    }

    /// Leaves a notice, or replaces the one of that name; false if there are too many.
    pub(crate) fn put(&self, name: &str, notice: Notice) -> bool {
        let mut known = self.0.lock();
        if known.len() >= MAX_MESSAGES && !known.contains_key(name) {
            return false;
        }
        known.insert(name.to_owned(), notice);
        true
    }

    /// The names of all notices.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }

    /// Removes a notice; false if there is none of that name.
    pub fn remove(&self, name: &str) -> bool {
        self.0.lock().remove(name).is_some()
    }

    pub(crate) fn all(&self) -> BTreeMap<String, Notice> {
        self.0.lock().clone()
    }
}

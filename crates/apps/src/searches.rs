//! The searches of an app, and the macros and commands that they use and nothing defines: a part of the
//! report of its installation. Leaves to others: the language of searches (`services/karst`).

use serde::{Deserialize, Serialize};

/// A search of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSearch {
    /// File and line, such as `default/savedsearches.conf:7`.
    pub place: String,
    /// Its text.
    pub text: String,
}

/// The searches of an app that can run, and those that cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchCheck {
    /// Number of searches.
    pub searches: usize,
    /// Number of searches that use something that nothing defines.
    pub unable: usize,
    /// What they use, the most used first.
    pub missing: Vec<Missing>,
}

/// A macro or a command that searches use and that nothing defines for their app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// `macro` or `command`.
    pub what: String,
    /// Its name; of a macro with arguments, with their number, such as `ctime(1)`.
    pub name: String,
    /// Number of searches that use it.
    pub searches: usize,
    /// The first of these searches.
    pub place: String,
    /// Other installed apps that define it without sharing it, and disabled apps that define it.
    pub unshared: Vec<String>,
    /// An app that is known to define it.
    pub known_app: Option<String>,
    /// The error of the searches, with the apps that define it.
    pub text: String,
}

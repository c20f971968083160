//! Namespaces: the user and the app of a request.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The owner of objects that belong to an app rather than to a user.
pub const NOBODY: &str = "nobody";
/// The app of searches that name none.
pub const SEARCH: &str = "search";
/// The app name of the system's own files.
pub const SYSTEM: &str = "system";

/// A user in an app: decides which objects are seen, and where new ones go.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace {
    /// The user, or [`NOBODY`].
    pub owner: String,
    /// The app.
    pub app: String,
}

impl Namespace {
    /// A user in an app.
    #[must_use]
    pub fn new(owner: &str, app: &str) -> Self {
        Self { owner: owner.to_owned(), app: app.to_owned() }
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self::new(NOBODY, SEARCH)
    }
}

/// `nobody/search`, as paths have it.
impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.app)
    }
}

/// The users who see an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Its owner, in its app.
    User,
    /// Everybody in its app.
    App,
    /// Everybody everywhere.
    Global,
}

impl Sharing {
    /// Returns the name that REST uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::App => "app",
            Self::Global => "global",
        }
    }

    /// The sharing of a name; `system` is `global`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "user" => Self::User,
            "app" => Self::App,
            "global" | "system" => Self::Global,
            _ => return None,
        })
    }
}

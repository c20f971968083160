//! What a path may need: routes declare it, `authorize` enforces it, and `docs/rights.md` shows it. What
//! routes declare as [`Need::Object`] or [`Need::Own`] any user may ask; the route answers with what
//! [`access::Rights`] let the user see, and refuses the rest.

/// What a method of a path needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing, not even a session; `/metrics` asks senders from other machines for a token or a capability.
    Open,
    /// A session.
    Session,
    /// A session; it answers with what is the user's own, or more with a capability.
    Own,
    /// A session; it answers with objects that their permissions let the user read.
    Object,
    /// A capability.
    May(&'static str),
    /// A capability, and for each object that its permissions let the user change it.
    Change(&'static str),
}

impl Need {
    /// The capability that a user has to have.
    #[must_use]
    pub(crate) fn capability(self) -> Option<&'static str> {
        match self {
            Self::May(capability) | Self::Change(capability) => Some(capability),
            _ => None,
        }
    }
}

use Need::{Change, May};

/// Making and changing objects of `.conf` files.
pub(crate) const EDIT: Need = Change("edit_own_objects");
pub(crate) const SEARCH: Need = May("search");

/// Capabilities that routes and searches ask for besides, for more than a user's own.
#[cfg(test)]
pub(crate) const MORE: &[(&str, &str)] = &[
    ("admin_all_objects", "objects and jobs of others, and files of the server's own settings"),
    ("change_own_password", "the own password (`POST /services/authentication/users/{name}`)"),
    ("edit_httpauths", "ends sessions of others"),
    ("edit_tokens_all", "makes, disables and removes API tokens of others"),
    ("edit_tokens_own", "makes, disables and removes own API tokens"),
    ("indexes_list_all", "indexes that the user may not search"),
    ("list_all_objects", "reads shared objects whatever their permissions"),
    ("list_all_roles", "roles that the user does not have"),
    ("list_all_users", "other users"),
    ("list_httpauths", "sessions of others"),
    ("list_introspection", "`/metrics` from another machine, without the scrape token"),
    ("list_tokens_all", "API tokens of others"),
    ("list_tokens_own", "own API tokens"),
    ("schedule_search", "saved searches with `is_scheduled` or `enableSched`"),
];

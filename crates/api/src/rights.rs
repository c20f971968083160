//! What a path may need: routes declare it, `authorize` enforces it, and `docs/rights.md` shows it. What
//! routes declare as [`Need::Object`] or [`Need::Own`] any user may ask; the route answers with what
//! [`access::Rights`] let the user see, and refuses the rest.

/// The rights that a method of a path needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// No rights, not even a session; `/metrics` requires a token or a capability from other machines.
    Open,
    /// A session.
    Session,
    /// A session; the response contains the user's own data, or more with a capability.
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

/// Capabilities that routes and searches check in addition, for access beyond the user's own data.
#[cfg(test)]
pub(crate) const MORE: &[(&str, &str)] = &[
    (
        "admin_all_objects",
        "other users' objects and jobs, searches by an earlier bundle, and the server's own configuration files",
    ),
    (
        "change_own_password",
        "changing one's own password (`POST /services/authentication/users/{name}`)",
    ),
    ("edit_httpauths", "ending other users' sessions"),
    ("edit_server", "reading configuration files again (`_reload` of a collection or an object)"),
    ("edit_tokens_all", "creating, disabling and removing other users' API tokens"),
    ("edit_tokens_own", "creating, disabling and removing one's own API tokens"),
    ("indexes_list_all", "listing indexes that the user may not search"),
    ("list_all_objects", "reading shared objects regardless of their permissions"),
    ("list_all_roles", "listing roles that the user does not have"),
    ("list_all_users", "listing other users"),
    ("list_httpauths", "listing other users' sessions"),
    ("list_introspection", "`/metrics` from other machines without the scrape token"),
    ("list_tokens_all", "listing other users' API tokens"),
    ("list_tokens_own", "listing one's own API tokens"),
    ("schedule_search", "saving searches with `is_scheduled` or `enableSched`"),
];

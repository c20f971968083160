//! Authorization: the one place that decides what a user may do, for REST, searches, SQL and Flight
//! SQL.
//!
//! [`Authority`] holds users, roles and permissions; [`Rights`] are the rights of one user at the
//! time of a request. They are computed once per request and stay with it, so a search that runs
//! for an hour keeps the rights that its user had when it started.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::IndexName;
use serde::{Deserialize, Serialize};

use crate::limits::SearchLimits;
use crate::permissions::Known;
use crate::roles::GrantedRights;
use crate::{Accounts, Permissions, Role, Roles, Scope, like};

/// Grants read and write access to every object, and to jobs of others.
const ALL_OBJECTS: &str = "admin_all_objects";

/// Users, their roles, and the permissions of shared objects. Clones share one state.
#[derive(Debug, Clone)]
pub struct Authority {
    accounts: Arc<Accounts>,
    roles: Arc<Roles>,
    permissions: Arc<Permissions>,
}

impl Authority {
    /// Creates the authority.
    #[must_use]
    pub fn new(accounts: Arc<Accounts>, roles: Arc<Roles>, permissions: Arc<Permissions>) -> Self {
        Self { accounts, roles, permissions }
    }

    /// The current rights of a user; none if the user does not exist.
    #[must_use]
    pub fn of(&self, user: &str) -> Rights {
        let roles = self.accounts.user(user).map(|user| user.roles).unwrap_or_default();
        self.of_roles(user, &roles)
    }

    /// The rights of a user with these roles, to compare with those of a caller.
    #[must_use]
    pub fn of_roles(&self, user: &str, roles: &[String]) -> Rights {
        self.rights(user, self.roles.granted(roles))
    }

    /// The rights that a role would grant if it were as given, regardless of the stored one.
    #[must_use]
    pub fn of_role(&self, role: &Role) -> Rights {
        self.rights("", self.roles.granted_by(role))
    }

    fn rights(&self, user: &str, granted: GrantedRights) -> Rights {
        Rights {
            user: user.to_owned(),
            is_system: false,
            roles: granted.names,
            capabilities: granted.capabilities,
            indexes_allowed: granted.indexes_allowed,
            indexes_disallowed: granted.indexes_disallowed,
            indexes_default: granted.indexes_default,
            index_scope: None,
            is_scoped: false,
            limits: granted.limits,
            permissions: self.permissions.all(),
        }
    }
}

/// An object, for permission checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object<'a> {
    /// Its owner.
    pub owner: &'a str,
    /// Whether it is shared.
    pub shared: bool,
    /// `nobody/<app>/<conf>/<name>`, the key of its permissions.
    pub place: &'a str,
}

/// The part of a user's rights that decides who may read the results of the user's searches; stored with the
/// results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    user: String,
    /// Patterns of indexes.
    indexes: Vec<String>,
    /// Patterns of indexes that take precedence. Earlier versions do not store them.
    #[serde(default)]
    disallowed: Vec<String>,
    /// Restriction of indexes by the scope of a token.
    scope: Option<Vec<String>>,
    /// The search filter.
    filter: Option<String>,
}

impl Reach {
    /// The user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }
}

/// The rights of a user at one moment.
#[derive(Debug, Clone)]
pub struct Rights {
    user: String,
    is_system: bool,
    /// Roles, including imported ones.
    roles: BTreeSet<String>,
    capabilities: BTreeSet<String>,
    indexes_allowed: Vec<String>,
    indexes_disallowed: Vec<String>,
    indexes_default: Vec<String>,
    /// Restriction of indexes by the scope of a token.
    index_scope: Option<Vec<String>>,
    /// Whether they are restricted by a scope.
    is_scoped: bool,
    limits: SearchLimits,
    permissions: Arc<Known>,
}

impl Rights {
    /// The rights of the server itself: all. For tests and internal work.
    #[must_use]
    pub fn of_system(user: &str) -> Self {
        Self {
            user: user.to_owned(),
            is_system: true,
            roles: BTreeSet::new(),
            capabilities: BTreeSet::new(),
            indexes_allowed: Vec::new(),
            indexes_disallowed: Vec::new(),
            indexes_default: Vec::new(),
            index_scope: None,
            is_scoped: false,
            limits: SearchLimits::default(),
            permissions: Arc::default(),
        }
    }

    /// Returns the part of these rights that is stored with results.
    #[must_use]
    pub fn reach(&self) -> Reach {
        let indexes = match self.is_system {
            true => vec!["*".to_owned(), "_*".to_owned()],
            false => self.indexes_allowed.clone(),
        };
        Reach {
            user: self.user.clone(),
            indexes,
            disallowed: self.indexes_disallowed.clone(),
            scope: self.index_scope.clone(),
            filter: self.limits.filter.clone(),
        }
    }

    /// Rights with this reach and nothing else: no roles, no capabilities.
    #[must_use]
    pub fn of_reach(reach: &Reach) -> Self {
        Self {
            is_system: false,
            indexes_allowed: reach.indexes.clone(),
            indexes_disallowed: reach.disallowed.clone(),
            index_scope: reach.scope.clone(),
            is_scoped: reach.scope.is_some(),
            limits: SearchLimits { filter: reach.filter.clone(), ..SearchLimits::default() },
            ..Self::of_system(&reach.user)
        }
    }

    /// The same user, restricted to these capabilities, as by the scope of a token.
    #[must_use]
    pub fn scoped(mut self, capabilities: &[String]) -> Self {
        self.capabilities.retain(|name| capabilities.contains(name));
        self.is_scoped = true;
        self
    }

    /// The same user, restricted to the scope of a token.
    #[must_use]
    pub fn narrowed(self, scope: &Scope) -> Self {
        let index_scope = scope.indexes.clone();
        let narrowed = match &scope.capabilities {
            Some(capabilities) => self.scoped(capabilities),
            None => self,
        };
        let is_scoped = narrowed.is_scoped || index_scope.is_some();
        Self { index_scope, is_scoped, ..narrowed }
    }

    /// The scope that restricts the user to these rights; `None` if they are all rights of the user.
    #[must_use]
    pub fn scope(&self) -> Option<Scope> {
        self.is_scoped.then(|| Scope {
            capabilities: Some(self.capabilities.iter().cloned().collect()),
            indexes: self.index_scope.clone(),
        })
    }

    /// Whether they are restricted by the scope of a token: they cannot be passed on by user name.
    #[must_use]
    pub fn is_scoped(&self) -> bool {
        self.is_scoped
    }

    fn is_in_scope(&self, index: &IndexName) -> bool {
        let reached = |scope: &Vec<String>| scope.iter().any(|pattern| reaches(pattern, index));
        self.index_scope.as_ref().is_none_or(reached)
    }

    /// Whether these are the rights of the server itself.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.is_system
    }

    /// The user name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The roles, including imported ones.
    #[must_use]
    pub fn roles(&self) -> &BTreeSet<String> {
        &self.roles
    }

    /// All capabilities, sorted.
    #[must_use]
    pub fn capabilities(&self) -> &BTreeSet<String> {
        &self.capabilities
    }

    /// Whether the user has a capability.
    #[must_use]
    pub fn may(&self, capability: &str) -> bool {
        self.is_system || self.capabilities.contains(capability)
    }

    /// Whether the user may read an object: as its owner, by a role in its permissions, or with
    /// `admin_all_objects`.
    #[must_use]
    pub fn may_read(&self, object: &Object<'_>) -> bool {
        self.is_allowed(object, || {
            self.permissions.allows_reading(object.place, |roles| self.is_named(roles))
        })
    }

    /// Whether the user may change an object, which requires reading it.
    #[must_use]
    pub fn may_write(&self, object: &Object<'_>) -> bool {
        let writes = || self.is_named(&self.permissions.of(object.place).write);
        self.is_allowed(object, || writes() && self.may_read(object))
    }

    /// Whether the user may create shared objects in an app.
    #[must_use]
    pub fn may_share(&self, app: &str) -> bool {
        self.may(ALL_OBJECTS) || self.is_named(&self.permissions.writers(app))
    }

    fn is_allowed(&self, object: &Object<'_>, by_roles: impl Fn() -> bool) -> bool {
        if object.owner == self.user || self.may(ALL_OBJECTS) {
            return true;
        }
        object.shared && by_roles()
    }

    /// Whether one of the user's roles is among these names, or the names include everybody (`*`).
    #[must_use]
    pub fn is_named(&self, names: &[String]) -> bool {
        // `nobody` means everybody.
        names.iter().any(|name| name == "*" || name == "nobody" || self.roles.contains(name))
    }

    /// The keys of shared objects that the user may not read, and those of types (`nobody/app/type`) and
    /// apps (`nobody/app`) that are closed to the user as a whole.
    #[must_use]
    pub fn hidden(&self) -> Vec<String> {
        if self.may(ALL_OBJECTS) {
            return Vec::new();
        }
        let set = self.permissions.set.iter().filter(|(_, perms)| !self.is_named(&perms.read));
        let mut hidden: Vec<String> = set.map(|(key, _)| key.clone()).collect();
        for (name, access) in &*self.permissions.apps {
            let key = format!("nobody/{name}");
            let closed = access.read.as_ref().is_some_and(|roles| !self.is_named(roles));
            if closed && !self.permissions.set.contains_key(&key) {
                hidden.push(key);
            }
        }
        hidden
    }

    /// Filters the indexes to those that the user may search.
    #[must_use]
    pub fn searchable(&self, mut indexes: Vec<IndexName>) -> Vec<IndexName> {
        indexes.retain(|index| self.may_search(index));
        indexes
    }

    /// Whether the user may search an index.
    #[must_use]
    pub fn may_search(&self, index: &IndexName) -> bool {
        let allowed = || self.indexes_allowed.iter().any(|pattern| reaches(pattern, index));
        self.is_system || (allowed() && !self.is_disallowed(index) && self.is_in_scope(index))
    }

    /// Whether `srchIndexesDisallowed` of one of the roles matches the index, whatever the others allow.
    fn is_disallowed(&self, index: &IndexName) -> bool {
        self.indexes_disallowed.iter().any(|pattern| reaches(pattern, index))
    }

    /// Whether the user may search some index whose name the pattern matches, if there is such an index.
    #[must_use]
    pub fn may_reach(&self, pattern: &str) -> bool {
        let meets = |mine: &String| includes(mine, pattern) || includes(pattern, mine);
        let disallowed = || self.indexes_disallowed.iter().any(|mine| includes(mine, pattern));
        self.is_system || (self.indexes_allowed.iter().any(meets) && !disallowed())
    }

    /// Filters the indexes to the default indexes of the user's searches.
    #[must_use]
    pub fn searched(&self, mut indexes: Vec<IndexName>) -> Vec<IndexName> {
        let is_default =
            |index: &IndexName| self.indexes_default.iter().any(|pattern| reaches(pattern, index));
        indexes.retain(|index| {
            is_default(index) && !self.is_disallowed(index) && self.is_in_scope(index)
        });
        indexes
    }

    /// The user's search limits.
    #[must_use]
    pub fn limits(&self) -> &SearchLimits {
        &self.limits
    }

    /// Whether these rights include all of the other's: granting rights or taking over a user must
    /// not give the caller more rights.
    ///
    /// # Errors
    /// A description of the first right that only the other has.
    pub fn covers(&self, other: &Self) -> Result<(), String> {
        if self.is_system {
            return Ok(());
        }
        let known = |name: &&String| crate::capabilities::ALL.contains(&name.as_str());
        let mut capabilities = other.capabilities.iter().filter(known);
        if let Some(name) = capabilities.find(|name| !self.capabilities.contains(*name)) {
            return Err(format!("the capability {name}"));
        }
        let pattern = other
            .indexes_allowed
            .iter()
            .find(|theirs| !self.indexes_allowed.iter().any(|mine| includes(mine, theirs)));
        if let Some(pattern) = pattern {
            return Err(format!("the indexes {pattern}"));
        }
        if let Some(pattern) = self.disallowed_and_granted(other) {
            return Err(format!("the indexes {pattern} (srchIndexesDisallowed)"));
        }
        if self.index_scope.is_some() {
            return Err("more indexes than the token".to_owned());
        }
        self.limits.covers(&other.limits)
    }

    /// Returns a pattern of the indexes that these rights exclude and the other ones may include. Those with
    /// `admin_all_objects` are not compared: such a user can run the searches of all others anyway, and has
    /// to be able to correct `user` and `power`, whose restrictions the role `admin` inherits.
    fn disallowed_and_granted(&self, other: &Self) -> Option<&String> {
        if self.may(ALL_OBJECTS) {
            return None;
        }
        self.indexes_disallowed.iter().find(|mine| {
            let excluded = other.indexes_disallowed.iter().any(|theirs| includes(theirs, mine));
            !excluded && other.indexes_allowed.iter().any(|theirs| may_meet(theirs, mine))
        })
    }
}

/// Whether there may be an index that both patterns match. Two patterns with `*` are not compared further.
fn may_meet(one: &str, other: &str) -> bool {
    let are_wide = one.contains('*') && other.contains('*');
    let same_kind = one.trim().starts_with('_') == other.trim().starts_with('_');
    (are_wide && same_kind) || includes(one, other) || includes(other, one)
}

/// Whether a pattern of `srchIndexesAllowed` matches the index. Only patterns that begin with `_`
/// match internal indexes.
pub(crate) fn reaches(pattern: &str, index: &IndexName) -> bool {
    let (pattern, name) = (pattern.trim().to_lowercase(), index.as_str());
    let hidden = index.is_internal() && !pattern.starts_with('_');
    !hidden && like(&pattern, name)
}

/// Whether the first pattern matches everything that the second matches.
fn includes(wide: &str, narrow: &str) -> bool {
    let (wide, narrow) = (wide.trim().to_lowercase(), narrow.trim().to_lowercase());
    wide == narrow || (narrow.starts_with('_') == wide.starts_with('_') && like(&wide, &narrow))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rights(user: &str, capabilities: &[&str], indexes: &[&str]) -> Rights {
        let mut rights = Rights::of_system(user);
        rights.is_system = false;
        rights.capabilities = capabilities.iter().map(|name| (*name).to_owned()).collect();
        rights.indexes_allowed = indexes.iter().map(|name| (*name).to_owned()).collect();
        rights.roles = BTreeSet::from(["watchers".to_owned()]);
        rights
    }

    #[test]
    fn a_star_does_not_reach_internal_indexes() {
        let index = |name: &str| IndexName::new(name).unwrap();
        assert!(reaches("*", &index("main")) && reaches("web*", &index("web-2")));
        assert!(!reaches("*", &index("_internal")) && !reaches("web", &index("web-2")));
        assert!(reaches("_*", &index("_internal")));
    }

    #[test]
    fn a_pattern_is_reached_if_it_shares_names_with_one_that_is_allowed() {
        let rights = rights("ann", &[], &["web*"]);
        for (pattern, reached) in
            [("web", true), ("Web-2", true), ("*", true), ("main", false), ("_*", false)]
        {
            assert_eq!(rights.may_reach(pattern), reached, "{pattern}");
        }
    }

    #[test]
    fn what_one_role_disallows_is_closed_whatever_the_others_allow() {
        let index = |name: &str| IndexName::new(name).unwrap();
        let names: Vec<_> = ["main", "sec", "sec-2", "_audit"].map(index).into();
        let mut held = rights("ann", &["edit_roles"], &["*", "_*"]);
        held.indexes_default = vec!["*".to_owned()];
        held.indexes_disallowed = vec!["Sec*".to_owned(), "_audit".to_owned()];
        assert_eq!(held.searchable(names.clone()), [index("main")]);
        assert_eq!(held.searched(names.clone()), [index("main")]);
        assert!(held.may_reach("*") && !held.may_reach("sec-2") && !held.may_reach("_audit"));
        let stored = serde_json::to_string(&held.reach()).unwrap();
        let again = Rights::of_reach(&serde_json::from_str(&stored).unwrap());
        assert_eq!(again.searchable(names), [index("main")]);
        // Nobody grants what they are excluded from.
        assert!(held.covers(&rights("bob", &[], &["main"])).is_ok());
        let text = held.covers(&rights("bob", &[], &["s*"])).unwrap_err();
        assert_eq!(text, "the indexes Sec* (srchIndexesDisallowed)");
        assert!(held.covers(&rights("bob", &[], &["sec"])).is_err());
        assert!(held.covers(&held).is_ok());
        held.capabilities.insert(ALL_OBJECTS.to_owned());
        assert!(held.covers(&rights("bob", &[], &["*"])).is_ok());
    }

    #[test]
    fn stored_rights_reach_the_same_indexes_and_no_more() {
        let names: Vec<_> =
            ["main", "web-2", "_internal"].map(|n| IndexName::new(n).unwrap()).into();
        let scope = Scope { indexes: Some(vec!["web*".to_owned()]), ..Scope::default() };
        for rights in [
            Rights::of_system("ann"),
            rights("ann", &["search"], &["web*"]),
            rights("ann", &["search"], &["*"]).narrowed(&scope),
        ] {
            let stored = serde_json::to_string(&rights.reach()).unwrap();
            let again = Rights::of_reach(&serde_json::from_str(&stored).unwrap());
            assert_eq!(again.searchable(names.clone()), rights.searchable(names.clone()));
            assert_eq!(
                (again.user(), again.may("search"), again.is_system()),
                ("ann", false, false)
            );
        }
    }

    #[test]
    fn rights_cover_no_more_than_they_hold() {
        let admin = rights("admin", &["edit_user", "search"], &["*", "_*"]);
        let helpdesk = rights("ann", &["edit_user"], &["web*"]);
        admin.covers(&helpdesk).unwrap();
        assert_eq!(helpdesk.covers(&admin).unwrap_err(), "the capability search");
        let wider = rights("bob", &["edit_user"], &["*"]);
        assert_eq!(helpdesk.covers(&wider).unwrap_err(), "the indexes *");
        let internal = rights("bob", &[], &["_audit"]);
        assert!(wider.covers(&internal).is_err() && admin.covers(&internal).is_ok());
    }

    #[test]
    fn permissions_decide_about_shared_objects_and_owners_about_their_own() {
        let place = "nobody/search/macros/m";
        let perms =
            crate::Perms { read: vec!["watchers".to_owned()], write: vec!["admin".to_owned()] };
        let mut ann = rights("ann", &[], &[]);
        let set = BTreeMap::from([(place.to_owned(), perms)]);
        ann.permissions = Arc::new(Known { set, ..Known::default() });
        let shared = Object { owner: "bob", shared: true, place };
        assert!(ann.may_read(&shared) && !ann.may_write(&shared));
        assert!(!ann.may_read(&Object { shared: false, ..shared }));
        assert!(ann.may_write(&Object { owner: "ann", ..shared }));
        assert!(ann.hidden().is_empty());
        ann.roles.clear();
        assert!(!ann.may_read(&shared));
        assert_eq!(ann.hidden(), [place]);
        ann.capabilities.insert(ALL_OBJECTS.to_owned());
        assert!(ann.may_write(&shared) && ann.hidden().is_empty());
    }

    #[test]
    fn metadata_of_an_app_applies_to_the_app_its_types_and_its_objects() {
        let roles = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let access =
            |read: &[&str], write: &[&str]| conf::Access { read: roles(read), write: roles(write) };
        let apps = BTreeMap::from([
            ("a".to_owned(), access(&["*"], &["admin"])),
            ("a/macros".to_owned(), access(&["admin"], &["watchers"])),
            ("a/macros/open".to_owned(), access(&["*"], &["*"])),
            ("a/lookups/l.csv".to_owned(), access(&["*"], &["watchers"])),
            ("a/props/web/EXTRACT-e".to_owned(), access(&["admin"], &[])),
            ("b".to_owned(), access(&["admin"], &["watchers"])),
        ]);
        let mut ann = rights("ann", &[], &[]);
        ann.permissions = Arc::new(Known { apps: Arc::new(apps), set: BTreeMap::new() });
        let object = |place| Object { owner: "nobody", shared: true, place };
        let reads = |place| ann.may_read(&object(place));
        let writes = |place| ann.may_write(&object(place));
        // The type is closed, and so is every object of it.
        assert!(!reads("nobody/a/macros/open") && !writes("nobody/a/macros/open"));
        assert!(reads("nobody/a/lookups/l.csv") && writes("nobody/a/lookups/l.csv"));
        assert!(reads("nobody/a/lookups/k.csv") && !writes("nobody/a/lookups/k.csv"));
        assert!(reads("nobody/a/props/web") && !reads("nobody/a/props/web/EXTRACT-e"));
        assert!(!reads("nobody/b/views/v") && reads("nobody/c/views/v"));
        assert!(!ann.may_share("a") && ann.may_share("b") && !ann.may_share("c"));
        let hidden = ["nobody/a/macros", "nobody/a/props/web/EXTRACT-e", "nobody/b"];
        assert_eq!(ann.hidden(), hidden);
    }

    #[test]
    fn a_token_of_some_indexes_searches_no_others() {
        let index = |name: &str| IndexName::new(name).unwrap();
        let indexes = Some(vec!["web*".to_owned(), "secret".to_owned()]);
        let scope = Scope { capabilities: None, indexes };
        let narrow = rights("ann", &["search"], &["web*", "main"]).narrowed(&scope);
        assert!(narrow.may("search") && narrow.may_search(&index("web-1")));
        assert!(!narrow.may_search(&index("main")) && !narrow.may_search(&index("secret")));
        assert!(narrow.covers(&rights("bob", &[], &[])).is_err());
        // A session that is opened with these rights has no others.
        let again = rights("ann", &["search", "edit_user"], &["web*", "main"]);
        assert_eq!(again.scope(), None);
        let again = again.narrowed(&narrow.scope().unwrap());
        assert!(again.may("search") && !again.may("edit_user") && again.is_scoped());
        assert!(again.may_search(&index("web-1")) && !again.may_search(&index("main")));
    }

    #[test]
    fn a_scope_takes_away_and_never_adds() {
        let scope = ["search".to_owned(), "edit_user".to_owned()];
        let narrow = rights("ann", &["search", "edit_roles"], &["*"]).scoped(&scope);
        assert!(narrow.may("search") && !narrow.may("edit_roles") && !narrow.may("edit_user"));
        assert!(narrow.is_scoped() && !rights("ann", &["search"], &[]).is_scoped());
    }
}

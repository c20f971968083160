//! Roles: capabilities, indexes and limits. Built-in roles, and documents of the catalog.
//!
//! A role has its own rights and those of imported roles. Built-in roles can be changed but not
//! removed.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{Catalog, Followed, Snapshot};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::limits::{self, RoleSettings, SearchLimits};
use crate::{Error, capabilities};

const KIND: &str = "roles";
/// Maximum number of roles.
const MAX_ROLES: usize = 10_000;

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Lower case.
    pub name: String,
    /// Its own capabilities, without imported ones.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Imported roles.
    #[serde(default)]
    pub imported_roles: Vec<String>,
    /// `srchIndexesAllowed`: patterns with `*`; `*` alone does not match internal indexes.
    #[serde(default)]
    pub indexes_allowed: Vec<String>,
    /// `srchIndexesDisallowed`: patterns of indexes that users with the role cannot search, whatever all of
    /// their roles allow.
    #[serde(default)]
    pub indexes_disallowed: Vec<String>,
    /// `srchIndexesDefault`: default indexes of searches.
    #[serde(default)]
    pub indexes_default: Vec<String>,
    /// Quotas, windows and the search filter ([`SearchLimits`]), and settings stored for clients,
    /// by name in `authorize.conf`.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// All roles.
#[derive(Debug)]
pub struct Roles {
    catalog: Catalog,
    known: RwLock<BTreeMap<String, Role>>,
}

impl Role {
    /// A role without rights.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            capabilities: Vec::new(),
            imported_roles: Vec::new(),
            indexes_allowed: Vec::new(),
            indexes_disallowed: Vec::new(),
            indexes_default: Vec::new(),
            settings: BTreeMap::new(),
        }
    }

    fn built_in() -> [Self; 4] {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let settings = |name: &str| {
            let own = limits::BUILT_IN.iter().filter(|(role, ..)| *role == name);
            own.map(|(_, key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let role = |name: &str, capabilities: &[&str], imported: &[&str], indexes: &[&str]| Self {
            capabilities: owned(capabilities),
            imported_roles: owned(imported),
            indexes_allowed: owned(indexes),
            indexes_default: owned(if indexes.is_empty() { &[] } else { &["main"] }),
            settings: settings(name),
            ..Self::new(name)
        };
        [
            role("admin", capabilities::ALL, &["power", "user"], &["*", "_*"]),
            role("power", capabilities::POWER, &["user"], &["*"]),
            role("user", capabilities::USER, &[], &["*"]),
            role("can_delete", &["delete_by_keyword"], &[], &[]),
        ]
    }
}

/// Why the name of a new role is invalid; `None` if it is valid.
#[must_use]
pub fn role_name_fault(name: &str) -> Option<String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let valid = name.len() <= 1_024 && name.chars().all(fits);
    let fault = || format!("\"{name}\" is not a valid role name: letters, digits, _ - . only");
    (!valid).then(fault)
}

/// Whether a role is built in.
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    Role::built_in().iter().any(|role| role.name == name)
}

impl Followed for Roles {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut known = self.known.write();
        *known = Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl Roles {
    /// Reads the roles from the catalog.
    ///
    /// # Errors
    /// If a role document is unreadable.
    pub fn load(catalog: Catalog) -> Result<Self, Error> {
        let known = Self::read(&catalog.snapshot())?;
        Ok(Self { catalog, known: RwLock::new(known) })
    }

    fn read(snapshot: &Snapshot) -> Result<BTreeMap<String, Role>, Error> {
        let built_in = Role::built_in().into_iter().map(|role| (role.name.clone(), role));
        let mut known: BTreeMap<String, Role> = built_in.collect();
        for document in snapshot.documents(KIND) {
            let role = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            known.insert(document.name, role);
        }
        Ok(known)
    }

    /// Every role, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Role> {
        self.known.read().values().cloned().collect()
    }

    /// The role of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Role> {
        self.known.read().get(name).cloned()
    }

    /// Creates a role, or replaces the one of the same name.
    ///
    /// # Errors
    /// If the catalog cannot be written, or the limit is reached.
    pub async fn put(&self, role: Role) -> Result<(), Error> {
        let is_new = self.get(&role.name).is_none();
        if is_new && self.known.read().len() >= MAX_ROLES {
            return Err(Error::TooMany { what: "roles", limit: MAX_ROLES });
        }
        let document = serde_json::to_value(&role)
            .map_err(|error| Error::document(KIND, &role.name, &error))?;
        self.catalog.put_document(KIND, &role.name, document).await?;
        self.known.write().insert(role.name.clone(), role);
        Ok(())
    }

    /// Removes a role.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        self.catalog.delete_document(KIND, name).await?;
        self.known.write().remove(name);
        Ok(())
    }

    /// The roles and all directly or indirectly imported ones.
    fn closure(&self, names: &[String]) -> Vec<Role> {
        let known = self.known.read();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut left: Vec<String> = names.to_vec();
        let mut all = Vec::new();
        while let Some(name) = left.pop() {
            if let Some(role) = known.get(&name).filter(|_| seen.insert(name)) {
                left.extend(role.imported_roles.iter().cloned());
                all.push(role.clone());
            }
        }
        all
    }

    /// Whether a role imports another one, directly or indirectly. The other one need not exist: a role may
    /// import one that was removed.
    #[must_use]
    pub fn imports(&self, name: &str, other: &str) -> bool {
        let roles = self.closure(&[name.to_owned()]);
        roles.iter().any(|role| role.imported_roles.iter().any(|imported| imported == other))
    }

    /// Returns the capabilities, indexes and limits that the role inherits from the roles it imports.
    #[must_use]
    pub fn imported(&self, role: &Role) -> Imported {
        let roles = self.closure(&role.imported_roles);
        Imported {
            capabilities: union(&roles, |role| &role.capabilities),
            indexes_allowed: union(&roles, |role| &role.indexes_allowed),
            indexes_disallowed: union(&roles, |role| &role.indexes_disallowed),
            indexes_default: union(&roles, |role| &role.indexes_default),
            filter: SearchLimits::of(&settings_of(&roles)).filter.unwrap_or_default(),
        }
    }

    /// The rights of users with these roles, including imported ones.
    pub(crate) fn granted(&self, names: &[String]) -> GrantedRights {
        GrantedRights::of(&self.closure(names))
    }

    /// As [`Self::granted`], for a role that need not be stored.
    pub(crate) fn granted_by(&self, role: &Role) -> GrantedRights {
        let mut roles = self.closure(&role.imported_roles);
        roles.retain(|known| known.name != role.name);
        roles.push(role.clone());
        GrantedRights::of(&roles)
    }
}

/// The rights granted by roles.
#[derive(Debug)]
pub(crate) struct GrantedRights {
    pub(crate) names: BTreeSet<String>,
    pub(crate) capabilities: BTreeSet<String>,
    pub(crate) indexes_allowed: Vec<String>,
    pub(crate) indexes_disallowed: Vec<String>,
    pub(crate) indexes_default: Vec<String>,
    pub(crate) limits: SearchLimits,
}

impl GrantedRights {
    fn of(roles: &[Role]) -> Self {
        Self {
            names: roles.iter().map(|role| role.name.clone()).collect(),
            capabilities: union(roles, |role| &role.capabilities).into_iter().collect(),
            indexes_allowed: union(roles, |role| &role.indexes_allowed),
            indexes_disallowed: union(roles, |role| &role.indexes_disallowed),
            indexes_default: union(roles, |role| &role.indexes_default),
            limits: SearchLimits::of(&settings_of(roles)),
        }
    }
}

/// The rights imported from other roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Their capabilities, sorted.
    pub capabilities: Vec<String>,
    /// Their `srchIndexesAllowed`.
    pub indexes_allowed: Vec<String>,
    /// Their `srchIndexesDisallowed`.
    pub indexes_disallowed: Vec<String>,
    /// Their `srchIndexesDefault`.
    pub indexes_default: Vec<String>,
    /// Their `srchFilter`.
    pub filter: String,
}

fn settings_of(roles: &[Role]) -> Vec<RoleSettings<'_>> {
    roles.iter().map(|role| (role.name.as_str(), &role.settings)).collect()
}

fn union(roles: &[Role], of: impl Fn(&Role) -> &Vec<String>) -> Vec<String> {
    let all: BTreeSet<&String> = roles.iter().flat_map(of).collect();
    all.into_iter().cloned().collect()
}

/// Matches text against a pattern in which `*` matches anything.
#[must_use]
pub fn like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    let mut rest = rest;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

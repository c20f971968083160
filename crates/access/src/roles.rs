//! Roles: what their users may do and which indexes they search. Built-in ones, and documents of the
//! catalog.
//!
//! A role has what it was given and what the roles it imports have. Changes of a built-in role are
//! kept like any other; it cannot be removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock};

use catalog::Catalog;
use model::IndexName;
use serde::{Deserialize, Serialize};

use crate::{Error, capabilities};

const KIND: &str = "roles";
/// Roles there may be.
const MAX_ROLES: usize = 10_000;

/// What a group of users may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Lower case.
    pub name: String,
    /// Its own, without those of imported roles.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Roles whose rights it has besides.
    #[serde(default)]
    pub imported_roles: Vec<String>,
    /// `srchIndexesAllowed`: names with `*`; `*` alone does not reach internal indexes.
    #[serde(default)]
    pub indexes_allowed: Vec<String>,
    /// `srchIndexesDefault`: those that a search reads which names none.
    #[serde(default)]
    pub indexes_default: Vec<String>,
    /// Settings that are kept for clients, by their names in `authorize.conf`.
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
    /// A role that may do nothing.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            capabilities: Vec::new(),
            imported_roles: Vec::new(),
            indexes_allowed: Vec::new(),
            indexes_default: Vec::new(),
            settings: BTreeMap::new(),
        }
    }

    fn built_in() -> [Self; 4] {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let role = |name: &str, capabilities: &[&str], imported: &[&str], indexes: &[&str]| Self {
            capabilities: owned(capabilities),
            imported_roles: owned(imported),
            indexes_allowed: owned(indexes),
            indexes_default: owned(if indexes.is_empty() { &[] } else { &["main"] }),
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

/// Whether a role is built in.
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    Role::built_in().iter().any(|role| role.name == name)
}

impl Roles {
    /// Reads the roles from the catalog.
    ///
    /// # Errors
    /// If the catalog holds one that cannot be read.
    pub fn load(catalog: Catalog) -> Result<Self, Error> {
        let built_in = Role::built_in().into_iter().map(|role| (role.name.clone(), role));
        let mut known: BTreeMap<String, Role> = built_in.collect();
        for document in catalog.snapshot().documents(KIND) {
            let role = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            known.insert(document.name, role);
        }
        Ok(Self { catalog, known: RwLock::new(known) })
    }

    /// Every role, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Role> {
        self.read().values().cloned().collect()
    }

    /// The role of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Role> {
        self.read().get(name).cloned()
    }

    /// Creates a role, or replaces the one of the same name.
    ///
    /// # Errors
    /// If the catalog cannot be written, or there are too many.
    pub async fn put(&self, role: Role) -> Result<(), Error> {
        let is_new = self.get(&role.name).is_none();
        if is_new && self.read().len() >= MAX_ROLES {
            return Err(Error::TooMany { what: "roles", limit: MAX_ROLES });
        }
        let document = serde_json::to_value(&role)
            .map_err(|error| Error::document(KIND, &role.name, &error))?;
        self.catalog.put_document(KIND, &role.name, document).await?;
        self.write().insert(role.name.clone(), role);
        Ok(())
    }

    /// Removes a role.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        self.catalog.delete_document(KIND, name).await?;
        self.write().remove(name);
        Ok(())
    }

    /// The roles themselves and all they import, directly or not.
    fn closure(&self, names: &[String]) -> Vec<Role> {
        let known = self.read();
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

    /// What the roles have from the roles they import.
    #[must_use]
    pub fn imported(&self, role: &Role) -> Imported {
        let roles = self.closure(&role.imported_roles);
        Imported {
            capabilities: union(&roles, |role| &role.capabilities),
            indexes_allowed: union(&roles, |role| &role.indexes_allowed),
            indexes_default: union(&roles, |role| &role.indexes_default),
        }
    }

    /// All capabilities of users with these roles.
    #[must_use]
    pub fn capabilities(&self, roles: &[String]) -> Vec<String> {
        union(&self.closure(roles), |role| &role.capabilities)
    }

    /// Whether users with these roles have the capability.
    #[must_use]
    pub fn allow(&self, roles: &[String], capability: &str) -> bool {
        let has = |role: &Role| role.capabilities.iter().any(|name| name == capability);
        self.closure(roles).iter().any(has)
    }

    /// Which of the indexes users with these roles may search.
    #[must_use]
    pub fn searchable(&self, roles: &[String], indexes: Vec<IndexName>) -> Vec<IndexName> {
        let patterns = union(&self.closure(roles), |role| &role.indexes_allowed);
        matching(&patterns, indexes)
    }

    /// Which of the indexes they search when they name none.
    #[must_use]
    pub fn searched(&self, roles: &[String], indexes: Vec<IndexName>) -> Vec<IndexName> {
        let patterns = union(&self.closure(roles), |role| &role.indexes_default);
        matching(&patterns, indexes)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<String, Role>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<String, Role>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a role has from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Their capabilities, sorted.
    pub capabilities: Vec<String>,
    /// Their `srchIndexesAllowed`.
    pub indexes_allowed: Vec<String>,
    /// Their `srchIndexesDefault`.
    pub indexes_default: Vec<String>,
}

fn union(roles: &[Role], of: impl Fn(&Role) -> &Vec<String>) -> Vec<String> {
    let all: BTreeSet<&String> = roles.iter().flat_map(of).collect();
    all.into_iter().cloned().collect()
}

fn matching(patterns: &[String], mut indexes: Vec<IndexName>) -> Vec<IndexName> {
    indexes.retain(|index| patterns.iter().any(|pattern| reaches(pattern, index)));
    indexes
}

/// Whether a pattern of `srchIndexesAllowed` means the index. One has to begin with `_` to reach
/// internal indexes.
fn reaches(pattern: &str, index: &IndexName) -> bool {
    let (pattern, name) = (pattern.trim().to_lowercase(), index.as_str());
    let hidden = index.is_internal() && !pattern.starts_with('_');
    !hidden && like(&pattern, name)
}

/// Matches text against a pattern in which `*` stands for anything.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_star_does_not_reach_internal_indexes() {
        let index = |name: &str| IndexName::new(name).unwrap();
        assert!(reaches("*", &index("main")) && reaches("web*", &index("web-2")));
        assert!(!reaches("*", &index("_internal")) && !reaches("web", &index("web-2")));
        assert!(reaches("_*", &index("_internal")));
    }
}

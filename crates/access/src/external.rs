//! Users of other providers (LDAP, OIDC): who they are there, and the roles that gives them here.

use crate::authentication::Stanza;

/// A user as a provider knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalUser {
    /// Login name, in lower case.
    pub name: String,
    /// Name for people.
    pub realname: String,
    /// Address.
    pub email: String,
    /// Groups there.
    pub groups: Vec<String>,
    /// The stanza of the provider.
    pub provider: String,
    /// As of when the provider says so; epoch seconds.
    pub since: i64,
}

/// Which groups give which roles: `[roleMap_<strategy>]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleMap {
    /// Role, groups.
    pub groups_of: Vec<(String, Vec<String>)>,
    /// `defaultRoles`: of users whom no group gives a role.
    pub default: Vec<String>,
}

impl RoleMap {
    pub(crate) fn read(stanza: &Stanza<'_>) -> Self {
        let default = stanza.list("defaultRoles").iter().map(|role| role.to_lowercase()).collect();
        Self { groups_of: stanza.role_map(), default }
    }

    /// The roles of a user in these groups. Names of groups are compared without regard to case, as
    /// directories do.
    #[must_use]
    pub fn roles(&self, groups: &[String]) -> Vec<String> {
        let is_in = |group: &String| groups.iter().any(|own| own.eq_ignore_ascii_case(group));
        let mut roles: Vec<String> = self
            .groups_of
            .iter()
            .filter(|(_, of)| of.iter().any(is_in))
            .map(|(role, _)| role.clone())
            .collect();
        if roles.is_empty() {
            roles.clone_from(&self.default);
        }
        roles.sort();
        roles.dedup();
        roles
    }
}

/// Why a name cannot be a user's.
#[must_use]
pub fn user_name_fault(name: &str) -> Option<String> {
    let bad = |c: char| c.is_control() || c.is_whitespace() || matches!(c, ':' | '/' | '\\');
    (name.is_empty() || name.len() > 1_024 || name.starts_with('_') || name.contains(bad)).then(
        || format!("invalid user name \"{name}\": no blanks, colons and slashes, no _ in front"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_give_roles_and_nobody_else_gets_more_than_the_default() {
        let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut map = RoleMap {
            groups_of: vec![
                ("admin".to_owned(), text(&["ops", "wheel"])),
                ("power".to_owned(), text(&["ops"])),
            ],
            default: Vec::new(),
        };
        assert_eq!(map.roles(&text(&["OPS"])), ["admin", "power"]);
        assert_eq!(map.roles(&text(&["wheel", "x"])), ["admin"]);
        assert!(map.roles(&text(&["x", ""])).is_empty());
        map.default = text(&["user"]);
        assert_eq!(map.roles(&[]), ["user"]);
        assert_eq!(map.roles(&text(&["wheel"])), ["admin"]);
    }
}

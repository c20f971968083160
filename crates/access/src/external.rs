//! Users of external providers (LDAP, OIDC, SAML), the mapping of their groups to roles, and the
//! start of a login at a provider's page.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rand::Rng;

use crate::Error;
use crate::settings as keys;
use crate::stanza::Stanza;

/// The start of a login at a provider's page.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// URL to redirect the browser to.
    pub url: String,
    /// The expected value of its cookie on return.
    pub state: String,
}

/// 256 random bits, in 43 characters of a URL.
pub(crate) fn random_text() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(random_bytes::<32>())
}

pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    runtime::random::generator().random()
}

/// A user as reported by a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalUser {
    /// Login name, in lower case.
    pub name: String,
    /// Full name.
    pub realname: String,
    /// Email address.
    pub email: String,
    /// Groups at the provider.
    pub groups: Vec<String>,
    /// The stanza of the provider.
    pub provider: String,
    /// When the provider reported this; epoch seconds.
    pub since: i64,
}

/// Maps groups to roles: `[roleMap_<strategy>]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleMap {
    /// Role, groups.
    pub groups_of: Vec<(String, Vec<String>)>,
    /// `defaultRoles`, of SAML `defaultRoleIfMissing`: roles of users without a mapped group.
    pub default: Vec<String>,
}

impl RoleMap {
    /// `kind`: how `authType` calls the provider.
    pub(crate) fn read(stanza: &Stanza<'_>, kind: &str) -> Result<Self, Error> {
        let names = [stanza.get(&keys::DEFAULT_ROLES)?, stanza.get(&keys::DEFAULT_ROLE)?];
        let default = names.concat().iter().map(|role| role.to_lowercase()).collect();
        Ok(Self { groups_of: stanza.role_map(kind), default })
    }

    /// The roles of a user in these groups. Group names are case-insensitive, as in directories.
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

/// Why a user name is invalid, if it is.
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

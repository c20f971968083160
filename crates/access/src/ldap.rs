//! LDAP login: finds the user, binds as the user, reads the user's groups.
//!
//! User input is escaped in filters, and never becomes part of a DN. Empty passwords are refused
//! here: directories treat such a bind as anonymous and let it succeed.

mod connection;
mod groups;
mod start_tls;

use std::sync::Arc;
use std::time::Duration;

use ldap3::{Ldap, Scope, SearchEntry, SearchOptions, ldap_escape};
use rustls::ClientConfig;

use crate::Error;
use crate::external::{ExternalUser, RoleMap};
use crate::settings::{self, enclosed};
use crate::stanza::Stanza;

/// A directory; a stanza of authentication.conf.
#[derive(Debug, Clone, PartialEq)]
pub struct LdapSettings {
    /// Name of the stanza.
    pub name: String,
    /// `host`.
    pub host: String,
    /// `port`.
    pub port: u16,
    /// `SSLEnabled`, `startTLS`.
    pub encryption: Encryption,
    /// `bindDN`; empty: anonymous.
    pub bind_dn: String,
    /// `bindDNpassword`.
    pub bind_password: String,
    /// `userBaseDN`.
    pub user_bases: Vec<String>,
    /// `userBaseFilter`.
    pub user_filter: String,
    /// `userNameAttribute`.
    pub user_name: String,
    /// `realNameAttribute`.
    pub real_name: String,
    /// `emailAttribute`.
    pub email: String,
    /// `groupBaseDN`.
    pub group_bases: Vec<String>,
    /// `groupBaseFilter`.
    pub group_filter: String,
    /// `groupNameAttribute`.
    pub group_name: String,
    /// `groupMemberAttribute`.
    pub group_member: String,
    /// `groupMappingAttribute`.
    pub group_mapping: String,
    /// `nestedGroups`: also read the groups that the user's groups are members of.
    pub nested_groups: bool,
    /// `network_timeout`.
    pub timeout: Duration,
    /// `sizelimit`.
    pub max_groups: u32,
    /// `caCertFile`, its content.
    pub certificates: Option<Vec<u8>>,
    /// Roles by group.
    pub roles: RoleMap,
}

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// No encryption.
    None,
    /// TLS after a StartTLS request.
    StartTls,
    /// TLS from the first byte (LDAPS).
    Tls,
}

impl Encryption {
    fn read(stanza: &Stanza<'_>) -> Result<Self, Error> {
        match (stanza.get(&settings::SSL_ENABLED)?, stanza.get(&settings::START_TLS)?) {
            (false, false) => Ok(Self::None),
            (false, true) => Ok(Self::StartTls),
            (true, false) => Ok(Self::Tls),
            (true, true) => Err(stanza.wrong(&settings::START_TLS, "false if SSLEnabled is true")),
        }
    }

    fn port(self) -> u16 {
        if self == Self::Tls { 636 } else { 389 }
    }
}

impl LdapSettings {
    pub(crate) fn read(stanza: &Stanza<'_>) -> Result<Self, Error> {
        let host = stanza.required(&settings::HOST, "the directory's host")?;
        let encryption = Encryption::read(stanza)?;
        let port = stanza.get(&settings::PORT)?.unwrap_or(encryption.port());
        let user_bases = stanza.get(&settings::USER_BASE_DN)?;
        if user_bases.is_empty() {
            return Err(stanza.wrong(&settings::USER_BASE_DN, "where users are"));
        }
        let settings = Self {
            name: stanza.name.to_owned(),
            host,
            port,
            encryption,
            bind_dn: stanza.get(&settings::BIND_DN)?.unwrap_or_default(),
            bind_password: stanza.secret(&settings::BIND_PASSWORD)?.unwrap_or_default(),
            user_bases,
            user_filter: enclosed(&stanza.get(&settings::USER_FILTER)?),
            user_name: stanza.get(&settings::USER_NAME)?,
            real_name: stanza.get(&settings::REAL_NAME)?,
            email: stanza.get(&settings::EMAIL)?,
            group_bases: stanza.get(&settings::GROUP_BASE_DN)?,
            group_filter: enclosed(&stanza.get(&settings::GROUP_FILTER)?),
            group_name: stanza.get(&settings::GROUP_NAME)?,
            group_member: stanza.get(&settings::GROUP_MEMBER)?,
            group_mapping: stanza.get(&settings::GROUP_MAPPING)?,
            nested_groups: stanza.get(&settings::NESTED_GROUPS)?,
            timeout: stanza.get(&settings::NETWORK_TIMEOUT)?,
            max_groups: stanza.get(&settings::SIZE_LIMIT)?,
            certificates: stanza.certificates()?,
            roles: RoleMap::read(stanza, "LDAP")?,
        };
        if !settings.bind_dn.is_empty() && settings.bind_password.is_empty() {
            return Err(stanza.wrong(&settings::BIND_PASSWORD, "the password of bindDN"));
        }
        Ok(settings)
    }

    /// The filter that finds a user by login name.
    fn finding_user(&self, name: &str) -> String {
        format!("(&({}={}){})", self.user_name, ldap_escape(name), self.user_filter)
    }
}

/// A user that was found but not yet authenticated.
#[derive(Debug)]
struct Found {
    dn: String,
    entry: SearchEntry,
}

impl Found {
    fn value(&self, attribute: &str) -> Option<&str> {
        let is_it = |name: &&String| name.eq_ignore_ascii_case(attribute);
        let name = self.entry.attrs.keys().find(is_it)?;
        self.entry.attrs[name].first().map(String::as_str)
    }
}

/// An LDAP directory.
#[derive(Debug)]
pub struct LdapDirectory {
    settings: LdapSettings,
    tls: Option<Arc<ClientConfig>>,
}

impl LdapDirectory {
    /// Does not connect yet.
    ///
    /// # Errors
    /// If the certificates to trust cannot be read.
    pub fn new(settings: LdapSettings) -> Result<Self, Error> {
        let encrypted = settings.encryption != Encryption::None;
        let tls = encrypted.then(|| connection::trusting(&settings)).transpose()?;
        Ok(Self { settings, tls })
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &LdapSettings {
        &self.settings
    }

    /// Authenticates a user; `None` if name or password is wrong.
    ///
    /// # Errors
    /// If the directory cannot be queried.
    pub async fn log_in(
        &self,
        now: i64,
        name: &str,
        password: &str,
    ) -> Result<Option<ExternalUser>, Error> {
        if name.is_empty() || password.is_empty() {
            return Ok(None);
        }
        let asked = tokio::time::timeout(self.settings.timeout, self.ask(now, name, password));
        match asked.await {
            Ok(found) => found,
            Err(_) => Err(self.failed("no response within network_timeout".to_owned())),
        }
    }

    fn failed(&self, reason: String) -> Error {
        Error::Provider { name: self.settings.name.clone(), reason }
    }

    async fn ask(
        &self,
        now: i64,
        name: &str,
        password: &str,
    ) -> Result<Option<ExternalUser>, Error> {
        let ldap = self.connect().await?;
        let found = self.ask_over(ldap, now, name, password).await;
        found.map_err(|error| self.failed(error.to_string()))
    }

    async fn ask_over(
        &self,
        mut ldap: Ldap,
        now: i64,
        name: &str,
        password: &str,
    ) -> Result<Option<ExternalUser>, ldap3::LdapError> {
        self.bind_to_search(&mut ldap).await?;
        let found = self.find_user(&mut ldap, name).await?;
        // An unknown name also costs a bind, so that names cannot be probed by timing.
        let decoy = || format!("{}=nobody-{}", self.settings.user_name, runtime::random::uuid());
        let dn = found.as_ref().map_or_else(decoy, |found| found.dn.clone());
        let right = ldap.simple_bind(&dn, password).await?.rc == 0;
        let Some(found) = found.filter(|_| right) else {
            let _ = ldap.unbind().await;
            return Ok(None);
        };
        self.bind_to_search(&mut ldap).await?;
        let groups = self.groups_of(&mut ldap, &found).await?;
        let _ = ldap.unbind().await;
        let text = |attribute: &str| found.value(attribute).unwrap_or_default().to_owned();
        Ok(Some(ExternalUser {
            // The directory's spelling: it may compare names more loosely than Karst.
            name: found.value(&self.settings.user_name).unwrap_or(name).to_lowercase(),
            realname: text(&self.settings.real_name),
            email: text(&self.settings.email),
            groups,
            provider: self.settings.name.clone(),
            since: now,
        }))
    }

    async fn bind_to_search(&self, ldap: &mut Ldap) -> Result<(), ldap3::LdapError> {
        let (dn, password) = (&self.settings.bind_dn, &self.settings.bind_password);
        ldap.simple_bind(dn, password).await?.success().map(drop)
    }

    /// Finds the entry of a user; `None` if there is no entry, or more than one.
    async fn find_user(
        &self,
        ldap: &mut Ldap,
        name: &str,
    ) -> Result<Option<Found>, ldap3::LdapError> {
        let settings = &self.settings;
        let mut wanted = vec![&settings.user_name, &settings.real_name, &settings.email];
        if settings.group_mapping != "dn" {
            wanted.push(&settings.group_mapping);
        }
        let mut found = Vec::new();
        for base in &settings.user_bases {
            let filter = settings.finding_user(name);
            ldap.with_search_options(SearchOptions::new().sizelimit(2));
            let result = ldap.search(base, Scope::Subtree, &filter, &wanted).await?;
            if !matches!(result.1.rc, 0 | SIZE_LIMIT | NO_SUCH_OBJECT) {
                result.1.clone().success()?;
            }
            found.extend(result.0.into_iter().filter(|entry| !entry.is_ref()));
        }
        if found.len() > 1 {
            tracing::warn!(strategy = settings.name, "several entries have the same login name");
            return Ok(None);
        }
        Ok(found.pop().map(|entry| {
            let entry = SearchEntry::construct(entry);
            Found { dn: entry.dn.clone(), entry }
        }))
    }
}

/// LDAP result code that is not an error here.
const SIZE_LIMIT: u32 = 4;
const NO_SUCH_OBJECT: u32 = 32;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use conf::{Layer, Layers};

    fn read(conf: &str) -> Result<LdapSettings, Error> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "authentication", conf);
        LdapSettings::read(&Stanza { conf: &layers.effective("authentication"), name: "corp" })
    }

    const CONF: &str = "[corp]\nhost = ldap.example.org\nuserBaseDN = ou=people,dc=x;ou=robots,dc=x\n\
                        groupBaseDN = ou=groups,dc=x\nuserBaseFilter = objectclass=person\n";

    #[test]
    fn a_strategy_has_splunks_names() {
        let settings =
            read(&format!("{CONF}SSLEnabled = 1\n[roleMap_corp]\nadmin = ops;wheel")).unwrap();
        assert_eq!((settings.encryption, settings.port), (Encryption::Tls, 636));
        let started = read(&format!("{CONF}startTLS = 1\nnestedGroups = 1")).unwrap();
        assert_eq!((started.encryption, started.port), (Encryption::StartTls, 389));
        assert_eq!((started.nested_groups, settings.nested_groups), (true, false));
        let bad = read(&format!("{CONF}SSLEnabled = 1\nstartTLS = 1")).unwrap_err().to_string();
        assert!(bad.contains("startTLS") && bad.contains("SSLEnabled"), "{bad}");
        assert_eq!(settings.user_bases, ["ou=people,dc=x", "ou=robots,dc=x"]);
        assert_eq!(settings.roles.roles(&["Wheel".to_owned()]), ["admin"]);
        assert!(read("[corp]\nhost = h\n").unwrap_err().to_string().contains("userBaseDN"));
        let bad = read(&format!("{CONF}groupBaseFilter = (x=")).unwrap_err().to_string();
        assert!(bad.contains("groupBaseFilter"), "{bad}");
        let bad = read(&format!("{CONF}userNameAttribute = uid)(x")).unwrap_err().to_string();
        assert!(bad.contains("userNameAttribute"), "{bad}");
    }

    #[test]
    fn names_cannot_change_a_filter() {
        let settings = read(CONF).unwrap();
        assert_eq!(settings.finding_user("ann"), "(&(uid=ann)(objectclass=person))");
        for name in ["*", "a)(uid=*", "a*)(|(uid=*", "\\2a", "a\0b", "(", "ann)(objectclass=*"] {
            let filter = settings.finding_user(name);
            let special = |c: char| filter.matches(c).count();
            assert_eq!((special('('), special(')'), special('*')), (3, 3, 0), "{filter}");
            assert!(ldap3::parse_filter(&filter).is_ok() && !filter.contains('\0'), "{filter}");
        }
    }

    #[test]
    fn groups_are_found_by_one_member_or_several() {
        let settings = read(CONF).unwrap();
        let of = |members: &[&str]| {
            let members: Vec<String> = members.iter().map(|&member| member.to_owned()).collect();
            settings.finding_groups(&members)
        };
        assert_eq!(of(&["uid=ann"]), "(&(member=uid=ann)(objectclass=*))");
        assert_eq!(of(&["a", "b)"]), "(&(|(member=a)(member=b\\29))(objectclass=*))");
    }

    #[tokio::test]
    async fn an_empty_password_is_not_sent_to_the_directory() {
        // Nothing listens at this port: a query would return an error.
        let directory = LdapDirectory::new(read(&format!("{CONF}port = 1")).unwrap()).unwrap();
        assert_eq!(directory.log_in(0, "ann", "").await.unwrap(), None);
        assert_eq!(directory.log_in(0, "", "x").await.unwrap(), None);
    }
}

//! Settings of authentication: `authentication.conf`, and the session settings of `server.conf`.

use conf::{Effective, Layers};

use crate::lockout::LockoutSettings;
use crate::password_policy::PasswordPolicy;
use crate::sessions::SessionSettings;
use crate::settings as keys;
use crate::stanza::Stanza;
use crate::{Error, ldap, oidc, saml};

pub use ::saml::Console;

/// The stanza of local users.
const LOCAL: &str = "splunk_auth";

/// The external identity provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ProviderSettings {
    /// None: `authType = Splunk`.
    #[default]
    Local,
    /// LDAP directories, tried in order: `authType = LDAP`.
    Ldap(Vec<ldap::LdapSettings>),
    /// One OpenID provider: `authType = OIDC`.
    Oidc(Box<oidc::OidcSettings>),
    /// One SAML identity provider: `authType = SAML`.
    Saml(Box<saml::SamlSettings>),
}

/// All settings of authentication.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuthenticationSettings {
    /// Account lockout.
    pub lockout: LockoutSettings,
    /// Password policy.
    pub passwords: PasswordPolicy,
    /// Session limits.
    pub sessions: SessionSettings,
    /// `verboseLoginFailMsg`: whether login errors show their reason.
    pub verbose: bool,
    /// The identity provider.
    pub provider: ProviderSettings,
}

impl AuthenticationSettings {
    /// Reads authentication.conf, and the session settings of server.conf. `console`: where browsers reach
    /// this server, for the URL to which a SAML provider sends them back.
    ///
    /// # Errors
    /// If a value is invalid, or `authType` is not supported.
    pub fn read(layers: &Layers, console: &Console) -> Result<Self, Error> {
        let conf = &layers.effective("authentication");
        Ok(Self {
            lockout: LockoutSettings::read(layers)?,
            passwords: PasswordPolicy::read(layers)?,
            sessions: SessionSettings::read(layers)?,
            verbose: Stanza { conf, name: LOCAL }.get(&keys::VERBOSE)?,
            provider: provider(conf, console)?,
        })
    }
}

fn provider(conf: &Effective, console: &Console) -> Result<ProviderSettings, Error> {
    let stanza = Stanza { conf, name: "authentication" };
    let names = stanza.get(&keys::AUTH_SETTINGS)?;
    let strategies: Vec<Stanza<'_>> = names.iter().map(|name| Stanza { conf, name }).collect();
    let wrong = |expected| Err(stanza.wrong(&keys::AUTH_SETTINGS, expected));
    match (stanza.get(&keys::AUTH_TYPE)?.as_str(), &strategies[..]) {
        ("LDAP", []) => wrong("a strategy's stanza"),
        ("LDAP", all) => {
            let read = all.iter().map(ldap::LdapSettings::read);
            Ok(ProviderSettings::Ldap(read.collect::<Result<_, _>>()?))
        }
        ("OIDC", [one]) => Ok(ProviderSettings::Oidc(Box::new(oidc::OidcSettings::read(one)?))),
        ("OIDC", _) => wrong("the stanza of one OIDC provider"),
        ("SAML", [one]) => {
            Ok(ProviderSettings::Saml(Box::new(saml::SamlSettings::read(one, console)?)))
        }
        ("SAML", _) => wrong("the stanza of one SAML provider"),
        _ => Ok(ProviderSettings::Local),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    use conf::Layer;

    const MINUTE: Duration = Duration::from_secs(60);
    const DAY: Duration = Duration::from_secs(24 * 3_600);

    fn read(authentication: &str, server: &str) -> Result<AuthenticationSettings, Error> {
        let layers = Layers::builtin()
            .with(Layer::SystemLocal, "authentication", authentication)
            .with(Layer::SystemLocal, "server", server);
        let console = Console { host: "karst.example.org".to_owned(), port: 8000, tls: true };
        AuthenticationSettings::read(&layers, &console)
    }

    #[test]
    fn nothing_said_is_the_default() {
        assert_eq!(read("", "").unwrap(), AuthenticationSettings::default());
    }

    #[test]
    fn files_set_locks_passwords_and_sessions() {
        let conf = "[splunk_auth]\nlockoutAttempts = 3\nlockoutMins = 10\nminPasswordLength = 12\n\
                    enablePasswordHistory = true\npasswordHistoryCount = 5\nexpireUserAccounts = 1\n\
                    expirePasswordDays = 30\nverboseLoginFailMsg = true";
        let server =
            "[general]\nsessionTimeout = 5m\nmaxSessionLifetime = 2d\nmaxSessionsPerUser = 7";
        let settings = read(conf, server).unwrap();
        assert_eq!((settings.lockout.attempts, settings.lockout.lock), (3, 10 * MINUTE));
        assert_eq!((settings.passwords.length, settings.passwords.history()), (12, 5));
        assert_eq!((settings.passwords.lifetime(), settings.verbose), (Some(30 * DAY), true));
        let sessions = settings.sessions;
        assert_eq!((sessions.idle, sessions.lifetime, sessions.per_user), (5 * MINUTE, 2 * DAY, 7));
    }

    #[test]
    fn values_that_do_not_fit_are_named_with_place_and_range() {
        let cases = [
            ("[splunk_auth]\nlockoutAttempts = 0", "1 to 64"),
            ("[splunk_auth]\nlockoutUsers = perhaps", "true or false"),
            ("[authentication]\nauthType = SAML", "one SAML provider"),
            ("[authentication]\nauthType = SAML\nauthSettings = x", "entityId"),
            ("[authentication]\nauthType = Kerberos", "Splunk, LDAP, SAML or OIDC"),
            ("[authentication]\nauthType = OIDC\nauthSettings = x", "issuer"),
            ("[authentication]\nauthType = LDAP\nauthSettings = x", "host"),
        ];
        for (conf, expected) in cases {
            let error = read(conf, "").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = read("[splunk_auth]\nlockoutMins = x", "").unwrap_err().to_string();
        assert!(
            error.contains("authentication.conf:2") && error.contains("lockoutMins = x"),
            "{error}"
        );
    }
}

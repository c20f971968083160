//! Settings of authentication: `authentication.conf`, and the session settings of `server.conf`.

use std::time::Duration;

use knowledge::layers::Effective;

use crate::lockout::LockoutSettings;
use crate::password_policy::PasswordPolicy;
use crate::sessions::SessionSettings;
use crate::stanza::Stanza;
use crate::{Error, ldap, oidc, saml};

pub use ::saml::Console;

/// The stanza of local users.
const LOCAL: &str = "splunk_auth";
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3_600);

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
    /// Reads authentication.conf and server.conf. `console`: where browsers reach this server, for
    /// the URL to which a SAML provider sends them back.
    ///
    /// # Errors
    /// If a value is invalid, or `authType` is not supported.
    pub fn read(
        authentication: &Effective,
        server: &Effective,
        console: &Console,
    ) -> Result<Self, Error> {
        let local = Stanza { conf: authentication, name: LOCAL };
        Ok(Self {
            lockout: lockout(&local)?,
            passwords: passwords(&local)?,
            sessions: sessions(&Stanza { conf: server, name: "general" })?,
            verbose: local.flag("verboseLoginFailMsg")?.unwrap_or(false),
            provider: provider(authentication, console)?,
        })
    }
}

fn lockout(local: &Stanza<'_>) -> Result<LockoutSettings, Error> {
    let mut settings = LockoutSettings::default();
    local.flag("lockoutUsers")?.inspect(|value| settings.users = *value);
    local.number("lockoutAttempts", 1, 64)?.inspect(|value| settings.attempts = *value as u32);
    local
        .number("lockoutThresholdMins", 1, 120)?
        .inspect(|value| settings.threshold = MINUTE * *value as u32);
    local.number("lockoutMins", 1, 1_440)?.inspect(|value| settings.lock = MINUTE * *value as u32);
    local
        .number("lockoutSourceAttempts", 1, 1_000_000)?
        .inspect(|value| settings.source_attempts = *value as u32);
    local
        .number("lockoutMaxEntries", 100, 1_000_000)?
        .inspect(|value| settings.max_entries = *value as usize);
    Ok(settings)
}

fn passwords(local: &Stanza<'_>) -> Result<PasswordPolicy, Error> {
    let mut policy = PasswordPolicy::default();
    let counts = [
        ("minPasswordLength", 1, &mut policy.length),
        ("minPasswordUppercase", 0, &mut policy.uppercase),
        ("minPasswordLowercase", 0, &mut policy.lowercase),
        ("minPasswordDigit", 0, &mut policy.digits),
        ("minPasswordSpecial", 0, &mut policy.special),
    ];
    for (name, least, kept) in counts {
        local.number(name, least, 256)?.inspect(|value| *kept = *value as usize);
    }
    let count = local.number("passwordHistoryCount", 1, 128)?.unwrap_or(24);
    if local.flag("enablePasswordHistory")? == Some(true) {
        policy.history = count as usize;
    }
    let days = local.number("expirePasswordDays", 1, 3_650)?.unwrap_or(90);
    if local.flag("expireUserAccounts")? == Some(true) {
        policy.lifetime = Some(DAY * days as u32);
    }
    local.flag("forceWeakPasswordChange")?.inspect(|value| policy.force_change_of_weak = *value);
    Ok(policy)
}

fn sessions(general: &Stanza<'_>) -> Result<SessionSettings, Error> {
    let mut settings = SessionSettings::default();
    general.span("sessionTimeout")?.inspect(|value| settings.idle = *value);
    general.span("maxSessionLifetime")?.inspect(|value| settings.lifetime = *value);
    general
        .number("maxSessionsPerUser", 1, 1_000_000)?
        .inspect(|value| settings.per_user = *value as usize);
    general.number("maxSessions", 10, 10_000_000)?.inspect(|value| settings.all = *value as usize);
    Ok(settings)
}

fn provider(conf: &Effective, console: &Console) -> Result<ProviderSettings, Error> {
    let stanza = Stanza { conf, name: "authentication" };
    let kind = stanza.text("authType").unwrap_or("Splunk");
    let strategies: Vec<&str> = stanza
        .text("authSettings")
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    match kind.to_ascii_lowercase().as_str() {
        "splunk" => Ok(ProviderSettings::Local),
        "ldap" if strategies.is_empty() => Err(stanza.wrong("authSettings", "a strategy's stanza")),
        "ldap" => {
            let read = |name: &&str| ldap::LdapSettings::read(&Stanza { conf, name });
            Ok(ProviderSettings::Ldap(strategies.iter().map(read).collect::<Result<_, _>>()?))
        }
        "oidc" => match strategies[..] {
            [name] => {
                let settings = oidc::OidcSettings::read(&Stanza { conf, name })?;
                Ok(ProviderSettings::Oidc(Box::new(settings)))
            }
            _ => Err(stanza.wrong("authSettings", "the stanza of one OIDC provider")),
        },
        "saml" => match strategies[..] {
            [name] => {
                let settings = saml::SamlSettings::read(&Stanza { conf, name }, console)?;
                Ok(ProviderSettings::Saml(Box::new(settings)))
            }
            _ => Err(stanza.wrong("authSettings", "the stanza of one SAML provider")),
        },
        _ => Err(stanza.wrong("authType", "Splunk, LDAP, SAML or OIDC")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use knowledge::layers::{Layer, Layers};

    fn read(authentication: &str, server: &str) -> Result<AuthenticationSettings, Error> {
        let layers = Layers::builtin()
            .with(Layer::SystemLocal, "authentication", authentication)
            .with(Layer::SystemLocal, "server", server);
        AuthenticationSettings::read(
            &layers.effective("authentication"),
            &layers.effective("server"),
            &Console { host: "karst.example.org".to_owned(), port: 8000, tls: true },
        )
    }

    #[test]
    fn every_setting_that_is_offered_is_read() {
        let sources = [
            include_str!("authentication.rs"),
            include_str!("external.rs"),
            include_str!("stanza.rs"),
            include_str!("ldap.rs"),
            include_str!("oidc/mod.rs"),
            include_str!("saml.rs"),
            include_str!("../../saml/src/settings.rs"),
        ]
        .concat();
        let offered = knowledge::registry::settings("authentication").unwrap_or_default();
        assert!(!offered.is_empty());
        for setting in offered.iter().filter(|setting| setting.honoured) {
            assert!(sources.contains(&format!("\"{}\"", setting.name)), "{}", setting.name);
        }
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
        assert_eq!((settings.passwords.length, settings.passwords.history), (12, 5));
        assert_eq!((settings.passwords.lifetime, settings.verbose), (Some(30 * DAY), true));
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

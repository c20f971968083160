//! Logins: admission, password check, forced password changes, provisioning of external users.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::accounts::{IdentityProvider, UserChange};
use crate::external::{ExternalUser, RoleMap, user_name_fault};
use crate::lockout::{Admission, Consequence};
use crate::oidc::OidcProvider;
use crate::saml::SamlProvider;
use crate::{Accounts, Checked, Error, User};

/// A login attempt.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// Login name, as typed.
    pub user: &'a str,
    /// The password, in clear text.
    pub password: &'a str,
    /// The new password, if the old one must be changed.
    pub new_password: Option<&'a str>,
    /// Client address; `None`: from within the process.
    pub source: Option<IpAddr>,
}

/// A successful login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// The user's name, as stored.
    pub name: String,
    /// How the password was checked.
    pub checked: Checked,
}

/// Maximum time that a login waits for other password checks.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a login failed. Clients cannot distinguish the reasons, unless they knew the password or
/// `verboseLoginFailMsg` is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Unknown user, or wrong password.
    WrongPassword,
    /// The same, and the user is now locked.
    LockedNow,
    /// Locked because of earlier wrong passwords.
    Locked,
    /// Delayed because of a recent wrong password.
    TooSoon,
    /// Locked by an administrator.
    KeptOut,
    /// The password is correct but must be changed, for this reason.
    MustChange(String),
    /// The new password violates the policy.
    NewPassword(String),
    /// The provider authenticated a user who is not permitted, for this reason.
    NotAllowed(String),
    /// Too many concurrent logins.
    Busy,
    /// The provider is unavailable, for this reason.
    Unavailable(String),
}

impl Refusal {
    /// A keyword for logs and audit records.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::WrongPassword | Self::LockedNow => "wrong_password",
            Self::Locked => "locked",
            Self::TooSoon => "too_soon",
            Self::KeptOut => "disabled",
            Self::MustChange(_) => "password_expired",
            Self::NewPassword(_) => "weak_password",
            Self::NotAllowed(_) => "not_allowed",
            Self::Busy => "busy",
            Self::Unavailable(_) => "provider_unavailable",
        }
    }
}

/// For logs and audit records, not for clients.
impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::MustChange(reason)
            | Self::NewPassword(reason)
            | Self::NotAllowed(reason)
            | Self::Unavailable(reason) => write!(f, ": {reason}"),
            _ => Ok(()),
        }
    }
}

impl Accounts {
    /// Logs a user in.
    ///
    /// # Errors
    /// The reason of a failed login.
    pub async fn log_in(&self, attempt: Attempt<'_>) -> Result<Entered, Refusal> {
        let name = self.known_name(attempt.user);
        self.admit(&name, attempt.source)?;
        let user = self.user(&name);
        let local = user.as_ref().filter(|user| user.is_local());
        let checked = match local.filter(|user| self.was_right(user, attempt.password)) {
            Some(_) => Checked::Remembered,
            None => self.check(local, &name, &attempt).await?,
        };
        let Some(user) = local else {
            let name = self.log_in_elsewhere(&name, &attempt).await?;
            return Ok(Entered { name, checked: Checked::Right });
        };
        if !checked.is_right() {
            return Err(self.failed(&name, &attempt));
        }
        self.succeeded(&name, attempt.source);
        self.let_in(user, &attempt).await?;
        Ok(Entered { name, checked })
    }

    fn was_right(&self, user: &User, password: &str) -> bool {
        self.passwords.remembers(&user.name, password, &user.password_hash)
    }

    /// Checks the password of a local user. An unknown name takes the same time as a wrong
    /// password, so that names cannot be probed.
    async fn check(
        &self,
        user: Option<&User>,
        name: &str,
        attempt: &Attempt<'_>,
    ) -> Result<Checked, Refusal> {
        let _waiting = self.waiting.try_acquire().map_err(|_| Refusal::Busy)?;
        let turn = tokio::time::timeout(PATIENCE, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| Refusal::Busy)?.map_err(|_| Refusal::Busy)?;
        // Other attempts may have failed while this one waited.
        self.admit(name, attempt.source)?;
        let stored = user.map(|user| user.password_hash.clone());
        let checked = self.passwords.check(name, attempt.password, stored).await;
        checked.map_err(|_| Refusal::Busy)
    }

    async fn log_in_elsewhere(&self, name: &str, attempt: &Attempt<'_>) -> Result<String, Refusal> {
        let Some((found, roles)) = self.ask_directories(attempt).await? else {
            return Err(self.failed(name, attempt));
        };
        self.succeeded(name, attempt.source);
        self.provision(found, &roles).await
    }

    /// Checks a password of a local user without counting failures: for the server itself.
    ///
    /// # Errors
    /// [`Error::Busy`] if too many password checks are queued.
    pub async fn verify(&self, name: &str, password: &str) -> Result<Checked, Error> {
        let stored = self.user(name).filter(User::is_local).map(|user| user.password_hash);
        self.passwords.check(name, password, stored).await
    }

    /// Normalizes a name to lower case.
    fn known_name(&self, typed: &str) -> String {
        if self.user(typed).is_some() { typed.to_owned() } else { typed.to_lowercase() }
    }

    fn admit(&self, name: &str, source: Option<IpAddr>) -> Result<(), Refusal> {
        match self.lockout.lock().admit(Instant::now(), name, source) {
            Admission::Open => Ok(()),
            Admission::Delayed(_) => Err(Refusal::TooSoon),
            Admission::UserLocked(_) | Admission::SourceLocked(_) => Err(Refusal::Locked),
        }
    }

    fn failed(&self, name: &str, attempt: &Attempt<'_>) -> Refusal {
        let now = Instant::now();
        match self.lockout.lock().failed(now, name, attempt.source) {
            Consequence::Counted => Refusal::WrongPassword,
            Consequence::LockedUser | Consequence::LockedSource => Refusal::LockedNow,
        }
    }

    fn succeeded(&self, name: &str, source: Option<IpAddr>) {
        self.lockout.lock().succeeded(name, source);
    }

    /// Continues a login after a correct password.
    async fn let_in(&self, user: &User, attempt: &Attempt<'_>) -> Result<(), Refusal> {
        if user.locked {
            return Err(Refusal::KeptOut);
        }
        let Some(reason) = self.reason_to_change(user, attempt.password) else { return Ok(()) };
        let Some(new) = attempt.new_password else { return Err(Refusal::MustChange(reason)) };
        if new == attempt.password {
            return Err(Refusal::NewPassword("the new password is the old one".to_owned()));
        }
        let change = UserChange { password: Some(new.to_owned()), ..UserChange::default() };
        match self.change(&user.name, change, None).await {
            Ok(_) => Ok(()),
            Err(Error::Password { reason }) => Err(Refusal::NewPassword(reason)),
            Err(error) => Err(Refusal::Unavailable(error.to_string())),
        }
    }

    /// Why a correct password must be changed, if it must.
    fn reason_to_change(&self, user: &User, password: &str) -> Option<String> {
        let policy = self.password_policy();
        if user.must_change {
            return Some("the password has to be changed".to_owned());
        }
        let age = self.now().saturating_sub(user.password_set);
        let lifetime = policy.lifetime().map(|lifetime| lifetime.as_secs() as i64);
        if lifetime.is_some_and(|lifetime| age >= lifetime) {
            return Some("the password has expired (expirePasswordDays)".to_owned());
        }
        if policy.force_change_of_weak {
            return policy.check(password).err();
        }
        None
    }

    async fn ask_directories(
        &self,
        attempt: &Attempt<'_>,
    ) -> Result<Option<(ExternalUser, RoleMap)>, Refusal> {
        let IdentityProvider::Ldap(directories) = &self.provider else { return Ok(None) };
        let mut trouble = None;
        for directory in directories {
            match directory.log_in(self.now(), attempt.user, attempt.password).await {
                Ok(Some(found)) => return Ok(Some((found, directory.settings().roles.clone()))),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot query the directory");
                    trouble = Some(error.to_string());
                }
            }
        }
        trouble.map_or(Ok(None), |reason| Err(Refusal::Unavailable(reason)))
    }

    /// Creates or updates a user that a provider authenticated; returns the stored name. Ignores
    /// data older than what is stored.
    ///
    /// # Errors
    /// If the user is not permitted.
    pub async fn provision(&self, found: ExternalUser, map: &RoleMap) -> Result<String, Refusal> {
        if let Some(reason) = user_name_fault(&found.name) {
            return Err(Refusal::NotAllowed(reason));
        }
        let roles = map.roles(&found.groups);
        if roles.is_empty() {
            return Err(Refusal::NotAllowed(format!(
                "no group of \"{}\" gives a role ([roleMap_{}])",
                found.name, found.provider
            )));
        }
        let known = self.user(&found.name);
        if let Some(other) = known.as_ref().filter(|known| known.provider != found.provider) {
            let keeper = if other.is_local() { "Karst itself" } else { &other.provider };
            return Err(Refusal::NotAllowed(format!(
                "another user \"{}\" exists, managed by {keeper}",
                found.name
            )));
        }
        if known.as_ref().is_some_and(|known| known.locked) {
            return Err(Refusal::KeptOut);
        }
        let name = found.name.clone();
        if known.as_ref().is_some_and(|known| known.provider_since > found.since) {
            return Ok(name);
        }
        let before =
            known.unwrap_or_else(|| User { restart_background_jobs: true, ..User::default() });
        let after = User {
            name: found.name,
            roles,
            realname: found.realname,
            email: found.email,
            provider: found.provider,
            // A changed time alone is not written.
            provider_since: before.provider_since,
            ..before.clone()
        };
        if after != before {
            let kept = self.keep(User { provider_since: found.since, ..after }).await;
            kept.map_err(|error| Refusal::Unavailable(error.to_string()))?;
        }
        Ok(name)
    }

    /// The OpenID provider, if there is one.
    #[must_use]
    pub fn oidc(&self) -> Option<&OidcProvider> {
        match &self.provider {
            IdentityProvider::Oidc(provider) => Some(provider),
            _ => None,
        }
    }

    /// The SAML identity provider, if there is one.
    #[must_use]
    pub fn saml(&self) -> Option<&SamlProvider> {
        match &self.provider {
            IdentityProvider::Saml(provider) => Some(provider),
            _ => None,
        }
    }

    /// Returns the provider of users who are not local, in the words of Splunk's `authType`: `LDAP`, `SAML`,
    /// `Splunk` if there is no provider, and `OIDC`, which Splunk does not have.
    #[must_use]
    pub fn provider_kind(&self) -> &'static str {
        match &self.provider {
            IdentityProvider::Local => "Splunk",
            IdentityProvider::Ldap(_) => "LDAP",
            IdentityProvider::Oidc(_) => "OIDC",
            IdentityProvider::Saml(_) => "SAML",
        }
    }

    /// Whether a user is locked, by wrong passwords or by an administrator.
    #[must_use]
    pub fn is_locked_out(&self, name: &str) -> bool {
        self.user(name).is_some_and(|user| user.locked)
            || self.lockout.lock().is_locked(Instant::now(), name)
    }

    /// Clears failures and an administrative lock; returns whether anything changed.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn unlock(&self, name: &str) -> Result<bool, Error> {
        let was = self.lockout.lock().unlock(Instant::now(), name);
        if self.user(name).is_some_and(|user| user.locked) {
            let change = UserChange { locked: Some(false), ..UserChange::default() };
            return self.change(name, change, None).await;
        }
        Ok(was)
    }
}

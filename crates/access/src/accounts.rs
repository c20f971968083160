//! Users, stored as documents of the catalog. Their rights come from roles; `login` implements the logins.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::{Catalog, Followed, NamedDocument, Snapshot};
use parking_lot::{Mutex, RwLock};
use runtime::Clock;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::authentication::{AuthenticationSettings, ProviderSettings};
use crate::external::user_name_fault;
use crate::ldap::LdapDirectory;
use crate::lockout::Lockout;
use crate::oidc::OidcProvider;
use crate::password_policy::PasswordPolicy;
use crate::passwords::Passwords;
use crate::saml::SamlProvider;
use crate::sessions::{AtProvider, ExpiredSession, SessionInfo, SessionUser, Sessions};
use crate::shared_sessions::SharedSessions;
use crate::{Error, Scope};

const KIND: &str = "users";
/// Maximum number of waiting logins; further ones are refused.
const MAX_WAITING: usize = 64;
/// Maximum number of users.
const MAX_USERS: usize = 100_000;

/// A user to create.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Login name.
    pub name: String,
    /// In clear text; only a hash is stored.
    pub password: String,
    /// `admin`, `power`, `user`.
    pub roles: Vec<String>,
}

/// A stored user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Argon2id, in the PHC format; empty for users of external providers.
    pub password_hash: String,
    /// Names of roles; unknown ones grant nothing.
    pub roles: Vec<String>,
    /// Full name.
    #[serde(default)]
    pub realname: String,
    /// Email address.
    #[serde(default)]
    pub email: String,
    /// Default app of requests; `search` if empty.
    #[serde(default)]
    pub default_app: String,
    /// Time zone; the server's if empty.
    #[serde(default)]
    pub tz: String,
    /// Stored for clients, without effect.
    #[serde(default)]
    pub restart_background_jobs: bool,
    /// When the password was set, epoch seconds; 0 if unknown.
    #[serde(default)]
    pub password_set: i64,
    /// Hashes of former passwords, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_passwords: Vec<String>,
    /// Whether the password must be changed at the next login.
    #[serde(default)]
    pub must_change: bool,
    /// Whether an administrator has locked the user.
    #[serde(default)]
    pub locked: bool,
    /// The stanza of the external provider; empty for local users.
    #[serde(default)]
    pub provider: String,
    /// Time of the data of the provider, epoch seconds.
    #[serde(default)]
    pub provider_since: i64,
}

impl User {
    /// Whether the user is local.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.provider.is_empty()
    }
}

/// Changes of a user.
#[derive(Debug, Clone, Default)]
pub struct UserChange {
    /// In clear text; only a hash is stored.
    pub password: Option<String>,
    /// Replaces all roles.
    pub roles: Option<Vec<String>>,
    /// Full name.
    pub realname: Option<String>,
    /// Email address.
    pub email: Option<String>,
    /// Default app.
    pub default_app: Option<String>,
    /// Time zone.
    pub tz: Option<String>,
    /// Stored for clients, without effect.
    pub restart_background_jobs: Option<bool>,
    /// Whether the password must be changed at the next login.
    pub must_change: Option<bool>,
    /// Whether the user is locked.
    pub locked: Option<bool>,
}

/// The external identity provider.
#[derive(Debug)]
pub(crate) enum IdentityProvider {
    /// A user of this server, without an external provider.
    Local,
    /// LDAP directories, tried in order.
    Ldap(Vec<LdapDirectory>),
    /// An OpenID provider; Karst never sees passwords.
    Oidc(Box<OidcProvider>),
    /// A SAML identity provider; Karst never sees passwords.
    Saml(Box<SamlProvider>),
}

/// Users and their sessions.
#[derive(Debug)]
pub struct Accounts {
    catalog: Catalog,
    users: RwLock<HashMap<String, User>>,
    sessions: Arc<Sessions>,
    /// The sessions that outlive the process; in a cluster, they are known to the other processes, too.
    shared_sessions: Option<SharedSessions>,
    pub(crate) passwords: Passwords,
    /// Limits concurrent and waiting password checks.
    pub(crate) turns: Semaphore,
    pub(crate) waiting: Semaphore,
    pub(crate) lockout: Mutex<Lockout>,
    pub(crate) provider: IdentityProvider,
    pub(crate) clock: Arc<dyn Clock>,
    policy: PasswordPolicy,
    verbose: bool,
}

impl Followed for Accounts {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let gone: Vec<String> = {
            let mut users = self.users.write();
            let read = Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
            let before = std::mem::replace(&mut *users, read);
            let stays = |name: &String| users.get(name).is_some_and(|user| !user.locked);
            before.into_keys().filter(|name| !stays(name)).collect()
        };
        for name in gone {
            self.sessions.close_all_of(&name, None);
        }
        Ok(())
    }
}

impl Accounts {
    /// Reads the users from the catalog.
    ///
    /// # Errors
    /// If the catalog cannot be read, or the settings of a provider are invalid.
    pub async fn load(
        catalog: Catalog,
        settings: AuthenticationSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let users = Self::read(&catalog.snapshot())?;
        let passwords = Passwords::start()?;
        let provider = match settings.provider {
            ProviderSettings::Local => IdentityProvider::Local,
            ProviderSettings::Ldap(all) => {
                let all: Result<_, _> = all.into_iter().map(LdapDirectory::new).collect();
                IdentityProvider::Ldap(all?)
            }
            ProviderSettings::Oidc(one) => {
                let provider = OidcProvider::new(*one, Arc::clone(&clock))?;
                IdentityProvider::Oidc(Box::new(provider))
            }
            ProviderSettings::Saml(one) => {
                let provider = SamlProvider::new(*one, Arc::clone(&clock));
                IdentityProvider::Saml(Box::new(provider))
            }
        };
        Ok(Self {
            catalog,
            users: RwLock::new(users),
            sessions: Arc::new(Sessions::new(settings.sessions)),
            shared_sessions: None,
            turns: Semaphore::new(passwords.threads()),
            waiting: Semaphore::new(MAX_WAITING),
            passwords,
            lockout: Mutex::new(Lockout::new(settings.lockout)),
            provider,
            clock,
            policy: settings.passwords,
            verbose: settings.verbose,
        })
    }

    fn read(snapshot: &Snapshot) -> Result<HashMap<String, User>, Error> {
        let mut users = HashMap::new();
        for document in snapshot.documents(KIND) {
            let user = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            users.insert(document.name, user);
        }
        Ok(users)
    }

    /// Whether there is anybody who could log in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.read().is_empty()
    }

    /// The password policy.
    #[must_use]
    pub fn password_policy(&self) -> &PasswordPolicy {
        &self.policy
    }

    /// `verboseLoginFailMsg`: whether login errors show their reason.
    #[must_use]
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.now().0 / 1_000_000
    }

    /// Creates a user, or replaces one of the same name.
    ///
    /// # Errors
    /// If password or name is invalid, the catalog cannot be written, or the limit is reached.
    pub async fn put(&self, new: NewUser) -> Result<(), Error> {
        if let Some(reason) = user_name_fault(&new.name) {
            return Err(Error::UserName { reason });
        }
        self.check_password(&new.password)?;
        let user = User {
            name: new.name,
            password_hash: self.passwords.hash(new.password).await?,
            roles: new.roles,
            restart_background_jobs: true,
            password_set: self.now(),
            ..User::default()
        };
        self.keep(user).await
    }

    fn check_password(&self, password: &str) -> Result<(), Error> {
        self.policy.check(password).map_err(|reason| Error::Password { reason })
    }

    /// Changes a user; false if it does not exist. A new password ends the user's sessions, except
    /// the one it was changed in, and so does locking the user.
    ///
    /// # Errors
    /// If the password is invalid, or the catalog cannot be written.
    pub async fn change(
        &self,
        name: &str,
        change: UserChange,
        session: Option<&str>,
    ) -> Result<bool, Error> {
        let Some(mut user) = self.user(name) else { return Ok(false) };
        let UserChange { password, roles, realname, email, default_app, tz, .. } = change;
        let texts = [
            (realname, &mut user.realname),
            (email, &mut user.email),
            (default_app, &mut user.default_app),
            (tz, &mut user.tz),
        ];
        for (new, kept) in texts {
            if let Some(new) = new {
                *kept = new;
            }
        }
        user.roles = roles.unwrap_or(user.roles);
        user.restart_background_jobs =
            change.restart_background_jobs.unwrap_or(user.restart_background_jobs);
        let (new_password, locked) = (password.is_some(), change.locked == Some(true));
        if let Some(password) = password {
            self.set_password(&mut user, password).await?;
        }
        user.must_change = change.must_change.unwrap_or(user.must_change);
        user.locked = change.locked.unwrap_or(user.locked);
        if !new_password && !locked {
            self.keep(user).await?;
            return Ok(true);
        }
        let kept = session.filter(|_| !locked);
        self.keep_and_end(user, self.sessions_to_end(name, kept)).await?;
        // Also closes sessions that were opened in the meantime.
        self.close_sessions_of(name, kept).await;
        Ok(true)
    }

    async fn set_password(&self, user: &mut User, password: String) -> Result<(), Error> {
        if !user.is_local() {
            let reason = format!("the password of the user is managed by {}", user.provider);
            return Err(Error::Password { reason });
        }
        self.check_password(&password)?;
        let mut former = std::mem::take(&mut user.former_passwords);
        former.insert(0, std::mem::take(&mut user.password_hash));
        former.truncate(self.policy.history());
        for hash in &former {
            let stored = Some(hash.clone());
            if self.passwords.check(&user.name, &password, stored).await?.is_right() {
                let reason = format!(
                    "the password is one of the user's last {} (passwordHistoryCount)",
                    self.policy.history()
                );
                return Err(Error::Password { reason });
            }
        }
        user.former_passwords = former;
        user.password_hash = self.passwords.hash(password).await?;
        user.password_set = self.now();
        user.must_change = false;
        Ok(())
    }

    /// Removes a user and ends the user's sessions; false if it does not exist.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, name: &str) -> Result<bool, Error> {
        if self.user(name).is_none() {
            return Ok(false);
        }
        let mut documents: Vec<NamedDocument> = vec![(KIND.to_owned(), name.to_owned(), None)];
        documents.extend(self.sessions_to_end(name, None));
        self.catalog.change_documents_in_time(documents).await?;
        self.users.write().remove(name);
        self.close_sessions_of(name, None).await;
        Ok(true)
    }

    fn is_full_for(&self, name: &str) -> bool {
        let users = self.users.read();
        users.len() >= MAX_USERS && !users.contains_key(name)
    }

    pub(crate) async fn keep(&self, user: User) -> Result<(), Error> {
        self.keep_and_end(user, Vec::new()).await
    }

    /// Writes a user, and removes the documents of sessions in the same change: a process that is killed
    /// leaves no session that the user's new password or lock was to end.
    async fn keep_and_end(&self, user: User, ended: Vec<NamedDocument>) -> Result<(), Error> {
        if self.is_full_for(&user.name) {
            return Err(Error::TooMany { what: "users", limit: MAX_USERS });
        }
        let document = serde_json::to_value(&user)
            .map_err(|error| Error::document(KIND, &user.name, &error))?;
        let mut documents: Vec<NamedDocument> =
            vec![(KIND.to_owned(), user.name.clone(), Some(document))];
        documents.extend(ended);
        self.catalog.change_documents_in_time(documents).await?;
        let mut users = self.users.write();
        users.insert(user.name.clone(), user);
        Ok(())
    }

    /// All users, by name.
    #[must_use]
    pub fn all(&self) -> Vec<User> {
        let users = self.users.read();
        let mut users: Vec<User> = users.values().cloned().collect();
        users.sort_by(|a, b| a.name.cmp(&b.name));
        users
    }

    /// The user of a name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<User> {
        self.users.read().get(name).cloned()
    }

    /// A session that does not expire while the process runs, for commands on the same machine.
    #[must_use]
    pub fn local_session(&self, user: &str) -> String {
        self.sessions.open_lasting(Instant::now(), user)
    }

    /// Ends a session.
    pub fn close_local_session(&self, key: &str) {
        self.sessions.close(key);
    }

    /// A session of a program that this process runs for a user: it is known here only and ends when it is
    /// closed, when the user's sessions end, or when the user is locked or removed. Requests with its key
    /// are restricted to the scope.
    #[must_use]
    pub fn program_session(&self, user: &str, scope: Option<Scope>) -> String {
        self.sessions.open_for_program(Instant::now(), user, scope)
    }

    /// Stores sessions as documents of the catalog from now on, so that all processes that follow the catalog
    /// know them.
    pub fn share_sessions(&mut self) {
        self.put_sessions_in_catalog(true);
    }

    /// The same of a process that is alone: the sessions outlive it.
    pub fn keep_sessions(&mut self) {
        self.put_sessions_in_catalog(false);
    }

    fn put_sessions_in_catalog(&mut self, has_others: bool) {
        let (catalog, clock) = (self.catalog.clone(), Arc::clone(&self.clock));
        let here = Arc::clone(&self.sessions);
        self.shared_sessions = Some(SharedSessions::new(catalog, clock, here, has_others));
    }

    /// Opens a session; returns its key.
    pub async fn open_session(&self, user: &str, source: Option<IpAddr>) -> String {
        self.open_session_of(user, source, AtProvider::default()).await
    }

    /// Opens a session that belongs to a session at a provider; returns its key.
    pub async fn open_session_of(
        &self,
        user: &str,
        source: Option<IpAddr>,
        at: AtProvider,
    ) -> String {
        let key = self.sessions.open(Instant::now(), user, source, at);
        if let Some(shared) = &self.shared_sessions {
            Box::pin(shared.share(&key)).await;
        }
        key
    }

    /// The user of a session, if it is valid.
    #[must_use]
    pub fn session_user(&self, key: &str) -> Option<String> {
        self.session(key).map(|user| user.name)
    }

    fn session(&self, key: &str) -> Option<SessionUser> {
        if let Some(shared) = &self.shared_sessions {
            shared.catch_up(key, |user| self.may_go_on(user));
        }
        let user = self.sessions.user(Instant::now(), key)?;
        // A process that locks or removes the user does not know the sessions of programs elsewhere.
        if user.is_program && !self.may_go_on(&user.name) {
            self.sessions.close(key);
            return None;
        }
        if let Some(shared) = &self.shared_sessions {
            shared.tell_use(key);
        }
        Some(user)
    }

    /// Whether this process has a session. The check does not extend the session, unlike
    /// [`session_user`](Self::session_user).
    #[must_use]
    pub fn has_session(&self, key: &str) -> bool {
        self.sessions.is_shared(key).is_some()
    }

    /// Whether a session that this process did not open may be valid: the user is in the catalog, which may
    /// know more than `users` does, and is not locked.
    fn may_go_on(&self, user: &str) -> bool {
        let document = self.catalog.snapshot().document(KIND, user);
        document.is_some_and(|json| json.get("locked").and_then(Value::as_bool) != Some(true))
    }

    /// As [`session_user`](Self::session_user), also for a session that another process may have opened a
    /// moment ago; with the scope of a session of a program.
    pub async fn arriving_session_user(&self, key: &str) -> Option<SessionUser> {
        match (self.session(key), &self.shared_sessions) {
            (None, Some(shared)) => {
                shared.arrival(key).await;
                self.session(key)
            }
            (user, _) => user,
        }
    }

    /// Ends a session; returns the provider's data of the session, if a provider opened it, and an error if
    /// it has ended in this process only: [`Error::EndNotTold`], [`Error::EndNotStored`].
    pub async fn close_session(&self, key: &str) -> (AtProvider, Result<(), Error>) {
        let was_here = self.has_session(key);
        let closed = self.sessions.close(key);
        let ended = match &self.shared_sessions {
            Some(shared) => shared.end(key, was_here).await,
            None => Ok(()),
        };
        (closed, ended)
    }

    /// Sessions that expired since the last call.
    pub async fn take_expired_sessions(&self) -> Vec<ExpiredSession> {
        match &self.shared_sessions {
            Some(shared) => shared.take_expired().await,
            None => self.sessions.take_expired(Instant::now()),
        }
    }

    /// All sessions, without their keys.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let mut all = self.sessions.all(Instant::now());
        all.extend(self.shared_sessions.iter().flat_map(SharedSessions::all));
        all
    }

    /// Ends a session by ID; false if it does not exist.
    ///
    /// # Errors
    /// [`Error::EndNotTold`], [`Error::EndNotStored`]: it has ended in this process only.
    pub async fn close_session_by_id(&self, id: &str) -> Result<bool, Error> {
        let closed = self.sessions.close_by_id(id);
        match &self.shared_sessions {
            Some(shared) => shared.end_by_id(id, closed.as_deref()).await,
            None => Ok(closed.is_some()),
        }
    }

    /// The documents of a user's sessions without content, except the one with the key.
    fn sessions_to_end(&self, user: &str, except: Option<&str>) -> Vec<NamedDocument> {
        let shared = self.shared_sessions.as_ref();
        shared.map(|shared| shared.without_those_of(user, except)).unwrap_or_default()
    }

    /// Ends a user's sessions, except permanent ones and the one with the key.
    async fn close_sessions_of(&self, user: &str, except: Option<&str>) {
        match &self.shared_sessions {
            Some(shared) => shared.end_all_of(user, except).await,
            None => self.sessions.close_all_of(user, except),
        }
    }

    /// Sets the idle time-out of sessions.
    pub fn set_session_timeout(&self, timeout: Duration) {
        self.sessions.set_timeout(timeout);
    }
}

//! Users: who may ask. They are documents of the catalog; what they may do is with their roles.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use catalog::Catalog;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::passwords::{Checked, Passwords};
use crate::sessions::{SessionInfo, Sessions};

const KIND: &str = "users";
/// Users there may be.
const MAX_USERS: usize = 100_000;

/// A user to create.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Login name.
    pub name: String,
    /// In clear text; only a hash of it is kept.
    pub password: String,
    /// `admin`, `power`, `user`.
    pub roles: Vec<String>,
}

/// A user as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Argon2id, in the PHC format.
    pub password_hash: String,
    /// Names of roles; one that does not exist grants nothing.
    pub roles: Vec<String>,
    /// The person's name.
    #[serde(default)]
    pub realname: String,
    /// Where mail to the person goes.
    #[serde(default)]
    pub email: String,
    /// The app that requests are about which name none; `search` if empty.
    #[serde(default)]
    pub default_app: String,
    /// Time zone; the server's if empty.
    #[serde(default)]
    pub tz: String,
    /// Kept for clients; it changes nothing.
    #[serde(default)]
    pub restart_background_jobs: bool,
}

/// What is to be changed of a user.
#[derive(Debug, Clone, Default)]
pub struct UserChange {
    /// In clear text; only a hash of it is kept.
    pub password: Option<String>,
    /// In place of all roles the user has.
    pub roles: Option<Vec<String>>,
    /// The person's name.
    pub realname: Option<String>,
    /// Where mail to the person goes.
    pub email: Option<String>,
    /// The app of requests that name none.
    pub default_app: Option<String>,
    /// Time zone.
    pub tz: Option<String>,
    /// Kept for clients; it changes nothing.
    pub restart_background_jobs: Option<bool>,
}

/// Users and their sessions.
#[derive(Debug)]
pub struct Accounts {
    catalog: Catalog,
    users: RwLock<HashMap<String, User>>,
    sessions: Sessions,
    passwords: Passwords,
}

impl Accounts {
    /// Reads the users from the catalog.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub async fn load(catalog: Catalog, timeout: Duration) -> Result<Self, Error> {
        let mut users = HashMap::new();
        for document in catalog.snapshot().documents(KIND) {
            let user = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            users.insert(document.name, user);
        }
        let users = RwLock::new(users);
        let passwords = Passwords::start()?;
        Ok(Self { catalog, users, sessions: Sessions::new(timeout), passwords })
    }

    /// Whether there is anybody who could log in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Creates a user, or replaces one of the same name.
    ///
    /// # Errors
    /// If the catalog cannot be written, or there are too many.
    pub async fn put(&self, new: NewUser) -> Result<(), Error> {
        let user = User {
            name: new.name,
            password_hash: self.passwords.hash(new.password).await?,
            roles: new.roles,
            realname: String::new(),
            email: String::new(),
            default_app: String::new(),
            tz: String::new(),
            restart_background_jobs: true,
        };
        self.keep(user).await
    }

    /// Changes a user; false if there is none of that name. A new password ends the user's sessions,
    /// except the one it was changed in.
    ///
    /// # Errors
    /// If the catalog cannot be written.
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
        let new_password = password.is_some();
        if let Some(password) = password {
            user.password_hash = self.passwords.hash(password).await?;
        }
        self.keep(user).await?;
        if new_password {
            self.sessions.close_all_of(name, session);
        }
        Ok(true)
    }

    /// Removes a user and ends the user's sessions; false if there is none of that name.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, name: &str) -> Result<bool, Error> {
        if self.user(name).is_none() {
            return Ok(false);
        }
        self.catalog.delete_document(KIND, name).await?;
        self.users.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.sessions.close_all_of(name, None);
        Ok(true)
    }

    fn is_full_for(&self, name: &str) -> bool {
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        users.len() >= MAX_USERS && !users.contains_key(name)
    }

    async fn keep(&self, user: User) -> Result<(), Error> {
        if self.is_full_for(&user.name) {
            return Err(Error::TooMany { what: "users", limit: MAX_USERS });
        }
        let document = serde_json::to_value(&user)
            .map_err(|error| Error::document(KIND, &user.name, &error))?;
        self.catalog.put_document(KIND, &user.name, document).await?;
        let mut users = self.users.write().unwrap_or_else(PoisonError::into_inner);
        users.insert(user.name.clone(), user);
        Ok(())
    }

    /// Every user, by name.
    #[must_use]
    pub fn all(&self) -> Vec<User> {
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        let mut users: Vec<User> = users.values().cloned().collect();
        users.sort_by(|a, b| a.name.cmp(&b.name));
        users
    }

    /// The user of that name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<User> {
        self.users.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Whether the password is the user's. Takes tens of milliseconds on purpose, unless it was right a
    /// moment ago.
    ///
    /// # Errors
    /// [`Error::Busy`] if too many passwords wait to be checked.
    pub async fn verify(&self, name: &str, password: &str) -> Result<Checked, Error> {
        let stored = self.user(name).map(|user| user.password_hash);
        self.passwords.check(name, password, stored).await
    }

    /// A session that does not expire while the process runs, for commands on the same machine.
    #[must_use]
    pub fn local_session(&self, user: &str) -> String {
        self.sessions.open(user, true)
    }

    /// Ends a session.
    pub fn close_local_session(&self, key: &str) {
        self.sessions.close(key);
    }

    /// Opens a session.
    #[must_use]
    pub fn open_session(&self, user: &str) -> String {
        self.sessions.open(user, false)
    }

    /// Whose session it is, while it lasts.
    #[must_use]
    pub fn session_user(&self, key: &str) -> Option<String> {
        self.sessions.user(key)
    }

    /// Ends a session.
    pub fn close_session(&self, key: &str) {
        self.sessions.close(key);
    }

    /// All sessions, without their keys.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.sessions.all()
    }

    /// Ends a session that is known by its id; false if there is none.
    pub fn close_session_by_id(&self, id: &str) -> bool {
        self.sessions.close_by_id(id)
    }

    /// How long a session lives without requests, from now on.
    pub fn set_session_timeout(&self, timeout: Duration) {
        self.sessions.set_timeout(timeout);
    }
}

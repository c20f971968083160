//! Users and sessions: who may ask. Users are documents of the catalog, sessions live in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Argon2, password_hash};
use catalog::Catalog;
use rand::distr::{Alphanumeric, SampleString};
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "users";
/// Sessions kept at most; the least recently used leave first.
const MAX_SESSIONS: usize = 10_000;

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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password_hash: String,
    pub(crate) roles: Vec<String>,
    #[serde(default)]
    pub(crate) realname: String,
    #[serde(default)]
    pub(crate) email: String,
}

#[derive(Debug)]
struct Session {
    user: String,
    used: Instant,
    lasts: bool,
}

impl Session {
    fn expired(&self, timeout: Duration) -> bool {
        !self.lasts && self.used.elapsed() >= timeout
    }
}

/// Users and their sessions.
#[derive(Debug)]
pub struct Accounts {
    catalog: Catalog,
    users: RwLock<HashMap<String, User>>,
    sessions: Mutex<HashMap<String, Session>>,
    timeout: Duration,
    /// The hash of a password nobody has.
    decoy: String,
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
        let decoy = hash(Alphanumeric.sample_string(&mut rand::rng(), 32)).await?;
        Ok(Self { catalog, users, sessions: Mutex::default(), timeout, decoy })
    }

    /// Whether there is anybody who could log in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Creates a user, or replaces one of the same name.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn put(&self, new: NewUser) -> Result<(), Error> {
        let hash = hash(new.password).await?;
        let user = User {
            name: new.name.clone(),
            password_hash: hash,
            roles: new.roles,
            realname: String::new(),
            email: String::new(),
        };
        let document = serde_json::to_value(&user)
            .map_err(|error| Error::document(KIND, &new.name, &error))?;
        self.catalog.put_document(KIND, &new.name, document).await?;
        self.users.write().unwrap_or_else(PoisonError::into_inner).insert(new.name, user);
        Ok(())
    }

    pub(crate) fn all(&self) -> Vec<User> {
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        let mut users: Vec<User> = users.values().cloned().collect();
        users.sort_by(|a, b| a.name.cmp(&b.name));
        users
    }

    pub(crate) fn user(&self, name: &str) -> Option<User> {
        self.users.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Whether the password is the user's. Takes tens of milliseconds on purpose.
    pub(crate) async fn verify(&self, name: &str, password: &str) -> bool {
        // An unknown name costs the same time as a wrong password, so that names cannot be probed.
        let known = self.user(name).map(|user| user.password_hash);
        let decoy = self.decoy.clone();
        let password = password.to_owned();
        let check = move || {
            let stored = known.as_deref().unwrap_or(&decoy);
            let matches = PasswordHash::new(stored).is_ok_and(|hash| {
                Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
            });
            matches && known.is_some()
        };
        tokio::task::spawn_blocking(check).await.unwrap_or(false)
    }

    /// A session that does not expire while the process runs, for commands on the same machine.
    #[must_use]
    pub fn local_session(&self, user: &str) -> String {
        let key = self.open_session(user);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get_mut(&key) {
            session.lasts = true;
        }
        key
    }

    /// Opens a session.
    pub(crate) fn open_session(&self, user: &str) -> String {
        let key = Alphanumeric.sample_string(&mut rand::rng(), 64);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| !session.expired(self.timeout));
        if sessions.len() >= MAX_SESSIONS {
            let expiring = sessions.iter().filter(|(_, session)| !session.lasts);
            let oldest = expiring.min_by_key(|(_, s)| s.used).map(|(key, _)| key.clone());
            oldest.and_then(|key| sessions.remove(&key));
        }
        sessions.insert(
            key.clone(),
            Session { user: user.to_owned(), used: Instant::now(), lasts: false },
        );
        key
    }

    /// Whose session it is, while it lasts.
    pub(crate) fn session_user(&self, key: &str) -> Option<String> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(key)?;
        if session.expired(self.timeout) {
            sessions.remove(key);
            return None;
        }
        session.used = Instant::now();
        Some(session.user.clone())
    }

    pub(crate) fn close_session(&self, key: &str) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

async fn hash(password: String) -> Result<String, Error> {
    let work = move || -> Result<String, password_hash::Error> {
        let salt: [u8; 16] = rand::random();
        let salt = SaltString::encode_b64(&salt)?;
        Ok(Argon2::default().hash_password(password.as_bytes(), &salt)?.to_string())
    };
    let hashed = tokio::task::spawn_blocking(work).await;
    match hashed {
        Ok(Ok(hash)) => Ok(hash),
        Ok(Err(error)) => Err(Error::Internal(format!("cannot hash a password: {error}"))),
        Err(error) => Err(Error::Internal(format!("cannot hash a password: {error}"))),
    }
}

//! Password hashing on dedicated threads with a bounded queue.
//!
//! Argon2 deliberately takes tens of milliseconds of a core and 19 MiB. Guarantees: at most half of
//! the cores hash; if the queue is full, requests fail at once, so that floods of logins delay only
//! logins; a recently verified password is not hashed again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use argon2::Argon2;
use argon2::password_hash::{self, PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use parking_lot::Mutex;
use rand::Rng;
use rand::distr::{Alphanumeric, SampleString};
use ring::hmac;
use tokio::sync::oneshot;

use crate::Error;

/// Queue length per thread: a second or two of work.
const WAITING: usize = 32;
/// How long a verified password is cached.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Maximum number of cached passwords.
const MOST_REMEMBERED: usize = 1_024;

type Work = Box<dyn FnOnce() + Send>;

/// The result of a password check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Correct.
    Right,
    /// Correct, from the cache.
    Remembered,
    /// Wrong.
    Wrong,
}

impl Checked {
    /// Whether the password is correct.
    #[must_use]
    pub fn is_right(self) -> bool {
        self != Self::Wrong
    }
}

/// Hashes and checks passwords.
#[derive(Debug)]
pub(crate) struct Passwords {
    queue: SyncSender<Work>,
    threads: usize,
    remembered: Remembered,
    /// The hash of an unknown password.
    decoy: String,
}

impl Passwords {
    /// Starts the threads; they end when the value is dropped.
    pub(crate) fn start() -> Result<Self, Error> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self::with(cores.div_ceil(2).min(cores.saturating_sub(1)).max(1), WAITING)
    }

    fn with(threads: usize, waiting: usize) -> Result<Self, Error> {
        let (queue, work) = sync_channel::<Work>(threads * waiting);
        let work = Arc::new(Mutex::new(work));
        for _ in 0..threads {
            let work = Arc::clone(&work);
            thread::Builder::new()
                .name("karst-password".to_owned())
                .spawn(move || run(&work))
                .map_err(|error| Error::Internal(format!("cannot start a thread: {error}")))?;
        }
        let decoy = hash_now(&Alphanumeric.sample_string(&mut runtime::random::generator(), 32))?;
        Ok(Self { queue, threads, remembered: Remembered::new(), decoy })
    }

    /// Number of concurrent password checks.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether the password was recently verified against the hash.
    pub(crate) fn remembers(&self, user: &str, password: &str, stored: &str) -> bool {
        self.remembered.has(&self.remembered.key(user, password, stored))
    }

    /// Hashes a password for storage.
    ///
    /// # Errors
    /// [`Error::Busy`] if the queue is full.
    pub(crate) async fn hash(&self, password: String) -> Result<String, Error> {
        self.run(move || hash_now(&password)).await?
    }

    /// Checks a password against a hash; `None`: an unknown user, which takes the same time, so
    /// that names cannot be probed.
    ///
    /// # Errors
    /// [`Error::Busy`] if the queue is full.
    pub(crate) async fn check(
        &self,
        user: &str,
        password: &str,
        stored: Option<String>,
    ) -> Result<Checked, Error> {
        let key = stored.as_ref().map(|stored| self.remembered.key(user, password, stored));
        if key.is_some_and(|key| self.remembered.has(&key)) {
            return Ok(Checked::Remembered);
        }
        let (known, password) = (stored.is_some(), password.to_owned());
        let stored = stored.unwrap_or_else(|| self.decoy.clone());
        let right = self.run(move || {
            PasswordHash::new(&stored).is_ok_and(|hash| {
                Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
            })
        });
        if !right.await? || !known {
            return Ok(Checked::Wrong);
        }
        if let Some(key) = key {
            self.remembered.put(key);
        }
        Ok(Checked::Right)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (done, result) = oneshot::channel();
        let work = move || {
            // The client has disconnected.
            if !done.is_closed() {
                let _ = done.send(work());
            }
        };
        self.queue.try_send(Box::new(work)).map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => ended(),
        })?;
        result.await.map_err(|_| ended())
    }
}

fn ended() -> Error {
    Error::Internal("a thread that hashes passwords has ended".to_owned())
}

fn run(work: &Mutex<Receiver<Work>>) {
    loop {
        let next = work.lock().recv();
        match next {
            Ok(work) => work(),
            Err(_) => return,
        }
    }
}

fn hash_now(password: &str) -> Result<String, Error> {
    let hash = || -> Result<String, password_hash::Error> {
        let salt: [u8; 16] = runtime::random::generator().random();
        let salt = SaltString::encode_b64(&salt)?;
        Ok(Argon2::default().hash_password(password.as_bytes(), &salt)?.to_string())
    };
    hash().map_err(|error| Error::Internal(format!("cannot hash a password: {error}")))
}

type Key = [u8; 32];

/// Recently verified passwords, as keyed hashes that are useless outside this process. The stored
/// hash is part of the key, so that a changed password invalidates the entry at once.
#[derive(Debug)]
struct Remembered {
    secret: hmac::Key,
    until: Mutex<HashMap<Key, Instant>>,
}

impl Remembered {
    fn new() -> Self {
        let secret: [u8; 32] = runtime::random::generator().random();
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Self { secret, until: Mutex::default() }
    }

    fn key(&self, user: &str, password: &str, stored: &str) -> Key {
        let mut context = hmac::Context::with_key(&self.secret);
        for part in [user, password, stored] {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part.as_bytes());
        }
        let mut key = Key::default();
        key.copy_from_slice(context.sign().as_ref());
        key
    }

    fn has(&self, key: &Key) -> bool {
        let until = self.until.lock();
        until.get(key).is_some_and(|until| *until > Instant::now())
    }

    fn put(&self, key: Key) {
        let now = Instant::now();
        let mut until = self.until.lock();
        if until.len() >= MOST_REMEMBERED {
            until.retain(|_, until| *until > now);
        }
        if until.len() < MOST_REMEMBERED {
            until.insert(key, now + REMEMBERED);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_password_is_right_wrong_or_remembered() {
        let passwords = Passwords::with(1, 4).unwrap();
        let stored = Some(passwords.hash("secret".to_owned()).await.unwrap());
        let check = async |password, stored: &Option<String>| {
            passwords.check("ann", password, stored.clone()).await.unwrap()
        };
        assert_eq!(check("wrong", &stored).await, Checked::Wrong);
        assert_eq!(check("secret", &stored).await, Checked::Right);
        assert_eq!(check("secret", &stored).await, Checked::Remembered);
        assert_eq!(check("wrong", &stored).await, Checked::Wrong);
        assert_eq!(check("secret", &None).await, Checked::Wrong);
    }

    #[tokio::test]
    async fn a_new_password_ends_what_was_remembered_of_the_old_one() {
        let passwords = Passwords::with(1, 4).unwrap();
        let old = passwords.hash("old".to_owned()).await.unwrap();
        let new = passwords.hash("new".to_owned()).await.unwrap();
        assert!(passwords.check("ann", "old", Some(old)).await.unwrap().is_right());
        assert!(!passwords.check("ann", "old", Some(new)).await.unwrap().is_right());
    }

    #[tokio::test]
    async fn whoever_comes_when_the_queue_is_full_is_told_at_once() {
        let passwords = Passwords::with(1, 1).unwrap();
        let (end, wait) = mpsc::channel::<()>();
        let (begun, running) = oneshot::channel();
        let first = passwords.run(move || {
            let _ = begun.send(());
            let _ = wait.recv();
        });
        let busy = async {
            running.await.unwrap();
            let second = passwords.hash("waits".to_owned());
            let third = async {
                let refused = passwords.hash("is refused".to_owned()).await;
                end.send(()).unwrap();
                refused
            };
            tokio::join!(second, third)
        };
        let (_, (second, third)) = tokio::join!(first, busy);
        assert!(second.is_ok());
        assert!(matches!(third, Err(Error::Busy)), "{third:?}");
    }
}

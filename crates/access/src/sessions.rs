//! Sessions: keys that stand for a user for a while. They live in memory and end with the process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::distr::{Alphanumeric, SampleString};

/// Sessions kept at most; the least recently used leave first.
const MAX_SESSIONS: usize = 10_000;

#[derive(Debug)]
struct Session {
    /// Names it where its key must not be told.
    id: String,
    user: String,
    used: Instant,
    lasts: bool,
}

/// A session as others see it.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// Names it where its key must not be told.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// Since its last request.
    pub idle: Duration,
}

/// All sessions, by key.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_key: Mutex<HashMap<String, Session>>,
    timeout_millis: AtomicU64,
}

impl Session {
    fn expired(&self, timeout: Duration) -> bool {
        !self.lasts && self.used.elapsed() >= timeout
    }
}

impl Sessions {
    pub(crate) fn new(timeout: Duration) -> Self {
        let sessions = Self { by_key: Mutex::default(), timeout_millis: AtomicU64::new(0) };
        sessions.set_timeout(timeout);
        sessions
    }

    /// How long a session lives without requests, from now on.
    pub(crate) fn set_timeout(&self, timeout: Duration) {
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.timeout_millis.store(millis, Relaxed);
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_millis.load(Relaxed))
    }

    /// Opens a session; one that lasts does not expire.
    pub(crate) fn open(&self, user: &str, lasts: bool) -> String {
        let key = Alphanumeric.sample_string(&mut rand::rng(), 64);
        let timeout = self.timeout();
        let mut sessions = self.lock();
        sessions.retain(|_, session| !session.expired(timeout));
        if sessions.len() >= MAX_SESSIONS {
            let expiring = sessions.iter().filter(|(_, session)| !session.lasts);
            let oldest = expiring.min_by_key(|(_, s)| s.used).map(|(key, _)| key.clone());
            oldest.and_then(|key| sessions.remove(&key));
        }
        let id = uuid::Uuid::new_v4().as_simple().to_string();
        let session = Session { id, user: user.to_owned(), used: Instant::now(), lasts };
        sessions.insert(key.clone(), session);
        key
    }

    /// Whose session it is, while it lasts.
    pub(crate) fn user(&self, key: &str) -> Option<String> {
        let timeout = self.timeout();
        let mut sessions = self.lock();
        let session = sessions.get_mut(key)?;
        if session.expired(timeout) {
            sessions.remove(key);
            return None;
        }
        session.used = Instant::now();
        Some(session.user.clone())
    }

    pub(crate) fn close(&self, key: &str) {
        self.lock().remove(key);
    }

    /// Ends a session that is known by its id; false if there is none.
    pub(crate) fn close_by_id(&self, id: &str) -> bool {
        let mut sessions = self.lock();
        let before = sessions.len();
        sessions.retain(|_, session| session.id != id);
        sessions.len() < before
    }

    /// Ends a user's sessions, except those that last and the one with the key.
    pub(crate) fn close_all_of(&self, user: &str, except: Option<&str>) {
        self.lock().retain(|key, session| {
            session.user != user || session.lasts || Some(key.as_str()) == except
        });
    }

    pub(crate) fn all(&self) -> Vec<SessionInfo> {
        let timeout = self.timeout();
        let sessions = self.lock();
        let alive = sessions.values().filter(|session| !session.expired(timeout));
        let info = |session: &Session| SessionInfo {
            id: session.id.clone(),
            user: session.user.clone(),
            idle: session.used.elapsed(),
        };
        alive.map(info).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_when_it_is_closed_or_not_used() {
        let sessions = Sessions::new(Duration::from_secs(60));
        let key = sessions.open("ann", false);
        assert_eq!(sessions.user(&key).as_deref(), Some("ann"));
        let id = sessions.all()[0].id.clone();
        assert!(sessions.close_by_id(&id) && !sessions.close_by_id(&id));
        assert_eq!(sessions.user(&key), None);
        let (kept, other) = (sessions.open("ann", true), sessions.open("ann", false));
        sessions.set_timeout(Duration::ZERO);
        assert_eq!(sessions.user(&other), None);
        assert_eq!(sessions.user(&kept).as_deref(), Some("ann"));
    }
}

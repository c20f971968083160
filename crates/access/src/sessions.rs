//! Sessions, in memory; they end with the process, except those that are in the catalog
//! (`shared_sessions`).
//!
//! A session ends when it is idle (`sessionTimeout`), at its absolute age (`maxSessionLifetime`),
//! when its user has too many younger ones (`maxSessionsPerUser`), when it is closed, and with the
//! user's password. Expired sessions are collected in a list, because no request records their end.
//! Sessions of programs have no limits: whoever starts the program closes them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use conf::Type;
use parking_lot::Mutex;

use rand::distr::{Alphanumeric, SampleString};
use saml::Subject;

use crate::Scope;

conf::settings! {
    /// Limits of sessions.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SessionSettings {
        "server"["general"] {
            /// Idle time after which a login ends.
            "sessionTimeout" => pub idle: Duration = "1h", Type::Span { least: 1 }, live;
            /// Maximum duration of a login, even if it is in use.
            "maxSessionLifetime" => pub lifetime: Duration = "24h", Type::Span { least: 1 };
            /// Maximum number of sessions per user; the least recently used are ended first.
            "maxSessionsPerUser" => pub per_user: usize = "100", Type::range(1, 1_000_000);
            /// Maximum number of sessions of all users; the least recently used are ended first.
            "maxSessions" => pub all: usize = "10000", Type::range(10, 10_000_000);
        }
    }
}

/// The length of keys.
pub(crate) const KEY_LENGTH: usize = 64;
/// How many times per idle time-out other processes are notified that a session is used.
const TELLINGS: u32 = 8;

/// The data that an identity provider gave of a session that it opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtProvider {
    /// The user and the session there, for a logout.
    pub subject: Option<Subject>,
    /// After how long the session has to end (`SessionNotOnOrAfter`).
    pub ends_in: Option<Duration>,
}

/// What a session is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Purpose {
    /// A login.
    Login,
    /// Commands on the same machine: it ends when it is closed.
    Commands,
    /// A program that a search runs. It ends when it is closed and with the user's logins. Requests are
    /// restricted to the scope.
    Program(Option<Scope>),
}

/// The user of a valid session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionUser {
    /// The name.
    pub name: String,
    /// The scope of the search whose program has the session.
    pub scope: Option<Scope>,
    /// Whether a program has the session.
    pub(crate) is_program: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Its public ID, which does not reveal the key.
    pub(crate) id: String,
    pub(crate) user: String,
    /// Client address.
    pub(crate) source: Option<IpAddr>,
    pub(crate) opened: Instant,
    pub(crate) used: Instant,
    purpose: Purpose,
    pub(crate) provider: AtProvider,
    /// The time of the last use of which other processes were notified; only for shared sessions.
    told: Option<Instant>,
    /// Whether the session was opened in this process; otherwise it was only used here.
    is_own: bool,
}

/// Public data of a session.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// Its ID, not its key.
    pub id: String,
    /// Its user.
    pub user: String,
    /// Client address; `None` if opened within the process.
    pub source: Option<IpAddr>,
    /// Since its last request.
    pub idle: Duration,
    /// Since it was opened.
    pub age: Duration,
}

/// An expired session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredSession {
    /// Its key, no longer valid.
    pub key: String,
    /// Its user.
    pub user: String,
    /// Client address; `None` if opened within the process.
    pub source: Option<IpAddr>,
    /// The setting that ended it.
    pub limit: &'static str,
}

/// All sessions, by key.
#[derive(Debug)]
pub(crate) struct Sessions {
    all: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    by_key: HashMap<String, Session>,
    settings: SessionSettings,
    /// Sessions that expired since the last poll.
    expired: Vec<ExpiredSession>,
}

impl Session {
    fn new(now: Instant, user: &str) -> Self {
        Self {
            id: runtime::random::uuid().as_simple().to_string(),
            user: user.to_owned(),
            source: None,
            opened: now,
            used: now,
            purpose: Purpose::Login,
            provider: AtProvider::default(),
            told: None,
            is_own: true,
        }
    }

    /// Adds a session that was opened by another process.
    pub(crate) fn seen(
        (id, user): (String, String),
        source: Option<IpAddr>,
        (opened, used): (Instant, Instant),
        provider: AtProvider,
    ) -> Self {
        let (told, purpose) = (Some(used), Purpose::Login);
        Self { id, user, source, opened, used, purpose, provider, told, is_own: false }
    }

    /// Whether it ends with the user's sessions, except the one with a key.
    fn ends_with(&self, key: &str, user: &str, except: Option<&str>) -> bool {
        self.user == user && self.purpose != Purpose::Commands && Some(key) != except
    }

    fn expired(&self, now: Instant, settings: &SessionSettings) -> bool {
        self.limit_reached(now, settings).is_some()
    }

    /// The setting whose limit it has reached, if any.
    fn limit_reached(&self, now: Instant, settings: &SessionSettings) -> Option<&'static str> {
        let since = |then: Instant| now.saturating_duration_since(then);
        if self.purpose != Purpose::Login {
            None
        } else if since(self.opened) >= settings.lifetime {
            Some("maxSessionLifetime")
        } else if self.provider.ends_in.is_some_and(|end| since(self.opened) >= end) {
            Some("SessionNotOnOrAfter")
        } else if since(self.used) >= settings.idle {
            Some("sessionTimeout")
        } else {
            None
        }
    }
}

impl Known {
    /// Adds a session under a new key.
    fn add(&mut self, session: Session) -> String {
        let key = Alphanumeric.sample_string(&mut runtime::random::generator(), KEY_LENGTH);
        self.by_key.insert(key.clone(), session);
        key
    }

    /// Ends the least recently used matching sessions until there are fewer than `limit`.
    fn make_room(
        &mut self,
        (setting, limit): (&'static str, usize),
        fits: impl Fn(&Session) -> bool,
    ) {
        let mut found: Vec<(Instant, String)> = self
            .by_key
            .iter()
            .filter(|(_, session)| session.purpose == Purpose::Login && fits(session))
            .map(|(key, session)| (session.used, key.clone()))
            .collect();
        if found.len() < limit.max(1) {
            return;
        }
        found.sort_unstable();
        for (_, key) in found.drain(..found.len() + 1 - limit.max(1)) {
            self.expire(key, setting);
        }
    }

    /// Ends expired sessions.
    fn expire_due(&mut self, now: Instant) {
        let due = |(key, session): (&String, &Session)| {
            session.limit_reached(now, &self.settings).map(|limit| (key.clone(), limit))
        };
        let due: Vec<_> = self.by_key.iter().filter_map(due).collect();
        for (key, limit) in due {
            self.expire(key, limit);
        }
    }

    fn expire(&mut self, key: String, limit: &'static str) {
        // The end of another process's session is recorded there.
        if let Some(Session { user, source, is_own: true, .. }) = self.by_key.remove(&key) {
            self.expired.push(ExpiredSession { key, user, source, limit });
        }
    }
}

impl Sessions {
    pub(crate) fn new(settings: SessionSettings) -> Self {
        let known = Known { by_key: HashMap::new(), settings, expired: Vec::new() };
        Self { all: Mutex::new(known) }
    }

    /// Sets the idle time-out.
    pub(crate) fn set_timeout(&self, timeout: Duration) {
        self.all.lock().settings.idle = timeout;
    }

    /// Opens a session.
    pub(crate) fn open(
        &self,
        now: Instant,
        user: &str,
        source: Option<IpAddr>,
        provider: AtProvider,
    ) -> String {
        let mut known = self.all.lock();
        known.expire_due(now);
        let SessionSettings { per_user, all, .. } = known.settings;
        known.make_room(("maxSessionsPerUser", per_user), |session| session.user == user);
        known.make_room(("maxSessions", all), |_| true);
        known.add(Session { source, provider, ..Session::new(now, user) })
    }

    pub(crate) fn settings(&self) -> SessionSettings {
        self.all.lock().settings.clone()
    }

    /// A session as it is now.
    pub(crate) fn get(&self, key: &str) -> Option<Session> {
        self.all.lock().by_key.get(key).cloned()
    }

    /// Whether a session is shared with other processes; `None` if this process does not know it.
    pub(crate) fn is_shared(&self, key: &str) -> Option<bool> {
        self.all.lock().by_key.get(key).map(|session| session.told.is_some())
    }

    /// When each session was used last, by its ID.
    pub(crate) fn last_uses(&self) -> HashMap<String, Instant> {
        let known = self.all.lock();
        known.by_key.values().map(|session| (session.id.clone(), session.used)).collect()
    }

    /// Keeps a session that another process has opened.
    pub(crate) fn adopt(&self, key: &str, session: Session) {
        self.all.lock().by_key.entry(key.to_owned()).or_insert(session);
    }

    /// Notes that other processes know the session, and its use at a time.
    pub(crate) fn told(&self, key: &str, used: Instant) {
        if let Some(session) = self.all.lock().by_key.get_mut(key) {
            session.told = session.told.max(Some(used));
            session.used = session.used.max(used);
        }
    }

    /// Whether other processes are to be notified that the session is used; marks them as notified if so.
    pub(crate) fn is_to_be_told(&self, key: &str) -> bool {
        let mut known = self.all.lock();
        let every = known.settings.idle / TELLINGS;
        let Some(session) = known.by_key.get_mut(key) else { return false };
        let is_due =
            session.told.is_some_and(|told| session.used.saturating_duration_since(told) >= every);
        if is_due {
            session.told = Some(session.used);
        }
        is_due
    }

    /// Returns the keys of shared sessions that would expire now.
    pub(crate) fn due_and_shared(&self, now: Instant) -> Vec<String> {
        let known = self.all.lock();
        let due = known
            .by_key
            .iter()
            .filter(|(_, session)| session.told.is_some() && session.expired(now, &known.settings));
        due.map(|(key, _)| key.clone()).collect()
    }

    /// Opens a session that does not expire.
    pub(crate) fn open_lasting(&self, now: Instant, user: &str) -> String {
        self.all.lock().add(Session { purpose: Purpose::Commands, ..Session::new(now, user) })
    }

    /// Opens a session for a program.
    pub(crate) fn open_for_program(
        &self,
        now: Instant,
        user: &str,
        scope: Option<Scope>,
    ) -> String {
        let purpose = Purpose::Program(scope);
        self.all.lock().add(Session { purpose, ..Session::new(now, user) })
    }

    /// The user of a session, if it is valid.
    pub(crate) fn user(&self, now: Instant, key: &str) -> Option<SessionUser> {
        let mut known = self.all.lock();
        let settings = known.settings.clone();
        let session = known.by_key.get_mut(key)?;
        if let Some(limit) = session.limit_reached(now, &settings) {
            known.expire(key.to_owned(), limit);
            return None;
        }
        session.used = session.used.max(now);
        let (is_program, scope) = match &session.purpose {
            Purpose::Program(scope) => (true, scope.clone()),
            Purpose::Login | Purpose::Commands => (false, None),
        };
        Some(SessionUser { name: session.user.clone(), scope, is_program })
    }

    pub(crate) fn close(&self, key: &str) -> AtProvider {
        self.all.lock().by_key.remove(key).map(|session| session.provider).unwrap_or_default()
    }

    /// Ends a session by ID; returns its key, if it exists.
    pub(crate) fn close_by_id(&self, id: &str) -> Option<String> {
        let mut known = self.all.lock();
        let found = known.by_key.iter().find(|(_, session)| session.id == id);
        let key = found.map(|(key, _)| key.clone())?;
        known.by_key.remove(&key);
        Some(key)
    }

    /// Ends a user's sessions, except permanent ones and the one with the key.
    pub(crate) fn close_all_of(&self, user: &str, except: Option<&str>) {
        self.all.lock().by_key.retain(|key, session| !session.ends_with(key, user, except));
    }

    /// The keys of a user's sessions that [`close_all_of`](Self::close_all_of) ends.
    pub(crate) fn keys_of(&self, user: &str, except: Option<&str>) -> Vec<String> {
        let known = self.all.lock();
        let ending = known.by_key.iter().filter(|(key, of)| of.ends_with(key, user, except));
        ending.map(|(key, _)| key.clone()).collect()
    }

    /// Sessions that expired since the last call.
    pub(crate) fn take_expired(&self, now: Instant) -> Vec<ExpiredSession> {
        let mut known = self.all.lock();
        known.expire_due(now);
        std::mem::take(&mut known.expired)
    }

    /// Returns the sessions that only this process knows.
    pub(crate) fn all(&self, now: Instant) -> Vec<SessionInfo> {
        let known = self.all.lock();
        let alive = known
            .by_key
            .values()
            .filter(|session| session.told.is_none() && !session.expired(now, &known.settings));
        let info = |session: &Session| SessionInfo {
            id: session.id.clone(),
            user: session.user.clone(),
            source: session.source,
            idle: now.saturating_duration_since(session.used),
            age: now.saturating_duration_since(session.opened),
        };
        alive.map(info).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn open(sessions: &Sessions, now: Instant, user: &str) -> String {
        sessions.open(now, user, None, AtProvider::default())
    }

    fn name(sessions: &Sessions, now: Instant, key: &str) -> Option<String> {
        sessions.user(now, key).map(|user| user.name)
    }

    #[test]
    fn a_session_ends_with_the_one_at_its_provider() {
        let (sessions, now) = (Sessions::new(SessionSettings::default()), Instant::now());
        let subject = Subject { name_id: "ann".to_owned(), format: None, session_index: None };
        let at = AtProvider { subject: Some(subject), ends_in: Some(HOUR / 2) };
        let [closed, left] = [0, 1].map(|_| sessions.open(now, "ann", None, at.clone()));
        assert_eq!(sessions.close(&closed), at);
        assert_eq!(sessions.close(&closed), AtProvider::default());
        assert!(sessions.user(now + HOUR / 4, &left).is_some());
        assert_eq!(sessions.user(now + HOUR / 2, &left), None);
        let limits: Vec<_> = sessions.take_expired(now + HOUR / 2);
        assert_eq!(limits[0].limit, "SessionNotOnOrAfter");
    }

    #[test]
    fn a_session_ends_when_it_is_closed_or_not_used() {
        let (sessions, now) = (Sessions::new(SessionSettings::default()), Instant::now());
        let key = open(&sessions, now, "ann");
        assert_eq!(name(&sessions, now, &key).as_deref(), Some("ann"));
        let id = sessions.all(now)[0].id.clone();
        assert_eq!(sessions.close_by_id(&id), Some(key.clone()));
        assert_eq!(sessions.close_by_id(&id), None);
        assert_eq!(sessions.user(now, &key), None);
        let kept = sessions.open_lasting(now, "ann");
        let other = open(&sessions, now, "ann");
        assert_eq!(sessions.user(now + HOUR, &other), None);
        assert_eq!(name(&sessions, now + 1_000 * HOUR, &kept).as_deref(), Some("ann"));
    }

    #[test]
    fn a_session_of_a_program_has_its_scope_and_ends_with_the_logins_of_its_user() {
        let settings = SessionSettings { per_user: 1, ..SessionSettings::default() };
        let (sessions, now) = (Sessions::new(settings), Instant::now());
        let scope = Scope { capabilities: Some(vec!["search".to_owned()]), indexes: None };
        let limited = sessions.open_for_program(now, "ann", Some(scope.clone()));
        let unlimited = sessions.open_for_program(now, "ann", None);
        // Neither expires, nor counts for maxSessionsPerUser.
        let login = open(&sessions, now + 100 * HOUR, "ann");
        let later = now + 100 * HOUR;
        let scope_of = |key: &str| sessions.user(later, key).map(|user| user.scope);
        assert_eq!(scope_of(&limited), Some(Some(scope)));
        assert_eq!(scope_of(&unlimited), Some(None));
        assert_eq!(scope_of(&login), Some(None));
        sessions.close(&unlimited);
        assert_eq!(scope_of(&unlimited), None);
        sessions.close_all_of("ann", Some(&login));
        assert_eq!((scope_of(&limited), scope_of(&login)), (None, Some(None)));
        assert_eq!(sessions.take_expired(later), []);
    }

    #[test]
    fn sessions_that_nobody_ended_are_told_once_with_what_ended_them() {
        let settings = SessionSettings { per_user: 2, ..SessionSettings::default() };
        let (sessions, now) = (Sessions::new(settings), Instant::now());
        let closed = open(&sessions, now, "ann");
        sessions.close(&closed);
        let [pushed, unused, used] =
            [0, 1, 2].map(|s| open(&sessions, now + Duration::from_secs(s), "ann"));
        let told = |at| {
            let expired = sessions.take_expired(at).into_iter();
            expired.map(|session| (session.key, session.limit)).collect::<Vec<_>>()
        };
        assert_eq!(told(now + HOUR / 2), [(pushed, "maxSessionsPerUser")]);
        assert!(sessions.user(now + HOUR / 2, &used).is_some());
        assert_eq!(sessions.user(now + 5 * HOUR / 4, &unused), None);
        assert_eq!(told(now + 5 * HOUR / 4), [(unused, "sessionTimeout")]);
        let mut at = now + HOUR;
        while sessions.user(at, &used).is_some() {
            at += HOUR / 2;
        }
        assert_eq!(told(at), [(used, "maxSessionLifetime")]);
        assert_eq!(told(at), []);
    }

    #[test]
    fn a_session_ends_at_its_absolute_age_however_much_it_is_used() {
        let (sessions, start) = (Sessions::new(SessionSettings::default()), Instant::now());
        let key = open(&sessions, start, "ann");
        let mut now = start;
        while now < start + 24 * HOUR {
            assert_eq!(name(&sessions, now, &key).as_deref(), Some("ann"));
            now += HOUR / 2;
        }
        assert_eq!(sessions.user(now, &key), None);
    }

    #[test]
    fn the_least_recently_used_sessions_of_a_user_leave_first() {
        let settings = SessionSettings { per_user: 2, all: 3, ..SessionSettings::default() };
        let (sessions, now) = (Sessions::new(settings), Instant::now());
        let at = |second| now + Duration::from_secs(second);
        let lasting = sessions.open_lasting(at(0), "ann");
        let [first, second, bobs] =
            [("ann", 1), ("ann", 2), ("bob", 3)].map(|(user, s)| open(&sessions, at(s), user));
        assert!(sessions.user(at(4), &first).is_some());
        let third = open(&sessions, at(5), "ann");
        assert_eq!(sessions.user(at(6), &second), None);
        assert!(
            [&lasting, &first, &bobs, &third].iter().all(|key| sessions.user(at(6), key).is_some())
        );
        open(&sessions, at(7), "eve");
        assert_eq!(sessions.all(at(7)).len(), 4, "three that expire, one that lasts");
    }
}

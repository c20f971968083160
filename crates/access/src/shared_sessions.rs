//! Sessions that outlive their process: documents of the catalog beside what is in memory. In a cluster, all
//! processes know them.
//!
//! A document is named after the hash of the key. It contains the user and the time when the session was
//! opened, and never changes. A second document contains the time of the last use: a process that receives
//! the key writes it from time to time. The documents are separate so that a delayed record of a use cannot
//! restore a session that has ended in the meantime. A process that receives an unknown key looks for the
//! document, and keeps the session in memory from then on. A session ends in all processes when its document
//! is removed.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use catalog::{Catalog, Document, NamedDocument, Snapshot};
use parking_lot::Mutex;
use runtime::Clock;
use saml::Subject;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::sessions::{
    AtProvider, ExpiredSession, KEY_LENGTH, Session, SessionInfo, SessionSettings, Sessions,
};

/// The kind of the session documents, and of the documents with the time of the last use.
const KIND: &str = "session";
const USE: &str = "session_use";
/// Maximum time that opening and ending a session wait for the catalog. While the cluster has no leader, or
/// object storage does not answer, a new session is known to this process only, and a session that has ended
/// is still valid in other processes and after a restart.
const WAIT: Duration = Duration::from_secs(2);
/// Maximum time that the document of an unknown key may take to arrive in this process.
const ARRIVAL: Duration = Duration::from_millis(250);
/// Time after the end of a session after which the leader removes its document, if the process that opened it
/// has not.
const LEFT_BEHIND: Duration = Duration::from_secs(60);
/// One of this number of checks for expired sessions also looks for abandoned documents.
const LOOKS: u32 = 30;
/// The pause between attempts to tell the leader of a session's end.
const AGAIN: Duration = Duration::from_secs(1);
/// Sessions whose documents are removed in one change.
const AT_ONCE: usize = 1_000;

/// A session as the catalog has it. Times in microseconds since the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SessionDocument {
    id: String,
    user: String,
    source: Option<IpAddr>,
    opened: i64,
    used: i64,
    /// `SessionNotOnOrAfter`, seconds after it was opened.
    ends_in: Option<u64>,
    /// `NameID`, its format, and the session at the provider.
    subject: Option<(String, Option<String>, Option<String>)>,
}

/// A moment, on both clocks.
#[derive(Debug, Clone, Copy)]
struct Moment {
    instant: Instant,
    micros: i64,
}

impl Moment {
    fn instant_of(self, micros: i64) -> Instant {
        let since = Duration::from_micros(u64::try_from(self.micros - micros).unwrap_or(0));
        self.instant.checked_sub(since).unwrap_or(self.instant)
    }

    fn micros_of(self, instant: Instant) -> i64 {
        let since = self.instant.saturating_duration_since(instant);
        self.micros - i64::try_from(since.as_micros()).unwrap_or(0)
    }
}

impl SessionDocument {
    fn of(json: &Value, snapshot: &Snapshot, name: &str) -> Option<Self> {
        let mut known: Self = serde_json::from_value(json.clone()).ok()?;
        let used = snapshot.document(USE, name).and_then(|used| used.as_i64());
        known.used = known.used.max(used.unwrap_or_default());
        Some(known)
    }

    fn of_session(session: &Session, moment: Moment) -> Self {
        let AtProvider { subject, ends_in } = session.provider.clone();
        Self {
            id: session.id.clone(),
            user: session.user.clone(),
            source: session.source,
            opened: moment.micros_of(session.opened),
            used: moment.micros_of(session.used),
            ends_in: ends_in.map(|end| end.as_secs()),
            subject: subject.map(|of| (of.name_id, of.format, of.session_index)),
        }
    }

    fn session(self, moment: Moment) -> Session {
        let subject = self.subject.map(|(name_id, format, session_index)| Subject {
            name_id,
            format,
            session_index,
        });
        let provider = AtProvider { subject, ends_in: self.ends_in.map(Duration::from_secs) };
        let times = (moment.instant_of(self.opened), moment.instant_of(self.used));
        Session::seen((self.id, self.user), self.source, times, provider)
    }

    /// The setting whose limit it has reached a while before the moment, if any.
    fn limit_reached(
        &self,
        moment: Moment,
        settings: &SessionSettings,
        while_before: Duration,
    ) -> Option<&'static str> {
        let since = |then: i64| {
            let micros = u64::try_from(moment.micros - then).unwrap_or(0);
            Duration::from_micros(micros).saturating_sub(while_before)
        };
        if since(self.opened) >= settings.lifetime {
            Some("maxSessionLifetime")
        } else if self.ends_in.is_some_and(|end| since(self.opened) >= Duration::from_secs(end)) {
            Some("SessionNotOnOrAfter")
        } else if since(self.used) >= settings.idle {
            Some("sessionTimeout")
        } else {
            None
        }
    }
}

/// The sessions in the catalog. See the module.
#[derive(Debug)]
pub(crate) struct SharedSessions {
    catalog: Catalog,
    clock: Arc<dyn Clock>,
    /// The sessions in memory.
    here: Arc<Sessions>,
    /// Names of sessions that have ended in this process, but are still in the catalog.
    ending: Arc<Mutex<HashSet<String>>>,
    /// Remaining checks for expired sessions until the next one for abandoned documents.
    looks: AtomicU32,
    /// Whether other processes open sessions, too.
    has_others: bool,
}

impl SharedSessions {
    pub(crate) fn new(
        catalog: Catalog,
        clock: Arc<dyn Clock>,
        here: Arc<Sessions>,
        has_others: bool,
    ) -> Self {
        let looks = AtomicU32::new(LOOKS);
        Self { catalog, clock, here, ending: Arc::default(), looks, has_others }
    }

    fn moment(&self) -> Moment {
        Moment { instant: Instant::now(), micros: self.clock.now().0 }
    }

    fn known(&self) -> impl Iterator<Item = (String, SessionDocument)> {
        let snapshot = self.catalog.snapshot();
        let documents = snapshot.documents(KIND).into_iter();
        let ending = self.ending.lock().clone();
        let documents = documents.filter(move |document| !ending.contains(&document.name));
        documents.filter_map(move |Document { name, json, .. }| {
            let known = SessionDocument::of(&json, &snapshot, &name)?;
            Some((name, known))
        })
    }

    /// Returns the known sessions, with those uses in this process that were not written yet.
    fn known_with_uses(&self) -> impl Iterator<Item = (String, SessionDocument)> {
        let (moment, uses) = (self.moment(), self.here.last_uses());
        self.known().map(move |(name, mut known)| {
            if let Some(used) = uses.get(&known.id) {
                known.used = known.used.max(moment.micros_of(*used));
            }
            (name, known)
        })
    }

    fn known_by(&self, name: &str) -> Option<SessionDocument> {
        if self.ending.lock().contains(name) {
            return None;
        }
        let snapshot = self.catalog.snapshot();
        let json = snapshot.document(KIND, name)?;
        SessionDocument::of(&json, &snapshot, name)
    }

    /// Tells the other processes of a session that was just opened.
    pub(crate) async fn share(&self, key: &str) {
        let moment = self.moment();
        let Some(session) = self.here.get(key) else { return };
        let known = serde_json::json!(SessionDocument::of_session(&session, moment));
        let (catalog, here) = (self.catalog.clone(), Arc::clone(&self.here));
        let (name, opened) = (name_of(key), key.to_owned());
        let writing = runtime::detached(async move {
            let put = catalog.put_document(KIND, &name, known).await;
            // The document may be written late, also after an error, when the session has already ended.
            if here.is_shared(&opened).is_none() {
                catalog.delete_document(KIND, &name).await?;
            }
            put
        });
        if self.catalog.lacks_leader() {
            return;
        }
        self.make_room(&session).await;
        match tokio::time::timeout(WAIT, writing).await {
            Ok(Ok(Ok(()))) => self.here.told(key, session.used),
            Ok(Ok(Err(error))) if self.has_others => {
                tracing::warn!(%error, "a session is known to this process only");
            }
            Ok(Ok(Err(error))) => {
                tracing::warn!(%error, "a session is not in the catalog: it ends with this process");
            }
            // The document is written later.
            Ok(Err(_)) | Err(_) => {}
        }
    }

    /// Ends the least recently used sessions of a user, and of all, that are too many.
    async fn make_room(&self, new: &Session) {
        let SessionSettings { per_user, all, .. } = self.here.settings();
        let mut others: Vec<_> = self.known().filter(|(_, known)| known.id != new.id).collect();
        others.sort_by_key(|(_, known)| known.used);
        let over = |number: usize, limit: usize| (number + 1).saturating_sub(limit.max(1));
        let of_user = others.iter().filter(|(_, known)| known.user == new.user);
        let mut ended: Vec<_> = of_user.clone().take(over(of_user.count(), per_user)).collect();
        ended.extend(others.iter().take(over(others.len(), all)));
        self.forget(ended.into_iter().map(|(name, _)| name.clone()).collect()).await;
    }

    /// Ends sessions: removes their documents. They are invalid in this process from now on; if the leader
    /// cannot be reached, the removal is retried. Returns whether the leader has received it.
    async fn forget(&self, names: HashSet<String>) -> bool {
        if names.is_empty() {
            return true;
        }
        self.ending.lock().extend(names.iter().cloned());
        let (catalog, ending) = (self.catalog.clone(), Arc::clone(&self.ending));
        let has_others = self.has_others;
        let removing = runtime::detached(async move {
            let names: Vec<_> = names.into_iter().collect();
            let mut is_told = false;
            for ended in names.chunks(AT_ONCE) {
                while let Err(error) = catalog.change_documents_in_time(without(ended)).await {
                    // Each attempt may fail at once.
                    if !std::mem::replace(&mut is_told, true) {
                        warn_of_ended(&error, names.len(), has_others);
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                let mut ending = ending.lock();
                for name in ended {
                    ending.remove(name);
                }
            }
        });
        // Otherwise they are removed later.
        matches!(tokio::time::timeout(WAIT, removing).await, Ok(Ok(())))
    }

    /// Ends a session by its name, with an error for the caller if the leader was not reached.
    async fn end_by_name(&self, name: String) -> Result<(), Error> {
        match (self.forget(HashSet::from([name])).await, self.has_others) {
            (true, _) => Ok(()),
            (false, true) => Err(Error::EndNotTold),
            (false, false) => Err(Error::EndNotStored),
        }
    }

    /// Removes documents of uses that came after the end of their sessions.
    async fn forget_late_uses(&self) {
        let snapshot = self.catalog.snapshot();
        let uses = snapshot.documents(USE).into_iter().map(|document| document.name);
        let late = uses.filter(|name| snapshot.document(KIND, name).is_none());
        let late: Vec<NamedDocument> = late.map(|name| (USE.to_owned(), name, None)).collect();
        for some in late.chunks(AT_ONCE) {
            if let Err(error) = self.catalog.change_documents_in_time(some.to_vec()).await {
                tracing::debug!(%error, "when sessions were used is removed later");
                return;
            }
        }
    }

    /// Updates a session in memory with its documents. A session that this process does not know is added if
    /// its user may continue it.
    pub(crate) fn catch_up(&self, key: &str, may_go_on: impl Fn(&str) -> bool) {
        let moment = self.moment();
        match (self.known_by(&name_of(key)), self.here.is_shared(key)) {
            (Some(known), None) => {
                let settings = self.here.settings();
                let is_over = known.limit_reached(moment, &settings, Duration::ZERO).is_some();
                if !is_over && may_go_on(&known.user) {
                    self.here.adopt(key, known.session(moment));
                }
            }
            // Also one whose document was late.
            (Some(known), Some(_)) => self.here.told(key, moment.instant_of(known.used)),
            (None, Some(true)) => drop(self.here.close(key)),
            (None, _) => {}
        }
    }

    /// Notifies other processes, from time to time, that a session is used.
    pub(crate) fn tell_use(&self, key: &str) {
        if !self.here.is_to_be_told(key) {
            return;
        }
        let Some(session) = self.here.get(key) else { return };
        let used = self.moment().micros_of(session.used);
        let (catalog, name) = (self.catalog.clone(), name_of(key));
        runtime::detached(async move {
            if let Err(error) = catalog.put_document(USE, &name, used.into()).await {
                tracing::debug!(%error, "the use of a session is not told");
            }
        });
    }

    /// Waits until a session arrives that another process has just opened.
    pub(crate) async fn arrival(&self, key: &str) {
        let is_key =
            key.len() == KEY_LENGTH && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_key || !self.has_others {
            return;
        }
        let (mut changes, name) = (self.catalog.subscribe(), name_of(key));
        let arrived = changes.wait_for(|snapshot| snapshot.document(KIND, &name).is_some());
        // After the time-out, the session does not exist or its document is too late.
        let _ = tokio::time::timeout(ARRIVAL, arrived).await;
    }

    /// Ends a session in all processes. If it was opened in this process, its document may not be in the
    /// catalog yet: the removal is ordered after it.
    ///
    /// # Errors
    /// [`Error::EndNotTold`], [`Error::EndNotStored`]: it has ended here only, until the catalog answers.
    pub(crate) async fn end(&self, key: &str, was_here: bool) -> Result<(), Error> {
        let name = name_of(key);
        if was_here || self.catalog.snapshot().document(KIND, &name).is_some() {
            self.end_by_name(name).await?;
        }
        Ok(())
    }

    /// Returns all sessions that are shared with other processes.
    pub(crate) fn all(&self) -> Vec<SessionInfo> {
        let (moment, settings) = (self.moment(), self.here.settings());
        let alive = self
            .known_with_uses()
            .filter(|(_, known)| known.limit_reached(moment, &settings, Duration::ZERO).is_none());
        let info = |(_, known): (String, SessionDocument)| SessionInfo {
            idle: moment.instant.saturating_duration_since(moment.instant_of(known.used)),
            age: moment.instant.saturating_duration_since(moment.instant_of(known.opened)),
            id: known.id,
            user: known.user,
            source: known.source,
        };
        alive.map(info).collect()
    }

    /// Returns the sessions opened in this process that have expired since the last call.
    pub(crate) async fn take_expired(&self) -> Vec<ExpiredSession> {
        self.catch_up_with_all_due();
        let mut expired = self.here.take_expired(Instant::now());
        self.forget(expired.iter().map(|session| name_of(&session.key)).collect()).await;
        if self.looks.fetch_sub(1, Relaxed) == 1 {
            self.looks.store(LOOKS, Relaxed);
            expired.extend(self.left_behind().await);
        }
        expired
    }

    /// Ends a user's sessions for all, except the one with a key.
    pub(crate) async fn end_all_of(&self, user: &str, except: Option<&str>) {
        let names = self.names_of(user, except);
        self.here.close_all_of(user, except);
        self.forget(names).await;
    }

    /// Returns the names of a user's sessions, including those in memory whose documents are not in the
    /// catalog yet.
    fn names_of(&self, user: &str, except: Option<&str>) -> HashSet<String> {
        let kept = except.map(name_of);
        let of_user = self.known().filter(|(_, known)| known.user == user).map(|(name, _)| name);
        let mut names: HashSet<_> = of_user.filter(|name| Some(name) != kept.as_ref()).collect();
        names.extend(self.here.keys_of(user, except).iter().map(|key| name_of(key)));
        names
    }

    /// The documents of a user's sessions without content, except the one with a key: for a change that ends
    /// them.
    pub(crate) fn without_those_of(&self, user: &str, except: Option<&str>) -> Vec<NamedDocument> {
        // A change of the catalog has a maximum size. The remaining sessions are ended right after it.
        let names: Vec<_> = self.names_of(user, except).into_iter().take(AT_ONCE).collect();
        without(&names)
    }

    /// Ends a session in all processes, by its ID; returns whether it existed. `closed` is the key of the
    /// session that was in memory.
    ///
    /// # Errors
    /// As for [`end`](Self::end).
    pub(crate) async fn end_by_id(&self, id: &str, closed: Option<&str>) -> Result<bool, Error> {
        let known = self.known().find(|(_, known)| known.id == id).map(|(name, _)| name);
        let Some(name) = closed.map(name_of).or(known) else { return Ok(false) };
        self.end_by_name(name).await?;
        Ok(true)
    }

    /// Updates the sessions that would expire in this process: they may have been used in other processes.
    fn catch_up_with_all_due(&self) {
        for key in self.here.due_and_shared(Instant::now()) {
            // They are in memory; a session that has just been removed is not restored.
            self.catch_up(&key, |_| false);
        }
    }

    /// Removes the documents of sessions whose end was not recorded, because the process that opened them
    /// does not run any more. The leader does this.
    async fn left_behind(&self) -> Vec<ExpiredSession> {
        let mut ended = Vec::new();
        if self.catalog.follows() {
            return ended;
        }
        let (moment, settings) = (self.moment(), self.here.settings());
        let due: Vec<_> = self
            .known_with_uses()
            .filter_map(|(name, known)| {
                let limit = known.limit_reached(moment, &settings, LEFT_BEHIND)?;
                Some((name, known, limit))
            })
            .collect();
        let mut names = HashSet::new();
        for (name, SessionDocument { id, user, source, .. }, limit) in due {
            names.insert(name);
            ended.push(ExpiredSession { key: id, user, source, limit });
        }
        self.forget(names).await;
        self.forget_late_uses().await;
        ended
    }
}

/// Says that the catalog does not have the end of sessions yet.
fn warn_of_ended(error: &catalog::Error, sessions: usize, has_others: bool) {
    if has_others {
        tracing::warn!(%error, sessions, "sessions that have ended here are still valid elsewhere");
    } else {
        tracing::warn!(
            %error,
            sessions,
            "the end of sessions is not in the catalog yet: after a restart they would be valid again"
        );
    }
}

/// The documents of sessions, without content.
fn without(names: &[String]) -> Vec<NamedDocument> {
    let of_session = |name: &String| [KIND, USE].map(|kind| (kind.to_owned(), name.clone(), None));
    names.iter().flat_map(of_session).collect()
}

/// The name of the document: who reads the catalog must not learn the key.
fn name_of(key: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

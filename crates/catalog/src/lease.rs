//! The lease: a small object next to the catalog that the server in use renews.
//!
//! Opening the catalog fences an earlier writer unconditionally. The lease is checked before that:
//! a server that finds another server's lease watches whether it is renewed, and does not start if
//! it is. The lease only prevents accidental takeovers; safety comes from fencing, so a lost,
//! deleted or forcibly taken lease cannot damage data.
//!
//! ```text
//! no lease                       -> ours
//! of this very installation      -> ours: the lock on its data directory proves that its process is gone; if
//!                                   that one had just taken it over, the time that follows begins again
//! of anybody else, renewed       -> Held, unless told to take it over; then the former holder has a time
//!                                   to notice it before the catalog is opened
//! of anybody else, standing still for the window -> ours
//! ```
//!
//! A standby watches the lease all the time ([`LeaseWatch`]), and may take it sooner: it also follows the
//! holder, and knows when that one does not answer.
//!
//! Clocks are not compared: the lease is live if the object *changes* while it is being watched.
//! Costs at the default of 10 seconds: one PUT each, 260,000 a month, 1.30 USD on S3.

use std::sync::Arc;
use std::time::Duration;

use conf::{Type, Unit};
use object_store::path::Path;
use object_store::{
    GetResult, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use runtime::Shutdown;
use runtime::store::ask_again;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Error;
use crate::adapter::LastFailure;
use crate::error::{Result, chain};
use crate::holder::Holder;

/// The path of the lease object in the store.
const PLACE: &str = "lease/catalog.json";
/// Maximum interval between checks of a waiting server.
const LOOK: Duration = Duration::from_secs(1);
/// Time since the last renewal after which followers get no more updates: another process may lead, and they
/// would miss its changes. It is longer than a standby waits, so that a slow store does not end the feed.
const UNRENEWED: Duration = Duration::from_secs(10);
/// Margin for the requests with which a holder finds that its lease was taken over.
const NOTICE: Duration = Duration::from_secs(2);
/// Maximum number of characters of an error of the store in messages.
const MAX_SAID: usize = 400;
/// Maximum size that is read: a larger object is not a lease.
const MAX_BYTES: u64 = 64 << 10;

conf::settings! {
    /// Settings of the lease.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct LeaseSettings {
        "server"["general"] {
            /// Interval between renewals of the catalog's lease. A shorter interval detects a dead server
            /// or a takeover sooner; each renewal costs one PUT request.
            "catalogLeaseInterval" => pub renewal: Duration = "10", Type::of(Unit::Seconds, 1, 60);
        }
        "server"["clustering"] {
            /// Interval between renewals of the catalog's lease in a cluster with a standby, which takes
            /// over after two missed renewals. Splunk: the interval between heartbeats of a peer.
            "heartbeat_period" => pub heartbeat: Duration = "1", Type::of(Unit::Seconds, 1, 60);
        }
    }
}

/// The contents of the lease object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Document {
    #[serde(flatten)]
    holder: Holder,
    /// A counter, so that every renewal changes the object.
    renewal: u64,
    /// The renewal interval of the holder, from which others derive how long to watch.
    renewal_ms: u64,
    /// How long the server from which the lease was taken over may still run; zero once that time is over. A
    /// holder that ends before has not opened the catalog.
    #[serde(default)]
    grace_ms: u64,
}

impl Document {
    fn of(holder: Holder, settings: LeaseSettings) -> Self {
        Self { holder, renewal: 0, renewal_ms: millis(settings.renewal), grace_ms: 0 }
    }

    fn renewal(&self) -> Duration {
        Duration::from_millis(self.renewal_ms).min(Duration::from_secs(60))
    }

    /// Returns two renewal intervals, plus a margin for a slow store.
    fn window(&self) -> Duration {
        let renewal = self.renewal();
        renewal * 2 + renewal.min(Duration::from_secs(1))
    }

    /// Returns the time within which a holder that reaches the store notices that its lease is gone: it
    /// checks once per interval; the margin is for a slow store.
    fn grace(&self) -> Duration {
        let renewal = self.renewal();
        renewal + renewal.min(NOTICE)
    }

    /// Returns the grace period of the server before the holder, unless it is certainly over.
    fn grace_before(&self) -> Duration {
        Duration::from_millis(self.grace_ms).min(Duration::from_secs(60) + NOTICE)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A held lease.
#[derive(Debug)]
pub struct Lease {
    store: Arc<dyn ObjectStore>,
    settings: LeaseSettings,
    document: Document,
    version: UpdateVersion,
    /// Time after `taken` for which the former holder may continue after it has lost the lease.
    grace: Duration,
    /// The time at which the lease was taken.
    taken: Instant,
    /// The start of the last successful renewal.
    renewed: watch::Sender<Instant>,
    /// The last error of a renewal.
    failure: LastFailure,
}

/// The age of the last renewal. It can be read after the lease is dropped.
#[derive(Debug, Clone)]
pub struct Renewals {
    last: watch::Receiver<Instant>,
    limit: Duration,
    failure: LastFailure,
}

impl Renewals {
    /// Returns the time since the last renewal, if it is so long that nobody may follow this process. That
    /// applies at once if the lease is no longer kept, because another process may have it.
    pub(crate) fn overdue(&self) -> Option<Duration> {
        let age = self.last.borrow().elapsed();
        (age >= self.limit || self.last.has_changed().is_err()).then_some(age)
    }

    /// Returns why the lease is not renewed, as reported by the store; `None` if it is no longer kept.
    pub(crate) fn reason(&self) -> Option<String> {
        self.last.has_changed().is_ok().then(|| self.failure.reason())
    }

    /// Waits until the renewal is overdue.
    pub(crate) async fn until_overdue(mut self) -> Duration {
        loop {
            if let Some(age) = self.overdue() {
                return age;
            }
            let due = *self.last.borrow_and_update() + self.limit;
            tokio::select! {
                () = sleep_until(due) => {}
                _ = self.last.changed() => {}
            }
        }
    }
}

/// Why a lease was lost.
#[derive(Debug)]
pub enum Lost {
    /// Another server has taken it.
    To(Box<Holder>),
}

/// The state of the lease, as a waiting process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The lease has no holder, because its holder released it.
    Free,
    /// The lease has not been renewed for a while.
    Still {
        /// Time since the last observed change.
        since: Duration,
        /// The renewal interval of its holder.
        renewal: Duration,
    },
}

/// Watches the lease of another process.
#[derive(Debug)]
pub struct LeaseWatch {
    store: Arc<dyn ObjectStore>,
    last: Option<(Option<Watched>, Instant)>,
}

impl LeaseWatch {
    /// Creates a watch that has not read the lease yet.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, last: None }
    }

    /// Reads the lease. The time without a change counts from the call that found the last change.
    ///
    /// # Errors
    /// [`Error::Store`] if the store fails.
    pub async fn look(&mut self) -> Result<Seen> {
        let found = read(self.store.as_ref()).await?;
        if self.last.as_ref().is_none_or(|(last, _)| *last != found) {
            self.last = Some((found.clone(), Instant::now()));
        }
        let since = self.last.as_ref().map(|(_, since)| since.elapsed()).unwrap_or_default();
        Ok(match found {
            None => Seen::Free,
            Some(found) => Seen::Still { since, renewal: found.document.renewal() },
        })
    }

    /// Takes the lease if it is unchanged since it was last read; otherwise returns `None`.
    ///
    /// # Errors
    /// [`Error::Store`] if the store fails.
    pub async fn take(&self, holder: Holder, settings: LeaseSettings) -> Result<Option<Lease>> {
        let Some((last, _)) = &self.last else { return Ok(None) };
        let mut document = Document::of(holder, settings);
        let mode = match last {
            None => PutMode::Create,
            Some(last) => {
                document.renewal = last.document.renewal + 1;
                PutMode::Update(last.version.clone())
            }
        };
        let began = Instant::now();
        match put(self.store.as_ref(), &document, mode).await {
            Ok(version) => {
                Ok(Some(Lease::held(Arc::clone(&self.store), settings, document, (version, began))))
            }
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. }
                | object_store::Error::NotFound { .. },
            ) => Ok(None),
            Err(error) => Err(failed("write the lease", &error)),
        }
    }
}

impl Lease {
    /// Takes the lease: at once if nobody can hold it, otherwise after watching it; `waiting` is
    /// called with the holder and the time. With `take_over`, the lease of a live holder is taken
    /// too; then the caller opens the catalog after [`grace`](Self::grace).
    ///
    /// # Errors
    /// [`Error::Held`] if another live server has it; [`Error::Store`] if the store fails.
    pub async fn take(
        store: Arc<dyn ObjectStore>,
        holder: Holder,
        settings: LeaseSettings,
        take_over: bool,
        waiting: impl Fn(&Holder, Duration),
    ) -> Result<Self> {
        let mut document = Document::of(holder, settings);
        let mut watched: Option<(Watched, Instant)> = None;
        loop {
            let found = read_at_start(store.as_ref()).await?;
            let mut grace = Duration::ZERO;
            let mode = match found {
                None => PutMode::Create,
                Some(found) if take_over || is_ours(&found.document, &document.holder) => {
                    // Needed as well if the previous holder was killed during its own grace period.
                    grace = found.document.grace_before();
                    if !is_ours(&found.document, &document.holder) {
                        grace = grace.max(found.document.grace());
                    }
                    document.renewal = found.document.renewal + 1;
                    PutMode::Update(found.version)
                }
                Some(found) => {
                    let window = found.document.window();
                    let (before, since) = watched.get_or_insert_with(|| {
                        waiting(&found.document.holder, window);
                        (found.clone(), Instant::now())
                    });
                    if *before != found {
                        return Err(Error::Held { by: Box::new(found.document.holder) });
                    }
                    if since.elapsed() < window {
                        sleep(LOOK.min(settings.renewal / 4)).await;
                        continue;
                    }
                    grace = found.document.grace_before().saturating_sub(since.elapsed());
                    document.renewal = found.document.renewal + 1;
                    PutMode::Update(found.version)
                }
            };
            document.grace_ms = millis(grace);
            let began = Instant::now();
            match put(store.as_ref(), &document, mode).await {
                Ok(version) => {
                    let lease = Self::held(store, settings, document, (version, began));
                    return Ok(Self { grace, ..lease });
                }
                // Another server has taken it first: read its lease.
                Err(
                    object_store::Error::AlreadyExists { .. }
                    | object_store::Error::Precondition { .. }
                    | object_store::Error::NotFound { .. },
                ) => {}
                Err(error) => return Err(failed("write the lease", &error)),
            }
        }
    }

    fn held(
        store: Arc<dyn ObjectStore>,
        settings: LeaseSettings,
        document: Document,
        (version, began): (UpdateVersion, Instant),
    ) -> Self {
        let (renewed, failure) = (watch::Sender::new(began), LastFailure::default());
        let (grace, taken) = (Duration::ZERO, began);
        Self { store, settings, document, version, grace, taken, renewed, failure }
    }

    /// Returns the age of the last renewal, for [`Catalog::held_with`](crate::Catalog::held_with).
    #[must_use]
    pub fn renewals(&self) -> Renewals {
        let limit = UNRENEWED.max(self.document.window());
        Renewals { last: self.renewed.subscribe(), limit, failure: self.failure.clone() }
    }

    /// Returns how long after [`take`](Self::take) the former holder may still acknowledge events: it notices
    /// the loss at its next renewal. The catalog is opened after that time. Zero if the former holder is
    /// certainly gone.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// Renews the lease until shutdown and returns it then, or returns the server that took it.
    /// While the store is unavailable it waits: only another server's lease ends this one.
    ///
    /// # Errors
    /// [`Lost`] if the lease was lost.
    pub async fn keep(mut self, shutdown: &Shutdown) -> std::result::Result<Self, Lost> {
        let mut failing = false;
        while shutdown.sleep(self.settings.renewal).await {
            match self.renew().await {
                Ok(()) => {
                    self.failure.set(None);
                    failing = false;
                }
                Err(Renewal::Lost(to)) => return Err(Lost::To(to)),
                Err(Renewal::Failed(error)) => {
                    self.failure.set(Some(said(&error)));
                    if !failing {
                        let path = PLACE;
                        tracing::warn!(path, %error, "the catalog's lease cannot be renewed for now");
                    }
                    failing = true;
                }
            }
        }
        Ok(self)
    }

    /// Deletes the lease, so that the next server need not wait. Does not fail: a leftover lease is
    /// recognized as not renewed.
    pub async fn release(self) {
        let path = Path::from(PLACE);
        let now = read(self.store.as_ref()).await;
        let is_own = |found: &Watched| found.document.holder.nonce == self.document.holder.nonce;
        if now.is_ok_and(|found| found.as_ref().is_some_and(is_own))
            && let Err(error) = self.store.delete(&path).await
        {
            tracing::debug!(%error, "the catalog's lease stays");
        }
    }

    async fn renew(&mut self) -> std::result::Result<(), Renewal> {
        let began = Instant::now();
        let mut next = self.document.clone();
        next.renewal += 1;
        if began.saturating_duration_since(self.taken) >= self.grace {
            next.grace_ms = 0;
        }
        let mode = PutMode::Update(self.version.clone());
        let renewed = put(self.store.as_ref(), &next, mode).await;
        match renewed {
            Ok(version) => (self.document, self.version) = (next, version),
            Err(
                object_store::Error::Precondition { .. } | object_store::Error::NotFound { .. },
            ) => self.look().await?,
            Err(error) => return Err(Renewal::Failed(failed("renew the lease", &error))),
        }
        self.renewed.send_replace(began);
        Ok(())
    }

    /// Determines why the object changed: another server has taken the lease, the response to our own renewal
    /// was lost, or it was deleted.
    async fn look(&mut self) -> std::result::Result<(), Renewal> {
        let found = read(self.store.as_ref()).await.map_err(Renewal::Failed)?;
        match found {
            Some(found) if found.document.holder.nonce == self.document.holder.nonce => {
                (self.document, self.version) = (found.document, found.version);
                Ok(())
            }
            Some(found) => Err(Renewal::Lost(Box::new(found.document.holder))),
            None => {
                let created = put(self.store.as_ref(), &self.document, PutMode::Create).await;
                let error = |error| Renewal::Failed(failed("write the lease", &error));
                self.version = created.map_err(error)?;
                Ok(())
            }
        }
    }
}

enum Renewal {
    Lost(Box<Holder>),
    Failed(Error),
}

/// Whether the process that wrote it is certainly gone: it was this process, or it held the lock that this
/// process holds now.
fn is_ours(found: &Document, own: &Holder) -> bool {
    let same_lock = own.lock.is_some() && found.holder.lock == own.lock;
    found.holder.nonce == own.nonce || same_lock
}

/// The lease object as last read.
#[derive(Debug, Clone, PartialEq)]
struct Watched {
    document: Document,
    version: UpdateVersion,
}

async fn read(store: &dyn ObjectStore) -> Result<Option<Watched>> {
    understood(store.get(&Path::from(PLACE)).await).await
}

/// Reads the lease as [`read`] does, but retries a truncated response, because it would end a process that
/// starts.
async fn read_at_start(store: &dyn ObjectStore) -> Result<Option<Watched>> {
    let path = Path::from(PLACE);
    understood(ask_again(PLACE, || store.get(&path)).await).await
}

async fn understood(got: object_store::Result<GetResult>) -> Result<Option<Watched>> {
    let got = match got {
        Ok(got) => got,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(failed("read the lease", &error)),
    };
    let version =
        UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
    if got.meta.size > MAX_BYTES {
        return Err(unreadable("it is too large"));
    }
    let bytes = got.bytes().await.map_err(|error| failed("read the lease", &error))?;
    let document =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(&error.to_string()))?;
    Ok(Some(Watched { document, version }))
}

async fn put(
    store: &dyn ObjectStore,
    document: &Document,
    mode: PutMode,
) -> std::result::Result<UpdateVersion, object_store::Error> {
    let text = serde_json::to_vec(document).expect("strings and numbers have a JSON form");
    let options = PutOptions { mode, ..PutOptions::default() };
    let put = store.put_opts(&Path::from(PLACE), PutPayload::from(text), options).await?;
    Ok(UpdateVersion { e_tag: put.e_tag, version: put.version })
}

fn failed(what: &'static str, error: &object_store::Error) -> Error {
    Error::Store { path: PLACE.to_owned(), what, reason: chain(error) }
}

/// Returns the message of the store.
fn said(error: &Error) -> String {
    let text = match error {
        Error::Store { reason, .. } => reason.clone(),
        other => other.to_string(),
    };
    text.chars().take(MAX_SAID).collect()
}

fn unreadable(reason: &str) -> Error {
    let reason = format!("{reason}; delete the object if no server uses this object store");
    Error::Store { path: PLACE.to_owned(), what: "understand the lease", reason }
}

#[cfg(test)]
mod tests;

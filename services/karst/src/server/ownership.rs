//! Ownership of the catalog: takes the lease before the catalog is opened, renews it while the server runs,
//! and watches for takeovers. `leadership` determines which of several processes may own it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use catalog::{Catalog, Holder, Lease, LeaseSettings, Lost, Renewals};
use jiff::Timestamp;
use object_store::ObjectStore;
use parking_lot::Mutex;
use runtime::{Clock, Shutdown, SystemClock};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::assemble::host_name;
use super::gateway::Progress;
use super::identity;
use super::lock::{self, DataLock};
use crate::config::ServerOptions;

/// Why the catalog is lost.
const WHAT_HELPS: &str = "events that are here stay in this server's data directory: to bring them in, stop \
                          the other server and start this one again";

/// Takes the lease for a command that changes the catalog while no server runs over `data`, whose lock
/// the command has.
///
/// # Errors
/// A server with another data directory uses the catalog, or the store cannot be asked.
pub(crate) async fn claim(
    store: &Arc<dyn ObjectStore>,
    data: &Path,
    locked: &File,
) -> Result<Lease> {
    let holder = Holder {
        instance: identity::known(data).unwrap_or_default(),
        nonce: runtime::random::uuid().to_string(),
        lock: lock::identity_of(locked),
        host: host_name(),
        pid: std::process::id(),
        started: now_text(),
        management: String::new(),
        data: data.display().to_string(),
    };
    let waiting = |holder: &Holder, window: Duration| {
        let seconds = window.as_secs();
        eprintln!(
            "karst: the catalog was last used by another server ({holder}); checking for up to \
             {seconds} s whether that one is alive"
        );
    };
    Ok(Lease::take(Arc::clone(store), holder, LeaseSettings::default(), false, waiting).await?)
}

/// Returns the data of a server in its lease.
pub(crate) fn holder(options: &ServerOptions, lock: &DataLock) -> Holder {
    Holder {
        instance: identity::known(lock.directory()).unwrap_or_default(),
        nonce: runtime::random::uuid().to_string(),
        lock: lock.identity(),
        host: host_name(),
        pid: std::process::id(),
        started: now_text(),
        management: management(options),
        data: lock.directory().display().to_string(),
    }
}

/// The lease on the catalog, kept in the background.
#[derive(Debug)]
pub(crate) struct Ownership {
    keeping: Mutex<Option<JoinHandle<Option<Lease>>>>,
    stop: Shutdown,
    taken_by: watch::Receiver<Option<Arc<Holder>>>,
    pub(crate) renewals: Renewals,
}

impl Ownership {
    /// Takes the lease; if another server has it, watches whether that server is alive. A server that loses
    /// the lease to `take_over` gets time to notice that: otherwise it would acknowledge events which cannot
    /// be found any more, because it no longer owns the catalog.
    ///
    /// # Errors
    /// [`Held`](catalog::Error::Held): the other server is alive, or another one has taken the lease over
    /// meanwhile; or the store cannot be read.
    pub(crate) async fn take(
        store: &Arc<dyn ObjectStore>,
        holder: Holder,
        settings: LeaseSettings,
        take_over: bool,
        progress: &Progress,
    ) -> Result<Self, catalog::Error> {
        let waiting = |holder: &Holder, window: Duration| {
            let seconds = window.as_secs();
            let text = format!(
                "the catalog was last used by another server ({holder}); checking for up to {seconds} s \
                 whether that one is alive (--take-over does not check it)"
            );
            println!("karst: {text}");
            tracing::info!(%holder, seconds, "checking whether the catalog's last user is alive");
            // `/readyz` shows why the start is waiting.
            progress.set(format!(
                "checking for up to {seconds} s whether the server that last used the catalog is alive"
            ));
        };
        let lease = Lease::take(Arc::clone(store), holder, settings, take_over, waiting).await?;
        let grace = lease.grace();
        let own = Self::keep(lease);
        if grace.is_zero() {
            return Ok(own);
        }
        let seconds = grace.as_secs();
        tracing::info!(
            seconds,
            "waiting until the server that had the catalog has noticed the takeover"
        );
        progress.set(format!(
            "waiting {seconds} s, until the server that had the catalog has noticed the takeover"
        ));
        let mut taken_by = own.taken_by.clone();
        tokio::select! {
            () = tokio::time::sleep(grace) => {}
            _ = taken_by.wait_for(Option::is_some) => {}
        }
        let taken_by = own.taken_by.borrow().clone();
        match taken_by {
            None => Ok(own),
            Some(by) => Err(catalog::Error::Held { by: Box::new((*by).clone()) }),
        }
    }

    /// Keeps a lease that has been taken.
    pub(crate) fn keep(lease: Lease) -> Self {
        let stop = Shutdown::new();
        let renewals = lease.renewals();
        let (lost, taken_by) = watch::channel(None);
        let keeping = runtime::detached({
            let stop = stop.clone();
            async move {
                match lease.keep(&stop).await {
                    Ok(lease) => Some(lease),
                    Err(Lost::To(holder)) => {
                        lost.send_replace(Some(Arc::from(holder)));
                        None
                    }
                }
            }
        });
        Self { keeping: Mutex::new(Some(keeping)), stop, taken_by, renewals }
    }

    /// Waits until another server has taken the catalog; returns the reason.
    pub(crate) async fn lost(&self) -> Arc<str> {
        let mut taken_by = self.taken_by.clone();
        let holder =
            taken_by.wait_for(Option::is_some).await.ok().and_then(|holder| holder.clone());
        match holder {
            Some(holder) => format!(
                "the catalog has been taken over by another server ({holder}); {WHAT_HELPS}"
            )
            .into(),
            // The lease was released normally.
            None => std::future::pending().await,
        }
    }

    /// Waits until the lease or the catalog is lost; returns the reason.
    pub(crate) async fn ended(&self, catalog: &Catalog) -> Arc<str> {
        tokio::select! {
            reason = self.lost() => reason,
            error = catalog.lost() => match error {
                catalog::Error::Fenced { .. } => {
                    format!("the catalog has been taken over by another process; {WHAT_HELPS}").into()
                }
                error => format!("the catalog of this process has ended: {error}").into(),
            }
        }
    }

    /// Releases the lease, so that the next server need not wait.
    pub(crate) async fn release(&self) {
        self.stop.stop();
        let Some(keeping) = self.keeping.lock().take() else { return };
        // An unresponsive store must not block the stop.
        let release = async {
            if let Ok(Some(lease)) = keeping.await {
                lease.release().await;
            }
        };
        if tokio::time::timeout(RELEASE, release).await.is_err() {
            tracing::debug!(
                "the catalog's lease is not released; the next server finds it unchanged"
            );
        }
    }
}

/// The URL of the management port.
pub(crate) fn management(options: &ServerOptions) -> String {
    let scheme = if options.management_plain { "http" } else { "https" };
    format!("{scheme}://{}", options.management_address)
}

/// Time-out of the release.
const RELEASE: Duration = Duration::from_secs(3);

/// The time in UTC, for people.
pub(crate) fn now_text() -> String {
    let now = Timestamp::from_microsecond(SystemClock.now().0).unwrap_or_default();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(in crate::server) mod tests {
    use object_store::memory::InMemory;

    use super::*;

    pub(in crate::server) fn server(nonce: &str) -> Holder {
        Holder {
            instance: nonce.to_owned(),
            nonce: nonce.to_owned(),
            lock: None,
            host: "one".to_owned(),
            pid: 7,
            started: "2026-11-22T22:00:00Z".to_owned(),
            management: "https://127.0.0.1:8089".to_owned(),
            data: "/data".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_take_over_gives_the_former_owner_time_to_notice_it() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let renewal = Duration::from_millis(200);
        let settings = LeaseSettings { renewal, heartbeat: renewal };
        let progress = Progress::new("");
        let take = |nonce, take_over| {
            Ownership::take(&store, server(nonce), settings, take_over, &progress)
        };
        let first = take("1", false).await.unwrap();
        assert!(first.taken_by.borrow().is_none());
        let began = tokio::time::Instant::now();
        let second = take("2", true).await.unwrap();
        assert!(began.elapsed() >= renewal, "{:?}", began.elapsed());
        assert!(progress.get().contains("has noticed the takeover"), "{}", progress.get());
        assert!(second.taken_by.borrow().is_none());
        let reason = first.lost().await;
        assert!(reason.contains("taken over by another server"), "{reason}");
    }
}

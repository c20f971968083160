//! Which of the processes with the role control-plane leads: the one that has the catalog open. The others
//! follow it, and take over when it is gone (docs/decisions/0033).
//!
//! ```text
//! start ----> somebody gives the feed ----------> standby --+
//!   |                                                       | no feed, and the lease stands still
//!   +-------> nobody does, the lease is free ---> leader <--+
//!                                                   |
//!   start <------ lease or catalog are another's ---+
//! ```

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use catalog::{Catalog, Holder, LeaseSettings, LeaseWatch, Seen};
use conf::Layers;
use object_store::ObjectStore;
use runtime::{Clock, Shutdown, metrics as names};
use tokio::sync::watch;
use tokio::time::Instant;

use super::cluster::Cluster;
use super::gateway::Progress;
use super::lock::DataLock;
use super::ownership::{Ownership, holder};
use super::whole;
use crate::config::ServerOptions;

/// Where the catalog is in the object store.
pub(crate) const CATALOG: &str = "catalog";
/// How long a start looks for a process that leads.
const LOOK: Duration = Duration::from_secs(1);
/// How often a standby that receives no feed looks at the lease.
const OFTEN: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Debug)]
pub(crate) struct Leadership {
    store: Arc<dyn ObjectStore>,
    settings: LeaseSettings,
    holder: Holder,
    take_over: bool,
    /// Whether other processes may lead.
    has_others: bool,
    held: watch::Sender<Option<Arc<Ownership>>>,
}

impl Leadership {
    /// # Errors
    /// If a setting is wrong.
    pub(crate) fn new(
        store: &Arc<dyn ObjectStore>,
        options: &ServerOptions,
        layers: &Layers,
        lock: &DataLock,
        cluster: &Cluster,
    ) -> Result<Arc<Self>> {
        let mut settings = LeaseSettings::read(layers)?;
        let has_others = cluster.roles.control_plane && cluster.has_managers();
        if has_others {
            settings.renewal = settings.heartbeat;
        }
        Ok(Arc::new(Self {
            store: Arc::clone(store),
            settings,
            holder: holder(options, lock),
            take_over: options.take_over,
            has_others,
            held: watch::Sender::new(None),
        }))
    }

    /// The catalog: open if this process is to lead, otherwise that of the process that does.
    ///
    /// # Errors
    /// If the catalog cannot be opened, a server outside of the cluster has it, or the leader refuses this
    /// process.
    pub(crate) async fn catalog(
        self: &Arc<Self>,
        cluster: &Cluster,
        settings: catalog::Settings,
        clock: &Arc<dyn Clock>,
        (progress, shutdown): (&Progress, &Shutdown),
    ) -> Result<Catalog> {
        if !cluster.roles.control_plane {
            return cluster.follow(&settings, clock, progress).await;
        }
        let renewals = loop {
            progress.set("looking for a control plane that leads");
            if let Some(catalog) = self.followed(cluster, &settings, clock).await? {
                let (own, clock) = (Arc::clone(self), Arc::clone(clock));
                let (followed, stop) = (catalog.clone(), shutdown.clone());
                shutdown.spawn(async move { own.stand_by(followed, clock, stop).await });
                return Ok(catalog);
            }
            let holder = self.holder.clone();
            let taken =
                Ownership::take(&self.store, holder, self.settings, self.take_over, progress).await;
            match taken {
                Ok(ownership) => {
                    let renewals = ownership.renewals.clone();
                    self.held.send_replace(Some(Arc::new(ownership)));
                    break renewals;
                }
                Err(error @ catalog::Error::Held { .. }) if self.has_others => {
                    tracing::warn!("{error}");
                    eprintln!("karst: {error}; still waiting to follow it (--manager-uri)");
                }
                Err(error) => return Err(error.into()),
            }
        };
        progress.set("opening the catalog");
        let opening = Catalog::open(Arc::clone(&self.store), CATALOG, settings, Arc::clone(clock));
        let catalog = opening.await.context("cannot open the catalog").map_err(whole::way_out)?;
        catalog.held_with(renewals);
        metrics::gauge!(names::CATALOG_LEADS).set(1.0);
        Ok(catalog)
    }

    /// The catalog of another process that leads, if there is one and this process is not to take over.
    async fn followed(
        &self,
        cluster: &Cluster,
        settings: &catalog::Settings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Catalog>> {
        if !self.stands_by() {
            return Ok(None);
        }
        match tokio::time::timeout(LOOK, cluster.try_follow(settings, clock)).await {
            Ok(Ok(catalog)) => Ok(Some(catalog)),
            Ok(Err(catalog::Error::Unreachable { .. })) | Err(_) => Ok(None),
            Ok(Err(error)) => Err(error).context("cannot follow the catalog (--manager-uri)"),
        }
    }

    /// Takes over once the leader is gone: this process receives no feed, and the lease is not renewed. One
    /// of both is not enough: the network between two processes can fail alone, and so can the store of a
    /// leader.
    async fn stand_by(&self, catalog: Catalog, clock: Arc<dyn Clock>, shutdown: Shutdown) {
        let mut lease = LeaseWatch::new(Arc::clone(&self.store));
        let mut pause = OFTEN;
        while shutdown.sleep(pause).await {
            let is_lost = catalog.lacks_leader();
            pause = if is_lost { OFTEN } else { self.settings.renewal };
            let seen = match lease.look().await {
                Ok(seen) => seen,
                Err(error) => {
                    tracing::debug!(%error, "the standby cannot read the lease");
                    continue;
                }
            };
            // A second look: the first one may have waited for the store.
            let is_due = is_lost
                && catalog.lacks_leader()
                && match &seen {
                    Seen::Free => true,
                    Seen::Still { since, renewal } => *since >= *renewal * 2,
                };
            if !is_due {
                continue;
            }
            match self.lead(&catalog, &lease, &clock).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "this standby cannot take over; it will try again")
                }
            }
        }
    }

    /// Leads from now on; `false` if another process was faster.
    async fn lead(
        &self,
        catalog: &Catalog,
        lease: &LeaseWatch,
        clock: &Arc<dyn Clock>,
    ) -> Result<bool, catalog::Error> {
        let began = Instant::now();
        let Some(lease) = lease.take(self.holder.clone(), self.settings).await? else {
            return Ok(false);
        };
        let ownership = Arc::new(Ownership::keep(lease));
        let led = catalog.lead(Arc::clone(&self.store), CATALOG, Arc::clone(clock)).await;
        if let Err(error) = led {
            ownership.release().await;
            return Err(error);
        }
        catalog.held_with(ownership.renewals.clone());
        self.held.send_replace(Some(ownership));
        metrics::gauge!(names::CATALOG_LEADS).set(1.0);
        metrics::counter!(names::CATALOG_TAKEOVERS).increment(1);
        let (write, seconds) = (catalog.snapshot().number(), began.elapsed().as_secs_f64());
        tracing::warn!(write, seconds, "the leader is gone; this process leads now");
        Ok(true)
    }

    /// Whether this process stands by while another one leads. One that was told to take over does not: after
    /// a restart it would take over again.
    pub(crate) fn stands_by(&self) -> bool {
        self.has_others && !self.take_over
    }

    /// Waits until this process has led, and does not lead any more; returns the reason.
    pub(crate) async fn ended(&self, catalog: &Catalog) -> Arc<str> {
        self.ownership().await.ended(catalog).await
    }

    /// Waits until another server has taken the lease of this one; returns the reason.
    pub(crate) async fn lost(&self) -> Arc<str> {
        self.ownership().await.lost().await
    }

    async fn ownership(&self) -> Arc<Ownership> {
        let mut held = self.held.subscribe();
        let ownership = held.wait_for(Option::is_some).await.ok().and_then(|held| held.clone());
        match ownership {
            Some(ownership) => ownership,
            // The sender is in self.
            None => std::future::pending().await,
        }
    }

    /// Releases the lease, so that the next process need not wait.
    pub(crate) async fn release(&self) {
        let held = self.held.borrow().clone();
        if let Some(ownership) = held {
            ownership.release().await;
        }
    }
}

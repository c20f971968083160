//! Determines which of the processes with the role control-plane leads: the one that has the catalog open.
//! The others follow it, and take over when it is lost (docs/decisions/0033).
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

use anyhow::{Context, Result, bail};
use catalog::{Catalog, Holder, LeaseSettings, LeaseWatch, OtherStore, Seen};
use conf::Layers;
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::path::Path;
use runtime::health::{self, Severity};
use runtime::{Clock, Health, Shutdown, metrics as names};
use tokio::sync::watch;
use tokio::time::Instant;

use super::assemble::store_url;
use super::cluster::Cluster;
use super::gateway::Progress;
use super::known_store::KnownStore;
use super::lock::DataLock;
use super::ownership::{Ownership, holder};
use super::whole;
use crate::config::ServerOptions;

/// The path of the catalog in the object store.
pub(crate) const CATALOG: &str = "catalog";
/// Time for which a start looks for a leader.
const LOOK: Duration = Duration::from_secs(1);
/// The same if the object store of the process has no catalog. The process would begin a new cluster; with a
/// wrong `--object-store`, it learns from the leader that it must not.
const LOOK_BEFORE_BEGINNING: Duration = Duration::from_secs(5);
/// Interval at which a standby that receives no feed checks the lease.
const OFTEN: Duration = Duration::from_millis(200);
/// Interval between attempts of a standby that may not lead: each attempt takes the lease for a moment.
const REFUSED: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Leadership {
    store: Arc<dyn ObjectStore>,
    /// Whether the first request of the start has found a catalog. A catalog is not removed; if there was
    /// none, the store is asked again, because another process may have created one.
    found_catalog: bool,
    /// The URL of the store, for messages.
    url: String,
    /// The store that this process has used before.
    known: KnownStore,
    settings: LeaseSettings,
    holder: Holder,
    take_over: bool,
    /// Whether other processes may lead.
    has_others: bool,
    held: watch::Sender<Option<Arc<Ownership>>>,
}

impl Leadership {
    /// Creates the leadership over a store; `found_catalog` tells whether it has a catalog.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub(crate) fn new(
        (store, found_catalog): (&Arc<dyn ObjectStore>, bool),
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
            found_catalog,
            url: store_url(options),
            known: KnownStore::of(lock.directory()).taking_any(options.new_instance),
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
    /// If the catalog cannot be opened, a server outside of the cluster has it, the leader refuses this
    /// process, or the object store of this process is not that of the cluster.
    pub(crate) async fn catalog(
        self: &Arc<Self>,
        cluster: &Cluster,
        settings: catalog::Settings,
        clock: &Arc<dyn Clock>,
        (progress, conditions, shutdown): (&Progress, &Health, &Shutdown),
    ) -> Result<Catalog> {
        if !cluster.roles.control_plane {
            let catalog = cluster.follow(&settings, clock, progress).await?;
            self.refuse_other_store(&catalog).await?;
            return Ok(catalog);
        }
        let renewals = loop {
            progress.set("looking for a control plane that leads");
            if let Some(catalog) = self.followed(cluster, &settings, clock).await? {
                self.refuse_other_store(&catalog).await?;
                self.note_store(&catalog);
                let (own, clock) = (Arc::clone(self), Arc::clone(clock));
                let (followed, stop) = (catalog.clone(), shutdown.clone());
                let told = conditions.clone();
                shutdown.spawn(async move { own.stand_by(followed, clock, (told, stop)).await });
                return Ok(catalog);
            }
            let has_catalog = !self.has_others && self.has_catalog().await?;
            self.known.refuse_other(self.store.as_ref(), &self.url, has_catalog).await?;
            let holder = self.holder.clone();
            let taken =
                Ownership::take(&self.store, holder, self.settings, self.take_over, progress).await;
            match taken {
                Ok(ownership) => {
                    let renewals = ownership.renewals.clone();
                    self.held.send_replace(Some(Arc::new(ownership)));
                    break renewals;
                }
                Err(error) if self.follows_after(&error) => {
                    tracing::warn!("{error}");
                    eprintln!("karst: {error}; still waiting to follow it (--manager-uri)");
                }
                Err(error) => return Err(error.into()),
            }
        };
        progress.set("opening the catalog");
        let opening = Catalog::open(Arc::clone(&self.store), CATALOG, settings, Arc::clone(clock));
        let catalog = opening.await.context("cannot open the catalog").map_err(whole::way_out)?;
        self.known.refuse_catalog(catalog.snapshot().store_id(), &self.url)?;
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
        let look = if self.seems_to_have_catalog().await { LOOK } else { LOOK_BEFORE_BEGINNING };
        match tokio::time::timeout(look, cluster.try_follow(settings, clock)).await {
            Ok(Ok(catalog)) => Ok(Some(catalog)),
            Ok(Err(catalog::Error::Unreachable { .. })) | Err(_) => Ok(None),
            Ok(Err(error)) => Err(error).context("cannot follow the catalog (--manager-uri)"),
        }
    }

    /// Whether the object store has a catalog.
    ///
    /// # Errors
    /// If it cannot be listed for some seconds.
    async fn has_catalog(&self) -> Result<bool> {
        if self.found_catalog {
            return Ok(true);
        }
        let found = catalog::has_catalog_at_start(self.store.as_ref(), CATALOG).await;
        found.with_context(|| format!("cannot read the object store ({})", self.url))
    }

    /// The same in one request, and `true` if it cannot be listed.
    async fn seems_to_have_catalog(&self) -> bool {
        if self.found_catalog {
            return true;
        }
        let listed = self.store.list(Some(&Path::from(CATALOG))).try_next().await;
        !matches!(listed, Ok(None))
    }

    /// Gives the catalog and its object store the same identity, if this process leads.
    ///
    /// # Errors
    /// If they have two identities already, or the store or the catalog fails.
    pub(crate) async fn identify(&self, catalog: &Catalog) -> Result<()> {
        if catalog.follows() {
            return Ok(());
        }
        let identified = catalog.identify(self.store.as_ref()).await;
        let refused = || format!("cannot identify the object store ({})", self.url);
        identified.map(drop).with_context(refused)?;
        self.note_store(catalog);
        Ok(())
    }

    /// Remembers the store, for a start at which no other control plane leads.
    fn note_store(&self, catalog: &Catalog) {
        if let Some(id) = catalog.snapshot().store_id() {
            self.known.note(id, &self.url);
        }
    }

    /// Fails if the object store of this process is not that of the followed catalog: this process would not
    /// find the buckets, and would store its own buckets where no other process reads them.
    async fn refuse_other_store(&self, catalog: &Catalog) -> Result<()> {
        match OtherStore::find_at_start(self.store.as_ref(), &catalog.snapshot()).await {
            Ok(None) => Ok(()),
            Ok(Some(other)) => bail!(not_of_the_cluster(&self.url, &other)),
            Err(error) => Err(error).with_context(|| {
                format!("cannot compare the object store ({}) with that of the cluster", self.url)
            }),
        }
    }

    /// Returns the error if the object store is not that of the catalog. It asks once; the caller retries.
    async fn other_store(&self, catalog: &Catalog) -> Result<Option<String>, catalog::Error> {
        let other = OtherStore::find(self.store.as_ref(), &catalog.snapshot()).await?;
        Ok(other.map(|other| not_of_the_cluster(&self.url, &other)))
    }

    /// Takes over once the leader is lost: this process receives no feed, and the lease is not renewed. One
    /// of both is not sufficient: the network between two processes can fail alone, and so can the store of a
    /// leader.
    async fn stand_by(
        &self,
        catalog: Catalog,
        clock: Arc<dyn Clock>,
        (conditions, shutdown): (Health, Shutdown),
    ) {
        let mut lease = LeaseWatch::new(Arc::clone(&self.store));
        let mut pause = OFTEN;
        let mut refusal = String::new();
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
                Ok(true) => {
                    conditions.clear(health::CANNOT_LEAD);
                    return;
                }
                Ok(false) => {}
                Err(error @ catalog::Error::OtherCatalog { .. }) => {
                    pause = REFUSED;
                    let text = format!("this standby does not take over: {error}");
                    if text != refusal {
                        tracing::error!("{text}");
                        conditions.set(health::CANNOT_LEAD, Severity::Warning, text.clone());
                        refusal = text;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "this standby cannot take over; it will try again")
                }
            }
        }
    }

    /// Leads from now on; `false` if another process was faster. Before anything is written to the object
    /// store, it is compared with that of the catalog.
    async fn lead(
        &self,
        catalog: &Catalog,
        lease: &LeaseWatch,
        clock: &Arc<dyn Clock>,
    ) -> Result<bool, catalog::Error> {
        let began = Instant::now();
        if let Some(reason) = self.other_store(catalog).await? {
            return Err(catalog::Error::OtherCatalog { reason });
        }
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
        // A catalog of an earlier release has no identity yet. Without one, the process continues as before.
        if let Err(error) = Box::pin(catalog.identify(self.store.as_ref())).await {
            tracing::error!(%error, "the object store and the catalog have no common identity");
        }
        Ok(true)
    }

    /// Whether this process stands by while another one leads. A process with the flag to take over does not:
    /// after a restart it would take over again.
    pub(crate) fn stands_by(&self) -> bool {
        self.has_others && !self.take_over
    }

    /// Whether this process follows the new owner of the catalog instead of stopping. A process with the flag
    /// to take over does not follow: two such processes would take the lease from each other forever.
    fn follows_after(&self, error: &catalog::Error) -> bool {
        self.stands_by() && matches!(error, catalog::Error::Held { .. })
    }

    /// Whether a start failed because another process has taken the catalog over meanwhile, which this one
    /// follows after a restart.
    pub(crate) fn is_lost_by(&self, error: &anyhow::Error) -> bool {
        self.stands_by() && is_fenced(error)
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

fn not_of_the_cluster(url: &str, other: &OtherStore) -> String {
    format!(
        "this object store ({url}) is not the object store of the cluster ({other}): correct \
         --object-store"
    )
}

/// Whether another process has taken the catalog over, whatever step of the start noticed it.
fn is_fenced(error: &anyhow::Error) -> bool {
    let of_ingest = match error.downcast_ref::<ingest::Error>() {
        Some(ingest::Error::Catalog(error)) => Some(&**error),
        _ => None,
    };
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<catalog::Error>());
    of_ingest.or_else(|| causes.next()).is_some_and(is_takeover)
}

fn is_takeover(error: &catalog::Error) -> bool {
    matches!(error, catalog::Error::Fenced { .. })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use object_store::memory::InMemory;
    use runtime::SystemClock;

    use super::*;
    use crate::server::ownership::tests::server;

    #[test]
    fn a_start_that_another_process_overtakes_is_recognised_at_every_step() {
        let fenced = || catalog::Error::Fenced { path: CATALOG.to_owned() };
        let closed = || catalog::Error::Closed { path: CATALOG.to_owned() };
        let recording = |error: catalog::Error| {
            anyhow::Error::new(error).context("cannot record the start").context("at the start")
        };
        assert!(is_fenced(&recording(fenced())));
        assert!(!is_fenced(&recording(closed())));
        let ingest = |error| {
            let error = ingest::Error::Catalog(Arc::new(error));
            anyhow::Error::new(error).context("cannot start ingest")
        };
        assert!(is_fenced(&ingest(fenced())) && !is_fenced(&ingest(closed())));
        let apps = apps::Error::Catalog(fenced());
        assert!(is_fenced(&anyhow::Error::new(apps).context("cannot read the apps")));
        assert!(!is_fenced(&anyhow::anyhow!("the disk is full")));
    }

    #[tokio::test]
    async fn of_two_processes_that_take_over_one_leads_and_the_other_stops() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let renewal = Duration::from_secs(1);
        let settings = LeaseSettings { renewal, heartbeat: renewal };
        let progress = Progress::new("");
        let take = |nonce, take_over| {
            Ownership::take(&store, server(nonce), settings, take_over, &progress)
        };
        let former = take("1", false).await.unwrap();
        let later = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            take("3", true).await
        };
        let (sooner, later) = tokio::join!(take("2", true), later);
        later.unwrap();
        let error = sooner.unwrap_err();
        former.release().await;
        let directory = tempfile::tempdir().unwrap();
        let standby = leadership(&store, directory.path());
        assert!(standby.follows_after(&error), "{error}");
        assert!(!Leadership { take_over: true, ..standby }.follows_after(&error), "{error}");
    }

    #[tokio::test]
    async fn a_catalog_that_the_start_has_found_is_not_looked_for_again() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let directory = tempfile::tempdir().unwrap();
        let begins = leadership(&store, directory.path());
        assert!(!begins.has_catalog().await.unwrap() && !begins.seems_to_have_catalog().await);
        let goes_on = Leadership { found_catalog: true, ..begins };
        assert!(goes_on.has_catalog().await.unwrap() && goes_on.seems_to_have_catalog().await);
        // Another process may begin the cluster meanwhile.
        let begins = Leadership { found_catalog: false, ..goes_on };
        let (settings, clock) = (catalog::Settings::default(), Arc::new(SystemClock));
        let _catalog = Catalog::open(store, CATALOG, settings, clock).await.unwrap();
        assert!(begins.has_catalog().await.unwrap() && begins.seems_to_have_catalog().await);
    }

    /// The leadership of a control plane that is not the only one.
    fn leadership(store: &Arc<dyn ObjectStore>, data: &std::path::Path) -> Leadership {
        let renewal = Duration::from_secs(1);
        Leadership {
            store: Arc::clone(store),
            found_catalog: false,
            url: String::new(),
            known: KnownStore::of(data),
            settings: LeaseSettings { renewal, heartbeat: renewal },
            holder: server("2"),
            take_over: false,
            has_others: true,
            held: watch::Sender::new(None),
        }
    }

    #[tokio::test]
    async fn a_process_with_another_object_store_learns_which_setting_is_wrong() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let (settings, clock) = (catalog::Settings::default(), Arc::new(SystemClock));
        let catalog = Catalog::open(Arc::clone(&store), CATALOG, settings, clock).await.unwrap();
        let expected = catalog.identify(store.as_ref()).await.unwrap();
        let other = OtherStore { found: None, expected };
        assert_eq!(
            not_of_the_cluster("s3://karst/other", &other),
            format!(
                "this object store (s3://karst/other) is not the object store of the cluster (it has no id, \
                 the cluster's is {expected}): correct --object-store"
            )
        );
    }
}

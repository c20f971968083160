//! This process in its cluster: its connections, the catalog that it follows, the other processes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use api::Control;
use axum::Router;
use catalog::Catalog;
use cluster::{NO_SITE, Place, Placement};
use conf::Layers;
use distributed::PartService;
use ingest::Ingest;
use model::IndexerId;
use object_store::memory::InMemory;
use parking_lot::Mutex;
use peers::{Connect, Directory, HotParts, HotService, Indexer, Registration};
use replication::{Copies, Peer, ReplicaService, Replicas};
use runtime::{Clock, Shutdown};
use search::Workers;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::service::Routes;
use transport::{Credentials, Served, Transport};
use uuid::Uuid;

use super::advertised;
use super::assemble::{Karst, host_name};
use super::early::{Later, STARTING};
use super::failover::Failover;
use super::forwarding;
use super::gateway::Progress;
use super::indexers::Indexers;
use super::leaving::{self, Leaver};
use super::other_heads::{self, OtherHeads, WithRole};
use super::ownership::now_text;
use super::removals::OwnRemovals;
use super::roles::Roles;
use crate::config::ServerOptions;

/// See the module.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) roles: Roles,
    transport: Transport,
    listener: Option<TcpListener>,
    later: Later,
    /// The address at which the others reach this process.
    address: Option<String>,
    managers: Vec<String>,
    /// The secret that all processes of the cluster share.
    secret: Option<String>,
    /// The name of this process for users.
    pub(crate) name: String,
    /// The site of this process.
    pub(crate) site: String,
    pub(crate) placement: Placement,
}

/// What the list of the cluster says of a process besides its address.
pub(crate) struct KnownAs<'a> {
    pub(crate) id: &'a str,
    pub(crate) management: String,
    /// The ports on which it receives from forwarders, and whether each uses TLS.
    pub(crate) forwarder_ports: &'a [(SocketAddr, bool)],
    /// The address that forwarders are to use instead of the first of these.
    pub(crate) forwarding_advertise: Option<&'a str>,
}

impl Cluster {
    /// Reads the credentials and binds the port.
    ///
    /// # Errors
    /// If roles and flags contradict each other, credentials are missing or wrong, or the port is in use.
    pub(crate) async fn join(
        options: &ServerOptions,
        layers: &Layers,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let roles = Roles::of(options)?;
        let (site, placement) = site(options, roles, layers)?;
        let name = name(options, layers)?;
        let settings = transport::Settings::read(layers)?;
        let credentials = options.cluster_dir.as_deref();
        let credentials = credentials.map(|path| Credentials::open(path, clock)).transpose()?;
        let transport = match &credentials {
            Some(credentials) => Transport::new(credentials, settings)?,
            None => Transport::plain(settings),
        };
        let (mut listener, mut address) = (None, None);
        if let Some(place) = options.cluster_address {
            anyhow::ensure!(
                credentials.is_some() || place.ip().is_loopback(),
                "--cluster-address {place} can be reached from other machines: give --cluster-dir, the \
                 credentials of the cluster (karst cluster init)"
            );
            let bound = TcpListener::bind(place).await.with_context(|| {
                format!(
                    "cannot listen on {place} for the cluster; is another server running there?"
                )
            })?;
            let advertised = options.cluster_advertise.clone();
            address = Some(advertised.map_or_else(|| bound.local_addr().map(reached_at), Ok)?);
            listener = Some(bound);
        }
        let secret = credentials.map(|credentials| credentials.secret().to_owned());
        let mut managers = options.manager_uri.clone();
        // All control planes may be given the same list.
        managers.retain(|manager| Some(manager) != address.as_ref());
        let later = Later::default();
        Ok(Self {
            roles,
            transport,
            listener,
            later,
            address,
            managers,
            secret,
            name,
            site,
            placement,
        })
    }

    /// A key that all processes of the cluster derive from its secret; `None` without credentials.
    pub(crate) fn key(&self, purpose: &str) -> Option<[u8; 32]> {
        let secret = self.secret.as_deref()?;
        Some(access::derived_key(secret.as_bytes(), purpose))
    }

    /// Whether there may be other processes.
    pub(crate) fn is_one_of_many(&self) -> bool {
        self.address.is_some()
    }

    /// Returns the address at which the others reach this process.
    pub(crate) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Returns the address of another process that runs with the identity, according to the list of the
    /// cluster and the process itself. `None` also if the list has the address of this process: the entry may
    /// be from its previous start.
    pub(crate) async fn runs_elsewhere(&self, catalog: &Catalog, id: &str) -> Option<String> {
        /// The time for the connection and for the answer.
        const ANSWER: Duration = Duration::from_secs(5);
        /// Time for which the process at the address may be starting: it does not report its identity until
        /// then.
        const START: Duration = Duration::from_secs(30);
        const PAUSE: Duration = Duration::from_millis(200);
        let (own, began) = (self.address.as_ref()?, Instant::now());
        loop {
            let Registration { address, .. } = Registration::of(&catalog.snapshot(), id)?;
            if address == *own {
                return None;
            }
            let channel = self.transport.channel(&address).ok()?;
            match peers::identity_at(channel, ANSWER).await {
                Ok(other) => return (other == id).then_some(address),
                Err(reason) if reason.contains(STARTING) && began.elapsed() < START => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(_) => return None,
            }
        }
    }

    /// Whether there are other processes that may lead.
    pub(crate) fn has_managers(&self) -> bool {
        !self.managers.is_empty()
    }

    /// Looks once for a process that leads.
    ///
    /// # Errors
    /// As [`Catalog::follow`].
    pub(crate) async fn try_follow(
        &self,
        settings: &catalog::Settings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Catalog, catalog::Error> {
        let (settings, clock) = (settings.clone(), Arc::clone(clock));
        Catalog::follow(&self.managers, &self.transport, settings, clock).await
    }

    /// The catalog of the process that has it open. Waits until there is one.
    ///
    /// # Errors
    /// If that process refuses this one: another cluster, another secret, an unknown version.
    pub(crate) async fn follow(
        &self,
        settings: &catalog::Settings,
        clock: &Arc<dyn Clock>,
        progress: &Progress,
    ) -> Result<Catalog> {
        let step = format!("waiting for the catalog of {}", self.managers.join(", "));
        progress.set(step.clone());
        let failure = watch::Sender::<String>::default();
        let telling = tell_failures(&step, failure.subscribe(), progress);
        let following = async {
            loop {
                let processes = (&*self.managers, &self.transport);
                let (settings, clock) = (settings.clone(), Arc::clone(clock));
                match Catalog::follow_telling(processes, settings, clock, failure.clone()).await {
                    // The log has the reason.
                    Err(catalog::Error::Unreachable { .. }) => {}
                    other => return other.context("cannot follow the catalog (--manager-uri)"),
                }
            }
        };
        tokio::select! {
            followed = following => followed,
            never = telling => match never {},
        }
    }

    /// Returns the hot buckets of this process and of the others, if this one is part of a cluster.
    pub(crate) fn directory(
        &self,
        ingest: &Ingest,
        catalog: &Catalog,
        own: &str,
        settings: peers::Settings,
    ) -> Option<Directory> {
        self.address.as_ref()?;
        let (catalog, own) = (catalog.clone(), own.to_owned());
        let known = Mutex::new((None, Arc::<[Indexer]>::from([])));
        // The list of the newest snapshot: a search compares it with the indexers that it has asked.
        let indexers = move || {
            let snapshot = catalog.snapshot();
            let mut known = known.lock();
            if known.0 != Some(snapshot.number()) {
                *known = (Some(snapshot.number()), Registration::others(&snapshot, &own).into());
            }
            Arc::clone(&known.1)
        };
        let transport = self.transport.clone();
        let connect: Connect =
            Arc::new(move |address| transport.channel(address).map_err(|error| error.to_string()));
        Some(Directory::new(Some(ingest.hot()), Arc::new(indexers), connect, settings))
    }

    /// Serves the other processes until `peers` stops: first the data that their own starts may need. Returns
    /// the copies of journals that this process has, if it is part of a cluster.
    ///
    /// # Errors
    /// If the copies cannot be read.
    pub(crate) fn serve_early(
        &mut self,
        catalog: &Catalog,
        (data, own): (&Path, IndexerId),
        peers: &Shutdown,
    ) -> Result<Option<Copies>> {
        let Some(listener) = self.listener.take() else { return Ok(None) };
        let copies = Copies::open(data).with_context(|| {
            format!("cannot read the copies of journals in {}", data.join("replicas").display())
        })?;
        let mut routes = Routes::default();
        if self.roles.control_plane {
            routes = routes.add_service(catalog.service());
        }
        if self.roles.indexer {
            routes = routes.add_service(Served(ReplicaService::new(copies.clone(), own)));
        }
        let routes = self.later.behind(routes);
        let (transport, stop) = (self.transport.clone(), peers.clone());
        peers.spawn(async move {
            if let Err(error) = transport.serve(listener, routes, &stop).await {
                tracing::error!(%error, "the cluster's port is not served");
            }
        });
        Ok(Some(copies))
    }

    /// The journals of indexers at other indexers, of which this process has these copies.
    pub(crate) fn replicas(
        &self,
        catalog: &Catalog,
        own: IndexerId,
        (layers, copies): (&Layers, &Copies),
        shutdown: &Shutdown,
    ) -> Result<Arc<Replicas>> {
        shutdown.spawn(copies.clone().clean(catalog.clone(), own, shutdown.clone()));
        let (transport, known) = (self.transport.clone(), catalog.clone());
        let own_address = self.address.clone();
        let peers = move || {
            let snapshot = known.snapshot();
            let leaving = peers::leaving(&snapshot);
            let all = Registration::all(&snapshot);
            let others = all.iter().filter(|(_, registration)| registration.is_indexer());
            let others = others.filter_map(|(id, registration)| {
                let leaves = leaving.contains_key(id);
                let id = Uuid::parse_str(id).ok().map(IndexerId).filter(|id| *id != own)?;
                let Registration { address, site, .. } = registration.clone();
                // It was lost with its disk, otherwise it would have kept its identity.
                let is_own = own_address.as_ref() == Some(&address);
                let is_replaced = is_own || registration.is_replaced(&all);
                Some(Peer { id, address, site, leaves, is_replaced })
            });
            others.collect()
        };
        let (maintained, removed) = (catalog.clone(), catalog.clone());
        let connect =
            move |address: &str| transport.channel(address).map_err(|error| error.to_string());
        let replicas = Replicas::new(replication::Parts {
            own,
            site: self.site.clone(),
            catalog: catalog.clone(),
            peers: Arc::new(peers),
            connect: replication::Connect::Channels(Arc::new(connect)),
            pauses: Arc::new(move || peers::maintenance(&maintained.snapshot()).is_some()),
            copies: self.roles.indexer.then(|| copies.clone()),
            removed: Arc::new(move |id| peers::is_removed(&removed.snapshot(), &id.to_string())),
            identities: Arc::new(runtime::random::uuid),
            settings: replication::Settings::read(layers)?,
        });
        let replicas = Arc::new(replicas);
        let moving = leaving::move_copies(Arc::clone(&replicas), catalog.clone(), shutdown.clone());
        shutdown.spawn(moving);
        Ok(replicas)
    }

    /// Recovers events of lost indexers, and assigns the recoveries if this process leads.
    pub(crate) fn fail_over(
        &self,
        failover: &Failover,
        directory: Option<&Directory>,
        settings: cluster::Settings,
        shutdown: &Shutdown,
    ) {
        let Some(directory) = directory else {
            shutdown.spawn(failover.clone().recover_all(shutdown.clone()));
            return;
        };
        if self.roles.indexer {
            shutdown.spawn(failover.clone().recover(shutdown.clone()));
        }
        if self.roles.control_plane {
            let directory = directory.clone();
            shutdown.spawn(failover.clone().lead(directory, settings, shutdown.clone()));
        }
    }

    /// The indexers that read buckets for searches of this process, if there may be some.
    pub(crate) fn indexers(&self, catalog: &Catalog, own: &str) -> Option<Arc<dyn Workers>> {
        let site = self.placement.multisite.then(|| self.site.clone());
        let own = (own.to_owned(), site);
        let indexers = || Indexers::new(catalog.clone(), self.transport.clone(), own);
        self.is_one_of_many().then(|| Arc::new(indexers()) as Arc<dyn Workers>)
    }

    /// The other search heads, or the other indexers, if this process is one.
    pub(crate) fn others(
        &self,
        role: &'static str,
        catalog: &Catalog,
        own: &str,
    ) -> Option<Arc<dyn api::Others>> {
        let is_one = self.address.is_some() && self.roles.names().contains(&role);
        let others = || OtherHeads::new(catalog.clone(), self.transport.clone(), own);
        is_one.then(|| Arc::new(WithRole { others: others(), role }) as Arc<dyn api::Others>)
    }

    /// The other search heads, if this process is one of a cluster.
    pub(crate) fn other_heads(&self, catalog: &Catalog, own: &str) -> Option<OtherHeads> {
        let is_one = self.address.is_some() && self.roles.search_head;
        is_one.then(|| OtherHeads::new(catalog.clone(), self.transport.clone(), own))
    }

    /// Serves everything to the other processes, and tells them of this one.
    ///
    /// # Errors
    /// If the registration cannot be written.
    pub(crate) async fn open(
        self,
        karst: &Karst,
        known_as: KnownAs<'_>,
        receivers: &api::Receivers,
        shutdown: &Shutdown,
    ) -> Result<Option<String>> {
        let Some(address) = self.address else { return Ok(None) };
        let KnownAs { id, management, forwarder_ports, forwarding_advertise } = known_as;
        let (catalog, ingest) = (karst.catalog(), &karst.ingest);
        let hot = HotService::new(HotParts {
            id: id.to_owned(),
            hot: ingest.hot(),
            catalog: catalog.clone(),
            spool: ingest.readable(Arc::new(InMemory::new())),
            views: karst.state.search.views(),
            searches: Arc::clone(&karst.failover.searches),
            removals: Arc::new(OwnRemovals {
                indexes: Arc::clone(&karst.state.indexes),
                ingest: Arc::clone(ingest),
                catalog: catalog.clone(),
            }),
            health: karst.state.health.clone(),
        });
        let mut routes = Routes::new(Served(hot));
        if self.roles.indexer {
            let parts = Arc::new(karst.state.search.clone());
            routes = routes.add_service(Served(PartService::new(parts)));
        }
        let acks = if self.roles.indexer { receivers.acks() } else { Router::new() };
        let served = match self.roles.search_head {
            true => acks.fallback_service(api::rest_router(karst.state.clone())),
            false => acks,
        };
        let served = other_heads::served_to_others(served);
        self.later.open(routes.into_axum_router().merge(served));
        println!("  cluster     {address} ({})", self.roles.names().join(", "));
        let registration = Registration {
            name: self.name,
            forwarders: forwarding::advertised(forwarder_ports, forwarding_advertise, &address),
            address,
            roles: self.roles.names().into_iter().map(str::to_owned).collect(),
            management,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: now_text(),
            local_acks: (self.roles.indexer && ingest.acknowledges_locally())
                || *ingest.local_acks().borrow(),
            site: self.site,
            cold: karst.starts_cold(share_of_stored(catalog, id)),
        };
        registration.write(catalog, id).await.context("cannot join the cluster")?;
        shutdown.spawn(advertised::watch(
            (self.transport, catalog.clone()),
            (id.to_owned(), registration.address.clone()),
            karst.state.health.clone(),
            shutdown.clone(),
        ));
        let staying = stay(karst, (id.to_owned(), registration.clone()));
        let stop = shutdown.clone();
        shutdown.spawn(async move {
            tokio::select! {
                () = stop.stopped() => {}
                () = staying => {}
            }
        });
        let restart = restart_when_told(
            catalog.clone(),
            (id.to_owned(), registration.started.clone()),
            karst.state.control.clone(),
        );
        let stop = shutdown.clone();
        shutdown.spawn(async move {
            tokio::select! {
                () = stop.stopped() => {}
                () = restart => {}
            }
        });
        if self.roles.indexer {
            let leaver = Leaver {
                catalog: catalog.clone(),
                ingest: Arc::clone(ingest),
                control: karst.state.control.clone(),
                own: karst.failover.own,
                id: id.to_owned(),
                started: registration.started.clone(),
            };
            let stop = shutdown.clone();
            shutdown.spawn(async move {
                tokio::select! {
                    () = stop.stopped() => {}
                    () = leaver.run() => {}
                }
            });
        }
        if self.roles.control_plane {
            let (catalog, id, stop) = (catalog.clone(), id.to_owned(), shutdown.clone());
            shutdown.spawn(async move {
                tokio::select! {
                    () = stop.stopped() => {}
                    () = note_leader(&catalog, &id) => {}
                }
            });
        }
        Ok(Some(registration.started))
    }
}

/// Reports in /readyz and in the log why no catalog is followed. Each reason is logged once a minute: those
/// of several managers alternate.
async fn tell_failures(
    step: &str,
    mut failures: watch::Receiver<String>,
    progress: &Progress,
) -> Infallible {
    const LOOK: Duration = Duration::from_secs(1);
    const AGAIN: Duration = Duration::from_secs(60);
    let mut said: HashMap<String, Instant> = HashMap::new();
    loop {
        tokio::time::sleep(LOOK).await;
        let reason = failures.borrow_and_update().clone();
        if reason.is_empty() {
            continue;
        }
        progress.set(format!("{step}: {reason}"));
        said.retain(|_, at| at.elapsed() < AGAIN);
        if let Entry::Vacant(entry) = said.entry(reason) {
            tracing::warn!(reason = entry.key(), "{step}");
            entry.insert(Instant::now());
        }
    }
}

/// The site of this process, and how copies of journals are spread over sites.
fn site(options: &ServerOptions, roles: Roles, layers: &Layers) -> Result<(String, Placement)> {
    let placement = Placement::read(layers)?;
    let configured = Place::read(layers)?.site;
    let site = options.site.clone().filter(|site| !site.is_empty()).or(configured);
    let needs_site = placement.multisite && roles.indexer && options.cluster_address.is_some();
    anyhow::ensure!(
        site.is_some() || !needs_site,
        "multisite = true in server.conf [clustering], and this indexer has no site: give --site (KARST_SITE), or \
         site in [general], for example site1"
    );
    Ok((site.unwrap_or_else(|| NO_SITE.to_owned()), placement))
}

/// The name of this process for users.
fn name(options: &ServerOptions, layers: &Layers) -> Result<String> {
    let configured = Place::read(layers)?.name;
    let given = options.server_name.clone().filter(|name| !name.is_empty());
    Ok(given.or(configured).unwrap_or_else(host_name))
}

/// Restarts this process when its turn comes in a rolling restart.
async fn restart_when_told(catalog: Catalog, (id, started): (String, String), control: Control) {
    let mut changes = catalog.subscribe();
    loop {
        let is_told = peers::is_told(&changes.borrow_and_update(), &id, &started);
        if is_told {
            tracing::info!("this process restarts: its turn in the rolling restart has come");
            return control.restart();
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Interval between checks of the acknowledgement levels.
const LEVELS: Duration = Duration::from_secs(1);

/// Adds this process to the list again if another process, which considers it lost, has removed it: otherwise
/// searches would not find its events. A process whose pipeline sets were taken over is about to restart and
/// is not added. Also updates the entry once events may be acknowledged that are on its disk only: an index
/// may be given that level at any time, and a search head, which receives no other events, may collect
/// events.
fn stay(
    karst: &Karst,
    (id, mut registration): (String, Registration),
) -> impl Future<Output = ()> + use<> {
    let (catalog, ingest) = (karst.catalog().clone(), Arc::clone(&karst.ingest));
    async move {
        let (mut changes, mut local_acks) = (catalog.subscribe(), ingest.local_acks());
        loop {
            let snapshot = changes.borrow_and_update().clone();
            let own = Registration::of(&snapshot, &id);
            let is_out = own.is_none();
            let is_indexer = registration.is_indexer();
            let has_local = *local_acks.borrow_and_update();
            registration.local_acks |= has_local || (is_indexer && ingest.acknowledges_locally());
            if registration.local_acks && own.is_some_and(|own| !own.local_acks) {
                let noted = peers::note_local_acks(&catalog, &id, &registration.started).await;
                if let Err(error) = noted {
                    tracing::warn!(%error, "the list of the cluster does not say that events are on this disk only");
                }
            }
            if is_out && ingest.check_owner(&snapshot).is_ok() {
                tracing::warn!(
                    "this process was removed from the list of the cluster; it joins again"
                );
                if let Err(error) = registration.write(&catalog, &id).await {
                    tracing::warn!(%error, "this process is not in the list of the cluster");
                }
            }
            tokio::select! {
                // The levels of indexes follow the catalog a moment later.
                changed = tokio::time::timeout(LEVELS, changes.changed()) => {
                    if let Ok(Err(_)) = changed {
                        return;
                    }
                }
                // The sender lives in `ingest`.
                _ = local_acks.changed() => {}
            }
        }
    }
}

/// Notifies the others that this process leads, once it does.
async fn note_leader(catalog: &Catalog, id: &str) {
    catalog.leads().await;
    if let Err(error) = peers::note_leader(catalog, id, &now_text()).await {
        tracing::warn!(%error, "the list of the cluster does not say that this process leads");
    }
}

/// Removes this process from the list, once all its events are in object storage. Its next start may be in
/// the list before the request arrives.
pub(crate) async fn leave(catalog: &Catalog, id: &str) {
    const LEAVE: Duration = Duration::from_secs(2);
    /// Time until search heads have received the change; they ask this process until then.
    const HEARD: Duration = Duration::from_secs(1);
    let Some(Registration { started, .. }) = Registration::of(&catalog.snapshot(), id) else {
        return;
    };
    match tokio::time::timeout(LEAVE, peers::leave(catalog, id, &started)).await {
        Ok(Ok(_)) => tokio::time::sleep(HEARD).await,
        Ok(Err(error)) => tracing::warn!(%error, "this process stays in the list of the cluster"),
        Err(_) => {
            tracing::warn!("this process stays in the list of the cluster: no answer in time")
        }
    }
}

/// Returns the size of the stored data that searches of this process would read in bytes, if it were divided
/// equally among the indexers of the list and this process.
fn share_of_stored(catalog: &Catalog, id: &str) -> u64 {
    let snapshot = catalog.snapshot();
    let sizes = snapshot.indexes().map(|index| snapshot.buckets(index).totals().size);
    let stored = sizes.fold(0, u64::saturating_add);
    let all = Registration::all(&snapshot);
    let others = all.iter().filter(|(other, known)| other != id && known.is_indexer()).count();
    stored / (others as u64 + 1)
}

/// Returns the address for others.
fn reached_at(bound: SocketAddr) -> String {
    if bound.ip().is_unspecified() {
        return format!("{}:{}", host_name(), bound.port());
    }
    bound.to_string()
}

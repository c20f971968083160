//! What the leading control plane does for lost indexers: the same as `server/failover.rs` of the server,
//! with the same state machines of `cluster`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, Snapshot, Takeover};
use cluster::{Action, Limits, Owned, Placement, Present, Restarts, Seen, Takeovers};
use futures::future::join_all;
use model::{EventTime, IndexerId};
use object_store::{ObjectStore, ObjectStoreExt};
use peers::Registration;
use replication::{Connect, ReplicaStore, Replicas, Settings};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::copies::Calls;
use crate::network::{self, Answer, Request};
use crate::process::{Life, Pid};
use crate::store::Store;
use crate::world::{World, identity, process};

/// After this time without an answer, an indexer is considered lost.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum absence of a process during a rolling restart.
const RESTART: Duration = Duration::from_secs(120);
const PERIOD: Duration = Duration::from_secs(1);
const LIST: Duration = Duration::from_secs(10);
const LIST_SOON: Duration = Duration::from_secs(2);
/// Interval between deletions of garbage objects.
const CLEAN: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Failover {
    world: Arc<World>,
    life: Life,
    catalog: Catalog,
    store: Arc<dyn ObjectStore>,
    replicas: Arc<Replicas>,
}

/// The copies of journals as a process sees them.
pub(crate) fn replicas(world: &Arc<World>, life: &Life, catalog: &Catalog) -> Arc<Replicas> {
    let own = world.id_of(life.pid);
    let known = catalog.clone();
    let peers = move || peers_of(&known.snapshot(), own);
    let (maintained, removed) = (catalog.clone(), catalog.clone());
    let (factor, ids) = (world.config.copies, Arc::clone(world));
    let calls = Calls { world: Arc::clone(world), pid: life.pid, catalog: catalog.clone() };
    Arc::new(Replicas::new(replication::Parts {
        own,
        site: cluster::NO_SITE.to_owned(),
        catalog: catalog.clone(),
        peers: Arc::new(peers),
        connect: Connect::Simulated(Arc::new(calls)),
        pauses: Arc::new(move || peers::maintenance(&maintained.snapshot()).is_some()),
        copies: None,
        removed: Arc::new(move |id| peers::is_removed(&removed.snapshot(), &id.to_string())),
        identities: Arc::new(move || ids.id()),
        settings: Settings {
            timeout: Duration::from_secs(2),
            placement: Placement { factor, ..Placement::default() },
        },
    }))
}

/// The other indexers in the list of the cluster.
pub(crate) fn peers_of(snapshot: &Snapshot, own: IndexerId) -> Vec<replication::Peer> {
    let leaving = peers::leaving(snapshot);
    let all = Registration::all(snapshot);
    let indexers = all.iter().filter(|(_, known)| is_indexer(known));
    let others = indexers.filter_map(|(name, known)| {
        let leaves = leaving.contains_key(name);
        let id = id_of(name).filter(|id| *id != own)?;
        let is_replaced = known.is_replaced(&all);
        let Registration { address, site, .. } = known.clone();
        Some(replication::Peer { id, address, site, leaves, is_replaced })
    });
    others.collect()
}

fn is_indexer(known: &Registration) -> bool {
    known.is_indexer()
}

pub(crate) fn id_of(name: &str) -> Option<IndexerId> {
    Uuid::parse_str(name).ok().map(IndexerId)
}

/// The registration of a process, which the others see.
pub(crate) fn registration(life: &Life, role: &str, local_acks: bool) -> Registration {
    Registration {
        name: life.pid.to_string(),
        address: life.pid.to_string(),
        roles: vec![role.to_owned()],
        management: String::new(),
        version: String::new(),
        started: life.started(),
        local_acks,
        site: cluster::NO_SITE.to_owned(),
        forwarders: Vec::new(),
        cold: false,
    }
}

impl Failover {
    pub(crate) fn new(world: &Arc<World>, life: &Life, catalog: Catalog) -> Self {
        let replicas = replicas(world, life, &catalog);
        let store = Arc::new(Store { world: Arc::clone(world), pid: life.pid });
        Self { world: Arc::clone(world), life: life.clone(), catalog, store, replicas }
    }

    fn own(&self) -> IndexerId {
        identity(self.life.pid)
    }

    /// Runs the failover of the cluster.
    pub(crate) async fn lead(self) {
        let own = registration(&self.life, "control-plane", false);
        while own.write(&self.catalog, &self.own().to_string()).await.is_err() {
            self.world.sleep(100, 500).await;
        }
        let began = Instant::now();
        let mut takeovers = Takeovers::new(TIMEOUT);
        let mut restarts = Restarts::new(10, RESTART, Limits { incomplete: 0, slowdown: 2 });
        let mut logs = Logs::default();
        let mut cleaned = Instant::now();
        loop {
            tokio::time::sleep(PERIOD).await;
            let Ok((seen, present)) = self.look(&mut logs).await else { continue };
            let actions = takeovers.step(began.elapsed(), &seen);
            if actions.len() > self.world.indexers().len() {
                self.world.violate(format!("a step decides too much: {actions:?}"));
            }
            for action in actions {
                let (from, by) = match action {
                    Action::TakeOver { from, by } => (from, by),
                    Action::GiveBack { to } => (to, to),
                };
                self.world.note(format_args!("{} takes over from {}", process(by), process(from)));
                let _ = self.give(from, by).await;
                logs.forget(from);
            }
            self.forget_those_that_left(&present).await;
            self.restart(&mut restarts, began.elapsed(), &present).await;
            if cleaned.elapsed() >= CLEAN {
                cleaned = Instant::now();
                self.clean_up().await;
            }
        }
    }

    async fn restart(&self, restarts: &mut Restarts, now: Duration, present: &Present) {
        let snapshot = self.catalog.snapshot();
        let under_way = peers::wave(&snapshot).filter(|wave| !wave.is_over());
        let Some(wave) = under_way else { return };
        let next = restarts.step(now, &wave, present);
        if next == wave {
            return;
        }
        if matches!(peers::replace_wave(&self.catalog, &snapshot, &next).await, Ok(true)) {
            self.world.told(&next);
            let told: Vec<&String> = next.told.keys().collect();
            self.world.note(format_args!(
                "rolling restart: {} done, {}",
                next.done.len(),
                told.len()
            ));
        }
    }

    async fn forget_those_that_left(&self, present: &Present) {
        for (id, leaving) in peers::leaving(&self.catalog.snapshot()) {
            if leaving.is_over(&id, present) {
                let _ = peers::forget_leaving(&self.catalog, &id).await;
            }
        }
    }

    async fn look(&self, logs: &mut Logs) -> Result<(Seen, Present), ingest::Error> {
        let own = self.own();
        let all = Registration::all(&self.catalog.snapshot());
        let others = all.iter().filter_map(|(name, known)| {
            let id = id_of(name).filter(|id| *id != own)?;
            Some((id, Pid::at(&known.address)?))
        });
        let asks = others.map(|(id, at)| async move {
            let asked = network::ask(&self.world, self.life.pid, at, Request::Ping);
            let answer = timeout(Duration::from_secs(1), asked).await;
            matches!(answer, Ok(Ok(Answer::Here(found))) if found == id).then_some(id)
        });
        let mut answered: BTreeSet<IndexerId> =
            join_all(asks).await.into_iter().flatten().collect();
        answered.insert(own);
        let snapshot = self.catalog.snapshot();
        let all = Registration::all(&snapshot);
        let names: BTreeSet<String> = answered.iter().map(IndexerId::to_string).collect();
        let awaited = Registration::awaited(&snapshot, |id| names.contains(id)).into_iter();
        let present = Present {
            started: awaited.map(|(id, known)| (id, known.started)).collect(),
            answered: names,
            // Searches are not counted; only their results are checked.
            searches: BTreeMap::new(),
        };
        let indexers: Vec<_> = all.into_iter().filter(|(_, known)| is_indexer(known)).collect();
        let registered: BTreeSet<IndexerId> =
            indexers.iter().filter_map(|(id, _)| id_of(id)).collect();
        let recoverable = indexers.iter().filter(|(_, known)| !known.local_acks);
        let recoverable: BTreeSet<IndexerId> =
            recoverable.filter_map(|(id, _)| id_of(id)).collect();
        let sets = snapshot.taken_over();
        let sets = sets.map(|set| Owned { indexer: set.indexer, owner: set.owner }).collect();
        let often = if registered.is_subset(&answered) { LIST } else { LIST_SOON };
        let of = Others { registered: &registered, recoverable, answered: &answered };
        let unrecovered = logs.of_others(&self.stores(), &self.replicas, of, often).await?;
        let leaving = peers::leaving(&snapshot);
        let leaving = leaving.keys().filter_map(|id| id_of(id)).collect();
        Ok((Seen { registered, answered, unrecovered, sets, leaving }, present))
    }

    fn stores(&self) -> Vec<Arc<dyn ObjectStore>> {
        let replicas = ReplicaStore(Arc::clone(&self.replicas));
        vec![Arc::clone(&self.store), Arc::new(replicas)]
    }

    /// Makes an indexer the owner of the sets of another one.
    async fn give(&self, from: IndexerId, by: IndexerId) -> Result<(), catalog::Error> {
        let snapshot = self.catalog.snapshot();
        let sets = snapshot.taken_over().filter(|taken| taken.indexer == from);
        let take_over: Vec<Takeover> =
            sets.map(|taken| Takeover { epoch: taken.epoch + 1, owner: by, ..taken }).collect();
        self.catalog.commit(Commit { take_over, ..Commit::default() }).await
    }

    /// Deletes garbage objects whose time has come.
    async fn clean_up(&self) {
        let now = self.world.clock(self.life.pid);
        let snapshot = self.catalog.snapshot();
        let due: Vec<String> = snapshot
            .discarded()
            .filter(|(_, time)| *time <= EventTime(now))
            .map(|(path, _)| path.to_owned())
            .collect();
        let mut forget = Vec::new();
        for path in due {
            match self.store.delete(&path.as_str().into()).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => forget.push(path),
                Err(_) => {}
            }
        }
        if !forget.is_empty() {
            let _ = self.catalog.commit(Commit { forget, ..Commit::default() }).await;
        }
    }
}

/// The journals in other places, as of the last listing.
#[derive(Debug, Default)]
struct Logs {
    listed: Option<Instant>,
    with_records: BTreeSet<IndexerId>,
    empty: BTreeSet<IndexerId>,
}

/// The other indexers, for finding their journals.
struct Others<'a> {
    registered: &'a BTreeSet<IndexerId>,
    /// Indexers whose events can all be recovered by others.
    recoverable: BTreeSet<IndexerId>,
    answered: &'a BTreeSet<IndexerId>,
}

impl Logs {
    fn forget(&mut self, indexer: IndexerId) {
        self.with_records.remove(&indexer);
    }

    async fn of_others(
        &mut self,
        stores: &[Arc<dyn ObjectStore>],
        replicas: &Replicas,
        Others { registered, recoverable, answered }: Others<'_>,
        often: Duration,
    ) -> Result<BTreeSet<IndexerId>, ingest::Error> {
        let may_have =
            |indexer: &IndexerId| answered.contains(indexer) || registered.contains(indexer);
        self.empty.retain(|indexer| !may_have(indexer));
        if self.listed.is_none_or(|at| at.elapsed() >= often) {
            let mut logs: BTreeMap<IndexerId, Vec<Arc<dyn ObjectStore>>> = BTreeMap::new();
            for store in stores {
                for indexer in ingest::unrecovered(store).await? {
                    if !answered.contains(&indexer) && !self.empty.contains(&indexer) {
                        logs.entry(indexer).or_default().push(Arc::clone(store));
                    }
                }
            }
            for indexer in recoverable.difference(answered) {
                logs.entry(*indexer).or_default();
            }
            self.with_records.clear();
            for (indexer, stores) in logs {
                match has_log(indexer, stores, replicas).await {
                    Ok(has_log) if has_log || recoverable.contains(&indexer) => {
                        self.with_records.insert(indexer);
                    }
                    Ok(_) => {
                        self.empty.insert(indexer);
                    }
                    Err(_) => {}
                }
            }
            self.listed = Some(Instant::now());
        }
        self.with_records.retain(|indexer| !answered.contains(indexer));
        Ok(self.with_records.clone())
    }
}

async fn has_log(
    indexer: IndexerId,
    stores: Vec<Arc<dyn ObjectStore>>,
    replicas: &Replicas,
) -> Result<bool, ingest::Error> {
    for store in stores {
        match ingest::has_log(&store, indexer).await {
            Ok(false) => {}
            Ok(true) => return Ok(true),
            Err(error) => return replicas.lost(indexer).await.map(|_| false).ok_or(error),
        }
    }
    Ok(false)
}

//! Events of lost indexers: the leading control plane assigns their recovery (`cluster`), and indexers
//! recover them (`ingest`). They communicate through the catalog, which has the owner of each indexer's
//! pipeline sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use catalog::{Catalog, Commit, Snapshot, Takeover};
use cluster::{Action, Owned, Present, Restarts, Searches, Seen, Takeovers};
use ingest::Ingest;
use model::IndexerId;
use object_store::ObjectStore;
use peers::{Answered, CountsSearches, Directory, Registration};
use replication::{ReplicaStore, Replicas};
use runtime::Shutdown;
use tokio::time::Instant;
use uuid::Uuid;

use super::gateway::Progress;
use super::incarnation::Incarnation;

/// Interval between listings of the journals in object storage; also applies while an indexer of the list
/// does not answer.
const LIST: Duration = Duration::from_secs(10);
const LIST_SOON: Duration = Duration::from_secs(2);
/// Pause after a recovery that failed.
const AGAIN: Duration = Duration::from_secs(5);
/// Interval of the log message that a start is waiting.
const SAY: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Failover {
    pub(crate) catalog: Catalog,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) replicas: Option<Arc<Replicas>>,
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) own: IndexerId,
    pub(crate) incarnation: Incarnation,
    pub(crate) searches: Arc<dyn CountsSearches>,
}

/// Why this process no longer owns its pipeline sets.
#[derive(Debug)]
pub(crate) enum Lost {
    /// Another indexer recovers its events, or has recovered them.
    Recovered(Arc<str>),
    /// Another process has been started with the id of this one.
    Superseded(Arc<str>),
}

/// The searches of this process.
#[derive(Debug)]
pub(crate) struct OwnSearches(pub(crate) Arc<search::Ended>);

impl CountsSearches for OwnSearches {
    fn searches(&self) -> Searches {
        Searches { incomplete: self.0.incomplete(), times: self.0.times() }
    }
}

/// Waits while another indexer stores the events that it has taken over from this one: until then the events
/// would exist twice. A process that opens the catalog itself takes its sets back instead, because the other
/// indexer needs the catalog: events that the other one has not stored are in the journals of this one, and
/// the other one stores no more of them.
///
/// # Errors
/// If the catalog does not take the change.
pub(crate) async fn wait_until_returned(
    catalog: &Catalog,
    own: IndexerId,
    progress: &Progress,
) -> Result<()> {
    let mut changes = catalog.subscribe();
    let mut said: Option<Instant> = None;
    loop {
        let snapshot = changes.borrow_and_update().clone();
        let mut taken = snapshot.taken_over();
        let Some(taken) = taken.find(|taken| taken.indexer == own && taken.owner != own) else {
            return Ok(());
        };
        if !catalog.follows() {
            tracing::warn!(by = %taken.owner, "this indexer takes its sets back");
            return take_back(catalog, own).await;
        }
        let by = taken.owner;
        progress.set(format!(
            "waiting until indexer {by} has stored the events that it took over from this one"
        ));
        if said.is_none_or(|at| at.elapsed() >= SAY) {
            said = Some(Instant::now());
            tracing::warn!(%by, "waiting until another indexer has stored the events of this one");
        }
        let changed = tokio::time::timeout(SAY, changes.changed()).await;
        if matches!(changed, Ok(Err(_))) {
            return Ok(());
        }
    }
}

/// Makes an indexer the owner of its sets again.
async fn take_back(catalog: &Catalog, own: IndexerId) -> Result<()> {
    let snapshot = catalog.snapshot();
    let taken = snapshot.taken_over().filter(|set| set.indexer == own && set.owner != own);
    let take_over = taken.map(|set| Takeover { epoch: set.epoch + 1, owner: own, ..set }).collect();
    let commit = Commit { take_over, ..Commit::default() };
    catalog.commit(commit).await.context("cannot take the sets of this indexer back")
}

impl Failover {
    /// Decides for the cluster, whenever this process leads it.
    pub(crate) async fn lead(
        self,
        directory: Directory,
        settings: cluster::Settings,
        shutdown: Shutdown,
    ) {
        tokio::select! {
            () = shutdown.stopped() => return,
            () = self.catalog.leads() => {}
        }
        let began = Instant::now();
        let mut takeovers = Takeovers::new(settings.timeout);
        let mut restarts =
            Restarts::new(settings.percent, settings.restart_timeout, settings.limits());
        let mut logs = Logs::default();
        while shutdown.sleep(settings.period).await {
            let (seen, present) = match self.look(&directory, &mut logs).await {
                Ok(seen) => seen,
                Err(error) => {
                    tracing::warn!("{error:#}; events of lost indexers wait");
                    continue;
                }
            };
            for action in takeovers.step(began.elapsed(), &seen) {
                let (from, by) = match action {
                    Action::TakeOver { from, by } => (from, by),
                    Action::GiveBack { to } => (to, to),
                };
                if from == by {
                    tracing::warn!(
                        indexer = %from,
                        "no indexer responds that could recover the events of a lost indexer; its sets are its own again"
                    );
                } else {
                    tracing::warn!(
                        indexer = %from, %by,
                        "an indexer has not answered for heartbeat_timeout; another one recovers its events"
                    );
                }
                if let Err(error) = self.give(from, by).await {
                    tracing::warn!(indexer = %from, "{error:#}; it will be tried again");
                }
                logs.forget(from);
            }
            self.forget_those_that_left(&present).await;
            restarts.observe(began.elapsed(), &present);
            if let Err(error) = self.restart(&mut restarts, began.elapsed(), &present).await {
                tracing::warn!("{error:#}; the rolling restart waits");
            }
        }
    }

    /// Continues a rolling restart, if there is one.
    async fn restart(
        &self,
        restarts: &mut Restarts,
        now: Duration,
        present: &Present,
    ) -> Result<()> {
        let snapshot = self.catalog.snapshot();
        let under_way = peers::wave(&snapshot).filter(|wave| !wave.is_over());
        let Some(wave) = under_way else { return Ok(()) };
        let next = restarts.step(now, &wave, present);
        if next == wave {
            return Ok(());
        }
        let written = peers::replace_wave(&self.catalog, &snapshot, &next).await;
        if !written.context("cannot write to the catalog")? {
            return Ok(());
        }
        let (done, told) = (next.done.len(), next.told.len());
        match &next.halted {
            Some(reason) => tracing::error!(done, "the rolling restart has stopped: {reason}"),
            None if next.is_over() => tracing::info!(done, "the rolling restart has finished"),
            None => tracing::info!(done, told, left = next.waiting.len(), "rolling restart"),
        }
        Ok(())
    }

    /// Forgets that indexers were asked to leave that have left, or that were started again before.
    async fn forget_those_that_left(&self, present: &Present) {
        for (id, leaving) in peers::leaving(&self.catalog.snapshot()) {
            if !leaving.is_over(&id, present) {
                continue;
            }
            match peers::forget_leaving(&self.catalog, &id).await {
                Ok(()) => tracing::info!(indexer = id, "an indexer has left, or was started again"),
                Err(error) => {
                    tracing::warn!(%error, indexer = id, "the request to leave stays for now")
                }
            }
        }
    }

    async fn look(&self, directory: &Directory, logs: &mut Logs) -> Result<(Seen, Present)> {
        let answers = directory.answers().await.into_iter();
        let mut searches: BTreeMap<String, Searches> = answers
            .filter_map(|(id, answer)| answer.ok().map(|Answered { searches, .. }| (id, searches)))
            .collect();
        // This process hears itself.
        searches.insert(self.own.to_string(), self.searches.searches());
        let answered: BTreeSet<IndexerId> = searches.keys().filter_map(|id| indexer(id)).collect();
        let snapshot = self.catalog.snapshot();
        let all = Registration::all(&snapshot);
        let names: BTreeSet<String> = answered.iter().map(IndexerId::to_string).collect();
        let awaited = Registration::awaited(&snapshot, |id| names.contains(id)).into_iter();
        let present = Present {
            started: awaited.map(|(id, known)| (id, known.started)).collect(),
            answered: names,
            searches,
        };
        let indexers = all.iter().filter(|(_, known)| known.is_indexer());
        let registered: BTreeSet<IndexerId> = indexers.filter_map(|(id, _)| indexer(id)).collect();
        let sets = snapshot.taken_over();
        let sets = sets.map(|set| Owned { indexer: set.indexer, owner: set.owner });
        let sets: Vec<Owned> = sets.collect();
        let often = if registered.is_subset(&answered) { LIST } else { LIST_SOON };
        let of = Others::new(&all, &answered);
        let stores = self.stores();
        let places = (stores.as_slice(), self.replicas.as_deref());
        let unrecovered = logs.of_others(places, of, often).await?;
        logs.forget_taken(&sets);
        let leaving = peers::leaving(&snapshot);
        let leaving = leaving.keys().filter_map(|id| indexer(id)).collect();
        Ok((Seen { registered, answered, unrecovered, sets, leaving }, present))
    }

    /// Returns the stores of journals besides the indexers' own disks.
    fn stores(&self) -> Vec<Arc<dyn ObjectStore>> {
        let replicas = self
            .replicas
            .iter()
            .map(|replicas| Arc::new(ReplicaStore(Arc::clone(replicas))) as Arc<dyn ObjectStore>);
        std::iter::once(Arc::clone(&self.store)).chain(replicas).collect()
    }

    /// Makes an indexer the owner of the sets of another one.
    async fn give(&self, from: IndexerId, by: IndexerId) -> Result<()> {
        let snapshot = self.catalog.snapshot();
        let sets = snapshot.taken_over().filter(|taken| taken.indexer == from);
        let mut take_over: Vec<Takeover> =
            sets.map(|taken| Takeover { epoch: taken.epoch + 1, owner: by, ..taken }).collect();
        if take_over.is_empty() {
            // The process has run without a cluster.
            let sets =
                ingest::sets_of_log(&self.store, from).await.context("cannot read its journal")?;
            let taken = |set| {
                let epoch = snapshot.owner(from, set).0 + 1;
                Takeover { indexer: from, set, epoch, owner: by }
            };
            take_over.extend(sets.into_iter().map(taken));
        }
        let commit = Commit { take_over, ..Commit::default() };
        self.catalog.commit(commit).await.context("cannot give its sets to another indexer")
    }

    /// Recovers the pipeline sets that the catalog assigns to this indexer, until the process stops. A
    /// journal that cannot be read yet does not delay the others, whose indexers may have a copy of it.
    pub(crate) async fn recover(self, shutdown: Shutdown) {
        let mut changes = self.catalog.subscribe();
        let mut gone = Gone::default();
        loop {
            let snapshot = changes.borrow_and_update().clone();
            let taken = snapshot.taken_over();
            let given = taken.filter(|taken| taken.owner == self.own && taken.indexer != self.own);
            let given: BTreeSet<IndexerId> = given.map(|taken| taken.indexer).collect();
            gone.retain(|from, _| given.contains(from));
            note(&mut gone, given, &snapshot);
            let mut is_done = true;
            for (from, registered) in &gone {
                // The indexer may have its sets again since the last attempt.
                let is_given = self.is_given(*from);
                is_done &= !is_given || self.adopt(*from, registered.as_ref()).await;
            }
            tokio::select! {
                () = shutdown.stopped() => return,
                () = tokio::time::sleep(AGAIN), if !is_done => {}
                changed = changes.changed(), if is_done => if changed.is_err() { return },
            }
        }
    }

    /// Whether the catalog gives the sets of an indexer to this one.
    fn is_given(&self, from: IndexerId) -> bool {
        let snapshot = self.catalog.snapshot();
        snapshot.taken_over().any(|taken| taken.indexer == from && taken.owner == self.own)
    }

    /// Recovers the journals that any other indexer has left in the object store, which no other process
    /// uses.
    pub(crate) async fn recover_all(self, shutdown: Shutdown) {
        let mut left = loop {
            match self.with_logs().await {
                Ok(found) => break found,
                Err(error) => tracing::warn!(%error, "cannot look for journals in object storage"),
            }
            if !shutdown.sleep(AGAIN).await {
                return;
            }
        };
        loop {
            let mut again = Gone::default();
            for (from, registered) in left {
                if !self.adopt(from, registered.as_ref()).await {
                    again.insert(from, registered);
                }
            }
            if again.is_empty() || !shutdown.sleep(AGAIN).await {
                return;
            }
            left = again;
        }
    }

    /// The other indexers that have left something in the object store.
    async fn with_logs(&self) -> Result<Gone, ingest::Error> {
        let mut found = BTreeSet::new();
        for from in ingest::unrecovered(&self.store).await? {
            let is_other = from != self.own;
            if is_other && !matches!(ingest::has_log(&self.store, from).await, Ok(false)) {
                found.insert(from);
            }
        }
        let mut gone = Gone::default();
        note(&mut gone, found, &self.catalog.snapshot());
        Ok(gone)
    }

    /// Recovers the events of an indexer; `false` if that has to be tried again.
    async fn adopt(&self, from: IndexerId, registered: Option<&Registration>) -> bool {
        let adopted = match self.ingest.adopt(from).await {
            Ok(adopted) => adopted,
            // Somebody else does it.
            Err(ingest::Error::TakenOver { .. }) => return true,
            Err(error) => {
                tracing::warn!(indexer = %from, %error, "its events are not recovered yet");
                return false;
            }
        };
        if let Some(registered) = registered {
            self.let_go(from, registered, adopted.lost_copies > 0).await;
        }
        true
    }

    /// Removes an indexer from the list of the cluster, if all events that it can have acknowledged are
    /// stored, unless it has been restarted.
    async fn let_go(&self, from: IndexerId, known: &Registration, has_lost_copies: bool) {
        let id = from.to_string();
        if known.local_acks || has_lost_copies {
            tracing::warn!(
                indexer = %from, name = known.name, has_lost_copies,
                "it may have acknowledged other events that are on its disk only: searches are incomplete until \
                 it is back, or removed (karst cluster remove --force)"
            );
        }
        let left = match (known.local_acks, has_lost_copies) {
            (true, _) => return,
            (false, true) => peers::note_local_acks(&self.catalog, &id, &known.started).await,
            (false, false) => peers::leave(&self.catalog, &id, &known.started).await,
        };
        if let Err(error) = left {
            tracing::warn!(indexer = %from, %error, "it stays in the list of the cluster");
        }
    }

    /// Waits until another process has taken over the sets of this one, or has been started with its id.
    pub(crate) async fn lost(&self) -> Lost {
        let mut changes = self.catalog.subscribe();
        loop {
            let snapshot = changes.borrow_and_update().clone();
            if let Some(reason) = self.incarnation.superseded(&snapshot) {
                return Lost::Superseded(reason.into());
            }
            if let Err(error) = self.ingest.check_owner(&snapshot) {
                return Lost::Recovered(error.to_string().into());
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// The journals in other places, as they were listed lately.
#[derive(Debug, Default)]
struct Logs {
    listed: Option<Instant>,
    with_records: BTreeSet<IndexerId>,
    /// Indexers whose journals could not be listed, which is logged once.
    unlisted: BTreeSet<IndexerId>,
    /// Indexers without records whose processes are not in the list of the cluster: they get no more records.
    /// An indexer in the list may only be unreachable from here.
    empty: BTreeSet<IndexerId>,
}

/// Lost indexers, with their entries at that time: they may be restarted at once when their sets are given
/// back.
type Gone = BTreeMap<IndexerId, Option<Registration>>;

/// Adds the indexers that are not known yet.
fn note(gone: &mut Gone, all: BTreeSet<IndexerId>, snapshot: &Snapshot) {
    for from in all {
        gone.entry(from).or_insert_with(|| Registration::of(snapshot, &from.to_string()));
    }
}

/// The other indexers, as their journals are looked for.
struct Others<'a> {
    /// All in the list of the cluster: other processes have journals, too.
    listed: BTreeSet<IndexerId>,
    /// The indexers whose events can all be recovered by others.
    recoverable: BTreeSet<IndexerId>,
    answered: &'a BTreeSet<IndexerId>,
}

impl<'a> Others<'a> {
    /// `all`: the list of the cluster.
    fn new(all: &[(String, Registration)], answered: &'a BTreeSet<IndexerId>) -> Self {
        let listed = all.iter().filter_map(|(id, _)| indexer(id)).collect();
        let recoverable = all.iter().filter(|(_, known)| known.is_indexer() && !known.local_acks);
        let recoverable = recoverable.filter_map(|(id, _)| indexer(id)).collect();
        Self { listed, recoverable, answered }
    }
}

impl Logs {
    /// Its events are another indexer's matter now, until the journals are listed again.
    fn forget(&mut self, indexer: IndexerId) {
        self.with_records.remove(&indexer);
    }

    /// Forgets the listings of journals of indexers whose sets another indexer has: they are listed again
    /// before any decision, because the listed records are stored by the time the sets are given back.
    fn forget_taken(&mut self, sets: &[Owned]) {
        for set in sets.iter().filter(|set| set.owner != set.indexer) {
            self.forget(set.indexer);
        }
    }

    async fn of_others(
        &mut self,
        (stores, replicas): (&[Arc<dyn ObjectStore>], Option<&Replicas>),
        Others { listed, recoverable, answered }: Others<'_>,
        often: Duration,
    ) -> Result<BTreeSet<IndexerId>> {
        let may_have = |indexer: &IndexerId| answered.contains(indexer) || listed.contains(indexer);
        self.empty.retain(|indexer| !may_have(indexer));
        if self.listed.is_none_or(|at| at.elapsed() >= often) {
            let mut logs: BTreeMap<IndexerId, Vec<Arc<dyn ObjectStore>>> = BTreeMap::new();
            for store in stores {
                for indexer in ingest::unrecovered(store).await.context("cannot list journals")? {
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
                match has_log(indexer, (stores, replicas)).await {
                    // All events of an indexer without records are in buckets: its recovery removes it from
                    // the list.
                    Ok(has_log) if has_log || recoverable.contains(&indexer) => {
                        self.with_records.insert(indexer);
                        self.unlisted.remove(&indexer);
                    }
                    Ok(_) => {
                        self.empty.insert(indexer);
                        self.unlisted.remove(&indexer);
                    }
                    // The other indexers are checked nevertheless.
                    Err(error) if self.unlisted.insert(indexer) => {
                        tracing::warn!(%indexer, %error, "the journal of an indexer cannot be listed");
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

/// Whether an indexer has records in one of these places. Copies that are lost for certain have none.
async fn has_log(
    indexer: IndexerId,
    (stores, replicas): (Vec<Arc<dyn ObjectStore>>, Option<&Replicas>),
) -> Result<bool, ingest::Error> {
    for store in stores {
        match ingest::has_log(&store, indexer).await {
            Ok(false) => {}
            Ok(true) => return Ok(true),
            Err(error) => {
                let Some(replicas) = replicas else { return Err(error) };
                return replicas.lost(indexer).await.map(|_| false).ok_or(error);
            }
        }
    }
    Ok(false)
}

fn indexer(id: &str) -> Option<IndexerId> {
    Uuid::parse_str(id).ok().map(IndexerId)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_list_from_before_the_end_of_a_recovery_does_not_begin_another_one() {
        let [one, two] = [1, 2].map(|number| IndexerId(Uuid::from_u128(number)));
        let mut logs = Logs { with_records: [one, two].into(), ..Logs::default() };
        let own = |indexer| Owned { indexer, owner: indexer };
        logs.forget_taken(&[own(one), own(two)]);
        assert_eq!(logs.with_records, BTreeSet::from([one, two]));
        logs.forget_taken(&[Owned { indexer: one, owner: two }, own(two)]);
        assert_eq!(logs.with_records, BTreeSet::from([two]));
    }

    #[tokio::test]
    async fn the_journal_of_a_control_plane_that_is_in_the_list_again_is_looked_at_again() {
        let [control_plane, gone] = [1, 2].map(|number| IndexerId(Uuid::from_u128(number)));
        let registration = Registration {
            name: "control-plane-1".to_owned(),
            address: "control-plane-1:9887".to_owned(),
            roles: vec!["control-plane".to_owned()],
            management: String::new(),
            version: String::new(),
            started: "2026-11-29T03:55:38Z".to_owned(),
            local_acks: false,
            site: cluster::NO_SITE.to_owned(),
            forwarders: Vec::new(),
            cold: false,
        };
        let (all, answered) = ([(control_plane.to_string(), registration)], BTreeSet::new());
        let others = Others::new(&all, &answered);
        assert!(others.recoverable.is_empty(), "it is not an indexer");
        let mut logs = Logs { empty: [control_plane, gone].into(), ..Logs::default() };
        logs.of_others((&[], None), others, LIST).await.unwrap();
        assert_eq!(logs.empty, BTreeSet::from([gone]));
    }
}

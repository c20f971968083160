//! An indexer: accepts events, writes them to its journal and the logs in other places, makes them
//! searchable, acknowledges them, and rolls buckets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use catalog::{Catalog, Snapshot};
use ingest::simulation::{Fenced, Log, Shipped, Stream, batch_record, roll_record};
use inputs::{Acknowledgement, Durability};
use model::{BucketId, IndexName, IndexerId, JournalPlace, JournalPosition, Lane, StreamId};
use object_store::ObjectStore;
use parking_lot::Mutex;
use peers::Registration;
use peers::incarnation::Incarnation;
use replication::Replicas;
use runtime::Shutdown;
use tokio::sync::{oneshot, watch};

use crate::Mutant;
use crate::adoption::Progress;
use crate::disk::{SetKey, Stored};
use crate::hot::{Event, Hot, Waiter};
use crate::process::{Life, Pid};
use crate::truth::Level;
use crate::world::World;
use crate::{leaving, startup, supervisor, upload};

/// Interval between checks of the open buckets.
const TICK: Duration = Duration::from_millis(250);
/// Number of events at which a bucket rolls, and the idle time after which it rolls.
const LARGE: usize = 12;
const IDLE: Duration = Duration::from_secs(20);
/// Maximum time that an acknowledgement waits for an open bucket; then the bucket rolls.
const ACKS: Duration = Duration::from_secs(2);
/// Number of objects of a log at which a bucket rolls.
const OBJECTS: usize = 20;

/// The state of a set in its process.
#[derive(Debug, Default)]
pub(crate) struct SetState {
    pub(crate) committed: BTreeMap<Stream, JournalPosition>,
}

/// The state of the process in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) hot: Hot,
    /// The sets whose journals are released by commits.
    pub(crate) states: BTreeMap<SetKey, SetState>,
    /// The last position of each of its own sets.
    pub(crate) last: BTreeMap<u16, u64>,
    /// Completes when the previous bucket of a stream is committed.
    pub(crate) before: BTreeMap<StreamId, oneshot::Receiver<()>>,
}

/// One life of an indexer process.
#[derive(Debug)]
pub(crate) struct Indexer {
    pub(crate) world: Arc<World>,
    pub(crate) life: Life,
    pub(crate) incarnation: Incarnation,
    pub(crate) id: IndexerId,
    pub(crate) catalog: Catalog,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) logs: Vec<Log>,
    pub(crate) fence: Fenced,
    pub(crate) shutdown: Shutdown,
    pub(crate) memory: Mutex<Memory>,
    /// Progress of its recoveries of other indexers.
    pub(crate) progress: Mutex<Progress>,
    /// Number of buckets that are not committed yet.
    pub(crate) uploads: watch::Sender<u64>,
    /// One committer per set at a time.
    threads: Vec<tokio::sync::Mutex<()>>,
    is_closed: AtomicBool,
}

/// The outcome of a wait for durability.
enum Outcome {
    Now(Durability),
    Log(Vec<Acknowledgement>),
    Bucket(oneshot::Receiver<Durability>),
}

/// The index with this acknowledgement level.
pub(crate) fn index_of(level: Level) -> IndexName {
    let name = match level {
        Level::Local => "local",
        Level::Remote => "remote",
        Level::Replicated => "replicated",
    };
    IndexName::new(name).expect("it is a name")
}

impl Indexer {
    pub(crate) fn new(
        world: &Arc<World>,
        (life, incarnation): (&Life, Incarnation),
        catalog: Catalog,
        (store, replicas): (Arc<dyn ObjectStore>, Arc<Replicas>),
    ) -> Self {
        let settings = ingest::Settings::default();
        let (id, fence) = (incarnation.indexer, Fenced::default());
        let own = (id, &fence);
        let logs = vec![
            Log::new(Arc::clone(&store), None, own, &settings),
            Log::new(Arc::clone(&store), Some(Arc::clone(&replicas)), own, &settings),
        ];
        let threads = (0..world.config.sets).map(|_| tokio::sync::Mutex::default()).collect();
        Self {
            world: Arc::clone(world),
            life: life.clone(),
            incarnation,
            id,
            catalog,
            store,
            replicas,
            logs,
            fence,
            shutdown: Shutdown::new(),
            memory: Mutex::default(),
            progress: Mutex::default(),
            uploads: watch::Sender::new(0),
            threads,
            is_closed: AtomicBool::new(true),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.life.pid
    }

    /// Whether an indexer is in the list of the cluster.
    pub(crate) fn knows(&self, other: IndexerId) -> bool {
        let all = Registration::all(&self.catalog.snapshot());
        all.iter().any(|(name, _)| *name == other.to_string())
    }

    pub(crate) fn log(&self, place: JournalPlace) -> Option<&Log> {
        self.logs.iter().find(|log| log.place() == place)
    }

    pub(crate) fn sets(&self) -> impl Iterator<Item = u16> + use<> {
        0..self.world.config.sets
    }

    /// Starts accepting events.
    pub(crate) fn take_events(&self) {
        self.is_closed.store(false, Ordering::Relaxed);
    }

    /// Stops accepting events.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed) || self.fence.is_closed()
    }

    /// Whether this process still owns all of its sets.
    pub(crate) fn owns_sets(&self, snapshot: &Snapshot) -> bool {
        let memory = self.memory.lock();
        let mut sets = self.sets().map(|set| (self.id, set));
        sets.all(|set| snapshot.owner(set.0, set.1).0 <= memory.hot.epoch(set))
    }

    /// Whether another process has been started with the identity of this one.
    pub(crate) fn is_superseded(&self, snapshot: &Snapshot) -> bool {
        !self.world.is(Mutant::IgnoresIncarnations) && self.incarnation.is_over(snapshot)
    }

    /// Submits an event. Returns its durability when it is acknowledged, or `None` if it is not.
    pub(crate) async fn submit(self: &Arc<Self>, number: u64, level: Level) -> Option<Durability> {
        if self.is_closed() {
            return None;
        }
        let set = u16::try_from(number % u64::from(self.world.config.sets)).unwrap_or(0);
        let thread = self.threads.get(usize::from(set))?.lock().await;
        if self.is_closed() {
            return None;
        }
        let place = match level {
            Level::Local => JournalPlace::Disk,
            Level::Remote => JournalPlace::Remote,
            Level::Replicated => JournalPlace::Replicated,
        };
        let has_room = self.log(place).is_some_and(Log::has_room);
        let place = if has_room { place } else { JournalPlace::Disk };
        let stream = (index_of(level), Lane::FIRST.at(place));
        let position = self.next_position(set);
        let record = batch_record(&stream, position, &[&number.to_string()]);
        self.append((self.id, set), &stream, position, record.clone());
        if level == Level::Local && self.world.is(Mutant::AcknowledgesBeforeSync) {
            self.world.truth(|truth| truth.acknowledge(number, Durability::Local));
        }
        self.world.sync().await;
        self.synced((self.id, set));
        let outcome = self.publish((number, level), (set, stream, position), record);
        drop(thread);
        match outcome {
            Outcome::Now(durability) => Some(durability),
            Outcome::Bucket(stored) => stored.await.ok(),
            Outcome::Log(outcomes) => {
                let outcome = outcomes.into_iter().next()?;
                outcome.wait().await.ok()?.findings.durability
            }
        }
    }

    fn next_position(&self, set: u16) -> JournalPosition {
        let mut memory = self.memory.lock();
        let last = memory.last.entry(set).or_default();
        *last += 1;
        JournalPosition(*last)
    }

    /// Appends a record, not synced yet, to the journal of a set.
    pub(crate) fn append(
        &self,
        set: SetKey,
        stream: &Stream,
        position: JournalPosition,
        bytes: Bytes,
    ) {
        let mut state = self.world.state();
        let machine = state.machines.entry(self.pid()).or_default();
        let journal = machine.journals.entry(set).or_default();
        journal.append(Stored { stream: stream.clone(), position, bytes, is_synced: false });
    }

    pub(crate) fn synced(&self, set: SetKey) {
        let mut state = self.world.state();
        let machine = state.machines.get_mut(&self.pid());
        if let Some(journal) = machine.and_then(|machine| machine.journals.get_mut(&set)) {
            journal.sync();
        }
    }

    fn publish(
        &self,
        (number, level): (u64, Level),
        (set, stream, position): (u16, Stream, JournalPosition),
        record: Bytes,
    ) -> Outcome {
        let id = StreamId { indexer: self.id, set, index: stream.0.clone(), lane: stream.1 };
        let now = self.world.now();
        let mut memory = self.memory.lock();
        let new = || BucketId(self.world.id());
        memory.hot.append(&id, Event { number, position }, new, now);
        if let Some(log) = self.log(stream.1.place()) {
            drop(memory);
            let shipped = Shipped { stream, position, record, is_awaited: true };
            return Outcome::Log(log.ship(set, vec![shipped]));
        }
        if level == Level::Local {
            return Outcome::Now(Durability::Local);
        }
        let (waiter, stored): (Waiter, _) = oneshot::channel();
        memory.hot.wait(&id, waiter, now);
        Outcome::Bucket(stored)
    }

    /// Rolls the open bucket of a stream.
    pub(crate) fn roll(self: &Arc<Self>, stream: &StreamId) {
        let Some(rolled) = self.memory.lock().hot.roll(stream) else { return };
        let set = rolled.set();
        let of_set = (stream.index.clone(), stream.lane);
        let note = roll_record(&of_set, rolled.upto, (rolled.id, &rolled.path));
        self.append(set, &of_set, rolled.upto, note.clone());
        self.synced(set);
        if set.0 == self.id
            && let Some(log) = self.log(stream.lane.place())
        {
            let (position, record) = (rolled.upto, note);
            log.ship(set.1, vec![Shipped { stream: of_set, position, record, is_awaited: false }]);
        }
        upload::submit(self, rolled);
    }

    pub(crate) fn roll_all(self: &Arc<Self>) {
        for set in self.sets() {
            let streams = self.memory.lock().hot.open_streams((self.id, set));
            streams.iter().for_each(|stream| self.roll(stream));
        }
    }

    fn due(&self, set: SetKey) -> Vec<StreamId> {
        let now = self.world.now();
        let memory = self.memory.lock();
        let is_due = |open: &crate::hot::Open| {
            open.waiting_since.is_some_and(|since| now.saturating_sub(since) >= ACKS)
                || open.events.len() >= LARGE
                || now.saturating_sub(open.changed) >= IDLE
        };
        let open = memory.hot.open(set).filter(|(_, open)| is_due(open));
        let mut due: Vec<StreamId> = open.map(|(stream, _)| stream.clone()).collect();
        for log in &self.logs {
            if due.is_empty() && (log.objects() > OBJECTS || log.is_stalled()) {
                due.extend(memory.hot.oldest_at(set, log.place()));
            }
        }
        due
    }

    async fn roll_due(self: Arc<Self>) {
        loop {
            tokio::time::sleep(TICK).await;
            for set in self.sets() {
                let Some(thread) = self.threads.get(usize::from(set)) else { continue };
                let _thread = thread.lock().await;
                for stream in self.due((self.id, set)) {
                    self.roll(&stream);
                }
            }
        }
    }

    /// Notes that a stream is committed up to a position, and releases the journal before it.
    pub(crate) fn release(&self, stream: &StreamId, position: JournalPosition) {
        let set = (stream.indexer, stream.set);
        let of_set = (stream.index.clone(), stream.lane);
        let committed = {
            let mut memory = self.memory.lock();
            let Some(state) = memory.states.get_mut(&set) else { return };
            let known = state.committed.entry(of_set.clone()).or_default();
            *known = (*known).max(position);
            state.committed.clone()
        };
        if set.0 == self.id {
            for log in &self.logs {
                log.release(set.1, &of_set, position);
            }
        }
        let mut state = self.world.state();
        let machine = state.machines.get_mut(&self.pid());
        if let Some(journal) = machine.and_then(|machine| machine.journals.get_mut(&set)) {
            journal.release(&committed);
        }
    }

    /// Waits until no bucket is waiting for its upload.
    pub(crate) async fn idle(&self) {
        let mut waiting = self.uploads.subscribe();
        // Cannot fail: `self` has the sender.
        let _ = waiting.wait_for(|waiting| *waiting == 0).await;
    }

    /// Stores all events, so that there is nothing to recover; `false` if that takes longer than `most`.
    pub(crate) async fn drain(self: &Arc<Self>, most: Duration) -> bool {
        let is_fenced = self.fence.is_closed();
        self.close();
        if is_fenced {
            return false;
        }
        for thread in &self.threads {
            drop(thread.lock().await);
        }
        self.roll_all();
        let stored = async {
            self.idle().await;
            for log in &self.logs {
                log.clone().idle().await;
            }
        };
        if tokio::time::timeout(most, stored).await.is_err() {
            return false;
        }
        for log in &self.logs {
            let _ = tokio::time::timeout(most, log.end()).await;
        }
        true
    }
}

/// Runs an indexer until its process ends.
pub(crate) async fn run(world: Arc<World>, life: Life) {
    let pid = life.pid;
    match startup::start(&world, &life).await {
        Ok(indexer) => {
            world.note(format_args!("{pid} takes events"));
            life.spawn(Arc::clone(&indexer).roll_due());
            life.spawn(leaving::run(Arc::clone(&indexer)));
            life.spawn(leaving::stay(Arc::clone(&indexer)));
            life.spawn(leaving::move_copies(Arc::clone(&indexer)));
            life.spawn(leaving::restart_when_told(Arc::clone(&indexer)));
            life.spawn(clean_copies(Arc::clone(&indexer)));
            let reason = lost(&indexer).await;
            supervisor::begin_again(&world, pid, reason);
        }
        Err(reason) => supervisor::begin_again(&world, pid, &reason),
    }
}

/// Waits until another process has taken over the sets of this one, or has been started with its identity.
/// Returns which.
async fn lost(indexer: &Indexer) -> &'static str {
    let mut changes = indexer.catalog.subscribe();
    loop {
        let snapshot = changes.borrow_and_update().clone();
        if indexer.is_superseded(&snapshot) {
            return "another process has its identity";
        }
        if !indexer.owns_sets(&snapshot) || changes.changed().await.is_err() {
            return "its sets are taken over";
        }
    }
}

/// Removes copies that the catalog has not named for a long time.
async fn clean_copies(indexer: Arc<Indexer>) {
    let mut unnamed: BTreeMap<(IndexerId, uuid::Uuid), u32> = BTreeMap::new();
    loop {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let snapshot = indexer.catalog.snapshot();
        let mut state = indexer.world.state();
        let Some(machine) = state.machines.get_mut(&indexer.pid()) else { continue };
        let keys: Vec<_> = machine.copies.keys().copied().collect();
        for key in keys {
            let document = snapshot.document("replicas", &key.0.0.to_string());
            let named = document.is_some_and(|json| json.to_string().contains(&key.1.to_string()));
            let times = unnamed.entry(key).or_default();
            *times = if named { 0 } else { *times + 1 };
            if *times > 10 {
                machine.copies.remove(&key);
            }
        }
    }
}

//! The actual state, whatever the processes know: which events were acknowledged, which bucket has which
//! events; and the invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Batch, Snapshot};
use cluster::Wave;
use inputs::Durability;
use model::{BucketId, IndexerId, JournalPosition, StreamId};

use crate::hot::Rolled;
use crate::process::Pid;
use crate::world::{World, process};

/// Packs are compared with single headers after this number of writes, and when they change.
const COMPARED: u64 = 32;

/// When an event is acknowledged: `ackLevel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Local,
    Remote,
    Replicated,
}

/// An event that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) to: Pid,
    /// Number of losses of the machine's disk when the event was sent.
    losses: u64,
    pub(crate) acknowledged: Option<Durability>,
}

/// The contents of a bucket.
#[derive(Debug)]
struct Content {
    path: String,
    records: Vec<(StreamId, JournalPosition, u64)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) sent: BTreeMap<u64, Sent>,
    contents: BTreeMap<BucketId, Content>,
    /// The bucket of each committed event.
    stored: BTreeMap<u64, BucketId>,
    records: BTreeMap<(StreamId, JournalPosition), BucketId>,
    buckets: BTreeSet<BucketId>,
    /// Machines whose disk was copied, and those that have the copy.
    pub(crate) copied: BTreeSet<Pid>,
    /// Events that a process over one of two such disks has stored under a new identity, because no bucket
    /// had them: the other process may have them, too, and store them later.
    pub(crate) repeated: BTreeSet<u64>,
    /// The time at which each indexer last joined the list of the cluster.
    pub(crate) joined: BTreeMap<Pid, Duration>,
    /// Number of complete searches, and of those that reported to be incomplete.
    pub(crate) searches: (u64, u64),
}

impl Truth {
    pub(crate) fn acknowledge(&mut self, number: u64, durability: Durability) {
        if let Some(sent) = self.sent.get_mut(&number) {
            sent.acknowledged = Some(durability);
        }
    }

    /// Notes the events of a rolled bucket, which are final.
    pub(crate) fn rolled(&mut self, rolled: &Rolled) {
        let record =
            |event: &crate::hot::Event| (rolled.stream.clone(), event.position, event.number);
        let records = rolled.events.iter().map(record).collect();
        self.contents.insert(rolled.id, Content { path: rolled.path.clone(), records });
    }

    /// The events of a bucket.
    pub(crate) fn events(&self, id: BucketId) -> impl Iterator<Item = u64> {
        let records = self.contents.get(&id).into_iter().flat_map(|content| &content.records);
        records.map(|(_, _, number)| *number)
    }

    pub(crate) fn path(&self, id: BucketId) -> Option<&str> {
        self.contents.get(&id).map(|content| content.path.as_str())
    }

    /// Checks a new state of the catalog. Returns the violated invariant.
    fn written(&mut self, state: &Snapshot) -> Option<String> {
        let mut wrong = None;
        for index in state.indexes() {
            for bucket in state.buckets(index).iter() {
                if !self.buckets.insert(bucket.id) {
                    continue;
                }
                let Some(content) = self.contents.get(&bucket.id) else { continue };
                for (stream, position, number) in &content.records {
                    let is_second = self.stored.insert(*number, bucket.id).is_some();
                    if is_second && !self.repeated.contains(number) {
                        wrong = Some(format!("event {number} is in two buckets"));
                    }
                    let record = (stream.clone(), *position);
                    if self.records.insert(record, bucket.id).is_some() {
                        wrong =
                            Some(format!("record {} of {stream} is in two buckets", position.0));
                    }
                }
            }
        }
        wrong
    }

    /// Acknowledged events that no fault may have destroyed.
    pub(crate) fn safe(&self, losses: &BTreeMap<Pid, u64>) -> Vec<u64> {
        let is_safe = |sent: &Sent| match sent.acknowledged {
            Some(Durability::Local) => losses.get(&sent.to).copied().unwrap_or(0) == sent.losses,
            Some(_) => true,
            None => false,
        };
        self.sent.iter().filter(|(_, sent)| is_safe(sent)).map(|(number, _)| *number).collect()
    }

    /// Whether the indexer that received an event was in the list of the cluster at a time.
    pub(crate) fn joined_before(&self, number: u64, time: Duration) -> bool {
        let to = self.sent.get(&number).map(|sent| sent.to);
        let joined = to.and_then(|to| self.joined.get(&to));
        joined.is_none_or(|joined| *joined <= time)
    }

    /// Whether searches have to find the event, or to say that they are incomplete. While two processes have
    /// the same identity, only one of them is in the list.
    pub(crate) fn is_served(&self, number: u64) -> bool {
        let to = self.sent.get(&number).map(|sent| sent.to);
        self.is_stored(number) || to.is_none_or(|to| !self.copied.contains(&to))
    }

    pub(crate) fn is_stored(&self, number: u64) -> bool {
        self.stored.contains_key(&number)
    }

    /// Whether there are events that only journals of indexers have, those of `of` and copies of them.
    fn has_unstored(&self, of: Pid) -> bool {
        let is_unstored = |(number, sent): (&u64, &Sent)| {
            sent.to == of
                && sent.acknowledged == Some(Durability::Replicated)
                && !self.stored.contains_key(number)
        };
        self.sent.iter().any(is_unstored)
    }
}

impl World {
    pub(crate) fn truth<T>(&self, look: impl FnOnce(&mut Truth) -> T) -> T {
        look(&mut self.state().truth)
    }

    /// Notes that an event was sent to an indexer.
    pub(crate) fn sent(&self, number: u64, to: Pid) {
        let mut state = self.state();
        let losses = state.machines.get(&to).map_or(0, |machine| machine.losses);
        state.truth.sent.insert(number, Sent { to, losses, acknowledged: None });
    }

    /// Number of losses of each machine's disk.
    pub(crate) fn losses(&self) -> BTreeMap<Pid, u64> {
        let state = self.state();
        state.machines.iter().map(|(pid, machine)| (*pid, machine.losses)).collect()
    }

    /// Notes a new, durable state of the catalog, and its write; whether that is in the log.
    pub(crate) fn written(&self, new: Arc<Snapshot>, batch: Batch, is_logged: bool) {
        let mut wrong = Vec::new();
        let mut guard = self.state();
        let state = &mut *guard;
        let database = &mut state.database;
        if new.number() <= database.state.number() {
            wrong.push(format!("write {} comes after {}", new.number(), database.state.number()));
        }
        for taken in new.taken_over() {
            let now = (taken.epoch, taken.owner);
            let before = database.owners.insert((taken.indexer, taken.set), now);
            if let Some(before) = before.filter(|before| *before != now)
                && before.0 >= now.0
            {
                let (set, of) = (taken.set, process(taken.indexer));
                wrong.push(format!("set {set} of {of} goes from {before:?} to {now:?}"));
            }
        }
        for indexer in database.state.indexers() {
            let now: BTreeMap<_, _> = new.positions(indexer).into_iter().collect();
            for (stream, position) in database.state.positions(indexer) {
                if now.get(&stream).is_none_or(|now| *now < position) {
                    wrong.push(format!("the position of {stream} goes back"));
                }
            }
        }
        if new.len() != database.state.len() {
            wrong.extend(state.truth.written(&new));
        }
        let database = &mut state.database;
        database.apply(batch);
        if !is_logged {
            database.unlogged = new.number();
        }
        // Comparing takes longer than a write.
        if new.number().is_multiple_of(COMPARED) {
            wrong.extend(database.wrong_packs());
        }
        database.state = new;
        drop(guard);
        wrong.into_iter().for_each(|wrong| self.violate(wrong));
    }

    /// Checks a step of a rolling restart: while some processes restart, another one must have the events
    /// that are in no bucket.
    pub(crate) fn told(&self, wave: &Wave) {
        let all = self.indexers().into_iter().map(|pid| (pid, self.id_of(pid)));
        let all: Vec<(Pid, IndexerId)> = all.collect();
        let is_told = |id: IndexerId| wave.told.contains_key(&id.to_string());
        let hit = {
            let state = self.state();
            let snapshot = &state.database.state;
            let mut all_told = all.iter().copied().filter(|(_, of)| {
                let has_copy = |id: &IndexerId| replication::held_at(snapshot, *id).contains(of);
                let copies = all.iter().map(|(_, id)| *id).filter(has_copy);
                let copies: Vec<IndexerId> = copies.collect();
                is_told(*of) && !copies.is_empty() && copies.iter().all(|id| is_told(*id))
            });
            all_told.find(|(of, _)| state.truth.has_unstored(*of))
        };
        if let Some((of, _)) = hit {
            let told = &wave.told;
            self.violate(format!("all processes with the journal of {of} restart: {told:?}"));
        }
    }

    /// Checks the deletion of an object.
    pub(crate) fn deleted(&self, path: &str) {
        let named = {
            let state = self.state();
            let snapshot = &state.database.state;
            let mut names = snapshot.indexes().flat_map(|index| snapshot.buckets(index).iter());
            names.any(|bucket| state.truth.path(bucket.id) == Some(path))
        };
        if named {
            self.violate(format!("the object {path} of a bucket is deleted"));
        }
    }

    /// Checks the refusal of a bucket by the catalog.
    pub(crate) fn refused(&self, pid: Pid, error: &catalog::Error) {
        use catalog::Error::{Conflict, Invalid, Overlap};
        if matches!(error, Overlap { .. } | Conflict { .. } | Invalid { .. }) {
            self.violate(format!("a bucket of {pid} is refused for good: {error}"));
        }
    }

    /// The time on the clock of a process, in microseconds.
    pub(crate) fn clock(&self, pid: Pid) -> i64 {
        let skew = self.state().processes.get(&pid).map_or(0, |process| process.skew);
        i64::try_from(self.now().as_micros()).unwrap_or(i64::MAX).saturating_add(skew)
    }
}

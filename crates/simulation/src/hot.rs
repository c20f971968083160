//! The hot buckets of an indexer, with its own events and those that it recovers from others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::{JournalRange, OWN_EPOCH};
use inputs::Durability;
use model::{BucketId, IndexerId, JournalPlace, JournalPosition, StreamId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::disk::SetKey;

/// An event number, with its position in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) position: JournalPosition,
}

/// A caller that waits until a bucket is committed.
pub(crate) type Waiter = oneshot::Sender<Durability>;

/// A bucket that accepts events.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) id: BucketId,
    pub(crate) events: Vec<Event>,
    pub(crate) from: JournalPosition,
    pub(crate) upto: JournalPosition,
    pub(crate) changed: Duration,
    pub(crate) waiting: Vec<Waiter>,
    pub(crate) waiting_since: Option<Duration>,
}

/// A closed bucket that waits for its upload.
#[derive(Debug)]
pub(crate) struct Rolled {
    pub(crate) id: BucketId,
    pub(crate) stream: StreamId,
    pub(crate) events: Vec<Event>,
    pub(crate) from: JournalPosition,
    pub(crate) upto: JournalPosition,
    pub(crate) epoch: u64,
    pub(crate) path: String,
    pub(crate) waiting: Mutex<Vec<Waiter>>,
}

impl Rolled {
    pub(crate) fn set(&self) -> SetKey {
        (self.stream.indexer, self.stream.set)
    }

    pub(crate) fn range(&self) -> JournalRange {
        let stream = self.stream.clone();
        JournalRange { stream, from: Some(self.from), upto: self.upto, epoch: self.epoch }
    }
}

#[derive(Debug, Default)]
struct Stream {
    open: Option<Open>,
    rolled: Vec<Arc<Rolled>>,
}

/// A bucket as searches see it.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) id: BucketId,
    /// Set and epoch.
    pub(crate) owner: (SetKey, u64),
    /// Whether no other indexer can recover its events.
    pub(crate) is_local: bool,
    pub(crate) events: Vec<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Hot {
    streams: BTreeMap<StreamId, Stream>,
    epochs: BTreeMap<SetKey, u64>,
    pub(crate) adopted: BTreeMap<IndexerId, BTreeMap<u16, u64>>,
}

impl Hot {
    /// Sets the epoch in which buckets of the set that roll from now on are committed.
    pub(crate) fn own(&mut self, set: SetKey, epoch: u64) {
        self.epochs.insert(set, epoch);
    }

    pub(crate) fn epoch(&self, set: SetKey) -> u64 {
        self.epochs.get(&set).copied().unwrap_or(OWN_EPOCH)
    }

    /// Forgets the streams of a set.
    pub(crate) fn disown(&mut self, set: SetKey) {
        self.streams.retain(|stream, _| (stream.indexer, stream.set) != set);
        self.epochs.remove(&set);
    }

    pub(crate) fn append(
        &mut self,
        stream: &StreamId,
        event: Event,
        id: impl FnOnce() -> BucketId,
        now: Duration,
    ) {
        let open =
            self.streams.entry(stream.clone()).or_default().open.get_or_insert_with(|| Open {
                id: id(),
                events: Vec::new(),
                from: event.position,
                upto: event.position,
                changed: now,
                waiting: Vec::new(),
                waiting_since: None,
            });
        open.events.push(event);
        open.upto = open.upto.max(event.position);
        open.changed = now;
    }

    /// Holds an acknowledgement until the open bucket of the stream is in the catalog.
    pub(crate) fn wait(&mut self, stream: &StreamId, waiter: Waiter, now: Duration) {
        let state = self.streams.get_mut(stream).and_then(|state| state.open.as_mut());
        if let Some(open) = state {
            open.waiting_since.get_or_insert(now);
            open.waiting.push(waiter);
        }
    }

    pub(crate) fn open(&self, set: SetKey) -> impl Iterator<Item = (&StreamId, &Open)> {
        let mine = self.streams.iter().filter(move |(s, _)| (s.indexer, s.set) == set);
        mine.filter_map(|(stream, state)| Some((stream, state.open.as_ref()?)))
    }

    pub(crate) fn open_streams(&self, set: SetKey) -> Vec<StreamId> {
        self.open(set).map(|(stream, _)| stream.clone()).collect()
    }

    /// The stream of the set whose open bucket retains most of the journal in a place.
    pub(crate) fn oldest_at(&self, set: SetKey, place: JournalPlace) -> Option<StreamId> {
        let open = self.open(set).filter(|(stream, _)| stream.lane.place() == place);
        open.min_by_key(|(_, open)| open.from).map(|(stream, _)| stream.clone())
    }

    pub(crate) fn roll(&mut self, stream: &StreamId) -> Option<Arc<Rolled>> {
        let epoch = self.epoch((stream.indexer, stream.set));
        let state = self.streams.get_mut(stream)?;
        let open = state.open.take()?;
        let rolled = Arc::new(Rolled {
            id: open.id,
            stream: stream.clone(),
            events: open.events,
            from: open.from,
            upto: open.upto,
            epoch,
            path: format!("buckets/{}/{}", stream.index, open.id),
            waiting: Mutex::new(open.waiting),
        });
        state.rolled.push(Arc::clone(&rolled));
        Some(rolled)
    }

    /// Removes a committed bucket.
    pub(crate) fn remove(&mut self, rolled: &Rolled) {
        if let Some(state) = self.streams.get_mut(&rolled.stream) {
            state.rolled.retain(|bucket| bucket.id != rolled.id);
        }
    }

    /// Whether no events of a set wait for their commit.
    pub(crate) fn is_stored(&self, set: SetKey) -> bool {
        let mut mine = self.streams.iter().filter(|(s, _)| (s.indexer, s.set) == set);
        mine.all(|(_, state)| state.open.is_none() && state.rolled.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.streams.values().all(|state| state.open.is_none() && state.rolled.is_empty())
    }

    pub(crate) fn shown(&self) -> Vec<Shown> {
        let mut shown = Vec::new();
        for (stream, state) in &self.streams {
            let set = (stream.indexer, stream.set);
            let is_local = !stream.lane.is_recoverable();
            let numbers = |events: &[Event]| events.iter().map(|event| event.number).collect();
            for rolled in &state.rolled {
                let (id, owner) = (rolled.id, (set, rolled.epoch));
                shown.push(Shown { id, owner, is_local, events: numbers(&rolled.events) });
            }
            if let Some(open) = &state.open {
                let (id, owner) = (open.id, (set, self.epoch(set)));
                shown.push(Shown { id, owner, is_local, events: numbers(&open.events) });
            }
        }
        shown
    }
}

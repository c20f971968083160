//! What outlives the threads of a pipeline set: its journal and what of it is committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use foldhash::HashMap;
use model::{IndexName, IndexerId, JournalPlace, JournalPosition, Lane, StreamId};
use parking_lot::{Mutex, MutexGuard};
use runtime::Clock;

use crate::channels::Channels;
use crate::journal::{Journal, StreamRef};
use crate::remote::{Logs, Shipments};

/// A set of an indexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SetId {
    pub(crate) indexer: IndexerId,
    pub(crate) set: u16,
}

impl SetId {
    /// The set of a stream.
    pub(crate) const fn of(stream: &StreamId) -> Self {
        Self { indexer: stream.indexer, set: stream.set }
    }

    /// The stream of the set for an index.
    pub(crate) fn stream(self, index: &IndexName, lane: Lane) -> StreamId {
        StreamId { indexer: self.indexer, set: self.set, index: index.clone(), lane }
    }
}

/// Gives arrival times: strictly increasing over the whole process, one microsecond apart at least,
/// so that they order all events.
#[derive(Debug)]
pub(crate) struct Arrivals(AtomicI64);

impl Arrivals {
    /// Times after `last`.
    pub(crate) const fn after(last: i64) -> Self {
        Self(AtomicI64::new(last))
    }

    /// Reserves `count` times in a row and gives the first.
    pub(crate) fn reserve(&self, now: i64, count: usize) -> i64 {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let mut last = self.0.load(Ordering::Relaxed);
        loop {
            let first = last.saturating_add(1).max(now);
            let end = first.saturating_add(count - 1);
            match self.0.compare_exchange_weak(last, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return first,
                Err(seen) => last = seen,
            }
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct SetState {
    pub(crate) id: SetId,
    pub(crate) clock: Arc<dyn Clock>,
    /// What is safe of numbered inputs, of all sets together.
    pub(crate) channels: Arc<Channels>,
    journal: Mutex<Journal>,
    committed: Mutex<HashMap<StreamRef, JournalPosition>>,
    next_position: AtomicU64,
    /// The journals in other places; none for a set of another indexer, which is only read.
    logs: Logs,
}

impl SetState {
    pub(crate) fn new(
        id: SetId,
        clock: Arc<dyn Clock>,
        channels: Arc<Channels>,
        journal: Journal,
        committed: HashMap<StreamRef, JournalPosition>,
        (next_position, logs): (u64, Logs),
    ) -> Self {
        Self {
            id,
            clock,
            channels,
            journal: Mutex::new(journal),
            committed: Mutex::new(committed),
            next_position: AtomicU64::new(next_position),
            logs,
        }
    }

    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        // A journal whose writer panicked is in the state of its last whole group.
        self.journal.lock()
    }

    /// The position of the next record.
    pub(crate) fn next_position(&self) -> JournalPosition {
        JournalPosition(self.next_position.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether records can go to the journal at a place.
    pub(crate) fn ships(&self, place: JournalPlace) -> bool {
        self.logs.at(place).is_some_and(|log| log.has_room())
    }

    /// Sends records that are in the journal to those in other places.
    pub(crate) fn ship(&self, shipments: Shipments) {
        for (place, shipment) in shipments.by_place() {
            if let Some(log) = self.logs.at(place).filter(|_| !shipment.records.is_empty()) {
                log.ship(self.id.set, shipment);
            }
        }
    }

    /// Whether the journal at a place, with objects above `most`, needs buckets of its lanes to roll.
    pub(crate) fn needs_roll(&self, place: JournalPlace, most: usize) -> bool {
        self.logs.at(place).is_some_and(|log| log.objects() > most || log.is_stalled())
    }

    /// Notes that the catalog has the stream up to `position`, and lets go of what it covers.
    pub(crate) fn release(&self, stream: &StreamId, position: JournalPosition) {
        let mut committed = self.committed.lock();
        let key = (stream.index.clone(), stream.lane);
        let known = committed.entry(key.clone()).or_default();
        *known = (*known).max(position);
        for log in self.logs.iter() {
            log.release(self.id.set, &key, position);
        }
        // The notes in the segments that go have to be somewhere else first.
        if let Err(error) = self.channels.save(self.clock.now()) {
            tracing::warn!(%error, "the journal is not released yet; the next bucket tries again");
            return;
        }
        let gone = self.journal().release(|stream| committed.get(stream).copied());
        if gone > 0 {
            tracing::debug!(set = self.id.set, segments = gone, "journal released");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_never_repeat_and_never_lag_behind_the_clock() {
        let arrivals = Arrivals::after(10);
        assert_eq!(arrivals.reserve(5, 3), 11);
        assert_eq!(arrivals.reserve(5, 1), 14);
        assert_eq!(arrivals.reserve(100, 2), 100);
        assert_eq!(arrivals.reserve(100, 1), 102);
    }
}

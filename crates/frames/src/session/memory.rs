//! The memory pool of one search, or of all.
//!
//! In DataFusion's fair pool, sorts may take all memory: first for rows before they spill, and then for
//! merging as many spilled files at a time as fit, although they could merge fewer. Then no memory is left
//! for the operator above, which merges the partitions and cannot do with less. Here, a part of the memory is
//! not available to sorts.
//!
//! A search starts with a small part of its memory, and requests the rest when necessary: it is unknown in
//! advance whether a `stats` by host has ten groups or ten million, and small searches should not wait for
//! memory that they do not use.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use datafusion::common::resources_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

use crate::exhausted::POOL_SIZE;

/// Divisor of a pool: the share reserved for operators that cannot spill.
const KEPT: usize = 8;
/// DataFusion's name for the merge memory of a sort, which can work with less.
const SORT_MERGE: &str = "ExternalSorterMerge";

/// The source of the rest of a search's memory.
pub trait MemoryRoom: fmt::Debug + Send + Sync {
    /// Takes the rest. Blocks the thread until it is available.
    ///
    /// # Errors
    /// If the search was cancelled, or this thread cannot wait.
    fn take(&self) -> Result<()>;

    /// Takes the rest if it is available now, for callers that cannot wait and continue in either case.
    fn take_if_free(&self) -> bool;
}

/// The memory of one search for sorts, groups and joins, and the same amount again for computed values.
#[derive(Debug, Clone)]
pub struct SearchMemory {
    /// Total memory in bytes.
    pub bytes: usize,
    /// Initial share in bytes.
    pub first: usize,
    /// The source of the rest; `None` if all memory is available from the start.
    pub room: Option<Arc<dyn MemoryRoom>>,
}

impl SearchMemory {
    /// Returns memory that is completely available from the start.
    #[must_use]
    pub fn at_once(bytes: usize) -> Self {
        Self { bytes, first: bytes, room: None }
    }
}

/// Whether a consumer continues with less memory after a refusal.
fn is_modest(consumer: &MemoryConsumer) -> bool {
    consumer.can_spill() || consumer.name().starts_with(SORT_MERGE)
}

/// A fair pool that reserves an eighth for operators that cannot spill.
#[derive(Debug)]
pub(crate) struct Pool {
    fair: FairSpillPool,
    bytes: usize,
    /// Memory held by consumers that can work with less.
    modest: AtomicUsize,
    /// Memory available before the rest is taken.
    first: usize,
    room: Option<Arc<dyn MemoryRoom>>,
    has_all: AtomicBool,
}

impl Pool {
    pub(crate) fn new(memory: SearchMemory) -> Self {
        let SearchMemory { bytes, first, room } = memory;
        let fair = FairSpillPool::new(bytes);
        let (modest, has_all) = (AtomicUsize::new(0), AtomicBool::new(room.is_none()));
        Self { fair, bytes, modest, first, room, has_all }
    }

    /// Returns the source of the rest, if it is needed to allocate this much more.
    fn needed(&self, additional: usize) -> Option<&dyn MemoryRoom> {
        let is_small = || self.fair.reserved().saturating_add(additional) <= self.first;
        if self.has_all.load(Relaxed) || is_small() { None } else { self.room.as_deref() }
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.fair, f)
    }
}

impl MemoryPool for Pool {
    fn name(&self) -> &str {
        self.fair.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.fair.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.fair.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        if self.needed(additional).is_some_and(MemoryRoom::take_if_free) {
            self.has_all.store(true, Relaxed);
        }
        self.fair.grow(reservation, additional);
        if is_modest(reservation.consumer()) {
            self.modest.fetch_add(additional, Relaxed);
        }
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.fair.shrink(reservation, shrink);
        if is_modest(reservation.consumer()) {
            self.modest.fetch_sub(shrink, Relaxed);
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if let Some(room) = self.needed(additional) {
            room.take()?;
            self.has_all.store(true, Relaxed);
        }
        if !is_modest(reservation.consumer()) {
            return self.fair.try_grow(reservation, additional);
        }
        let most = self.bytes - self.bytes / KEPT;
        let held = self.modest.fetch_add(additional, Relaxed);
        let grown = if held + additional > most {
            let name = reservation.consumer().name();
            let all = self.bytes >> 20;
            resources_err!(
                "{name} has to do with less: {held} of {most} bytes are held ({POOL_SIZE}{all} MB)"
            )
        } else {
            self.fair.try_grow(reservation, additional)
        };
        if grown.is_err() {
            self.modest.fetch_sub(additional, Relaxed);
        }
        grown
    }

    fn reserved(&self) -> usize {
        self.fair.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.fair.memory_limit()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A source that grants or refuses memory, and counts the requests.
    #[derive(Debug, Default)]
    struct Counted {
        is_full: AtomicBool,
        asked: AtomicUsize,
    }

    impl MemoryRoom for Counted {
        fn take(&self) -> Result<()> {
            if self.take_if_free() { Ok(()) } else { resources_err!("no room") }
        }

        fn take_if_free(&self) -> bool {
            self.asked.fetch_add(1, Relaxed);
            !self.is_full.load(Relaxed)
        }
    }

    #[test]
    fn room_is_taken_once_and_only_when_it_is_needed() {
        let room = Arc::new(Counted::default());
        let asked = || room.asked.load(Relaxed);
        let own = Some(Arc::clone(&room) as Arc<dyn MemoryRoom>);
        let memory = SearchMemory { bytes: 800, first: 100, room: own };
        let pool: Arc<dyn MemoryPool> = Arc::new(Pool::new(memory));
        let groups = MemoryConsumer::new("groups").register(&pool);
        groups.try_grow(100).unwrap();
        assert_eq!(asked(), 0);
        room.is_full.store(true, Relaxed);
        assert!(groups.try_grow(1).is_err());
        groups.grow(1);
        assert_eq!((asked(), pool.reserved()), (2, 101));
        room.is_full.store(false, Relaxed);
        groups.try_grow(1).unwrap();
        groups.try_grow(500).unwrap();
        assert_eq!((asked(), pool.reserved()), (3, 602));
    }

    #[test]
    fn sorts_leave_a_part_to_what_is_above_them() {
        let pool: Arc<dyn MemoryPool> = Arc::new(Pool::new(SearchMemory::at_once(800)));
        let one = MemoryConsumer::new("sort").with_can_spill(true).register(&pool);
        assert!(one.try_grow(701).is_err());
        one.try_grow(700).unwrap();
        assert!(one.try_grow(1).is_err());
        let runs = MemoryConsumer::new(format!("{SORT_MERGE}[0]")).register(&pool);
        assert!(runs.try_grow(1).is_err());
        let merge = MemoryConsumer::new("merge").register(&pool);
        merge.try_grow(100).unwrap();
        assert!(merge.try_grow(1).is_err(), "the pool is full");
        one.free();
        merge.try_grow(700).unwrap();
        assert_eq!(pool.reserved(), 800);
    }
}

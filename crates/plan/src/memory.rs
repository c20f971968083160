//! The memory of one search, or of all.
//!
//! DataFusion's fair pool lets sorts take everything there is: for rows before they spill, and then for as
//! many spilled files at a time as have room, since fewer can be merged too. The operator above, which
//! merges the partitions and has no choice, then finds nothing left. Here a part is out of the reach of
//! sorts.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use datafusion::common::resources_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

/// The part of a pool that is kept for operators that need what they ask for.
const KEPT: usize = 8;
/// How DataFusion calls the memory of a sort for merging; it does with less.
const SORT_MERGE: &str = "ExternalSorterMerge";

/// Whether a consumer goes on with less when it is refused.
fn is_modest(consumer: &MemoryConsumer) -> bool {
    consumer.can_spill() || consumer.name().starts_with(SORT_MERGE)
}

/// A fair pool in which an eighth is kept for operators that need what they ask for.
#[derive(Debug)]
pub(crate) struct Pool {
    fair: FairSpillPool,
    bytes: usize,
    /// What those hold that go on with less.
    modest: AtomicUsize,
}

impl Pool {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { fair: FairSpillPool::new(bytes), bytes, modest: AtomicUsize::new(0) }
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
        if !is_modest(reservation.consumer()) {
            return self.fair.try_grow(reservation, additional);
        }
        let most = self.bytes - self.bytes / KEPT;
        let held = self.modest.fetch_add(additional, Relaxed);
        let grown = if held + additional > most {
            let name = reservation.consumer().name();
            resources_err!(
                "{name} has to do with less: sorts and groups hold {held} of {most} bytes"
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
    use std::sync::Arc;

    use super::*;

    #[test]
    fn sorts_leave_a_part_to_what_is_above_them() {
        let pool: Arc<dyn MemoryPool> = Arc::new(Pool::new(800));
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

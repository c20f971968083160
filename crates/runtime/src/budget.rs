//! A memory budget shared by all requests, in bytes.
//!
//! A request acquires its share incrementally while its body arrives and is decompressed, so an
//! idle request holds no memory. If the budget is exhausted, it waits for a bounded time. Parts of
//! the budget are reserved for small shares: neither a few requests of hundreds of megabytes nor
//! hundreds of one megabyte block ordinary ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use metrics::{counter, gauge};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::metrics as names;

/// Shares up to this size may use the whole budget.
const TINY: usize = 64 << 10;
/// Larger shares leave the last sixteenth to tiny ones; shares above this size leave the last
/// eighth.
const SMALL: usize = 1 << 20;

/// A memory budget for requests. Clones share it.
#[derive(Debug, Clone)]
pub struct Budget(Arc<State>);

#[derive(Debug)]
struct State {
    capacity: usize,
    wait: Duration,
    used: AtomicUsize,
    freed: Notify,
}

/// Why a share cannot grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    /// Other requests use the memory; the request can be retried.
    #[error(
        "requests in progress hold all memory for requests ({capacity} bytes); send again later"
    )]
    Busy {
        /// The whole budget.
        capacity: usize,
    },
    /// The request alone exceeds the maximum share.
    #[error(
        "the request needs more memory than all requests may take ({capacity} bytes); send smaller requests"
    )]
    TooLarge {
        /// The maximum share.
        capacity: usize,
    },
}

impl Budget {
    /// Creates a budget of `capacity` bytes; shares wait up to `wait` for memory.
    #[must_use]
    pub fn new(capacity: usize, wait: Duration) -> Self {
        let (used, freed) = (AtomicUsize::new(0), Notify::new());
        Self(Arc::new(State { capacity, wait, used, freed }))
    }

    /// Returns the whole budget in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Returns the number of bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Returns an empty share.
    #[must_use]
    pub fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

impl State {
    /// Returns the fill level of the budget up to which a share of this size may grow.
    fn bound(&self, share: usize) -> usize {
        let kept = if share <= TINY {
            0
        } else if share <= SMALL {
            self.capacity / 16
        } else {
            self.capacity / 8
        };
        self.capacity - kept
    }

    fn try_take(&self, more: usize, bound: usize) -> bool {
        let take = |used: usize| used.checked_add(more).filter(|used| *used <= bound);
        let taken = self.used.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take);
        if let Ok(before) = taken {
            gauge!(names::REQUEST_MEMORY).set((before + more) as f64);
        }
        taken.is_ok()
    }

    fn give(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        gauge!(names::REQUEST_MEMORY).set(before.saturating_sub(bytes) as f64);
        self.freed.notify_waiters();
    }
}

/// The memory share of a request; released on drop.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    bytes: usize,
}

impl Share {
    /// Returns the number of bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Acquires more bytes, waiting up to the time limit of the budget.
    ///
    /// # Errors
    /// [`OverBudget`]; the share is unchanged.
    pub async fn grow(&mut self, more: usize) -> Result<(), OverBudget> {
        let state = Arc::clone(&self.budget.0);
        let total = self.bytes.saturating_add(more);
        let bound = state.bound(total);
        if total > bound {
            return Err(refused(OverBudget::TooLarge { capacity: bound }));
        }
        let deadline = Instant::now() + state.wait;
        loop {
            // Registered before the check, so that memory released in between is not missed.
            let freed = state.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if state.try_take(more, bound) {
                self.bytes = total;
                return Ok(());
            }
            if timeout_at(deadline, freed).await.is_err() {
                return Err(refused(OverBudget::Busy { capacity: state.capacity }));
            }
        }
    }

    /// Releases all memory except `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        if bytes < self.bytes {
            self.budget.0.give(self.bytes - bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.give(self.bytes);
    }
}

fn refused(reason: OverBudget) -> OverBudget {
    let label = match reason {
        OverBudget::Busy { .. } => "busy",
        OverBudget::TooLarge { .. } => "too_large",
    };
    counter!(names::REQUEST_MEMORY_REFUSED, "reason" => label).increment(1);
    reason
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[tokio::test(start_paused = true)]
    async fn a_share_waits_for_what_others_hold_and_is_refused_after_the_wait() {
        let budget = Budget::new(16 * MIB, Duration::from_secs(5));
        let mut first = budget.share();
        first.grow(12 * MIB).await.unwrap();
        let mut second = budget.share();
        let busy = second.grow(4 * MIB).await;
        assert_eq!(busy, Err(OverBudget::Busy { capacity: 16 * MIB }));
        let waiting = tokio::spawn(async move { second.grow(4 * MIB).await.map(|()| second) });
        tokio::task::yield_now().await;
        first.shrink_to(2 * MIB);
        let second = waiting.await.unwrap().unwrap();
        assert_eq!((second.bytes(), budget.used()), (4 * MIB, 6 * MIB));
        drop((first, second));
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn large_shares_leave_room_for_small_ones() {
        let budget = Budget::new(16 * MIB, Duration::from_secs(5));
        let mut large = budget.share();
        let too_large = large.grow(15 * MIB).await;
        assert_eq!(too_large, Err(OverBudget::TooLarge { capacity: 14 * MIB }));
        large.grow(14 * MIB).await.unwrap();
        let mut small = budget.share();
        small.grow(MIB).await.unwrap();
        assert_eq!(budget.used(), 15 * MIB);
    }

    #[tokio::test(start_paused = true)]
    async fn small_shares_leave_room_for_tiny_ones() {
        let budget = Budget::new(16 * MIB, Duration::from_secs(5));
        let mut shares = Vec::new();
        for _ in 0..15 {
            let mut share = budget.share();
            share.grow(MIB).await.unwrap();
            shares.push(share);
        }
        let mut small = budget.share();
        assert_eq!(small.grow(MIB).await, Err(OverBudget::Busy { capacity: 16 * MIB }));
        small.grow(TINY).await.unwrap();
        let mut growing = budget.share();
        growing.grow(TINY).await.unwrap();
        let refused = growing.grow(MIB - TINY).await;
        assert_eq!(refused, Err(OverBudget::Busy { capacity: 16 * MIB }));
    }
}

//! Counters of reads per tier, for the process and for one search.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runtime::metrics as names;

use crate::waits::{StoreWait, Times, Wait, Waits};

/// The tier that a block was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Dram,
    Nvme,
    Store,
}

impl Tier {
    fn name(self) -> &'static str {
        match self {
            Self::Dram => "dram",
            Self::Nvme => "nvme",
            Self::Store => "store",
        }
    }
}

/// Cost of the reads so far. Bytes are those of whole blocks, not of the requested ranges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Bytes of blocks found in DRAM.
    pub dram_bytes: u64,
    /// Bytes of blocks read from NVMe.
    pub nvme_bytes: u64,
    /// Bytes read from the store.
    pub store_bytes: u64,
    /// Blocks found in DRAM.
    pub dram_hits: u64,
    /// Blocks found on NVMe.
    pub nvme_hits: u64,
    /// Blocks that were fetched from the store, including those that another reader was already fetching.
    pub store_reads: u64,
    /// Requests that were sent to the store, without retries and hedged requests.
    pub store_requests: u64,
    /// Requests that were retried because the store failed or refused the previous attempt.
    pub store_retries: u64,
    /// Hedged requests: second requests for slow reads.
    pub store_hedges: u64,
    /// Time of reads from DRAM, summed over blocks.
    pub dram_micros: u64,
    /// Time of reads from NVMe, summed over blocks, including those read concurrently.
    pub nvme_micros: u64,
    /// Time of requests to the store, summed over requests, including concurrent ones.
    pub store_micros: u64,
}

impl CacheStats {
    /// Share of the blocks that did not come from the store, 0 to 1; 1 if nothing was read.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn hit_rate(&self) -> f64 {
        let hits = self.dram_hits + self.nvme_hits;
        let all = hits + self.store_reads;
        if all == 0 { 1.0 } else { hits as f64 / all as f64 }
    }
}

#[derive(Debug, Default)]
struct TierCounters {
    bytes: AtomicU64,
    blocks: AtomicU64,
    micros: AtomicU64,
}

/// Counters of the reads of one search or of the whole process. Passed to [`CachedStore::counted`]; they
/// can be read at any time.
///
/// [`CachedStore::counted`]: crate::CachedStore::counted
#[derive(Debug, Default)]
pub struct SearchReads {
    tiers: [TierCounters; 3],
    requests: AtomicU64,
    retries: AtomicU64,
    hedges: AtomicU64,
    waits: Waits,
}

impl SearchReads {
    /// How long the search waits for the store; `None` if it has not asked the store for anything.
    #[must_use]
    pub fn store_wait(&self) -> Option<StoreWait> {
        self.waits.now()
    }

    /// The current counts.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let [dram, nvme, store] = &self.tiers;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStats {
            dram_bytes: read(&dram.bytes),
            nvme_bytes: read(&nvme.bytes),
            store_bytes: read(&store.bytes),
            dram_hits: read(&dram.blocks),
            nvme_hits: read(&nvme.blocks),
            store_reads: read(&store.blocks),
            store_requests: read(&self.requests),
            store_retries: read(&self.retries),
            store_hedges: read(&self.hedges),
            dram_micros: read(&dram.micros),
            nvme_micros: read(&nvme.micros),
            store_micros: read(&store.micros),
        }
    }

    fn add(&self, tier: Tier, blocks: u64, bytes: u64, time: Duration) {
        let counters = &self.tiers[tier as usize];
        counters.blocks.fetch_add(blocks, Ordering::Relaxed);
        counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        counters.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// The counters to which reads are added: those of the process and, if there is one, of a search.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) total: Arc<SearchReads>,
    pub(crate) search: Option<Arc<SearchReads>>,
    /// The name of the store, for messages.
    pub(crate) store: Arc<str>,
    /// Whether blocks are read ahead of searches: such reads are not in the metrics of reads.
    pub(crate) is_warming: bool,
}

impl Account {
    fn each(&self, add: impl Fn(&SearchReads)) {
        add(&self.total);
        if let Some(search) = &self.search {
            add(search);
        }
    }

    /// Counts the search as waiting for a request to the store until the returned value is dropped.
    pub(crate) fn wait(&self, times: Arc<Times>) -> Option<Wait> {
        self.search.as_ref().map(|search| search.waits.begin(&self.store, times))
    }

    /// Counts blocks read from a tier.
    pub(crate) fn blocks(&self, tier: Tier, blocks: u64, bytes: u64, time: Duration) {
        self.each(|counters| counters.add(tier, blocks, bytes, time));
        if self.is_warming {
            return;
        }
        metrics::counter!(names::CACHE_READS, "tier" => tier.name()).increment(blocks);
        metrics::counter!(names::CACHE_BYTES, "tier" => tier.name()).increment(bytes);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        metrics::counter!(names::CACHE_MICROS, "tier" => tier.name()).increment(micros);
    }

    /// Counts a hedged request.
    pub(crate) fn hedge(&self) {
        self.each(|counters| {
            counters.hedges.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Counts retries of requests.
    pub(crate) fn retries(&self, count: u64) {
        if count > 0 {
            self.each(|counters| {
                counters.retries.fetch_add(count, Ordering::Relaxed);
            });
            metrics::counter!(names::CACHE_RETRIES).increment(count);
        }
    }

    /// Counts a request that is about to be sent: it is charged even if the search ends before the answer.
    pub(crate) fn request(&self) {
        self.each(|counters| {
            counters.requests.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Counts the answer to a request.
    pub(crate) fn answer(&self, bytes: u64, time: Duration) {
        self.blocks(Tier::Store, 0, bytes, time);
    }
}

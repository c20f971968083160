//! Two pools of blocks, one for footers and term indexes and one for rows, each in DRAM and on NVMe.
//!
//! Reads through one pool cannot evict blocks of the other: a full scan leaves the footers and term indexes
//! in place. Blocks of the index pool are also smaller, because a lookup needs only a few KB.

use std::fs::File;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use foyer::{
    BlockEngineConfig, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder,
    HybridCachePolicy, HybridCacheProperties, Location, S3FifoConfig, Source,
};
use runtime::metrics as names;

use crate::block::{Block, BlockKey};
use crate::counters::{Account, Tier};
use crate::in_flight::InFlight;
use crate::reuse::{CacheCurve, ReuseSampler};
use crate::room::Room;
use crate::settings::region;
use crate::{Error, Settings};

/// Number of DRAM shards, each with a lock of its own; each must hold several blocks.
const SHARDS: usize = 8;
const BLOCKS_PER_SHARD: usize = 32;

/// The cached blocks of one kind.
pub(crate) struct Pool {
    /// The name of the pool, for metrics and its directory.
    name: &'static str,
    pub(crate) block_bytes: usize,
    cache: HybridCache<BlockKey, Block>,
    /// The free space of the file system of the NVMe tier, if there is one.
    room: Option<Arc<Room>>,
    pub(crate) in_flight: InFlight,
    /// Samples the lookups, for estimates of other sizes.
    pub(crate) reuse: ReuseSampler,
}

impl Pool {
    /// Opens the pools of both kinds, in the order of `Kind`.
    pub(crate) async fn open(
        settings: &Settings,
        room: Option<&Arc<Room>>,
    ) -> Result<[Self; 2], Error> {
        let share = |bytes: usize| (bytes / 100 * settings.index_percent).next_multiple_of(1 << 20);
        let (dram, nvme) = (share(settings.dram_bytes), share(settings.nvme_bytes));
        let block = settings.index_block_bytes;
        let reuse = ReuseSampler::new(settings, settings.index_percent);
        let index = Self::build("index", block, (dram, nvme), reuse, settings).await?;
        let (dram, nvme) = (settings.dram_bytes - dram, settings.nvme_bytes - nvme);
        let block = settings.block_bytes;
        let reuse = ReuseSampler::new(settings, 100 - settings.index_percent);
        let data = Self::build("data", block, (dram, nvme), reuse, settings).await?;
        Ok([index, data].map(|pool| Self { room: room.cloned(), ..pool }))
    }

    async fn build(
        name: &'static str,
        block_bytes: usize,
        (dram, nvme): (usize, usize),
        reuse: ReuseSampler,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let path = settings.directory.join(name);
        let directory = |error: foyer::Error| failed(&path, &error);
        let memory = HybridCacheBuilder::new()
            .with_name(name)
            .with_policy(HybridCachePolicy::WriteOnInsertion)
            .with_flush_on_close(false)
            .memory(dram)
            .with_shards((dram / block_bytes / BLOCKS_PER_SHARD).clamp(1, SHARDS))
            // S3-FIFO: blocks that are read once stay in the small queue and do not evict frequently used
            // ones.
            .with_eviction_config(S3FifoConfig::default())
            .with_weighter(|_: &BlockKey, block: &Block| block.weight());
        let storage = memory.storage();
        let cache = if nvme == 0 {
            storage.build().await.map_err(directory)?
        } else {
            let device = FsDeviceBuilder::new(&path).with_capacity(nvme).build();
            let engine = BlockEngineConfig::new(device.map_err(directory)?)
                .with_block_size(region(nvme))
                .with_buffer_pool_size(settings.nvme_buffer_bytes)
                .with_submit_queue_size_threshold(settings.nvme_buffer_bytes * 2);
            storage.with_engine_config(engine).build().await.map_err(directory)?
        };
        Ok(Self { name, block_bytes, cache, room: None, in_flight: InFlight::default(), reuse })
    }

    /// The number of blocks that `bytes` bytes take.
    pub(crate) fn blocks_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.block_bytes as u64)
    }

    /// Looks up a block in DRAM, then on NVMe.
    pub(crate) async fn look_up(&self, key: &BlockKey, account: &Account) -> Option<Block> {
        let start = Instant::now();
        if let Some(block) = self.in_dram(key) {
            account.blocks(Tier::Dram, 1, block.data.len() as u64, start.elapsed());
            return Some(block);
        }
        if !self.cache.storage().may_contains(key) {
            return None;
        }
        // A failure of the tier counts as a miss, because the store has every block.
        let entry = self.cache.get(key).await.ok()??;
        let tier = if entry.source() == Source::Disk { Tier::Nvme } else { Tier::Dram };
        let block = entry.value().clone();
        account.blocks(tier, 1, block.data.len() as u64, start.elapsed());
        Some(block)
    }

    /// Looks up a block in DRAM.
    pub(crate) fn in_dram(&self, key: &BlockKey) -> Option<Block> {
        self.cache.memory().get(key).map(|entry| entry.value().clone())
    }

    /// The tier of a block, without reading it or marking it as used. The NVMe tier compares hashes, so
    /// that a block may be reported as being there although it is not.
    pub(crate) fn tier_of(&self, key: &BlockKey) -> Tier {
        if self.cache.memory().contains(key) {
            return Tier::Dram;
        }
        if self.cache.storage().may_contains(key) { Tier::Nvme } else { Tier::Store }
    }

    pub(crate) fn insert(&self, key: BlockKey, block: Block) {
        let has_room = self.room.as_ref().is_none_or(|room| room.take(block.weight()));
        let location = if has_room { Location::Default } else { Location::InMem };
        let properties = HybridCacheProperties::default().with_location(location);
        self.cache.insert_with_properties(key, block, properties);
    }

    pub(crate) fn remove(&self, key: &BlockKey) {
        self.cache.remove(key);
    }

    pub(crate) async fn clear(&self) -> Result<(), Error> {
        let cleared = self.cache.clear().await;
        self.report_use();
        cleared.map_err(|error| Error::Tier { what: "be emptied", reason: error.to_string() })
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        let closed = self.cache.close().await;
        closed.map_err(|error| Error::Tier { what: "be closed", reason: error.to_string() })
    }

    /// The estimates for other sizes.
    pub(crate) fn curve(&self) -> CacheCurve {
        self.reuse.curve(self.name)
    }

    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn report_use(&self) {
        let used = self.cache.memory().usage() as f64;
        metrics::gauge!(names::CACHE_USED, "kind" => self.name).set(used);
    }
}

/// Locks the directory for this process until the file is dropped.
pub(crate) fn lock_directory(path: &FilePath) -> Result<File, Error> {
    std::fs::create_dir_all(path).map_err(|error| failed(path, &error))?;
    let file = File::create(path.join("lock")).map_err(|error| failed(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::InUse { path: path.to_owned() }),
        Err(std::fs::TryLockError::Error(error)) => Err(failed(path, &error)),
    }
}

fn failed(path: &FilePath, error: &impl ToString) -> Error {
    Error::Directory { path: PathBuf::from(path), reason: error.to_string() }
}

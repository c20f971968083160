//! Two pools of blocks, one for what helps to find rows and one for the rows, each in DRAM and on NVMe.
//!
//! Nothing that goes through one pool can push anything out of the other: a scan over everything leaves
//! the footers and term indexes where they are. Their blocks are smaller, too: a lookup needs a few KB.

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
use crate::room::Room;
use crate::settings::region;
use crate::{Error, Settings};

/// Parts of the memory that are locked on their own; each must have room for a few blocks.
const SHARDS: usize = 8;
const BLOCKS_PER_SHARD: usize = 32;

/// Blocks of one kind.
pub(crate) struct Pool {
    /// What is in it, for metrics and as the name of its directory.
    name: &'static str,
    pub(crate) block_bytes: usize,
    cache: HybridCache<BlockKey, Block>,
    /// Of the file system of the NVMe tier, if there is one.
    room: Option<Arc<Room>>,
    pub(crate) in_flight: InFlight,
}

impl Pool {
    /// The pools of both kinds, in their order.
    pub(crate) async fn open(
        settings: &Settings,
        room: Option<&Arc<Room>>,
    ) -> Result<[Self; 2], Error> {
        let share = |bytes: usize| (bytes / 100 * settings.index_percent).next_multiple_of(1 << 20);
        let (dram, nvme) = (share(settings.dram_bytes), share(settings.nvme_bytes));
        let index = Self::build("index", settings.index_block_bytes, dram, nvme, settings).await?;
        let (dram, nvme) = (settings.dram_bytes - dram, settings.nvme_bytes - nvme);
        let data = Self::build("data", settings.block_bytes, dram, nvme, settings).await?;
        Ok([index, data].map(|pool| Self { room: room.cloned(), ..pool }))
    }

    async fn build(
        name: &'static str,
        block_bytes: usize,
        dram: usize,
        nvme: usize,
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
            // What is read once goes through the small queue and does not push out what is used often.
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
        Ok(Self { name, block_bytes, cache, room: None, in_flight: InFlight::default() })
    }

    /// How many blocks so many bytes are.
    pub(crate) fn blocks_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.block_bytes as u64)
    }

    /// A block, from DRAM or NVMe.
    pub(crate) async fn look_up(&self, key: &BlockKey, account: &Account) -> Option<Block> {
        let start = Instant::now();
        if let Some(block) = self.in_dram(key) {
            account.blocks(Tier::Dram, 1, block.data.len() as u64, start.elapsed());
            return Some(block);
        }
        if !self.cache.storage().may_contains(key) {
            return None;
        }
        // A tier that fails is a miss: the store has every block.
        let entry = self.cache.get(key).await.ok()??;
        let tier = if entry.source() == Source::Disk { Tier::Nvme } else { Tier::Dram };
        let block = entry.value().clone();
        account.blocks(tier, 1, block.data.len() as u64, start.elapsed());
        Some(block)
    }

    /// A block that is in DRAM.
    pub(crate) fn in_dram(&self, key: &BlockKey) -> Option<Block> {
        self.cache.memory().get(key).map(|entry| entry.value().clone())
    }

    /// Where a block is, without reading it or marking it as used. A block that is not on NVMe may be taken
    /// for one that is, as the tier compares hashes.
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

    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn report_use(&self) {
        let used = self.cache.memory().usage() as f64;
        metrics::gauge!(names::CACHE_USED, "kind" => self.name).set(used);
    }
}

/// Takes the directory for this process until the file is dropped.
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

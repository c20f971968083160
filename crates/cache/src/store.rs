//! The cache as an object store.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use foyer::CacheBuilder;
use futures::future::join_all;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use model::IndexRead;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, RenameOptions, Result,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use crate::block::{Block, BlockKey, Kind};
use crate::blocks::Blocks;
use crate::counters::{Account, SearchReads, Tier};
use crate::fetch::fetch;
use crate::hedge::Hedging;
use crate::pool::{Pool, lock_directory};
use crate::reuse::CacheCurve;
use crate::room::{Room, used};
use crate::waits::Times;
use crate::{CacheStats, Error, Settings};

/// A store whose immutable objects are read through DRAM and NVMe. Clones share the cache.
#[derive(Clone)]
pub struct CachedStore {
    blocks: Arc<Blocks>,
    account: Account,
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.blocks.inner;
        f.debug_struct("CachedStore").field("inner", inner).field("stats", &self.stats()).finish()
    }
}

impl fmt::Display for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CachedStore({})", self.blocks.inner)
    }
}

impl CachedStore {
    /// Opens a cache in front of a store. Blocks that an earlier process left on NVMe are used.
    ///
    /// # Errors
    /// If a setting is invalid, or the directory cannot be used or is used by another process.
    pub async fn open(inner: Arc<dyn ObjectStore>, settings: Settings) -> Result<Self, Error> {
        settings.validate()?;
        let lock = settings.nvme_bytes > 0;
        let lock = lock.then(|| lock_directory(&settings.directory)).transpose()?;
        let found_at_start = if lock.is_some() { used(&settings.directory) } else { 0 };
        let room = (settings.nvme_bytes > 0).then(|| Room::open(&settings));
        let store: Arc<str> = inner.to_string().into();
        let hedging = Hedging::new(settings.hedge_percent, settings.hedge_min_delay);
        let blocks = Blocks {
            inner,
            pools: Pool::open(&settings, room.as_ref()).await?,
            room,
            requests: Semaphore::new(settings.parallel_fetches),
            hedging: Mutex::new(hedging),
            metas: CacheBuilder::new(settings.objects).build(),
            io: Handle::current(),
            settings,
            found_at_start,
            _lock: lock,
        };
        let account = Account { total: Arc::default(), search: None, store, is_warming: false };
        Ok(Self { blocks: Arc::new(blocks), account })
    }

    /// Sets the name of the store in messages. Default: the name given by its library.
    #[must_use]
    pub fn named(mut self, store: &str) -> Self {
        self.account.store = Arc::from(store);
        self
    }

    /// The same cache, with reads also counted for one search.
    #[must_use]
    pub fn counted(&self, reads: &Arc<SearchReads>) -> Self {
        let total = Arc::clone(&self.account.total);
        let store = Arc::clone(&self.account.store);
        let search = Some(Arc::clone(reads));
        let account = Account { total, search, store, is_warming: self.account.is_warming };
        Self { blocks: Arc::clone(&self.blocks), account }
    }

    /// The same cache for reads ahead of searches, which are counted in `reads` only: neither in the totals
    /// of this process nor in the estimates for other sizes.
    #[must_use]
    pub fn warming(&self, reads: &Arc<SearchReads>) -> Self {
        let (total, store) = (Arc::clone(reads), Arc::clone(&self.account.store));
        let account = Account { total, search: None, store, is_warming: true };
        Self { blocks: Arc::clone(&self.blocks), account }
    }

    /// Size of the part of the cache for footers and term indexes in bytes, in its larger tier.
    #[must_use]
    pub fn index_bytes(&self) -> u64 {
        let settings = &self.blocks.settings;
        let bytes = settings.dram_bytes.max(settings.nvme_bytes) / 100 * settings.index_percent;
        bytes as u64
    }

    /// Size of the blocks that an earlier process left on NVMe, in bytes; 0 if there is no NVMe tier.
    #[must_use]
    pub fn found_at_start(&self) -> u64 {
        self.blocks.found_at_start
    }

    /// Whether this process has to fill its cache with much data, given the size of its share of the stored
    /// data: NVMe was empty at the start, and tier and share are large. DRAM alone does not count: it is
    /// filled within a short time, and is empty after every start.
    #[must_use]
    pub fn starts_cold(&self, share: u64) -> bool {
        is_cold(self.blocks.found_at_start, self.blocks.settings.nvme_bytes as u64, share)
    }

    /// Whether more than half of the requests to the store that may run at the same time are running.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let free = self.blocks.requests.available_permits();
        free.saturating_mul(2) < self.blocks.settings.parallel_fetches
    }

    /// Total cost of the reads of this process.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        self.account.total.stats()
    }

    /// What the pools of this cache would read from the store with other sizes, since the start.
    #[must_use]
    pub fn curves(&self) -> Vec<CacheCurve> {
        self.blocks.pools.iter().map(Pool::curve).collect()
    }

    /// The reason why nothing is written to NVMe at the moment. `None` if there is no NVMe tier.
    #[must_use]
    pub fn nvme_full(&self) -> Option<watch::Receiver<Option<Arc<str>>>> {
        self.blocks.room.as_ref().map(|room| room.full())
    }

    /// Drops the cached blocks of an object of this size: the next read comes from the store.
    pub fn forget(&self, location: &Path, size: u64) {
        self.blocks.forget(location, size);
    }

    /// Drops everything from DRAM and NVMe, so that a benchmark can start cold.
    ///
    /// # Errors
    /// If the NVMe tier fails.
    pub async fn clear(&self) -> Result<(), Error> {
        self.blocks.metas.clear();
        for pool in &self.blocks.pools {
            pool.clear().await?;
        }
        Ok(())
    }

    /// Writes the blocks waiting for NVMe and closes the tier; reads continue without it.
    ///
    /// # Errors
    /// If the NVMe tier fails.
    pub async fn close(&self) -> Result<(), Error> {
        for pool in &self.blocks.pools {
            pool.close().await?;
        }
        Ok(())
    }

    pub(crate) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn caches(&self, location: &Path) -> bool {
        location.as_ref().starts_with(&self.blocks.settings.prefix)
    }

    /// The metadata of an object: cached, or requested from the store.
    async fn meta(&self, location: &Path) -> Result<ObjectMeta> {
        if let Some(meta) = self.blocks.known(location) {
            return Ok(meta);
        }
        // The first block of an object on NVMe carries its metadata, too.
        let first = BlockKey { path: Arc::from(location.as_ref()), number: 0 };
        if let Some(block) = self.blocks.pool(Kind::Data).look_up(&first, &self.account).await {
            let meta = block.meta(location);
            self.blocks.remember(&meta);
            return Ok(meta);
        }
        let start = Instant::now();
        let times = Arc::new(Times::default());
        let wait = self.account.wait(Arc::clone(&times));
        times.send();
        self.account.request();
        let meta = self.blocks.inner.head(location).await?;
        drop(wait);
        self.account.answer(0, start.elapsed());
        self.blocks.remember(&meta);
        Ok(meta)
    }

    /// Loads the blocks with these numbers; blocks beyond the end of the object are omitted.
    async fn load(&self, kind: Kind, location: &Path, numbers: &BTreeSet<u64>) -> Result<Loaded> {
        let pool = self.blocks.pool(kind);
        let path: Arc<str> = Arc::from(location.as_ref());
        let mut meta = self.blocks.known(location);
        let span = numbers.last().zip(numbers.first()).map_or(0, |(last, first)| last - first);
        if meta.is_none() && span >= self.blocks.longest_run(kind) {
            // A range that ends beyond the object can only be cut into requests if the size is known.
            meta = Some(self.meta(location).await?);
        }
        let end = meta.as_ref().map_or(u64::MAX, |meta| pool.blocks_of(meta.size));
        let within = numbers.iter().copied().take_while(|number| *number < end);
        let keys: Vec<_> =
            within.map(|number| BlockKey { path: Arc::clone(&path), number }).collect();
        let hits = join_all(keys.iter().map(|key| pool.look_up(key, &self.account))).await;
        let mut blocks = HashMap::with_capacity(keys.len());
        let mut missing = Vec::new();
        for (key, hit) in keys.into_iter().zip(hits) {
            match hit {
                Some(block) => drop(blocks.insert(key.number, block)),
                None => missing.push(key),
            }
        }
        if !missing.is_empty() {
            let count = missing.len() as u64;
            self.account.blocks(Tier::Store, count, 0, Duration::ZERO);
            blocks.extend(fetch(&self.blocks, kind, location, &missing, &self.account).await?);
        }
        let sizes = blocks.iter().map(|(number, block)| (*number, block.data.len() as u64));
        if !self.account.is_warming {
            pool.reuse.record(&path, sizes);
        }
        let seen = blocks.values().next().map(|block| block.meta(location));
        if let (None, Some(seen)) = (&meta, &seen) {
            self.blocks.remember(seen);
        }
        Ok(Loaded { kind, meta: meta.or(seen), blocks })
    }

    /// The numbers of the blocks that a range overlaps.
    fn numbers(&self, kind: Kind, range: &Range<u64>) -> Range<u64> {
        let pool = self.blocks.pool(kind);
        range.start / pool.block_bytes as u64..pool.blocks_of(range.end)
    }

    /// The parts of blocks that make up a range, in order.
    fn slices(&self, loaded: &Loaded, range: &Range<u64>) -> Vec<Bytes> {
        let size = self.blocks.pool(loaded.kind).block_bytes as u64;
        let mut slices = Vec::new();
        for number in self.numbers(loaded.kind, range) {
            let Some(block) = loaded.blocks.get(&number) else { break };
            let begin = number * size;
            let length = block.data.len() as u64;
            let from = range.start.saturating_sub(begin).min(length);
            let to = range.end.saturating_sub(begin).min(length);
            // Both offsets are within a block, whose length is a usize.
            slices.push(block.data.slice(from as usize..to as usize));
        }
        slices
    }

    async fn read(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let window = self.blocks.settings.fetch_bytes as u64 * 2;
        let about_index = options.extensions.get::<IndexRead>().is_some();
        let kind = if about_index { Kind::Index } else { Kind::Data };
        let mut range = match &options.range {
            Some(GetRange::Bounded(range)) if range.start < range.end => range.clone(),
            Some(GetRange::Bounded(_)) => {
                return self.blocks.inner.get_opts(location, options).await;
            }
            other => {
                let size = self.meta(location).await?.size;
                match other {
                    None => 0..size,
                    Some(GetRange::Suffix(length)) => size.saturating_sub(*length)..size,
                    Some(GetRange::Offset(offset)) => *offset..size,
                    Some(GetRange::Bounded(range)) => range.clone(),
                }
            }
        };
        if range.start >= range.end {
            // Empty objects and ranges beyond the end: the store's own answer or error.
            return self.blocks.inner.get_opts(location, options).await;
        }
        let first = range.start..range.end.min(range.start - range.start % window + window);
        let loaded = self.load(kind, location, &self.numbers(kind, &first).collect()).await?;
        let Some(meta) = loaded.meta.clone().filter(|meta| range.start < meta.size) else {
            return self.blocks.inner.get_opts(location, options).await;
        };
        options.check_preconditions(&meta)?;
        range.end = range.end.min(meta.size);
        let begin = self.slices(&loaded, &first).into_iter().map(Ok);
        let rest = self.clone().rest(kind, location.clone(), first.end..range.end, window);
        let stream = futures::stream::iter(begin.collect::<Vec<_>>()).chain(rest).boxed();
        let payload = GetResultPayload::Stream(stream);
        Ok(GetResult { payload, meta, range, attributes: Attributes::default() })
    }

    /// Reads the later parts of a long range; the next part is fetched while the previous one is used.
    fn rest(
        self,
        kind: Kind,
        location: Path,
        range: Range<u64>,
        window: u64,
    ) -> BoxStream<'static, Result<Bytes>> {
        let end = range.end;
        let starts = std::iter::successors(Some(range.start), move |start| Some(start + window));
        let parts = starts.take_while(move |start| *start < end);
        let load = move |start: u64| {
            let part = start..end.min(start + window);
            self.clone().part(kind, location.clone(), part)
        };
        futures::stream::iter(parts).map(load).buffered(2).try_flatten().boxed()
    }

    /// Reads one part of a long range.
    async fn part(
        self,
        kind: Kind,
        location: Path,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes>>> {
        let loaded = self.load(kind, &location, &self.numbers(kind, &range).collect()).await?;
        let slices = self.slices(&loaded, &range);
        Ok(futures::stream::iter(slices.into_iter().map(Ok)).boxed())
    }
}

/// Whether a tier of this size, of which `found` bytes are filled, has yet to be filled with much data.
fn is_cold(found: u64, nvme_bytes: u64, share: u64) -> bool {
    const EMPTY: u64 = 64 << 20;
    const MUCH: u64 = 1 << 30;
    found < EMPTY && nvme_bytes.min(share) >= MUCH
}

/// The loaded blocks of one object.
struct Loaded {
    kind: Kind,
    meta: Option<ObjectMeta>,
    blocks: HashMap<u64, Block>,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for CachedStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let size = payload.content_length() as u64;
        let put = self.blocks.inner.put_opts(location, payload, options).await?;
        if self.caches(location) {
            self.blocks.forget(location, size);
        }
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        if self.caches(location) {
            self.blocks.forget(location, 0);
        }
        self.blocks.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if !self.caches(location) || options.version.is_some() {
            return self.blocks.inner.get_opts(location, options).await;
        }
        if !options.head {
            return self.read(location, options).await;
        }
        let meta = self.meta(location).await?;
        options.check_preconditions(&meta)?;
        let payload = GetResultPayload::Stream(futures::stream::empty().boxed());
        Ok(GetResult { payload, range: 0..meta.size, meta, attributes: Attributes::default() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if !self.caches(location) || ranges.iter().any(|range| range.start >= range.end) {
            return self.blocks.inner.get_ranges(location, ranges).await;
        }
        let kind = Kind::Data;
        let numbers = ranges.iter().flat_map(|range| self.numbers(kind, range)).collect();
        let loaded = self.load(kind, location, &numbers).await?;
        let size = loaded.meta.as_ref().map_or(0, |meta| meta.size);
        if ranges.iter().any(|range| range.end > size) {
            // Beyond the end: the store's own answer or error.
            return self.blocks.inner.get_ranges(location, ranges).await;
        }
        Ok(ranges.iter().map(|range| join(self.slices(&loaded, range))).collect())
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let deleted = self.blocks.inner.delete_stream(locations);
        deleted
            .inspect_ok(move |location| {
                if store.caches(location) {
                    store.blocks.forget(location, 0);
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.blocks.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.blocks.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.blocks.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.blocks.inner.copy_opts(from, to, options).await?;
        if self.caches(to) {
            self.blocks.forget(to, 0);
        }
        Ok(())
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.blocks.inner.rename_opts(from, to, options).await?;
        for location in [from, to] {
            if self.caches(location) {
                self.blocks.forget(location, 0);
            }
        }
        Ok(())
    }
}

/// Joins slices into one buffer; a single slice is not copied.
fn join(mut slices: Vec<Bytes>) -> Bytes {
    if slices.len() == 1 {
        return slices.swap_remove(0);
    }
    let mut joined = BytesMut::with_capacity(slices.iter().map(Bytes::len).sum());
    for slice in &slices {
        joined.extend_from_slice(slice);
    }
    joined.freeze()
}

#[cfg(test)]
mod tests {
    use super::is_cold;

    #[test]
    fn a_cache_is_cold_if_it_is_empty_and_has_much_to_read() {
        const GIB: u64 = 1 << 30;
        assert!(is_cold(0, 4 * GIB, 100 * GIB));
        assert!(is_cold(63 << 20, 500 * GIB, GIB));
        assert!(!is_cold(64 << 20, 4 * GIB, 100 * GIB), "it has some blocks");
        assert!(!is_cold(0, 4 * GIB, GIB - 1), "the share is small");
        assert!(!is_cold(0, 0, 100 * GIB), "there is no NVMe tier");
    }
}

//! The guarantees of the cache, compared with the store behind it.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::FileExt;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use karst_cache::{CachedStore, Error, SearchReads, Settings};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use proptest::prelude::*;
use testkit::{CountingStore, FailingStore, Moment, Operation, SlowStore, TestDir};

const BLOCK: usize = 4096;

fn settings(directory: Option<&FilePath>) -> Settings {
    Settings {
        dram_bytes: 4 << 20,
        nvme_bytes: if directory.is_some() { 64 << 20 } else { 0 },
        directory: directory.unwrap_or(FilePath::new("unused")).to_owned(),
        block_bytes: BLOCK,
        index_block_bytes: BLOCK,
        fetch_bytes: BLOCK * 4,
        gap_bytes: BLOCK,
        ..Settings::in_memory()
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 251) as u8).collect()
}

fn path() -> Path {
    Path::from("buckets/main/20261120/a.parquet")
}

/// A store with one object and a request counter, behind a cache.
async fn with_object(length: usize, settings: Settings) -> (CachedStore, Arc<CountingStore>) {
    let inner = InMemory::new();
    inner.put(&path(), content(length).into()).await.unwrap();
    let counting = Arc::new(CountingStore::new(Arc::new(inner)));
    let cached = CachedStore::open(counting.clone(), settings).await.unwrap();
    (cached, counting)
}

async fn range(store: &dyn ObjectStore, range: GetRange) -> Option<(Vec<u8>, u64)> {
    let options = GetOptions { range: Some(range), ..GetOptions::default() };
    let got = store.get_opts(&path(), options).await.ok()?;
    let size = got.meta.size;
    Some((got.bytes().await.unwrap().to_vec(), size))
}

#[derive(Debug, Clone)]
enum Read {
    Range(GetRange),
    Ranges(Vec<(usize, usize)>),
    Whole,
    Clear,
}

fn read(length: usize) -> impl Strategy<Value = Read> {
    let bound = length as u64 + 3 * BLOCK as u64;
    let pair = (0..length, 1..length);
    prop_oneof![
        8 => (0..bound, 0..bound).prop_map(|(a, b)| Read::Range(GetRange::Bounded(a..b))),
        2 => (0..bound).prop_map(|offset| Read::Range(GetRange::Offset(offset))),
        2 => (0..bound).prop_map(|suffix| Read::Range(GetRange::Suffix(suffix))),
        4 => prop::collection::vec(pair, 1..6).prop_map(Read::Ranges),
        1 => Just(Read::Whole),
        1 => Just(Read::Clear),
    ]
}

async fn check_reads(length: usize, reads: Vec<Read>) {
    let inner = InMemory::new();
    inner.put(&path(), content(length).into()).await.unwrap();
    let inner: Arc<dyn ObjectStore> = Arc::new(inner);
    let cached = CachedStore::open(inner.clone(), settings(None)).await.unwrap();
    for read in reads {
        match read {
            Read::Range(asked) => {
                let expected = range(inner.as_ref(), asked.clone()).await;
                assert_eq!(range(&cached, asked.clone()).await, expected, "{asked:?}");
            }
            Read::Ranges(pairs) => {
                let end = |from: usize, more: usize| (from + more).min(length) as u64;
                let ranges: Vec<_> =
                    pairs.iter().map(|&(from, more)| from as u64..end(from, more)).collect();
                let expected = inner.get_ranges(&path(), &ranges).await.unwrap();
                assert_eq!(cached.get_ranges(&path(), &ranges).await.unwrap(), expected);
            }
            Read::Whole => {
                let got = cached.get(&path()).await.unwrap();
                assert_eq!(got.range, 0..length as u64);
                assert_eq!(got.bytes().await.unwrap(), content(length));
            }
            Read::Clear => cached.clear().await.unwrap(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_reads_are_as_from_the_store(
        (length, reads) in (1_usize..20 * BLOCK)
            .prop_flat_map(|length| (Just(length), prop::collection::vec(read(length), 1..12)))
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(check_reads(length, reads));
    }
}

#[tokio::test]
async fn a_read_of_the_tail_is_one_request_and_the_second_none() {
    let (cached, counting) = with_object(10 * BLOCK + 5, settings(None)).await;
    let tail = 9 * BLOCK as u64..10 * BLOCK as u64 + 5;
    for _ in 0..2 {
        assert_eq!(cached.get_range(&path(), tail.clone()).await.unwrap().len(), BLOCK + 5);
        assert_eq!(cached.head(&path()).await.unwrap().size, 10 * BLOCK as u64 + 5);
    }
    assert_eq!(counting.hooks().requests(), 1);
}

#[tokio::test]
async fn neighbouring_missing_blocks_come_in_one_request() {
    let (cached, counting) = with_object(40 * BLOCK, settings(None)).await;
    let block = |number: u64| number * BLOCK as u64..number * BLOCK as u64 + 10;
    // 0, 1 and (over a gap of one) 3 together; 8 alone; 20 to 25 in two, as a request is 4 blocks.
    let mut ranges = vec![block(0), block(1), block(3), block(8)];
    ranges.extend((20..26).map(block));
    cached.get_ranges(&path(), &ranges).await.unwrap();
    assert_eq!(counting.hooks().of(Operation::Get), 4);
}

#[tokio::test]
async fn each_search_counts_its_own_reads() {
    let (cached, _) = with_object(8 * BLOCK, settings(None)).await;
    let searches = [Arc::new(SearchReads::default()), Arc::default()];
    for reads in &searches {
        cached.counted(reads).get_range(&path(), 0..4 * BLOCK as u64).await.unwrap();
    }
    let [first, second] = searches.map(|reads| reads.stats());
    assert_eq!((first.store_reads, first.store_requests, first.dram_hits), (4, 1, 0));
    assert_eq!(first.store_bytes, 4 * BLOCK as u64);
    assert_eq!(
        (second.dram_hits, second.dram_bytes, second.store_requests),
        (4, 4 * BLOCK as u64, 0)
    );
    assert_eq!((first.hit_rate(), second.hit_rate()), (0.0, 1.0));
    let total = cached.stats();
    assert_eq!((total.store_requests, total.dram_hits), (1, 4));
}

#[tokio::test]
async fn reads_ahead_of_searches_are_counted_for_themselves_only() {
    let (cached, counting) = with_object(8 * BLOCK, settings(None)).await;
    let reads: Arc<SearchReads> = Arc::default();
    let size = 8 * BLOCK as u64;
    let end = || {
        let range = Some(GetRange::Bounded(size - 100..size));
        let mut options = GetOptions { range, ..GetOptions::default() };
        options.extensions.insert(model::IndexRead);
        options
    };
    assert!(!cached.has_end(path().as_ref(), size));
    cached.warming(&reads).get_opts(&path(), end()).await.unwrap();
    assert!(cached.has_end(path().as_ref(), size) && !cached.has_end("buckets/other", size));
    let end_bytes = |size| cached.end_bytes(path().as_ref(), size);
    assert_eq!([end_bytes(size), end_bytes(size - 1)], [BLOCK as u64, BLOCK as u64 - 1]);
    assert_eq!([end_bytes(0), end_bytes(size - BLOCK as u64)], [0, 0]);
    assert_eq!((reads.stats().store_reads, reads.stats().store_bytes), (1, BLOCK as u64));
    assert_eq!((cached.stats().store_reads, cached.stats().store_requests), (0, 0));
    assert!(cached.curves().iter().all(|curve| curve.reads == 0));
    cached.get_opts(&path(), end()).await.unwrap();
    assert_eq!((cached.stats().dram_hits, counting.hooks().requests()), (1, 1));
}

#[tokio::test]
async fn the_misses_of_other_sizes_are_estimated_from_the_reads() {
    let (cached, _) = with_object(512 * BLOCK, settings(None)).await;
    for _ in 0..4 {
        cached.get(&path()).await.unwrap().bytes().await.unwrap();
    }
    let curves = cached.curves();
    let (index, data) = (&curves[0], &curves[1]);
    assert_eq!((index.pool, index.reads, index.samples), ("index", 0, 0));
    assert_eq!((data.pool, data.reads, data.capacity_mb), ("data", 4 * 512, 4));
    assert!(data.requests_per_block < 1.0, "neighbours come in one request: {data:?}");
    let misses = |size| data.points.iter().find(|point| point.size_mb == size).unwrap().misses;
    // The object has 2 MB: a cache of 1 MB has none of its blocks when they are read again.
    assert!(misses(8) > 0.0 && (misses(1) / misses(8) - 4.0).abs() < 1e-6, "{data:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_many_miss_at_once_is_fetched_once() {
    let (cached, counting) = with_object(4 * BLOCK, settings(None)).await;
    let reads = (0..50).map(|_| {
        let cached = cached.clone();
        tokio::spawn(async move { cached.get_range(&path(), 0..100).await.unwrap() })
    });
    for read in futures::future::join_all(reads).await {
        assert_eq!(read.unwrap(), content(100));
    }
    assert_eq!(counting.hooks().of(Operation::Get), 1);
}

#[tokio::test]
async fn a_failed_fetch_is_reported_and_tried_again_by_the_next_read() {
    let inner = InMemory::new();
    inner.put(&path(), content(100).into()).await.unwrap();
    let failing = Arc::new(FailingStore::new(Arc::new(inner)));
    let cached = CachedStore::open(failing.clone(), settings(None)).await.unwrap();
    failing.hooks().fail(Moment::Before);
    assert!(cached.get_range(&path(), 0..10).await.is_err());
    failing.hooks().heal();
    assert_eq!(cached.get_range(&path(), 0..10).await.unwrap(), content(10));
    let missing = cached.get_range(&Path::from("buckets/none"), 0..10).await.unwrap_err();
    assert!(matches!(missing, object_store::Error::NotFound { .. }), "{missing:?}");
}

#[tokio::test]
async fn only_immutable_paths_are_cached() {
    let (cached, counting) = with_object(10, settings(None)).await;
    let other = Path::from("catalog/manifest");
    for text in ["one", "two"] {
        cached.put(&other, text.into()).await.unwrap();
        assert_eq!(cached.get(&other).await.unwrap().bytes().await.unwrap(), text);
    }
    assert_eq!(counting.hooks().of(Operation::Get), 2);
}

#[tokio::test]
async fn deleting_and_overwriting_drop_what_is_cached() {
    let (cached, _) = with_object(2 * BLOCK, settings(None)).await;
    let whole = || async { cached.get(&path()).await?.bytes().await };
    assert_eq!(whole().await.unwrap(), content(2 * BLOCK));
    cached.put(&path(), content(3 * BLOCK).into()).await.unwrap();
    assert_eq!(whole().await.unwrap(), content(3 * BLOCK));
    cached.delete(&path()).await.unwrap();
    assert!(matches!(whole().await, Err(object_store::Error::NotFound { .. })));
}

#[tokio::test]
async fn clear_makes_the_next_read_cold() {
    let dir = TestDir::new();
    let (cached, counting) = with_object(4 * BLOCK, settings(Some(dir.path()))).await;
    for _ in 0..2 {
        cached.get_range(&path(), 0..BLOCK as u64).await.unwrap();
        cached.clear().await.unwrap();
    }
    assert_eq!(counting.hooks().of(Operation::Get), 2);
}

/// Reads an object into a cache with NVMe, and closes it.
async fn fill_nvme(dir: &TestDir) -> Arc<CountingStore> {
    let (cached, counting) = with_object(8 * BLOCK, settings(Some(dir.path()))).await;
    let got = cached.get(&path()).await.unwrap().bytes().await.unwrap();
    assert_eq!(got, content(8 * BLOCK));
    cached.close().await.unwrap();
    drop(cached);
    // On a busy machine, a write that has begun may end after the close, and blocks may be omitted, because
    // the cache does not wait for a slow disk. Omitted blocks are read once more.
    let is_written = async || {
        let cached = CachedStore::open(counting.clone(), settings(Some(dir.path()))).await.unwrap();
        let found = cached.residency(path().as_ref(), 8 * BLOCK as u64);
        if found.store > 0 {
            cached.get(&path()).await.unwrap().bytes().await.unwrap();
        }
        cached.close().await.unwrap();
        found.store == 0
    };
    let mut is_whole = false;
    for _ in 0..100 {
        is_whole = is_written().await;
        if is_whole {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(is_whole, "the blocks are on NVMe");
    counting.hooks().reset();
    counting
}

#[tokio::test]
async fn the_size_of_the_blocks_of_an_earlier_process_is_known() {
    let dir = TestDir::new();
    let (cached, _) = with_object(BLOCK, settings(None)).await;
    assert_eq!(cached.found_at_start(), 0, "it has no NVMe tier");
    for (bytes, least, most) in [(0, 0, 1 << 20), (4 << 20, 4 << 20, u64::MAX)] {
        let path = dir.path().join("earlier");
        std::fs::write(&path, vec![7; bytes]).unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        let (cached, _) = with_object(BLOCK, settings(Some(dir.path()))).await;
        let found = cached.found_at_start();
        assert!((least..=most).contains(&found), "{bytes}: {found}");
        assert!(!cached.starts_cold(u64::MAX), "the tier is small");
        cached.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nvme_is_warm_after_a_restart() {
    let dir = TestDir::new();
    let counting = fill_nvme(&dir).await;
    let cached = CachedStore::open(counting.clone(), settings(Some(dir.path()))).await.unwrap();
    let got = cached.get(&path()).await.unwrap();
    assert_eq!(got.meta.size, 8 * BLOCK as u64);
    assert_eq!(got.bytes().await.unwrap(), content(8 * BLOCK));
    assert_eq!(counting.hooks().requests(), 0);
    let stats = cached.stats();
    assert!(stats.nvme_hits >= 8 && stats.nvme_bytes >= 8 * BLOCK as u64, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_nvme_blocks_are_fetched_again() {
    let dir = TestDir::new();
    let counting = fill_nvme(&dir).await;
    let needle = &content(8 * BLOCK)[..64];
    let mut damaged = 0;
    for file in std::fs::read_dir(dir.join("data")).unwrap() {
        let file = file.unwrap().path();
        let bytes = std::fs::read(&file).unwrap();
        // A block that was still in memory at the close may have been written a second time.
        let windows = bytes.windows(needle.len()).enumerate();
        for (at, _) in windows.filter(|(_, window)| *window == needle) {
            let open = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
            open.write_all_at(b"damage", at as u64 + 7).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged >= 1, "the block is on NVMe");
    let cached = CachedStore::open(counting.clone(), settings(Some(dir.path()))).await.unwrap();
    assert_eq!(cached.get_range(&path(), 0..100).await.unwrap(), content(100));
    assert_eq!(counting.hooks().of(Operation::Get), 1);
}

/// A read from the index pool.
async fn index_range(store: &dyn ObjectStore, path: &Path, range: std::ops::Range<u64>) -> usize {
    let range = Some(GetRange::Bounded(range));
    let mut options = GetOptions { range, ..GetOptions::default() };
    options.extensions.insert(model::IndexRead);
    store.get_opts(path, options).await.unwrap().bytes().await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_larger_than_memory_leaves_indexes_where_they_are() {
    let (cached, counting) = with_object(4096 * BLOCK, settings(None)).await;
    let needles: Vec<_> = (0..100).map(|at| at * 40 * BLOCK as u64).collect();
    for at in &needles {
        index_range(&cached, &path(), *at..*at + 100).await;
    }
    // Twice, and each block more than once, because a block holds several pieces of a bucket.
    for _ in 0..4 {
        let mut scan = cached.get(&path()).await.unwrap().into_stream();
        while let Some(bytes) = scan.next().await {
            bytes.unwrap();
        }
    }
    counting.hooks().reset();
    for at in &needles {
        assert_eq!(index_range(&cached, &path(), *at..*at + 100).await, 100);
    }
    assert_eq!(counting.hooks().requests(), 0, "all of them are in memory");
}

#[tokio::test]
async fn indexes_are_read_in_smaller_blocks_than_rows() {
    let settings = Settings { block_bytes: 8 * BLOCK, fetch_bytes: 8 * BLOCK, ..settings(None) };
    let (cached, counting) = with_object(64 * BLOCK, settings).await;
    index_range(&cached, &path(), 10..20).await;
    assert_eq!(counting.hooks().read_bytes(), BLOCK as u64);
    cached.get_range(&path(), 10..20).await.unwrap();
    assert_eq!(counting.hooks().read_bytes(), 9 * BLOCK as u64);
}

/// A cache whose store has answered enough requests, each after 5 ms, to define what is slow.
async fn with_slow_store(settings: Settings) -> (CachedStore, Arc<SlowStore>) {
    let inner = InMemory::new();
    inner.put(&path(), content(400 * BLOCK).into()).await.unwrap();
    let slow = Arc::new(SlowStore::new(Arc::new(inner)));
    let cached = CachedStore::open(slow.clone(), settings).await.unwrap();
    let millis = Duration::from_millis;
    slow.hooks().take(millis(5), millis(5));
    for number in 0..100 {
        let at = number * 2 * BLOCK as u64;
        cached.get_range(&path(), at..at + 1).await.unwrap();
    }
    (cached, slow)
}

#[tokio::test]
async fn a_request_that_hangs_is_overtaken_by_a_second_one() {
    let (cached, slow) = with_slow_store(settings(None)).await;
    slow.hooks().take(Duration::from_millis(5), Duration::from_secs(600));
    let reads = Arc::new(SearchReads::default());
    let at = 300 * BLOCK as u64;
    let got = cached.counted(&reads).get_range(&path(), at..at + 50).await.unwrap();
    assert_eq!(got, content(301 * BLOCK)[300 * BLOCK..300 * BLOCK + 50]);
    let stats = reads.stats();
    assert_eq!((stats.store_requests, stats.store_hedges), (1, 1));
}

#[tokio::test]
async fn a_search_knows_how_long_it_waited_for_a_request_also_for_one_of_another_search() {
    let (cached, slow) = with_slow_store(Settings { hedge_percent: 0.0, ..settings(None) }).await;
    let cached = cached.named("s3://karst");
    let searches = [Arc::new(SearchReads::default()), Arc::new(SearchReads::default())];
    assert_eq!(searches[0].store_wait(), None);
    let millis = Duration::from_millis;
    slow.hooks().take(millis(100), millis(100));
    let at = 300 * BLOCK as u64;
    let reads = searches.clone().map(|reads| {
        let cached = cached.counted(&reads);
        tokio::spawn(async move { cached.get_range(&path(), at..at + 50).await.unwrap() })
    });
    for read in reads {
        read.await.unwrap();
    }
    for search in &searches {
        let wait = search.store_wait().unwrap();
        assert_eq!((wait.store.as_ref(), wait.current), ("s3://karst", Duration::ZERO));
        assert!(wait.longest >= millis(50), "{wait:?}");
    }
}

#[tokio::test]
async fn a_search_whose_request_waits_for_others_of_the_process_does_not_wait_for_the_store() {
    let settings = Settings { parallel_fetches: 1, hedge_percent: 0.0, ..settings(None) };
    let (cached, slow) = with_slow_store(settings).await;
    let before = slow.hooks().reads();
    slow.hooks().take(Duration::ZERO, Duration::from_secs(2));
    let searches = [Arc::new(SearchReads::default()), Arc::new(SearchReads::default())];
    let read = |search: &Arc<SearchReads>, block: usize| {
        let (cached, at) = (cached.counted(search), (block * BLOCK) as u64);
        tokio::spawn(async move { cached.get_range(&path(), at..at + 50).await.unwrap() })
    };
    let first = read(&searches[0], 300);
    while slow.hooks().reads() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let second = read(&searches[1], 350);
    first.await.unwrap();
    second.await.unwrap();
    let longest = |search: &SearchReads| search.store_wait().unwrap().longest;
    assert!(longest(&searches[0]) >= Duration::from_secs(1), "{:?}", searches[0].store_wait());
    assert!(longest(&searches[1]) < Duration::from_secs(1), "{:?}", searches[1].store_wait());
}

#[tokio::test]
async fn a_request_counts_as_soon_as_it_is_sent() {
    let settings = Settings { hedge_percent: 0.0, ..settings(None) };
    let (cached, slow) = with_slow_store(settings).await;
    let before = slow.hooks().reads();
    slow.hooks().take(Duration::ZERO, Duration::from_secs(600));
    let reads = Arc::new(SearchReads::default());
    let (search, at) = (cached.counted(&reads), 300 * BLOCK as u64);
    let ended_early =
        tokio::spawn(async move { search.get_range(&path(), at..at + 50).await.unwrap() });
    while slow.hooks().reads() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    ended_early.abort();
    let stats = reads.stats();
    assert_eq!((stats.store_requests, stats.store_bytes), (1, 0));
}

#[tokio::test]
async fn a_store_that_is_slow_throughout_is_not_asked_twice_as_often() {
    let (cached, slow) = with_slow_store(settings(None)).await;
    let before = slow.hooks().reads();
    slow.hooks().take(Duration::from_millis(60), Duration::from_millis(60));
    let reads = (0..90).map(|number| {
        let (cached, at) = (cached.clone(), (201 + number * 2) * BLOCK as u64);
        async move { cached.get_range(&path(), at..at + 1).await.unwrap() }
    });
    futures::future::join_all(reads).await;
    let extra = slow.hooks().reads() - before - 90;
    assert!(extra <= 10, "{extra} second requests for 90, with a budget of 5 % of 190");
}

#[tokio::test]
async fn requests_side_by_side_are_bounded() {
    let settings = Settings { parallel_fetches: 3, hedge_percent: 0.0, ..settings(None) };
    let (cached, slow) = with_slow_store(settings).await;
    slow.hooks().take(Duration::from_millis(20), Duration::ZERO);
    let start = std::time::Instant::now();
    let reads = (0..30).map(|number| {
        let (cached, at) = (cached.clone(), (201 + number * 2) * BLOCK as u64);
        async move { cached.get_range(&path(), at..at + 1).await.unwrap() }
    });
    futures::future::join_all(reads).await;
    assert!(start.elapsed() >= Duration::from_millis(200), "ten rounds of three");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_directory_serves_one_cache() {
    let dir = TestDir::new();
    let (_cached, counting) = with_object(10, settings(Some(dir.path()))).await;
    let second = CachedStore::open(counting, settings(Some(dir.path()))).await;
    assert!(matches!(second, Err(Error::InUse { .. })), "{second:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stays_within_its_bound_and_reads_stay_right() {
    let (cached, _) = with_object(4096 * BLOCK, settings(None)).await;
    let mut stream = cached.get(&path()).await.unwrap().into_stream();
    let mut length = 0;
    while let Some(bytes) = stream.next().await {
        length += bytes.unwrap().len();
    }
    assert_eq!(length, 4096 * BLOCK);
    let at = 100 * BLOCK as u64;
    let got = cached.get_range(&path(), at..at + 50).await.unwrap();
    assert_eq!(got, content(101 * BLOCK)[100 * BLOCK..100 * BLOCK + 50]);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    Settings::default().validate().unwrap();
    for settings in [
        Settings { block_bytes: 5000, ..Settings::in_memory() },
        Settings { index_block_bytes: 8 << 20, ..Settings::in_memory() },
        Settings { index_percent: 0, ..Settings::in_memory() },
        Settings { hedge_percent: -1.0, ..Settings::in_memory() },
        Settings { dram_bytes: 1 << 20, ..Settings::in_memory() },
        Settings { nvme_bytes: 1 << 20, ..Settings::in_memory() },
        Settings { prefix: String::new(), ..Settings::in_memory() },
    ] {
        assert!(matches!(settings.validate(), Err(Error::Setting { .. })), "{settings:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_bytes_of_an_object_are_is_known_without_reading_them() {
    let length = 10 * BLOCK + 7;
    let (cached, _store) = with_object(length, settings(None)).await;
    let size = length as u64;
    let residency = || cached.residency(path().as_ref(), size);
    let all = residency();
    assert_eq!((all.memory, all.disk, all.store), (0, 0, size));
    // Requests of four blocks each: `fetch_bytes`.
    assert_eq!(all.requests, 3);
    assert_eq!(cached.stats().store_requests, 0);
    let block = BLOCK as u64;
    range(&cached, GetRange::Bounded(4 * block..6 * block)).await.unwrap();
    let some = residency();
    assert_eq!((some.memory, some.disk, some.store), (2 * block, 0, size - 2 * block));
    assert_eq!(some.requests, 3);
}

#[tokio::test]
async fn what_is_forgotten_is_read_from_the_store_again() {
    let (cached, store) = with_object(5 * BLOCK, settings(None)).await;
    cached.get(&path()).await.unwrap().bytes().await.unwrap();
    let other: Vec<u8> = content(5 * BLOCK).into_iter().map(|byte| byte ^ 0xFF).collect();
    // Bypasses the cache, like a process that restores an object.
    store.put(&path(), other.clone().into()).await.unwrap();
    let stale = cached.get(&path()).await.unwrap().bytes().await.unwrap();
    assert_eq!(stale, content(5 * BLOCK));
    cached.forget(&path(), 5 * BLOCK as u64);
    let fresh = cached.get(&path()).await.unwrap().bytes().await.unwrap();
    assert_eq!(fresh, other);
}

//! Searches over a real S3 server behind a bad line: how many requests they make, that answers are right
//! whatever the line does, and what is said when nothing comes through.

use std::sync::Arc;
use std::time::Duration;

use bucket::WriteOptions;
use cache::{CachedStore, SearchReads};
use catalog::Commit;
use karst_search::{JobRequest, Objects, SearchService};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{EventTime, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use runtime::store::Options;
use testkit::{Faults, S3Proxy, S3Server};

use crate::support::{open, put, service_over};

const BUCKETS: usize = 60;
const ROWS: usize = 200;

fn main_index() -> IndexName {
    IndexName::new("main").unwrap()
}

fn event(bucket: usize, row: usize) -> SpecEvent {
    let at = bucket * ROWS + row;
    SpecEvent {
        index: main_index(),
        time: EventTime(1_700_000_000_000_000 + at as i64 * 1_000_000),
        index_time: EventTime(1_700_000_000_000_000 + at as i64),
        raw: format!("n={at} user=u{} id=needle{at}", at % 7),
        host: format!("host{}", at % 3),
        source: "s".to_owned(),
        sourcetype: "t".to_owned(),
        fields: Vec::new(),
    }
}

#[derive(Debug)]
struct Cached(CachedStore);

impl Objects for Cached {
    fn counted(&self, reads: &Arc<SearchReads>) -> Arc<dyn ObjectStore> {
        Arc::new(self.0.counted(reads))
    }
}

/// Sixty buckets on S3, behind a proxy.
struct FarAway {
    server: S3Server,
    proxy: S3Proxy,
    cache: CachedStore,
    service: SearchService,
}

/// How to ask: fewer and sooner retries than in earnest, so that tests are quick.
fn options(proxy: &S3Proxy, server: &S3Server) -> Options {
    let variables = proxy.variables(server);
    Options { variables, retries: 6, retry_time: Duration::from_secs(60), ..Options::default() }
}

async fn far_away(faults: Faults, retries: usize) -> Option<FarAway> {
    let server = S3Server::start().await?;
    let options = Options { variables: server.variables(), ..Options::default() };
    let near = runtime::store::open(&server.url("far"), &options).unwrap().store;
    let knowledge = Arc::new(Knowledge::builtin());
    let mut add = Vec::new();
    for bucket in 0..BUCKETS {
        let events: Vec<_> = (0..ROWS).map(|row| event(bucket, row)).collect();
        add.push(put(&near, &events, &knowledge, &WriteOptions::default()).await);
    }
    let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(&memory).await;
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let proxy = S3Proxy::before(&server, faults).await;
    let far = Options { retries, ..self::options(&proxy, &server) };
    let far = runtime::store::open(&server.url("far"), &far).unwrap().store;
    // Where a line is good, requests are counted: on a busy machine a hedge would be one more.
    let hedge_percent = if retries == 0 { 0.0 } else { 5.0 };
    let settings = cache::Settings { hedge_percent, ..cache::Settings::in_memory() };
    let cache = CachedStore::open(far, settings).await.unwrap();
    let objects = Arc::new(Cached(cache.clone()));
    let service = service_over(catalog, Vec::new(), objects, &knowledge, vec![main_index()]);
    Some(FarAway { server, proxy, cache, service })
}

impl FarAway {
    async fn rows(&self, search: &str) -> Result<usize, String> {
        let job = self.service.dispatch(JobRequest::new(search, "me")).await.unwrap();
        job.finished().await.map_err(|error| error.to_string())?;
        Ok(job.page(0, 100_000).rows.len())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_needle_is_one_request_per_bucket_and_one_more_where_it_is() {
    let Some(far) = far_away(Faults::default(), 0).await else { return };
    assert_eq!(far.rows("search needle4711 OR needle11 OR needle9999").await, Ok(3));
    let cold = far.proxy.counts();
    assert!(cold.get <= BUCKETS as u64 + 3, "{cold:?}");
    assert_eq!(cold.requests(), cold.get, "nothing but reads: {cold:?}");
    far.proxy.reset();
    assert_eq!(far.rows("search needle5000").await, Ok(1));
    let warm = far.proxy.counts();
    // One, and where another word has the same fingerprint, one in vain.
    assert!((1..=3).contains(&warm.requests()), "indexes are cached: {warm:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_buckets_are_opened_side_by_side_and_not_too_many() {
    let faults = Faults { latency: Duration::from_millis(50), ..Faults::default() };
    let Some(far) = far_away(faults, 0).await else { return };
    assert_eq!(far.rows("search needle5000").await, Ok(1));
    let most = far.proxy.counts().most_at_once;
    assert!((20..=64).contains(&most), "{most} at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_may_stop_early_does_not_open_everything() {
    let Some(far) = far_away(Faults::default(), 0).await else { return };
    assert_eq!(far.rows("search user=u3 | head 5").await, Ok(5));
    let counts = far.proxy.counts();
    assert!(counts.requests() <= 24, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_of_everything_reads_each_bucket_once() {
    let Some(far) = far_away(Faults::default(), 0).await else { return };
    assert_eq!(far.rows("search * | stats count by user").await, Ok(7));
    let counts = far.proxy.counts();
    assert!(counts.requests() <= 2 * BUCKETS as u64, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_right_over_a_bad_line() {
    let bad = |seed| Faults {
        latency: Duration::from_millis(5),
        error_percent: 5.0,
        slow_down_percent: 5.0,
        cut_percent: 5.0,
        seed,
    };
    let Some(far) = far_away(bad(1), 6).await else { return };
    for seed in 1..=3 {
        far.proxy.set(bad(seed));
        far.cache.clear().await.unwrap();
        far.proxy.reset();
        assert_eq!(far.rows("search * | stats count by n").await, Ok(BUCKETS * ROWS));
        assert_eq!(far.rows("search needle1 OR needle5000").await, Ok(2));
        let counts = far.proxy.counts();
        assert!(counts.errors + counts.slow_downs > 0 && counts.cuts > 0, "{counts:?}");
        assert!(counts.requests() <= 3 * BUCKETS as u64, "{counts:?}");
    }
    let stats = far.cache.stats();
    assert!(stats.store_retries > 0, "{stats:?}");
    assert!(stats.store_hedges <= stats.store_requests / 20 + 1, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_reaches_nothing_fails_and_says_where_and_why() {
    let Some(far) = far_away(Faults::default(), 1).await else { return };
    let endpoint = far.proxy.endpoint();
    far.proxy.set(Faults { slow_down_percent: 100.0, ..Faults::default() });
    let refused = far.rows("search needle5000").await.unwrap_err();
    for part in [endpoint.as_str(), "/karst/", "503", "SlowDown", "after 1 retries"] {
        assert!(refused.contains(part), "{part} in: {refused}");
    }
    drop(far.proxy);
    drop(far.server);
    let job = far.service.dispatch(JobRequest::new("search needle5000", "me")).await.unwrap();
    let gone = job.finished().await.unwrap_err().to_string();
    for part in [endpoint.as_str(), "/karst/", "refused"] {
        assert!(gone.contains(part), "{part} in: {gone}");
    }
    assert!(job.page(0, 10).rows.is_empty(), "nothing that looks like an answer");
}

//! Followers of the catalog over real connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use karst_catalog::{
    Catalog, Commit, Error, Holder, Lease, LeaseSettings, Settings, Stalled, Takeover,
};
use model::{BucketState, IndexerId, StreamId};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use proptest::prelude::*;
use runtime::Shutdown;
use serde_json::json;
use testkit::{FailingStore, Moment, wait_until};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tonic::service::Routes;
use transport::Transport;

use super::support::{at, bucket, discarded, entries, id, indexer, open, records, stream};

/// A leader's server, behind a port of its own that can be closed with all its connections.
pub struct Server {
    address: SocketAddr,
    forwarding: JoinHandle<()>,
    serving: JoinHandle<()>,
}

impl Server {
    pub async fn start(catalog: &Catalog, address: Option<SocketAddr>) -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let outside = bound(address.unwrap_or(any)).await;
        let inside = TcpListener::bind(any).await.unwrap();
        let (address, behind) = (outside.local_addr().unwrap(), inside.local_addr().unwrap());
        let routes = Routes::new(catalog.service());
        let shutdown = Shutdown::new();
        let stop = shutdown.token().drop_guard();
        let serving = tokio::spawn(async move {
            let _stop = stop;
            plain().serve(inside, routes, &shutdown).await.unwrap();
        });
        let forwarding = tokio::spawn(async move {
            // They end with the task.
            let mut connections = JoinSet::new();
            while let Ok((mut from, _)) = outside.accept().await {
                connections.spawn(async move {
                    let mut to = TcpStream::connect(behind).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                });
            }
        });
        Self { address, forwarding, serving }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub async fn stop(self) -> SocketAddr {
        for task in [self.forwarding, self.serving] {
            task.abort();
            let _ = task.await;
        }
        self.address
    }
}

/// A listener there, as soon as nobody else has the port.
async fn bound(address: SocketAddr) -> TcpListener {
    for _ in 0..600 {
        if let Ok(listener) = TcpListener::bind(address).await {
            return listener;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{address} is in use")
}

pub fn quick() -> Settings {
    Settings {
        leader_retry: (Duration::from_millis(5), Duration::from_millis(50)),
        leader_attempt: Duration::from_secs(30),
        leader_deadline: Duration::from_secs(120),
        ..Settings::default()
    }
}

/// Connections within this machine. A test beside much other work may be silent for long.
fn plain() -> Transport {
    let patient = Duration::from_secs(60);
    let layers = conf::Layers::builtin();
    let settings = transport::Settings::read(&layers).unwrap();
    Transport::plain(transport::Settings { connect: patient, silence: patient, ..settings })
}

pub async fn follow(urls: &[String], settings: Settings) -> Result<Catalog, Error> {
    Catalog::follow(urls, &plain(), settings, Arc::new(runtime::SystemClock)).await
}

async fn arrived(follower: &Catalog, leader: &Catalog) {
    let wanted = leader.snapshot().number();
    let is_there = || std::future::ready(follower.snapshot().number() >= wanted);
    assert!(wait_until(is_there, Duration::from_secs(60)).await, "write {wanted} has not arrived");
}

/// Compares all that two catalogs say.
pub async fn compare(follower: &Catalog, leader: &Catalog) {
    arrived(follower, leader).await;
    let (ours, theirs) = (follower.snapshot(), leader.snapshot());
    assert_eq!(ours.number(), theirs.number());
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(entries(follower).await, entries(leader).await);
    for bucket in theirs.overlapping(&[], &model::TimeRange::ALL) {
        assert_eq!(ours.bucket(bucket.id), Some(bucket));
    }
    assert!(ours.discarded().eq(theirs.discarded()));
    assert!(ours.taken_over().eq(theirs.taken_over()));
    assert_eq!(ours.indexers(), theirs.indexers());
    assert_eq!(ours.positions(indexer()), theirs.positions(indexer()));
    for kind in ["user", "role"] {
        assert_eq!(ours.documents(kind), theirs.documents(kind));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add(u128),
    Replace(u128),
    Freeze(u128),
    Discard(u8),
    Forget(u8),
    Put(u8, u8),
    Delete(u8),
    TakeOver,
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let step = prop_oneof![
        4 => (1_u128..30).prop_map(Step::Add),
        2 => (1_u128..30).prop_map(Step::Replace),
        1 => (1_u128..30).prop_map(Step::Freeze),
        1 => any::<u8>().prop_map(Step::Discard),
        1 => any::<u8>().prop_map(Step::Forget),
        3 => (0_u8..6, any::<u8>()).prop_map(|(name, value)| Step::Put(name, value)),
        1 => (0_u8..6).prop_map(Step::Delete),
        1 => Just(Step::TakeOver),
    ];
    prop::collection::vec((any::<bool>(), step), 1..30)
}

/// Makes a change on one of the catalogs; whether it was taken.
async fn make(catalog: &Catalog, step: Step, epoch: &mut u64, position: &mut u64) -> bool {
    let name = |name: u8| (if name < 3 { "user" } else { "role" }, format!("{name}"));
    let done = match step {
        Step::Add(number) => {
            *position += 2;
            let mut ranges = records(*position - 1, *position);
            ranges[0].epoch = *epoch;
            let time = i64::try_from(number).unwrap();
            let add = vec![bucket(number, time, time + 9)];
            catalog.commit(Commit { add, ranges, ..Commit::default() }).await
        }
        Step::Replace(number) => {
            let (old, new) = (id(number), bucket(number + 100, 5, 50));
            let commit = Commit {
                expect: vec![old],
                remove: vec![old],
                add: vec![new],
                ..Commit::default()
            };
            catalog.commit(commit).await
        }
        Step::Freeze(number) => {
            let time = i64::try_from(number).unwrap();
            let mut entry = bucket(number, time, time + 9);
            entry.state = BucketState::Frozen;
            let expect = vec![entry.id];
            catalog.commit(Commit { expect, add: vec![entry], ..Commit::default() }).await
        }
        Step::Discard(path) => {
            let discard = vec![discarded(&format!("garbage/{path}"), 7)];
            catalog.commit(Commit { discard, ..Commit::default() }).await
        }
        Step::Forget(path) => {
            let forget = vec![format!("garbage/{path}")];
            catalog.commit(Commit { forget, ..Commit::default() }).await
        }
        Step::Put(number, value) => {
            let (kind, name) = name(number);
            catalog.put_document(kind, &name, json!({ "value": value })).await
        }
        Step::Delete(number) => {
            let (kind, name) = name(number);
            catalog.delete_document(kind, &name).await
        }
        Step::TakeOver => {
            *epoch += 1;
            let owner = IndexerId(uuid::Uuid::from_u128((*epoch).into()));
            let StreamId { indexer, set, .. } = stream();
            let take_over = vec![Takeover { indexer, set, epoch: *epoch, owner }];
            catalog.commit(Commit { take_over, ..Commit::default() }).await
        }
    };
    match done {
        Ok(()) => true,
        Err(Error::Gone { .. } | Error::Conflict { .. }) => false,
        Err(error) => panic!("{error:?}"),
    }
}

async fn run(steps: Vec<(bool, Step)>, settings: Settings) {
    let leader = open(Arc::new(InMemory::new()), settings.clone()).await.unwrap();
    let server = Server::start(&leader, None).await;
    let follower = follow(&[server.url()], settings).await.unwrap();
    let (mut epoch, mut position) = (0, 0);
    for (is_remote, step) in steps {
        let catalog = if is_remote { &follower } else { &leader };
        let is_made = make(catalog, step, &mut epoch, &mut position).await;
        if is_remote && is_made {
            // Its own change is in its own state when it returns.
            assert!(follower.snapshot().number() >= leader.snapshot().number());
        }
    }
    compare(&follower, &leader).await;
    // One that comes late has the same.
    let late = follow(&[server.url()], quick()).await.unwrap();
    compare(&late, &leader).await;
    server.stop().await;
}

fn block_on(work: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(work);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_follower_has_what_the_leader_has(steps in steps()) {
        block_on(run(steps, quick()));
    }

    /// Hardly anything is kept for followers, so that they are sent whole states again and again.
    #[test]
    fn so_has_one_that_cannot_keep_up(steps in steps()) {
        block_on(run(steps, Settings { feed_bytes: 1, ..quick() }));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_connection_it_goes_on_from_its_state() {
    let leader = open(Arc::new(InMemory::new()), Settings::default()).await.unwrap();
    let server = Server::start(&leader, None).await;
    let follower = follow(&[server.url()], quick()).await.unwrap();
    let add = vec![bucket(1, 0, 9)];
    follower.commit(Commit { add, ranges: at(1), ..Commit::default() }).await.unwrap();
    let address = server.stop().await;
    let mut seen = follower.subscribe();
    seen.mark_unchanged();

    // Reading goes on; a change waits for the leader.
    assert_eq!(follower.snapshot().len(), 1);
    leader.put_document("user", "ann", json!({ "age": 3 })).await.unwrap();
    let changing = tokio::spawn({
        let follower = follower.clone();
        async move { follower.put_document("user", "bob", json!(1)).await }
    });
    let server = Server::start(&leader, Some(address)).await;
    changing.await.unwrap().unwrap();
    compare(&follower, &leader).await;
    assert_eq!(follower.documents("user").await.len(), 2);
    server.stop().await;
}

/// A process with another catalog has the address of the leader, and is further by its number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_catalog_is_not_followed_whatever_its_number() {
    let add = |number: u128| Commit { add: vec![bucket(number, 0, 9)], ..Commit::default() };
    let store = Arc::new(InMemory::new());
    let leader = open(Arc::clone(&store) as Arc<dyn ObjectStore>, quick()).await.unwrap();
    let id = leader.identify(&*store).await.unwrap();
    let server = Server::start(&leader, None).await;
    let patience = Settings { leader_deadline: Duration::from_secs(10), ..quick() };
    let follower = follow(&[server.url()], patience).await.unwrap();
    follower.commit(add(1)).await.unwrap();
    assert_eq!(follower.snapshot().store_id(), Some(id));
    let address = server.stop().await;

    let store = Arc::new(InMemory::new());
    let other = open(Arc::clone(&store) as Arc<dyn ObjectStore>, quick()).await.unwrap();
    other.identify(&*store).await.unwrap();
    for number in 10..20 {
        other.commit(add(number)).await.unwrap();
    }
    let server = Server::start(&other, Some(address)).await;
    let error = follower.commit(add(2)).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("another one than the follower's"), "{error}");
    assert_eq!((follower.snapshot().len(), follower.snapshot().store_id()), (1, Some(id)));
    server.stop().await;

    let server = Server::start(&leader, Some(address)).await;
    follower.commit(add(2)).await.unwrap();
    compare(&follower, &leader).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_are_those_of_the_leader() {
    let leader = open(Arc::new(InMemory::new()), Settings::default()).await.unwrap();
    let server = Server::start(&leader, None).await;
    let follower = follow(&[server.url()], quick()).await.unwrap();
    let add = |number: u128, from: u64, upto: u64| Commit {
        add: vec![bucket(number, 0, 9)],
        ranges: records(from, upto),
        ..Commit::default()
    };
    follower.commit(add(1, 1, 5)).await.unwrap();
    let mut other = add(1, 6, 7);
    other.add[0].size = 7;
    let mut late = add(2, 6, 7);
    late.ranges[0].epoch = 3;
    let gone = Commit { expect: vec![id(9)], ..Commit::default() };
    let twice = Commit { remove: vec![id(1)], ..add(1, 6, 7) };
    for commit in [other, late, gone, twice, add(2, 4, 7)] {
        let ours = follower.commit(commit.clone()).await.unwrap_err();
        let theirs = leader.commit(commit).await.unwrap_err();
        assert_eq!(ours.to_string(), theirs.to_string());
        assert_eq!(ours.kind(), theirs.kind());
    }
    let large = json!("x".repeat(2 << 20));
    let error = follower.put_document("user", "ann", large).await.unwrap_err();
    assert!(error.to_string().contains("document_bytes"), "{error}");
    server.stop().await;
}

/// The answer to a merge was lost: the merge is made again, and must not look as if its parts had gone to
/// somebody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_replacement_is_done() {
    let catalog = open(Arc::new(InMemory::new()), Settings::default()).await.unwrap();
    let add = vec![bucket(1, 0, 4), bucket(2, 5, 9)];
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let parts = vec![id(1), id(2)];
    let merge = |number: u128| Commit {
        expect: parts.clone(),
        remove: parts.clone(),
        add: vec![bucket(number, 0, 9)],
        ..Commit::default()
    };
    catalog.commit(merge(3)).await.unwrap();
    let number = catalog.snapshot().number();
    catalog.commit(merge(3)).await.unwrap();
    assert_eq!(catalog.snapshot().number(), number);
    let error = catalog.commit(merge(4)).await.unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_delays_changes_but_not_reading() {
    let failing = Arc::new(FailingStore::new(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>));
    let leader = open(Arc::clone(&failing) as _, Settings::default()).await.unwrap();
    let server = Server::start(&leader, None).await;
    let follower = follow(&[server.url()], quick()).await.unwrap();
    follower.put_document("user", "ann", json!(1)).await.unwrap();
    failing.hooks().fail(Moment::Before);
    let changing = tokio::spawn({
        let follower = follower.clone();
        let commit = Commit { add: vec![bucket(1, 0, 9)], ranges: at(1), ..Commit::default() };
        async move { follower.commit(commit).await }
    });
    // Somebody who comes meanwhile is served, too.
    let late = follow(&[server.url()], quick()).await.unwrap();
    assert_eq!(late.documents("user").await.len(), 1);
    assert_eq!(follower.documents("user").await.len(), 1);
    assert!(!changing.is_finished());
    failing.hooks().heal();
    changing.await.unwrap().unwrap();
    compare(&late, &leader).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_go_over_to_the_process_that_has_taken_over() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let old = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let before = Server::start(&old, None).await;
    // Nobody listens there yet.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    drop(listener);
    let urls = [before.url(), format!("http://{place}")];
    let follower = follow(&urls, quick()).await.unwrap();
    follower.commit(Commit { add: vec![bucket(1, 0, 9)], ..Commit::default() }).await.unwrap();

    let new = open(store, Settings::default()).await.unwrap();
    let after = Server::start(&new, Some(place)).await;
    new.commit(Commit { add: vec![bucket(2, 0, 9)], ..Commit::default() }).await.unwrap();
    // The old one learns from this that it is none any more, and the new one makes the change.
    follower.commit(Commit { add: vec![bucket(3, 0, 9)], ..Commit::default() }).await.unwrap();
    compare(&follower, &new).await;
    assert_eq!(new.snapshot().len(), 3);
    assert_eq!(old.snapshot().len(), 1);
    after.stop().await;
    before.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_leader_the_outcome_is_not_known() {
    let leader = open(Arc::new(InMemory::new()), Settings::default()).await.unwrap();
    let server = Server::start(&leader, None).await;
    let short = Settings { leader_deadline: Duration::from_millis(300), ..quick() };
    let url = server.url();
    let follower = loop {
        // The deadline is short for a busy machine.
        if let Ok(follower) = follow(std::slice::from_ref(&url), short.clone()).await {
            break follower;
        }
    };
    server.stop().await;
    let error = follower.commit(Commit { ranges: at(1), ..Commit::default() }).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("repeat it; it is applied only once"), "{error}");
    let Err(error) = follow(&[url], short.clone()).await else { panic!("nobody leads") };
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    let error = follow(&["no address".to_owned()], short).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_no_leader_is_found_is_told_with_the_address() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let indexer = format!("http://{}", listener.local_addr().unwrap());
    let shutdown = Shutdown::new();
    // It serves no catalog.
    let serving = tokio::spawn(async move {
        plain().serve(listener, Routes::default(), &shutdown).await.unwrap();
    });
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = unused.local_addr().unwrap().to_string();
    drop(unused);
    for (address, reason) in [(indexer, "not a control plane"), (nobody, "connection refused")] {
        let failure = tokio::sync::watch::Sender::<String>::default();
        let mut told = failure.subscribe();
        let (addresses, transport) = (std::slice::from_ref(&address), plain());
        let clock = Arc::new(runtime::SystemClock);
        let following =
            Catalog::follow_telling((addresses, &transport), quick(), clock, failure.clone());
        let text = tokio::select! {
            followed = following => panic!("{followed:?}"),
            text = told.wait_for(|text| !text.is_empty()) => text.unwrap().clone(),
        };
        assert!(text.starts_with(&address) || text.contains("cannot be reached"), "{text}");
        assert!(text.contains(reason), "{text}");
    }
    serving.abort();
}

/// A change with a condition has the deadline of other changes that people wait for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replacement_in_time_is_answered_while_the_store_is_away() {
    let failing = Arc::new(FailingStore::new(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>));
    let settings = Settings { document_deadline: Duration::from_millis(200), ..quick() };
    let leader = open(Arc::clone(&failing) as _, settings.clone()).await.unwrap();
    let server = Server::start(&leader, None).await;
    let follower = follow(&[server.url()], settings).await.unwrap();
    let named = |name: &str, json| vec![("user".to_owned(), name.to_owned(), json)];
    failing.hooks().fail(Moment::Before);
    for (catalog, name) in [(&follower, "ann"), (&leader, "bob")] {
        let (before, after) = (named(name, None), named(name, Some(json!(1))));
        let error = catalog.replace_documents_in_time(before, after).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. } | Error::Slow { .. }), "{error:?}");
    }
    failing.hooks().heal();
    server.stop().await;
}

/// A change that was under way while another one was made must not undo it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_is_replaced_only_where_it_is_what_is_expected() {
    let leader = open(Arc::new(InMemory::new()), Settings::default()).await.unwrap();
    let server = Server::start(&leader, None).await;
    let follower = follow(&[server.url()], quick()).await.unwrap();
    let named = |json| vec![("user".to_owned(), "ann".to_owned(), json)];
    for catalog in [&follower, &leader] {
        let first = || catalog.replace_documents(named(None), named(Some(json!(1))));
        first().await.unwrap();
        let number = catalog.snapshot().number();
        first().await.expect("its answer was lost");
        assert_eq!(catalog.snapshot().number(), number, "nothing is written");
        let second = catalog.replace_documents(named(Some(json!(1))), named(Some(json!(2))));
        second.await.unwrap();
        let late = first().await.unwrap_err();
        assert!(matches!(&late, Error::Changed { name, .. } if name == "ann"), "{late:?}");
        let late = catalog.replace_documents(named(Some(json!(1))), named(None)).await;
        assert!(late.is_err());
        assert_eq!(catalog.snapshot().document("user", "ann").as_deref(), Some(&json!(2)));
        catalog.replace_documents(named(Some(json!(2))), named(None)).await.unwrap();
        assert!(catalog.snapshot().document("user", "ann").is_none());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_renew_the_lease_is_not_followed() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let holder = Holder {
        instance: "a".to_owned(),
        nonce: "1".to_owned(),
        lock: None,
        host: "one".to_owned(),
        pid: 7,
        started: "2026-11-27T19:00:00Z".to_owned(),
        management: "https://127.0.0.1:8089".to_owned(),
        data: "/data".to_owned(),
    };
    let every = Duration::from_millis(100);
    let settings = LeaseSettings { renewal: every, heartbeat: every };
    let lease = Lease::take(Arc::clone(&store), holder, settings, false, |_, _| {}).await.unwrap();
    let leader = open(Arc::clone(&store), Settings::default()).await.unwrap();
    leader.held_with(lease.renewals());
    let server = Server::start(&leader, None).await;
    let follower = follow(&[server.url()], quick()).await.unwrap();
    let is_followed = async |wanted: bool| {
        let is_so = || std::future::ready(follower.lacks_leader() != wanted);
        wait_until(is_so, Duration::from_secs(60)).await
    };
    assert!(is_followed(false).await, "it is followed although it may not lead");
    assert!(matches!(leader.stalled(), Some(Stalled::Committing { .. })), "{:?}", leader.stalled());
    let is_told = || std::future::ready(follower.stalled().is_some());
    assert!(wait_until(is_told, Duration::from_secs(60)).await, "nobody misses the leader");
    let said = follower.stalled().map(|stalled| stalled.to_string()).unwrap_or_default();
    assert!(said.contains("its lease is lost, or was last renewed"), "{said}");
    assert!(said.contains("(the object store does not answer)"), "{said}");
    let shutdown = Shutdown::new();
    let keeping = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { lease.keep(&shutdown).await }
    });
    assert!(is_followed(true).await, "it is not followed although it has renewed its lease");
    assert_eq!((leader.stalled(), follower.stalled()), (None, None));
    leader.put_document("user", "a", json!({})).await.unwrap();
    compare(&follower, &leader).await;
    shutdown.stop();
    keeping.await.unwrap().unwrap();
    server.stop().await;
}

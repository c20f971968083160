//! A follower that takes the catalog over in place.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use karst_catalog::{Catalog, Commit, Error, Settings};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use runtime::SystemClock;
use serde_json::json;
use testkit::{FailingStore, Moment};
use tokio::task::JoinSet;

use super::followers::{Server, compare, follow, quick};
use super::support::{at, bucket, id, ids, open, records};

async fn lead(catalog: &Catalog, store: &Arc<dyn ObjectStore>) -> Result<(), Error> {
    catalog.lead(Arc::clone(store), "catalog", Arc::new(SystemClock)).await
}

fn add(number: u128) -> Commit {
    Commit { add: vec![bucket(number, 0, 9)], ..Commit::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_leads_in_place_and_the_former_leader_changes_nothing() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let old = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let before = Server::start(&old, None).await;
    let standby = follow(&[before.url()], quick()).await.unwrap();
    let after = Server::start(&standby, None).await;
    let urls = [before.url(), after.url()];
    let follower = follow(&urls, quick()).await.unwrap();
    follower.commit(add(1)).await.unwrap();
    compare(&standby, &old).await;
    let refused = follow(&[after.url()], Settings { leader_deadline: SOON, ..quick() }).await;
    let reason = refused.map(drop).unwrap_err().to_string();
    assert!(reason.contains("does not lead"), "{reason}");

    let mut seen = standby.subscribe();
    let clone = standby.clone();
    let kept = standby.snapshot();
    assert!(standby.follows() && !standby.lacks_leader());
    lead(&standby, &store).await.unwrap();
    clone.leads().await;
    assert!(!clone.follows() && !clone.lacks_leader());
    assert_eq!(clone.snapshot().number(), kept.number());
    assert!(seen.borrow_and_update().bucket(id(1)).is_some());

    let error = old.commit(add(2)).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error:?}");
    standby.commit(add(3)).await.unwrap();
    assert!(seen.has_changed().unwrap() && seen.borrow().bucket(id(3)).is_some());
    // Its followers lose the old one, which has learned that it leads no more.
    follower.commit(add(4)).await.unwrap();
    compare(&follower, &clone).await;
    assert_eq!((clone.snapshot().len(), old.snapshot().len()), (3, 1));
    // Leading twice is leading once.
    lead(&standby, &store).await.unwrap();
    standby.commit(add(5)).await.unwrap();
    let reopened = open(store, Settings::default()).await.unwrap();
    assert_eq!(reopened.snapshot().len(), 4);
    tokio::time::timeout(LONG, standby.lost()).await.unwrap_err();
    standby.commit(add(6)).await.unwrap_err();
    let why = tokio::time::timeout(LONG * 10, clone.lost()).await.unwrap();
    assert!(matches!(why, Error::Fenced { .. }), "{why:?}");
    after.stop().await;
    before.stop().await;
}

const SOON: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(2);

/// The leader has made writes that the standby was not told of any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_it_has_not_seen_are_there_once_it_leads() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let old = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let server = Server::start(&old, None).await;
    let standby = follow(&[server.url()], quick()).await.unwrap();
    standby.commit(add(1)).await.unwrap();
    server.stop().await;
    while !standby.lacks_leader() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    old.commit(add(2)).await.unwrap();
    old.put_document("user", "ann", json!(1)).await.unwrap();
    // Changes that wait for a leader are made by the new one, once.
    let mut waiting = JoinSet::new();
    for number in 10..20 {
        let standby = standby.clone();
        waiting.spawn(async move {
            standby.put_document("role", &number.to_string(), json!(number)).await.unwrap();
            standby.commit(add(number)).await.unwrap();
        });
    }
    lead(&standby, &store).await.unwrap();
    waiting.join_all().await;
    let snapshot = standby.snapshot();
    assert_eq!((snapshot.len(), snapshot.documents("role").len()), (12, 10));
    assert_eq!(snapshot.documents("user").len(), 1);
}

/// Its chunks are not those of the former leader, so it packs all headers again; the log goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_continues_with_the_packs_and_the_log_of_the_former_leader() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let old = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let server = Server::start(&old, None).await;
    let standby = follow(&[server.url()], quick()).await.unwrap();
    for number in 0..10 {
        old.commit(add(number)).await.unwrap();
    }
    old.pack().await.unwrap();
    old.commit(add(10)).await.unwrap();
    assert!(matches!(standby.pack().await, Err(Error::NotLeading { .. })));
    compare(&standby, &old).await;
    lead(&standby, &store).await.unwrap();
    assert!(matches!(old.pack().await, Err(Error::Fenced { .. } | Error::Closed { .. })));
    standby.commit(add(11)).await.unwrap();
    standby.pack().await.unwrap();
    standby.commit(add(12)).await.unwrap();
    let expected = ids(&standby);
    assert_eq!(expected.len(), 13);
    server.stop().await;
    for pack_changes in [0, 1_000] {
        let settings = Settings { pack_changes, ..Settings::default() };
        let reopened = open(Arc::clone(&store), settings).await.unwrap();
        assert_eq!(ids(&reopened), expected, "{pack_changes}");
    }
}

/// The store is away: the standby goes on following, and takes over later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_follows_on_if_it_cannot_open_the_catalog() {
    let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let old = open(Arc::clone(&memory), Settings::default()).await.unwrap();
    let server = Server::start(&old, None).await;
    let standby = follow(&[server.url()], quick()).await.unwrap();
    let failing = Arc::new(FailingStore::new(Arc::clone(&memory)));
    failing.hooks().fail(Moment::Before);
    let broken = Arc::clone(&failing) as Arc<dyn ObjectStore>;
    let error = lead(&standby, &broken).await.unwrap_err();
    assert!(matches!(error, Error::Store { .. }), "{error:?}");
    standby.commit(add(1)).await.unwrap();
    compare(&standby, &old).await;
    failing.hooks().heal();
    lead(&standby, &broken).await.unwrap();
    standby.commit(add(2)).await.unwrap();
    assert_eq!(standby.snapshot().len(), 2);
    server.stop().await;
}

/// Changes come from everywhere while the catalog changes hands: what was acknowledged is there, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_change_is_lost_when_it_changes_hands() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let first = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let mut leader = Server::start(&first, None).await;
    let mut next = 0;
    for round in 0..5_u64 {
        let standby = follow(&[leader.url()], quick()).await.unwrap();
        let server = Server::start(&standby, None).await;
        let follower = follow(&[leader.url(), server.url()], quick()).await.unwrap();
        let mut committing = JoinSet::new();
        for committer in 0..8 {
            let catalog = if committer % 2 == 0 { follower.clone() } else { standby.clone() };
            let numbers = next..next + 10;
            next += 10;
            committing.spawn(async move {
                for number in numbers {
                    catalog.commit(add(number)).await.unwrap();
                }
            });
        }
        // At another moment each time.
        tokio::time::sleep(Duration::from_millis(round * 7)).await;
        lead(&standby, &store).await.unwrap();
        committing.join_all().await;
        // If all of them were made before, the former leader learns of its successor from this one only.
        follower.commit(add(next)).await.unwrap();
        next += 1;
        assert_eq!(standby.snapshot().len(), usize::try_from(next).unwrap());
        compare(&follower, &standby).await;
        leader.stop().await;
        leader = server;
    }
    let reopened = open(store, Settings::default()).await.unwrap();
    assert_eq!(reopened.snapshot().len(), usize::try_from(next).unwrap());
    reopened.commit(Commit { ranges: at(1), ..add(1_000) }).await.unwrap();
    let overlapping = Commit { ranges: records(1, 2), ..add(1_001) };
    assert!(matches!(reopened.commit(overlapping).await, Err(Error::Overlap { .. })));
}

/// The store of the standby is not that of its leader: it creates no catalog there, and leads none that it
/// has not followed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_leads_no_other_and_no_older_catalog() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let old = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let server = Server::start(&old, None).await;
    let standby = follow(&[server.url()], quick()).await.unwrap();
    standby.commit(add(1)).await.unwrap();
    standby.commit(add(2)).await.unwrap();
    let refused = async |store: &Arc<dyn ObjectStore>| {
        let error = lead(&standby, store).await.unwrap_err();
        assert!(matches!(error, Error::OtherCatalog { .. }), "{error:?}");
        error.to_string()
    };

    let empty: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let reason = refused(&empty).await;
    assert!(reason.contains("there is none"), "{reason}");
    assert!(empty.list(None).next().await.is_none(), "something was written");

    let other: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let another = open(Arc::clone(&other), Settings::default()).await.unwrap();
    another.commit(add(7)).await.unwrap();
    let reason = refused(&other).await;
    assert!(reason.contains("state 1 is older than the state 2"), "{reason}");

    // Later by its number, and yet another one.
    old.identify(store.as_ref()).await.unwrap();
    compare(&standby, &old).await;
    let another = open(Arc::clone(&other), Settings::default()).await.unwrap();
    another.identify(other.as_ref()).await.unwrap();
    for number in 10..20 {
        another.commit(add(number)).await.unwrap();
    }
    let reason = refused(&other).await;
    assert!(reason.contains("the id of the followed one"), "{reason}");

    standby.commit(add(3)).await.unwrap();
    compare(&standby, &old).await;
    lead(&standby, &store).await.unwrap();
    standby.commit(add(4)).await.unwrap();
    assert_eq!(standby.snapshot().len(), 4);
    server.stop().await;
}

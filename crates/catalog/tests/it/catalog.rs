//! What the catalog promises, on a local directory and on S3.

use std::sync::Arc;
use std::time::Duration;

use super::support::{
    at, bucket, discarded, entries, id, ids, index, indexer, open, records, stream,
};
use karst_catalog::{Catalog, Commit, Error, Settings};
use model::{BucketState, EventTime, JournalPosition, TimeRange};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use runtime::store::{DurableLocal, Options};
use testkit::{CountingStore, FailingStore, Moment, Operation, S3Server, TestDir, wait_until};

fn local(dir: &TestDir) -> Arc<dyn ObjectStore> {
    Arc::new(DurableLocal::open(dir.path()).unwrap())
}

fn add(number: u128) -> Commit {
    let times = i64::try_from(number).unwrap();
    Commit { add: vec![bucket(number, times * 10, times * 10 + 9)], ..Commit::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_committed_is_in_the_snapshot_and_after_reopening() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let first = Commit { ranges: at(5), ..add(1) };
    catalog.commit(first).await.unwrap();
    let second = Commit {
        add: vec![bucket(2, 0, 5)],
        remove: vec![id(1)],
        ranges: at(9),
        ..Commit::default()
    };
    catalog.commit(second).await.unwrap();
    assert_eq!(ids(&catalog), [2]);
    catalog.close().await.unwrap();

    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    assert_eq!(ids(&catalog), [2]);
    assert_eq!(entries(&catalog).await, [bucket(2, 0, 5)]);
    assert_eq!(catalog.positions(indexer()).await, [(stream(), JournalPosition(9))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_opens_again_without_having_been_closed() {
    let dir = TestDir::new();
    let settings = Settings { fold_commits: 3, ..Settings::default() };
    for round in 0..4_u128 {
        let catalog = open(local(&dir), settings.clone()).await.unwrap();
        assert_eq!(ids(&catalog).len() as u128, round * 5);
        for number in 0..5 {
            catalog.commit(add(round * 5 + number)).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_opener_fences_the_first() {
    let dir = TestDir::new();
    let first = open(local(&dir), Settings::default()).await.unwrap();
    first.commit(add(1)).await.unwrap();
    let second = open(local(&dir), Settings::default()).await.unwrap();
    for _ in 0..2 {
        let error = first.commit(add(2)).await.unwrap_err();
        assert!(matches!(error, Error::Fenced { .. }), "{error:?}");
    }
    assert_eq!(ids(&first), [1]);
    second.commit(add(3)).await.unwrap();
    assert_eq!(ids(&second), [1, 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discarded_objects_are_remembered_until_they_are_forgotten() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    catalog.commit(add(1)).await.unwrap();
    let merge = Commit {
        expect: vec![id(1)],
        remove: vec![id(1)],
        discard: vec![discarded("buckets/a", 5), discarded("buckets/b", -7)],
        ..add(2)
    };
    catalog.commit(merge.clone()).await.unwrap();
    // The same again is done already; another replacement has no parts any more.
    catalog.commit(merge.clone()).await.unwrap();
    let other = Commit { add: add(4).add, ..merge };
    let error = catalog.commit(other).await.unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error}");
    catalog.close().await.unwrap();

    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let left = |catalog: &Catalog| -> Vec<(String, i64)> {
        let snapshot = catalog.snapshot();
        snapshot.discarded().map(|(path, time)| (path.to_owned(), time.0)).collect()
    };
    assert_eq!(left(&catalog), [("buckets/a".to_owned(), 5), ("buckets/b".to_owned(), -7)]);
    let forget = vec!["buckets/a".to_owned(), "buckets/unknown".to_owned()];
    catalog.commit(Commit { forget, ..Commit::default() }).await.unwrap();
    assert_eq!(left(&catalog), [("buckets/b".to_owned(), -7)]);
    let wrong = Commit { discard: vec![discarded(&bucket(3, 0, 1).path, 0)], ..add(3) };
    assert!(matches!(catalog.commit(wrong).await.unwrap_err(), Error::Invalid { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeating_a_commit_changes_nothing() {
    let dir = TestDir::new();
    let store = Arc::new(CountingStore::new(local(&dir)));
    let catalog = open(store.clone(), Settings::default()).await.unwrap();
    let commit = Commit { ranges: at(5), ..add(1) };
    catalog.commit(commit.clone()).await.unwrap();
    let number = catalog.snapshot().number();
    let puts = store.hooks().of(Operation::Put);
    catalog.commit(commit.clone()).await.unwrap();
    assert_eq!(catalog.snapshot().number(), number);
    // The fold after the first commit may still be writing; the write-ahead log is not.
    assert!(store.hooks().of(Operation::Put) <= puts + 2);

    // Replaced by a merge, then repeated late: it must not come back.
    let merge = Commit { remove: vec![id(1)], ..add(2) };
    catalog.commit(merge).await.unwrap();
    catalog.commit(commit).await.unwrap();
    assert_eq!(ids(&catalog), [2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_never_go_back() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    for position in [5, 3] {
        catalog.commit(Commit { ranges: at(position), ..Commit::default() }).await.unwrap();
    }
    assert_eq!(catalog.positions(indexer()).await, [(stream(), JournalPosition(5))]);
    let twice = [at(9), at(7)].concat();
    catalog.commit(Commit { ranges: twice, ..Commit::default() }).await.unwrap();
    assert_eq!(catalog.positions(indexer()).await, [(stream(), JournalPosition(9))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_whose_events_are_in_another_one_is_refused() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    catalog.commit(Commit { ranges: records(1, 5), ..add(1) }).await.unwrap();
    // Another owner of the journal replayed up to 8, and this one knows nothing of it.
    catalog.commit(Commit { ranges: records(6, 8), ..add(2) }).await.unwrap();
    let number = catalog.snapshot().number();
    let late = Commit { ranges: records(6, 10), discard: vec![discarded("x", 5)], ..add(3) };
    let error = catalog.commit(late).await.unwrap_err();
    assert!(matches!(error, Error::Overlap { records: (6, 10), known: 8, .. }), "{error:?}");
    assert!(error.to_string().contains("records 6 to 10 of stream main (indexer"), "{error}");
    assert_eq!(catalog.snapshot().number(), number);
    // All of it is there: a repetition.
    catalog.commit(Commit { ranges: records(2, 7), ..add(4) }).await.unwrap();
    assert_eq!(ids(&catalog), [1, 2]);
    // Records of other streams lie between those of one.
    catalog.commit(Commit { ranges: records(12, 20), ..add(5) }).await.unwrap();
    assert_eq!(catalog.positions(indexer()).await, [(stream(), JournalPosition(20))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_wait_together_are_one_write_with_an_outcome_each() {
    let dir = TestDir::new();
    let store = Arc::new(CountingStore::new(local(&dir)));
    let settings = Settings { fold_commits: 4_000, ..Settings::default() };
    let catalog = open(store.clone(), settings).await.unwrap();
    // The first write also compacts.
    catalog.commit(add(1)).await.unwrap();
    let puts = store.hooks().of(Operation::Put);
    let number = catalog.snapshot().number();
    let mut commits = Vec::new();
    for k in 2..402_u128 {
        let commit = match k % 4 {
            // Bucket 1 with another size, whatever comes before it in the group.
            0 => {
                let mut other = add(1);
                other.add[0].size += 1;
                other
            }
            _ => add(k),
        };
        let catalog = catalog.clone();
        commits.push(async move { (k, catalog.commit(commit).await) });
    }
    let done = futures::future::join_all(commits).await;
    for (k, outcome) in &done {
        let is_refused = matches!(outcome, Err(Error::Conflict { .. }));
        assert_eq!((is_refused, outcome.is_ok()), (k % 4 == 0, k % 4 != 0), "{k}: {outcome:?}");
    }
    let expected: Vec<u128> = (1..402).filter(|k| k % 4 != 0).collect();
    assert_eq!(ids(&catalog), expected);
    let writes = catalog.snapshot().number() - number;
    assert!(writes < 20, "{writes} writes");
    assert!(store.hooks().of(Operation::Put) - puts < 60);
    catalog.close().await.unwrap();
    let catalog = open(store, Settings::default()).await.unwrap();
    assert_eq!(ids(&catalog), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_changes_a_key_as_often_as_it_likes() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let json = serde_json::json!({ "a": 1 });
    let put = || catalog.put_document("user", "a", json.clone());
    let delete = || catalog.delete_document("user", "a");
    let (remove, late) = (Commit { remove: vec![id(1)], ..Commit::default() }, add(2));
    let (first, second, third, fourth, fifth, sixth, seventh) = tokio::join!(
        put(),
        delete(),
        put(),
        catalog.commit(add(1)),
        catalog.commit(remove),
        catalog.commit(late),
        delete(),
    );
    for done in [first, second, third, fourth, fifth, sixth, seventh] {
        done.unwrap();
    }
    catalog.close().await.unwrap();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    assert_eq!(ids(&catalog), [2]);
    assert!(catalog.documents("user").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_commit_is_applied_whole_or_not_at_all() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    for k in 1..40_u128 {
        let commit =
            Commit { add: vec![bucket(2 * k, 0, 1), bucket(2 * k + 1, 0, 1)], ..Commit::default() };
        let limit = Duration::from_micros(u64::try_from(k).unwrap() * 150);
        let _ = tokio::time::timeout(limit, catalog.commit(commit)).await;
    }
    catalog.close().await.unwrap();
    let left = ids(&catalog);
    let pairs: std::collections::BTreeSet<u128> = left.iter().map(|id| id / 2).collect();
    assert_eq!(left.len(), pairs.len() * 2);
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    assert_eq!(ids(&catalog), left);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_may_change_its_state_and_nothing_else() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    catalog.commit(add(1)).await.unwrap();
    let mut entry = add(1).add.remove(0);
    entry.state = BucketState::Frozen;
    catalog.commit(Commit { add: vec![entry.clone()], ..Commit::default() }).await.unwrap();
    assert_eq!(catalog.snapshot().bucket(id(1)).unwrap().state, BucketState::Frozen);
    entry.size += 1;
    let error = catalog.commit(Commit { add: vec![entry], ..Commit::default() }).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    assert_eq!(catalog.snapshot().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_contradicts_itself_changes_nothing() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let both = Commit { remove: vec![id(1)], ..add(1) };
    let twice = Commit { add: vec![bucket(1, 0, 1), bucket(1, 0, 1)], ..Commit::default() };
    for commit in [both, twice] {
        let error = catalog.commit(commit).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    }
    assert!(catalog.snapshot().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buckets_are_found_by_index_and_time_newest_first() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let mut other = bucket(9, 0, 1000);
    other.index = index("other");
    let spans = [(1, 0, 10), (2, 20, 30), (3, 5, 25), (4, 40, 50)];
    let mut buckets: Vec<_> = spans.iter().map(|&(n, a, b)| bucket(n, a, b)).collect();
    buckets.push(other);
    catalog.commit(Commit { add: buckets, ..Commit::default() }).await.unwrap();
    let snapshot = catalog.snapshot();
    let found = |indexes: &[&str], earliest, latest| -> Vec<u128> {
        let indexes: Vec<_> = indexes.iter().map(|name| index(name)).collect();
        let range = TimeRange { earliest: EventTime(earliest), latest: EventTime(latest) };
        snapshot.overlapping(&indexes, &range).map(|bucket| bucket.id.0.as_u128()).collect()
    };
    assert_eq!(found(&["main"], 10, 25), [2, 3, 1]);
    assert_eq!(found(&["main"], 31, 40), [0_u128; 0]);
    assert_eq!(found(&["main"], 50, 51), [4]);
    assert_eq!(found(&["other"], 0, 5), [9]);
    assert_eq!(found(&[], 0, 2000).len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_live_next_to_buckets() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let json = serde_json::json!({"roles": ["admin"]});
    catalog.put_document("user", "b", json.clone()).await.unwrap();
    catalog.put_document("user", "a", json.clone()).await.unwrap();
    catalog.put_document("users", "z", json.clone()).await.unwrap();
    catalog.delete_document("user", "b").await.unwrap();
    catalog.delete_document("user", "nobody").await.unwrap();
    catalog.close().await.unwrap();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let users = catalog.documents("user").await;
    assert_eq!(users.iter().map(|user| user.name.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(*users[0].json, json);
    let large = serde_json::json!("x".repeat(2 << 20));
    for (name, json) in [("c", large), ("", json.clone()), ("a\0b", json)] {
        let error = catalog.put_document("user", name, json).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_waits_for_a_store_that_is_away_and_then_succeeds() {
    // A put that was done and not reported is told from a fence by its metadata, which a directory
    // does not keep; there, such a put is reported as a fence, and opening again goes on.
    let store = Arc::new(FailingStore::new(Arc::new(InMemory::new())));
    let catalog = open(store.clone(), Settings::default()).await.unwrap();
    for moment in [Moment::Before, Moment::After] {
        let before = store.hooks().failures();
        store.hooks().fail(moment);
        let number = if moment == Moment::Before { 1 } else { 2 };
        let committing = tokio::spawn({
            let catalog = catalog.clone();
            async move { catalog.commit(add(number)).await }
        });
        let tried = || async { store.hooks().failures() > before + 1 };
        assert!(wait_until(tried, Duration::from_secs(30)).await);
        assert!(!committing.is_finished());
        store.hooks().heal();
        committing.await.unwrap().unwrap();
    }
    assert_eq!(ids(&catalog), [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_side_by_side_all_arrive() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    let commits = (0..20).map(|number| catalog.commit(add(number)));
    for done in futures::future::join_all(commits).await {
        done.unwrap();
    }
    assert_eq!(ids(&catalog).len(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_catalog_refuses_commits_and_closes_again() {
    let dir = TestDir::new();
    let catalog = open(local(&dir), Settings::default()).await.unwrap();
    catalog.close().await.unwrap();
    catalog.close().await.unwrap();
    let error = catalog.commit(add(1)).await.unwrap_err();
    assert!(matches!(error, Error::Closed { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_the_store_does_not_accept_is_known_with_the_error() {
    let store = Arc::new(FailingStore::new(Arc::new(InMemory::new())));
    let settings = Settings { slow_commit: Duration::from_secs(1), ..Settings::default() };
    let catalog = open(Arc::clone(&store) as Arc<dyn ObjectStore>, settings).await.unwrap();
    catalog.commit(add(1)).await.unwrap();
    assert_eq!(catalog.stalled(), None);
    store.hooks().fail(Moment::Before);
    let committing = tokio::spawn({
        let catalog = catalog.clone();
        async move { catalog.commit(add(2)).await }
    });
    let said = || catalog.stalled().map(|stalled| stalled.to_string()).unwrap_or_default();
    let is_known = || std::future::ready(said().contains("told to fail"));
    assert!(wait_until(is_known, Duration::from_secs(60)).await, "{}", said());
    store.hooks().heal();
    committing.await.unwrap().unwrap();
    assert_eq!(catalog.stalled(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_is_named_at_once() {
    let dir = TestDir::new();
    let store = Arc::new(FailingStore::new(local(&dir)));
    store.hooks().fail(Moment::Before);
    let error = open(store, Settings::default()).await.unwrap_err();
    assert!(matches!(error, Error::Store { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_s3_it_keeps_its_promises_through_a_restart_of_the_server() {
    let Some(mut server) = S3Server::start().await else { return };
    let options = Options { variables: server.variables(), ..Options::default() };
    let store = runtime::store::open(&server.url("deployment"), &options).unwrap().store;
    let first = open(store.clone(), Settings::default()).await.unwrap();
    first.commit(Commit { ranges: at(1), ..add(1) }).await.unwrap();
    server.kill();
    let committing = tokio::spawn({
        let catalog = first.clone();
        async move { catalog.commit(add(2)).await }
    });
    server.restart().await;
    committing.await.unwrap().unwrap();
    let second = open(store, Settings::default()).await.unwrap();
    assert_eq!(ids(&second), [1, 2]);
    let error = first.commit(add(3)).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_catalog_and_its_object_store_have_the_same_identity() {
    let dir = TestDir::new();
    let (store, object) = (local(&dir), Path::from("installed/store.id"));
    let catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    assert_eq!(catalog.snapshot().store_id(), None);
    let id = catalog.identify(store.as_ref()).await.unwrap();
    assert_eq!(catalog.snapshot().store_id(), Some(id));
    assert_eq!(catalog.identify(store.as_ref()).await.unwrap(), id);
    // The object was not restored with the catalog.
    store.delete(&object).await.unwrap();
    assert_eq!(catalog.identify(store.as_ref()).await.unwrap(), id);
    catalog.close().await.unwrap();
    let again = open(Arc::clone(&store), Settings::default()).await.unwrap();
    assert_eq!(again.snapshot().store_id(), Some(id));
    // A rebuilt catalog, of which only the object store has the identity.
    let settings = Settings::default();
    let clock = Arc::new(runtime::SystemClock);
    let new = Catalog::open(Arc::clone(&store), "new", settings, clock).await.unwrap();
    assert_eq!(new.identify(store.as_ref()).await.unwrap(), id);
    let other: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let second = open(Arc::clone(&other), Settings::default()).await.unwrap();
    second.identify(other.as_ref()).await.unwrap();
    let error = again.identify(other.as_ref()).await.unwrap_err();
    assert!(matches!(error, Error::OtherCatalog { .. }), "{error:?}");
    assert!(error.to_string().contains(&id.to_string()), "{error}");
}

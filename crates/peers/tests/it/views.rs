//! What a view has, what it costs, and what it says when an indexer does not answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bucket::{HotDirectory, HotView};
use bytes::Bytes;
use karst_peers::{CountsSearches as _, Indexer, Settings};
use model::{EventTime, TimeRange};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use runtime::health::{self, Severity};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::support::{
    Searching, Served, catalog, directory, entry, id, indexer, main_index, numbers, settings,
};

/// All event numbers of a view, sorted.
fn events(view: &HotView) -> Vec<i64> {
    let batches = view.buckets.iter().flat_map(|bucket| &bucket.batches);
    let mut all: Vec<i64> = batches.flat_map(numbers).collect();
    all.sort_unstable();
    all
}

async fn all(directory: &karst_peers::Directory) -> HotView {
    directory.view(&[main_index()], &TimeRange::ALL).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_has_the_rows_of_all_indexers_and_later_views_cost_only_the_new_ones() {
    let catalog = catalog().await;
    let served = [Served::start("one", &catalog).await, Served::start("two", &catalog).await];
    let known = served.iter().map(|served| served.indexer.clone()).collect();
    let (directory, indexers) = directory(known, settings());
    let sent = || served.iter().map(|served| served.sent.load(Ordering::SeqCst)).sum::<u64>();
    served[0].hot.append(id(1), 0..10_000);
    served[1].hot.append(id(2), 10_000..20_000);
    let view = all(&directory).await;
    assert_eq!(events(&view), (0..20_000).collect::<Vec<_>>());
    assert!(view.missing.is_empty() && directory.is_remote());
    let first = sent();
    served[1].hot.append(id(2), 20_000..20_010);
    let view = all(&directory).await;
    assert_eq!(events(&view), (0..20_010).collect::<Vec<_>>());
    assert!((sent() - first) * 10 < first, "{first} bytes first, then {}", sent() - first);

    let range = TimeRange { earliest: EventTime(19_000), latest: EventTime(30_000) };
    let some = directory.view(&[main_index()], &range).await;
    assert_eq!(events(&some).first(), Some(&10_000), "whole buckets that overlap");
    let other = model::IndexName::new("other").unwrap();
    assert!(directory.view(&[other], &TimeRange::ALL).await.buckets.is_empty());
    // Of a process that has only events of the cluster itself nobody expects others.
    let internal = Indexer { is_internal: true, ..indexer("gone", ([127, 0, 0, 1], 9).into()) };
    let some = served[1].indexer.clone();
    indexers.send_replace([served[0].indexer.clone(), some, internal].into());
    assert_eq!(all(&directory).await.missing, []);
    let audit = model::IndexName::new("_audit").unwrap();
    assert_eq!(directory.view(&[audit], &TimeRange::ALL).await.missing.len(), 1);
    // A bucket that has left is not shown, and not kept.
    served[0].hot.remove(id(1));
    assert_eq!(events(&all(&directory).await), (10_000..20_010).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_do_not_fit_are_missing_and_the_setting_is_named() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    let small = Settings { held_bytes: 2 << 20, ..settings() };
    let (directory, _indexers) = directory(vec![served.indexer.clone()], small);
    // Each fits, together they do not.
    served.hot.append(id(1), 0..5_000);
    served.hot.append(id(2), 5_000..10_000);
    for (first, last) in [(0, 5_000), (5_000, 10_000), (0, 5_000)] {
        let range = TimeRange { earliest: EventTime(first), latest: EventTime(last) };
        let view = directory.view(&[main_index()], &range).await;
        assert_eq!(view.missing, []);
        assert_eq!(events(&view), (first..last).collect::<Vec<_>>());
    }
    let view = all(&directory).await;
    assert!(view.missing[0].reason.contains("max_peer_rows_mb = 2"), "{:?}", view.missing);
    assert!(view.missing[0].name.contains("peer one (http://127.0.0.1:"), "{:?}", view.missing);
    assert!(view.buckets.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_indexer_that_does_not_answer_is_missing_until_it_does() {
    let catalog = catalog().await;
    let served = [Served::start("one", &catalog).await, Served::start("two", &catalog).await];
    let silent = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let silent = indexer("silent", silent.local_addr().map(|address| (address, silent)).unwrap().0);
    served[0].hot.append(id(1), 0..10);
    served[1].hot.append(id(2), 10..20);
    let quick = Settings { first_answer: Duration::from_secs(1), ..settings() };
    let known = served.iter().map(|served| served.indexer.clone());
    let known: Vec<Indexer> = known.chain([silent.clone()]).collect();
    let (directory, indexers) = directory(known.clone(), quick);
    let view = all(&directory).await;
    assert_eq!(events(&view), (0..20).collect::<Vec<_>>(), "the others are there");
    assert_eq!(view.missing.len(), 1);
    assert!(view.missing[0].name.contains("silent"), "{:?}", view.missing);

    let [one, two] = served;
    two.stop().await;
    let view = all(&directory).await;
    assert_eq!(events(&view), (0..10).collect::<Vec<_>>());
    let names: Vec<_> = view.missing.iter().map(|missing| missing.name.as_str()).collect();
    assert!(names.len() == 2 && names[0].contains("two"), "{names:?}");
    assert!(view.missing.iter().all(|missing| !missing.reason.is_empty()));

    // It comes back elsewhere, with what it had.
    let two = Served::start("two", &catalog).await;
    two.hot.append(id(2), 10..25);
    indexers.send_replace([one.indexer.clone(), two.indexer.clone()].into());
    let view = all(&directory).await;
    assert_eq!((events(&view), view.missing), ((0..25).collect::<Vec<_>>(), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_makes_the_first_search_slow_and_not_the_next() {
    let silent = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    // Connections are made and never answered.
    let silent_indexer = indexer("silent", silent.local_addr().unwrap());
    let patient = Settings { first_answer: Duration::from_secs(5), ..settings() };
    let (directory, _indexers) = directory(vec![silent_indexer], patient);
    let begin = Instant::now();
    assert!(all(&directory).await.missing[0].reason.contains("no answer within 5000 ms"));
    let first = begin.elapsed();
    let begin = Instant::now();
    assert_eq!(all(&directory).await.missing.len(), 1);
    assert!(begin.elapsed() < first / 2, "{:?}, first {first:?}", begin.elapsed());
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hung_is_missing_at_once_and_searched_again_once_it_answers() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    served.hot.append(id(1), 0..10);
    let gate = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let address = format!("http://{}", gate.local_addr().unwrap());
    let behind = served.indexer.address.trim_start_matches("http://").to_owned();
    let hung = Indexer { address, ..served.indexer.clone() };
    let quick = Settings { first_answer: Duration::from_secs(1), ..settings() };
    let (directory, _indexers) = directory(vec![hung], quick);
    assert_eq!(all(&directory).await.missing.len(), 1);
    let begin = Instant::now();
    for _ in 0..20 {
        let view = all(&directory).await;
        assert!(view.missing.len() == 1 && view.buckets.is_empty(), "{view:?}");
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "20 searches in {:?}", begin.elapsed());

    let passing = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = gate.accept().await {
            let behind = behind.clone();
            connections.spawn(async move {
                let mut server = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    let searching = async {
        loop {
            let view = all(&directory).await;
            if view.missing.is_empty() {
                return events(&view);
            }
            assert!(view.buckets.is_empty(), "{view:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), searching).await;
    assert_eq!(found.expect("it is searched again"), (0..10).collect::<Vec<_>>());
    passing.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_search_waits_for_one_that_answers_only_what_asks_for_no_events() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    served.hot.append(id(1), 0..10);
    let wait = Duration::from_secs(1);
    let quick = Settings { first_answer: wait, ..settings() };
    let (directory, _indexers) = directory(vec![served.indexer.clone()], quick);
    served.hot.2.store(true, Ordering::SeqCst);
    assert_eq!(all(&directory).await.missing.len(), 1);
    let (begin, mut answered) = (Instant::now(), 0);
    // Some attempts at an answer long.
    while begin.elapsed() < wait * 3 {
        // A suspect gets little time for it: on a busy machine some of them fail.
        answered += usize::from(directory.answers().await[0].1.is_ok());
        let search = Instant::now();
        assert_eq!(all(&directory).await.missing.len(), 1);
        assert!(search.elapsed() < wait, "{:?}", search.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(answered > 0, "it answers what asks for no events");
    served.hot.2.store(false, Ordering::SeqCst);
    let searching = async {
        loop {
            let view = all(&directory).await;
            if view.missing.is_empty() {
                return events(&view);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), searching).await;
    assert_eq!(found.expect("it is searched again"), (0..10).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_indexer_whose_address_another_one_has_is_missing() {
    let catalog = catalog().await;
    let served = Served::start("new", &catalog).await;
    let old = Indexer { id: "old".to_owned(), ..served.indexer.clone() };
    let older = Indexer { id: "older".to_owned(), ..old.clone() };
    let (directory, _indexers) = directory(vec![old, older, served.indexer.clone()], settings());
    served.hot.append(id(1), 0..10);
    let view = all(&directory).await;
    assert_eq!(events(&view).len(), 10);
    assert_eq!(view.missing.len(), 2, "{view:?}");
    for (missing, id) in view.missing.iter().zip(["old", "older"]) {
        let said = "another process has its address; the ID of the missing process is";
        assert_eq!(missing.reason, format!("{said} {id}"));
    }
    let answers = directory.answers().await;
    let silent: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_err()).collect();
    assert_eq!(silent[0].0, "old");
    assert_eq!(silent.len(), 2);
    let (_, new) = answers.iter().find(|(id, _)| id == "new").unwrap();
    assert_eq!(new.as_ref().unwrap().searches, Searching.searches());
    assert_eq!(new.as_ref().unwrap().emptied, [main_index()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_the_full_disks_of_its_process() {
    let served = Served::start("one", &catalog().await).await;
    let (directory, _indexers) = directory(vec![served.indexer.clone()], settings());
    let told = async || {
        let (_, answer) = directory.answers().await.remove(0);
        answer.unwrap().full_disks
    };
    assert_eq!(told().await, Vec::<String>::new());
    served.health.set(health::DISK_FULL, Severity::Warning, "/data: 0 bytes are free");
    assert_eq!(told().await, ["/data: 0 bytes are free"]);
    served.health.clear(health::DISK_FULL);
    assert_eq!(told().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_the_time_for_which_its_process_has_lacked_a_write() {
    let (behind, own) = (catalog().await, catalog().await);
    let served = Served::start("one", &behind).await;
    let (directory, _indexers) = directory(vec![served.indexer.clone()], settings());
    let shutdown = runtime::Shutdown::new();
    shutdown.spawn(directory.writes().keep(own.clone(), shutdown.clone()));
    let lag = async || directory.answers().await.remove(0).1.unwrap().lag;
    assert_eq!(lag().await, Duration::ZERO);
    own.put_document("notes", "one", serde_json::json!({})).await.unwrap();
    let growing = async {
        while lag().await < Duration::from_millis(300) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), growing).await.expect("the lag grows");
    behind.put_document("notes", "one", serde_json::json!({})).await.unwrap();
    assert_eq!(lag().await, Duration::ZERO);
    shutdown.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_names_the_processes_that_have_not_stored_their_events() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    let internal = Indexer { is_internal: true, ..indexer("gone", ([127, 0, 0, 1], 9).into()) };
    let old = Indexer { id: "old".to_owned(), ..served.indexer.clone() };
    let (directory, indexers) = directory(vec![served.indexer.clone(), internal], settings());
    let failed = directory.roll(&main_index()).await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("peer one (") && failed[0].ends_with("object storage is away"));
    let own = model::IndexName::new("_own").unwrap();
    let failed = directory.roll(&own).await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("peer gone ("), "{failed:?}");
    // The events of a lost process are not those of the process that has its address.
    indexers.send_replace([old].into());
    let failed = directory.roll(&own).await;
    assert!(failed[0].ends_with("the ID of the missing process is old"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_servers_and_other_addresses_are_missing() {
    let garbage = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let address = garbage.local_addr().unwrap();
    let answering = tokio::spawn(async move {
        while let Ok((mut client, _)) = garbage.accept().await {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut client, b"220 mail.example ESMTP\r\n")
                .await;
        }
    });
    let wrong = Indexer { address: "not an address".to_owned(), ..indexer("wrong", address) };
    let (directory, _indexers) = directory(vec![indexer("mail", address), wrong], settings());
    let view = all(&directory).await;
    assert_eq!(view.missing.len(), 2, "{view:?}");
    assert!(view.missing.iter().all(|missing| !missing.reason.is_empty()));
    answering.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_waits_for_its_upload_is_read_from_its_indexer_until_it_is_uploaded() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    let (directory, _indexers) = directory(vec![served.indexer.clone()], settings());
    let inner = Arc::new(InMemory::new());
    let store = directory.readable(Arc::clone(&inner) as Arc<dyn ObjectStore>);
    served.hot.append(id(1), 0..10);
    assert_eq!(events(&all(&directory).await).len(), 10);
    let content: Bytes = (0..5_000_000_u32).map(|at| (at % 251) as u8).collect();
    let stored = model::BucketEntry { size: content.len() as u64, ..entry(id(1), 0..10) };
    let path = Path::from(stored.path.clone());
    served.spool.put(&path, content.clone().into()).await.unwrap();
    {
        let mut buckets = served.hot.0.lock();
        let bucket = buckets.get_mut(&id(1)).unwrap();
        bucket.batches.clear();
        bucket.stored = Some(Arc::new(stored.clone()));
    }
    let view = all(&directory).await;
    assert_eq!(view.buckets[0].stored.as_deref(), Some(&stored));
    let ranges = [0..1, 4_999_999..5_000_000, 10..4_000_000];
    for _ in 0..2 {
        let read = store.get_ranges(&path, &ranges).await.unwrap();
        for (range, data) in ranges.iter().zip(read) {
            assert_eq!(data, content[range.start as usize..range.end as usize]);
        }
        let suffix = GetOptions { range: Some(GetRange::Suffix(8)), ..GetOptions::default() };
        let tail = store.get_opts(&path, suffix).await.unwrap().bytes().await.unwrap();
        assert_eq!(tail, content[content.len() - 8..]);
        assert_eq!(store.head(&path).await.unwrap().size, content.len() as u64);
        // Then it is uploaded, and leaves the spool.
        inner.put(&path, content.clone().into()).await.unwrap();
        let _ = served.spool.delete(&path).await;
    }
    let other = Path::from("buckets/other");
    inner.put(&other, Bytes::from_static(b"x").into()).await.unwrap();
    assert_eq!(store.get(&other).await.unwrap().bytes().await.unwrap(), "x");
    // Its indexer is lost: what was uploaded before is there, and the reason for the rest is that of the
    // indexer.
    let _ = served.stop().await;
    let read = store.get_ranges(&path, &ranges).await.unwrap();
    assert_eq!(read[0], content[0..1]);
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), content);
    inner.delete(&path).await.unwrap();
    let lost = store.get_ranges(&path, &ranges).await.unwrap_err();
    assert!(matches!(lost, object_store::Error::Generic { store: "indexer", .. }), "{lost}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_rows_stay_at_their_indexer_as_they_were_until_nobody_reads_them() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    let settings = Settings { moved_bytes: 1 << 20, ..settings() };
    let (directory, _indexers) = directory(vec![served.indexer.clone()], settings);
    let sent = || served.sent.load(Ordering::SeqCst);
    served.hot.append(id(1), 0..1_000);
    assert_eq!(events(&all(&directory).await), (0..1_000).collect::<Vec<_>>(), "few are moved");
    let before = sent();
    served.hot.append(id(1), 1_000..20_000);
    served.hot.append(id(2), 20_000..30_000);
    let view = all(&directory).await;
    assert!(view.missing.is_empty() && events(&view).is_empty());
    assert!(sent() - before < 10_000, "{} bytes for a list", sent() - before);
    let rows: Vec<_> = view.buckets.iter().map(|bucket| (bucket.id, bucket.rows)).collect();
    assert_eq!(rows, [(id(1), 20_000), (id(2), 10_000)]);
    let elsewhere = view.buckets[0].elsewhere.clone().unwrap();
    assert_eq!(elsewhere.sourcetypes[..], ["sourcetype".to_owned()]);
    assert_eq!(elsewhere.view.indexer(), "one");
    let open = served.views.get(elsewhere.view.number()).unwrap();
    assert_eq!(open.iter().map(|bucket| bucket.rows).collect::<Vec<_>>(), [20_000, 10_000]);

    // They can be moved later, as they were when the view was opened.
    served.hot.append(id(1), 30_000..30_010);
    served.hot.remove(id(2));
    for (number, expected) in [(1, 0..20_000), (2, 20_000..30_000)] {
        let moved = elsewhere.view.rows(id(number)).await.unwrap();
        let moved: Vec<i64> = moved.iter().flat_map(numbers).collect();
        assert_eq!(moved, expected.collect::<Vec<_>>());
    }
    let error = elsewhere.view.rows(id(3)).await.unwrap_err();
    assert!(error.reason.contains("no such bucket") && error.name.contains("peer one"));

    // A later search that lacks few rows has all of them moved.
    let later = all(&directory).await;
    assert_eq!(events(&later), (0..20_000).chain(30_000..30_010).collect::<Vec<_>>());

    drop((view, elsewhere));
    let closed = async {
        while served.views.count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), closed).await.expect("views are closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_stayed_are_missing_once_their_indexer_is_gone() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    let settings = Settings { moved_bytes: 0, ..settings() };
    let (directory, _indexers) = directory(vec![served.indexer.clone()], settings);
    served.hot.append(id(1), 0..1_000);
    let view = all(&directory).await;
    let elsewhere = view.buckets[0].elsewhere.clone().unwrap();
    served.stop().await;
    let error = elsewhere.view.rows(id(1)).await.unwrap_err();
    assert!(error.name.contains("peer one") && !error.reason.is_empty(), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_indexer_is_not_missing_once_another_one_has_recovered_all_its_events() {
    let catalog = catalog().await;
    let served = Served::start("one", &catalog).await;
    let lost = model::IndexerId(uuid::Uuid::from_u128(7));
    let gone = |is_recoverable| Indexer {
        is_recoverable,
        ..indexer(&lost.to_string(), ([127, 0, 0, 1], 9).into())
    };
    let (directory, indexers) = directory(vec![served.indexer.clone(), gone(true)], settings());
    let view = all(&directory).await;
    assert_eq!((view.missing.len(), view.silent), (1, vec![lost]));
    served.hot.1.lock().push(bucket::HotOwner { indexer: lost, set: 0, epoch: 2, is_local: false });
    let view = all(&directory).await;
    assert_eq!(
        (view.missing, view.covered.len()),
        (Vec::new(), 1),
        "the catalog tells of the epoch"
    );
    // Events of the cluster itself may have been on its disk only.
    let audit = model::IndexName::new("_audit").unwrap();
    assert_eq!(directory.view(&[audit], &TimeRange::ALL).await.missing.len(), 1);
    indexers.send_replace([served.indexer.clone(), gone(false)].into());
    assert_eq!(all(&directory).await.missing.len(), 1, "it acknowledges what is on its disk only");
}

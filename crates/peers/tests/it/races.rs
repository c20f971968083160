//! Searches while buckets fill and leave for the catalog.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use bucket::HotDirectory;
use catalog::{Catalog, Commit};
use karst_peers::Directory;
use model::TimeRange;
use parking_lot::Mutex;

use crate::support::{Served, catalog, directory, entry, id, main_index, numbers, settings};

/// Event numbers of the buckets in the catalog.
type Stored = Mutex<Vec<(u128, std::ops::Range<i64>)>>;

/// What a search over everything finds, by the rule of searches: hot first, then the catalog as of the floor,
/// without hot buckets that it has.
async fn search(directory: &Directory, catalog: &Catalog, stored: &Stored) -> Vec<i64> {
    let view = directory.view(&[main_index()], &TimeRange::ALL).await;
    assert_eq!(view.missing, []);
    let mut snapshots = catalog.subscribe();
    let snapshot = snapshots.wait_for(|snapshot| snapshot.number() >= view.floor).await;
    let snapshot = Arc::clone(&snapshot.unwrap());
    let mut found: Vec<i64> = Vec::new();
    for (number, events) in stored.lock().iter() {
        if snapshot.contains(&main_index(), id(*number)) {
            found.extend(events.clone());
        }
    }
    for bucket in &view.buckets {
        if !snapshot.contains(&main_index(), bucket.id) {
            let rows: Vec<i64> = bucket.batches.iter().flat_map(numbers).collect();
            assert_eq!(rows.len() as u64, bucket.rows);
            found.extend(rows);
        }
    }
    found
}

/// Several searches at a time, each of which has to find what was acknowledged before it began, and nothing
/// twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_search_meets_every_acknowledged_event_once() {
    const EVENTS: i64 = 30_000;
    let catalog = catalog().await;
    let served = [Served::start("one", &catalog).await, Served::start("two", &catalog).await];
    let indexers: Vec<_> = served.iter().map(|served| served.indexer.clone()).collect();
    let (directory, _indexers) = directory(indexers, settings());
    let (stored, acknowledged) = (Arc::new(Stored::default()), Arc::new(AtomicI64::new(0)));
    let is_over = Arc::new(AtomicBool::new(false));
    let searches: Vec<_> = (0..3)
        .map(|_| {
            let (directory, catalog) = (directory.clone(), catalog.clone());
            let (stored, acknowledged) = (Arc::clone(&stored), Arc::clone(&acknowledged));
            let is_over = Arc::clone(&is_over);
            tokio::spawn(async move {
                let mut searches = 0;
                while !is_over.load(Ordering::SeqCst) || searches == 0 {
                    let before = acknowledged.load(Ordering::SeqCst);
                    let found = search(&directory, &catalog, &stored).await;
                    let distinct: HashSet<i64> = found.iter().copied().collect();
                    assert_eq!(distinct.len(), found.len(), "an event was found twice");
                    let lost: Vec<i64> = (0..before).filter(|n| !distinct.contains(n)).collect();
                    assert!(
                        lost.is_empty(),
                        "{} of {before} events are lost: {lost:?}",
                        lost.len()
                    );
                    searches += 1;
                }
                searches
            })
        })
        .collect();
    // Each indexer fills a bucket, lets it go, and so on.
    let mut next = 0;
    let mut open = [(1_u128, 0_i64), (2, 0)];
    let mut parts: [Vec<std::ops::Range<i64>>; 2] = [Vec::new(), Vec::new()];
    let mut buckets = 2;
    while next < EVENTS {
        let turn = usize::try_from(next / 30 % 2).unwrap();
        let numbers = next..next + 30;
        served[turn].hot.append(id(open[turn].0), numbers.clone());
        parts[turn].push(numbers);
        next += 30;
        acknowledged.store(next, Ordering::SeqCst);
        open[turn].1 += 30;
        if open[turn].1 == 1_500 {
            let bucket = open[turn].0;
            let events = std::mem::take(&mut parts[turn]);
            let span = events[0].start..events[events.len() - 1].end;
            stored.lock().extend(events.into_iter().map(|events| (bucket, events)));
            let add = vec![entry(id(bucket), span)];
            catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
            served[turn].hot.remove(id(bucket));
            buckets += 1;
            open[turn] = (buckets, 0);
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    is_over.store(true, Ordering::SeqCst);
    let mut all = 0;
    for search in searches {
        all += search.await.unwrap();
    }
    assert!(all > 10, "{all} searches ran beside");
    assert!(catalog.snapshot().len() >= 18);
}

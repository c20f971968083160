//! A process that commits is killed at every operation on its store, before and after it.
//!
//! The child is this test binary again, with the crash's place in its environment.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::earlier::{buckets, earlier_version};
use super::support::{at, bucket, entries, id, ids, indexer, open, stream};
use karst_catalog::{Catalog, Commit, Settings, Takeover};
use model::{IndexerId, JournalPosition};
use runtime::store::Options;
use testkit::{CrashingStore, Moment, S3Server, TestDir};

const COMMITS: u64 = 4;
/// Buckets that the first commit adds besides, so that there are two packs.
const OTHERS: std::ops::Range<u128> = 1_000..2_100;
/// Line in the log of a child that has packed the headers.
const PACKED: &str = "packed";
const CHILD: &str = "crash::the_child_commits_until_it_is_killed";
const OPENING_CHILD: &str = "crash::the_child_opens_an_earlier_version_until_it_is_killed";

/// The epoch of commit `k`: each second commit takes the set over.
fn epoch(k: u64) -> u64 {
    k / 2
}

/// Commit `k` (from 1) adds two buckets, removes one of the commit before, and moves the stream; each second
/// one takes the set over. The first one adds others, too.
fn commit(k: u64) -> Commit {
    let new = u128::from(k) * 2;
    let remove = if k > 1 { vec![id(new - 2)] } else { vec![] };
    let mut add = vec![bucket(new, 0, 9), bucket(new + 1, 5, 12)];
    if k == 1 {
        add.extend(OTHERS.zip(20..).map(|(other, time)| bucket(other, time, time)));
    }
    let mut ranges = at(k);
    ranges[0].epoch = epoch(k);
    let (indexer, set) = (indexer(), stream().set);
    let take_over = (epoch(k) > epoch(k - 1)).then(|| Takeover {
        indexer,
        set,
        epoch: epoch(k),
        owner: owner(k),
    });
    let take_over = take_over.into_iter().collect();
    Commit { add, remove, ranges, take_over, ..Commit::default() }
}

/// Who owns the set after commit `k`.
fn owner(k: u64) -> IndexerId {
    match epoch(k) {
        0 => indexer(),
        epoch => IndexerId(uuid::Uuid::from_u128(u128::from(epoch) << 64)),
    }
}

/// The buckets after `k` commits.
fn buckets_after(k: u64) -> Vec<u128> {
    let mut ids: Vec<u128> = (1..=u128::from(k)).map(|k| k * 2 + 1).collect();
    if k > 0 {
        ids.push(u128::from(k) * 2);
        ids.extend(OTHERS);
    }
    ids.sort_unstable();
    ids
}

fn settings() -> Settings {
    // Folds happen within the few commits, so that crashes hit them too, and also come between two packs.
    Settings { fold_commits: 2, packs_together: 1, ..Settings::default() }
}

/// Headers are read one by one.
fn without_packs() -> Settings {
    Settings { pack_changes: 0, ..settings() }
}

async fn position(catalog: &Catalog) -> u64 {
    let positions = catalog.positions(indexer()).await;
    positions.into_iter().next().map_or(0, |(_, JournalPosition(position))| position)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child_commits_until_it_is_killed() {
    let variable = |name: &str| std::env::var(format!("KARST_CRASH_{name}")).ok();
    let Some(url) = variable("URL") else { return };
    let variables = serde_json::from_str(&variable("VARIABLES").unwrap()).unwrap();
    let number = variable("NUMBER").unwrap().parse().unwrap();
    let moment =
        if variable("MOMENT").unwrap() == "before" { Moment::Before } else { Moment::After };
    let mut log = std::fs::File::create(variable("LOG").unwrap()).unwrap();

    let store = runtime::store::open(&url, &Options { variables, ..Options::default() }).unwrap();
    let store = Arc::new(CrashingStore::new(store.store, number, moment));
    let catalog = open(store, settings()).await.unwrap();
    let mut packing = None;
    for k in position(&catalog).await + 1..=COMMITS {
        catalog.commit(commit(k)).await.unwrap();
        assert_eq!(ids(&catalog), buckets_after(k));
        writeln!(log, "{k}").unwrap();
        // Every second commit is made during packing.
        if k % 2 == 0 {
            let catalog = catalog.clone();
            packing = Some(tokio::spawn(async move { catalog.pack().await }));
        }
        if let Some(packing) = packing.take_if(|_| k % 2 == 1 || k == COMMITS) {
            packing.await.unwrap().unwrap();
            writeln!(log, "{PACKED}").unwrap();
        }
    }
    catalog.close().await.unwrap();
}

/// The last commit the child acknowledged, and whether it came to its end.
fn run_child(
    child: &str,
    url: &str,
    variables: &BTreeMap<String, String>,
    at: (u64, &str),
    log: &Path,
) -> (u64, bool) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args([child, "--exact", "--nocapture", "--test-threads=1"])
        .env("KARST_CRASH_URL", url)
        .env("KARST_CRASH_VARIABLES", serde_json::to_string(variables).unwrap())
        .env("KARST_CRASH_NUMBER", at.0.to_string())
        .env("KARST_CRASH_MOMENT", at.1)
        .env("KARST_CRASH_LOG", log)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert!(status.success() || status.signal() == Some(9), "the child failed: {status} at {at:?}");
    let acknowledged = std::fs::read_to_string(log).unwrap_or_default();
    let last = acknowledged.lines().rev().find_map(|line| line.parse().ok());
    (last.unwrap_or(0), status.success())
}

/// Kills at operation 1, 2, 3, ... of a new catalog each, until a child survives.
async fn check_every_crash(base: &str, variables: BTreeMap<String, String>) -> u64 {
    let dir = TestDir::new();
    let mut crashes = 0;
    for moment in ["before", "after"] {
        for number in 1.. {
            let url = format!("{base}/{moment}-{number}");
            let log = dir.join(&format!("{moment}-{number}.log"));
            let (acknowledged, survived) =
                run_child(CHILD, &url, &variables, (number, moment), &log);
            let options = Options { variables: variables.clone(), ..Options::default() };
            let store = runtime::store::open(&url, &options).unwrap().store;
            let salvaged = karst_catalog::salvage(&store, "catalog").await.unwrap();
            assert_eq!(salvaged.difference, None, "{moment} operation {number}");
            let catalog = open(Arc::clone(&store), without_packs()).await.unwrap();
            let found = position(&catalog).await;
            let place = format!("{moment} operation {number}, acknowledged {acknowledged}");
            assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} {place}");
            assert_eq!(ids(&catalog), buckets_after(found), "{place}");
            let single = entries(&catalog).await;
            let catalog = open(Arc::clone(&store), settings()).await.unwrap();
            assert_eq!(ids(&catalog), buckets_after(found), "{place}, from packs");
            assert!(entries(&catalog).await == single, "{place}, from packs");
            // Once there are packs, every crash leaves some with the log of later writes.
            let has_packed = std::fs::read_to_string(&log).is_ok_and(|log| log.contains(PACKED));
            assert!(!has_packed || catalog.opened_from_packs(), "{place}");
            let owned = catalog.snapshot().owner(indexer(), stream().set);
            assert_eq!(owned, (epoch(found), owner(found)), "{place}");
            if survived {
                assert_eq!(found, COMMITS);
                break;
            }
            crashes += 1;
            // It goes on from there, and packs.
            catalog.pack().await.unwrap();
            catalog.commit(commit(found + 1)).await.unwrap();
            assert_eq!(ids(&catalog), buckets_after(found + 1), "{place}");
            let catalog = open(store, settings()).await.unwrap();
            assert!(catalog.opened_from_packs(), "{place}");
            assert_eq!(ids(&catalog), buckets_after(found + 1), "{place}, from packs");
        }
    }
    crashes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_crash_on_a_directory_leaves_whole_commits() {
    let dir = TestDir::new();
    let crashes = check_every_crash(&dir.path().display().to_string(), BTreeMap::new()).await;
    assert!(crashes > 30, "only {crashes} places to crash");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_crash_on_s3_leaves_whole_commits() {
    let Some(server) = S3Server::start().await else { return };
    let crashes = check_every_crash(&server.url("crash"), server.variables()).await;
    assert!(crashes > 20, "only {crashes} places to crash");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child_opens_an_earlier_version_until_it_is_killed() {
    let variable = |name: &str| std::env::var(format!("KARST_CRASH_{name}")).ok();
    let Some(url) = variable("URL") else { return };
    let number = variable("NUMBER").unwrap().parse().unwrap();
    let moment =
        if variable("MOMENT").unwrap() == "before" { Moment::Before } else { Moment::After };
    let store = runtime::store::open(&url, &Options::default()).unwrap();
    let store = Arc::new(CrashingStore::new(store.store, number, moment));
    open(store, settings()).await.unwrap().close().await.unwrap();
}

/// Enough buckets for several writes.
const EARLIER: u128 = 1_100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_catalog_of_an_earlier_version_survives_every_crash_of_its_opening() {
    let dir = TestDir::new();
    let all = buckets(EARLIER);
    let mut crashes = 0;
    for moment in ["before", "after"] {
        for number in 1.. {
            let url = dir.join(&format!("{moment}-{number}")).display().to_string();
            let store = runtime::store::open(&url, &Options::default()).unwrap().store;
            earlier_version(&store, &all).await;
            let log = dir.join("log");
            let (_, survived) =
                run_child(OPENING_CHILD, &url, &BTreeMap::new(), (number, moment), &log);
            let catalog = open(Arc::clone(&store), settings()).await.unwrap();
            let place = format!("{moment} operation {number}");
            assert!(entries(&catalog).await == all, "{place}");
            assert_eq!(position(&catalog).await, 7, "{place}");
            std::fs::remove_dir_all(&url).unwrap();
            if survived {
                break;
            }
            crashes += 1;
        }
    }
    assert!(crashes > 20, "only {crashes} places to crash");
}

//! A process killed at any moment: what it acknowledged is there once, whatever else it was doing.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use foldhash::{HashMap, HashSet};
use futures::TryStreamExt;
use ingest::Settings;
use inputs::SinkExt;
use testkit::{TestDir, wait_until};

use crate::setup::{Setup, cut, settings, start};

const DATA: &str = "KARST_CRASH_TEST_DATA";
const ROUND: &str = "KARST_CRASH_TEST_ROUND";
const ROUNDS: u64 = 12;

#[tokio::test]
async fn every_acknowledged_event_survives_kills_exactly_once() {
    let data = TestDir::new();
    let mut acknowledged = HashSet::default();
    for round in 0..ROUNDS {
        acknowledged.extend(run_and_kill(&data, round));
    }
    let setup = start(data.path(), tiny()).await;
    let mut counts: HashMap<String, u64> = HashMap::default();
    for text in setup.texts().await {
        *counts.entry(text.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    let lost: Vec<_> = acknowledged.iter().filter(|id| !counts.contains_key(*id)).collect();
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(lost.is_empty() && twice.is_empty(), "lost {lost:?}, twice {twice:?}");
    assert!(acknowledged.len() > 100, "only {} events were acknowledged", acknowledged.len());
    setup.ingest.roll_all(None).await.unwrap();
    let catalog = &setup.catalog;
    let no_orphans = || async { objects(&setup).await == catalog.snapshot().len() };
    assert!(wait_until(no_orphans, Duration::from_secs(20)).await, "objects without an entry");
}

#[tokio::test]
async fn a_lost_catalog_is_made_anew_with_every_acknowledged_event_once() {
    let data = TestDir::new();
    let mut acknowledged = HashSet::default();
    for round in 0..9 {
        acknowledged.extend(run_and_kill(&data, round));
        if round % 3 == 2 {
            std::fs::remove_dir_all(data.path().join("store/catalog")).unwrap();
            let store = crate::setup::local(data.path());
            let clock: std::sync::Arc<dyn runtime::Clock> =
                std::sync::Arc::new(runtime::SystemClock);
            ingest::restore::rebuild(&store, "catalog", &clock).await.unwrap();
        }
    }
    let setup = start(data.path(), tiny()).await;
    setup.ingest.roll_all(None).await.unwrap();
    let mut counts: HashMap<String, u64> = HashMap::default();
    for text in setup.texts().await {
        *counts.entry(text.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    let lost: Vec<_> = acknowledged.iter().filter(|id| !counts.contains_key(*id)).collect();
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(lost.is_empty() && twice.is_empty(), "lost {lost:?}, twice {twice:?}");
}

/// Starts this test program as a child that takes in events, and kills it at some moment; gives
/// the events it has acknowledged.
fn run_and_kill(data: &TestDir, round: u64) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(DATA, data.path())
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (lines, received) = mpsc::channel();
    let output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = lines.send(line);
        }
    });
    let patience = Duration::from_secs(120);
    let first = received.recv_timeout(patience).expect("the child starts");
    if round.is_multiple_of(2) {
        // Every other child lives until it has done something.
        while !received.recv_timeout(patience).expect("the child works").contains("ack ") {}
    }
    let lifetime = Duration::from_millis(uuid::Uuid::new_v4().as_u64_pair().0 % 400);
    let until = Instant::now() + lifetime;
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    let acknowledged = std::iter::once(first).chain(received.try_iter());
    // Lines of the test harness are not events; a torn last line is not an acknowledgement.
    acknowledged
        .filter_map(|line| Some(line.strip_prefix("ack ")?.strip_suffix(';')?.to_owned()))
        .collect()
}

/// The child: takes in numbered events and tells which are acknowledged, until it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let (Ok(data), Ok(round)) = (std::env::var(DATA), std::env::var(ROUND)) else { return };
    let setup = start(data.as_ref(), tiny()).await;
    let padding = "x".repeat(500);
    let mut tasks = Vec::new();
    for lane in 0..4 {
        let (ingest, padding, round) = (setup.ingest.clone(), padding.clone(), round.clone());
        tasks.push(tokio::spawn(async move {
            for number in 0u64.. {
                let id = format!("{round}-{lane}-{number}");
                if ingest.submit(cut(&[&format!("{id} {padding}")])).await.is_ok() {
                    println!("ack {id};");
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// So small that buckets roll and upload all the time.
fn tiny() -> Settings {
    Settings { max_data_size: 20_000, journal_segment_size: 10_000, ..settings() }
}

/// Objects that a list of the store shows; files that a killed process had not finished are none.
async fn objects(setup: &Setup) -> usize {
    let prefix = object_store::path::Path::from("buckets");
    setup.store.list(Some(&prefix)).try_collect::<Vec<_>>().await.unwrap().len()
}

//! A process killed at any moment: what it acknowledged is there once, whatever else it was doing.

use std::io::{BufRead, BufReader};
use std::path::Path;
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
/// Events that each child takes in which is killed over its marks.
const EVENTS: usize = 40_000;

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

/// Two kills over a bucket make its events suspects; the next ones come while they are tried, ever further
/// on. On a busy machine a kill may come late: then the child has stored its events, and none are suspects.
#[tokio::test]
async fn kills_while_events_are_tried_lose_none_and_set_none_aside() {
    let data = TestDir::new();
    let mut acknowledged = Vec::new();
    let (mut deaths, mut in_trials) = (0, 0);
    let mut marks_of_trials = [1, 2, 3, 5, 10, 30, 60].into_iter().peekable();
    for round in 0..60 {
        let Some(marks) = marks_of_trials.peek() else { break };
        let killed = kill_at_mark(&data, round, if deaths < 2 { 1 } else { *marks });
        acknowledged.extend(killed.is_acknowledged.then_some(round));
        match killed.at {
            Some(_) => deaths += 1,
            None if killed.is_late => deaths = 0,
            None => {}
        }
        if killed.at == Some(Work::Trial) {
            in_trials += 1;
            marks_of_trials.next();
        }
    }
    let setup = start(data.path(), settings()).await;
    setup.ingest.roll_all(None).await.unwrap();
    let mut counts: HashMap<String, usize> = HashMap::default();
    let texts: HashSet<String> = setup
        .texts()
        .await
        .into_iter()
        .inspect(|text| *counts.entry(text.split('-').next().unwrap().to_owned()).or_default() += 1)
        .collect();
    assert_eq!(texts.len(), counts.values().sum::<usize>(), "events are there twice");
    for round in &acknowledged {
        assert_eq!(counts.get(&round.to_string()), Some(&EVENTS), "round {round} of {counts:?}");
    }
    assert_eq!(setup.ingest.set_aside().borrow().events, 0);
    assert!(acknowledged.len() > 1 && in_trials > 2, "{acknowledged:?}, {in_trials} in trials");
}

/// What a child was doing when it was killed.
#[derive(Debug, PartialEq, Eq)]
enum Work {
    Encoding,
    Trial,
}

struct Killed {
    is_acknowledged: bool,
    /// It had come to its end.
    is_late: bool,
    /// `None` if it was between two of them, or is late.
    at: Option<Work>,
}

/// Starts this test program as a child that takes in events and rolls them, and kills it when it has written
/// a number of marks of encoding.
fn kill_at_mark(data: &TestDir, round: usize, marks: u64) -> Killed {
    let directory = data.path().join("encoding");
    let before = newest_mark(&directory).0;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::rolling_child", "--nocapture"])
        .env(DATA, data.path())
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let reader = std::thread::spawn(move || lines.collect::<Vec<_>>());
    let until = Instant::now() + Duration::from_secs(120);
    let is_there = || {
        let (process, number) = newest_mark(&directory);
        process > before && number >= marks
    };
    // It ends by itself when everything is stored.
    while !is_there() && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "round {round}: there is no mark {marks}");
        std::thread::sleep(Duration::from_micros(50));
    }
    child.kill().unwrap();
    let is_late = child.wait().unwrap().success();
    let lines = reader.join().unwrap();
    let files = std::fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path());
    let left = files.filter(|path| path.extension().is_some_and(|known| known == "mark"));
    let left: Vec<String> = left.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let at = if left.iter().any(|mark| mark.contains("\"trial\":true")) {
        Some(Work::Trial)
    } else {
        left.iter().any(|mark| mark.contains("\"trial\":false")).then_some(Work::Encoding)
    };
    let acknowledgement = format!("ack {round};");
    let is_acknowledged = lines.iter().any(|line| line.contains(&acknowledgement));
    Killed { is_acknowledged, is_late, at }
}

/// The number of the newest process that has a mark, and of its newest mark; 0 without marks.
fn newest_mark(directory: &Path) -> (u64, u64) {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let numbers = names.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let (process, number) = name.strip_suffix(".mark")?.split_once('-')?;
        Some((process.parse().ok()?, number.parse().ok()?))
    });
    numbers.max().unwrap_or_default()
}

/// The child: takes in events and rolls them.
#[tokio::test(flavor = "multi_thread")]
async fn rolling_child() {
    let (Ok(data), Ok(round)) = (std::env::var(DATA), std::env::var(ROUND)) else { return };
    let setup = start(data.as_ref(), settings()).await;
    let padding = "x".repeat(200);
    let texts: Vec<String> =
        (0..EVENTS).map(|number| format!("{round}-{number} {padding}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    setup.events(&texts).await;
    println!("ack {round};");
    setup.ingest.roll_all(None).await.unwrap();
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

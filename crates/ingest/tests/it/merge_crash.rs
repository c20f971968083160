//! A process that merges, freezes and cleans up is killed at every operation on its store: no event
//! is lost or doubled, and no object is left behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ingest::Settings;
use inputs::SinkExt;
use testkit::{CrashingStore, Moment, TestDir, wait_until};

use crate::merging::{merging, objects};
use crate::setup::{cut, local, start, start_with};

const CHILD: &str = "merge_crash::child";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_crash_of_a_merge_leaves_every_event_once() {
    let mut crashes = 0;
    let template = TestDir::new();
    let expected = prepare(template.path()).await;
    for moment in ["before", "after"] {
        for number in 1.. {
            let data = TestDir::new();
            copy(template.path(), data.path());
            let survived = run_child(CHILD, data.path(), number, moment);
            let place = format!("killed {moment} operation {number}");
            let setup = start(data.path(), at_once()).await;
            assert_eq!(setup.texts().await, expected, "{place}");
            setup.ingest.rotate().await.unwrap();
            assert_eq!(setup.texts().await, expected, "{place}, then merged");
            let catalog = &setup.catalog;
            let clean = || async {
                setup.ingest.rotate().await.unwrap();
                let under_way = catalog.snapshot().discarded().count();
                objects(&setup).await <= catalog.snapshot().len() + under_way
            };
            assert!(wait_until(clean, Duration::from_secs(10)).await, "{place}: orphans");
            if survived {
                break;
            }
            crashes += 1;
        }
    }
    assert!(crashes >= 20, "only {crashes} places to crash");
}

/// Six small buckets; the texts of their events.
async fn prepare(data: &Path) -> Vec<String> {
    let setup = start(data, at_once()).await;
    for round in 0..6 {
        setup
            .ingest
            .submit(cut(&[&format!("one {round}"), &format!("two {round}")]))
            .await
            .unwrap();
        setup.ingest.roll_all(None).await.unwrap();
    }
    let texts = setup.texts().await;
    assert!(setup.ingest.drain(Duration::from_secs(30)).await);
    setup.catalog.close().await.unwrap();
    texts
}

/// Whether the child, a test of this program, came to its end.
pub(crate) fn run_child(child: &str, data: &Path, number: u64, moment: &str) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let status = Command::new(std::env::current_exe().unwrap())
        .args([child, "--exact", "--nocapture", "--test-threads=1"])
        .env("KARST_MERGE_CRASH_DATA", data)
        .env("KARST_MERGE_CRASH_NUMBER", number.to_string())
        .env("KARST_MERGE_CRASH_MOMENT", moment)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success() || status.signal() == Some(9), "{status} at {moment} {number}");
    status.success()
}

/// The child: merges and cleans up over a store that kills it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some((data, crashing)) = of_child() else { return };
    let store = Arc::clone(&crashing) as _;
    let setup = start_with(&data, at_once(), store, crashing).await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.catalog.snapshot().len(), 1);
    setup.ingest.rotate().await.unwrap();
}

/// The directory of a child, and the store that kills it; `None` in the process of all tests.
pub(crate) fn of_child() -> Option<(PathBuf, Arc<CrashingStore>)> {
    let variable = |name: &str| std::env::var(format!("KARST_MERGE_CRASH_{name}")).ok();
    let data = PathBuf::from(variable("DATA")?);
    let number = variable("NUMBER").unwrap().parse().unwrap();
    let before = variable("MOMENT").unwrap() == "before";
    let moment = if before { Moment::Before } else { Moment::After };
    let crashing = Arc::new(CrashingStore::new(local(&data), number, moment));
    Some((data, crashing))
}

pub(crate) fn at_once() -> Settings {
    let mut settings = merging();
    settings.lifecycle.merge_delete_grace = Duration::ZERO;
    settings
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

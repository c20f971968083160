//! A process that freezes is killed at every operation on its store: whatever is merged and thawed
//! afterwards, a search reads each event once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ingest::Thaw;
use inputs::SinkExt;
use model::TimeRange;
use testkit::TestDir;

use crate::merge_crash::{at_once, copy, of_child, run_child};
use crate::setup::{dated, main_index, now, start, start_configured};

const CHILD: &str = "freeze_crash::child";
const ARCHIVE: &str = "archive/cold";
const DAY: i64 = 86_400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_crash_of_a_freeze_leaves_every_event_once() {
    let mut copied = 0;
    let template = TestDir::new();
    let expected = prepare(template.path()).await;
    for moment in ["before", "after"] {
        for number in 1.. {
            let data = TestDir::new();
            copy(template.path(), data.path());
            let survived = run_child(CHILD, data.path(), number, moment);
            let place = format!("killed {moment} operation {number}");
            // The retention is long again: buckets that were due are not any more, and small ones are merged,
            // except those that may have a copy.
            let setup = start(data.path(), at_once()).await;
            setup.ingest.rotate().await.unwrap();
            let (index, range) = (main_index(), TimeRange::ALL);
            let wanted = Thaw { index, range, from: Some(ARCHIVE.to_owned()) };
            match setup.ingest.thaw(&wanted).await {
                Ok(thawed) => {
                    assert_eq!(thawed.unreadable, Vec::<String>::new(), "{place}");
                    copied += u64::from(thawed.present > 0);
                }
                Err(error) => assert!(error.to_string().contains("no buckets"), "{place}: {error}"),
            }
            assert_eq!(setup.texts().await, expected, "{place}");
            if survived {
                break;
            }
        }
    }
    assert!(copied > 0, "no crash between a copy and its commit");
}

/// Eight small buckets that are twenty days old, and four that are never due; the texts of their events.
async fn prepare(data: &Path) -> Vec<String> {
    let setup = start(data, at_once()).await;
    for number in 0..12 {
        let days = if number < 8 { 20 } else { 5 };
        let (time, text) = (now() - days * DAY + number, format!("event {number}"));
        setup.ingest.submit(dated(&[(time, &text)])).await.unwrap();
        setup.ingest.roll_all(None).await.unwrap();
    }
    let texts = setup.texts().await;
    assert!(setup.ingest.drain(Duration::from_secs(30)).await);
    setup.catalog.close().await.unwrap();
    texts
}

/// The child: freezes over a store that kills it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some((data, crashing)) = of_child() else { return };
    let conf =
        format!("[main]\nfrozenTimePeriodInSecs = {}\ncoldToFrozenDir = {ARCHIVE}\n", 10 * DAY);
    let store = Arc::clone(&crashing) as _;
    let setup = start_configured(&data, at_once(), store, crashing, &conf).await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.texts().await.len(), 4);
}

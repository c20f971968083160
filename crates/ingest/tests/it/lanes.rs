//! Several hot buckets of an index at a time: mixed times do not stretch them.

use inputs::SinkExt;
use testkit::TestDir;

use crate::setup::{dated, now, settings, start, start_with_indexes};

const DAY: i64 = 86_400;
const TWO_DAYS: &str = "[main]\nmaxHotSpanSecs = 172800\nmaxHotBuckets = 3\n";

#[tokio::test]
async fn events_of_distant_times_get_buckets_of_their_own() {
    let data = TestDir::new();
    let setup = start_with_indexes(data.path(), settings(), TWO_DAYS).await;
    let now = now();
    for round in 0..4 {
        for days in [0, 10, 20] {
            let event = (now - days * DAY - round, "x");
            setup.ingest.submit(dated(&[event])).await.unwrap();
        }
    }
    let hot = setup.ingest.status().hot;
    assert_eq!(hot.iter().map(|bucket| bucket.rows).collect::<Vec<_>>(), [4, 4, 4]);
    assert!(hot.iter().all(|bucket| bucket.last_time.0 - bucket.first_time.0 < 10_000_000));
}

#[tokio::test]
async fn one_input_of_mixed_times_is_spread_over_buckets() {
    let data = TestDir::new();
    let setup = start_with_indexes(data.path(), settings(), TWO_DAYS).await;
    let now = now();
    let mixed: Vec<_> = (0..30).map(|at| (now - (at % 3) * 10 * DAY - at, "mixed")).collect();
    setup.ingest.submit(dated(&mixed)).await.unwrap();
    let hot = setup.ingest.status().hot;
    assert_eq!(hot.iter().map(|bucket| bucket.rows).collect::<Vec<_>>(), [10, 10, 10]);
    assert_eq!(setup.texts().await.len(), 30);
}

#[tokio::test]
async fn over_the_limit_the_least_recently_used_bucket_rolls() {
    let data = TestDir::new();
    let small = ingest::Settings { max_data_size: 1_600, ..settings() };
    let text = "x".repeat(100);
    let conf = "[main]\nmaxHotSpanSecs = 172800\nmaxHotBuckets = 2\n";
    let setup = start_with_indexes(data.path(), small, conf).await;
    let now = now();
    for days in [0, 10, 0, 20] {
        setup.ingest.submit(dated(&[(now - days * DAY, &text)])).await.unwrap();
    }
    setup.ingest.flush().await.unwrap();
    let open = setup.ingest.status().hot.into_iter().filter(|bucket| !bucket.rolled);
    let ages: Vec<_> = open.map(|bucket| (now - bucket.last_time.0 / 1_000_000) / DAY).collect();
    assert_eq!(ages, [0, 20]);
    assert_eq!(setup.texts().await.len(), 4);
}

#[tokio::test]
async fn lanes_come_back_after_a_restart_and_release_the_journal() {
    let data = TestDir::new();
    for _ in 0..3 {
        let setup = start_with_indexes(data.path(), settings(), TWO_DAYS).await;
        for days in [0, 10, 20] {
            setup.ingest.submit(dated(&[(now() - days * DAY, "x")])).await.unwrap();
        }
    }
    let setup = start_with_indexes(data.path(), settings(), TWO_DAYS).await;
    let rows: Vec<_> = setup.ingest.status().hot.iter().map(|bucket| bucket.rows).collect();
    assert_eq!(rows, [3, 3, 3]);
    setup.ingest.roll_all(None).await.unwrap();
    assert_eq!((setup.ingest.status().journal_bytes, setup.catalog.snapshot().len()), (0, 3));
    drop(setup);
    let setup = start(data.path(), settings()).await;
    assert_eq!((setup.ingest.status().recovered_events, setup.texts().await.len()), (0, 9));
}

#[tokio::test]
async fn a_quiet_index_does_not_keep_the_journal_of_a_busy_one() {
    let data = TestDir::new();
    let tight = ingest::Settings {
        max_journal_size: 30_000,
        journal_segment_size: 5_000,
        max_data_size: 20_000,
        journal_codec: ingest::Codec::None,
        ..settings()
    };
    let setup = start(data.path(), tight).await;
    setup.raw("test", "quiet").await;
    let busy = "y".repeat(1000);
    let other = model::IndexName::new("other").unwrap();
    for _ in 0..200 {
        let mut events = inputs::CutEvents::new(inputs::MissingTime::Now);
        let meta = inputs::InputMeta { index: other.clone(), ..crate::setup::meta(Some("test")) };
        assert!(events.push(meta.by_ref(), None, busy.as_bytes()));
        let input = inputs::Input::Events { stream: inputs::StreamKey("b".into()), events };
        setup.ingest.submit(input).await.unwrap();
    }
    let small = || async { setup.ingest.status().journal_bytes < 60_000 };
    let patience = std::time::Duration::from_secs(20);
    let bytes = || setup.ingest.status().journal_bytes;
    assert!(testkit::wait_until(small, patience).await, "{} bytes", bytes());
}

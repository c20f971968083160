//! Snapshots have every event once, from the first append to the removal.

use arrow::array::AsArray;
use bucket::HotBuckets;
use model::{EventBatchBuilder, IndexerId, Origin};

use super::*;
use crate::Settings;
use crate::ack::AckShare;

#[test]
fn many_small_appends_leave_few_chunks_and_keep_their_order() {
    let store = HotStore::new();
    for i in 0..5000 {
        append(&store, i, &format!("event {i}"));
    }
    let snapshot = store.snapshot(&[index()], &TimeRange::ALL);
    assert!(snapshot[0].batches.len() < 64, "{}", snapshot[0].batches.len());
    let texts: Vec<_> = texts(&snapshot).collect();
    assert!(texts.iter().enumerate().all(|(i, text)| *text == format!("event {i}")));
    assert_eq!((snapshot[0].rows, texts.len()), (5000, 5000));
}

#[test]
fn a_rolled_bucket_stays_in_snapshots_until_it_is_removed() {
    let store = HotStore::new();
    let [a, b] = ["a", "b"].map(|text| text.repeat(100));
    append(&store, 1, &a);
    let rolled = store.roll(&stream()).unwrap();
    append(&store, 2, &b);
    let snapshot = store.snapshot(&[index()], &TimeRange::ALL);
    assert_eq!(texts(&snapshot).collect::<Vec<_>>(), [&*a, &*b]);
    assert_eq!(snapshot[0].id, rolled.content.id);
    store.remove(&rolled);
    let snapshot = store.snapshot(&[index()], &TimeRange::ALL);
    assert_eq!(texts(&snapshot).collect::<Vec<_>>(), [&*b]);
    assert_eq!(store.raw_bytes(), 100);
}

#[test]
fn arrival_times_are_known_until_a_bucket_is_in_the_spool() {
    let store = HotStore::new();
    append(&store, 3, "a");
    append(&store, 7, "b");
    assert_eq!(store.open_arrivals(&stream()), Some(3..=7));
    store.roll(&stream()).unwrap();
    assert_eq!(store.open_arrivals(&stream()), None);
    append(&store, 9, "c");
    assert_eq!(store.arrivals(), [(stream(), 3..=7), (stream(), 9..=9)]);
}

#[tokio::test]
async fn a_sender_is_answered_that_comes_after_the_buckets_were_given_up() {
    let store = HotStore::new();
    append(&store, 1, "a");
    store.give_up();
    let (share, outcome) = AckShare::new();
    store.wait(&stream(), Waiting::of_journaled(share, 1, 1), EventTime(0));
    let outcome = tokio::time::timeout(Duration::from_secs(10), outcome.wait()).await.unwrap();
    assert!(matches!(outcome, Err(inputs::Error::Unacknowledged)), "{outcome:?}");
}

#[test]
fn snapshots_leave_out_other_times_and_indexes() {
    let store = HotStore::new();
    append(&store, 5, "a");
    let range =
        |earliest, latest| TimeRange { earliest: EventTime(earliest), latest: EventTime(latest) };
    assert_eq!(store.snapshot(&[index()], &range(5, 6)).len(), 1);
    assert_eq!(store.snapshot(&[index()], &range(6, 9)).len(), 0);
    assert_eq!(store.snapshot(&[IndexName::new("other").unwrap()], &range(0, 9)).len(), 0);
}

#[test]
fn full_and_idle_buckets_are_due() {
    let settings = Settings {
        max_data_size: 100,
        max_hot_idle: Duration::from_secs(1),
        ..Settings::default()
    };
    let store = HotStore::new();
    append(&store, 1, &"0123456789".repeat(10));
    let full = limits(settings.clone());
    assert_eq!(
        store.due(SetId::of(&stream()), EventTime(0), &full, 0),
        [(stream(), RollReason::Size)]
    );
    let large = limits(Settings { max_data_size: 101, ..settings });
    assert_eq!(store.due(SetId::of(&stream()), EventTime(999_999), &large, 0), []);
    assert_eq!(
        store.due(SetId::of(&stream()), EventTime(1_000_000), &large, 0),
        [(stream(), RollReason::Idle)]
    );
}

fn limits(settings: Settings) -> HotLimits {
    HotLimits::new(Arc::new(settings), &knowledge::Knowledge::builtin())
}

fn append(store: &HotStore, time: i64, text: &str) {
    let origin =
        Origin { index: index(), host: "h".into(), source: "s".into(), sourcetype: "t".into() };
    let origin = Arc::new(origin);
    let mut builder = EventBatchBuilder::new(index(), 0);
    builder.push(&origin, EventTime(time), text);
    let position = JournalPosition(u64::try_from(time).unwrap());
    store.append(&stream(), Rows::new(builder.finish(), time), position, EventTime(0));
}

fn texts(buckets: &[HotBucket]) -> impl Iterator<Item = String> {
    let batches = buckets.iter().flat_map(|bucket| &bucket.batches);
    batches.flat_map(|batch| {
        let texts = batch.column(2).as_string_view();
        texts.iter().map(|text| text.unwrap().to_owned())
    })
}

fn index() -> IndexName {
    IndexName::new("main").unwrap()
}

fn stream() -> StreamId {
    let indexer = IndexerId(uuid::Uuid::nil());
    StreamId { indexer, set: 0, index: index(), lane: Lane::FIRST }
}

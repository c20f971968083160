//! What is written is read.

use arrow::array::RecordBatch;
use bucket::{Error, GranuleSet, NoFields, WriteOptions, hot_schema, write_bucket};
use model::{EventTime, IndexName, TimeRange};
use proptest::prelude::*;

use crate::support::{Event, batch, event, id, lines, open, plain, rows, small, texts, written};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let raw = prop_oneof![
        4 => "[a-zA-Z0-9=._ -]{0,40}",
        1 => "\\PC{0,30}",
        1 => Just(String::new()),
        1 => ".{0,200}",
    ];
    let one = (-5i64..5, raw, 0u8..3).prop_map(|(time, raw, host)| (time, raw, host));
    prop::collection::vec(one, 1..400).prop_map(|parts| {
        let number = |(at, (time, raw, host)): (usize, (i64, String, u8))| Event {
            host: format!("h{host}"),
            ..event(time, 1000 - at as i64, &raw)
        };
        parts.into_iter().enumerate().map(number).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_are_read_as_written_in_order_of_time_and_arrival(events in events(), cut in 0usize..400) {
        let cut = cut.min(events.len());
        let batches = [batch(&events[..cut]), batch(&events[cut..])];
        let index = IndexName::new("main").unwrap();
        let bucket = write_bucket(id(), &index, &batches, &NoFields, &small()).unwrap();
        let mut sorted = events.clone();
        sorted.sort();
        block_on(async {
            let reader = open(&bucket).await;
            let all = GranuleSet::all(reader.granules());
            let found = rows(&reader, &["host", "_raw", "_time", "_indextime"], &all).await;
            let expect = |pick: fn(&Event) -> String| {
                sorted.iter().map(|event| Some(pick(event))).collect::<Vec<_>>()
            };
            assert_eq!(texts(&found, 0), expect(|event| event.host.clone()));
            assert_eq!(texts(&found, 1), expect(|event| event.raw.clone()));
            assert_eq!(texts(&found, 2), expect(|event| event.time.to_string()));
            assert_eq!(texts(&found, 3), expect(|event| event.index_time.to_string()));
        });
    }

    #[test]
    fn some_granules_give_exactly_their_rows(chosen in prop::collection::vec(any::<bool>(), 11)) {
        let events = lines((0..700).map(|at| format!("line {at} of text")));
        let bucket = plain(&events);
        block_on(async {
            let reader = open(&bucket).await;
            assert_eq!(reader.granules(), 11);
            let mut set = GranuleSet::none(11);
            let mut expected = Vec::new();
            for granule in (0..11).filter(|granule| chosen[*granule]) {
                set.insert(granule);
                let part = &events[granule * 64..(granule * 64 + 64).min(700)];
                assert_eq!(part.len(), reader.granule_rows(granule));
                expected.extend(part.iter().map(|event| Some(event.raw.clone())));
            }
            assert_eq!(texts(&rows(&reader, &["_raw"], &set).await, 0), expected);
        });
    }
}

#[tokio::test]
async fn the_summary_tells_times_counts_and_sizes() {
    let mut events = lines(["a", "bb", "ccc"]);
    events[1].host = "web2".into();
    let bucket = plain(&events);
    let reader = open(&bucket).await;
    let summary = reader.summary();
    assert_eq!(*summary, bucket.summary);
    assert_eq!((summary.rows, summary.raw_bytes), (3, 6));
    assert_eq!((summary.first_time, summary.last_time), (EventTime(0), EventTime(2_000_000)));
    let hosts: Vec<_> = summary.hosts.iter().map(|host| (&*host.value, host.count)).collect();
    assert_eq!(hosts, [("web1", 2), ("web2", 1)]);
    assert_eq!(summary.hosts[0].recent_time, EventTime(2));
    assert_eq!(summary.rules, [("app".to_owned(), 0)]);
}

#[tokio::test]
async fn times_prune_granules() {
    let reader = open(&plain(&lines((0..200).map(|at| at.to_string())))).await;
    let second = |at: i64| EventTime(at * 1_000_000);
    assert_eq!(reader.granule_times()[1], (second(64), second(127)));
    let granules = |earliest, latest| {
        let range = TimeRange { earliest: second(earliest), latest: second(latest) };
        reader.granules_in(&range).iter().collect::<Vec<_>>()
    };
    assert_eq!(granules(64, 65), [1]);
    assert_eq!(granules(63, 64), [0]);
    assert_eq!(granules(100, 1000), [1, 2, 3]);
    assert!(granules(500, 600).is_empty());
}

#[tokio::test]
async fn extreme_times_survive() {
    let events = [event(i64::MIN, 0, "a"), event(0, 1, "b"), event(i64::MAX, 2, "c")];
    let reader = open(&plain(&events)).await;
    assert_eq!(reader.granule_times(), [(EventTime(i64::MIN), EventTime(i64::MAX))]);
    let found = rows(&reader, &["_time"], &GranuleSet::all(1)).await;
    let expected = [i64::MIN, 0, i64::MAX].map(|time| Some(time.to_string()));
    assert_eq!(texts(&found, 0), expected);
}

#[tokio::test]
async fn an_event_of_100_mb_is_an_event_like_any_other() {
    let long = "lorem ipsum=7 ".repeat(100_000_000 / 14);
    let mut texts_in: Vec<String> = (0..130).map(|at| format!("short {at}")).collect();
    texts_in[70] = long;
    let bucket = written(&lines(&texts_in), &NoFields, &small());
    let reader = open(&bucket).await;
    let mut second = GranuleSet::none(3);
    second.insert(1);
    let found = texts(&rows(&reader, &["_raw"], &second).await, 0);
    assert!(found.iter().flatten().eq(&texts_in[64..128]));
    let mut third = GranuleSet::none(3);
    third.insert(2);
    let found = texts(&rows(&reader, &["_raw"], &third).await, 0);
    assert!(found.iter().flatten().eq(&texts_in[128..]));
}

#[tokio::test]
async fn no_columns_still_count_rows() {
    let reader = open(&plain(&lines((0..100).map(|at| at.to_string())))).await;
    let mut second = GranuleSet::none(2);
    second.insert(1);
    for (set, expected) in [(GranuleSet::all(2), 100), (second, 36)] {
        let found = rows(&reader, &[], &set).await;
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), expected);
    }
}

#[tokio::test]
async fn an_unknown_column_is_named() {
    let reader = open(&plain(&lines(["a"]))).await;
    let error = reader.read(&["nope"], &GranuleSet::all(1), 10).await.err().unwrap();
    assert!(matches!(&error, Error::NoColumn { column, .. } if column == "nope"), "{error}");
}

#[test]
fn wrong_input_is_refused_with_a_reason() {
    let index = IndexName::new("main").unwrap();
    let write = |batches: &[RecordBatch], options| {
        write_bucket(id(), &index, batches, &NoFields, &options).unwrap_err()
    };
    assert!(matches!(write(&[], small()), Error::Empty { .. }));
    assert!(matches!(write(&[RecordBatch::new_empty(hot_schema())], small()), Error::Empty { .. }));
    let narrow = batch(&lines(["a"])).project(&[0, 1, 2]).unwrap();
    assert!(matches!(write(&[narrow], small()), Error::Schema { .. }));
    let swapped = batch(&lines(["a"])).project(&[1, 0, 2, 3, 4, 5]).unwrap();
    assert!(matches!(write(&[swapped], small()), Error::Schema { .. }));
    let odd = WriteOptions { granule_rows: 1000, ..small() };
    assert!(matches!(write(&[batch(&lines(["a"]))], odd), Error::Options { .. }));
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let events = lines((0..500).map(|at| format!("k{}={at} status={}", at % 7, at % 3)));
    let write = || written(&events, &crate::support::Pairs, &small()).bytes;
    assert!(write() == write());
}

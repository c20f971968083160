//! Rows tested by one column before the others are decoded.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use arrow::error::ArrowError;
use bucket::{BucketReader, GranuleSet, RowTest};
use futures::TryStreamExt;

use super::support::{CountingStore, Pairs, lines, open_in, small, texts, written};

/// The rows whose `seq` is this.
fn seq_is(number: i64) -> RowTest {
    let passes = move |batch: &arrow::array::RecordBatch| {
        let found = batch.column_by_name("seq").unwrap().as_primitive::<Int64Type>();
        Ok(found.iter().map(|found| Some(found == Some(number))).collect())
    };
    RowTest { columns: vec!["seq".to_owned()], passes: Arc::new(passes) }
}

/// Lines that hardly compress, of 400 bytes.
async fn noisy(store: Arc<CountingStore>) -> (BucketReader, u64) {
    let line = |at: usize| {
        let noise: String =
            (0..40).map(|k| format!("{:x} ", (at * 40 + k) * 2_654_435_761)).collect();
        format!("seq={} {noise}", at % 1000)
    };
    let bucket = written(&lines((0..4000).map(line)), &Pairs, &small());
    let size = bucket.bytes.len() as u64;
    (open_in(store, bucket.bytes).await.unwrap(), size)
}

fn granules(reader: &BucketReader, chosen: std::ops::Range<usize>) -> GranuleSet {
    let mut set = GranuleSet::none(reader.granules());
    chosen.for_each(|granule| set.insert(granule));
    set
}

#[tokio::test]
async fn only_rows_that_pass_come_in_the_order_asked_for() {
    let (reader, _) = noisy(Arc::default()).await;
    for set in [GranuleSet::all(reader.granules()), granules(&reader, 0..62)] {
        let stream = reader.read_where(&["_raw", "_time"], &set, 100, Some(seq_is(7))).await;
        let batches: Vec<_> = stream.unwrap().try_collect().await.unwrap();
        let times = ["7", "1007", "2007", "3007"].map(|at| Some(format!("{at}000000")));
        assert_eq!(texts(&batches, 1), times);
        assert!(texts(&batches, 0).iter().flatten().all(|raw| raw.starts_with("seq=7 ")));
    }
}

#[tokio::test]
async fn other_pages_are_fetched_only_where_a_row_passes() {
    let store = Arc::new(CountingStore::default());
    let (reader, size) = noisy(store.clone()).await;
    store.take();
    let half = granules(&reader, 0..30);
    let stream = reader.read_where(&["_raw"], &half, 100, Some(seq_is(1500 - 1000))).await;
    let batches: Vec<_> = stream.unwrap().try_collect().await.unwrap();
    assert_eq!(texts(&batches, 0).len(), 2);
    let fetched: u64 = store.take().iter().flatten().map(|range| range.end - range.start).sum();
    assert!(fetched < size / 8, "{fetched} of {size} bytes");
}

#[tokio::test]
async fn a_granule_is_fetched_in_one_round() {
    let store = Arc::new(CountingStore::default());
    let (reader, _) = noisy(store.clone()).await;
    let one = granules(&reader, 30..31);
    for round in 0..2 {
        store.take();
        let stream = reader.read_where(&["_raw", "host"], &one, 100, Some(seq_is(930))).await;
        let batches: Vec<_> = stream.unwrap().try_collect().await.unwrap();
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
        let index_reads = if round == 0 { 1 } else { 0 };
        assert_eq!(store.take().len(), index_reads + 1);
    }
}

#[tokio::test]
async fn an_error_of_a_test_is_returned_as_it_is_and_is_no_damage() {
    let (reader, _) = noisy(Arc::default()).await;
    let passes = |_: &arrow::array::RecordBatch| Err(ArrowError::ComputeError("no".to_owned()));
    let test = RowTest { columns: vec!["seq".to_owned()], passes: Arc::new(passes) };
    let all = GranuleSet::all(reader.granules());
    let read = async {
        let stream = reader.read_where(&["_raw"], &all, 100, Some(test)).await?;
        stream.try_collect::<Vec<_>>().await
    };
    let error = read.await.unwrap_err();
    assert_eq!(error.kind(), model::ErrorKind::Invalid);
    let bucket::Error::Test { source } = &error else { panic!("{error}") };
    assert!(matches!(source, ArrowError::ComputeError(text) if text == "no"), "{source}");
    let test = RowTest { columns: vec!["nope".to_owned()], passes: Arc::new(|_| unreachable!()) };
    assert!(reader.read_where(&["_raw"], &all, 100, Some(test)).await.is_err());
}

#[tokio::test]
async fn ranges_of_rows_are_read_across_granules_and_row_groups() {
    let (reader, _) = noisy(Arc::default()).await;
    let all = GranuleSet::all(reader.granules());
    let stream = reader.read(&["_time", "_raw"], &all, 100).await.unwrap();
    let whole: Vec<_> = stream.try_collect().await.unwrap();
    let (times, raws) = (texts(&whole, 0), texts(&whole, 1));
    assert_eq!(times.len(), 4000);
    for ranges in [
        vec![0..1, 5..6, 3999..4000],
        vec![0..2_000, 2_000..4_000],
        vec![100..2_900, 2_900..2_901, 3_500..3_500],
        (0..4000).step_by(3).map(|row| row..row + 1).collect(),
    ] {
        let stream = reader.read_ranges(&["_raw", "_time"], &ranges, 100).await.unwrap();
        let found: Vec<_> = stream.try_collect().await.unwrap();
        let rows = || ranges.iter().cloned().flatten();
        assert_eq!(texts(&found, 0), rows().map(|row| raws[row].clone()).collect::<Vec<_>>());
        assert_eq!(texts(&found, 1), rows().map(|row| times[row].clone()).collect::<Vec<_>>());
        let counted = reader.read_ranges(&[], &ranges, 100).await.unwrap();
        let counted: Vec<_> = counted.try_collect().await.unwrap();
        let count = counted.iter().map(|batch| batch.num_rows()).sum::<usize>();
        assert_eq!(count, rows().count());
    }
    let nothing: [std::ops::Range<usize>; 2] = [3..3, 9..9];
    for none in [&nothing[..0], &nothing[..]] {
        let stream = reader.read_ranges(&["_raw"], none, 100).await.unwrap();
        assert!(stream.try_collect::<Vec<_>>().await.unwrap().is_empty());
    }
}

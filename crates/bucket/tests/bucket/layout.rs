//! What lies where in an object, and how little is read of it.

use std::sync::Arc;

use bucket::{GranuleSet, TermHash, TermQuery, WriteOptions};
use futures::TryStreamExt;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};

use crate::support::{
    CountingStore, Event, Pairs, lines, open, open_in, rows, small, texts, written,
};

fn mixed() -> Vec<Event> {
    let text = |at: usize| {
        let tags = "tag=some-long-tag tag=another ".repeat(at % 4);
        let odd = if at.is_multiple_of(3) {
            format!(" odd={}", "v".repeat(at % 90))
        } else {
            String::new()
        };
        format!("seq={at} user=user-{at} status={} {tags}{odd}", 200 + at % 4)
    };
    lines((0..1000).map(text))
}

#[test]
fn pages_are_cut_at_granule_borders_in_every_column() {
    let bucket = written(&mixed(), &Pairs, &small());
    let mut reader =
        ParquetMetaDataReader::new().with_offset_index_policy(PageIndexPolicy::Required);
    reader.try_parse(&bucket.bytes).unwrap();
    let metadata = reader.finish().unwrap();
    for (group, columns) in metadata.row_groups().iter().zip(metadata.offset_index().unwrap()) {
        let granules = (group.num_rows() as usize).div_ceil(64);
        for (chunk, index) in group.columns().iter().zip(columns) {
            let pages: Vec<i64> =
                index.page_locations().iter().map(|page| page.first_row_index).collect();
            let name = chunk.column_path().string();
            assert!(pages.iter().all(|first| first % 64 == 0), "{name}");
            assert!(
                pages.len() * 8 >= granules,
                "{name}: at most 8 granules with values share a page"
            );
            if name == "_raw" {
                assert_eq!(pages.len(), granules);
            }
        }
    }
}

#[tokio::test]
async fn granules_without_a_value_cost_a_column_no_pages() {
    let mut events = lines(vec!["a=1"; 16_384]);
    for at in [5_000, 5_001, 9_000] {
        events[at].raw = format!("a=1 rare=r{at}");
    }
    let options = WriteOptions { row_group_rows: 16_384, column_rows_per_value: 10_000, ..small() };
    let bucket = written(&events, &Pairs, &options);
    let mut metadata =
        ParquetMetaDataReader::new().with_offset_index_policy(PageIndexPolicy::Required);
    metadata.try_parse(&bucket.bytes).unwrap();
    let metadata = metadata.finish().unwrap();
    let pages = |name: &str| {
        let columns = metadata.row_group(0).columns().iter();
        let mut columns = columns.zip(&metadata.offset_index().unwrap()[0]);
        let (_, index) = columns.find(|(c, _)| c.column_path().string() == name).unwrap();
        index.page_locations().len()
    };
    assert_eq!((pages("a"), pages("rare")), (32, 1));
    let reader = open(&bucket).await;
    let found = rows(&reader, &["rare"], &GranuleSet::all(reader.granules())).await;
    let found = texts(&found, 0).into_iter().enumerate().filter(|(_, text)| text.is_some());
    let found: Vec<_> = found.collect();
    let value = |at: usize| (at, Some(format!("r{at}")));
    assert_eq!(found, [value(5_000), value(5_001), value(9_000)]);
}

#[test]
fn any_parquet_reader_reads_it() {
    let bucket = written(&mixed(), &Pairs, &small());
    let builder = ParquetRecordBatchReaderBuilder::try_new(bucket.bytes).unwrap();
    let notes = builder.metadata().file_metadata().key_value_metadata().unwrap().clone();
    assert!(notes.iter().any(|note| note.key == "karst.format"));
    let rows: usize = builder.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 1000);
}

#[tokio::test]
async fn encodings_follow_the_values() {
    let description = open(&written(&mixed(), &Pairs, &small())).await.describe();
    let encodings = |name: &str| {
        let column = description.columns.iter().find(|column| column.name == name).unwrap();
        column.encodings.clone()
    };
    for (name, expected) in [
        ("_time", "DELTA_BINARY_PACKED"),
        ("_raw", "DELTA_LENGTH_BYTE_ARRAY"),
        ("host", "RLE_DICTIONARY"),
        ("seq", "DELTA_BINARY_PACKED"),
        ("user", "DELTA_LENGTH_BYTE_ARRAY"),
        ("status", "RLE_DICTIONARY"),
        ("tag", "RLE_DICTIONARY"),
    ] {
        assert!(encodings(name).contains(expected), "{name}: {}", encodings(name));
    }
    assert!(!encodings("user").contains("DICTIONARY"));
    assert_eq!(description.row_groups.len(), 4);
    assert!(serde_json::to_string(&description).unwrap().contains("index_bytes"));
}

#[tokio::test]
async fn opening_reads_the_end_once() {
    let store = Arc::new(CountingStore::default());
    let bucket = written(&mixed(), &Pairs, &small());
    open_in(store.clone(), bucket.bytes).await.unwrap();
    assert_eq!(store.take().len(), 1);
}

#[tokio::test]
async fn opening_a_bucket_with_a_long_end_reads_what_is_missing() {
    let names =
        |at: usize| (0..250).map(|k| format!("f{:05}=1 ", at * 250 + k)).collect::<String>();
    let mut events = lines((0..39).map(names));
    for (at, event) in events.iter_mut().enumerate() {
        event.host = format!("host{at}-{:0>20000}", at * 7919);
    }
    let store = Arc::new(CountingStore::default());
    let bucket = written(&events, &Pairs, &WriteOptions { max_columns: 9000, ..small() });
    let reader = open_in(store.clone(), bucket.bytes).await.unwrap();
    assert_eq!(reader.summary().fields.len(), 39 * 250);
    assert!((2..=3).contains(&store.take().len()));
}

#[tokio::test]
async fn a_lookup_is_a_small_read_per_word_at_most() {
    let store = Arc::new(CountingStore::default());
    let text = |at: usize| format!("id=u{at}x seq={at} other={}", at * 31);
    let bucket = written(&lines((0..20_000).map(text)), &Pairs, &small());
    let reader = open_in(store.clone(), bucket.bytes).await.unwrap();
    store.take();
    let terms = ["u7x", "u19999x", "other", "absent"].map(TermHash::of);
    reader.lookup(&terms).await.unwrap();
    let reads = store.take();
    assert!((1..=4).contains(&reads.len()), "{reads:?}");
    let bytes: u64 = reads.iter().flatten().map(|range| range.end - range.start).sum();
    assert!(bytes < 4 * (64 << 10), "words whose parts are close share a read: {reads:?}");
    reader.candidates(&TermQuery::for_wildcard("oth*")).await.unwrap();
    let first = store.take().len();
    reader.candidates(&TermQuery::for_wildcard("oth*")).await.unwrap();
    assert_eq!(store.take().len(), first - 1, "the vocabulary is read once");
}

#[tokio::test]
async fn reading_a_granule_fetches_its_pages_only() {
    let store = Arc::new(CountingStore::default());
    let noise =
        |at: usize| (0..40).map(|k| format!("{:x} ", (at * 40 + k) * 2_654_435_761)).collect();
    let bucket = written(&lines((0..4000).map(|at| -> String { noise(at) })), &Pairs, &small());
    let size = bucket.bytes.len() as u64;
    let reader = open_in(store.clone(), bucket.bytes).await.unwrap();
    let mut one = GranuleSet::none(reader.granules());
    one.insert(30);
    for round in 0..2 {
        store.take();
        let stream = reader.read(&["_time", "_raw"], &one, 100).await.unwrap();
        let batches: Vec<_> = stream.try_collect().await.unwrap();
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 64);
        let reads = store.take();
        let index_reads = if round == 0 { 1 } else { 0 };
        assert_eq!(reads.len(), index_reads + 1);
        let fetched: u64 = reads[index_reads].iter().map(|range| range.end - range.start).sum();
        assert!(fetched < size / 40, "{fetched} of {size} bytes");
    }
}

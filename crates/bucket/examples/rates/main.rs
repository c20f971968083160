//! Rates and sizes of the bucket format on generated lines, as a whole and phase by phase.
//!
//! `cargo run -p karst-bucket --example rates [rows] [file]`; takes some seconds, and keeps the bucket
//! in the file. With `write` for a file it only writes buckets into memory, for a profiler.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

mod data;

use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use karst_bucket::{
    BucketReader, FieldSource, GranuleSet, NoFields, TermHash, TermQuery, WriteOptions, Written,
    write_bucket,
};
use knowledge::Knowledge;
use model::{BucketId, IndexName};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Seconds this thread has been running: on a busy machine wall time says little.
fn cpu_seconds(since: Instant) -> f64 {
    let used = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = used.and_then(|used| used.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(since.elapsed().as_secs_f64(), |used| used / 1e9)
}

fn timed<T>(what: &str, data: Data, work: impl FnOnce() -> T) -> T {
    let since = Instant::now();
    let start = cpu_seconds(since);
    let result = work();
    let seconds = cpu_seconds(since) - start;
    let (rate, each) = (data.raw_bytes as f64 / 1e6 / seconds, seconds * 1e9 / data.rows as f64);
    println!("{what:<44} {rate:>8.0} MB per CPU second {each:>8.1} ns per event");
    result
}

/// How much is written.
#[derive(Clone, Copy)]
struct Data {
    rows: u64,
    raw_bytes: u64,
}

fn id() -> BucketId {
    BucketId(uuid::Uuid::from_u128(1))
}

fn bucket(batches: &[RecordBatch], fields: &dyn FieldSource) -> Written {
    let index = IndexName::new("main").unwrap();
    write_bucket(id(), &index, batches, fields, &WriteOptions::default()).unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows = arguments.first().and_then(|rows| rows.parse().ok()).unwrap_or(400_000);
    let (batches, raw_bytes) = data::batches(rows);
    let rules = data::Builtin(Knowledge::builtin());
    let data = Data { rows, raw_bytes };
    println!("{rows} lines of {} bytes, {:.0} MB", raw_bytes / rows, raw_bytes as f64 / 1e6);
    if arguments.iter().any(|argument| argument == "write") {
        // For profilers: nothing else.
        for _ in 0..3 {
            timed("whole bucket", data, || bucket(&batches, &rules));
        }
        return;
    }
    timed("whole bucket without fields", data, || bucket(&batches, &NoFields));
    let written = timed("whole bucket", data, || bucket(&batches, &rules));
    if let Some(path) = arguments.get(1) {
        std::fs::write(path, &written.bytes).unwrap();
    }
    phases(&batches, &rules, data);
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let path = Path::from("x");
    let size = written.bytes.len() as u64;
    store.put(&path, written.bytes.into()).await.unwrap();
    let start = Instant::now();
    let reader = BucketReader::open(store, &path, size).await.unwrap();
    println!("open: {:?}", start.elapsed());
    sizes(&reader, raw_bytes);
    lookups(&reader).await;
    scans(&reader, raw_bytes).await;
}

/// What the parts of a whole bucket cost one by one.
fn phases(batches: &[RecordBatch], fields: &dyn FieldSource, data: Data) {
    let options = WriteOptions::default();
    karst_bucket::measure::phases(id(), batches, fields, &options, &mut |what, work| {
        timed(&format!("  {what}"), data, work);
    })
    .unwrap();
}

fn sizes(reader: &BucketReader, raw_bytes: u64) {
    let description = reader.describe();
    let share = |bytes: u64| bytes as f64 / raw_bytes as f64 * 100.0;
    println!("size: {:.2} % of raw", share(description.size));
    println!(
        "  term index {:.2} %, {} pairs, {} blocks, vocabulary {} B, page index {:.2} %, end {} B",
        share(description.index_bytes),
        description.index_pairs,
        description.index_blocks,
        description.vocabulary_bytes,
        share(description.page_index_bytes),
        description.tail_bytes
    );
    for column in &description.columns {
        println!(
            "  {:<14} {:>6.2} %  {}",
            column.name,
            share(column.compressed_bytes),
            column.encodings
        );
    }
}

async fn lookups(reader: &BucketReader) {
    let times = 2000;
    for (what, word) in [("absent", "zzabsent"), ("in all granules", "status"), ("rare", "every1k")]
    {
        let terms = [TermHash::of(word)];
        let start = Instant::now();
        for _ in 0..times {
            reader.lookup(&terms).await.unwrap();
        }
        println!("lookup of a word {what}: {:?}", start.elapsed() / times);
    }
    let found = reader.lookup(&[TermHash::of("every1k")]).await.unwrap().remove(0);
    println!("every1k: {} rows, exact {}", found.total_rows(), found.exact);
    for (what, query) in [
        ("err*", TermQuery::for_wildcard("err*")),
        ("*rro*", TermQuery::Pattern("*rro*".into())),
        ("a phrase", TermQuery::for_text("level=ERROR user_id=17")),
    ] {
        reader.candidates(&query).await.unwrap();
        let start = Instant::now();
        let found = reader.candidates(&query).await.unwrap();
        println!("candidates of {what}: {} granules in {:?}", found.len(), start.elapsed());
    }
}

async fn scans(reader: &BucketReader, raw_bytes: u64) {
    let mut one = GranuleSet::none(reader.granules());
    one.insert(reader.granules() / 2);
    let all = GranuleSet::all(reader.granules());
    for (what, columns, granules) in [
        ("one granule, first (loads the page index)", &["_time", "_raw", "status"][..], &one),
        ("one granule", &["_time", "_raw", "status"][..], &one),
        ("all of _raw", &["_raw"][..], &all),
        ("all of status", &["status"][..], &all),
    ] {
        let start = Instant::now();
        let stream = reader.read(columns, granules, 8192).await.unwrap();
        let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let rate = raw_bytes as f64 / 1e6 / start.elapsed().as_secs_f64();
        println!("read {what}: {rows} rows in {:?} ({rate:.0} MB/s of raw)", start.elapsed());
    }
}

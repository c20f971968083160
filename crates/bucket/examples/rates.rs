//! Rates and sizes of the bucket format on generated lines, beside what a prototype measured.
//!
//! `cargo run -p karst-bucket --example rates [rows]`; takes some seconds.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{
    ArrayRef, DictionaryArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::Int32Type;
use futures::TryStreamExt;
use karst_bucket::{
    BucketReader, FieldExtractor, FieldSource, GranuleSet, NoFields, TermHash, TermQuery,
    WriteOptions, Written, hot_schema, write_bucket,
};
use model::{BucketId, IndexName};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

/// `key=value` pairs between spaces, values perhaps in quotes.
struct Pairs;

impl FieldSource for Pairs {
    fn extractor(&self, _sourcetype: &str, _source: &str, _host: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self)
    }
}

impl FieldExtractor for Pairs {
    fn fingerprint(&self) -> u64 {
        1
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) {
        for part in raw.split(' ') {
            if let Some((name, value)) = part.split_once('=') {
                emit(name, value.trim_matches('"'));
            }
        }
    }
}

/// A splitmix64 step: reproducible noise.
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn line(at: u64, state: &mut u64, text: &mut String) {
    const PATHS: [&str; 6] = ["cart", "checkout", "login", "search", "item", "profile"];
    const LEVELS: [&str; 4] = ["info", "info", "warn", "error"];
    text.clear();
    let (a, b, c) = (noise(state), noise(state), noise(state));
    let second = at / 40;
    write!(
        text,
        "2026-11-20T{:02}:{:02}:{:02}.{:06}Z app-{} level={} user_id={} session={:016x} \
         request_id={:016x} client=10.{}.{}.{} method=GET path=/shop/{}/{} status={} bytes={} \
         duration_ms={} agent=\"Mozilla/5.0_X11_Linux\" trace={:08x} message=\"request served\"{}",
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        a % 1_000_000,
        a % 16,
        LEVELS[(a >> 8) as usize % 4],
        b % 100_000,
        b,
        c,
        a >> 16 & 255,
        a >> 24 & 255,
        a >> 32 & 255,
        PATHS[(a >> 40) as usize % 6],
        c % 5000,
        200 + (a >> 44) % 5 * 100,
        b % 50_000,
        c % 3000,
        a as u32,
        if at % 1000 == 7 { " every1k" } else { "" },
    )
    .unwrap();
}

fn batches(rows: u64) -> (Vec<RecordBatch>, u64) {
    let mut state = 1;
    let mut text = String::new();
    let mut raw_bytes = 0;
    let mut batches = Vec::new();
    for start in (0..rows).step_by(8192) {
        let end = (start + 8192).min(rows);
        let mut lines = Vec::new();
        for at in start..end {
            line(at, &mut state, &mut text);
            raw_bytes += text.len() as u64;
            lines.push(text.clone());
        }
        let times = |step: i64| {
            let values: Vec<i64> = (start..end).map(|at| at as i64 * step).collect();
            Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC")) as ArrayRef
        };
        let names = |name: &str| {
            let values = std::iter::repeat_n(name, lines.len());
            Arc::new(values.collect::<DictionaryArray<Int32Type>>()) as ArrayRef
        };
        let columns = vec![
            times(25_000),
            times(25_001),
            Arc::new(StringViewArray::from_iter_values(&lines)) as ArrayRef,
            names("web1"),
            names("/var/log/app.log"),
            names("app"),
            Arc::new(StringArray::new_null(lines.len())),
        ];
        batches.push(RecordBatch::try_new(hot_schema(), columns).unwrap());
    }
    (batches, raw_bytes)
}

/// Seconds this thread has been running: on a busy machine wall time says little.
fn cpu_seconds(since: Instant) -> f64 {
    let used = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = used.and_then(|used| used.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(since.elapsed().as_secs_f64(), |used| used / 1e9)
}

fn timed<T>(what: &str, raw_bytes: u64, known: &str, work: impl FnOnce() -> T) -> T {
    let since = Instant::now();
    let start = cpu_seconds(since);
    let result = work();
    let rate = raw_bytes as f64 / 1e6 / (cpu_seconds(since) - start);
    println!("{what:<44} {rate:>8.0} MB per CPU second   (prototype {known})");
    result
}

fn bucket(batches: &[RecordBatch], fields: &dyn FieldSource) -> Written {
    let id = BucketId(uuid::Uuid::from_u128(1));
    let index = IndexName::new("main").unwrap();
    write_bucket(id, &index, batches, fields, &WriteOptions::default()).unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(300_000);
    let (batches, raw_bytes) = batches(rows);
    println!("{rows} lines of {} bytes, {:.0} MB", raw_bytes / rows, raw_bytes as f64 / 1e6);
    karst_bucket::measure::stages(&batches, |what, known, work| {
        timed(what, raw_bytes, known, work);
    });
    timed("whole bucket without field columns", raw_bytes, "236-289", || {
        bucket(&batches, &NoFields)
    });
    let written =
        timed("whole bucket with field columns", raw_bytes, "116-141", || bucket(&batches, &Pairs));
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

fn sizes(reader: &BucketReader, raw_bytes: u64) {
    let description = reader.describe();
    let share = |bytes: u64| bytes as f64 / raw_bytes as f64 * 100.0;
    println!("size: {:.2} % of raw (prototype 24.3 + 3.4 %)", share(description.size));
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
        println!("lookup of a word {what}: {:?} (prototype 0.1-0.4 us)", start.elapsed() / times);
    }
    let found = reader.lookup(&[TermHash::of("every1k")]).await.unwrap().remove(0);
    println!("every1k: {} rows, exact {}", found.total_rows(), found.exact);
    for (what, query) in [
        ("err*", TermQuery::for_wildcard("err*")),
        ("*rro*", TermQuery::Pattern("*rro*".into())),
        ("a phrase", TermQuery::for_text("level=error user_id=17")),
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

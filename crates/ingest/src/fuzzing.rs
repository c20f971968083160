//! Entry points for fuzzers: decoders of bytes from outside, and seeds for them.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use inputs::BatchId;
use model::{EventBatch, EventBatchBuilder, EventTime, IndexName, JournalPosition, Lane, Origin};

use crate::forwarded::input_of;
use crate::hot::rows::Rows;
use crate::journal::{
    Codec, Delivered, Encoder, RollStarted, SEGMENT_HEADER, encode_delivered, encode_roll,
    read_batch, scan_bytes, scan_raw, write_batch,
};
use crate::remote;

/// Reads a journal segment, and converts the rows of its records into columns.
pub fn journal(segment: &[u8]) {
    let scan = scan_bytes(Path::new("segment"), segment, |record| {
        if let crate::journal::Record::Batch(batch) = record {
            let rows = Rows::new(batch.batch, batch.first_index_time);
            let _ = black_box(rows.columns(&bucket::hot_schema()));
        }
    });
    black_box(scan.whole);
    // Checksums refuse nearly every mutation, so the payload decoders are called directly as well.
    let index = IndexName::new("main").expect("it is a name");
    if let Some((batch, first)) = read_batch(index, &bytes::Bytes::copy_from_slice(segment)) {
        let _ = black_box(Rows::new(batch, first).columns(&bucket::hot_schema()));
    }
}

/// Returns segments with records of every kind and compression.
#[must_use]
pub fn journal_seeds() -> Vec<Vec<u8>> {
    let index = IndexName::new("main").expect("it is a name");
    let stream = (index.clone(), Lane::FIRST);
    let id = BatchId { channel: uuid::Uuid::from_u128(1), sequence: 7, settled: 3 };
    let parts = vec![JournalPosition(1), JournalPosition(2)];
    let roll = RollStarted {
        index,
        lane: Lane::FIRST,
        upto: JournalPosition(2),
        bucket: model::BucketId(uuid::Uuid::from_u128(2)),
        path: "buckets/main/20260102/x.parquet".to_owned(),
    };
    let seed = |codec| {
        let mut segment = SEGMENT_HEADER.to_vec();
        let mut encoder = Encoder::new(codec);
        let long = "another event, somewhat longer than the first ".repeat(20);
        for position in 1..=2 {
            let batch = batch(&["one event", &long]);
            let record = encoder.batch(&batch, 1_000, Lane::FIRST, JournalPosition(position));
            segment.extend_from_slice(&record);
        }
        segment.extend(encode_delivered(&Delivered { id, parts: parts.clone() }, &stream));
        segment.extend(encode_roll(&roll));
        segment
    };
    let mut payload = Vec::new();
    write_batch(&batch(&["one event", "another"]), 1_000, &mut payload);
    let segments = [Codec::None, Codec::Lz4, Codec::Zstd].into_iter().map(seed);
    segments.chain([payload]).collect()
}

/// Reads an object of the journal in object storage.
pub fn remote_journal(object: &[u8]) {
    let Ok(sections) = remote::decode(&bytes::Bytes::copy_from_slice(object)) else { return };
    for (_, records) in sections {
        scan_raw(&records, |record| {
            black_box((record.stream, record.position, record.bytes.len()));
        });
    }
}

/// Returns objects with the records of two sets, of one, and of none.
#[must_use]
pub fn remote_journal_seeds() -> Vec<Vec<u8>> {
    let segments = journal_seeds().into_iter();
    let records: Vec<bytes::Bytes> = segments
        .filter_map(|segment| {
            Some(bytes::Bytes::copy_from_slice(segment.strip_prefix(&SEGMENT_HEADER)?))
        })
        .collect();
    let object = |sets: &[u16]| {
        let sets = sets.iter().map(|set| (*set, records.clone())).collect();
        remote::encode(sets).concat()
    };
    vec![object(&[0, 7]), object(&[3]), object(&[])]
}

/// Reads the content of a forwarder's batch.
pub fn forwarded(content: protocol::Content) {
    let _ = black_box(input_of(content, uuid::Uuid::nil(), &|_| true));
}

/// Returns a batch of hot rows with these texts.
#[must_use]
pub fn rows(texts: &[&str]) -> RecordBatch {
    let rows = Rows::new(batch(texts), 1_000);
    rows.columns(&bucket::hot_schema()).expect("rows of a batch fit the schema")
}

fn batch(texts: &[&str]) -> EventBatch {
    let index = IndexName::new("main").expect("it is a name");
    let name = |text: &str| Arc::<str>::from(text);
    let origin = Arc::new(Origin {
        index: index.clone(),
        host: name("host"),
        source: name("source"),
        sourcetype: name("sourcetype"),
    });
    let mut builder = EventBatchBuilder::new(index, 0);
    for (number, text) in texts.iter().enumerate() {
        let time = i64::try_from(number).unwrap_or(0) * 1_000_000;
        builder.push(&origin, EventTime(1_700_000_000_000_000 + time), text);
        builder.push_field("f".into(), text);
    }
    builder.finish()
}

//! Damaged objects are refused by name, and never end the process.

use std::sync::Arc;

use bucket::{BucketReader, Error, GranuleSet, TermHash, TermQuery};
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;

use crate::support::{Pairs, lines, open_in, small, written};

fn bytes() -> Bytes {
    let text = |at: usize| format!("seq={at} user=user-{at} status={} tag=a tag=b", 200 + at % 4);
    written(&lines((0..600).map(text)), &Pairs, &small()).bytes
}

async fn open(bytes: Bytes) -> Result<BucketReader, Error> {
    open_in(Arc::new(InMemory::new()), bytes).await
}

/// Everything that can be asked.
async fn read_all(bytes: Bytes) -> Result<(), Error> {
    let reader = open(bytes).await?;
    let words: Vec<TermHash> = (0..600).map(|at| TermHash::of(&at.to_string())).collect();
    reader.lookup(&words).await?;
    reader.candidates(&TermQuery::for_wildcard("us*")).await?;
    let names: Vec<String> =
        reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let all = GranuleSet::all(reader.granules());
    let mut some = all.clone();
    some.remove(3);
    for granules in [all, some] {
        let stream = reader.read(&names, &granules, 100).await?;
        let _rows: Vec<_> = stream.try_collect().await?;
    }
    Ok(())
}

fn assert_corrupt(result: Result<(), Error>, what: &str) {
    match result {
        Err(error @ Error::Corrupt { .. }) => {
            assert!(error.to_string().contains("buckets/main/x.parquet"), "{error}");
            assert_eq!(error.kind(), model::ErrorKind::Corrupt);
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[tokio::test]
async fn a_truncated_object_is_corrupt() {
    let bytes = bytes();
    for length in (0..bytes.len()).step_by(211).chain(bytes.len() - 60..bytes.len()) {
        assert_corrupt(read_all(bytes.slice(..length)).await, &format!("{length} bytes"));
    }
}

#[tokio::test]
async fn an_object_shorter_than_the_catalog_says_is_an_error() {
    let store = Arc::new(InMemory::new());
    let bytes = bytes();
    let size = bytes.len() as u64;
    open_in(store.clone(), bytes).await.unwrap();
    let path = Path::from("buckets/main/x.parquet");
    let error = BucketReader::open(store.clone(), &path, size + 100).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. } | Error::Store { .. }), "{error}");
    let missing = Path::from("buckets/main/y.parquet");
    let error = BucketReader::open(store, &missing, size).await.unwrap_err();
    assert_eq!(error.kind(), model::ErrorKind::NotFound);
}

#[tokio::test]
async fn every_flipped_bit_is_noticed() {
    let bytes = bytes();
    // The four bytes at the start only say "Parquet"; nothing reads them.
    for at in (4..bytes.len()).step_by(13) {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1 << (at % 8);
        assert_corrupt(read_all(damaged.into()).await, &format!("byte {at}"));
    }
}

#[tokio::test]
async fn a_newer_format_is_refused_as_such() {
    let bytes = bytes();
    let length = u32::from_le_bytes(*bytes[bytes.len() - 8..].first_chunk().unwrap()) as usize;
    let trailer = bytes.len() - 8 - length - 40;
    let mut newer = bytes.to_vec();
    newer[trailer + 24] = 9;
    let checksum = crc32fast::hash(&newer[trailer..trailer + 28]);
    newer[trailer + 28..trailer + 32].copy_from_slice(&checksum.to_le_bytes());
    let error = open(newer.into()).await.unwrap_err();
    assert!(matches!(error, Error::Version { found: 9, supported: 1, .. }), "{error}");
}

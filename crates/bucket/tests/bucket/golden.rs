//! Buckets written once by each format version are read for ever.

use std::path::PathBuf;
use std::sync::Arc;

use bucket::{GranuleSet, TermHash, TermQuery};
use object_store::memory::InMemory;

use crate::support::{Event, Pairs, event, lines, open_in, rows, small, texts, written};

fn directory() -> PathBuf {
    PathBuf::from("../../schemas/bucket/golden")
}

fn events() -> Vec<Event> {
    let text = |at: usize| {
        let error = if at % 50 == 7 { "ERROR" } else { "info" };
        format!("level={error} seq={at} user=user-{at} tag=a tag=b{} Grüße", at % 3)
    };
    let mut events = lines((0..300).map(text));
    events[20].host = "db-7".into();
    events[20].fields = Some(r#"{"region":"eu-west"}"#.into());
    events.push(event(-1, 1000, ""));
    events
}

/// Enough words for several index blocks, in all kinds of lists.
fn many_events() -> Vec<Event> {
    let text = |at: usize| {
        let often = if at % 5 < 2 { "often" } else { "" };
        format!("id={} n={at} half{} {often}", at * 7919, at / 1500)
    };
    lines((0..3000).map(text))
}

/// Writes the files of the current format if they are missing; existing ones are never changed.
#[test]
fn the_current_format_has_golden_files() {
    let files = [
        ("v1-mixed.parquet", events()),
        ("v1-blocks.parquet", many_events()),
        ("v1-shared-pages.parquet", events()),
    ];
    for (name, events) in files {
        let path = directory().join(name);
        if !path.exists() {
            std::fs::write(&path, written(&events, &Pairs, &small()).bytes).unwrap();
        }
    }
}

#[tokio::test]
async fn version_1_with_many_blocks_is_still_read() {
    let bytes = std::fs::read(directory().join("v1-blocks.parquet")).unwrap();
    let reader = open_in(Arc::new(InMemory::new()), bytes.into()).await.unwrap();
    assert!(reader.describe().index_blocks > 1);
    let terms = ["often", "half1", "id", "1999"].map(TermHash::of);
    let found = reader.lookup(&terms).await.unwrap();
    let totals: Vec<u64> = found.iter().map(|postings| postings.total_rows()).collect();
    assert_eq!(totals, [1200, 1500, 3000, 1]);
    for at in (0..3000).step_by(53) {
        let query = TermQuery::for_text(&format!("id={}", at * 7919));
        assert!(reader.candidates(&query).await.unwrap().contains(at / 64));
    }
}

/// Pages of one granule each, as Parquet's own writer cuts them.
#[tokio::test]
async fn version_1_is_still_read() {
    check_events("v1-mixed.parquet").await;
}

/// Pages of several granules, dictionaries beside other encodings, columns without compression.
#[tokio::test]
async fn version_1_with_shared_pages_is_still_read() {
    check_events("v1-shared-pages.parquet").await;
}

async fn check_events(name: &str) {
    let bytes = std::fs::read(directory().join(name)).unwrap();
    let reader = open_in(Arc::new(InMemory::new()), bytes.into()).await.unwrap();
    let mut expected = events();
    expected.sort();
    let all = GranuleSet::all(reader.granules());
    let found = rows(&reader, &["_raw", "seq", "tag", "region", "host"], &all).await;
    let raw: Vec<_> = expected.iter().map(|event| Some(event.raw.clone())).collect();
    assert_eq!(texts(&found, 0), raw);
    assert_eq!(texts(&found, 1)[..3], [None, Some("0".into()), Some("1".into())]);
    assert_eq!(texts(&found, 2)[2], Some("a|b1".into()));
    assert_eq!(texts(&found, 3)[21], Some("eu-west".into()));
    assert_eq!(texts(&found, 4)[21], Some("db-7".into()));
    let found = reader.lookup(&["error", "grüsse", "GRÜßE"].map(TermHash::of)).await.unwrap();
    let totals: Vec<u64> = found.iter().map(|postings| postings.total_rows()).collect();
    assert_eq!(totals, [6, 0, 300]);
    let prefix = reader.candidates(&TermQuery::for_wildcard("err*")).await.unwrap();
    assert_eq!(prefix, found[0].granules);
    assert_eq!(reader.summary().fields.len(), 5);
}

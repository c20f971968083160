//! Tests of incarnations.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use catalog::Commit;
use model::{BucketEntry, BucketId, BucketState, BucketSummary, EventTime, IndexName};
use object_store::memory::InMemory;
use peers::incarnation::FORMER;
use serde_json::json;

use super::*;

/// The kind of the documents of incarnations.
const KIND: &str = "incarnation";

#[tokio::test]
async fn a_directory_keeps_its_id_from_start_to_start() {
    let (catalog, data) = (catalog().await, tempfile::tempdir().unwrap());
    let first = begin(&catalog, data.path()).await;
    assert!(!first.is_over(&catalog.snapshot()));
    let second = begin(&catalog, data.path()).await;
    assert_eq!((first.indexer, second.indexer), (id(), id()));
    assert!(first.is_over(&catalog.snapshot()) && !second.is_over(&catalog.snapshot()));
}

#[tokio::test]
async fn a_start_that_ends_between_the_writes_is_not_taken_for_a_copy() {
    let (catalog, data) = (catalog().await, tempfile::tempdir().unwrap());
    begin(&catalog, data.path()).await;
    let before = read(data.path()).unwrap();
    let killed = begin(&catalog, data.path()).await;
    // Killed after the change of the catalog.
    let begun = vec![number(7), killed.number];
    let first = before.current.unwrap();
    write(data.path(), &Noted { begun, ..before }).unwrap();
    assert_eq!(begin(&catalog, data.path()).await.indexer, id());
    let former = read(data.path()).unwrap().former;
    assert_eq!(former, [first, killed.number], "a catalog with one of them is older");
    // Killed before it.
    let known = read(data.path()).unwrap();
    write(data.path(), &Noted { begun: vec![number(8)], ..known }).unwrap();
    assert_eq!(begin(&catalog, data.path()).await.indexer, id());
}

#[tokio::test]
async fn the_original_gets_a_new_id_after_a_copy_has_run() {
    let (catalog, data) = (catalog().await, tempfile::tempdir().unwrap());
    let copy = tempfile::tempdir().unwrap();
    let original = begin(&catalog, data.path()).await;
    fs::create_dir(copy.path().join("journal")).unwrap();
    let file = Path::new("journal").join(FILE);
    fs::copy(data.path().join(&file), copy.path().join(&file)).unwrap();
    assert_eq!(begin(&catalog, copy.path()).await.indexer, id());
    let reason = original.superseded(&catalog.snapshot()).unwrap();
    assert!(reason.contains("was started at 127.0.0.1:7 ("), "{reason}");

    let again = begin(&catalog, data.path()).await;
    assert_ne!(again.indexer, id());
    assert!(is_split(data.path()) && !is_split(copy.path()));
    assert_eq!(known_id(data.path()), Some(again.indexer));
    // Both continue with their identities.
    let at = (data.path(), false);
    let next = super::begin(&catalog, at, again.indexer, &place()).await.unwrap();
    assert_eq!(next.indexer, again.indexer);
    assert_eq!(begin(&catalog, copy.path()).await.indexer, id());
}

#[tokio::test]
async fn a_catalog_that_is_older_than_the_directory_is_refused_until_it_is_rebuilt() {
    let (catalog, data) = (catalog().await, tempfile::tempdir().unwrap());
    begin(&catalog, data.path()).await;
    let copy = catalog.snapshot().document(KIND, &id().to_string()).unwrap();
    for _ in 0..3 {
        begin(&catalog, data.path()).await;
    }
    catalog.put_document(KIND, &id().to_string(), (*copy).clone()).await.unwrap();
    let written = read(data.path()).unwrap();
    let refused = refused(&catalog, data.path()).await;
    let expected =
        format!("the catalog is older than the data directory {}", data.path().display());
    assert!(refused.starts_with(&expected), "{refused}");
    assert!(
        refused.contains("was 2026-11-28T00:00:00Z, and") && refused.contains("catalog rebuild")
    );
    assert_eq!(read(data.path()).unwrap(), written, "nothing is changed");
    assert_eq!(catalog.snapshot().document(KIND, &id().to_string()).unwrap(), copy);

    // The note of a rebuild.
    catalog.put_document("recovery", "journal", json!({})).await.unwrap();
    let rebuilt = begin(&catalog, data.path()).await;
    assert_ne!(rebuilt.indexer, id());
    assert!(is_split(data.path()));
}

#[tokio::test]
async fn a_catalog_from_before_the_first_number_is_refused_unless_it_is_another_one() {
    let data = tempfile::tempdir().unwrap();
    begin(&catalog().await, data.path()).await;
    // A new installation over the directory.
    begin(&catalog().await, data.path()).await;
    let older = catalog().await;
    older.commit(Commit { add: vec![bucket()], ..Commit::default() }).await.unwrap();
    let refused = refused(&older, data.path()).await;
    let file = data.path().join("journal").join(FILE).display().to_string();
    assert!(refused.contains("it has no start of this process, and"), "{refused}");
    assert!(refused.contains(&file) && refused.contains("--new-instance"), "{refused}");
    assert!(refused.contains("was added to it after the copy was made"), "{refused}");
    let at = (data.path(), true);
    assert_eq!(super::begin(&older, at, id(), &place()).await.unwrap().indexer, id());

    let rebuilt = catalog().await;
    rebuilt.commit(Commit { add: vec![bucket()], ..Commit::default() }).await.unwrap();
    rebuilt.put_document("recovery", "journal", json!({})).await.unwrap();
    assert_eq!(begin(&rebuilt, data.path()).await.indexer, id(), "it has no positions");
}

#[tokio::test]
async fn the_numbers_of_many_starts_are_limited() {
    let (catalog, data) = (catalog().await, tempfile::tempdir().unwrap());
    begin(&catalog, data.path()).await;
    let former = (10..300).map(number).collect();
    write(data.path(), &Noted { former, ..read(data.path()).unwrap() }).unwrap();
    let first = read(data.path()).unwrap().current.unwrap();
    begin(&catalog, data.path()).await;
    let noted = read(data.path()).unwrap();
    assert_eq!((noted.former.len(), noted.former.last()), (FORMER, Some(&first)));
}

#[test]
fn a_split_that_was_interrupted_is_ended() {
    let data = tempfile::tempdir().unwrap();
    let indexer = IndexerId(number(5));
    write(data.path(), &Noted::new(indexer, Some(id()))).unwrap();
    fs::write(data.path().join("instance.id"), id().0.to_string()).unwrap();
    assert!(!is_split(data.path()));
    end_split(data.path()).unwrap();
    assert!(is_split(data.path()));
    assert_eq!(known_id(data.path()), Some(indexer));
}

#[test]
fn a_refusal_names_the_directory_and_the_address_of_the_other() {
    let text = refusal("indexer", id(), "127.0.0.1:31297", Path::new("/path/data"));
    let known = id();
    let expected =
        format!("indexer {known} already runs at 127.0.0.1:31297: /path/data is a copy of");
    assert!(text.starts_with(&expected), "{text}");
}

fn id() -> IndexerId {
    IndexerId(number(1))
}

fn number(value: u128) -> Uuid {
    Uuid::from_u128(value)
}

fn place() -> Place {
    Place {
        host: "here".to_owned(),
        data: "/data".to_owned(),
        address: Some("127.0.0.1:7".to_owned()),
        started: "2026-11-28T00:00:00Z".to_owned(),
    }
}

/// A start over a directory, which writes its id first.
async fn begin(catalog: &Catalog, data: &Path) -> Incarnation {
    let file = data.join("instance.id");
    if !file.exists() {
        fs::write(&file, id().0.to_string()).unwrap();
    }
    super::begin(catalog, (data, false), id(), &place()).await.unwrap()
}

/// Why a start over a directory is refused.
async fn refused(catalog: &Catalog, data: &Path) -> String {
    let begun = super::begin(catalog, (data, false), id(), &place()).await;
    begun.unwrap_err().to_string()
}

fn bucket() -> BucketEntry {
    let (id, index) = (BucketId(number(9)), IndexName::new("main").unwrap());
    let summary = Arc::new(BucketSummary::bare(1, EventTime(1), EventTime(1)));
    let path = id.object_path(&index, "20261020");
    BucketEntry { id, index, path, size: 3, state: BucketState::Warm, summary }
}

async fn catalog() -> Catalog {
    let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
    let settings = catalog::Settings::default();
    Catalog::open(store, "catalog", settings, clock).await.unwrap()
}

//! Checks whether the catalog matches the stored objects, without changing anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bucket::BucketReader;
use catalog::{Salvaged, Snapshot, Takeover};
use futures::{StreamExt, TryStreamExt};
use model::BucketEntry;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::Error;
use crate::journal::segments;

/// Number of buckets that are checked concurrently.
const READERS: usize = 16;
/// Prefix of the objects of buckets.
pub(super) const BUCKETS: &str = "buckets";

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Number of buckets in the catalog.
    pub buckets: usize,
    /// Number of their events.
    pub events: u64,
    /// Size of their objects in bytes.
    pub bytes: u64,
    /// Number of documents, by kind.
    pub documents: BTreeMap<String, usize>,
    /// Number of streams with a journal position.
    pub positions: usize,
    /// Number of objects that are to be deleted.
    pub discarded: usize,
    /// Objects of buckets that the catalog does not have: left by a crash, or missing from the catalog.
    pub unknown: Vec<String>,
    /// Hot sets that another process has taken over.
    pub taken_over: Vec<Takeover>,
    /// Why opening the catalog takes longer than it has to.
    pub unused_packs: Option<String>,
    /// Damaged or missing objects and entries.
    pub problems: Vec<String>,
}

/// Compares the catalog with the objects: the object of every bucket must exist, have the right size, and
/// have a footer that matches the entry. With `deep`, every byte is read and compared with its checksum.
///
/// # Errors
/// The store cannot be read.
pub async fn check(store: &Arc<dyn ObjectStore>, path: &str, deep: bool) -> Result<Checked, Error> {
    let salvaged = catalog::salvage(store, path).await;
    let salvaged = salvaged.map_err(|error| Error::Catalog(Arc::new(error)))?;
    let Salvaged { buckets, positions, owners, documents, discarded, damage, .. } = salvaged;
    let (difference, unused_packs) = (salvaged.difference, salvaged.unused_packs);
    let objects = salvaged.objects;
    let mut checked = Checked {
        buckets: buckets.len(),
        events: buckets.iter().map(|bucket| bucket.summary.rows).sum(),
        bytes: buckets.iter().map(|bucket| bucket.size).sum(),
        positions: positions.len(),
        discarded: discarded.len(),
        taken_over: owners,
        unused_packs,
        problems: damage.into_iter().chain(difference).collect(),
        ..Checked::default()
    };
    if objects == 0 {
        checked.problems.push(format!("{path}: there is no catalog"));
    }
    for (kind, _, _) in &documents {
        *checked.documents.entry(kind.clone()).or_default() += 1;
    }
    let known: BTreeSet<&str> = buckets.iter().map(|bucket| bucket.path.as_str()).collect();
    let discarded: BTreeSet<&str> = discarded.iter().map(|(path, _)| path.as_str()).collect();
    let listed: Vec<_> = objects_of(store).await?;
    let unknown = listed.iter().map(|meta| meta.location.to_string());
    let unknown = unknown.filter(|path| !known.contains(&**path) && !discarded.contains(&**path));
    checked.unknown = unknown.collect();
    let looks = buckets.iter().map(|entry| look_at(store, entry, deep));
    let mut looks = futures::stream::iter(looks).buffered(READERS);
    while let Some(problem) = looks.next().await {
        checked.problems.extend(problem);
    }
    Ok(checked)
}

/// Returns the objects of buckets.
pub(super) async fn objects_of(
    store: &Arc<dyn ObjectStore>,
) -> Result<Vec<object_store::ObjectMeta>, Error> {
    let listed = store.list(Some(&object_store::path::Path::from(BUCKETS)));
    let found: Vec<_> = listed.try_collect().await.map_err(|source| Error::Storage {
        operation: "list",
        path: BUCKETS.to_owned(),
        source: Arc::new(source),
    })?;
    Ok(found.into_iter().filter(|meta| meta.location.extension() == Some("parquet")).collect())
}

/// Returns what is wrong with the object of a bucket.
async fn look_at(store: &Arc<dyn ObjectStore>, entry: &BucketEntry, deep: bool) -> Option<String> {
    let problem = |text: String| {
        let rows = entry.summary.rows;
        Some(format!("bucket {} of index {} ({rows} events): {text}", entry.id, entry.index))
    };
    let path = object_store::path::Path::from(entry.path.as_str());
    match store.head(&path).await {
        Err(object_store::Error::NotFound { .. }) => {
            return problem(format!("object {path} is missing"));
        }
        Err(error) => return problem(format!("object {path} cannot be read: {error}")),
        Ok(meta) if meta.size != entry.size => {
            let (is, was) = (meta.size, entry.size);
            return problem(format!("object {path} has {is} bytes, the catalog says {was}"));
        }
        Ok(_) => {}
    }
    let reader = match BucketReader::open(Arc::clone(store), &path, entry.size).await {
        Ok(reader) => reader,
        Err(error) => return problem(chain(&error)),
    };
    if *reader.summary() != *entry.summary {
        return problem(format!("object {path} has another summary than the catalog"));
    }
    if !deep {
        return None;
    }
    reader.verify().await.err().and_then(|error| problem(chain(&error)))
}

/// Returns an error and its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Evidence that an empty catalog was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    /// An object of a bucket.
    pub object: Option<String>,
    /// A journal segment that is not empty.
    pub segment: Option<std::path::PathBuf>,
}

/// Whether the catalog was lost: it is completely empty although buckets or a journal exist.
///
/// # Errors
/// The store or the journal cannot be listed.
pub async fn lost(
    store: &Arc<dyn ObjectStore>,
    snapshot: &Snapshot,
    data: &Path,
) -> Result<Option<Lost>, Error> {
    if !snapshot.is_blank() {
        return Ok(None);
    }
    let mut listed = store.list(Some(&object_store::path::Path::from(BUCKETS)));
    let first = listed.try_next().await.map_err(|source| Error::Storage {
        operation: "list",
        path: BUCKETS.to_owned(),
        source: Arc::new(source),
    })?;
    let lost = Lost {
        object: first.map(|meta| meta.location.to_string()),
        segment: first_segment(&data.join("journal"))?,
    };
    Ok((lost != Lost::default()).then_some(lost))
}

/// Returns a segment with records below the root of the journals.
pub(super) fn first_segment(root: &Path) -> Result<Option<std::path::PathBuf>, Error> {
    let Ok(entries) = std::fs::read_dir(root) else { return Ok(None) };
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        let with_records = |path: &std::path::PathBuf| {
            path.metadata().is_ok_and(|meta| meta.len() > SEGMENT_HEADER as u64)
        };
        if let Some(found) = segments(&entry.path())?.into_iter().find(with_records) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Number of bytes before the first record of a segment.
const SEGMENT_HEADER: usize = 16;

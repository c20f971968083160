//! Rebuilds the catalog from the buckets, and takes everything else from the old catalog.
//!
//! The old catalog is copied first, and a note in the store names the copy until the new catalog is complete:
//! an interrupted rebuild is repeated from the copy.
//!
//! After a merge, the parts are still in the store for some minutes, together with the result. Arrival times,
//! texts and origins identify them: a bucket whose events are all in a larger bucket is a part of it, and is
//! left out. An undamaged catalog never has a bucket and its part: two buckets that it has are both kept.
//!
//! An object that cannot be read, for example because of a bad block, is kept and reported. Only a store that
//! does not answer ends the rebuild.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bucket::BucketReader;
use catalog::{Catalog, Commit, Discarded, JournalRange, OWN_EPOCH, Salvaged, Takeover};
use futures::StreamExt;
use model::{
    BucketEntry, BucketId, BucketState, BucketSummary, ErrorKind, EventTime, IndexName, StreamId,
    TimeRange,
};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use runtime::Clock;
use runtime::store::ask_again;

use super::check::{chain, objects_of};
use super::verify_all;
use crate::Error;
use crate::hot::stored::{Object, Shared, arrivals_of, shared};
use crate::lifecycle::is_of_object;

/// Number of objects whose footers are read concurrently.
const READERS: usize = 16;
/// Number of entries in one commit.
const AT_A_TIME: usize = 256;
/// The object that names the copy of the old catalog during a rebuild.
const NOTE: &str = "catalog-rebuild";

/// The result of a rebuild.
#[derive(Debug, Clone, Default)]
pub struct Rebuilt {
    /// Number of buckets in the new catalog.
    pub buckets: usize,
    /// Number of their events.
    pub events: u64,
    /// Number of buckets that the old catalog did not have.
    pub found: usize,
    /// Number of parts of merged buckets and discarded objects, which are left out.
    pub superseded: usize,
    /// Number of documents taken from the old catalog, by kind.
    pub documents: BTreeMap<String, usize>,
    /// Number of journal positions taken from the old catalog.
    pub positions: usize,
    /// The path of the copy of the old catalog, if there was one.
    pub aside: Option<String>,
    /// Parts of the old catalog that could not be read, and objects that are not buckets.
    pub damage: Vec<String>,
}

impl Rebuilt {
    fn note_damage(&mut self, damage: String) {
        if !self.damage.contains(&damage) {
            self.damage.push(damage);
        }
    }
}

/// Whether a rebuild was interrupted.
///
/// # Errors
/// The store cannot be read.
pub async fn interrupted(store: &Arc<dyn ObjectStore>) -> Result<bool, Error> {
    Ok(aside_of(store).await?.is_some())
}

async fn aside_of(store: &Arc<dyn ObjectStore>) -> Result<Option<String>, Error> {
    let note = Path::from(NOTE);
    match ask_again(NOTE, || store.get(&note)).await {
        Ok(found) => {
            let bytes = found.bytes().await.map_err(failed("read", NOTE))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed("read", NOTE)(error)),
    }
}

/// Rebuilds the catalog below `path`. No server may be using it.
///
/// # Errors
/// The store cannot be read or written; a repetition continues.
pub async fn rebuild(
    store: &Arc<dyn ObjectStore>,
    path: &str,
    clock: &Arc<dyn Clock>,
) -> Result<Rebuilt, Error> {
    let from = match aside_of(store).await? {
        Some(aside) => aside,
        None => set_aside(store, path, clock).await?,
    };
    let salvaged = catalog::salvage(store, &from).await.map_err(of_catalog)?;
    let mut rebuilt = Rebuilt { damage: salvaged.damage.clone(), ..Rebuilt::default() };
    rebuilt.aside = (salvaged.objects > 0).then(|| from.clone());
    let entries = entries(store, &salvaged, &mut rebuilt).await?;
    catalog::salvage::clear(store, path).await.map_err(of_catalog)?;
    let settings = catalog::Settings::default();
    let new = Catalog::open(Arc::clone(store), path, settings, Arc::clone(clock));
    let new = new.await.map_err(of_catalog)?;
    write(&new, entries, salvaged, &mut rebuilt).await.map_err(of_catalog)?;
    new.close().await.map_err(of_catalog)?;
    store.delete(&Path::from(NOTE)).await.map_err(failed("delete", NOTE))?;
    Ok(rebuilt)
}

/// Copies the old catalog, and writes the note with the path of the copy.
async fn set_aside(
    store: &Arc<dyn ObjectStore>,
    path: &str,
    clock: &Arc<dyn Clock>,
) -> Result<String, Error> {
    let aside = format!("{path}-before-rebuild-{}", clock.now().0 / 1_000_000);
    catalog::salvage::copy_aside(store, path, &aside).await.map_err(of_catalog)?;
    let note = PutPayload::from(aside.clone().into_bytes());
    store.put(&Path::from(NOTE), note).await.map_err(failed("put", NOTE))?;
    Ok(aside)
}

async fn write(
    new: &Catalog,
    entries: Vec<BucketEntry>,
    salvaged: Salvaged,
    rebuilt: &mut Rebuilt,
) -> Result<(), catalog::Error> {
    rebuilt.buckets = entries.len();
    rebuilt.events = entries.iter().map(|entry| entry.summary.rows).sum();
    rebuilt.positions = salvaged.positions.len();
    // First of all: whatever happens next, journals are compared with the buckets.
    let (kind, name, content) = verify_all();
    new.put_document(&kind, &name, content).await?;
    let paths: HashSet<String> = entries.iter().map(|entry| entry.path.clone()).collect();
    for some in entries.chunks(AT_A_TIME) {
        new.commit(Commit { add: some.to_vec(), ..Commit::default() }).await?;
    }
    let discard = salvaged.discarded.into_iter().filter(|(path, _)| !paths.contains(path));
    let discard = discard.map(|(path, delete_after)| Discarded { path, delete_after }).collect();
    let take_over = salvaged.owners;
    let epoch_of = |stream: &StreamId| {
        let is_its = |taken: &&Takeover| (taken.indexer, taken.set) == (stream.indexer, stream.set);
        take_over.iter().find(is_its).map_or(OWN_EPOCH, |taken| taken.epoch)
    };
    let ranges = salvaged.positions.into_iter().map(|(stream, upto)| {
        let epoch = epoch_of(&stream);
        JournalRange { stream, from: None, upto, epoch }
    });
    let ranges = ranges.collect();
    new.commit(Commit { ranges, discard, take_over, ..Commit::default() }).await?;
    let documents = salvaged.documents.into_iter();
    let documents: Vec<_> = documents.filter(|(other, _, _)| *other != kind).collect();
    for (kind, _, _) in &documents {
        *rebuilt.documents.entry(kind.clone()).or_default() += 1;
    }
    for some in documents.chunks(AT_A_TIME) {
        new.put_documents(some.to_vec()).await?;
    }
    Ok(())
}

/// The buckets of the new catalog.
async fn entries(
    store: &Arc<dyn ObjectStore>,
    salvaged: &Salvaged,
    rebuilt: &mut Rebuilt,
) -> Result<Vec<BucketEntry>, Error> {
    let discarded: HashSet<&str> = salvaged.discarded.iter().map(|(p, _)| p.as_str()).collect();
    let known: HashSet<&str> = salvaged.buckets.iter().map(|b| b.path.as_str()).collect();
    let listed = objects_of(store).await?;
    let there: HashSet<String> = listed.iter().map(|meta| meta.location.to_string()).collect();
    // A stale copy of the catalog may take for discarded what took the place of others since: the object of a
    // merge is discarded until the merge is committed. It shows by objects that were made or deleted since.
    let is_stale = !salvaged.damage.is_empty()
        || known.iter().any(|path| !there.contains(*path))
        || there.iter().any(|path| {
            let path = path.as_str();
            !known.contains(path) && !discarded.contains(path)
        });
    let new = listed.iter().filter(|meta| {
        let path = meta.location.as_ref();
        !known.contains(path) && (is_stale || !discarded.contains(path))
    });
    let ends = new.map(|meta| end_of(store, meta));
    let mut ends = futures::stream::iter(ends).buffered(READERS);
    let mut all: Vec<BucketEntry> = salvaged.buckets.clone();
    while let Some(end) = ends.next().await {
        match end {
            Ok(entry) => all.push(entry),
            Err(damage) => rebuilt.damage.push(damage),
        }
    }
    drop(ends);
    let trusted = if salvaged.damage.is_empty() { known.clone() } else { HashSet::new() };
    let kept = without_parts(store, all, (&there, &trusted), rebuilt).await?;
    let gone = kept.iter().filter(|entry| !there.contains(&entry.path));
    rebuilt.damage.extend(gone.map(missing));
    rebuilt.found = kept.iter().filter(|entry| !known.contains(entry.path.as_str())).count();
    rebuilt.superseded = listed.len().saturating_sub(kept.len());
    Ok(kept)
}

/// What the object itself says; or why it is no bucket.
async fn end_of(
    store: &Arc<dyn ObjectStore>,
    meta: &object_store::ObjectMeta,
) -> Result<BucketEntry, String> {
    let path = &meta.location;
    let no_bucket = || format!("{path} is not the object of a bucket; it is not moved");
    let parts: Vec<_> = path.parts().map(|part| part.as_ref().to_owned()).collect();
    let [_, index, _, file] = parts.as_slice() else { return Err(no_bucket()) };
    let index = IndexName::new(index).map_err(|_| no_bucket())?;
    let stem = file.trim_end_matches(".parquet");
    let (id, state) = match stem.split_once("-thawed-") {
        Some((id, _)) => (id, BucketState::Thawed),
        None => (stem, BucketState::Warm),
    };
    let id = uuid::Uuid::parse_str(id).map(BucketId).map_err(|_| no_bucket())?;
    let reader = BucketReader::open(Arc::clone(store), path, meta.size).await;
    let reader = reader.map_err(|error| format!("{path}: {}", chain(&error)))?;
    let (path, size) = (path.to_string(), meta.size);
    let summary = Arc::new(reader.summary().clone());
    Ok(BucketEntry { id, index, path, size, state, summary })
}

fn missing(entry: &BucketEntry) -> String {
    let (id, index, rows) = (entry.id, &entry.index, entry.summary.rows);
    format!("bucket {id} of index {index} ({rows} events): object {} is missing", entry.path)
}

/// Without buckets that are a part of a larger one, and with each id once. `there` has the paths of all
/// objects, `trusted` those of buckets of which none is a part of another.
async fn without_parts(
    store: &Arc<dyn ObjectStore>,
    mut all: Vec<BucketEntry>,
    (there, trusted): (&HashSet<String>, &HashSet<&str>),
    rebuilt: &mut Rebuilt,
) -> Result<Vec<BucketEntry>, Error> {
    let order = |entry: &BucketEntry| {
        let thawed = entry.state == BucketState::Thawed;
        (entry.index.clone(), u64::MAX - entry.summary.rows, thawed, entry.path.clone())
    };
    all.sort_by_key(order);
    let mut ids = HashSet::new();
    all.retain(|entry| ids.insert(entry.id));
    let mut dropped = vec![false; all.len()];
    for whole in 0..all.len() {
        if dropped[whole] || !there.contains(&all[whole].path) {
            continue;
        }
        let is_trusted = |at: usize| trusted.contains(all[at].path.as_str());
        let inside = |part: &usize| {
            !dropped[*part]
                && may_be_part(&all[*part], &all[whole])
                && !(is_trusted(whole) && is_trusted(*part))
        };
        let parts: Vec<usize> = (whole + 1..all.len()).filter(inside).collect();
        if parts.is_empty() {
            continue;
        }
        let of_whole = (store, all[whole].path.as_str(), all[whole].size);
        let arrivals = match arrivals_of(of_whole).await {
            Ok(arrivals) => arrivals,
            Err(error) if is_of_store(&error) => return Err(error),
            Err(error) => {
                rebuilt.note_damage(in_full(&error));
                continue;
            }
        };
        for part in parts {
            let entry = &all[part];
            let has = |time: EventTime| arrivals.contains(&time.0);
            if !has(entry.summary.first_index_time) || !has(entry.summary.last_index_time) {
                continue;
            }
            if !there.contains(&entry.path) {
                // A merge that has it whole is all there is of it. That cannot be compared, so it is told.
                let (of_part, id) = (missing(entry), all[whole].id);
                rebuilt.note_damage(format!("{of_part}; it counts as a part of bucket {id}"));
                dropped[part] = true;
                continue;
            }
            let of_part = (store, entry.path.as_str(), entry.size);
            dropped[part] = match is_part(of_whole, of_part, &times_of(&entry.summary)).await {
                Ok(is_part) => is_part,
                Err(error) if is_of_store(&error) => return Err(error),
                Err(error) => {
                    rebuilt.note_damage(in_full(&error));
                    false
                }
            };
        }
    }
    let mut dropped = dropped.into_iter();
    all.retain(|_| !dropped.next().unwrap_or(false));
    Ok(all)
}

/// Whether all events of a bucket are in another one. `range` has their event times.
async fn is_part(whole: Object<'_>, part: Object<'_>, range: &TimeRange) -> Result<bool, Error> {
    let arrivals = arrivals_of(part).await?;
    Ok(shared(whole, (part, &arrivals), range).await? != Shared::NotAll)
}

/// Whether an error concerns the whole store, so that a repetition may succeed; others concern one object.
fn is_of_store(error: &Error) -> bool {
    error.kind() == ErrorKind::Unavailable && !is_of_object(error)
}

/// Returns an error with its causes.
fn in_full(error: &Error) -> String {
    match error {
        Error::BucketRead(read) => chain(&**read),
        other => other.to_string(),
    }
}

fn may_be_part(part: &BucketEntry, whole: &BucketEntry) -> bool {
    let (part_of, of) = (&part.summary, &whole.summary);
    part.index == whole.index
        && part_of.rows <= of.rows
        && of.first_index_time <= part_of.first_index_time
        && part_of.last_index_time <= of.last_index_time
}

/// The event times of a bucket.
fn times_of(summary: &BucketSummary) -> TimeRange {
    let latest = EventTime(summary.last_time.0.saturating_add(1));
    TimeRange { earliest: summary.first_time, latest }
}

fn of_catalog(error: catalog::Error) -> Error {
    Error::Catalog(Arc::new(error))
}

fn failed(operation: &'static str, path: &str) -> impl FnOnce(object_store::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Storage { operation, path, source: Arc::new(source) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_cannot_be_read_does_not_end_a_rebuild() {
        let failed = |source: std::io::Error| {
            let source = Box::new(source);
            let source = object_store::Error::Generic { store: "LocalFileSystem", source };
            let path = "buckets/main/20260102/x.parquet".to_owned();
            Error::BucketRead(Arc::new(bucket::Error::Store { path, source }))
        };
        let block = failed(std::io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error()));
        assert!(!is_of_store(&block));
        assert!(in_full(&block).contains("x.parquet"), "{}", in_full(&block));
        assert!(!is_of_store(&failed(std::io::ErrorKind::PermissionDenied.into())));
        assert!(is_of_store(&failed(std::io::ErrorKind::TimedOut.into())));
    }
}

//! Rebuilds the catalog from the buckets, and takes everything else from the old catalog.
//!
//! The old catalog is copied first, and a note in the store names the copy until the new catalog is complete:
//! an interrupted rebuild is repeated from the copy.
//!
//! After a merge, the parts are still in the store for some minutes, together with the result. Arrival times,
//! texts and origins identify them: a bucket whose events are all in a larger bucket is a part of it, and is
//! left out. An undamaged catalog never has a bucket and its part: two buckets that it has are both kept,
//! unless an earlier rebuild could not compare them, which a document of the catalog says.
//!
//! An object that cannot be read, for example because of a bad block, is left where it is and reported: a
//! later rebuild may read it. Only a store that returns no object, because it does not answer or refuses all
//! that are read, ends the rebuild.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use bucket::BucketReader;
use catalog::{Catalog, Commit, Discarded, JournalRange, OWN_EPOCH, Salvaged, Takeover};
use futures::StreamExt;
use model::{
    BucketEntry, BucketId, BucketState, BucketSummary, ErrorKind, EventTime, IndexName, StreamId,
    TimeRange,
};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload};
use runtime::Clock;
use runtime::store::ask_again;
use serde_json::{Value, json};

use super::check::{chain, objects_of};
use super::verify_all;
use crate::Error;
use crate::hot::one_object::is_of_object;
use crate::hot::stored::{Object, Shared, arrivals_of, shared};

/// Number of objects whose footers are read concurrently.
const READERS: usize = 16;
/// Number of other objects that are tried to tell whether an error concerns one object or the whole store.
const TRIED: usize = 8;
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
    /// Buckets of the old catalog whose objects are missing, and that count as parts of larger ones: an older
    /// catalog has those that were merged since.
    pub merged: Vec<String>,
    /// Whether an object is there and cannot be read: another rebuild may read it once the cause is mended.
    pub has_unreadable: bool,
    /// Parts of the old catalog that could not be read, and objects that are not buckets.
    pub damage: Vec<String>,
}

/// Two buckets, by their paths: a larger one, and one that may be a part of it.
type Pair = (String, String);
/// The kind of the documents with the pairs of a larger bucket. They are not in the document of
/// [`verify_all`]: a large bucket of a damaged catalog may be paired with thousands of others.
const UNCOMPARED: &str = "uncompared";
/// Number of pairs in one document.
const PAIRS: usize = 1_000;

/// Returns the pairs that an earlier rebuild could not compare.
fn uncompared(documents: &[(String, String, Value)]) -> BTreeSet<Pair> {
    let mut pairs = BTreeSet::new();
    for (_, _, content) in documents.iter().filter(|(kind, _, _)| kind == UNCOMPARED) {
        let Some(whole) = content["whole"].as_str() else { continue };
        let parts = content["parts"].as_array().into_iter().flatten().filter_map(Value::as_str);
        pairs.extend(parts.map(|part| (whole.to_owned(), part.to_owned())));
    }
    pairs
}

/// Returns the documents of pairs.
fn documents_of(pairs: &BTreeSet<Pair>) -> Vec<(String, String, Value)> {
    let mut by_whole: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (whole, part) in pairs {
        by_whole.entry(whole.as_str()).or_default().push(part.as_str());
    }
    let mut documents = Vec::new();
    for (whole, parts) in by_whole {
        for (number, some) in parts.chunks(PAIRS).enumerate() {
            let content = json!({ "whole": whole, "parts": some });
            documents.push((UNCOMPARED.to_owned(), format!("{whole} {number}"), content));
        }
    }
    documents
}

/// The reads of objects. A store that returns some objects counts as available; others may be refused, or
/// damaged on its disk. If it refuses all that are read, its permissions may be wrong.
#[derive(Debug)]
struct Reads<'a> {
    store: &'a Arc<dyn ObjectStore>,
    /// All objects of buckets.
    listed: &'a [ObjectMeta],
    has_read: bool,
    refused: Option<Error>,
    /// What was reported.
    told: HashSet<String>,
}

impl<'a> Reads<'a> {
    fn new(store: &'a Arc<dyn ObjectStore>, listed: &'a [ObjectMeta]) -> Self {
        Self { store, listed, has_read: false, refused: None, told: HashSet::new() }
    }

    /// Notes why one of the objects `of` cannot be read.
    ///
    /// # Errors
    /// The store does not answer: it returns none of some other objects either.
    async fn failed(
        &mut self,
        error: Error,
        of: &[&str],
        rebuilt: &mut Rebuilt,
    ) -> Result<(), Error> {
        let is_of_store = is_of_store(&error);
        if is_of_store {
            // S3 servers answer with an error for an object with lost blocks or a disabled key, too.
            if !self.returns_others(of).await {
                return Err(error);
            }
            self.has_read = true;
        }
        let told = in_full(&error);
        if self.told.insert(told.clone()) {
            rebuilt.damage.push(told);
        }
        if is_of_store || is_of_object(&error) {
            rebuilt.has_unreadable = true;
            self.refused.get_or_insert(error);
        } else {
            self.has_read = true;
        }
        Ok(())
    }

    /// Whether one of some objects can be read, spread over all: damage may concern a whole directory.
    async fn returns_others(&self, without: &[&str]) -> bool {
        let step = self.listed.len().div_ceil(TRIED).max(1);
        let spread = self.listed.iter().step_by(step).chain(self.listed.last());
        let others = spread.filter(|other| !without.contains(&other.location.as_ref()));
        let opened = others
            .map(|other| BucketReader::open(Arc::clone(self.store), &other.location, other.size));
        // Each waits for a store that does not answer.
        let mut opened = futures::stream::iter(opened).buffer_unordered(TRIED + 1);
        while let Some(other) = opened.next().await {
            if other.is_ok() {
                return true;
            }
        }
        false
    }

    /// Reads the ends of some other buckets if none could be read so far.
    ///
    /// # Errors
    /// The store has refused all objects.
    async fn confirm<'b>(self, others: impl Iterator<Item = &'b BucketEntry>) -> Result<(), Error> {
        let Some(refused) = self.refused.filter(|_| !self.has_read) else { return Ok(()) };
        for other in others.take(TRIED) {
            let path = Path::from(other.path.as_str());
            if BucketReader::open(Arc::clone(self.store), &path, other.size).await.is_ok() {
                return Ok(());
            }
        }
        Err(Error::AllRefused { reason: in_full(&refused) })
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
    let (entries, uncompared) = entries(store, &salvaged, &mut rebuilt).await?;
    catalog::salvage::clear(store, path).await.map_err(of_catalog)?;
    let settings = catalog::Settings::default();
    let new = Catalog::open(Arc::clone(store), path, settings, Arc::clone(clock));
    let new = new.await.map_err(of_catalog)?;
    let written = write(&new, clock.now(), (entries, uncompared), salvaged, &mut rebuilt).await;
    written.map_err(of_catalog)?;
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
    now: EventTime,
    (entries, uncompared): (Vec<BucketEntry>, BTreeSet<Pair>),
    salvaged: Salvaged,
    rebuilt: &mut Rebuilt,
) -> Result<(), catalog::Error> {
    rebuilt.buckets = entries.len();
    rebuilt.events = entries.iter().map(|entry| entry.summary.rows).sum();
    rebuilt.positions = salvaged.positions.len();
    // First of all: whatever happens next, journals are compared with the buckets.
    let (kind, name, content) = verify_all(now);
    new.put_document(&kind, &name, content).await?;
    for some in documents_of(&uncompared).chunks(AT_A_TIME) {
        new.put_documents(some.to_vec()).await?;
    }
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
    let is_new = |of: &String| *of == kind || of == UNCOMPARED;
    let documents: Vec<_> = documents.filter(|(of, _, _)| !is_new(of)).collect();
    for (kind, _, _) in &documents {
        *rebuilt.documents.entry(kind.clone()).or_default() += 1;
    }
    for some in documents.chunks(AT_A_TIME) {
        new.put_documents(some.to_vec()).await?;
    }
    Ok(())
}

/// The buckets of the new catalog, and the pairs of them that could not be compared.
async fn entries(
    store: &Arc<dyn ObjectStore>,
    salvaged: &Salvaged,
    rebuilt: &mut Rebuilt,
) -> Result<(Vec<BucketEntry>, BTreeSet<Pair>), Error> {
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
    let ends = new.map(|meta| async move { (meta, end_of(store, meta).await) });
    let mut ends = futures::stream::iter(ends).buffered(READERS);
    let mut all: Vec<BucketEntry> = salvaged.buckets.clone();
    let mut reads = Reads::new(store, &listed);
    let mut again = Vec::new();
    while let Some((meta, end)) = ends.next().await {
        let path = meta.location.as_ref();
        match end {
            Ok(entry) => {
                reads.has_read = true;
                all.push(entry);
            }
            Err(Unusable::NotABucket(told)) => rebuilt.damage.push(told),
            // A failure that passes must not leave a bucket out.
            Err(Unusable::Unreadable(error))
                if is_of_store(&error) && reads.returns_others(&[path]).await =>
            {
                again.push(meta);
            }
            Err(Unusable::Unreadable(error)) => reads.failed(error, &[path], rebuilt).await?,
        }
    }
    drop(ends);
    for meta in again {
        match end_of(store, meta).await {
            Ok(entry) => all.push(entry),
            Err(Unusable::NotABucket(told)) => rebuilt.damage.push(told),
            Err(Unusable::Unreadable(error)) => {
                reads.failed(error, &[meta.location.as_ref()], rebuilt).await?;
            }
        }
    }
    let trusted = if salvaged.damage.is_empty() { known.clone() } else { HashSet::new() };
    let mut pairs =
        Pairs { store, there: &there, trusted, uncompared: uncompared(&salvaged.documents), reads };
    let kept = pairs.without_parts(all, rebuilt).await?;
    let Pairs { mut uncompared, reads, .. } = pairs;
    let is_known = |entry: &&BucketEntry| known.contains(entry.path.as_str());
    let others = kept.iter().filter(is_known).filter(|entry| there.contains(&entry.path));
    reads.confirm(others).await?;
    let paths: HashSet<&str> = kept.iter().map(|entry| entry.path.as_str()).collect();
    let is_kept = |path: &String| paths.contains(path.as_str());
    uncompared.retain(|(whole, part)| is_kept(whole) && is_kept(part));
    let gone = kept.iter().filter(|entry| !there.contains(&entry.path));
    rebuilt.damage.extend(gone.map(missing));
    rebuilt.found = kept.iter().filter(|entry| !known.contains(entry.path.as_str())).count();
    rebuilt.superseded = listed.len().saturating_sub(kept.len());
    Ok((kept, uncompared))
}

/// Why an object is not in the new catalog.
#[derive(Debug)]
enum Unusable {
    /// Its path is not that of a bucket: the message.
    NotABucket(String),
    Unreadable(Error),
}

/// What the object itself says; or why it is no bucket.
async fn end_of(store: &Arc<dyn ObjectStore>, meta: &ObjectMeta) -> Result<BucketEntry, Unusable> {
    let path = &meta.location;
    let no_bucket =
        || Unusable::NotABucket(format!("{path} is not the object of a bucket; it is not moved"));
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
    let reader =
        reader.map_err(|error| Unusable::Unreadable(Error::BucketRead(Arc::new(error))))?;
    let (path, size) = (path.to_string(), meta.size);
    let summary = Arc::new(reader.summary().clone());
    Ok(BucketEntry { id, index, path, size, state, summary })
}

fn missing(entry: &BucketEntry) -> String {
    let (id, index, rows) = (entry.id, &entry.index, entry.summary.rows);
    format!("bucket {id} of index {index} ({rows} events): object {} is missing", entry.path)
}

/// Tells buckets from their parts.
struct Pairs<'a> {
    store: &'a Arc<dyn ObjectStore>,
    /// The paths of all objects.
    there: &'a HashSet<String>,
    /// The paths of buckets of which none is a part of another, except for pairs that are not compared yet.
    trusted: HashSet<&'a str>,
    uncompared: BTreeSet<Pair>,
    reads: Reads<'a>,
}

impl Pairs<'_> {
    fn is_trusted(&self, whole: &BucketEntry, part: &BucketEntry) -> bool {
        let is_trusted = |entry: &BucketEntry| self.trusted.contains(entry.path.as_str());
        is_trusted(whole) && is_trusted(part) && !self.uncompared.contains(&pair(whole, part))
    }

    /// Returns the buckets without those that are a part of a larger one, and with each id once.
    async fn without_parts(
        &mut self,
        mut all: Vec<BucketEntry>,
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
            if dropped[whole] || !self.there.contains(&all[whole].path) {
                continue;
            }
            let inside = |part: &usize| {
                !dropped[*part]
                    && may_be_part(&all[*part], &all[whole])
                    && !self.is_trusted(&all[whole], &all[*part])
            };
            let parts: Vec<usize> = (whole + 1..all.len()).filter(inside).collect();
            if parts.is_empty() {
                continue;
            }
            let of_whole = (self.store, all[whole].path.as_str(), all[whole].size);
            let arrivals = match arrivals_of(of_whole).await {
                Ok(arrivals) => arrivals,
                Err(error) => {
                    self.reads.failed(error, &[all[whole].path.as_str()], rebuilt).await?;
                    let pairs = parts.iter().map(|part| pair(&all[whole], &all[*part]));
                    self.uncompared.extend(pairs);
                    continue;
                }
            };
            self.reads.has_read = true;
            for part in parts {
                let is_part = self.is_part((&all[whole], &arrivals), &all[part], rebuilt).await?;
                dropped[part] = is_part;
            }
        }
        let mut dropped = dropped.into_iter();
        all.retain(|_| !dropped.next().unwrap_or(false));
        Ok(all)
    }

    /// Whether all events of a bucket are in another one, as far as it can be read.
    async fn is_part(
        &mut self,
        (whole, arrivals): (&BucketEntry, &foldhash::HashSet<i64>),
        part: &BucketEntry,
        rebuilt: &mut Rebuilt,
    ) -> Result<bool, Error> {
        let has = |time: EventTime| arrivals.contains(&time.0);
        let is_part = if !has(part.summary.first_index_time) || !has(part.summary.last_index_time) {
            false
        } else if self.there.contains(&part.path) {
            let of_whole = (self.store, whole.path.as_str(), whole.size);
            let of_part = (self.store, part.path.as_str(), part.size);
            match is_part(of_whole, of_part, &times_of(&part.summary)).await {
                Ok(is_part) => is_part,
                Err(error) => {
                    let of = [whole.path.as_str(), part.path.as_str()];
                    self.reads.failed(error, &of, rebuilt).await?;
                    self.uncompared.insert(pair(whole, part));
                    return Ok(false);
                }
            }
        } else {
            // A merge that has it whole is all there is of it. That cannot be compared, so it is told.
            let (of_part, id) = (missing(part), whole.id);
            rebuilt.merged.push(format!("{of_part}; it counts as a part of bucket {id}"));
            true
        };
        self.uncompared.remove(&pair(whole, part));
        Ok(is_part)
    }
}

fn pair(whole: &BucketEntry, part: &BucketEntry) -> Pair {
    (whole.path.clone(), part.path.clone())
}

/// Whether all events of a bucket are in another one. `range` has their event times.
async fn is_part(whole: Object<'_>, part: Object<'_>, range: &TimeRange) -> Result<bool, Error> {
    let arrivals = arrivals_of(part).await?;
    Ok(shared(whole, (part, &arrivals), range).await? != Shared::NotAll)
}

/// Whether an error may concern the whole store; others concern one object.
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

    #[tokio::test]
    async fn a_store_that_refuses_all_objects_ends_a_rebuild() {
        let denied = || {
            let (path, source) = ("x".to_owned(), "no".into());
            let source = object_store::Error::PermissionDenied { path, source };
            let path = "buckets/main/20260102/x.parquet".to_owned();
            Error::BucketRead(Arc::new(bucket::Error::Store { path, source }))
        };
        let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
        for has_read in [false, true] {
            let mut rebuilt = Rebuilt::default();
            let mut reads = Reads { has_read, ..Reads::new(&store, &[]) };
            for _ in 0..2 {
                reads.failed(denied(), &["x"], &mut rebuilt).await.unwrap();
            }
            assert!(rebuilt.has_unreadable && rebuilt.damage.len() == 1);
            let confirmed = reads.confirm(std::iter::empty()).await;
            assert_eq!(confirmed.is_ok(), has_read);
            if let Err(error) = confirmed {
                assert!(error.to_string().contains("move the refused objects away"), "{error}");
            }
        }
    }

    /// As with a large bucket that cannot be read, over a damaged catalog of an index with many buckets.
    #[tokio::test]
    async fn any_number_of_pairs_is_kept_in_the_catalog() {
        let part = |number: u32| format!("buckets/main/20260102/{number:036}.parquet");
        let pairs: BTreeSet<Pair> = (1..20_000).map(|number| (part(0), part(number))).collect();
        let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
        let clock: Arc<dyn Clock> = Arc::new(runtime::SystemClock);
        let settings = catalog::Settings::default();
        let new = Catalog::open(Arc::clone(&store), "catalog", settings, clock).await.unwrap();
        let from = Salvaged { documents: documents_of(&pairs), ..Salvaged::default() };
        let mut rebuilt = Rebuilt::default();
        let few = BTreeSet::from([(part(0), part(1))]);
        for written in [pairs, few] {
            let (all, from, at) = ((Vec::new(), written.clone()), from.clone(), EventTime(1));
            write(&new, at, all, from, &mut rebuilt).await.unwrap();
            let documents = documents_of(&written);
            assert_eq!(uncompared(&documents), written);
            let there = new.snapshot().documents(UNCOMPARED);
            let is_there = |name: &String| there.iter().any(|document| document.name == *name);
            assert!(documents.iter().all(|(_, name, _)| is_there(name)));
        }
        // Those of the old catalog are replaced, not taken over.
        assert!(rebuilt.documents.is_empty(), "{:?}", rebuilt.documents);
        new.close().await.unwrap();
    }
}

//! Recovery of a lost or damaged catalog: checking whether it matches the stored objects, rebuilding it from
//! the buckets, and continuing with the journal afterwards without a lost or duplicate event.
//!
//! The object of a bucket describes its content, so entries are read from the footers of the objects.
//! Documents (users, tokens, roles, indexes, objects of apps) and journal positions are nowhere else: they
//! are taken from the old catalog as far as it can be read. If positions are missing, the next start compares
//! the arrival times of journal records with those in the buckets (`hot::stored`).

mod check;
mod rebuild;

use foldhash::HashMap;
use model::{EventTime, JournalPosition};
use serde_json::{Value, json};

use crate::journal::StreamRef;
use crate::orphans::Kept;
use crate::set::SetId;
use crate::{Error, Parts};

pub use check::{Checked, Lost, check, lost};
pub use rebuild::{Rebuilt, interrupted, rebuild};

/// Returns the indexers that have written the journals below a data directory, as far as they are known.
#[must_use]
pub fn journal_owners(data: &std::path::Path) -> Vec<model::IndexerId> {
    crate::journal::owners(&data.join(crate::parts::STATES))
}

/// Returns a journal segment with records below a data directory, if there is one.
///
/// # Errors
/// The directory cannot be read.
pub fn journal_segment(data: &std::path::Path) -> Result<Option<std::path::PathBuf>, Error> {
    check::first_segment(&data.join("journal"))
}

/// The kind of the documents that say up to which position journals are compared with buckets: one for each
/// indexer, named by its identity, and one for all indexers that have none yet.
const KIND: &str = "recovery";
const NAME: &str = "journal";
/// The key of the time of the rebuild in the document for all indexers, in microseconds.
const AT: &str = "at";

/// The range of the records of a set that are compared with the buckets at the start.
#[derive(Debug)]
pub(crate) enum Verify {
    /// No records: the positions are reliable.
    Nothing,
    /// All records: the catalog does not know this indexer, or was just rebuilt.
    All,
    /// Records up to these positions: those that were in the journal at the first start with a rebuilt
    /// catalog.
    Upto(HashMap<u16, JournalPosition>),
}

impl Verify {
    pub(crate) fn upto(&self, set: u16) -> Option<JournalPosition> {
        match self {
            Self::Nothing => None,
            Self::All => Some(JournalPosition(u64::MAX)),
            // The journal of a new indexer had no record: the first one has position 1.
            Self::Upto(sets) => sets.get(&set).copied().filter(|upto| upto.0 > 0),
        }
    }

    /// Notes that all records must be compared. Otherwise, if a start is killed after it has taken over some
    /// of the journals and before [`note`](Self::note), the next one could not tell.
    pub(crate) async fn begin(&self, parts: &Parts) -> Result<(), Error> {
        if !matches!(self, Self::All) {
            return Ok(());
        }
        let (name, content) = (parts.indexer.to_string(), json!({ "all": true }));
        let put = parts.catalog.put_document(KIND, &name, content).await;
        put.map_err(|error| Error::Catalog(std::sync::Arc::new(error)))
    }

    /// Notes the current ends of the journals: later records have reliable positions.
    pub(crate) async fn note(
        &self,
        parts: &Parts,
        highest: &HashMap<u16, JournalPosition>,
    ) -> Result<(), Error> {
        if !matches!(self, Self::All) {
            return Ok(());
        }
        let sets: serde_json::Map<String, Value> =
            highest.iter().map(|(set, last)| (set.to_string(), json!(last.0))).collect();
        let (name, content) = (parts.indexer.to_string(), json!({ "sets": sets }));
        let put = parts.catalog.put_document(KIND, &name, content).await;
        put.map_err(|error| Error::Catalog(std::sync::Arc::new(error)))
    }
}

/// Returns what the start has to compare. `is_known`: this indexer has already been started with this
/// catalog.
pub(crate) fn to_verify(
    parts: &Parts,
    committed: &HashMap<u16, HashMap<StreamRef, JournalPosition>>,
    is_known: bool,
) -> Verify {
    let snapshot = parts.catalog.snapshot();
    let strange = journal_owners(&parts.data).iter().any(|owner| *owner != parts.indexer);
    if strange && !snapshot.is_empty() {
        return Verify::All;
    }
    if let Some(noted) = noted(&snapshot, parts.indexer) {
        return noted;
    }
    if committed.is_empty() && !is_known && !snapshot.is_empty() {
        return Verify::All;
    }
    Verify::Nothing
}

/// Returns what the documents of a catalog say about an indexer; `None` if it was not rebuilt.
fn noted(snapshot: &catalog::Snapshot, indexer: model::IndexerId) -> Option<Verify> {
    let own = indexer.to_string();
    let general = snapshot.document(KIND, NAME);
    // Earlier releases replaced the document for all indexers by that of the only indexer.
    let earlier = general.clone().filter(|note| note["indexer"] == own);
    if let Some(note) = snapshot.document(KIND, &own).or(earlier) {
        if note["all"] == true {
            return Some(Verify::All);
        }
        let sets = note["sets"].as_object().into_iter().flatten();
        let sets = sets
            .filter_map(|(set, last)| Some((set.parse().ok()?, JournalPosition(last.as_u64()?))));
        return Some(Verify::Upto(sets.collect()));
    }
    general.map(|_| Verify::All)
}

/// Returns up to which position the records of a set of another indexer are compared with the buckets when
/// they are recovered, as by its own next start; `None` if the positions of the catalog are reliable.
pub(crate) fn to_verify_of(snapshot: &catalog::Snapshot, id: SetId) -> Option<JournalPosition> {
    if is_rebuilt(snapshot, id.indexer) {
        return Some(JournalPosition(u64::MAX));
    }
    // Its directory has got this id: records that are stored under the former one are in its logs, too.
    snapshot.document(KIND, &id.indexer.to_string())?;
    noted(snapshot, id.indexer)?.upto(id.set)
}

/// Returns the planned objects of a set that are kept; `None` if the catalog was not rebuilt since.
pub(crate) fn kept(snapshot: &catalog::Snapshot, id: SetId) -> Option<Kept> {
    // An indexer over another directory has a document of its own, too.
    let rebuilt = snapshot.document(KIND, NAME)?;
    let upto = noted(snapshot, id.indexer)?.upto(id.set)?;
    Some(Kept { upto, at: rebuilt[AT].as_i64().map(EventTime) })
}

/// Whether the catalog was rebuilt, and this indexer has not been started over it since. That is also true of
/// a copy of the catalog that was made between the two.
#[must_use]
pub fn is_rebuilt(snapshot: &catalog::Snapshot, indexer: model::IndexerId) -> bool {
    let general = snapshot.document(KIND, NAME);
    // Earlier releases put the indexer into it at its start.
    general.is_some_and(|note| note["indexer"].is_null())
        && snapshot.document(KIND, &indexer.to_string()).is_none()
}

/// Returns the document of a catalog that is rebuilt at a time.
fn verify_all(at: EventTime) -> (String, String, Value) {
    (KIND.to_owned(), NAME.to_owned(), json!({ AT: at.0 }))
}

/// Commits the positions up to which stored buckets have all records of the streams.
pub(crate) async fn commit_positions(
    parts: &Parts,
    (id, epoch): (SetId, u64),
    stored: HashMap<StreamRef, JournalPosition>,
) -> Result<(), Error> {
    if stored.is_empty() {
        return Ok(());
    }
    let ranges = stored.into_iter().map(|((index, lane), upto)| catalog::JournalRange {
        stream: id.stream(&index, lane),
        from: None,
        upto,
        epoch,
    });
    let commit = catalog::Commit { ranges: ranges.collect(), ..catalog::Commit::default() };
    let done = parts.catalog.commit(commit).await;
    done.map_err(|error| Error::Catalog(std::sync::Arc::new(error)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn objects_without_a_bucket_are_kept_only_after_a_rebuild() {
        let store = Arc::new(object_store::memory::InMemory::new());
        let (clock, settings) = (Arc::new(runtime::SystemClock), catalog::Settings::default());
        let catalog = catalog::Catalog::open(store, "catalog", settings, clock).await.unwrap();
        let id = SetId { indexer: model::IndexerId(Uuid::from_u128(1)), set: 0 };
        // As of an indexer over another directory.
        let all = json!({ "all": true });
        catalog.put_document(KIND, &id.indexer.to_string(), all).await.unwrap();
        assert!(kept(&catalog.snapshot(), id).is_none());
        let (kind, name, content) = verify_all(EventTime(9));
        catalog.put_document(&kind, &name, content).await.unwrap();
        let kept = kept(&catalog.snapshot(), id).unwrap();
        assert_eq!((kept.upto, kept.at), (JournalPosition(u64::MAX), Some(EventTime(9))));
        catalog.close().await.unwrap();
    }

    #[tokio::test]
    async fn a_recovery_compares_the_records_that_the_indexer_has_from_before_its_id() {
        let store = Arc::new(object_store::memory::InMemory::new());
        let (clock, settings) = (Arc::new(runtime::SystemClock), catalog::Settings::default());
        let catalog = catalog::Catalog::open(store, "catalog", settings, clock).await.unwrap();
        let indexer = model::IndexerId(Uuid::from_u128(1));
        let upto = |set| to_verify_of(&catalog.snapshot(), SetId { indexer, set });
        assert_eq!(upto(0), None);
        let note = async |content| {
            catalog.put_document(KIND, &indexer.to_string(), content).await.unwrap();
        };
        note(json!({ "all": true })).await;
        assert_eq!(upto(0), Some(JournalPosition(u64::MAX)));
        note(json!({ "sets": { "0": 7, "1": 0 } })).await;
        assert_eq!((upto(0), upto(2)), (Some(JournalPosition(7)), None));
        assert_eq!(upto(1), None, "it began over a catalog with buckets, without records");
        catalog.close().await.unwrap();
    }
}

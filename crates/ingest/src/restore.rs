//! The catalog lost or damaged: whether it fits what is stored, making it anew from the buckets, and
//! taking the journal up again afterwards without an event lost or twice.
//!
//! A bucket's object says what is in it, so entries come from the ends of the objects. Documents (users,
//! tokens, roles, indexes, objects of apps) and journal positions are nowhere else: they are taken from
//! the old catalog as far as it can be read. Where positions are missing, the next start compares the
//! arrival times of journal records with those in the buckets (`hot::stored`).

mod check;
mod rebuild;

use foldhash::HashMap;
use model::JournalPosition;
use serde_json::{Value, json};

use crate::journal::StreamRef;
use crate::set::SetId;
use crate::{Error, Parts};

pub use check::{Checked, Lost, check, lost};
pub use rebuild::{Rebuilt, interrupted, rebuild};

/// The indexers that have written the journals below a data directory, as far as is known.
#[must_use]
pub fn journal_owners(data: &std::path::Path) -> Vec<model::IndexerId> {
    crate::journal::owners(&data.join(crate::parts::STATES))
}

/// A journal segment with records below a data directory.
///
/// # Errors
/// The directory cannot be read.
pub fn journal_segment(data: &std::path::Path) -> Result<Option<std::path::PathBuf>, Error> {
    check::first_segment(&data.join("journal"))
}

/// The kind of the documents that say how far journals are to be compared with buckets: one for each indexer,
/// under its identity, and one for all that have none yet.
const KIND: &str = "recovery";
const NAME: &str = "journal";

/// Up to where the records of a set are compared with the buckets at the start.
#[derive(Debug)]
pub(crate) enum Verify {
    /// Positions tell.
    Nothing,
    /// The catalog knows nothing of this indexer, or was just rebuilt.
    All,
    /// A rebuilt catalog: what was in the journal at its first start.
    Upto(HashMap<u16, JournalPosition>),
}

impl Verify {
    pub(crate) fn upto(&self, set: u16) -> Option<JournalPosition> {
        match self {
            Self::Nothing => None,
            Self::All => Some(JournalPosition(u64::MAX)),
            Self::Upto(sets) => sets.get(&set).copied(),
        }
    }

    /// Notes that everything is to be compared: a start that is killed before [`note`](Self::note) has made
    /// some of the journals its own, and the next one could not tell any more.
    pub(crate) async fn begin(&self, parts: &Parts) -> Result<(), Error> {
        if !matches!(self, Self::All) {
            return Ok(());
        }
        let (name, content) = (parts.indexer.to_string(), json!({ "all": true }));
        let put = parts.catalog.put_document(KIND, &name, content).await;
        put.map_err(|error| Error::Catalog(std::sync::Arc::new(error)))
    }

    /// Notes how far the journals go now: later records have positions as always.
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

/// What the start has to compare. `is_known`: this indexer has been started over this catalog before.
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
    let own = parts.indexer.to_string();
    let general = snapshot.document(KIND, NAME);
    // Earlier releases have written the one for all over with that of the only indexer.
    let earlier = general.clone().filter(|note| note["indexer"] == own);
    if let Some(note) = snapshot.document(KIND, &own).or(earlier) {
        if note["all"] == true {
            return Verify::All;
        }
        let sets = note["sets"].as_object().into_iter().flatten();
        let sets = sets
            .filter_map(|(set, last)| Some((set.parse().ok()?, JournalPosition(last.as_u64()?))));
        return Verify::Upto(sets.collect());
    }
    if general.is_some() || (committed.is_empty() && !is_known && !snapshot.is_empty()) {
        return Verify::All;
    }
    Verify::Nothing
}

/// The note of a rebuilt catalog.
fn verify_all() -> (String, String, Value) {
    (KIND.to_owned(), NAME.to_owned(), json!({}))
}

/// Moves the streams up to where stored buckets have all of them.
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

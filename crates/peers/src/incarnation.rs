//! The incarnation of a journal: a random number that is new at every start, in the journal's directory and
//! in the catalog. A copy of a data directory has the id of the original, and both would number their records
//! with the same positions: a commit of one of them would cover records of the other, which nobody stores.
//!
//! ```text
//! start --> the catalog has a number of this directory  --> a new number: directory, catalog, directory
//!   |
//!   +-----> the catalog has the number of another start --> split: a new id for this directory
//!   |
//!   +-----> the catalog has a number of this directory from before its last start, or none although the
//!           directory has one --> the start is refused
//! ```
//!
//! Guarantees: a process reads positions of an id only if the last process with that id ran over the same
//! directory. Otherwise the directory gets a new id, and `ingest` compares the records of its journal with
//! the stored buckets (`hot::stored`): those that no bucket has are stored. A crash between the writes is not
//! mistaken for a copy, because numbers that have been begun count, too.
//!
//! A number that the catalog once had, and that a later start of this directory has replaced, shows that the
//! catalog is an older one: it was restored without the data directory. Events that were stored in between
//! would be missing, and objects of buckets could be taken for those of uploads without a commit, and be
//! deleted. A catalog from after the last start of the directory has the current number, and is not noticed:
//! a copy of a running server has parts of different moments, so a finer mark would refuse good copies.
//!
//! It leaves to others: the files of the directory (`services/karst/src/server/incarnation.rs`), whether a
//! process with the id is running, and that a running process stops its intake.

use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Error, Snapshot};
use model::IndexerId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

/// The kind of the documents of the catalog, by the id of the indexer.
const KIND: &str = "incarnation";
/// Maximum number of numbers that were begun and of which it is not known whether the catalog has them.
const BEGUN: usize = 32;
/// Maximum number of former numbers: further starts do not show any more that a catalog is older.
pub const FORMER: usize = 256;
/// Attempts to record a start while other processes record theirs, and the wait for the news of them.
const ATTEMPTS: usize = 8;
const NEWS: Duration = Duration::from_secs(2);

/// The start of a process over a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incarnation {
    /// The id of the directory, which is another one than before after a split.
    pub indexer: IndexerId,
    /// Its number.
    pub number: Uuid,
}

/// The location of a process, for the messages of other processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Place {
    /// Its machine.
    pub host: String,
    /// Its data directory.
    pub data: String,
    /// Its cluster address.
    pub address: Option<String>,
    /// RFC 3339.
    pub started: String,
}

/// The content of the file in the directory of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The id of the directory.
    pub indexer: IndexerId,
    /// The number that the catalog had at the last start.
    pub current: Option<Uuid>,
    /// Later numbers, which the catalog may have.
    #[serde(default)]
    pub begun: Vec<Uuid>,
    /// Earlier numbers that the catalog had, the latest last.
    #[serde(default)]
    pub former: Vec<Uuid>,
    /// The time of the last start, in RFC 3339.
    #[serde(default)]
    pub started: Option<String>,
    /// The id before the split.
    #[serde(default)]
    pub split_from: Option<IndexerId>,
}

impl Noted {
    /// The content for a directory that has been given an id.
    #[must_use]
    pub fn new(indexer: IndexerId, split_from: Option<IndexerId>) -> Self {
        let (begun, former) = (Vec::new(), Vec::new());
        Self { indexer, current: None, begun, former, started: None, split_from }
    }

    fn has(&self, number: Uuid) -> bool {
        self.current == Some(number) || self.begun.contains(&number)
    }
}

/// A data directory of a process that starts. Whether it has records is known before.
pub trait Directory: Sync {
    /// Why it cannot be written.
    type Error: Send;

    /// Returns what it has noted; a damaged file counts as missing, since a journal with records is then
    /// compared with the buckets.
    fn noted(&self) -> Option<Noted>;

    /// Replaces what it has noted, durable on return.
    ///
    /// # Errors
    /// The disk refuses.
    fn note(&self, noted: &Noted) -> Result<(), Self::Error>;

    /// Gives it a new id, which it returns, durable on return.
    ///
    /// # Errors
    /// The disk refuses.
    fn split(&self, from: IndexerId, cause: Cause<'_>) -> Result<IndexerId, Self::Error>;

    /// Returns a new number.
    fn number(&self) -> Uuid;

    /// Whether the catalog was rebuilt, and the indexer has not been started over it since.
    fn is_rebuilt(&self, snapshot: &Snapshot, indexer: IndexerId) -> bool;
}

/// Why a directory gets a new id.
#[derive(Debug, Clone, Copy)]
pub enum Cause<'a> {
    /// A process over another directory has been started with its id: the document of that start.
    Copy(Option<&'a Value>),
    /// The catalog was rebuilt from one that is older than the directory.
    Rebuilt,
}

/// Why an incarnation has not begun.
#[derive(Debug)]
pub enum NotBegun<E> {
    /// The directory cannot be written.
    Directory(E),
    /// The catalog does not take the start.
    Catalog(Error),
    /// The catalog is older than the directory: what the directory has noted, and the document of the
    /// catalog.
    Older(Box<(Option<Noted>, Option<Arc<Value>>)>),
    /// Other processes start with this id at the same time.
    Others(IndexerId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The directory keeps its id.
    Continue,
    /// The id is another directory's.
    Split,
    /// The catalog is from before the last start of the directory.
    Older,
}

/// Decides how to start. `noted`: the file's content for this id. `recorded`: the number of the last start
/// with this id.
fn decide(noted: Option<&Noted>, recorded: Option<Uuid>, has_records: bool) -> Start {
    let Some(recorded) = recorded else {
        // The file has a current number only once a catalog has had it.
        let is_older = noted.is_some_and(|noted| noted.current.is_some());
        return if is_older { Start::Older } else { Start::Continue };
    };
    match noted {
        Some(noted) if noted.has(recorded) => Start::Continue,
        Some(noted) if noted.former.contains(&recorded) => Start::Older,
        // The disk was lost, and other places restore the journal: there is nothing that could be skipped.
        None if !has_records => Start::Continue,
        _ => Start::Split,
    }
}

/// Begins an incarnation of a directory with this id, before anything of its journal is read. `has_records`:
/// its journal has some. `new_instance`: it may have been used with another catalog.
///
/// # Errors
/// The catalog is older than the directory, and has not been rebuilt; the disk or the catalog does not take
/// the change.
pub async fn begin<D: Directory>(
    catalog: &Catalog,
    (directory, id): (&D, IndexerId),
    (has_records, new_instance): (bool, bool),
    place: &Place,
) -> Result<Incarnation, NotBegun<D::Error>> {
    let mut changes = catalog.subscribe();
    let mut indexer = id;
    for _ in 0..ATTEMPTS {
        let snapshot = changes.borrow_and_update().clone();
        let before = document(&snapshot, indexer);
        let recorded = before.as_deref().and_then(number_of);
        let noted = directory.noted().filter(|noted| noted.indexer == indexer);
        let is_rebuilt = directory.is_rebuilt(&snapshot, indexer);
        match decide(noted.as_ref(), recorded, has_records) {
            Start::Continue => {}
            // Another catalog, one that begins, or one that was rebuilt without the numbers: no other
            // directory has run over it with this id.
            Start::Older
                if recorded.is_none() && (new_instance || snapshot.is_empty() || is_rebuilt) => {}
            Start::Split => {
                let split = directory.split(indexer, Cause::Copy(before.as_deref()));
                indexer = split.map_err(NotBegun::Directory)?;
                continue;
            }
            // It has all buckets that there are, and the journal is compared with them.
            Start::Older if is_rebuilt => {
                let split = directory.split(indexer, Cause::Rebuilt);
                indexer = split.map_err(NotBegun::Directory)?;
                continue;
            }
            Start::Older => return Err(NotBegun::Older(Box::new((noted, before)))),
        }
        let own = Incarnation { indexer, number: directory.number() };
        if own.record(catalog, (directory, noted), (before, place)).await? {
            return Ok(own);
        }
        // Another process has recorded its start since: the next check reads which one.
        let _ = tokio::time::timeout(NEWS, changes.changed()).await;
    }
    Err(NotBegun::Others(indexer))
}

impl Incarnation {
    /// Writes the number; `false` if the catalog has changed since it was read.
    async fn record<D: Directory>(
        self,
        catalog: &Catalog,
        (directory, noted): (&D, Option<Noted>),
        (before, place): (Option<Arc<Value>>, &Place),
    ) -> Result<bool, NotBegun<D::Error>> {
        let Self { indexer, number } = self;
        let mut file = noted.unwrap_or_else(|| Noted::new(indexer, None));
        let recorded = before.as_deref().and_then(number_of);
        let earlier = file.current;
        file.current = recorded.or(earlier);
        // It differs after a crash between the change of the catalog and the last write.
        file.former.extend(earlier.filter(|earlier| file.current != Some(*earlier)));
        file.begun.push(number);
        keep_last(&mut file.begun, BEGUN);
        // Written here first: a process that is killed after the change of the catalog finds its number.
        directory.note(&file).map_err(NotBegun::Directory)?;
        let named = |json| vec![(KIND.to_owned(), indexer.to_string(), json)];
        let expected = named(before.map(|json| (*json).clone()));
        let after = named(Some(json!({ "number": number, "place": place })));
        match catalog.replace_documents(expected, after).await {
            Ok(()) => {}
            Err(Error::Changed { .. }) => return Ok(false),
            Err(error) => return Err(NotBegun::Catalog(error)),
        }
        file.former.extend(file.current.replace(number));
        keep_last(&mut file.former, FORMER);
        file.begun.clear();
        file.started = Some(place.started.clone());
        directory.note(&file).map_err(NotBegun::Directory)?;
        Ok(true)
    }

    /// Whether a process has been started with the id since, over another directory.
    #[must_use]
    pub fn is_over(self, snapshot: &Snapshot) -> bool {
        self.successor(snapshot).is_some()
    }

    /// Why this process takes nothing in any more, once another one has been started with its id.
    #[must_use]
    pub fn superseded(self, snapshot: &Snapshot) -> Option<String> {
        let later = self.successor(snapshot)?;
        let indexer = self.indexer;
        Some(format!(
            "no events are accepted: another process with the id of this one ({indexer}) {}: one of their \
             data directories is a copy of the other. Stop one of the two; events that this one has not \
             stored stay in its journal, and its next start stores them under a new id",
            whereabouts(&later)
        ))
    }

    fn successor(self, snapshot: &Snapshot) -> Option<Arc<Value>> {
        let latest = document(snapshot, self.indexer)?;
        number_of(&latest).is_some_and(|number| number != self.number).then_some(latest)
    }
}

/// Removes the first numbers of a list that is too long.
fn keep_last(numbers: &mut Vec<Uuid>, count: usize) {
    let excess = numbers.len().saturating_sub(count);
    numbers.drain(..excess);
}

/// Returns where and when a process was started, from the document of its start.
#[must_use]
pub fn whereabouts(document: &Value) -> String {
    let Ok(place) = serde_json::from_value::<Place>(document["place"].clone()) else {
        return "has been started".to_owned();
    };
    let Place { host, data, address, started } = place;
    let at = address.map_or_else(String::new, |address| format!(" at {address}"));
    format!("was started{at} ({started}, host {host}, data {data})")
}

/// Returns the processes that were started over the catalog, each with the place of its last start.
#[must_use]
pub fn places(snapshot: &Snapshot) -> Vec<(IndexerId, Place)> {
    let known = snapshot.documents(KIND).into_iter().filter_map(|document| {
        let indexer = IndexerId(Uuid::parse_str(&document.name).ok()?);
        let place = serde_json::from_value(document.json["place"].clone()).ok()?;
        Some((indexer, place))
    });
    known.collect()
}

fn document(snapshot: &Snapshot, indexer: IndexerId) -> Option<Arc<Value>> {
    snapshot.document(KIND, &indexer.to_string())
}

fn number_of(document: &Value) -> Option<Uuid> {
    Uuid::parse_str(document["number"].as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_continues_if_the_last_start_with_the_id_was_of_the_directory() {
        let [current, begun, other, former] = [1, 2, 3, 4].map(Uuid::from_u128);
        let noted = Noted {
            current: Some(current),
            begun: vec![begun],
            former: vec![former],
            ..Noted::new(IndexerId(Uuid::from_u128(1)), None)
        };
        for has_records in [false, true] {
            for recorded in [Some(current), Some(begun)] {
                let start = decide(Some(&noted), recorded, has_records);
                assert_eq!(start, Start::Continue, "{recorded:?}");
            }
            assert_eq!(decide(Some(&noted), Some(other), has_records), Start::Split);
            assert_eq!(decide(Some(&noted), Some(former), has_records), Start::Older);
            assert_eq!(decide(Some(&noted), None, has_records), Start::Older);
            // A first start that was killed, a first start, or one of an earlier version.
            let killed = Noted { current: None, ..noted.clone() };
            assert_eq!(decide(Some(&killed), None, has_records), Start::Continue);
            assert_eq!(decide(None, None, has_records), Start::Continue);
        }
        assert_eq!(decide(None, Some(other), false), Start::Continue, "a lost disk is restored");
        assert_eq!(decide(None, Some(other), true), Start::Split, "records of an earlier version");
    }
}

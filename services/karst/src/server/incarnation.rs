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
//! It leaves to others: whether a process with the id is running (`Cluster::runs_elsewhere`, the lease of the
//! catalog), and that a running process stops its intake (`failover`).

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use catalog::{Catalog, Snapshot};
use ingest::restore;
use model::IndexerId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::identity::{self, write_once};

/// The kind of the documents of the catalog, by the id of the indexer.
const KIND: &str = "incarnation";
/// Beside the directories of the sets.
const FILE: &str = "incarnation.json";
/// Maximum number of numbers that were begun and of which it is not known whether the catalog has them.
const BEGUN: usize = 32;
/// Maximum number of former numbers: further starts do not show any more that a catalog is older.
const FORMER: usize = 256;
/// Attempts to record a start while other processes record theirs, and the wait for the news of them.
const ATTEMPTS: usize = 8;
const NEWS: Duration = Duration::from_secs(2);

/// The start of a process over a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incarnation {
    /// The id of the directory, which is another one than before after a split.
    pub(crate) indexer: IndexerId,
    number: Uuid,
}

/// The location of a process, for the messages of other processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) host: String,
    /// Its data directory.
    pub(crate) data: String,
    /// Its cluster address.
    pub(crate) address: Option<String>,
    /// RFC 3339.
    pub(crate) started: String,
}

/// The content of the file in the directory of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct IncarnationFile {
    indexer: IndexerId,
    /// The number that the catalog had at the last start.
    current: Option<Uuid>,
    /// Later numbers, which the catalog may have.
    #[serde(default)]
    begun: Vec<Uuid>,
    /// Earlier numbers that the catalog had, the latest last.
    #[serde(default)]
    former: Vec<Uuid>,
    /// The time of the last start, in RFC 3339.
    #[serde(default)]
    started: Option<String>,
    /// The id before the split.
    #[serde(default)]
    split_from: Option<IndexerId>,
}

impl IncarnationFile {
    /// The file of a directory that has been given an id.
    fn new(indexer: IndexerId, split_from: Option<IndexerId>) -> Self {
        let (begun, former) = (Vec::new(), Vec::new());
        Self { indexer, current: None, begun, former, started: None, split_from }
    }

    fn has(&self, number: Uuid) -> bool {
        self.current == Some(number) || self.begun.contains(&number)
    }
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
fn decide(noted: Option<&IncarnationFile>, recorded: Option<Uuid>, has_records: bool) -> Start {
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

impl Incarnation {
    /// Begins an incarnation of the directory, before anything of its journal is read. `new_instance`: the
    /// directory may have been used with another catalog.
    ///
    /// # Errors
    /// The catalog is older than the directory, and has not been rebuilt; the disk or the catalog does not
    /// take the change.
    pub(crate) async fn begin(
        catalog: &Catalog,
        (data, new_instance): (&Path, bool),
        id: IndexerId,
        place: &Place,
    ) -> Result<Self> {
        let has_records = restore::journal_segment(data)?.is_some();
        let mut changes = catalog.subscribe();
        let mut indexer = id;
        for _ in 0..ATTEMPTS {
            let snapshot = changes.borrow_and_update().clone();
            let before = document(&snapshot, indexer);
            let recorded = before.as_deref().and_then(number_of);
            let noted = read(data).filter(|noted| noted.indexer == indexer);
            let is_rebuilt = restore::is_rebuilt(&snapshot, indexer);
            match decide(noted.as_ref(), recorded, has_records) {
                Start::Continue => {}
                // Another catalog, one that begins, or one that was rebuilt without the numbers: no other
                // directory has run over it with this id.
                Start::Older
                    if recorded.is_none()
                        && (new_instance || snapshot.is_empty() || is_rebuilt) => {}
                Start::Split => {
                    indexer = split(data, indexer, &of_copy(before.as_deref()))?;
                    continue;
                }
                // It has all buckets that there are, and the journal is compared with them.
                Start::Older if is_rebuilt => {
                    indexer = split(data, indexer, REBUILT)?;
                    continue;
                }
                Start::Older => bail!(older(data, noted.as_ref(), before.as_deref())),
            }
            let own = Self { indexer, number: runtime::random::uuid() };
            if own.record(catalog, (data, noted), (before, place)).await? {
                return Ok(own);
            }
            // Another process has recorded its start since: the next check reads which one.
            let _ = tokio::time::timeout(NEWS, changes.changed()).await;
        }
        bail!(
            "other processes with the id of this one ({indexer}) start at the same time: {} is a copy of \
             their data directory, or they run over it; stop them, or start them one after the other",
            shown(data).display()
        )
    }

    /// Writes the number; `false` if the catalog has changed since it was read.
    async fn record(
        self,
        catalog: &Catalog,
        (data, noted): (&Path, Option<IncarnationFile>),
        (before, place): (Option<Arc<Value>>, &Place),
    ) -> Result<bool> {
        let Self { indexer, number } = self;
        let mut file = noted.unwrap_or_else(|| IncarnationFile::new(indexer, None));
        let recorded = before.as_deref().and_then(number_of);
        let earlier = file.current;
        file.current = recorded.or(earlier);
        // It differs after a crash between the change of the catalog and the last write.
        file.former.extend(earlier.filter(|earlier| file.current != Some(*earlier)));
        file.begun.push(number);
        keep_last(&mut file.begun, BEGUN);
        // Written here first: a process that is killed after the change of the catalog finds its number.
        write(data, &file)?;
        let named = |json| vec![(KIND.to_owned(), indexer.to_string(), json)];
        let expected = named(before.map(|json| (*json).clone()));
        let after = named(Some(json!({ "number": number, "place": place })));
        match catalog.replace_documents(expected, after).await {
            Ok(()) => {}
            Err(catalog::Error::Changed { .. }) => return Ok(false),
            Err(error) => {
                return Err(error)
                    .context("cannot record the start of this process in the catalog");
            }
        }
        file.former.extend(file.current.replace(number));
        keep_last(&mut file.former, FORMER);
        file.begun.clear();
        file.started = Some(place.started.clone());
        write(data, &file)?;
        Ok(true)
    }

    /// Whether a process has been started with the id since, over another directory.
    pub(crate) fn is_over(self, snapshot: &Snapshot) -> bool {
        self.successor(snapshot).is_some()
    }

    /// Why this process takes nothing in any more, once another one has been started with its id.
    pub(crate) fn superseded(self, snapshot: &Snapshot) -> Option<String> {
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

/// The error of a start beside a process with the same id.
pub(crate) fn refusal(role: &str, id: IndexerId, address: &str, data: &Path) -> String {
    format!(
        "{role} {id} already runs at {address}: {} is a copy of its data directory (or that process runs \
         over it); give this {role} a directory of its own, or stop the other",
        shown(data).display()
    )
}

/// Ends a split that was interrupted.
///
/// # Errors
/// The disk refuses.
pub(crate) fn end_split(data: &Path) -> Result<()> {
    let Some(noted) = read(data) else { return Ok(()) };
    if noted.split_from.is_none() || known_id(data) != noted.split_from {
        return Ok(());
    }
    write_once(&data.join("instance.id"), noted.indexer.0.to_string().as_bytes(), 0o600)
}

/// Whether the id is that of a split, and the journal may still name the one before.
pub(crate) fn is_split(data: &Path) -> bool {
    let noted = read(data).filter(|noted| noted.split_from.is_some());
    noted.is_some_and(|noted| known_id(data) == Some(noted.indexer))
}

/// Gives the directory a new id. `reason` is for the log.
fn split(data: &Path, from: IndexerId, reason: &str) -> Result<IndexerId> {
    let indexer = IndexerId(runtime::random::uuid());
    write(data, &IncarnationFile::new(indexer, Some(from)))?;
    end_split(data)?;
    tracing::warn!(%from, to = %indexer, data = %shown(data).display(), "{reason}");
    Ok(indexer)
}

/// Why a directory gets a new id after its catalog was restored and rebuilt.
const REBUILT: &str = "the catalog was rebuilt from one that is older than this data directory. This directory \
     has a new id, and its journal is compared with the buckets: events that no bucket has are stored. In a \
     cluster, those with ackLevel = remote or replicated may be there twice, if another indexer recovers \
     them from the log or the copies of the former id before they are in a bucket";

/// Why a directory gets a new id after a start of another one with its id.
fn of_copy(latest: Option<&Value>) -> String {
    format!(
        "another process with the id of this one {}: one of their data directories is a copy of the other. \
         This directory has a new id, and its journal is compared with the buckets: events that no bucket \
         has are stored; those that the other process has, too, and has not stored yet, may be there twice",
        latest.map_or_else(|| "has been started".to_owned(), whereabouts)
    )
}

/// The error of a start over a catalog that is older than the directory.
///
/// A process that still reaches a control plane that was replaced in between gets it, too.
fn older(data: &Path, noted: Option<&IncarnationFile>, latest: Option<&Value>) -> String {
    let data = shown(data);
    let unknown = "at an unknown time";
    let here = noted.and_then(|noted| noted.started.as_deref()).unwrap_or(unknown);
    let there = match latest {
        Some(document) => {
            let started = document["place"]["started"].as_str().unwrap_or(unknown);
            format!("the last start of this process that it has was {started}")
        }
        None => "it has no start of this process".to_owned(),
    };
    let new_instance = match latest {
        Some(_) => "",
        None => {
            "; if it is the catalog of another installation, or if this process was added to it after the \
             copy was made and the object store is complete, start once with --new-instance"
        }
    };
    format!(
        "the catalog is older than the data directory {}: {there}, and the last one over this directory, in \
         {}, {here}. In a cluster whose control planes have just changed, start this process again. \
         Otherwise the object store or its catalog was restored from an older copy, and the data directory \
         (or the disk of its journal) was not: events that were stored in between would be missing. Put back \
         all of them from the same copy; or stop all processes and run `karst catalog rebuild` (with the \
         same --data-dir and --object-store), which takes the buckets that are there; or, to do without \
         these events, start over an empty data directory with the copies of auth and instance.id{new_instance}",
        data.display(),
        data.join("journal").join(FILE).display()
    )
}

/// Removes the first numbers of a list that is too long.
fn keep_last(numbers: &mut Vec<Uuid>, count: usize) {
    let excess = numbers.len().saturating_sub(count);
    numbers.drain(..excess);
}

/// Returns where and when a process was started.
fn whereabouts(document: &Value) -> String {
    let Ok(place) = serde_json::from_value::<Place>(document["place"].clone()) else {
        return "has been started".to_owned();
    };
    let Place { host, data, address, started } = place;
    let at = address.map_or_else(String::new, |address| format!(" at {address}"));
    format!("was started{at} ({started}, host {host}, data {data})")
}

/// Returns the processes that were started over the catalog, each with the place of its last start.
pub(crate) fn places(snapshot: &Snapshot) -> Vec<(IndexerId, Place)> {
    let known = snapshot.documents(KIND).into_iter().filter_map(|document| {
        let indexer = IndexerId(Uuid::parse_str(&document.name).ok()?);
        let place = serde_json::from_value(document.json["place"].clone()).ok()?;
        Some((indexer, place))
    });
    known.collect()
}

/// Whether no process has been started over the directory.
///
/// # Errors
/// The directory of the journal cannot be read.
pub(crate) fn is_new(data: &Path) -> Result<bool> {
    Ok(read(data).is_none() && restore::journal_segment(data)?.is_none())
}

fn document(snapshot: &Snapshot, indexer: IndexerId) -> Option<Arc<Value>> {
    snapshot.document(KIND, &indexer.to_string())
}

fn number_of(document: &Value) -> Option<Uuid> {
    Uuid::parse_str(document["number"].as_str()?).ok()
}

/// The id in `instance.id`.
fn known_id(data: &Path) -> Option<IndexerId> {
    Uuid::parse_str(&identity::known(data)?).ok().map(IndexerId)
}

/// Reads the file in the directory of the journal. A damaged file counts as missing: a journal with records
/// is then compared with the buckets.
fn read(data: &Path) -> Option<IncarnationFile> {
    let path = data.join("journal").join(FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(
                path = %path.display(), %error,
                "the journal's incarnation cannot be read"
            );
            return None;
        }
    };
    let noted = serde_json::from_slice(&bytes);
    if let Err(error) = &noted {
        tracing::warn!(path = %path.display(), %error, "the journal's incarnation is damaged");
    }
    noted.ok()
}

fn write(data: &Path, noted: &IncarnationFile) -> Result<()> {
    let directory = data.join("journal");
    let unwritable = || format!("cannot write {}", directory.join(FILE).display());
    fs::create_dir_all(&directory).with_context(unwritable)?;
    write_once(&directory.join(FILE), &serde_json::to_vec(noted)?, 0o600)?;
    // The file of the last start, after a loss of power, would be taken for that of a copy.
    let synced = File::open(&directory).and_then(|directory| directory.sync_all());
    synced.with_context(unwritable)
}

/// The directory as messages name it.
fn shown(data: &Path) -> PathBuf {
    std::path::absolute(data).unwrap_or_else(|_| data.to_owned())
}

#[cfg(test)]
#[path = "incarnation_tests.rs"]
mod tests;

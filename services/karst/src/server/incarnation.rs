//! The directory of an incarnation (`peers::incarnation`): its file beside the journal, the split of an id,
//! and the messages about both.
//!
//! It leaves to others: whether a process with the id is running (`Cluster::runs_elsewhere`, the lease of the
//! catalog), and that a running process stops its intake (`failover`).

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use catalog::{Catalog, Snapshot};
use ingest::restore;
use model::IndexerId;
use peers::incarnation::{Cause, Directory, NotBegun, Noted, whereabouts};
use serde_json::Value;
use uuid::Uuid;

use super::identity::{self, write_once};

pub(crate) use peers::incarnation::{Incarnation, Place, places};

/// Beside the directories of the sets.
const FILE: &str = "incarnation.json";

/// A data directory.
struct DataDirectory<'a>(&'a Path);

impl Directory for DataDirectory<'_> {
    type Error = anyhow::Error;

    fn noted(&self) -> Option<Noted> {
        read(self.0)
    }

    fn note(&self, noted: &Noted) -> Result<()> {
        write(self.0, noted)
    }

    fn split(&self, from: IndexerId, cause: Cause<'_>) -> Result<IndexerId> {
        match cause {
            Cause::Copy(latest) => split(self.0, from, &of_copy(latest)),
            Cause::Rebuilt => split(self.0, from, REBUILT),
        }
    }

    fn number(&self) -> Uuid {
        runtime::random::uuid()
    }

    fn is_rebuilt(&self, snapshot: &Snapshot, indexer: IndexerId) -> bool {
        restore::is_rebuilt(snapshot, indexer)
    }
}

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
) -> Result<Incarnation> {
    let has_records = restore::journal_segment(data)?.is_some();
    let (directory, how) = (DataDirectory(data), (has_records, new_instance));
    let begun = peers::incarnation::begin(catalog, (&directory, id), how, place).await;
    begun.map_err(|reason| match reason {
        NotBegun::Directory(error) => error,
        NotBegun::Catalog(error) => anyhow::Error::from(error)
            .context("cannot record the start of this process in the catalog"),
        NotBegun::Older(known) => anyhow!(older(data, known.0.as_ref(), known.1.as_deref())),
        NotBegun::Others(indexer) => anyhow!(
            "other processes with the id of this one ({indexer}) start at the same time: {} is a copy of \
             their data directory, or they run over it; stop them, or start them one after the other",
            shown(data).display()
        ),
    })
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
    write(data, &Noted::new(indexer, Some(from)))?;
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
fn older(data: &Path, noted: Option<&Noted>, latest: Option<&Value>) -> String {
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

/// Whether no process has been started over the directory.
///
/// # Errors
/// The directory of the journal cannot be read.
pub(crate) fn is_new(data: &Path) -> Result<bool> {
    Ok(read(data).is_none() && restore::journal_segment(data)?.is_none())
}

/// The id in `instance.id`.
fn known_id(data: &Path) -> Option<IndexerId> {
    Uuid::parse_str(&identity::known(data)?).ok().map(IndexerId)
}

/// Reads the file in the directory of the journal. A damaged file counts as missing: a journal with records
/// is then compared with the buckets.
fn read(data: &Path) -> Option<Noted> {
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

fn write(data: &Path, noted: &Noted) -> Result<()> {
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

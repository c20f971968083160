//! Reconciliation at the start of an indexer whose journal is on disk and in another place: each gets the
//! records that only the other has, so that the log has all records of the lanes of its place.
//!
//! The log lacks the records that were journaled right before the last stop. The disk lacks records of the
//! log if the disk was lost, or lost writes that it had reported as synced.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use model::{IndexerId, JournalPlace, JournalPosition};
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};

use super::fetch::{Source, blocking, fetch};
use super::log::{Existing, Shipment, fail};
use super::{object, path_of};
use crate::Error;
use crate::journal::{RawRecord, SEGMENT_HEADER, StreamRef, number_of, scan_raw, segments};

/// Number of the newest objects that are searched for the last records of each set.
const LOOK: usize = 64;

/// The committed position of each stream, by set.
pub(crate) type Committed = HashMap<u16, HashMap<StreamRef, JournalPosition>>;

/// The result of the comparison.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    pub(crate) existing: Existing,
    /// Records that the log lacks, by set.
    pub(crate) unshipped: HashMap<u16, Shipment>,
    /// Sets whose journal on disk lacks records of the log, each with its last position on disk.
    pub(crate) behind: Vec<(u16, Option<JournalPosition>)>,
}

/// The state of the log for a set.
#[derive(Debug, Clone, Copy, Default)]
struct Shipped {
    upto: Option<JournalPosition>,
    /// Whether its newest records are in no bucket yet.
    is_needed: bool,
}

/// Compares the journals below `root` with the log of the indexer.
///
/// # Errors
/// The store or the disk returned an error.
pub(crate) async fn agree(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    (root, sets, place): (&Path, &[u16], JournalPlace),
    committed: &Committed,
) -> Result<Agreed, Error> {
    agree_with(store, indexer, (Journals::Disk(root), sets, place), committed).await
}

/// The journals of an indexer that are compared with its log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Journals<'a> {
    /// The journals below a directory.
    Disk(&'a Path),
    /// The records of each set, in a simulation.
    Memory(&'a HashMap<u16, Bytes>),
}

impl Journals<'_> {
    /// Reads the records of a set in the lanes of a place.
    async fn read(
        self,
        set: u16,
        (place, shipped): (JournalPlace, Option<JournalPosition>),
        committed: HashMap<StreamRef, JournalPosition>,
    ) -> Result<Local, Error> {
        match self {
            Self::Disk(root) => {
                let directory = root.join(set.to_string());
                blocking(move || Local::read(&directory, (place, shipped), &committed)).await
            }
            Self::Memory(sets) => {
                let mut local = Local::default();
                let records = sets.get(&set).map(|records| &records[..]).unwrap_or_default();
                local.take(records, (place, shipped), &committed);
                Ok(local)
            }
        }
    }
}

/// Compares as [`agree`] does, for any location of the journals.
///
/// # Errors
/// The store or the disk returned an error.
pub(crate) async fn agree_with(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    (journals, sets, place): (Journals<'_>, &[u16], JournalPlace),
    committed: &Committed,
) -> Result<Agreed, Error> {
    let existing = Existing::list(store.as_ref(), indexer).await?;
    let shipped = last_shipped(store, indexer, &existing, sets, committed).await?;
    let is_all = existing.with_records.len() <= LOOK;
    let mut agreed = Agreed::default();
    let mut unsure = HashMap::default();
    for set in sets {
        let is_found = is_all || shipped.contains_key(set);
        let shipped = shipped.get(set).copied().unwrap_or_default();
        let committed = committed.get(set).cloned().unwrap_or_default();
        let local = journals.read(*set, (place, shipped.upto), committed).await?;
        let is_behind = shipped.upto > local.last || (!is_found && local.last.is_none());
        if is_behind && shipped.is_needed {
            agreed.behind.push((*set, local.last));
        } else if is_behind {
            unsure.insert(*set, local.last);
        }
        if !local.unshipped.records.is_empty() {
            agreed.unshipped.insert(*set, local.unshipped);
        }
    }
    // The newest objects may only have records of streams that are already stored; older ones may have
    // others.
    for number in existing.with_records.iter().rev() {
        if unsure.is_empty() {
            break;
        }
        for (set, records) in read(store, &path_of(indexer, *number)).await? {
            let Some(last) = unsure.get(&set).copied() else { continue };
            let covered = committed.get(&set);
            let mut is_needed = false;
            scan_raw(&records, |record| {
                let known = covered.and_then(|covered| covered.get(&record.stream));
                is_needed |= known.max(last.as_ref()) < Some(&record.position);
            });
            if is_needed {
                unsure.remove(&set);
                agreed.behind.push((set, last));
            }
        }
    }
    agreed.existing = existing;
    Ok(agreed)
}

/// Writes missing records to the journals on disk, which must not be open.
///
/// # Errors
/// The store or the disk returned an error.
pub(crate) async fn restore(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    root: &Path,
    agreed: &Agreed,
) -> Result<(), Error> {
    if agreed.behind.is_empty() {
        return Ok(());
    }
    let fetched = root.with_extension("restored");
    if fetched.exists() {
        fs::remove_dir_all(&fetched).map_err(|error| Error::journal_write(&fetched, error))?;
    }
    let source = Source { store: Arc::clone(store), existing: agreed.existing.clone() };
    fetch(&[source], indexer, &fetched).await?;
    let (root, behind) = (root.to_owned(), agreed.behind.clone());
    blocking(move || {
        for (set, last) in behind {
            append(&fetched.join(set.to_string()), &root.join(set.to_string()), (set, last))?;
        }
        fs::remove_dir_all(&fetched).map_err(|error| Error::journal_write(&fetched, error))
    })
    .await
}

/// Returns the records of an object, by set.
async fn read(store: &Arc<dyn ObjectStore>, path: &ObjectPath) -> Result<Vec<(u16, Bytes)>, Error> {
    let object = match store.get(path).await {
        // Another indexer has recovered its records and deleted it.
        Err(object_store::Error::NotFound { .. }) => return Ok(Vec::new()),
        object => object.map_err(fail("read", path))?,
    };
    let object = object.bytes().await.map_err(fail("read", path))?;
    let damaged = |reason| Error::JournalDamaged { path: path.as_ref().into(), offset: 0, reason };
    object::decode(&object).map_err(damaged)
}

async fn last_shipped(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    existing: &Existing,
    sets: &[u16],
    committed: &Committed,
) -> Result<HashMap<u16, Shipped>, Error> {
    let mut found: HashMap<u16, Shipped> = HashMap::default();
    for number in existing.with_records.iter().rev().take(LOOK) {
        if sets.iter().all(|set| found.contains_key(set)) {
            break;
        }
        for (set, records) in read(store, &path_of(indexer, *number)).await? {
            if found.contains_key(&set) {
                continue;
            }
            let covered = committed.get(&set);
            let mut shipped = Shipped::default();
            scan_raw(&records, |record| {
                let known = covered.and_then(|covered| covered.get(&record.stream));
                shipped.upto = shipped.upto.max(Some(record.position));
                shipped.is_needed |= known < Some(&record.position);
            });
            found.insert(set, shipped);
        }
    }
    Ok(found)
}

/// The records on disk of a set in the lanes of a place.
#[derive(Debug, Default)]
struct Local {
    last: Option<JournalPosition>,
    unshipped: Shipment,
}

impl Local {
    fn read(
        directory: &Path,
        (place, shipped): (JournalPlace, Option<JournalPosition>),
        committed: &HashMap<StreamRef, JournalPosition>,
    ) -> Result<Self, Error> {
        let mut local = Self::default();
        if !directory.exists() {
            return Ok(local);
        }
        for path in segments(directory)? {
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                // The segment was released meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::journal_read(&path, error)),
            };
            let records = bytes.get(SEGMENT_HEADER.len()..).unwrap_or_default();
            local.take(records, (place, shipped), committed);
        }
        Ok(local)
    }

    /// Adds the records of a segment.
    fn take(
        &mut self,
        records: &[u8],
        (place, shipped): (JournalPlace, Option<JournalPosition>),
        committed: &HashMap<StreamRef, JournalPosition>,
    ) {
        scan_raw(records, |RawRecord { stream, position, bytes }| {
            if stream.1.place() != place {
                return;
            }
            self.last = self.last.max(Some(position));
            if Some(position) > shipped && committed.get(&stream) < Some(&position) {
                self.unshipped.push(&stream, position, Bytes::copy_from_slice(bytes));
            }
        });
    }
}

/// Writes the records of fetched journals after `last` as the newest segment of a set.
fn append(
    from: &Path,
    to: &Path,
    (set, last): (u16, Option<JournalPosition>),
) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(|error| Error::journal_write(to, error))?;
    let newest = segments(to)?.last().and_then(|path| number_of(path));
    let path = to.join(format!("{:020}.journal", newest.map_or(0, |newest| newest + 1)));
    let draft = path.with_extension("new");
    let fail = |error| Error::journal_write(&draft, error);
    let mut file = File::create(&draft).map_err(fail)?;
    file.write_all(&SEGMENT_HEADER).map_err(fail)?;
    let mut records = 0u64;
    for segment in segments(from)? {
        let bytes = fs::read(&segment).map_err(|error| Error::journal_read(&segment, error))?;
        let mut kept = Vec::with_capacity(bytes.len());
        scan_raw(bytes.get(SEGMENT_HEADER.len()..).unwrap_or_default(), |record| {
            if Some(record.position) > last {
                kept.extend_from_slice(record.bytes);
                records += 1;
            }
        });
        file.write_all(&kept).map_err(fail)?;
    }
    file.sync_all().map_err(fail)?;
    fs::rename(&draft, &path)
        .and_then(|()| File::open(to)?.sync_all())
        .map_err(|error| Error::journal_write(&path, error))?;
    tracing::warn!(
        set,
        records,
        "the journal lacked records; they are restored from the copy in another place"
    );
    Ok(())
}

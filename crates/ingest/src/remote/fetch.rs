//! Reads a log into journals on disk, and seals it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use model::IndexerId;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::log::{Existing, fail};
use super::{object, path_of};
use crate::Error;
use crate::journal::SEGMENT_HEADER;

/// Number of objects that are read concurrently.
const READS: usize = 16;
/// Maximum size of a journal segment, in bytes.
const SEGMENT: u64 = 64 << 20;

/// Seals the log of an indexer, so that its former owner can put nothing more into it. Returns the objects of
/// the log. Another seal is put even if there is one, because the former owner may have begun after it.
///
/// # Errors
/// [`Error::Storage`].
pub(crate) async fn seal(store: &dyn ObjectStore, indexer: IndexerId) -> Result<Existing, Error> {
    loop {
        let path = path_of(indexer, Existing::list(store, indexer).await?.next());
        let options = PutOptions::from(PutMode::Create);
        match store.put_opts(&path, PutPayload::new(), options).await {
            Ok(_) => return Existing::list(store, indexer).await,
            // The owner has put this object first: it is read too.
            Err(object_store::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(fail("seal", &path)(error)),
        }
    }
}

/// Seals the log of this indexer, if there is one, against its former processes: an object that they are
/// still putting cannot come between those of this process.
///
/// # Errors
/// [`Error::Storage`].
pub(crate) async fn begin(store: &dyn ObjectStore, indexer: IndexerId) -> Result<(), Error> {
    match Existing::list(store, indexer).await?.next() {
        0 => Ok(()),
        _ => seal(store, indexer).await.map(drop),
    }
}

/// Returns the sets that have records in a log.
///
/// # Errors
/// [`Error::Storage`]; an object is damaged.
pub(crate) async fn sets(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    existing: &Existing,
) -> Result<BTreeSet<u16>, Error> {
    let mut sets = BTreeSet::new();
    for number in &existing.with_records {
        let path = path_of(indexer, *number);
        let object = store.get(&path).await.map_err(fail("read", &path))?;
        let object = object.bytes().await.map_err(fail("read", &path))?;
        let damaged =
            |reason| Error::JournalDamaged { path: path.as_ref().into(), offset: 0, reason };
        sets.extend(object::decode(&object).map_err(damaged)?.into_iter().map(|(set, _)| set));
    }
    Ok(sets)
}

/// A log to be read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) existing: Existing,
}

/// Writes the records of the logs of an indexer as journals of its sets: `<directory>/<set>`. On return there
/// are either all journals or none. Returns the sets.
///
/// # Errors
/// [`Error::Storage`]; the directory cannot be written; an object is damaged.
pub(crate) async fn fetch(
    sources: &[Source],
    indexer: IndexerId,
    directory: &Path,
) -> Result<Vec<u16>, Error> {
    let draft = directory.with_extension("new");
    let began = draft.clone();
    blocking(move || {
        if began.exists() {
            fs::remove_dir_all(&began).map_err(|error| Error::journal_write(&began, error))?;
        }
        fs::create_dir_all(&began).map_err(|error| Error::journal_write(&began, error))
    })
    .await?;
    let mut reads = Vec::new();
    for Source { store, existing } in sources {
        for number in &existing.with_records {
            reads.push(read(Arc::clone(store), path_of(indexer, *number)));
        }
    }
    let mut reads = stream::iter(reads).buffered(READS);
    let mut journals = Journals { directory: draft.clone(), open: BTreeMap::new() };
    while let Some((path, object)) = reads.try_next().await? {
        let Some(object) = object else { continue };
        let damaged = |reason| Error::JournalDamaged {
            path: PathBuf::from(path.to_string()),
            offset: 0,
            reason,
        };
        let sections = object::decode(&object).map_err(damaged)?;
        journals = blocking(move || {
            for (set, records) in sections {
                journals.append(set, &records)?;
            }
            Ok(journals)
        })
        .await?;
    }
    let directory = directory.to_owned();
    blocking(move || {
        let sets = journals.finish()?;
        fs::rename(&draft, &directory)
            .and_then(|()| File::open(directory.parent().unwrap_or(&directory))?.sync_all())
            .map_err(|error| Error::journal_write(&directory, error))?;
        Ok(sets)
    })
    .await
}

async fn read(
    store: Arc<dyn ObjectStore>,
    path: ObjectPath,
) -> Result<(ObjectPath, Option<Bytes>), Error> {
    let object = match store.get(&path).await {
        Ok(found) => found.bytes().await.map(Some).map_err(fail("read", &path)),
        // Its owner has deleted it meanwhile: its records are in buckets.
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(fail("read", &path)(error)),
    };
    Ok((path, object?))
}

/// The journals that are being written.
struct Journals {
    directory: PathBuf,
    open: BTreeMap<u16, Segment>,
}

struct Segment {
    file: BufWriter<File>,
    path: PathBuf,
    number: u64,
    bytes: u64,
}

impl Journals {
    fn append(&mut self, set: u16, records: &Bytes) -> Result<(), Error> {
        let full = self.open.get(&set).is_none_or(|segment| segment.bytes >= SEGMENT);
        if full {
            let number = match self.open.remove(&set) {
                Some(segment) => {
                    let next = segment.number + 1;
                    segment.finish()?;
                    next
                }
                None => 0,
            };
            let directory = self.directory.join(set.to_string());
            self.open.insert(set, Segment::begin(&directory, number)?);
        }
        match self.open.get_mut(&set) {
            Some(segment) => segment.append(records),
            None => Err(Error::Abandoned),
        }
    }

    fn finish(self) -> Result<Vec<u16>, Error> {
        let sets = self.open.keys().copied().collect();
        for segment in self.open.into_values() {
            segment.finish()?;
        }
        Ok(sets)
    }
}

impl Segment {
    fn begin(directory: &Path, number: u64) -> Result<Self, Error> {
        let path = directory.join(format!("{number:020}.journal"));
        let fail = |error| Error::journal_write(&path, error);
        fs::create_dir_all(directory).map_err(fail)?;
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(fail)?);
        file.write_all(&SEGMENT_HEADER).map_err(fail)?;
        Ok(Self { file, path, number, bytes: SEGMENT_HEADER.len() as u64 })
    }

    fn append(&mut self, records: &Bytes) -> Result<(), Error> {
        self.bytes += records.len() as u64;
        let written = self.file.write_all(records);
        written.map_err(|error| Error::journal_write(&self.path, error))
    }

    fn finish(mut self) -> Result<(), Error> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|error| Error::journal_write(&self.path, error))
    }
}

/// Runs work with files, or long work, on a separate thread. In a runtime with one thread, such as that of
/// the simulation, the work runs in place: otherwise its order would not be determined by the seed.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return work();
    }
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Abandoned))
}

//! Journal records in stored buckets for which the catalog has no position: after the catalog was rebuilt
//! from the buckets, or the indexer got another identity.
//!
//! Arrival times and texts identify them. `_indextime` is in microseconds and strictly increasing within an
//! indexer, every merge keeps it, and the events of a record go into one bucket together. So a record is
//! stored exactly if a bucket of its index has an event with its first arrival time and its first text. The
//! time alone is not enough, because two indexers can use the same one. Only two columns are read, and only
//! of buckets whose arrival times overlap those of the journal.
//!
//! The same columns, with the origins of the events, tell whether a bucket has all events of another one, as
//! a merged one of its parts.

use std::hash::BuildHasher;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimestampMicrosecondType};
use bucket::{BucketReader, GranuleSet};
use catalog::Catalog;
use foldhash::{HashMap, HashSet};
use futures::TryStreamExt;
use model::{BucketHeader, ErrorKind, EventTime, IndexName, JournalPosition, TimeRange, columns};
use object_store::ObjectStore;

use crate::Error;
use crate::journal::{Record, StreamRef, scan_segment, segments};

/// Rows of one batch.
const BATCH_ROWS: usize = 65_536;
/// The columns that identify events.
const TEXTS: [&str; 2] = [columns::INDEX_TIME, columns::RAW];
/// The columns that tell the events of two indexers apart.
const EVENTS: [&str; 5] =
    [columns::INDEX_TIME, columns::RAW, columns::HOST, columns::SOURCE, columns::SOURCETYPE];
/// The text of data points of metrics, whose values are in their fields.
const METRIC: &[u8] = b"metric";

/// The first arrival times of records by index, with the hashes of their first texts.
type Arrivals = HashMap<IndexName, HashMap<i64, u64>>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct StoredRecords(HashMap<IndexName, HashSet<i64>>);

impl StoredRecords {
    /// Searches the buckets of a catalog for the records of a journal that are above the committed positions,
    /// up to a position.
    ///
    /// # Errors
    /// The journal cannot be read; a bucket that may have some of them cannot be reached.
    pub(crate) async fn of_journal(
        (store, catalog): (&Arc<dyn ObjectStore>, &Catalog),
        directory: &Path,
        committed: &HashMap<StreamRef, JournalPosition>,
        upto: JournalPosition,
    ) -> Result<Self, Error> {
        let (directory, committed) = (directory.to_owned(), committed.clone());
        let work = tokio::task::spawn_blocking(move || uncommitted(&directory, &committed, upto));
        let wanted = work.await.unwrap_or(Err(Error::Abandoned))?;
        let snapshot = catalog.snapshot();
        let buckets: Vec<_> = snapshot.overlapping(&[], &TimeRange::ALL).map(Arc::new).collect();
        Self::find(store, &buckets, &wanted).await
    }

    /// Whether a stored bucket of the index has the event with this arrival time.
    pub(crate) fn has(&self, index: &IndexName, first_index_time: i64) -> bool {
        self.0.get(index).is_some_and(|arrivals| arrivals.contains(&first_index_time))
    }

    /// Searches the buckets for the arrivals.
    ///
    /// # Errors
    /// A bucket that may have them cannot be reached.
    async fn find(
        store: &Arc<dyn ObjectStore>,
        buckets: &[Arc<BucketHeader>],
        wanted: &Arrivals,
    ) -> Result<Self, Error> {
        let mut found: HashMap<IndexName, HashSet<i64>> = HashMap::default();
        for entry in buckets {
            let Some(wanted) = wanted.get(&entry.index) else { continue };
            let inside = |time: &&i64| is_within(entry, EventTime(**time));
            if !wanted.keys().any(|time| inside(&time)) {
                continue;
            }
            let stored = match stored_of(store, entry, wanted).await {
                Ok(stored) => stored,
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => {
                    // A damaged bucket is ignored: its events are then replayed from the journal.
                    tracing::warn!(bucket = %entry.id, %error, "the journal counts instead of a bucket");
                    continue;
                }
                Err(error) => return Err(error),
            };
            found.entry(entry.index.clone()).or_default().extend(stored);
        }
        Ok(Self(found))
    }
}

fn is_within(entry: &BucketHeader, time: EventTime) -> bool {
    entry.first_index_time <= time && time <= entry.last_index_time
}

/// Returns the arrivals that a bucket has.
async fn stored_of(
    store: &Arc<dyn ObjectStore>,
    entry: &BucketHeader,
    wanted: &HashMap<i64, u64>,
) -> Result<Vec<i64>, Error> {
    let mut found = Vec::new();
    let take = |batch: &RecordBatch| {
        each_text(batch, |time, text| {
            if wanted.get(&time).is_some_and(|hash| *hash == hash_of(text)) {
                found.push(time);
            }
        });
    };
    read((store, &entry.path(), entry.size), &TEXTS, None, take).await?;
    Ok(found)
}

/// Returns the arrival times of all events of a bucket.
pub(crate) async fn arrivals_of(bucket: Object<'_>) -> Result<HashSet<i64>, Error> {
    let mut arrivals = HashSet::default();
    let take = |batch: &RecordBatch| arrivals.extend(times_of(batch));
    read(bucket, &[columns::INDEX_TIME], None, take).await?;
    Ok(arrivals)
}

/// The object of a bucket: its store, its path and its size.
pub(crate) type Object<'a> = (&'a Arc<dyn ObjectStore>, &'a str, u64);

/// How many events of one bucket another one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shared {
    /// Not all, or there are none.
    NotAll,
    /// It has as many with their arrival times, texts and origins, but some have no text of their own, as
    /// data points of metrics: it may have those of another indexer that arrived at the same times.
    AllTimes,
    /// All.
    All,
}

/// Compares the events of two buckets. `arrivals` has the arrival times of the part, `range` its event times.
/// Of the part, the arrival times are in memory once more, then with hashes of the events; the other bucket
/// is streamed.
///
/// # Errors
/// One of the two cannot be read.
pub(crate) async fn shared(
    whole: Object<'_>,
    (part, arrivals): (Object<'_>, &HashSet<i64>),
    range: &TimeRange,
) -> Result<Shared, Error> {
    // Texts are read only if the times do not tell.
    if arrivals.is_empty() {
        return Ok(Shared::NotAll);
    }
    let mut times = arrivals.clone();
    let take = |batch: &RecordBatch| {
        for time in times_of(batch) {
            times.remove(time);
        }
    };
    read(whole, &[columns::INDEX_TIME], Some(range), take).await?;
    if !times.is_empty() {
        return Ok(Shared::NotAll);
    }
    drop(times);
    // Merged events of two indexers may have one arrival time, and one text even: they are counted.
    let mut left: HashMap<(i64, u64), u64> = HashMap::default();
    let mut have_texts = true;
    let take = |batch: &RecordBatch| {
        each_event(batch, |time, text, hash| {
            have_texts &= !text.is_empty() && text != METRIC;
            *left.entry((time, hash)).or_insert(0) += 1;
        });
    };
    read(part, &EVENTS, None, take).await?;
    let take = |batch: &RecordBatch| {
        each_event(batch, |time, _, hash| {
            if let Some(count) = left.get_mut(&(time, hash)) {
                *count = count.saturating_sub(1);
            }
        });
    };
    read(whole, &EVENTS, Some(range), take).await?;
    Ok(match left.values().all(|count| *count == 0) {
        false => Shared::NotAll,
        true if have_texts => Shared::All,
        true => Shared::AllTimes,
    })
}

/// Reads columns of a bucket; with a range, only of granules that may have events of it.
async fn read(
    (store, path, size): Object<'_>,
    columns: &[&str],
    range: Option<&TimeRange>,
    mut take: impl FnMut(&RecordBatch),
) -> Result<(), Error> {
    let failed = |error: bucket::Error| Error::BucketRead(Arc::new(error));
    let path = object_store::path::Path::from(path);
    let reader = BucketReader::open(Arc::clone(store), &path, size).await.map_err(failed)?;
    let granules = match range {
        Some(range) => reader.granules_in(range),
        None => GranuleSet::all(reader.granules()),
    };
    let mut rows = reader.read(columns, &granules, BATCH_ROWS).await.map_err(failed)?;
    while let Some(batch) = rows.try_next().await.map_err(failed)? {
        take(&batch);
    }
    Ok(())
}

/// Calls `take` with the arrival time and the text of each event.
fn each_text(batch: &RecordBatch, mut take: impl FnMut(i64, &[u8])) {
    let texts = texts_of(batch, columns::RAW);
    for (row, time) in times_of(batch).iter().enumerate() {
        take(*time, text_at(texts.as_ref(), row).as_bytes());
    }
}

/// Calls `take` with the arrival time, the text, and a hash of the text and the origin of each event.
fn each_event(batch: &RecordBatch, mut take: impl FnMut(i64, &[u8], u64)) {
    let texts = texts_of(batch, columns::RAW);
    let origins = columns::ORIGIN.map(|column| texts_of(batch, column));
    for (row, time) in times_of(batch).iter().enumerate() {
        let text = text_at(texts.as_ref(), row);
        let [host, source, sourcetype] =
            origins.each_ref().map(|values| text_at(values.as_ref(), row));
        let event = (text, host, source, sourcetype);
        let hash = foldhash::fast::FixedState::default().hash_one(event);
        take(*time, text.as_bytes(), hash);
    }
}

/// Returns a column with texts.
fn texts_of(batch: &RecordBatch, column: &str) -> Option<ArrayRef> {
    cast(batch.column_by_name(column)?, &DataType::Utf8).ok()
}

fn text_at(texts: Option<&ArrayRef>, row: usize) -> &str {
    let texts = texts.and_then(|texts| texts.as_string_opt::<i32>());
    texts.filter(|texts| texts.is_valid(row)).map_or("", |texts| texts.value(row))
}

fn times_of(batch: &RecordBatch) -> &[i64] {
    batch
        .column_by_name(columns::INDEX_TIME)
        .and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>())
        .map_or(&[], |times| times.values())
}

/// Returns a hash of a text that is stable within this process.
fn hash_of(text: &[u8]) -> u64 {
    foldhash::fast::FixedState::default().hash_one(text)
}

/// Returns the first arrivals of journal records above the committed positions, up to a position.
///
/// # Errors
/// The journal cannot be read.
fn uncommitted(
    directory: &Path,
    committed: &HashMap<StreamRef, JournalPosition>,
    upto: JournalPosition,
) -> Result<Arrivals, Error> {
    let mut arrivals = Arrivals::default();
    if !directory.exists() {
        return Ok(arrivals);
    }
    for path in segments(directory)? {
        scan_segment(&path, |record| {
            let Record::Batch(batch) = record else { return };
            let stream = (batch.batch.index.clone(), batch.lane);
            let covered = committed.get(&stream).is_some_and(|known| *known >= batch.position);
            if !covered && batch.position <= upto && batch.batch.rows() > 0 {
                let hash = hash_of(batch.batch.row(0));
                arrivals.entry(stream.0).or_default().insert(batch.first_index_time, hash);
            }
        })?;
    }
    Ok(arrivals)
}

//! Journal records in stored buckets for which the catalog has no position: after the catalog was rebuilt
//! from the buckets, or the indexer got another identity.
//!
//! Arrival times, texts and origins identify them. `_indextime` is in microseconds and strictly increasing
//! within an indexer, every merge keeps it, and the events of a record go into one bucket together. So a
//! record counts as stored if a bucket of its index has its first and its last event. The times alone are not
//! enough, because two indexers can use the same ones. Few columns are read, and only of buckets whose
//! arrival times overlap those of the journal.
//!
//! In doubt, a record does not count as stored, and its events may be there twice: if its first or last event
//! was set aside, if the bucket cannot be read, and in a cluster, if these events have no text of their own,
//! as data points of metrics.
//!
//! The same columns tell whether a bucket has all events of another one, as a merged one of its parts.

use std::hash::BuildHasher;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimestampMicrosecondType};
use bucket::{BucketReader, GranuleSet};
use catalog::{Catalog, Snapshot};
use foldhash::{HashMap, HashSet};
use futures::TryStreamExt;
use model::{
    BucketHeader, ErrorKind, EventBatch, EventTime, IndexName, JournalPosition, TimeRange, columns,
};
use object_store::ObjectStore;

use super::one_object::is_of_object;
use crate::Error;
use crate::journal::{Record, StreamRef, scan_segment, segments};

/// Rows of one batch.
const BATCH_ROWS: usize = 65_536;
/// The columns that identify events.
const EVENTS: [&str; 5] =
    [columns::INDEX_TIME, columns::RAW, columns::HOST, columns::SOURCE, columns::SOURCETYPE];
/// The text of data points of metrics, whose values are in their fields.
const METRIC: &str = "metric";

/// An event: its arrival time, and the hash of its text and origin.
type Event = (i64, u64);
/// Records by index, sorted by their arrival.
type Arrivals = HashMap<IndexName, Vec<Ends>>;

/// The first and the last event of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ends {
    first: Event,
    last: Event,
}

impl Ends {
    /// Returns the ends of a record; `None` if it cannot be recognized in a bucket. `is_alone`: no other
    /// indexer stores events. Otherwise, another one may have data points with the same times and origins.
    fn of(batch: &EventBatch, first_index_time: i64, is_alone: bool) -> Option<Self> {
        let last_row = batch.rows().checked_sub(1)?;
        let offset = i64::try_from(last_row).ok()?;
        let at = |row: usize| {
            let origin = batch.each_origin().nth(row)?;
            let text = std::str::from_utf8(batch.row(row)).ok()?;
            let hash = event_hash(text, [&origin.host, &origin.source, &origin.sourcetype]);
            (is_alone || has_own_text(text)).then_some(hash)
        };
        let first = (first_index_time, at(0)?);
        let last = (first_index_time.checked_add(offset)?, at(last_row)?);
        Some(Self { first, last })
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct StoredRecords(HashMap<IndexName, HashSet<i64>>);

impl StoredRecords {
    /// Searches the buckets of a catalog for the records of a journal that are above the committed positions,
    /// up to a position. `is_alone`: the deployment has no other indexers.
    ///
    /// # Errors
    /// The journal cannot be read; the store of the buckets does not answer.
    pub(crate) async fn of_journal(
        (store, catalog, is_alone): (&Arc<dyn ObjectStore>, &Catalog, bool),
        directory: &Path,
        committed: &HashMap<StreamRef, JournalPosition>,
        upto: JournalPosition,
    ) -> Result<Self, Error> {
        let (directory, committed) = (directory.to_owned(), committed.clone());
        let is_alone = is_alone && !catalog.follows();
        let work = tokio::task::spawn_blocking(move || {
            uncommitted(&directory, &committed, upto, is_alone)
        });
        let wanted = work.await.unwrap_or(Err(Error::Abandoned))?;
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let snapshot = catalog.snapshot();
        let work = tokio::task::spawn_blocking(move || (may_have(&snapshot, &wanted), wanted));
        let (buckets, wanted) = work.await.map_err(|_| Error::Abandoned)?;
        Self::find(store, &buckets, &wanted).await
    }

    /// Whether a stored bucket of the index has the record whose first event has this arrival time.
    pub(crate) fn has(&self, index: &IndexName, first_index_time: i64) -> bool {
        self.0.get(index).is_some_and(|arrivals| arrivals.contains(&first_index_time))
    }

    /// Searches the buckets for the records.
    ///
    /// # Errors
    /// The store does not answer.
    async fn find(
        store: &Arc<dyn ObjectStore>,
        buckets: &[BucketHeader],
        wanted: &Arrivals,
    ) -> Result<Self, Error> {
        let mut found: HashMap<IndexName, HashSet<i64>> = HashMap::default();
        for entry in buckets {
            let Some(wanted) = wanted.get(&entry.index) else { continue };
            let arrived = (entry.first_index_time, entry.last_index_time);
            let inside: Vec<Ends> = inside(wanted, arrived).copied().collect();
            let stored = match stored_of(store, entry, &inside).await {
                Ok(stored) => stored,
                Err(error) if is_of_bucket(&error) => {
                    // A bucket that cannot be read is ignored: its events are then replayed from the journal.
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

/// Returns the buckets whose arrival times include those of a record. The headers of the others are not kept:
/// a catalog may have millions.
fn may_have(snapshot: &Snapshot, wanted: &Arrivals) -> Vec<BucketHeader> {
    let mut found = Vec::new();
    for (index, wanted) in wanted {
        let has_one = |bucket: &BucketHeader| {
            inside(wanted, (bucket.first_index_time, bucket.last_index_time)).next().is_some()
        };
        found.extend(snapshot.buckets(index).iter().filter(has_one));
    }
    found
}

/// Returns those of sorted records whose events all arrived between two times, both included.
fn inside(wanted: &[Ends], (from, upto): (EventTime, EventTime)) -> impl Iterator<Item = &Ends> {
    let before = wanted.partition_point(|ends| ends.first.0 < from.0);
    let begun = wanted[before..].iter().take_while(move |ends| ends.first.0 <= upto.0);
    begun.filter(move |ends| ends.last.0 <= upto.0)
}

/// Whether an error concerns one bucket: it is damaged or missing, or its object cannot be read.
fn is_of_bucket(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) || is_of_object(error)
}

/// Returns the first arrival times of the records that a bucket has.
async fn stored_of(
    store: &Arc<dyn ObjectStore>,
    entry: &BucketHeader,
    wanted: &[Ends],
) -> Result<Vec<i64>, Error> {
    let times: HashSet<i64> = wanted.iter().flat_map(|ends| [ends.first.0, ends.last.0]).collect();
    let mut found: HashSet<Event> = HashSet::default();
    let take = |batch: &RecordBatch| {
        if !times_of(batch).iter().any(|time| times.contains(time)) {
            return;
        }
        each_event(batch, |time, _, hash| {
            if times.contains(&time) {
                found.insert((time, hash));
            }
        });
    };
    read((store, &entry.path(), entry.size), &EVENTS, None, take).await?;
    let is_stored = |ends: &&Ends| found.contains(&ends.first) && found.contains(&ends.last);
    Ok(wanted.iter().filter(is_stored).map(|ends| ends.first.0).collect())
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
            have_texts &= has_own_text(text);
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

/// Calls `take` with the arrival time, the text, and a hash of the text and the origin of each event.
fn each_event(batch: &RecordBatch, mut take: impl FnMut(i64, &str, u64)) {
    let texts = texts_of(batch, columns::RAW);
    let origins = columns::ORIGIN.map(|column| texts_of(batch, column));
    for (row, time) in times_of(batch).iter().enumerate() {
        let text = text_at(texts.as_ref(), row);
        let origin = origins.each_ref().map(|values| text_at(values.as_ref(), row));
        take(*time, text, event_hash(text, origin));
    }
}

/// Returns a hash of the text and the origin of an event that is stable within this process.
fn event_hash(text: &str, [host, source, sourcetype]: [&str; 3]) -> u64 {
    foldhash::fast::FixedState::default().hash_one((text, host, source, sourcetype))
}

/// Whether the text of an event tells it from others.
fn has_own_text(text: &str) -> bool {
    !text.is_empty() && text != METRIC
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

/// Returns the journal records above the committed positions, up to a position.
///
/// # Errors
/// The journal cannot be read.
fn uncommitted(
    directory: &Path,
    committed: &HashMap<StreamRef, JournalPosition>,
    upto: JournalPosition,
    is_alone: bool,
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
            if covered || batch.position > upto {
                return;
            }
            if let Some(ends) = Ends::of(&batch.batch, batch.first_index_time, is_alone) {
                arrivals.entry(stream.0).or_default().push(ends);
            }
        })?;
    }
    for records in arrivals.values_mut() {
        records.sort_unstable_by_key(|ends| ends.first.0);
    }
    Ok(arrivals)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{EventBatchBuilder, Origin};

    use super::*;

    fn batch(host: &str, texts: &[&str]) -> EventBatch {
        let index = IndexName::new("main").unwrap();
        let [host, source, sourcetype] = [host, "s", "t"].map(Arc::from);
        let origin = Arc::new(Origin { index: index.clone(), host, source, sourcetype });
        let mut builder = EventBatchBuilder::new(index, 64);
        for text in texts {
            builder.push(&origin, EventTime(1), text);
        }
        builder.finish()
    }

    #[test]
    fn a_record_is_recognized_by_both_of_its_ends_with_their_origins() {
        let ends = |host, texts: &[&str]| Ends::of(&batch(host, texts), 10, true).unwrap();
        let known = ends("a", &["one", "two", "three"]);
        assert_eq!((known.first.0, known.last.0), (10, 12));
        assert_eq!(known, ends("a", &["one", "2", "three"]));
        assert_ne!(known, ends("b", &["one", "two", "three"]));
        let other = ends("a", &["one", "two", "four"]);
        assert!(known.first == other.first && known.last != other.last);
        assert_eq!(Ends::of(&batch("a", &[]), 10, true), None);
    }

    #[test]
    fn data_points_are_recognized_only_if_no_other_indexer_stores_some() {
        for texts in [&["metric", "metric"][..], &["", "x"], &["x", "metric"]] {
            assert!(Ends::of(&batch("a", texts), 10, true).is_some());
            assert_eq!(Ends::of(&batch("a", texts), 10, false), None, "{texts:?}");
        }
        assert!(Ends::of(&batch("a", &["x", "metric", "y"]), 10, false).is_some());
    }

    #[test]
    fn records_are_in_a_bucket_only_with_all_their_events() {
        let ends = |(first, last)| Ends { first: (first, 0), last: (last, 0) };
        let wanted = [(-5, -3), (0, 0), (1, 4), (5, 9), (10, 12)].map(ends);
        let firsts = |from, upto| -> Vec<i64> {
            let arrived = (EventTime(from), EventTime(upto));
            inside(&wanted, arrived).map(|ends| ends.first.0).collect()
        };
        assert_eq!(firsts(-5, 12), [-5, 0, 1, 5, 10]);
        assert_eq!(firsts(0, 9), [0, 1, 5]);
        assert_eq!(firsts(-4, 11), [0, 1, 5]);
        assert_eq!(firsts(2, 8), [0_i64; 0]);
        assert_eq!(firsts(13, 20), [0_i64; 0]);
        assert_eq!(firsts(9, 0), [0_i64; 0], "a damaged header");
        assert_eq!(firsts(i64::MIN, i64::MAX).len(), wanted.len());
    }

    #[test]
    fn an_object_that_cannot_be_read_does_not_end_a_comparison() {
        let failed = |source: std::io::Error| {
            let source = Box::new(source);
            let source = object_store::Error::Generic { store: "LocalFileSystem", source };
            let path = "buckets/main/20260102/x.parquet".to_owned();
            Error::BucketRead(Arc::new(bucket::Error::Store { path, source }))
        };
        let block = std::io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error());
        assert!(is_of_bucket(&failed(block)));
        assert!(is_of_bucket(&failed(std::io::ErrorKind::PermissionDenied.into())));
        assert!(!is_of_bucket(&failed(std::io::ErrorKind::TimedOut.into())));
    }
}

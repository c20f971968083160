//! Which journal records are in stored buckets although the catalog has no position for them: after
//! the catalog was rebuilt from the buckets, or the indexer got another identity.
//!
//! Arrival times tell: `_indextime` is given once, in microseconds and strictly increasing, and is kept
//! by every merge, and the events of a record go into one bucket together. So a record is stored exactly
//! if a bucket of its index has an event of its first arrival time. Only buckets whose arrivals overlap
//! those of the journal are read, and of them one column.

use std::path::Path;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::TimestampMicrosecondType;
use bucket::{BucketReader, GranuleSet};
use foldhash::{HashMap, HashSet};
use futures::TryStreamExt;
use model::{BucketHeader, ErrorKind, EventTime, IndexName, JournalPosition, columns};
use object_store::ObjectStore;

use crate::Error;
use crate::journal::{Record, StreamRef, scan_segment, segments};

/// Rows of one batch.
const BATCH_ROWS: usize = 65_536;

/// First arrivals by index.
pub(crate) type Arrivals = HashMap<IndexName, HashSet<i64>>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct StoredRecords(Arrivals);

impl StoredRecords {
    /// Whether a stored bucket of the index has the event that arrived then.
    pub(crate) fn has(&self, index: &IndexName, first_index_time: i64) -> bool {
        self.0.get(index).is_some_and(|arrivals| arrivals.contains(&first_index_time))
    }

    /// Looks for the arrivals in the buckets.
    ///
    /// # Errors
    /// A bucket that may have them is out of reach.
    pub(crate) async fn find(
        store: &Arc<dyn ObjectStore>,
        buckets: &[Arc<BucketHeader>],
        wanted: &Arrivals,
    ) -> Result<Self, Error> {
        let mut found = Arrivals::default();
        for entry in buckets {
            let Some(wanted) = wanted.get(&entry.index) else { continue };
            let inside = |time: &&i64| is_within(entry, EventTime(**time));
            if !wanted.iter().any(|time| inside(&time)) {
                continue;
            }
            let arrivals = match arrivals_of(store, &entry.path(), entry.size).await {
                Ok(arrivals) => arrivals,
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => {
                    // What the journal has of it is better than what cannot be read.
                    tracing::warn!(bucket = %entry.id, %error, "the journal counts instead of a bucket");
                    continue;
                }
                Err(error) => return Err(error),
            };
            let stored = wanted.iter().filter(inside).filter(|time| arrivals.contains(time));
            found.entry(entry.index.clone()).or_default().extend(stored);
        }
        Ok(Self(found))
    }
}

fn is_within(entry: &BucketHeader, time: EventTime) -> bool {
    entry.first_index_time <= time && time <= entry.last_index_time
}

/// The arrival times of all events of a bucket.
pub(crate) async fn arrivals_of(
    store: &Arc<dyn ObjectStore>,
    path: &str,
    size: u64,
) -> Result<HashSet<i64>, Error> {
    let failed = |error: bucket::Error| Error::Bucket(Arc::new(error));
    let path = object_store::path::Path::from(path);
    let reader = BucketReader::open(Arc::clone(store), &path, size).await.map_err(failed)?;
    let all = GranuleSet::all(reader.granules());
    let rows = reader.read(&[columns::INDEX_TIME], &all, BATCH_ROWS).await.map_err(failed)?;
    rows.try_fold(HashSet::default(), |mut arrivals: HashSet<i64>, batch| async move {
        let times = batch
            .column_by_name(columns::INDEX_TIME)
            .and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
        arrivals.extend(times.into_iter().flat_map(|times| times.values().iter().copied()));
        Ok(arrivals)
    })
    .await
    .map_err(failed)
}

/// The first arrivals of the journal's records above what is committed, up to a position.
///
/// # Errors
/// The journal cannot be read.
pub(crate) fn uncommitted(
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
                arrivals.entry(stream.0).or_default().insert(batch.first_index_time);
            }
        })?;
    }
    Ok(arrivals)
}

//! Separates events that cannot be encoded: they are set aside, and the rest of the bucket is encoded.
//!
//! An event cannot be stored for one of three reasons: it is larger than inputs accept now (a journal of an
//! earlier version), encoding it fails or panics, or the process dies. The first is found when the journal is
//! read, the second by bisection of a bucket that fails, the third by [`Attempts`]: if processes died over a
//! bucket, its parts are tried before it is encoded. The start does not wait for this.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, TimestampMicrosecondType};
use bucket::{FieldSource, WriteOptions, Written};
use model::{BucketId, EventBatch, IndexName, StreamId};

use super::aside::{Aside, Rejected};
use super::attempts::{Attempts, ROW_DEATHS, Times};
use super::rows::{Rows, select};
use super::store::RolledBucket;
use crate::Error;

/// Maximum number of events of one bucket that are set aside. If more fail, the events are not the cause, and
/// the bucket waits.
const MOST: usize = 1_000;
/// Factor by which an event of the journal may exceed `maxEventSize`, so that lowering the setting does not
/// set aside events that were accepted before.
const GRACE: usize = 4;
/// Number of parts in which suspects are tried.
const PARTS: usize = 64;

/// The components for sifting.
pub(crate) struct Sifter {
    pub(crate) fields: Arc<dyn FieldSource>,
    pub(crate) options: WriteOptions,
    /// `maxEventSize`.
    pub(crate) max_event_size: usize,
    pub(crate) aside: Arc<Aside>,
    pub(crate) attempts: Attempts,
}

impl std::fmt::Debug for Sifter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sifter").field("attempts", &self.attempts).finish_non_exhaustive()
    }
}

impl Sifter {
    /// Returns the rows of a journal record that may become hot; sets those aside that are too large.
    pub(crate) fn sift(&self, batch: EventBatch, first_index_time: i64) -> EventBatch {
        let limit = self.max_event_size.saturating_mul(GRACE);
        if batch.raw.len() <= limit {
            return batch;
        }
        let reason = || format!("the event has more than {limit} bytes (4 times maxEventSize)");
        let large = (0..batch.rows()).filter(|row| batch.row(*row).len() > limit);
        let out: Vec<(usize, String)> = large.map(|row| (row, reason())).collect();
        if out.is_empty() {
            return batch;
        }
        self.without(batch, first_index_time, &out)
    }

    /// Tries the rows of a bucket in parts, if processes died over them. No other hot bucket is encoded
    /// meanwhile, so that a death is one over the part that is tried.
    fn try_suspects(&self, stream: &StreamId, batches: &[RecordBatch], times: &Times) {
        let Some(narrowed) = self.attempts.suspects(stream, times) else { return };
        let _alone = self.attempts.alone.write();
        let events: usize = batches.iter().map(RecordBatch::num_rows).sum();
        tracing::warn!(
            index = %stream.index, events,
            "the server ended while it encoded a bucket with these events; they are tried in parts first"
        );
        match self.try_parts(stream, batches, times, narrowed) {
            Ok(()) => tracing::info!(index = %stream.index, events, "the events have been tried"),
            // They stay suspects until they are encoded.
            Err(error) => {
                let index = &stream.index;
                tracing::warn!(%index, %error, "a trial cannot be noted and is left out");
            }
        }
    }

    /// Tries the narrowed parts, then all rows. A part that was not tried has not survived.
    ///
    /// # Errors
    /// A trial cannot be noted.
    fn try_parts(
        &self,
        stream: &StreamId,
        batches: &[RecordBatch],
        times: &Times,
        narrowed: Vec<Times>,
    ) -> io::Result<()> {
        for part in narrowed {
            self.try_rows(stream, batches, &part)?;
            self.attempts.survived(stream, &part);
        }
        self.try_rows(stream, batches, times)?;
        self.attempts.clear(stream, times);
        Ok(())
    }

    /// Tries the rows of a range in parts.
    fn try_rows(
        &self,
        stream: &StreamId,
        batches: &[RecordBatch],
        times: &Times,
    ) -> io::Result<()> {
        let all = batches.iter().flat_map(|batch| arrivals(batch).iter().copied());
        let mut rows: Vec<i64> = all.filter(|time| times.contains(time)).collect();
        rows.sort_unstable();
        for part in rows.chunks(rows.len().div_ceil(PARTS).max(1)) {
            self.try_part(stream, batches, &(part[0]..=part[part.len() - 1]))?;
        }
        Ok(())
    }

    fn try_part(
        &self,
        stream: &StreamId,
        batches: &[RecordBatch],
        times: &Times,
    ) -> io::Result<()> {
        let rows = within(batches, times);
        let text = match rows.as_slice() {
            [one] if one.num_rows() == 1 => Some(checksum(one, 0)),
            _ => None,
        };
        let _mark = self.attempts.try_part(stream, times, text)?;
        if self.attempt(BucketId(uuid::Uuid::nil()), &stream.index, &rows).is_err() {
            // The row that ends the process may be behind one that only fails. Rows that fail are set aside
            // when the bucket is encoded.
            let _ = self.failing(&stream.index, &rows);
        }
        Ok(())
    }

    /// Returns the rows that end a process, in order.
    fn deadly(&self, stream: &StreamId, batches: &[RecordBatch]) -> Failing {
        let proven = self.attempts.proven(stream);
        if proven.is_empty() {
            return Vec::new();
        }
        let reason =
            || format!("the server ended {ROW_DEATHS} times while it encoded only this event");
        let mut found = Vec::new();
        for (number, batch) in batches.iter().enumerate() {
            for (row, time) in arrivals(batch).iter().enumerate() {
                let is_it = |(at, text): &(i64, u32)| at == time && *text == checksum(batch, row);
                if proven.iter().any(is_it) {
                    found.push(((number, row), reason()));
                }
            }
        }
        found
    }

    /// Sets rows of a batch aside; rows that cannot be set aside remain in the batch.
    fn without(
        &self,
        batch: EventBatch,
        first_index_time: i64,
        rows: &[(usize, String)],
    ) -> EventBatch {
        let mut gone = Vec::with_capacity(rows.len());
        for (row, reason) in rows {
            let index_time = first_index_time.saturating_add(i64::try_from(*row).unwrap_or(0));
            let one = Rows::new(select(&batch, |other| other == *row), index_time);
            let columns = one.columns(&bucket::hot_schema()).map_err(io::Error::other);
            let put = columns.and_then(|columns| self.put(&batch.index, &columns, 0, reason));
            match put {
                Ok(()) => gone.push(*row),
                Err(error) => tracing::error!(%error, "an event cannot be set aside"),
            }
        }
        select(&batch, |row| gone.binary_search(&row).is_err())
    }

    /// Encodes a rolled bucket; returns `None` if all its events were set aside.
    ///
    /// # Errors
    /// The bucket cannot be encoded, and single events are not the cause.
    pub(crate) fn encode(&self, rolled: &RolledBucket) -> Result<Option<Written>, Error> {
        self.encode_rows(rolled.content.id, &rolled.stream, rolled.batches()?)
    }

    fn encode_rows(
        &self,
        id: BucketId,
        stream: &StreamId,
        mut batches: Vec<RecordBatch>,
    ) -> Result<Option<Written>, Error> {
        // Those of rows that are set aside included.
        let all = span(&batches);
        let clear = || {
            if let Some(all) = &all {
                self.attempts.clear(stream, all);
            }
        };
        let deadly = self.deadly(stream, &batches);
        if !deadly.is_empty() {
            batches = self.take_out(&stream.index, batches, &deadly)?;
            if batches.is_empty() {
                clear();
                return Ok(None);
            }
        }
        let times = span(&batches);
        if let Some(times) = &times {
            self.try_suspects(stream, &batches, times);
        }
        let _others = self.attempts.alone.read();
        let _mark = times.as_ref().map(|times| {
            self.attempts.begin(stream, times).inspect_err(|error| {
                tracing::debug!(%error, "the encoding of a bucket is not noted");
            })
        });
        let written = match self.attempt(id, &stream.index, &batches) {
            Ok(written) => Some(written),
            Err(failed) => self.salvage(id, &stream.index, batches, failed)?,
        };
        clear();
        Ok(written)
    }

    fn attempt(
        &self,
        id: BucketId,
        index: &IndexName,
        batches: &[RecordBatch],
    ) -> Result<Written, Failed> {
        let fields = &*self.fields;
        let write = || bucket::write_bucket(id, index, batches, fields, &self.options);
        match catch_unwind(AssertUnwindSafe(write)) {
            Ok(Ok(written)) => Ok(written),
            Ok(Err(error)) => Err(Failed::Error(Arc::new(error))),
            Err(panic) => Err(Failed::Panic(text_of(panic.as_ref()))),
        }
    }

    /// Encodes a bucket without the events that fail.
    fn salvage(
        &self,
        id: BucketId,
        index: &IndexName,
        batches: Vec<RecordBatch>,
        failed: Failed,
    ) -> Result<Option<Written>, Error> {
        tracing::error!(bucket = %id, reason = %failed, "a bucket cannot be encoded; trying its parts");
        let found = match self.failing(index, &batches) {
            Ok(found) if !found.is_empty() => found,
            _ => return Err(failed.into()),
        };
        let kept = self.take_out(index, batches, &found)?;
        if kept.is_empty() {
            return Ok(None);
        }
        self.attempt(id, index, &kept).map(Some).map_err(Error::from)
    }

    /// Sets rows, which are in order, aside, and returns the others.
    fn take_out(
        &self,
        index: &IndexName,
        batches: Vec<RecordBatch>,
        found: &[Bad],
    ) -> Result<Vec<RecordBatch>, Error> {
        let mut kept = batches;
        for ((batch, row), reason) in found.iter().rev() {
            let whole = kept[*batch].clone();
            self.put(index, &whole, *row, reason).map_err(|source| Error::SetAside {
                path: self.aside.watch().borrow().directory.clone(),
                source: Arc::new(source),
            })?;
            kept[*batch] = whole.slice(0, *row);
            kept.insert(batch + 1, whole.slice(row + 1, whole.num_rows() - row - 1));
        }
        kept.retain(|batch| batch.num_rows() > 0);
        Ok(kept)
    }

    /// Returns the rows that fail on their own, in order, with the reason; none if there are too many.
    fn failing(&self, index: &IndexName, batches: &[RecordBatch]) -> Result<Failing, TooMany> {
        let mut found = Vec::new();
        let id = BucketId(uuid::Uuid::nil());
        for (number, batch) in batches.iter().enumerate() {
            let mut parts: Vec<_> = std::iter::once(0..batch.num_rows()).collect();
            while let Some(part) = parts.pop() {
                if part.is_empty() {
                    continue;
                }
                let slice = batch.slice(part.start, part.len());
                let Err(failed) = self.attempt(id, index, &[slice]) else { continue };
                if part.len() == 1 {
                    found.push(((number, part.start), failed.to_string()));
                    if found.len() > MOST {
                        return Err(TooMany);
                    }
                    continue;
                }
                let middle = part.start + part.len() / 2;
                // Pushed in this order so that the first half is popped first.
                parts.push(middle..part.end);
                parts.push(part.start..middle);
            }
        }
        Ok(found)
    }

    fn put(
        &self,
        index: &IndexName,
        batch: &RecordBatch,
        row: usize,
        reason: &str,
    ) -> io::Result<()> {
        let time = |column: usize| {
            batch.column(column).as_primitive::<TimestampMicrosecondType>().value(row)
        };
        let name = |column: usize| {
            let names = batch.column(column).as_dictionary::<Int32Type>();
            let key = names.keys().value(row);
            names.values().as_string::<i32>().value(usize::try_from(key).unwrap_or(0)).to_owned()
        };
        let fields = batch.column(6).as_string::<i32>();
        self.aside.put(&Rejected {
            index,
            host: &name(3),
            source: &name(4),
            sourcetype: &name(5),
            time: time(0),
            index_time: time(1),
            fields: fields.is_valid(row).then(|| fields.value(row)),
            raw: batch.column(2).as_string_view().value(row),
            reason,
        })
    }
}

/// A row that is set aside, by batch number and row number, with the reason.
type Bad = ((usize, usize), String);
/// Rows that are set aside.
type Failing = Vec<Bad>;

/// The error that too many events fail for single events to be the cause.
#[derive(Debug)]
struct TooMany;

/// Why a bucket was not encoded.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("encoding panicked: {0}")]
    Panic(String),
    #[error("{0}")]
    Error(Arc<bucket::Error>),
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Panic(reason) => Self::EncodePanicked { reason },
            Failed::Error(error) => Self::Bucket(error),
        }
    }
}

/// Returns the arrival times of hot rows.
fn arrivals(batch: &RecordBatch) -> &[i64] {
    batch.column(1).as_primitive::<TimestampMicrosecondType>().values()
}

/// Returns the checksum of the text of a hot row.
fn checksum(batch: &RecordBatch, row: usize) -> u32 {
    crc32fast::hash(batch.column(2).as_string_view().value(row).as_bytes())
}

/// Returns the earliest and the latest arrival time; `None` without rows.
fn span(batches: &[RecordBatch]) -> Option<Times> {
    let all = || batches.iter().flat_map(|batch| arrivals(batch).iter().copied());
    Some(all().min()?..=all().max()?)
}

/// Returns the rows that arrived in a range.
fn within(batches: &[RecordBatch], times: &Times) -> Vec<RecordBatch> {
    let mut out = Vec::new();
    for batch in batches {
        let mut from = 0;
        for run in arrivals(batch).chunk_by(|a, b| times.contains(a) == times.contains(b)) {
            if times.contains(&run[0]) {
                out.push(batch.slice(from, run.len()));
            }
            from += run.len();
        }
    }
    out
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a message".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

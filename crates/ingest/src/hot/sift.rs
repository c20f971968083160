//! Separates events that cannot be encoded: they are set aside, and the rest of the bucket is encoded.
//!
//! An event cannot be stored for one of three reasons: it is larger than inputs accept now (a journal of an
//! earlier version), encoding it fails or panics, or the process dies. The first two are found here by trial,
//! the third by [`Attempts`].

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, TimestampMicrosecondType};
use bucket::{FieldSource, WriteOptions, Written};
use model::{BucketId, EventBatch, IndexName, JournalPosition, StreamId};

use super::aside::{Aside, Rejected};
use super::attempts::{Attempts, Verdict};
use super::rows::Rows;
use super::rows::select;
use super::store::RolledBucket;
use crate::Error;

/// Maximum number of events of one bucket that are set aside. If more fail, the events are not the cause, and
/// the bucket waits.
const MOST: usize = 1_000;
/// Factor by which an event of the journal may exceed `maxEventSize`, so that lowering the setting does not
/// set aside events that were accepted before.
const GRACE: usize = 4;

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
    /// Returns the rows of a journal record that may become hot; sets the others aside.
    pub(crate) fn sift(
        &self,
        stream: &StreamId,
        position: JournalPosition,
        batch: EventBatch,
        first_index_time: i64,
    ) -> EventBatch {
        let limit = self.max_event_size.saturating_mul(GRACE);
        let large = |row: &usize| batch.row(*row).len() > limit;
        let mut out: Vec<(usize, String)> = Vec::new();
        if batch.raw.len() > limit {
            let reason = || format!("the event has more than {limit} bytes (4 times maxEventSize)");
            out.extend((0..batch.rows()).filter(large).map(|row| (row, reason())));
        }
        let died = || "the server ended while it encoded this event".to_owned();
        out.extend(self.attempts.poison(stream, position).into_iter().map(|row| (row, died())));
        if let Verdict::Try(parts) = self.attempts.verdict(stream, position, batch.rows()) {
            tracing::warn!(
                position = position.0, index = %stream.index, parts = parts.len(),
                "the server ended while it encoded a bucket of this record; it is tried alone"
            );
            for part in parts {
                self.try_part(stream, position, &batch, part, &mut out);
            }
        }
        if out.is_empty() {
            return batch;
        }
        out.sort();
        out.dedup_by_key(|(row, _)| *row);
        self.without(batch, first_index_time, &out)
    }

    /// Encodes a part of a record, except rows that are known to be bad, and adds those that fail.
    fn try_part(
        &self,
        stream: &StreamId,
        position: JournalPosition,
        batch: &EventBatch,
        part: Range<usize>,
        out: &mut Vec<(usize, String)>,
    ) {
        let wanted: Vec<usize> =
            part.clone().filter(|row| !out.iter().any(|(bad, _)| bad == row)).collect();
        let _mark = match self.attempts.trial(stream, position, part) {
            Ok(mark) => mark,
            Err(error) => return tracing::warn!(%error, "a trial cannot be noted and is left out"),
        };
        let rows = Rows::new(select(batch, |row| wanted.binary_search(&row).is_ok()), 0);
        let Ok(columns) = rows.columns(&bucket::hot_schema()) else { return };
        if let Ok(found) = self.failing(&stream.index, &[columns]) {
            out.extend(found.into_iter().map(|((_, row), why)| (wanted[row], why)));
        }
    }

    /// Sets rows of a batch aside; rows that cannot be set aside remain in the batch.
    fn without(
        &self,
        batch: EventBatch,
        first_index_time: i64,
        rows: &[(usize, String)],
    ) -> EventBatch {
        let origins: Vec<_> = batch.each_origin().cloned().collect();
        let mut gone = Vec::with_capacity(rows.len());
        for (row, reason) in rows {
            let Some(origin) = origins.get(*row) else { continue };
            let put = self.aside.put(&Rejected {
                index: &batch.index,
                host: &origin.host,
                source: &origin.source,
                sourcetype: &origin.sourcetype,
                time: batch.time[*row].0,
                index_time: first_index_time.saturating_add(i64::try_from(*row).unwrap_or(0)),
                fields: None,
                raw: str::from_utf8(batch.row(*row)).unwrap_or_default(),
                reason,
            });
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
        let (id, stream, content) = (rolled.content.id, &rolled.stream, &rolled.content);
        let _mark = self.attempts.begin(stream, content.from, content.upto).inspect_err(|error| {
            tracing::debug!(%error, "the encoding of a bucket is not noted");
        });
        let batches = rolled.batches()?;
        let written = match self.attempt(id, &stream.index, &batches) {
            Ok(written) => Some(written),
            Err(failed) => self.salvage(id, &stream.index, batches, failed)?,
        };
        self.attempts.succeeded(stream, content.upto);
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
        let mut kept = batches.clone();
        for ((batch, row), reason) in found.iter().rev() {
            self.put(index, &batches[*batch], *row, reason).map_err(|source| Error::SetAside {
                path: self.aside.watch().borrow().directory.clone(),
                source: Arc::new(source),
            })?;
            let whole = kept[*batch].clone();
            kept[*batch] = whole.slice(0, *row);
            kept.insert(batch + 1, whole.slice(row + 1, whole.num_rows() - row - 1));
        }
        kept.retain(|batch| batch.num_rows() > 0);
        if kept.is_empty() {
            return Ok(None);
        }
        self.attempt(id, index, &kept).map(Some).map_err(Error::from)
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
    ) -> std::io::Result<()> {
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

/// Failing rows, by batch number and row number, each with the reason.
type Failing = Vec<((usize, usize), String)>;

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

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a message".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

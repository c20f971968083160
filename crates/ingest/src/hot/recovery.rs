//! Recovery at the start: journal records that the catalog does not cover become hot rows again, each exactly
//! once.
//!
//! A record is replayed if its position is above the position of its stream in the catalog. A noted roll
//! above that position means that an object may have been uploaded that the catalog does not know: it is
//! deleted, because its events are replayed into another bucket.
//!
//! Memory is bounded regardless of the length of the journal: buckets that are full go to the uploader at
//! once, and the replay pauses while too many buckets wait to be encoded.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use foldhash::{HashMap, HashSet};
use knowledge::AckLevel;
use model::{EventTime, JournalPlace, JournalPosition};
use runtime::metrics as names;

use super::limits::HotLimits;
use super::roll::note_roll;
use super::rows::Rows;
use super::sift::Sifter;
use super::store::{HotStore, RollReason};
use super::stored::StoredRecords;
use super::upload::Uploads;
use crate::Error;
use crate::ack::{AckShare, Waiting};
use crate::channels::Channels;
use crate::journal::{
    Adopted, BatchRecord, Delivered, Journal, Known, Ledger, Record, Scan, StreamRef, number_of,
    scan_segment, segments,
};
use crate::orphans::Kept;
use crate::set::SetId;

/// The result of recovering the journal of a set.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) journal: Journal,
    /// The highest position of any record.
    pub(crate) last_position: u64,
    /// The latest arrival time of any replayed event, in microseconds.
    pub(crate) last_index_time: i64,
    pub(crate) events: u64,
    /// Objects that must be deleted.
    pub(crate) orphans: Vec<String>,
    /// Planned objects that are not deleted, see [`Before::keep`].
    pub(crate) kept: Vec<String>,
    /// Acknowledged records that are missing from the journal.
    pub(crate) lost: Vec<Lost>,
    /// For each stream with records in stored buckets, the position up to which it is stored.
    pub(crate) stored: HashMap<StreamRef, JournalPosition>,
}

/// Acknowledged records that are missing from the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The segment's file.
    pub path: PathBuf,
    /// Maximum number of lost events; some may be in object storage.
    pub events: u64,
    /// Why they are missing.
    pub reason: String,
}

impl Lost {
    /// Logs the loss.
    pub(crate) fn report(&self) {
        let Self { path, events, reason } = self;
        tracing::error!(
            path = %path.display(), events, reason,
            "acknowledged events are missing from the journal"
        );
        metrics::counter!(names::JOURNAL_LOST).increment(*events);
    }
}

/// The destination of replayed events.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    pub(crate) hot: Arc<HotStore>,
    pub(crate) limits: Arc<HotLimits>,
    pub(crate) uploads: Arc<Uploads>,
    /// Sets events aside that no bucket can hold.
    pub(crate) sifter: Arc<Sifter>,
    /// Maximum number of buckets in memory that are not encoded.
    pub(crate) max_rolled: usize,
}

/// The state of a set before its journal is read.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) ledger: Ledger,
    pub(crate) known: Known,
    /// The position of each stream in the catalog.
    pub(crate) committed: HashMap<StreamRef, JournalPosition>,
    /// Records in stored buckets for which the catalog has no position.
    pub(crate) stored: StoredRecords,
    /// Planned objects that are not deleted.
    pub(crate) keep: Option<Kept>,
    /// Whether the journal may have a record twice, as the log of another indexer may.
    pub(crate) may_repeat: bool,
}

struct Replay<'a> {
    id: SetId,
    known: &'a Known,
    stored: &'a StoredRecords,
    committed: &'a HashMap<StreamRef, JournalPosition>,
    keep: Option<Kept>,
    to: &'a Destination,
    channels: &'a Arc<Channels>,
    now: EventTime,
    last: HashMap<StreamRef, JournalPosition>,
    /// Number of events of the segment that is being read.
    in_segment: u64,
    /// Parts of a numbered input whose note has not been read yet.
    parts: Vec<BatchRecord>,
    /// The numbered input whose parts are being replayed.
    under_way: Option<AckShare>,
    /// The batches that were read so far, if batches may repeat.
    seen: Option<HashSet<(StreamRef, JournalPosition)>>,
    out: Recovered,
}

/// Reads the journal of a set and fills the hot store.
///
/// # Errors
/// The directory cannot be read or written. Damage inside is logged and survived.
pub(crate) fn recover_set(
    directory: &Path,
    segment_bytes: u64,
    id: SetId,
    before: Before,
    to: &Destination,
    (channels, now): (&Arc<Channels>, EventTime),
) -> Result<Recovered, Error> {
    let Before { ledger, known, committed, stored, keep, may_repeat } = before;
    let mut journal = Journal::open(directory, segment_bytes, ledger)?;
    let listed = known.sealed.iter().map(|sealed| sealed.number);
    listed.chain(known.mark.map(|mark| mark.segment)).for_each(|n| journal.number_after(n));
    let mut out = Recovered {
        journal,
        last_position: highest(&known, &committed).0,
        last_index_time: i64::MIN,
        events: 0,
        orphans: Vec::new(),
        kept: Vec::new(),
        lost: Vec::new(),
        stored: HashMap::default(),
    };
    let found = segments(directory)?;
    out.lost = missing(directory, &found, &known, &committed);
    let mut replay = Replay {
        id,
        known: &known,
        stored: &stored,
        committed: &committed,
        keep,
        to,
        channels,
        now,
        last: HashMap::default(),
        in_segment: 0,
        parts: Vec::new(),
        under_way: None,
        seen: may_repeat.then(HashSet::default),
        out,
    };
    for path in found {
        replay.segment(path)?;
    }
    let mut out = replay.out;
    channels.save(now)?;
    out.journal.begin_ledger();
    out.journal.release(|stream| committed.get(stream).copied());
    Ok(out)
}

/// Returns the highest position of the set that is known without reading the journal.
fn highest(known: &Known, committed: &HashMap<StreamRef, JournalPosition>) -> JournalPosition {
    let sealed = known.sealed.iter().flat_map(|sealed| &sealed.streams).map(|(_, _, last)| *last);
    let all = sealed.chain(known.mark.map(|mark| mark.position)).chain(committed.values().copied());
    all.max().unwrap_or_default()
}

/// Returns acknowledged segments that are not completely in object storage and whose files are missing.
pub(crate) fn missing(
    directory: &Path,
    found: &[PathBuf],
    known: &Known,
    committed: &HashMap<StreamRef, JournalPosition>,
) -> Vec<Lost> {
    let is_there = |number| found.iter().any(|path| number_of(path) == Some(number));
    let mut lost: Vec<(u64, u64)> = known
        .sealed
        .iter()
        .filter(|sealed| !is_there(sealed.number))
        .filter(|sealed| !sealed.is_covered(|stream| committed.get(stream).copied()))
        .map(|sealed| (sealed.number, sealed.events))
        .collect();
    let highest = committed.values().copied().max().unwrap_or_default();
    let listed = |number| known.sealed.iter().any(|sealed| sealed.number == number);
    let newest = known.mark.filter(|mark| {
        mark.bytes > 0
            && !is_there(mark.segment)
            && !listed(mark.segment)
            && mark.position > highest
    });
    lost.extend(newest.map(|mark| (mark.segment, mark.events)));
    let lost = lost.into_iter().map(|(number, events)| Lost {
        path: directory.join(format!("{number:020}.journal")),
        events,
        reason: "the file is missing".to_owned(),
    });
    lost.collect()
}

impl Replay<'_> {
    fn segment(&mut self, path: PathBuf) -> Result<(), Error> {
        self.last.clear();
        self.in_segment = 0;
        let mut records = 0;
        let mut scan = scan_segment(&path, |record| {
            records += 1;
            self.record(record);
        })?;
        metrics::counter!(names::JOURNAL_REPLAYED).increment(records);
        let torn = std::mem::take(&mut self.parts).len();
        if torn > 0 {
            tracing::warn!(
                path = %path.display(), records = torn,
                "parts of inputs whose end is missing are left out; they were never acknowledged"
            );
        }
        for damage in &scan.damage {
            tracing::error!(error = %damage, "journal damaged");
        }
        let damaged = self.note_lost(&path, &mut scan);
        if cut_tail(&path, &scan)? {
            let last = std::mem::take(&mut self.last);
            let (bytes, events) = (scan.whole, self.in_segment);
            self.out.journal.adopt(Adopted { path, bytes, events, last, damaged });
        }
        Ok(())
    }

    /// Records acknowledged data that is missing from a segment. Returns whether to keep the file.
    fn note_lost(&mut self, path: &Path, scan: &mut Scan) -> bool {
        let acknowledged = number_of(path).and_then(|number| self.known.acknowledged(number));
        let (bytes, events) = acknowledged.unwrap_or((0, 0));
        let cut = scan.whole < bytes;
        if !cut && scan.damage.is_empty() {
            return false;
        }
        let reason = match scan.damage.first() {
            Some(damage) if !cut => damage.to_string(),
            _ => format!(
                "{} of {bytes} acknowledged bytes can be read, the file has {}",
                scan.whole, scan.length
            ),
        };
        let events = events.saturating_sub(self.in_segment);
        self.out.lost.push(Lost { path: path.to_owned(), events, reason });
        let garbage = cut && scan.length > scan.whole;
        if garbage {
            // The unreadable part is kept, so that an administrator can try to recover it.
            scan.length = scan.whole;
        }
        garbage || !scan.damage.is_empty()
    }

    fn record(&mut self, record: Record) {
        let (stream, position) = match &record {
            Record::Batch(batch) if batch.part => return self.hold(record),
            Record::Delivered(note) => return self.delivered(note),
            Record::Batch(batch) => ((batch.batch.index.clone(), batch.lane), batch.position),
            Record::Roll(roll) => ((roll.index.clone(), roll.lane), roll.upto),
        };
        let covered = self.committed.get(&stream).is_some_and(|known| *known >= position);
        self.out.last_position = self.out.last_position.max(position.0);
        let last = self.last.entry(stream.clone()).or_default();
        *last = (*last).max(position);
        match record {
            Record::Batch(batch) => {
                let rows = i64::try_from(batch.batch.rows()).unwrap_or(i64::MAX);
                let newest = batch.first_index_time.saturating_add(rows);
                self.out.last_index_time = self.out.last_index_time.max(newest);
                self.in_segment += batch.batch.rows() as u64;
                let batch_id = (stream.clone(), position);
                let is_repeated = self.seen.as_mut().is_some_and(|seen| !seen.insert(batch_id));
                if covered || is_repeated {
                    return;
                }
                if self.stored.has(&batch.batch.index, batch.first_index_time) {
                    return self.is_stored(stream, position);
                }
                self.out.events += batch.batch.rows() as u64;
                let stream = self.id.stream(&batch.batch.index, batch.lane);
                let first = batch.first_index_time;
                let kept = self.to.sifter.sift(batch.batch, first);
                let rows = Rows::new(kept, first);
                self.to.hot.append(&stream, rows, position, self.now);
                // Levels that were set over REST are not yet known at the start; the lane has its own.
                let waits = stream.lane.place() != JournalPlace::Disk
                    || self.to.limits.ack_level(&stream.index) != AckLevel::Local;
                if let Some(share) = self.under_way.as_ref().filter(|_| waits) {
                    let waiting = Waiting { share: share.another(), events: 0, bytes: 0 };
                    self.to.hot.wait(&stream, waiting, self.now);
                }
                self.roll_full();
            }
            Record::Roll(roll)
                if !covered && self.keep.is_some_and(|keep| keep.has(position, roll.bucket)) =>
            {
                self.out.kept.push(roll.path);
            }
            Record::Roll(roll) if !covered => self.out.orphans.push(roll.path),
            Record::Roll(_) | Record::Delivered(_) => {}
        }
    }

    /// Handles a record that a stored bucket has: the stream is stored up to it, unless earlier records of
    /// the stream have just been replayed; then as soon as those are stored.
    fn is_stored(&mut self, stream: StreamRef, position: JournalPosition) {
        let id = self.id.stream(&stream.0, stream.1);
        if !self.to.hot.covers(&id, position) {
            self.out.stored.insert(stream, position);
        }
    }

    fn hold(&mut self, record: Record) {
        let Record::Batch(batch) = record else { return };
        // The position is used even if the note of the input never follows.
        self.out.last_position = self.out.last_position.max(batch.position.0);
        self.parts.push(batch);
    }

    /// Replays the parts of an input, because all of them are present.
    fn delivered(&mut self, note: &Delivered) {
        self.channels.note(note.id, self.now);
        // If the index requires it, the sender is acknowledged when the buckets are in the catalog.
        self.under_way = Some(AckShare::of_batch(self.channels.hold(note.id)).0);
        for batch in std::mem::take(&mut self.parts) {
            if note.parts.contains(&batch.position) {
                self.record(Record::Batch(BatchRecord { part: false, ..batch }));
            } else {
                self.parts.push(batch);
            }
        }
        if let Some(share) = self.under_way.take() {
            share.complete(0, 0);
        }
    }

    fn roll_full(&mut self) {
        let Destination { hot, limits, uploads, max_rolled, .. } = self.to;
        for (stream, reason) in hot.due(self.id, self.now, limits, 0) {
            if !matches!(reason, RollReason::Size | RollReason::Memory) {
                continue;
            }
            let Some(rolled) = hot.roll(&stream) else { continue };
            note_roll(&mut self.out.journal, None, &rolled, RollReason::Recovery);
            uploads.submit(rolled);
        }
        while hot.rolled_count(self.id) >= *max_rolled && !uploads.is_over() {
            uploads.wait_for_progress(Duration::from_millis(250));
        }
    }
}

/// Truncates a torn tail. Returns whether anything of the segment is left.
fn cut_tail(path: &Path, scan: &Scan) -> Result<bool, Error> {
    if scan.whole == scan.length && scan.whole > 0 {
        return Ok(true);
    }
    let fail = |error| Error::journal_write(path, error);
    let torn = scan.length - scan.whole;
    tracing::warn!(
        path = %path.display(), keep = scan.whole, cut = torn,
        "the journal has a torn tail, which was never acknowledged; it is cut off"
    );
    if scan.whole == 0 {
        fs::remove_file(path).map_err(fail)?;
        return Ok(false);
    }
    let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
    file.set_len(scan.whole).and_then(|()| file.sync_all()).map_err(fail)?;
    Ok(true)
}

//! The committer of a pipeline set: journal, hot buckets, acknowledgement, rolling.
//!
//! One thread takes the records that indexing has prepared, in groups: it writes a group to the journal,
//! syncs once, makes the rows searchable, and only then acknowledges. During the sync, the next group gathers
//! in the queue. The thread also rolls buckets and passes them to the uploader. While too many rolled buckets
//! wait in memory to be encoded, and the open buckets have grown large meanwhile, it takes nothing more, and
//! the queues exert back-pressure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inputs::Durability;
use knowledge::AckLevel;
use model::{EventTime, JournalPlace, StreamId};
use runtime::metrics as names;

use super::backlog::Backlog;
use super::gather;
use super::messages::{Indexed, IndexedRecord, Order};
use super::meter::Meter;
use super::queue::{Popped, Queue};
use crate::Settings;
use crate::ack::{AckShare, Waiting};
use crate::gate::Gate;
use crate::hot::limits::HotLimits;
use crate::hot::roll::roll;
use crate::hot::spool::Spool;
use crate::hot::store::{HotStore, RollReason};
use crate::hot::upload::Uploads;
use crate::journal::Pending;
use crate::remote::Shipments;
use crate::set::SetState;
use crate::tally::Tally;

/// Interval at which buckets are checked while no records arrive.
const TICK: Duration = Duration::from_millis(250);
/// Minimum time between two reports of the metrics while groups arrive: a report asks for the free space of
/// file systems, and costs more CPU time than a small group.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// How long to wait for the next part of a numbered input before checking whether one can still arrive.
const PART: Duration = Duration::from_millis(1);

/// See the module.
pub(crate) struct Commit {
    pub(crate) set: Arc<SetState>,
    pub(crate) queue: Arc<Queue<Indexed>>,
    pub(crate) hot: Arc<HotStore>,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) limits: Arc<HotLimits>,
    pub(crate) spool: Arc<Spool>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) backlog: Backlog,
    /// The metrics of the queues of the set.
    pub(crate) meters: Vec<Meter>,
    /// Whether intake has ended: then the committer no longer waits for object storage.
    pub(crate) stopping: Arc<AtomicBool>,
}

impl Commit {
    /// Runs until the queue is closed and empty.
    pub(crate) fn run(self) {
        let mut reported = None::<Instant>;
        loop {
            let first = match self.queue.pop_timeout(TICK) {
                Popped::Item(first) => Some(first),
                Popped::Timeout => None,
                Popped::Closed => return,
            };
            let is_idle = first.is_none();
            if let Some(first) = first {
                self.take_group(first);
            }
            self.roll_due();
            if is_idle || reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
                self.report();
                reported = Some(Instant::now());
            }
            self.wait_for_uploads();
        }
    }

    /// Gathers a group up to its maximum size and time, and commits it. An order ends a group.
    fn take_group(&self, first: Indexed) {
        let mut group = Vec::new();
        let mut bytes = 0;
        let deadline = Instant::now() + self.settings.journal_group_interval;
        let mut next = Some(first);
        while let Some(item) = next {
            match item {
                Indexed::Record(record) => {
                    bytes += record.bytes.len();
                    group.push(record);
                }
                Indexed::Order(order, share) => {
                    let early = self.complete(&mut group);
                    self.commit_group(std::mem::take(&mut group));
                    early.into_iter().for_each(|(order, share)| self.obey(&order, share));
                    self.obey(&order, share);
                    return;
                }
            }
            if bytes >= self.settings.journal_group_size {
                break;
            }
            next = self.queue.try_pop().or_else(|| {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                match self.queue.pop_timeout(left) {
                    Popped::Item(item) => Some(item),
                    Popped::Timeout | Popped::Closed => None,
                }
            });
        }
        let orders = self.complete(&mut group);
        self.commit_group(group);
        orders.into_iter().for_each(|(order, share)| self.obey(&order, share));
    }

    /// Gathers the missing parts of numbered inputs. Returns orders that arrived meanwhile.
    #[allow(clippy::vec_box)]
    fn complete(&self, group: &mut Vec<Box<IndexedRecord>>) -> Vec<(Order, AckShare)> {
        let mut orders = Vec::new();
        while !gather::is_whole(group) {
            match self.queue.pop_timeout(PART) {
                Popped::Item(Indexed::Record(record)) => group.push(record),
                Popped::Item(Indexed::Order(order, share)) => orders.push((order, share)),
                Popped::Timeout => {}
                // The previous stage has ended, and is about to drop its last share.
                Popped::Closed => std::thread::yield_now(),
            }
        }
        gather::drop_torn(group);
        orders
    }

    #[allow(clippy::vec_box)]
    fn commit_group(&self, mut group: Vec<Box<IndexedRecord>>) {
        if group.is_empty() {
            return;
        }
        self.place(&mut group);
        let notes = gather::notes(&mut group);
        let mut pending = Vec::with_capacity(group.len() + notes.len());
        let mut next_note = notes.iter().peekable();
        for (at, record) in group.iter().enumerate() {
            pending.push(Pending {
                stream: (record.stream.index.clone(), record.stream.lane),
                position: record.position,
                events: record.rows.rows() as u64,
                bytes: &record.bytes,
            });
            while let Some(note) = next_note.next_if(|note| note.after == at) {
                pending.push(note.pending());
            }
        }
        let began = Instant::now();
        let written = self.set.journal().append(&pending);
        drop(pending);
        metrics::histogram!(names::JOURNAL_SYNC).record(began.elapsed().as_secs_f64());
        let now = self.set.clock.now();
        match written {
            Ok(()) => {
                notes.iter().for_each(|note| self.set.channels.note(note.id, now));
                let mut shipments = Shipments::default();
                let mut next_note = notes.iter().peekable();
                for (at, record) in group.into_iter().enumerate() {
                    self.publish(*record, now, &mut shipments);
                    while let Some(note) = next_note.next_if(|note| note.after == at) {
                        note.ship(&mut shipments);
                    }
                }
                self.set.ship(shipments);
            }
            Err(error) => {
                tracing::warn!(%error, records = group.len(), "events are refused");
                metrics::counter!(names::INGEST_REFUSED, "reason" => "journal")
                    .increment(group.len() as u64);
                for record in group {
                    record.share.fail(error.clone().into());
                }
            }
        }
    }

    fn publish(&self, record: IndexedRecord, now: EventTime, shipments: &mut Shipments) {
        let IndexedRecord { stream, position, bytes: journaled, rows, share } = record;
        let (events, bytes) = (rows.rows() as u64, rows.raw_bytes() as u64);
        let index = stream.index.as_str().to_owned();
        metrics::counter!(names::INGEST_EVENTS, "index" => index.clone()).increment(events);
        metrics::counter!(names::INGEST_BYTES, "index" => index).increment(bytes);
        self.tally.count(&stream.index, &rows, now.0, share.age());
        self.hot.append(&stream, rows, position, now);
        // The only place that decides what an acknowledgement waits for. Parts of one input may have
        // different levels; in a lane of another place all of them wait for the journal there.
        if let Some(shipment) = shipments.to(stream.lane.place()) {
            shipment.push(&(stream.index, stream.lane), position, journaled.into());
            return shipment.waiting.push(Waiting::of_journaled(share, events, bytes));
        }
        match self.limits.ack_level(&stream.index) {
            AckLevel::Local => {
                self.limits.note_local(&stream.index);
                share.complete_as(Durability::Local, events, bytes);
            }
            AckLevel::Remote | AckLevel::Replicated => {
                self.hot.wait(&stream, Waiting::of_journaled(share, events, bytes), now);
            }
        }
    }

    fn obey(&self, order: &Order, share: AckShare) {
        if let Order::Roll(index) = order {
            for stream in self.hot.open_streams(self.set.id, index.as_ref()) {
                self.roll(&stream, RollReason::Asked);
            }
        }
        share.complete(0, 0);
    }

    fn roll_due(&self) {
        let journal = self.set.journal().bytes();
        let mut due = self.hot.due(self.set.id, self.set.clock.now(), &self.limits, journal);
        for place in [JournalPlace::Remote, JournalPlace::Replicated] {
            let most = self.settings.max_remote_journal_objects;
            if due.is_empty() && self.set.needs_roll(place, most) {
                let oldest = self.hot.oldest_at(self.set.id, place);
                due.extend(oldest.map(|stream| (stream, RollReason::Journal)));
            }
        }
        for (stream, reason) in due {
            self.roll(&stream, reason);
        }
    }

    pub(super) fn roll(&self, stream: &StreamId, reason: RollReason) {
        roll(&self.set, &self.hot, &self.uploads, stream, reason);
    }

    /// Waits while too many buckets in memory are not encoded yet: back-pressure of the CPU.
    fn wait_for_uploads(&self) {
        let full = || self.backlog.is_full();
        if !full() {
            return;
        }
        let waiting = self.settings.max_rolled_buckets;
        tracing::info!(
            set = self.set.id.set,
            waiting,
            "the journal waits for buckets to be encoded"
        );
        while full() && !self.stopping.load(Ordering::Relaxed) {
            self.uploads.wait_for_progress(TICK);
            self.report();
        }
    }

    fn report(&self) {
        let set = self.set.id.set.to_string();
        let journal = self.set.journal().bytes();
        let spool = self.spool.status();
        #[allow(clippy::cast_precision_loss)]
        {
            metrics::gauge!(names::JOURNAL_BYTES, "set" => set).set(journal as f64);
            metrics::gauge!(names::HOT_BYTES).set(self.hot.raw_bytes() as f64);
            metrics::gauge!(names::SPOOL_BYTES).set(spool.bytes as f64);
            metrics::gauge!(names::SPOOL_BUCKETS).set(spool.buckets as f64);
            metrics::gauge!(names::DISK_SIZE).set(spool.disk_bytes as f64);
            metrics::gauge!(names::DISK_FREE).set(spool.free_bytes as f64);
        }
        self.gate.observe();
        for meter in &self.meters {
            meter.report();
        }
    }
}

//! The disk of a machine: its own journals, those of indexers that it recovers, and copies of the journals
//! of others. Killing a process loses nothing, a power failure loses unsynced data, and a lost disk loses
//! everything.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use ingest::simulation::Stream;
use model::{IndexerId, JournalPosition};
use peers::incarnation::Noted;
use uuid::Uuid;

/// Number of records per journal segment.
const SEGMENT: usize = 8;

/// A hot set: the indexer that received its events, and its number.
pub(crate) type SetKey = (IndexerId, u16);

/// A record on the disk.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) stream: Stream,
    pub(crate) position: JournalPosition,
    pub(crate) bytes: Bytes,
    pub(crate) is_synced: bool,
}

/// The journal of a set, in segments that are deleted as a whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct DiskJournal {
    pub(crate) segments: Vec<Vec<Stored>>,
    /// A position at or above that of every record when it was written; kept beside the segments, not
    /// synced.
    pub(crate) mark: JournalPosition,
}

impl DiskJournal {
    /// Adds a record, which is not synced yet.
    pub(crate) fn append(&mut self, record: Stored) {
        self.mark = self.mark.max(record.position);
        match self.segments.last_mut().filter(|segment| segment.len() < SEGMENT) {
            Some(segment) => segment.push(record),
            None => self.segments.push(vec![record]),
        }
    }

    pub(crate) fn sync(&mut self) {
        self.segments.iter_mut().flatten().for_each(|record| record.is_synced = true);
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &Stored> {
        self.segments.iter().flatten()
    }

    /// All records, one after the other.
    pub(crate) fn bytes(&self) -> Bytes {
        let mut bytes = BytesMut::new();
        self.records().for_each(|record| bytes.extend_from_slice(&record.bytes));
        bytes.freeze()
    }

    /// Removes segments whose records are all committed.
    pub(crate) fn release(&mut self, committed: &BTreeMap<Stream, JournalPosition>) {
        let is_covered = |record: &Stored| committed.get(&record.stream) >= Some(&record.position);
        self.segments.retain(|segment| !segment.iter().all(is_covered));
    }
}

/// A copy of the journal of another indexer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copy {
    pub(crate) objects: BTreeMap<u64, Bytes>,
    pub(crate) is_sealed: bool,
    /// The highest epoch of a request so far.
    epoch: u64,
}

impl Copy {
    /// Whether a request of this epoch is accepted. Requests of earlier epochs are refused afterwards.
    /// Epoch 0 is that of requests that do not write.
    pub(crate) fn enter(&mut self, epoch: u64) -> bool {
        self.epoch = self.epoch.max(epoch);
        epoch == self.epoch || epoch == 0
    }

    /// Adds an object; `false` if the copy is sealed. A seal gets a number above those of all objects so
    /// far.
    pub(crate) fn put(&mut self, number: u64, data: &Bytes) -> bool {
        let last = self.objects.last_key_value().map(|(last, _)| *last);
        let number = match last.filter(|last| data.is_empty() && *last >= number) {
            Some(last) if !self.is_sealed => last + 1,
            _ => number,
        };
        if self.objects.get(&number) == Some(data) {
            return true;
        }
        if self.is_sealed {
            return data.is_empty();
        }
        self.objects.insert(number, data.clone());
        self.is_sealed = data.is_empty();
        true
    }

    /// Removes the objects below a number, except for those in `numbers` and seals.
    pub(crate) fn keep(&mut self, below: u64, numbers: &BTreeSet<u64>) {
        self.objects
            .retain(|number, data| *number >= below || data.is_empty() || numbers.contains(number));
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) journals: BTreeMap<SetKey, DiskJournal>,
    /// The epochs of the logs of others that were read to this disk completely.
    pub(crate) fetched: BTreeMap<IndexerId, u64>,
    pub(crate) copies: BTreeMap<(IndexerId, Uuid), Copy>,
    /// Whether records that the disk has lost are being restored.
    pub(crate) is_restoring: bool,
    /// Number of times that its disk was lost.
    pub(crate) losses: u64,
    /// The identity of its process, if it is another one than at first. An operator puts it back after the
    /// loss of the disk.
    pub(crate) id: Option<IndexerId>,
    /// What the journal's directory has noted about its starts; synced.
    pub(crate) noted: Option<Noted>,
}

impl Machine {
    /// Simulates a power failure.
    pub(crate) fn lose_power(&mut self) {
        for journal in self.journals.values_mut() {
            for segment in &mut journal.segments {
                segment.retain(|record| record.is_synced);
            }
            journal.segments.retain(|segment| !segment.is_empty());
            // Not synced: the mark falls back, in the worst case to the last synced record.
            let last = journal.records().map(|record| record.position).max();
            journal.mark = journal.mark.min(last.unwrap_or_default());
        }
    }

    /// Replaces the disk by an empty one.
    pub(crate) fn lose_disk(&mut self) {
        *self = Self { losses: self.losses + 1, id: self.id, ..Self::default() };
    }
}

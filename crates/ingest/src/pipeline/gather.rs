//! Numbered inputs in a group of records: the group has all parts of an input or none.
//!
//! Stages preserve the order, so the parts of an input follow each other; the committer only has to gather
//! until no other stage holds a share of an input of its group. If a part was lost on the way, the other
//! parts are dropped too, and the sender repeats the whole input.

use foldhash::HashMap;
use inputs::BatchId;
use model::JournalPosition;

use super::messages::IndexedRecord;
use crate::journal::{Delivered, Pending, StreamRef, encode_delivered, mark_part};
use crate::remote::Shipments;

/// The note that follows the last part of an input.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) id: BatchId,
    /// Index of the record in the group that it follows.
    pub(crate) after: usize,
    stream: StreamRef,
    position: JournalPosition,
    bytes: Vec<u8>,
}

impl Note {
    /// Returns the note as a record for the journal.
    pub(crate) fn pending(&self) -> Pending<'_> {
        let (stream, position) = (self.stream.clone(), self.position);
        Pending { stream, position, events: 0, bytes: &self.bytes }
    }

    /// Adds the note to the journal in another place that has the parts of its input.
    pub(crate) fn ship(&self, shipments: &mut Shipments) {
        if let Some(shipment) = shipments.to(self.stream.1.place()) {
            shipment.push(&self.stream, self.position, self.bytes.clone().into());
        }
    }
}

/// Whether the group has all parts of each of its numbered inputs.
pub(crate) fn is_whole(group: &[Box<IndexedRecord>]) -> bool {
    let mut held: HashMap<BatchId, usize> = HashMap::default();
    for record in group {
        if let Some(id) = record.share.batch() {
            *held.entry(id).or_default() += 1;
        }
    }
    held.is_empty()
        || group.iter().all(|record| {
            let id = record.share.batch();
            id.is_none_or(|id| held.get(&id) == Some(&record.share.holders()))
        })
}

/// Drops the parts of inputs that have lost a part; their senders get an error.
#[allow(clippy::vec_box)]
pub(crate) fn drop_torn(group: &mut Vec<Box<IndexedRecord>>) {
    group.retain(|record| record.share.batch().is_none() || !record.share.has_failed());
}

/// Marks the parts of numbered inputs and creates their notes, in the order of the records.
pub(crate) fn notes(group: &mut [Box<IndexedRecord>]) -> Vec<Note> {
    let mut parts: HashMap<BatchId, (usize, Vec<JournalPosition>)> = HashMap::default();
    for (at, record) in group.iter_mut().enumerate() {
        if let Some(id) = record.share.batch() {
            mark_part(&mut record.bytes);
            let (last, positions) = parts.entry(id).or_default();
            *last = at;
            positions.push(record.position);
        }
    }
    let mut notes: Vec<_> = parts
        .into_iter()
        .map(|(id, (after, parts))| {
            let record = &group[after];
            let stream = (record.stream.index.clone(), record.stream.lane);
            let bytes = encode_delivered(&Delivered { id, parts }, &stream);
            Note { id, after, stream, position: record.position, bytes }
        })
        .collect();
    notes.sort_by_key(|note| note.after);
    notes
}

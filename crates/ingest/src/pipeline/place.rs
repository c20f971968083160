//! Choice of the open hot bucket for each record of a group. The choice is made before the journal is
//! written, because recovery uses the lane in the journal.

use foldhash::HashMap;
use inputs::BatchId;
use knowledge::AckLevel;
use model::{JournalPlace, Lane, StreamId};

use super::commit::Commit;
use super::messages::IndexedRecord;
use crate::hot::lanes::{Choice, OpenLane, choose};
use crate::hot::store::RollReason;
use crate::journal::set_lane;

type Planned = HashMap<StreamId, OpenLane>;

/// The journals that have room, and the place of each numbered input. An input must go to one place as a
/// whole: a recovery from another journal would take its number for durable.
struct Places {
    open: [JournalPlace; 2],
    batches: HashMap<BatchId, JournalPlace>,
}

fn move_to(record: &mut IndexedRecord, lane: Lane) {
    if record.stream.lane != lane {
        record.stream.lane = lane;
        set_lane(&mut record.bytes, lane);
    }
}

impl Commit {
    /// Assigns a lane to each record, and rolls buckets that have to make room.
    #[allow(clippy::vec_box)]
    pub(super) fn place(&self, group: &mut [Box<IndexedRecord>]) {
        let mut planned = Planned::default();
        let places = self.places(group);
        for record in group {
            let Some(span) = record.rows.span() else { continue };
            let place = match record.share.batch() {
                Some(batch) => places.batches.get(&batch).copied().unwrap_or_default(),
                None => self.place_of(record, &places.open),
            };
            if record.stream.lane.is_quarantine() {
                move_to(record, Lane::QUARANTINE.at(place));
                continue;
            }
            let number = self.lane_for(record, (span, place), &mut planned);
            move_to(record, Lane::number(number).at(place));
            let raw_bytes = record.rows.raw_bytes() as u64;
            let used = record.position;
            let mine = OpenLane { number, first: span.0, last: span.1, raw_bytes, used };
            planned
                .entry(record.stream.clone())
                .and_modify(|lane| lane.join(&mine))
                .or_insert(mine);
        }
    }

    /// Returns the additional journal for a record, if that has room.
    fn place_of(&self, record: &IndexedRecord, open: &[JournalPlace]) -> JournalPlace {
        let wanted = match self.limits.ack_level(&record.stream.index) {
            AckLevel::Local => JournalPlace::Disk,
            AckLevel::Remote => JournalPlace::Remote,
            AckLevel::Replicated => JournalPlace::Replicated,
        };
        if open.contains(&wanted) { wanted } else { JournalPlace::Disk }
    }

    #[allow(clippy::vec_box)]
    fn places(&self, group: &[Box<IndexedRecord>]) -> Places {
        let open = [JournalPlace::Remote, JournalPlace::Replicated];
        let open = open.map(|place| if self.set.ships(place) { place } else { JournalPlace::Disk });
        let mut batches: HashMap<BatchId, JournalPlace> = HashMap::default();
        for record in group {
            let Some(batch) = record.share.batch() else { continue };
            let place = self.place_of(record, &open);
            // Parts of different levels go to the most durable place: object storage, then other indexers,
            // then this disk.
            let known = batches.entry(batch).or_default();
            if *known != JournalPlace::Remote && place != JournalPlace::Disk {
                *known = place;
            }
        }
        Places { open, batches }
    }

    fn lane_for(
        &self,
        record: &IndexedRecord,
        (span, place): ((i64, i64), JournalPlace),
        planned: &mut Planned,
    ) -> u8 {
        let index = &record.stream.index;
        let limits = self.limits.lanes(index);
        let mut open = self.hot.open_lanes(self.set.id, index, (limits.max_open, place));
        let same = |stream: &StreamId| stream.index == *index && stream.lane.place() == place;
        for plan in planned.iter().filter(|(stream, _)| same(stream)).map(|(_, plan)| plan) {
            match open.iter_mut().find(|lane| lane.number == plan.number) {
                Some(lane) => lane.join(plan),
                None => open.push(*plan),
            }
        }
        match choose(&open, span, limits) {
            Choice::Append(number) => number,
            Choice::RollFirst(number) => {
                let lane = Lane::number(number).at(place);
                let stream = self.set.id.stream(index, lane);
                self.roll(&stream, RollReason::Span);
                planned.remove(&stream);
                number
            }
        }
    }
}

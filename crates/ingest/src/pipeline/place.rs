//! Which of their index's open hot buckets the records of a group go to, decided before the journal
//! is told, because recovery puts them where the journal says.

use foldhash::{HashMap, HashSet};
use inputs::BatchId;
use knowledge::AckLevel;
use model::{Lane, StreamId};

use super::commit::Commit;
use super::messages::IndexedRecord;
use crate::hot::lanes::{Choice, OpenLane, choose};
use crate::hot::store::RollReason;
use crate::journal::set_lane;

type Planned = HashMap<StreamId, OpenLane>;

struct RemoteInputs {
    has_room: bool,
    batches: HashSet<BatchId>,
}

fn move_to(record: &mut IndexedRecord, lane: Lane) {
    if record.stream.lane != lane {
        record.stream.lane = lane;
        set_lane(&mut record.bytes, lane);
    }
}

impl Commit {
    /// Gives each record its lane, and rolls buckets that have to make room.
    #[allow(clippy::vec_box)]
    pub(super) fn place(&self, group: &mut [Box<IndexedRecord>]) {
        let mut planned = Planned::default();
        let remote = self.remote_inputs(group);
        for record in group {
            let Some(span) = record.rows.span() else { continue };
            let is_remote = match record.share.batch() {
                Some(batch) => remote.batches.contains(&batch),
                None => remote.has_room && self.is_remote(record),
            };
            if record.stream.lane.is_quarantine() {
                move_to(record, Lane::QUARANTINE.with_remote(is_remote));
                continue;
            }
            let number = self.lane_for(record, (span, is_remote), &mut planned);
            move_to(record, Lane::number(number).with_remote(is_remote));
            let raw_bytes = record.rows.raw_bytes() as u64;
            let used = record.position;
            let mine = OpenLane { number, first: span.0, last: span.1, raw_bytes, used };
            planned
                .entry(record.stream.clone())
                .and_modify(|lane| lane.join(&mine))
                .or_insert(mine);
        }
    }

    fn is_remote(&self, record: &IndexedRecord) -> bool {
        self.limits.ack_level(&record.stream.index) == AckLevel::Remote
    }

    /// Which numbered inputs go to the remote journal: as a whole, because whoever recovers one from there
    /// takes it for safe.
    #[allow(clippy::vec_box)]
    fn remote_inputs(&self, group: &[Box<IndexedRecord>]) -> RemoteInputs {
        let has_room = self.set.ships();
        let remote = group.iter().filter(|record| has_room && self.is_remote(record));
        RemoteInputs {
            has_room,
            batches: remote.filter_map(|record| record.share.batch()).collect(),
        }
    }

    fn lane_for(
        &self,
        record: &IndexedRecord,
        (span, is_remote): ((i64, i64), bool),
        planned: &mut Planned,
    ) -> u8 {
        let index = &record.stream.index;
        let limits = self.limits.lanes(index);
        let mut open = self.hot.open_lanes(self.set.id, index, (limits.max_open, is_remote));
        let same =
            |stream: &StreamId| stream.index == *index && stream.lane.is_remote() == is_remote;
        for plan in planned.iter().filter(|(stream, _)| same(stream)).map(|(_, plan)| plan) {
            match open.iter_mut().find(|lane| lane.number == plan.number) {
                Some(lane) => lane.join(plan),
                None => open.push(*plan),
            }
        }
        match choose(&open, span, limits) {
            Choice::Append(number) => number,
            Choice::RollFirst(number) => {
                let lane = Lane::number(number).with_remote(is_remote);
                let stream = self.set.id.stream(index, lane);
                self.roll(&stream, RollReason::Span);
                planned.remove(&stream);
                number
            }
        }
    }
}

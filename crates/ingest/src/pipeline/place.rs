//! Which of their index's open hot buckets the records of a group go to, decided before the journal
//! is told, because recovery puts them where the journal says.

use foldhash::HashMap;
use model::{Lane, StreamId};

use super::commit::Commit;
use super::messages::IndexedRecord;
use crate::hot::lanes::{Choice, OpenLane, choose};
use crate::hot::store::RollReason;
use crate::journal::set_lane;

type Planned = HashMap<StreamId, OpenLane>;

impl Commit {
    /// Gives each record its lane, and rolls buckets that have to make room.
    #[allow(clippy::vec_box)]
    pub(super) fn place(&self, group: &mut [Box<IndexedRecord>]) {
        let mut planned = Planned::default();
        for record in group {
            let Some(span) = record.rows.span() else { continue };
            if record.stream.lane.is_quarantine() {
                continue;
            }
            let number = self.lane_for(record, span, &mut planned);
            let lane = Lane::number(number);
            if record.stream.lane != lane {
                record.stream.lane = lane;
                set_lane(&mut record.bytes, lane);
            }
            let raw_bytes = record.rows.raw_bytes() as u64;
            let used = record.position;
            let mine = OpenLane { number, first: span.0, last: span.1, raw_bytes, used };
            planned
                .entry(record.stream.clone())
                .and_modify(|lane| lane.join(&mine))
                .or_insert(mine);
        }
    }

    fn lane_for(&self, record: &IndexedRecord, span: (i64, i64), planned: &mut Planned) -> u8 {
        let index = &record.stream.index;
        let limits = self.limits.lanes(index);
        let id = (self.set.id.indexer, self.set.id.set);
        let mut open = self.hot.open_lanes(id, index, limits.max_open);
        for plan in planned.iter().filter(|(stream, _)| stream.index == *index).map(|(_, p)| p) {
            match open.iter_mut().find(|lane| lane.number == plan.number) {
                Some(lane) => lane.join(plan),
                None => open.push(*plan),
            }
        }
        match choose(&open, span, limits) {
            Choice::Append(number) => number,
            Choice::RollFirst(number) => {
                let stream = self.set.id.stream(index, Lane::number(number));
                self.roll(&stream, RollReason::Span);
                planned.remove(&stream);
                number
            }
        }
    }
}

//! Rolling: a bucket is closed, its planned object is noted in the journal, and it is passed to the uploader.

use std::sync::Arc;

use model::StreamId;
use runtime::metrics as names;

use super::attempts::{Attempts, Times};
use super::store::{HotStore, RollReason, RolledBucket};
use super::upload::Uploads;
use crate::Error;
use crate::journal::{Journal, Pending, RollStarted, encode_roll};
use crate::remote::Shipments;
use crate::set::SetState;

/// Rolls the open bucket of a stream and passes it to the uploader.
pub(crate) fn roll(
    set: &SetState,
    hot: &HotStore,
    uploads: &Uploads,
    stream: &StreamId,
    reason: RollReason,
) {
    if let Some(rolled) = hot.roll(stream) {
        announce(set, uploads, rolled, reason);
    }
}

/// Rolls what a start has recovered and need not wait: sets that the settings no longer have get rid of what
/// they still hold, and events that processes may have died over are tried now, not once their bucket is
/// full.
pub(crate) fn roll_leftovers(
    sets: &[Arc<SetState>],
    (hot, uploads): (&HotStore, &Uploads),
    attempts: &Attempts,
    leftovers: &[u16],
) {
    let Some(first) = sets.first() else { return };
    attempts.keep_hot(first.id.indexer, &hot.arrivals());
    for set in sets {
        for stream in hot.open_streams(set.id, None) {
            let is_suspected = |times: Times| attempts.suspects(&stream, &times).is_some();
            if leftovers.contains(&set.id.set)
                || hot.open_arrivals(&stream).is_some_and(is_suspected)
            {
                roll(set, hot, uploads, &stream, RollReason::Recovery);
            }
        }
    }
}

/// Notes the planned object of a rolled bucket in the journal, so that a crash between upload and commit
/// leaves no orphan, and passes the bucket to the uploader.
fn announce(set: &SetState, uploads: &Uploads, rolled: Arc<RolledBucket>, reason: RollReason) {
    note_roll(&mut set.journal(), Some(set), &rolled, reason);
    uploads.submit(rolled);
}

/// Notes the planned object of a rolled bucket in the journal of `set`, and in the journal in another place
/// that has the records of the bucket too.
pub(crate) fn note_roll(
    journal: &mut Journal,
    set: Option<&SetState>,
    rolled: &RolledBucket,
    reason: RollReason,
) {
    let stream = &rolled.stream;
    metrics::counter!(names::ROLLS, "reason" => reason.name()).increment(1);
    tracing::info!(
        index = %stream.index, set = stream.set, bucket = %rolled.content.id,
        rows = rolled.content.rows, raw_bytes = rolled.content.raw_bytes,
        reason = reason.name(), "bucket rolled"
    );
    let note = encode_roll(&RollStarted {
        index: stream.index.clone(),
        lane: stream.lane,
        upto: rolled.content.upto,
        bucket: rolled.content.id,
        path: rolled.path.clone(),
    });
    let pending = Pending {
        stream: (stream.index.clone(), stream.lane),
        position: rolled.content.upto,
        events: 0,
        bytes: &note,
    };
    let appended = journal.append(&[pending]);
    let mut shipments = Shipments::default();
    if let Some(set) = set
        && let Some(shipment) = shipments.to(stream.lane.place())
    {
        let stream = (stream.index.clone(), stream.lane);
        shipment.push(&stream, rolled.content.upto, note.into());
        set.ship(shipments);
    }
    if let Err(error) = appended {
        // The upload continues, because it frees the disk. A crash at this moment could leave an object to
        // which nothing refers.
        let error: Error = error;
        tracing::warn!(%error, path = %rolled.path, "the roll could not be noted in the journal");
    }
}

//! Recognizes archived buckets whose events are all in a searchable bucket with another id.
//!
//! An archive has events twice if a bucket was copied, not removed from its index, merged with others, and
//! the merged bucket is or was frozen, too (`freezing` prevents it; earlier versions did not). Arrival times
//! and texts identify events, as in `hot::stored`; a merge keeps both. They are read only of buckets whose
//! times and sizes do not rule it out.
//!
//! Guarantees: a bucket whose events are not certainly in another one is thawed. Events twice are less harm
//! than events that are missing.

use model::{BucketHeader, ErrorKind, EventTime, TimeRange};

use super::Lifecycle;
use super::archive::{Archive, Found};
use super::join::QUARANTINE;
use crate::Error;
use crate::hot::one_object::is_of_object;
use crate::hot::stored::{Shared, arrivals_of, shared};

/// Maximum number of events of an archived bucket that are compared: their times and hashes are in memory.
/// Merges take small buckets only, with less than half of `mergeMaxBytes` of text.
const MAX_EVENTS: u64 = 4_000_000;

impl Lifecycle {
    /// Whether a searchable bucket has all events of an archived one.
    pub(super) async fn has_events_of(
        &self,
        archive: &Archive,
        found: &Found,
    ) -> Result<bool, Error> {
        let part = BucketHeader::of(&found.entry);
        let latest = EventTime(part.last_time.0.saturating_add(1));
        let range = TimeRange { earliest: part.first_time, latest };
        let snapshot = self.catalog.snapshot();
        let wholes = snapshot.buckets(&part.index).overlapping(&range);
        // Searches leave out quarantined buckets; the archive may have the only good copy of their events.
        let is_read =
            |whole: &BucketHeader| snapshot.document(QUARANTINE, &whole.id.to_string()).is_none();
        let wholes: Vec<BucketHeader> =
            wholes.filter(|whole| may_have(whole, &part) && is_read(whole)).collect();
        if wholes.is_empty() {
            return Ok(false);
        }
        let of_part = (archive.store(&self.store), found.at.as_ref(), part.size);
        let arrivals = match arrivals_of(of_part).await {
            Ok(arrivals) => arrivals,
            // Bringing it back names the reason.
            Err(error) if is_of_one_object(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        for whole in wholes {
            let path = whole.path();
            let of_whole = (&self.store, path.as_str(), whole.size);
            match shared(of_whole, (of_part, &arrivals), &range).await {
                Ok(Shared::All) => return Ok(true),
                Ok(Shared::NotAll | Shared::AllTimes) => {}
                // Bringing the archived one back names the reason, and a searchable one that cannot be read
                // does not have the events for any search either.
                Err(error) if is_of_one_object(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

/// Whether an error concerns one object, not its store.
fn is_of_one_object(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) || is_of_object(error)
}

/// Whether times and sizes allow that a bucket has all events of another one.
fn may_have(whole: &BucketHeader, part: &BucketHeader) -> bool {
    whole.state.is_searchable()
        && part.rows <= MAX_EVENTS
        && part.rows <= whole.rows
        && part.raw_bytes <= whole.raw_bytes
        && whole.first_time <= part.first_time
        && part.last_time <= whole.last_time
        && whole.first_index_time <= part.first_index_time
        && part.last_index_time <= whole.last_index_time
}

#[cfg(test)]
mod tests {
    use super::super::tests::bucket;
    use super::*;

    #[test]
    fn only_a_bucket_that_is_not_smaller_and_covers_the_times_may_have_all_events() {
        let part = bucket(1, 10, 20, 100);
        assert!(may_have(&bucket(2, 10, 20, 100), &part));
        assert!(may_have(&bucket(2, 5, 25, 300), &part));
        assert!(!may_have(&bucket(2, 11, 25, 300), &part), "it begins later");
        assert!(!may_have(&bucket(2, 5, 19, 300), &part), "it ends earlier");
        assert!(!may_have(&bucket(2, 5, 25, 99), &part), "it has less text");
        let mut large = BucketHeader::clone(&bucket(2, 5, 25, 300));
        large.rows = MAX_EVENTS + 1;
        assert!(may_have(&large, &part) && !may_have(&large, &large), "it is no part of a merge");
        let mut frozen = BucketHeader::clone(&bucket(2, 5, 25, 300));
        frozen.state = model::BucketState::Frozen;
        assert!(!may_have(&frozen, &part), "searches do not read it");
    }
}

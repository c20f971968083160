//! Choice of the open hot bucket of an index that takes rows of a given time span.
//!
//! A pure function of the open buckets. It prefers the bucket whose time span grows least; otherwise it opens
//! a new bucket, or, at `maxHotBuckets`, replaces the least recently used one. A bucket that is still small
//! is extended rather than rolled, so that mixed times do not produce tiny buckets.

use model::JournalPosition;

/// An open hot bucket, with the rows that are about to join it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenLane {
    pub(crate) number: u8,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) raw_bytes: u64,
    /// Position of the newest record in the bucket.
    pub(crate) used: JournalPosition,
}

impl OpenLane {
    /// Adds the rows that are about to join.
    pub(crate) fn join(&mut self, more: &Self) {
        self.first = self.first.min(more.first);
        self.last = self.last.max(more.last);
        self.raw_bytes += more.raw_bytes;
        self.used = self.used.max(more.used);
    }

    /// Returns the time span of the bucket if rows of `span` joined it, in microseconds.
    fn with(&self, span: (i64, i64)) -> i64 {
        self.last.max(span.1).saturating_sub(self.first.min(span.0))
    }

    /// Returns by how much the time span of the bucket would grow.
    fn stretch(&self, span: (i64, i64)) -> i64 {
        self.with(span).saturating_sub(self.last.saturating_sub(self.first))
    }
}

/// Limits of the open buckets of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneLimits {
    /// Maximum time span of one bucket, in microseconds.
    pub(crate) max_span: i64,
    /// Maximum number of open buckets.
    pub(crate) max_open: u8,
    /// Bytes of text below which a bucket is extended rather than rolled.
    pub(crate) small: u64,
}

/// The lane that takes the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The open bucket of this lane, or a new one if it has none.
    Append(u8),
    /// A new bucket of this lane, whose open bucket rolls first.
    RollFirst(u8),
}

/// Chooses a lane for rows of `span`. Lanes that are not in `open` have no bucket.
pub(crate) fn choose(open: &[OpenLane], span: (i64, i64), limits: LaneLimits) -> Choice {
    let least = |lane: &&OpenLane| (lane.stretch(span), std::cmp::Reverse(lane.used));
    let fits = |lane: &&OpenLane| lane.with(span) <= limits.max_span;
    if let Some(lane) = open.iter().filter(fits).min_by_key(least) {
        return Choice::Append(lane.number);
    }
    if open.len() < usize::from(limits.max_open.max(1)) {
        let free = (0..=u8::MAX).find(|number| open.iter().all(|lane| lane.number != *number));
        return Choice::Append(free.unwrap_or_default());
    }
    let nearest = open.iter().min_by_key(least).map_or(0, |lane| lane.number);
    match open.iter().min_by_key(|lane| lane.used) {
        Some(oldest) if oldest.raw_bytes >= limits.small => Choice::RollFirst(oldest.number),
        _ => Choice::Append(nearest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LaneLimits = LaneLimits { max_span: 100, max_open: 2, small: 10 };

    #[test]
    fn rows_go_where_they_fit_with_the_least_stretching() {
        let open = [lane(0, 0, 50, 1), lane(1, 200, 250, 2)];
        assert_eq!(choose(&open, (220, 230), LIMITS), Choice::Append(1));
        assert_eq!(choose(&open, (40, 60), LIMITS), Choice::Append(0));
        assert_eq!(choose(&open, (170, 170), LIMITS), Choice::Append(1));
    }

    #[test]
    fn rows_of_another_time_open_a_bucket_of_their_own() {
        assert_eq!(choose(&[], (5, 6), LIMITS), Choice::Append(0));
        assert_eq!(choose(&[lane(0, 0, 50, 1)], (500, 510), LIMITS), Choice::Append(1));
        assert_eq!(choose(&[lane(1, 0, 50, 1)], (500, 510), LIMITS), Choice::Append(0));
    }

    #[test]
    fn at_the_limit_the_least_recently_used_bucket_makes_room() {
        let open = [lane(0, 0, 50, 9), lane(1, 200, 250, 2)];
        assert_eq!(choose(&open, (900, 910), LIMITS), Choice::RollFirst(1));
    }

    #[test]
    fn a_small_bucket_is_stretched_instead() {
        let small = OpenLane { raw_bytes: 9, ..lane(1, 200, 250, 2) };
        let open = [lane(0, 0, 50, 9), small];
        assert_eq!(choose(&open, (900, 910), LIMITS), Choice::Append(1));
        let single = LaneLimits { max_open: 1, ..LIMITS };
        assert_eq!(choose(&[small], (900, 910), single), Choice::Append(1));
    }

    fn lane(number: u8, first: i64, last: i64, used: u64) -> OpenLane {
        OpenLane { number, first, last, raw_bytes: 10, used: JournalPosition(used) }
    }
}

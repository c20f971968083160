//! What a fuzzer needs of the insides.

use std::sync::Arc;

use model::EventTime;

use crate::timestamp::{TimestampFinder, TimestampRules};

/// Finds the time of each line, as of one source.
///
/// # Panics
/// If a time depends on what is remembered of the one before.
pub fn timestamps(lines: &str, now: EventTime) {
    let rules = Arc::new(TimestampRules::default());
    let mut finder = TimestampFinder::new(Arc::clone(&rules));
    let mut forgetful = TimestampFinder::new(rules);
    for line in lines.split('\n').take(100) {
        forgetful.forget();
        assert_eq!(finder.find(line, now), forgetful.find(line, now), "{line}");
    }
}

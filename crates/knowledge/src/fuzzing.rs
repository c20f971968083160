//! Access to internals for fuzzers.

use std::sync::Arc;

use model::EventTime;

use crate::timestamp::{TimestampFinder, TimestampRules};

/// Finds the time of each line, treating all lines as one source.
///
/// # Panics
/// If a time depends on the state that is kept from the previous line.
pub fn timestamps(lines: &str, now: EventTime) {
    let rules = Arc::new(TimestampRules::default());
    let mut finder = TimestampFinder::new(Arc::clone(&rules));
    let mut forgetful = TimestampFinder::new(rules);
    for line in lines.split('\n').take(100) {
        forgetful.forget();
        assert_eq!(finder.find(line, now), forgetful.find(line, now), "{line}");
    }
}

//! Uses of stored jobs that have not been written to their documents.

use std::collections::HashMap;

use model::EventTime;
use parking_lot::Mutex;

/// The time of the last use by id. The number of entries is limited by the number of stored jobs.
#[derive(Debug, Default)]
pub(crate) struct Uses(Mutex<HashMap<String, EventTime>>);

impl Uses {
    pub(crate) fn note(&self, sid: &str, time: EventTime) {
        self.0.lock().insert(sid.to_owned(), time);
    }

    pub(crate) fn take(&self) -> HashMap<String, EventTime> {
        std::mem::take(&mut self.0.lock())
    }
}

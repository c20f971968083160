//! Uses of stored jobs that their documents do not have yet.

use std::collections::HashMap;

use model::EventTime;
use parking_lot::Mutex;

/// The last uses by id; at most as many as there are stored jobs.
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

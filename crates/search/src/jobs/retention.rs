//! The lifetime of a job after its last use, and the settings of its owner: priority and readers.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64};
use std::time::Duration;

use model::EventTime;
use parking_lot::Mutex;
use runtime::Clock;

use super::uses::Uses;

/// The default `priority` of a job.
const DEFAULT_PRIORITY: u8 = 5;

#[derive(Debug)]
pub(super) struct Retention {
    clock: Arc<dyn Clock>,
    touched: AtomicI64,
    ttl_seconds: AtomicU64,
    is_saved: AtomicBool,
    priority: AtomicU8,
    /// Roles whose users may read the job besides its owner.
    readers: Mutex<Vec<String>>,
    /// The log of uses of stored jobs, and the id; `None` if the job is not stored.
    uses: Option<(Arc<Uses>, String)>,
}

impl Retention {
    pub(super) fn new(clock: Arc<dyn Clock>, ttl: Duration) -> Self {
        Self {
            touched: AtomicI64::new(clock.now().0),
            clock,
            ttl_seconds: AtomicU64::new(ttl.as_secs()),
            is_saved: false.into(),
            priority: DEFAULT_PRIORITY.into(),
            readers: Mutex::default(),
            uses: None,
        }
    }

    /// Restores the settings of a stored job from its document.
    pub(super) fn restored(
        clock: Arc<dyn Clock>,
        (touched, ttl): (EventTime, Duration),
        (is_saved, priority, readers): (bool, u8, Vec<String>),
        uses: (Arc<Uses>, String),
    ) -> Self {
        Self {
            clock,
            touched: touched.0.into(),
            ttl_seconds: ttl.as_secs().into(),
            is_saved: is_saved.into(),
            priority: priority.into(),
            readers: Mutex::new(readers),
            uses: Some(uses),
        }
    }

    /// Records a use.
    pub(super) fn touch(&self) {
        let now = self.clock.now();
        self.touched.store(now.0, Relaxed);
        if let Some((uses, sid)) = &self.uses {
            uses.note(sid, now);
        }
    }

    pub(super) fn touched(&self) -> EventTime {
        EventTime(self.touched.load(Relaxed))
    }

    pub(super) fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_seconds.load(Relaxed))
    }

    /// Sets the lifetime, which counts from now.
    pub(super) fn set_ttl(&self, ttl: Duration) {
        self.ttl_seconds.store(ttl.as_secs(), Relaxed);
        self.touch();
    }

    /// Whether the job has expired, provided that it has ended.
    pub(super) fn is_over(&self) -> bool {
        let idle = self.clock.now().0 - self.touched.load(Relaxed);
        let ttl = i64::try_from(self.ttl().as_micros()).unwrap_or(i64::MAX);
        idle > ttl
    }

    pub(super) fn is_saved(&self) -> bool {
        self.is_saved.load(Relaxed)
    }

    pub(super) fn save(&self, saved: bool) {
        self.is_saved.store(saved, Relaxed);
    }

    pub(super) fn priority(&self) -> u8 {
        self.priority.load(Relaxed)
    }

    pub(super) fn set_priority(&self, priority: u8) {
        self.priority.store(priority, Relaxed);
    }

    pub(super) fn readers(&self) -> Vec<String> {
        self.readers.lock().clone()
    }

    pub(super) fn set_readers(&self, readers: Vec<String>) {
        *self.readers.lock() = readers;
    }
}

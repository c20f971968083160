//! The shared state of all turns, and the limit of concurrent ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;

use crate::Sink;

/// Files that are read at the same time; each holds one chunk.
const READERS: usize = 4;
/// Packed files that are unpacked at the same time.
const UNPACKERS: usize = 1;

/// See the module.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) readers: Semaphore,
    pub(crate) unpackers: Semaphore,
    stopping: AtomicBool,
}

impl Shared {
    pub(crate) fn new(sink: Arc<dyn Sink>) -> Self {
        Self {
            sink,
            readers: Semaphore::new(READERS),
            unpackers: Semaphore::new(UNPACKERS),
            stopping: AtomicBool::new(false),
        }
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

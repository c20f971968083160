//! The entrance of ingest: closed while the disk has no room for what object storage does not take, and
//! for good once the catalog is another server's or the journal is lost.
//!
//! Only what comes is held up: what is inside goes on to the journal and is acknowledged, so that
//! nobody who was let in waits for object storage to come back. Senders who can wait do, the others
//! are refused after their time, and have to send again.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use runtime::metrics as names;

use crate::Error;
use crate::fence::Fence;
use crate::hot::spool::Spool;

/// How often somebody who waits looks again.
const LOOK: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    spool: Arc<Spool>,
    /// Whether it is closed for good.
    fence: Arc<Fence>,
    /// Why nobody is let in any more although buckets still go to object storage.
    refused: OnceLock<&'static str>,
    /// Since when it is closed, less what the metric has.
    closed_since: Mutex<Option<Instant>>,
}

impl Gate {
    pub(crate) fn new(spool: Arc<Spool>, fence: Arc<Fence>) -> Self {
        Self { spool, fence, refused: OnceLock::new(), closed_since: Mutex::new(None) }
    }

    /// Lets nobody in any more, nor anybody who waits.
    pub(crate) fn fence(&self, reason: &Arc<str>) {
        self.fence.close(reason);
    }

    /// The answer to everybody, once it is closed for good.
    pub(crate) fn fenced(&self) -> Result<(), Error> {
        self.fence.check()
    }

    /// Lets nobody in any more, nor anybody who waits, but does not end the uploads; the first reason counts.
    pub(crate) fn refuse(&self, reason: &'static str) {
        let _ = self.refused.set(reason);
    }

    fn check(&self) -> Result<(), Error> {
        self.fenced()?;
        self.refused.get().map_or(Ok(()), |&reason| Err(Error::JournalLost { reason }))
    }

    /// Lets in, at the latest after `wait`; gives what is left of it.
    pub(crate) async fn enter(&self, wait: Duration) -> Result<Duration, Error> {
        let began = Instant::now();
        self.check()?;
        while let Some(reason) = self.spool.full() {
            let left = wait.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Error::DiskLimit { reason });
            }
            tokio::time::sleep(left.min(LOOK)).await;
            self.check()?;
        }
        Ok(wait.saturating_sub(began.elapsed()))
    }

    /// Logs that the gate has closed or opened, and counts how long it is closed.
    pub(crate) fn observe(&self) {
        let reason = self.spool.full();
        let mut closed = self.closed_since.lock();
        let Some(reason) = reason else {
            if closed.take().is_some() {
                tracing::info!("intake goes on");
            }
            return;
        };
        if closed.is_none() {
            tracing::warn!(reason, "intake stops until there is free space");
        }
        let since = closed.get_or_insert_with(Instant::now);
        // The counter has whole seconds: what is left is counted the next time.
        let seconds = since.elapsed().as_secs();
        metrics::counter!(names::INTAKE_STOPPED).increment(seconds);
        *since += Duration::from_secs(seconds);
    }
}

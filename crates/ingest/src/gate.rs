//! The admission control of ingest: closed while the disk has no room for buckets that wait for upload, and
//! permanently once the catalog belongs to another server or the journal is lost.
//!
//! Only new inputs are held up: an admitted input goes on to the journal and is acknowledged, so that no
//! admitted sender waits until object storage is available again. Senders wait up to their time limit; then
//! they are refused, and have to send again.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use runtime::metrics as names;

use crate::Error;
use crate::fence::Fence;
use crate::hot::spool::Spool;

/// Polling interval of a waiting sender.
const LOOK: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    spool: Arc<Spool>,
    /// Whether the gate is permanently closed.
    fence: Arc<Fence>,
    /// Why no input is admitted any more although buckets are still uploaded.
    refused: OnceLock<&'static str>,
    /// Since when it has been closed, less the time that the metric already has.
    closed_since: Mutex<Option<Instant>>,
}

impl Gate {
    pub(crate) fn new(spool: Arc<Spool>, fence: Arc<Fence>) -> Self {
        Self { spool, fence, refused: OnceLock::new(), closed_since: Mutex::new(None) }
    }

    /// Closes the gate permanently, for waiting senders too.
    pub(crate) fn fence(&self, reason: &Arc<str>) {
        self.fence.close(reason);
    }

    /// Fails if the gate is permanently closed by the fence.
    pub(crate) fn fenced(&self) -> Result<(), Error> {
        self.fence.check()
    }

    /// Closes the gate permanently, for waiting senders too, but does not end the uploads. The first reason
    /// is kept.
    pub(crate) fn refuse(&self, reason: &'static str) {
        let _ = self.refused.set(reason);
    }

    fn check(&self) -> Result<(), Error> {
        self.fenced()?;
        self.refused.get().map_or(Ok(()), |&reason| Err(Error::JournalLost { reason }))
    }

    /// Waits at most `wait` until the gate is open. Returns the remaining time.
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

    /// Logs that the gate has closed or opened, and counts the time for which it is closed.
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
        // The counter has whole seconds: the remainder is counted the next time.
        let seconds = since.elapsed().as_secs();
        metrics::counter!(names::INTAKE_STOPPED).increment(seconds);
        *since += Duration::from_secs(seconds);
    }
}

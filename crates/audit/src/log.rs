//! The handle for recording.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use model::EventTime;
use runtime::{Clock, Shutdown};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::chain::{Digest, Head, Key};
use crate::record::REPAIR;
use crate::shared::{Queued, Shared};
use crate::writer::Writer;
use crate::{Anchor, Error, Info, OnFailure, Record, Settings};

/// An opened trail, and the problems found in it.
#[derive(Debug)]
pub struct Opened {
    /// The trail.
    pub log: AuditLog,
    /// Messages for the administrator; they are recorded, too.
    pub remarks: Vec<String>,
}

/// A handle to the trail; clones share it.
#[derive(Debug, Clone)]
pub struct AuditLog {
    shared: Arc<Shared>,
}

impl AuditLog {
    /// Opens the trail in a directory. `anchors` are heads saved elsewhere: if the files end
    /// earlier, records are missing, and the chain continues after the missing numbers.
    ///
    /// # Errors
    /// If the files cannot be read or written.
    pub async fn open(
        directory: PathBuf,
        key: Key,
        settings: Settings,
        clock: Arc<dyn Clock>,
        anchors: Vec<Anchor>,
    ) -> Result<Opened, Error> {
        let (queue, records) = mpsc::channel(65_536);
        let room = Semaphore::new(settings.queue_bytes.min(Semaphore::MAX_PERMITS));
        let shared = Arc::new(Shared {
            directory,
            key,
            settings,
            clock,
            head: watch::Sender::new(Head { seq: 0, hash: Digest::ZERO }),
            failed: watch::Sender::new(None),
            lost: AtomicU64::new(0),
            indexed: AtomicU64::new(0),
            room: Arc::new(room),
            queue,
            tasks: Shutdown::new(),
        });
        let opening = Arc::clone(&shared);
        let begun = tokio::task::spawn_blocking(move || Writer::begin(&opening, &anchors)).await;
        let (writer, first, remarks) = begun.map_err(|_| Error::Closed)??;
        let log = Self { shared };
        log.shared.tasks.spawn(writer.run(records, Arc::clone(&log.shared)));
        if let Some(record) = first {
            log.append(record).await?;
        }
        for remark in &remarks {
            let record = Record::of_server(REPAIR, Info::Failed).with("reason", remark);
            log.append(record).await?;
        }
        Ok(Opened { log, remarks })
    }

    /// Writes a record and returns its number once it is synced.
    ///
    /// # Errors
    /// If it could not be recorded. With `onFailure = continue` it is counted as lost instead, and
    /// the number is 0.
    pub async fn append(&self, record: Record) -> Result<u64, Error> {
        let (done, synced) = oneshot::channel();
        let appended = match self.put(record, Some(done)).await {
            Ok(()) => synced.await.unwrap_or(Err(Error::Closed)),
            Err(error) => Err(error),
        };
        self.tolerated(appended)
    }

    /// Queues a record without waiting for the disk. Waits only while the queue is full.
    ///
    /// # Errors
    /// As [`Self::append`], if the queue stays full.
    pub async fn note(&self, record: Record) -> Result<(), Error> {
        let noted = self.put(record, None).await;
        self.tolerated(noted.map(|()| 0)).map(drop)
    }

    /// As [`Self::note`], without waiting: if the queue is full, the record is counted as lost.
    pub fn try_note(&self, record: Record) {
        let record = record.within(self.shared.settings.record_bytes);
        let size = u32::try_from(record.size()).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.shared.room).try_acquire_many_owned(size);
        let queued = permit.ok().map(|permit| self.queued(record, permit, None));
        if queued.is_none_or(|queued| self.shared.queue.try_send(queued).is_err()) {
            self.lose();
        }
    }

    /// Whether a change may start: not if it could not be recorded, unless the settings allow it.
    ///
    /// # Errors
    /// The error of the last write.
    pub fn check(&self) -> Result<(), Error> {
        match self.shared.failed.borrow().clone() {
            Some(error) if self.shared.settings.on_failure == OnFailure::Refuse => Err(error),
            _ => Ok(()),
        }
    }

    /// A receiver of the last synced record.
    #[must_use]
    pub fn head(&self) -> watch::Receiver<Head> {
        self.shared.head.subscribe()
    }

    /// A receiver of the error of the last write, if it failed.
    #[must_use]
    pub fn failures(&self) -> watch::Receiver<Option<Error>> {
        self.shared.failed.subscribe()
    }

    /// The directory of the files.
    #[must_use]
    pub fn directory(&self) -> &std::path::Path {
        &self.shared.directory
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Sets the number of the last indexed record: files may be deleted once they are indexed.
    pub fn set_indexed(&self, seq: u64) {
        self.shared.indexed.fetch_max(seq, Relaxed);
    }

    /// The current time for records.
    #[must_use]
    pub fn now(&self) -> EventTime {
        self.shared.clock.now()
    }

    async fn put(
        &self,
        record: Record,
        done: Option<oneshot::Sender<Result<u64, Error>>>,
    ) -> Result<(), Error> {
        let settings = &self.shared.settings;
        let record = record.within(settings.record_bytes);
        let most = u32::try_from(settings.queue_bytes).unwrap_or(u32::MAX);
        let size = u32::try_from(record.size()).unwrap_or(u32::MAX).min(most);
        let room = Arc::clone(&self.shared.room).acquire_many_owned(size);
        let permit = match tokio::time::timeout(settings.queue_wait, room).await {
            Ok(permit) => permit.map_err(|_| Error::Closed)?,
            Err(_) => return Err(Error::QueueFull),
        };
        let queued = self.queued(record, permit, done);
        self.shared.queue.send(queued).await.map_err(|_| Error::Closed)
    }

    fn queued(
        &self,
        record: Record,
        permit: tokio::sync::OwnedSemaphorePermit,
        done: Option<oneshot::Sender<Result<u64, Error>>>,
    ) -> Queued {
        Queued { record, time: self.shared.clock.now(), done, _permit: Some(permit) }
    }

    fn tolerated(&self, result: Result<u64, Error>) -> Result<u64, Error> {
        match result {
            Err(error) if self.shared.settings.on_failure == OnFailure::Continue => {
                tracing::error!(%error, "not recorded in the audit trail");
                self.lose();
                Ok(0)
            }
            other => other,
        }
    }

    fn lose(&self) {
        self.shared.lost.fetch_add(1, Relaxed);
        metrics::counter!(runtime::metrics::AUDIT_LOST).increment(1);
    }

    /// Writes all queued records and closes the trail.
    pub async fn close(&self) {
        let end = Queued { record: Record::end(), time: self.now(), done: None, _permit: None };
        let _ = self.shared.queue.send(end).await;
        if let Err(error) = self.shared.tasks.finish(std::time::Duration::from_secs(10)).await {
            tracing::error!(%error, "the audit trail did not end in time");
        }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;

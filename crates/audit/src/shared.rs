//! State shared by the handles and the writer.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::EventTime;
use runtime::{Clock, Shutdown};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use crate::chain::{Head, Key};
use crate::{Error, Record, Settings};

/// A queued record.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) record: Record,
    pub(crate) time: EventTime,
    /// The waiting caller.
    pub(crate) done: Option<oneshot::Sender<Result<u64, Error>>>,
    /// Its queue space.
    pub(crate) _permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) directory: PathBuf,
    pub(crate) key: Key,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) head: watch::Sender<Head>,
    /// Why the last write failed.
    pub(crate) failed: watch::Sender<Option<Error>>,
    /// Records that were lost because the trail could not be written.
    pub(crate) lost: AtomicU64,
    /// Number of the last indexed record, if records are indexed.
    pub(crate) indexed: AtomicU64,
    pub(crate) room: Arc<Semaphore>,
    pub(crate) queue: mpsc::Sender<Queued>,
    pub(crate) tasks: Shutdown,
}

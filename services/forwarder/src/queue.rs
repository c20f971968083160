//! The disk queue of one output: accepted data that no indexer has acknowledged yet.
//!
//! A sequence of append-only segment files. A thread writes entries in groups, with one sync per group;
//! only then are they accepted and may be sent. The size is limited: writers wait when the queue is full. A
//! segment is deleted when all of its records are acknowledged. Records are numbered without gaps; the last
//! segment is kept, because the next number follows from it.
//!
//! ```text
//! segment: magic, channel, first number | record | record | ...
//! record:  magic, checksum of the header, number, sizes, checksum of the rest | note | content
//! ```
//!
//! Guarantees: a record torn by a crash was never accepted; a damaged record is never sent.

mod reader;
mod record;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use uuid::Uuid;

use crate::Error;
pub(crate) use reader::{Cursor, Found, Place};
pub(crate) use record::Entry;
use record::SEGMENT_HEADER;
use writer::Writer;

/// Minimum age of a finished segment before its deletion, because its notes may not be written elsewhere
/// yet.
const NOTES: Duration = Duration::from_secs(5);

/// The settings of a queue. Sizes are in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) directory: PathBuf,
    /// Maximum size on disk.
    pub(crate) max_size: u64,
    /// Size at which a segment ends.
    pub(crate) segment_size: u64,
    /// Maximum size in memory of entries that wait for the disk.
    pub(crate) memory: usize,
    /// Time after which new entries are dropped if the queue is full; `None` for never.
    pub(crate) drop_after: Option<Duration>,
    /// Name in metrics and messages.
    pub(crate) name: Arc<str>,
}

/// A segment file.
#[derive(Debug)]
struct Segment {
    path: PathBuf,
    first: u64,
    bytes: u64,
    /// Time of its last record; `None` for the current segment.
    finished: Option<Instant>,
}

#[derive(Debug, Default)]
struct State {
    segments: VecDeque<Segment>,
    bytes: u64,
    closed: bool,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    channel: Uuid,
    state: Mutex<State>,
    room: Condvar,
    /// Every record below this number is on disk.
    durable: watch::Sender<u64>,
}

impl Shared {}

/// An entry to be written, and a callback: `true` if it was accepted.
struct Job {
    entry: Entry,
    done: Box<dyn FnOnce(bool) + Send>,
    _permit: OwnedSemaphorePermit,
}

/// See the module.
pub(crate) struct DiskQueue {
    shared: Arc<Shared>,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    memory: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The last note of each source at the start.
    notes: Vec<Bytes>,
    /// The first record number at the start.
    first: u64,
}

impl std::fmt::Debug for DiskQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskQueue")
            .field("name", &self.shared.settings.name)
            .finish_non_exhaustive()
    }
}

/// The state of a queue, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueStatus {
    pub(crate) bytes: u64,
    pub(crate) capacity: u64,
    pub(crate) segments: usize,
    /// Number of the next record.
    pub(crate) next: u64,
}

impl DiskQueue {
    /// Opens the queue in its directory, truncates a torn end, and starts accepting entries.
    ///
    /// # Errors
    /// If the directory cannot be read or written.
    pub(crate) fn open(settings: Settings) -> Result<Self, Error> {
        let directory = settings.directory.clone();
        fs::create_dir_all(&directory)
            .map_err(|error| Error::queue("create", &directory, error))?;
        let found = writer::recover(&directory)?;
        let state = State {
            bytes: found.segments.iter().map(|segment| segment.bytes).sum(),
            segments: found.segments,
            closed: false,
        };
        let first = state.segments.front().map_or(found.next, |segment| segment.first);
        let memory = Arc::new(Semaphore::new(settings.memory.max(1)));
        let name = format!("queue-{}", settings.name);
        let shared = Arc::new(Shared {
            settings,
            channel: found.channel,
            state: Mutex::new(state),
            room: Condvar::new(),
            durable: watch::Sender::new(found.next),
        });
        let (jobs, received) = mpsc::channel();
        let writer = Writer::new(Arc::clone(&shared), found.next);
        let thread = thread::Builder::new()
            .name(name)
            .spawn(move || writer.run(&received))
            .map_err(|error| Error::queue("start the thread of", &directory, error))?;
        Ok(Self {
            shared,
            jobs: Mutex::new(Some(jobs)),
            memory,
            thread: Mutex::new(Some(thread)),
            notes: found.notes.into_values().collect(),
            first,
        })
    }

    /// The ID of the number sequence; an emptied directory gets a new one.
    pub(crate) fn channel(&self) -> Uuid {
        self.shared.channel
    }

    /// The first record number at the start.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Watches the number below which every record is on disk.
    pub(crate) fn durable(&self) -> watch::Receiver<u64> {
        self.shared.durable.subscribe()
    }

    /// The last note of each source at the start.
    pub(crate) fn notes(&self) -> &[Bytes] {
        &self.notes
    }

    /// Submits an entry, waiting up to `wait` for space in memory. `done` is called with `true` when the
    /// entry is on disk, or with `false` if it will not be written.
    ///
    /// # Errors
    /// If there was no space in time, or the queue is closed; then `done` is dropped.
    pub(crate) async fn push(
        &self,
        entry: Entry,
        wait: Duration,
        done: impl FnOnce(bool) + Send + 'static,
    ) -> Result<(), PushError> {
        let wanted = entry.size().min(self.shared.settings.memory).max(1);
        let permits = u32::try_from(wanted).unwrap_or(u32::MAX);
        let acquire = Arc::clone(&self.memory).acquire_many_owned(permits);
        let permit = match tokio::time::timeout(wait, acquire).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(PushError::Closed),
            Err(_) => return Err(PushError::Full),
        };
        let job = Job { entry, done: Box::new(done), _permit: permit };
        let jobs = self.jobs.lock();
        let Some(jobs) = jobs.as_ref() else { return Err(PushError::Closed) };
        jobs.send(job).map_err(|_| PushError::Closed)
    }

    /// Releases all records below a number.
    pub(crate) fn release(&self, below: u64) {
        let mut gone = Vec::new();
        let mut state = self.shared.state.lock();
        while let (Some(oldest), Some(next)) = (state.segments.front(), state.segments.get(1)) {
            let old = oldest.finished.is_none_or(|finished| finished.elapsed() >= NOTES);
            let full = state.bytes >= self.shared.settings.max_size / 2;
            if next.first > below || !(old || full) {
                break;
            }
            let Some(segment) = state.segments.pop_front() else { break };
            state.bytes = state.bytes.saturating_sub(segment.bytes);
            gone.push(segment.path);
        }
        drop(state);
        for path in &gone {
            if let Err(error) = fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "a segment of the queue stays");
            }
        }
        if !gone.is_empty() {
            self.shared.room.notify_all();
        }
    }

    pub(crate) fn status(&self) -> QueueStatus {
        let state = self.shared.state.lock();
        QueueStatus {
            bytes: state.bytes,
            capacity: self.shared.settings.max_size,
            segments: state.segments.len(),
            next: *self.shared.durable.borrow(),
        }
    }

    /// A cursor that reads from a record number on.
    pub(crate) fn cursor(&self, from: u64) -> Cursor {
        Cursor::new(Arc::clone(&self.shared), from)
    }

    /// Stops accepting entries, writes pending ones, and ends. Waiting writers get an error.
    pub(crate) fn close(&self) {
        self.memory.close();
        drop(self.jobs.lock().take());
        self.shared.state.lock().closed = true;
        self.shared.room.notify_all();
        let thread = self.thread.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of a queue has panicked");
        }
    }
}

impl Drop for DiskQueue {
    fn drop(&mut self) {
        self.close();
    }
}

/// Why an entry was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushError {
    Full,
    Closed,
}

/// The segment files of a directory, oldest first.
fn segment_files(directory: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let fail = |error| Error::queue("read", directory, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let is_segment = path.extension().is_some_and(|extension| extension == "queue");
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(number) = number.filter(|_| is_segment) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

fn sync_directory(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

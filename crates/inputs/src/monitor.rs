//! Monitored files: reads their existing content, then appended data; and files that are indexed once.
//!
//! A file is identified by its content, not by its name: by its identity in the file system while it exists,
//! and by checksums of its start and of the bytes before the position up to which it was read. So a file that
//! was rotated (renamed, copied and truncated, compressed) is neither read twice nor missed, and one that is
//! deleted is read to its end. A checkpoint is written as soon as the acknowledgement of its events arrives,
//! and synced every `checkpoint_interval`: a process killed between acknowledgement and checkpoint, or a
//! machine that loses power within the interval, reads those events again.
//!
//! ```text
//! look (walk, inotify) -> examine -> Tail --turns--> Sink
//!                                      \--safe places--> Checkpoints
//! ```
//!
//! Files take turns of a few MiB, a few at the same time; a sink that is full pauses them all.

mod checkpoints;
mod examine;
mod fingerprint;
mod flight;
mod hole;
mod look;
mod packed;
pub(crate) mod paths;
mod place;
mod status;
mod tail;
mod target;
mod turn;
mod waiting;
mod watch;
mod work;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conf::Type;
use foldhash::{HashMap, HashSet};
use parking_lot::Mutex;
use runtime::Shutdown;
use tokio::task::JoinSet;

pub use status::{FileState, FileStatus, MonitorStatus};
pub use target::{HostFrom, MonitorTarget, Salt};

use crate::{Error, OwnDirectories, Sink};
use checkpoints::Checkpoints;
use paths::Link;
use place::{FileId, Seen};
use tail::{Goal, Tail};
use turn::Shared;
use waiting::Waiting;
use watch::{Change, Watch};
use work::Done;

conf::settings! {
    /// How the monitor works.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MonitorSettings {
        "limits"["inputproc"] {
            /// Maximum number of files that the monitor keeps open; a file that is being read temporarily
            /// needs one more.
            "max_fd" => pub max_fd: usize = "100", Type::number(1);
        }
        fixed {
            /// How often files that are read are looked at when nothing tells of changes.
            pub poll: Duration = Duration::from_millis(500);
            /// How long the checkpoint of safe events may stay unsynced: what a loss of power repeats.
            pub checkpoint_interval: Duration = Duration::from_millis(200);
            /// Checkpoints of files that are gone that are kept.
            pub max_gone: usize = 100_000;
        }
    }
}

/// Maximum time that a stop waits for acknowledgements.
const PATIENCE_AT_STOP: Duration = Duration::from_secs(20);

/// A file's tail, or the note that it has its turn.
#[derive(Debug)]
enum Slot {
    Here(Box<Tail>),
    Busy { generation: u64 },
}

/// A file that is not followed, and why.
#[derive(Debug)]
struct Parked {
    seen: Seen,
    since: Instant,
    generation: u64,
    why: ParkReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParkReason {
    /// The file is not readable as text, or was indexed before.
    Ignored,
    /// Reading it failed; it is tried again.
    Failed,
    /// The content of the file with that record, which is still followed.
    CopyOf(u64),
    /// The same, and nothing of that file is read yet.
    CopyOfUnread(u64),
    /// The file has only NULs.
    Blank,
    /// Packed, and perhaps still being written.
    Settling(fingerprint::Fingerprint),
    /// Being unpacked.
    Unpacking,
}

/// The file monitor.
#[derive(Debug)]
pub struct Monitor {
    targets: Vec<Arc<MonitorTarget>>,
    settings: MonitorSettings,
    book: Arc<Mutex<Checkpoints>>,
    tails: HashMap<FileId, Slot>,
    parked: HashMap<PathBuf, Parked>,
    /// Followed files that were truncated or rewritten, until they are followed again.
    rewritten: HashSet<FileId>,
    ready: VecDeque<(FileId, Goal)>,
    /// Files that changed during their turn.
    again: HashSet<FileId>,
    active: JoinSet<Done>,
    shared: Option<Arc<Shared>>,
    status: MonitorStatus,
    /// Whether the sink's notes about files are taken over.
    takes_notes: bool,
    /// Distinguishes the streams of this monitor from those of an earlier one.
    instance: uuid::Uuid,
    /// Number of the current look at all files; the first is 1.
    generation: u64,
    /// All files are to be looked at soon.
    stale: bool,
    scanned: Option<(Instant, Duration)>,
    flushed: Instant,
    sink_closed: bool,
    directories: Vec<PathBuf>,
    /// Files that links lead to, by their paths without links.
    links: HashMap<PathBuf, Link>,
    /// Paths without links of followed files that a link led to: where they are once it leads elsewhere.
    homes: HashMap<FileId, PathBuf>,
    /// Directories of the program, whose files are not followed.
    own: OwnDirectories,
    /// Left-out files that were logged.
    left_out: HashSet<PathBuf>,
    /// Files to be deleted once it is written that they were taken in.
    taken_in: Vec<(PathBuf, Seen, u64)>,
    /// The waiting files that were logged.
    waiting: Waiting,
}

impl Monitor {
    /// A monitor that keeps its checkpoints in a file.
    ///
    /// # Errors
    /// The checkpoints cannot be read or written.
    pub fn new(
        mut targets: Vec<MonitorTarget>,
        checkpoints: &Path,
        settings: MonitorSettings,
    ) -> Result<Self, Error> {
        let book = Checkpoints::open(checkpoints, settings.max_gone)
            .map_err(|error| Error::checkpoints(checkpoints.display(), error))?;
        // A file that matches several targets belongs to the most specific one.
        targets.sort_by_key(|target| std::cmp::Reverse(target.text.len()));
        Ok(Self {
            targets: targets.into_iter().map(Arc::new).collect(),
            settings,
            book: Arc::new(Mutex::new(book)),
            tails: HashMap::default(),
            parked: HashMap::default(),
            rewritten: HashSet::default(),
            ready: VecDeque::new(),
            again: HashSet::default(),
            active: JoinSet::new(),
            shared: None,
            status: MonitorStatus::default(),
            takes_notes: true,
            instance: runtime::random::time_ordered_uuid(),
            generation: 0,
            stale: true,
            scanned: None,
            flushed: Instant::now(),
            sink_closed: false,
            directories: Vec::new(),
            links: HashMap::default(),
            homes: HashMap::default(),
            own: OwnDirectories::default(),
            left_out: HashSet::default(),
            taken_in: Vec::new(),
            waiting: Waiting::default(),
        })
    }

    /// Publishes the status of files in a shared place.
    #[must_use]
    pub fn with_status(mut self, status: MonitorStatus) -> Self {
        self.status = status;
        self
    }

    /// Leaves out the directories of the program, except for targets that are the program's.
    #[must_use]
    pub fn without(mut self, own: OwnDirectories) -> Self {
        self.own = own;
        self
    }

    /// Whether the sink's notes are adopted. The notes are from before the start of the process: a later
    /// monitor has newer checkpoints.
    #[must_use]
    pub(crate) fn with_notes(mut self, takes_notes: bool) -> Self {
        self.takes_notes = takes_notes;
        self
    }

    /// Returns the status of the files, which is updated as the monitor works.
    #[must_use]
    pub fn status(&self) -> MonitorStatus {
        self.status.clone()
    }

    /// Follows the files until the signal to stop. Files and disks that fail are logged and tried
    /// again.
    pub async fn run(mut self, sink: Arc<dyn Sink>, shutdown: Shutdown) {
        self.connect(&sink);
        let mut watch = Watch::new();
        let mut next = Instant::now();
        while !self.sink_closed {
            self.start_turns();
            tokio::select! {
                Some(done) = self.active.join_next(), if !self.active.is_empty() => {
                    self.absorb(done);
                    while let Some(done) = self.active.try_join_next() {
                        self.absorb(done);
                    }
                    self.write();
                }
                changes = watch.changes() => self.take_changes(changes).await,
                () = tokio::time::sleep_until(next.into()) => {
                    if self.is_scan_due() {
                        self.look_at_all().await;
                        watch.set(&self.directories);
                    }
                    self.tick();
                    self.flush_when_due().await;
                    next = Instant::now() + self.pause();
                }
                () = shutdown.stopped() => break,
            }
        }
        self.stop().await;
    }

    /// Looks again soon while something waits to be written.
    fn pause(&self) -> Duration {
        if self.active.is_empty() && self.ready.is_empty() && !self.book.lock().has_changes() {
            return self.settings.poll;
        }
        self.settings.poll.min(self.settings.checkpoint_interval)
    }

    async fn take_changes(&mut self, changes: Vec<Change>) {
        let mut files = HashSet::default();
        for change in changes {
            match change {
                Change::Names => self.stale = true,
                Change::File(path) => {
                    files.insert(path);
                }
            }
        }
        self.look_at_some(files.into_iter().collect()).await;
    }

    /// Reads the files that exist now, and waits until their events are safe and the checkpoints are written.
    ///
    /// # Errors
    /// If the sink is closed, or the checkpoints cannot be written.
    pub async fn poll_once(&mut self, sink: &Arc<dyn Sink>) -> Result<(), Error> {
        self.connect(sink);
        for _ in 0..3 {
            self.look_at_all().await;
            self.tick();
            self.drive().await;
            if !self.stale {
                break;
            }
        }
        self.tick();
        self.drive().await;
        self.flush().await?;
        self.tick();
        self.flush().await?;
        if self.sink_closed { Err(Error::Closed) } else { Ok(()) }
    }

    /// Lets everything that is ready have its turns.
    async fn drive(&mut self) {
        loop {
            self.start_turns();
            match self.active.join_next().await {
                Some(done) => {
                    self.absorb(done);
                    self.write();
                }
                None => return,
            }
        }
    }

    fn connect(&mut self, sink: &Arc<dyn Sink>) {
        let known = self.shared.as_ref().is_some_and(|shared| Arc::ptr_eq(&shared.sink, sink));
        if !known {
            self.shared = Some(Arc::new(Shared::new(Arc::clone(sink))));
            if !self.takes_notes {
                return;
            }
            let mut book = self.book.lock();
            sink.notes().iter().for_each(|note| book.adopt(note));
        }
    }

    /// Waits for pending inputs, completes the events that the sink still holds, and writes the checkpoints.
    async fn stop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.stop();
        }
        self.ready.clear();
        let end = tokio::time::timeout(PATIENCE_AT_STOP, async {
            while let Some(done) = self.active.join_next().await {
                self.absorb(done);
            }
            // An event to which further lines could be added is complete: the sink does not keep it over a
            // restart. Incomplete lines stay in their files.
            self.ready.clear();
            self.close_events();
            self.drive().await;
        });
        if end.await.is_err() {
            tracing::warn!("followed files stop before all they sent is acknowledged");
        }
        if let Err(error) = self.flush().await {
            tracing::warn!(%error, "the monitor's checkpoints are not up to date");
        }
    }
}

//! Files that grow: everything in them, then what is appended.
//!
//! A file is known by its inode while the process runs, and by the checksum of its first bytes
//! across restarts, so that a rotated file (renamed, or copied and truncated) is neither read twice
//! nor missed. A checkpoint is saved after its events are in the journal and before it is relied
//! on: a crash between the two reads the events since the last poll again.
//!
//! Packed and binary files are left out; they are named once in the log.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use foldhash::{HashMap, HashSet};
use model::IndexName;
use runtime::Shutdown;
use serde::{Deserialize, Serialize};

use super::intake::Intake;
use super::oneshot::modified;
use crate::{Error, Input, InputMeta, Sink, StreamKey};

/// Bytes that identify a file.
const PREFIX: usize = 256;
/// Bytes read at once.
const CHUNK: usize = 1 << 20;
/// Endings of files that are not text.
const PACKED: [&str; 6] = ["gz", "zst", "xz", "bz2", "zip", "journal"];

/// Files to follow.
#[derive(Debug, Clone)]
pub struct MonitorTarget {
    /// A file, or a directory with everything below it.
    pub path: PathBuf,
    /// Where events go.
    pub index: IndexName,
    /// The machine they come from.
    pub host: Arc<str>,
    /// Their format; `None`: recognised per file.
    pub sourcetype: Option<Arc<str>>,
}

/// The file monitor.
#[derive(Debug)]
pub struct Monitor {
    targets: Vec<MonitorTarget>,
    checkpoints: PathBuf,
    poll: Duration,
    saved: Vec<Checkpoint>,
    tails: HashMap<(u64, u64), Tail>,
    ignored: HashSet<PathBuf>,
    /// Keeps the streams of this monitor apart from those of an earlier one.
    instance: uuid::Uuid,
}

/// How far a file has been taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Checkpoint {
    path: PathBuf,
    /// Checksum of the first `prefix` bytes.
    crc: u32,
    prefix: u64,
    offset: u64,
}

#[derive(Debug)]
struct Tail {
    checkpoint: Checkpoint,
    /// Bytes handed over; the checkpoint's offset is behind it while an event is unfinished.
    read: u64,
    origin: Arc<InputMeta>,
    stream: StreamKey,
    intake: Intake,
    last_growth: Instant,
}

impl Monitor {
    /// A monitor that keeps its checkpoints in a file, and looks at the targets every `poll`.
    ///
    /// # Errors
    /// The checkpoints cannot be read.
    pub fn new(
        targets: Vec<MonitorTarget>,
        checkpoints: PathBuf,
        poll: Duration,
    ) -> Result<Self, Error> {
        let saved = match fs::read(&checkpoints) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                Error::read(
                    checkpoints.display(),
                    io::Error::new(io::ErrorKind::InvalidData, error),
                )
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::read(checkpoints.display(), error)),
        };
        Ok(Self {
            targets,
            checkpoints,
            poll,
            saved,
            tails: HashMap::default(),
            ignored: HashSet::default(),
            instance: uuid::Uuid::now_v7(),
        })
    }

    /// Follows the files until the signal to stop.
    ///
    /// # Errors
    /// Ingest refuses for good, or the checkpoints cannot be written.
    pub async fn run(mut self, sink: Arc<dyn Sink>, shutdown: Shutdown) -> Result<(), Error> {
        loop {
            match self.poll_once(&sink).await {
                Ok(()) => {}
                Err(Error::Closed) => return Ok(()),
                Err(error) => tracing::warn!(%error, "monitored files wait"),
            }
            if !shutdown.sleep(self.poll).await {
                return Ok(());
            }
        }
    }

    /// Takes in what there is now.
    ///
    /// # Errors
    /// Ingest refuses, or the checkpoints cannot be written.
    pub async fn poll_once(&mut self, sink: &Arc<dyn Sink>) -> Result<(), Error> {
        let mut changed = false;
        for target in self.targets.clone() {
            let mut files = Vec::new();
            list(&target.path, &mut files, 0);
            for (path, metadata) in files {
                changed |= self.follow(sink, &target, path, &metadata).await?;
            }
        }
        if changed {
            self.save()?;
        }
        Ok(())
    }

    /// Takes in what a file has that was not read; tells whether its checkpoint moved.
    async fn follow(
        &mut self,
        sink: &Arc<dyn Sink>,
        target: &MonitorTarget,
        path: PathBuf,
        metadata: &fs::Metadata,
    ) -> Result<bool, Error> {
        let id = (metadata.dev(), metadata.ino());
        if self.ignored.contains(&path) {
            return Ok(false);
        }
        if !self.tails.contains_key(&id) {
            match self.open(sink, target, &path, id) {
                Ok(Some(tail)) => {
                    self.tails.insert(id, tail);
                }
                Ok(None) => {
                    self.ignored.insert(path);
                    return Ok(false);
                }
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "cannot read a monitored file");
                    self.ignored.insert(path);
                    return Ok(false);
                }
            }
        }
        let Some(tail) = self.tails.get_mut(&id) else { return Ok(false) };
        tail.checkpoint.path.clone_from(&path);
        let before = tail.checkpoint.clone();
        tail.advance(&path, metadata.len(), sink.limits().stream_idle).await?;
        Ok(tail.checkpoint != before)
    }

    /// A tail for a file seen the first time; `None` for what is not text or still empty.
    fn open(
        &self,
        sink: &Arc<dyn Sink>,
        target: &MonitorTarget,
        path: &Path,
        (device, inode): (u64, u64),
    ) -> io::Result<Option<Tail>> {
        let sample = read_at(path, 0, 16 << 10)?;
        let marked = sample.starts_with(b"\xff\xfe") || sample.starts_with(b"\xfe\xff");
        if memchr::memchr(0, &sample).is_some() && !marked {
            tracing::info!(path = %path.display(), "a binary file is not monitored");
            return Ok(None);
        }
        let known = self.saved.iter().find(|saved| {
            let prefix = usize::try_from(saved.prefix).unwrap_or(usize::MAX);
            prefix > 0
                && sample.get(..prefix).is_some_and(|start| crc32fast::hash(start) == saved.crc)
        });
        let source = path.to_string_lossy();
        let sourcetype = match &target.sourcetype {
            Some(sourcetype) => Some(Arc::clone(sourcetype)),
            None if sample.is_empty() => None,
            // Decided once: later chunks of the file may look different.
            None => Some(sink.recognise(&source, &sample)),
        };
        let origin = InputMeta {
            index: target.index.clone(),
            host: Arc::clone(&target.host),
            source: source.into(),
            sourcetype,
        };
        let offset = known.map_or(0, |known| known.offset);
        let mut checkpoint = Checkpoint { path: path.to_owned(), crc: 0, prefix: 0, offset };
        checkpoint.identify(&sample);
        Ok(Some(Tail {
            checkpoint,
            read: offset,
            origin: Arc::new(origin),
            stream: StreamKey(format!("monitor:{}:{device}:{inode}", self.instance).into()),
            intake: Intake::new(Arc::clone(sink)),
            last_growth: Instant::now(),
        }))
    }

    /// Writes all checkpoints beside the old ones and puts them in their place.
    fn save(&self) -> Result<(), Error> {
        let mut all: Vec<_> = self.tails.values().map(|tail| tail.checkpoint.clone()).collect();
        let current: HashSet<_> = all.iter().map(|checkpoint| checkpoint.crc).collect();
        // Files that are away for a moment are not forgotten, up to a bound.
        let gone = self.saved.iter().filter(|saved| !current.contains(&saved.crc));
        all.extend(gone.take(10_000).cloned());
        all.sort_by(|a, b| a.path.cmp(&b.path));
        let write = || -> io::Result<()> {
            let next = self.checkpoints.with_extension("next");
            let mut file = File::create(&next)?;
            file.write_all(&serde_json::to_vec_pretty(&all).map_err(io::Error::other)?)?;
            file.sync_all()?;
            fs::rename(&next, &self.checkpoints)
        };
        write().map_err(|error| Error::read(self.checkpoints.display(), error))
    }
}

impl Checkpoint {
    fn identify(&mut self, start: &[u8]) {
        let start = &start[..start.len().min(PREFIX)];
        self.prefix = start.len() as u64;
        self.crc = crc32fast::hash(start);
    }
}

impl Tail {
    async fn advance(&mut self, path: &Path, size: u64, idle: Duration) -> Result<(), Error> {
        let fail = |error| Error::read(path.display(), error);
        if size < self.read {
            tracing::info!(path = %path.display(), "a file was truncated; it is read anew");
            self.end().await?;
            (self.read, self.checkpoint.offset, self.checkpoint.prefix) = (0, 0, 0);
        }
        if size > self.read {
            self.last_growth = Instant::now();
        }
        while self.read < size {
            let (file, from) = (path.to_owned(), self.read);
            let chunk = tokio::task::spawn_blocking(move || read_at(&file, from, CHUNK)).await;
            let chunk = chunk.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(fail)?;
            if chunk.is_empty() {
                break;
            }
            self.read += chunk.len() as u64;
            self.push(chunk.into(), modified(path), false).await?;
        }
        self.settle().await?;
        if self.checkpoint.offset < self.read && self.last_growth.elapsed() >= idle {
            self.end().await?;
        }
        if self.checkpoint.prefix < PREFIX as u64 {
            self.checkpoint.identify(&read_at(path, 0, PREFIX).map_err(fail)?);
        }
        Ok(())
    }

    async fn push(
        &mut self,
        bytes: Bytes,
        modified: Option<model::EventTime>,
        end: bool,
    ) -> Result<(), Error> {
        let (origin, stream) = (Arc::clone(&self.origin), self.stream.clone());
        let pushed = self.intake.push(Input::Raw { origin, stream, bytes, modified, end }).await;
        if pushed.is_err() {
            self.read_again();
        }
        pushed
    }

    /// Takes the unfinished event as complete.
    async fn end(&mut self) -> Result<(), Error> {
        self.push(Bytes::new(), None, true).await?;
        self.settle().await
    }

    async fn settle(&mut self) -> Result<(), Error> {
        if let Err(error) = self.intake.settle().await {
            self.read_again();
            return Err(error);
        }
        self.checkpoint.offset = self.read.saturating_sub(self.intake.total.pending);
        Ok(())
    }

    /// What was not acknowledged is read again, as a stream of its own.
    fn read_again(&mut self) {
        self.read = self.checkpoint.offset;
        let again = format!("{}+", self.stream.0);
        self.stream = StreamKey(again.into());
        self.intake.forget();
    }
}

fn read_at(path: &Path, from: u64, limit: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn list(path: &Path, files: &mut Vec<(PathBuf, fs::Metadata)>, depth: usize) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if metadata.is_file() {
        let extension = path.extension().and_then(|extension| extension.to_str());
        // An empty file is looked at when it has something to recognise.
        if metadata.len() > 0 && !extension.is_some_and(|extension| PACKED.contains(&extension)) {
            files.push((path.to_owned(), metadata));
        }
        return;
    }
    // Deeper than that is a loop of links.
    if !metadata.is_dir() || depth > 32 {
        return;
    }
    let Ok(entries) = fs::read_dir(path) else { return };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        list(&path, files, depth + 1);
    }
}

//! Files that are indexed once: single ones, whole directories, compressed with gzip or zstd.
//!
//! A file is read in chunks, so memory does not depend on its size. Every event is in the journal
//! when [`load`] returns. A file that cannot be read is reported and does not stop the others.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use model::{EventTime, IndexName};
use tokio::sync::mpsc;

use super::intake::Intake;
use super::unpack::{send_chunks, unpack};
use crate::{Error, Input, InputMeta, Sink, StreamKey};

/// Bytes per chunk.
const CHUNK: usize = 1 << 20;

/// The metadata of the files' events.
#[derive(Debug, Clone)]
pub struct Oneshot {
    /// The index of events.
    pub index: IndexName,
    /// The machine they came from.
    pub host: Arc<str>,
    /// Their source; `None`: the path of each file.
    pub source: Option<Arc<str>>,
    /// Their format; `None`: recognised per file.
    pub sourcetype: Option<Arc<str>>,
}

/// The progress of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files done, failed ones included.
    pub files: u64,
    /// Files in all.
    pub all_files: u64,
    /// Bytes read from the disk, packed as they are.
    pub bytes: u64,
    /// Bytes in all.
    pub all_bytes: u64,
    /// Events that are safe.
    pub events: u64,
    /// Bytes of their text.
    pub event_bytes: u64,
}

/// The outcome for the files.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The final counts.
    pub progress: Progress,
    /// Files that could not be read to their end, and why.
    pub failed: Vec<(PathBuf, Error)>,
}

/// Loads files and the files below directories, in the order of their names.
///
/// # Errors
/// If a path does not exist, or the sink refuses the data (data that was loaded before is kept).
pub async fn load(
    sink: &Arc<dyn Sink>,
    paths: &[PathBuf],
    target: &Oneshot,
    mut progress: impl FnMut(&Progress) + Send,
) -> Result<Loaded, Error> {
    let mut files = Vec::new();
    for path in paths {
        list(path, &mut files)?;
    }
    let mut loaded = Loaded::default();
    loaded.progress.all_files = files.len() as u64;
    loaded.progress.all_bytes = files.iter().map(|(_, size)| size).sum();
    for (path, size) in files {
        let before = loaded.progress;
        let mut intake = Intake::new(Arc::clone(sink));
        let result = load_file(&mut intake, &path, target, |bytes, intake| {
            loaded.progress.bytes = before.bytes + bytes;
            loaded.progress.events = before.events + intake.total.events;
            loaded.progress.event_bytes = before.event_bytes + intake.total.bytes;
            progress(&loaded.progress);
        })
        .await;
        loaded.progress.files += 1;
        loaded.progress.bytes = before.bytes + size;
        loaded.progress.events = before.events + intake.total.events;
        loaded.progress.event_bytes = before.event_bytes + intake.total.bytes;
        progress(&loaded.progress);
        match result {
            Ok(()) => {}
            Err(error @ Error::Read { .. }) => loaded.failed.push((path, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(loaded)
}

fn list(path: &Path, files: &mut Vec<(PathBuf, u64)>) -> Result<(), Error> {
    let fail = |error| Error::read(path.display(), error);
    let metadata = fs::metadata(path).map_err(fail)?;
    if !metadata.is_dir() {
        files.push((path.to_owned(), metadata.len()));
        return Ok(());
    }
    let mut entries: Vec<_> =
        fs::read_dir(path).map_err(fail)?.collect::<Result<_, _>>().map_err(fail)?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        // A link that leads nowhere, or round in circles, is not a file.
        let kind = entry.file_type().map_err(fail)?;
        if kind.is_dir() || fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_file()) {
            list(&entry.path(), files)?;
        }
    }
    Ok(())
}

async fn load_file(
    intake: &mut Intake,
    path: &Path,
    target: &Oneshot,
    mut progress: impl FnMut(u64, &Intake),
) -> Result<(), Error> {
    let read = Arc::new(AtomicU64::new(0));
    let (chunks, mut received) = mpsc::channel(2);
    let (file, counter) = (path.to_owned(), Arc::clone(&read));
    let reader = tokio::task::spawn_blocking(move || read_file(&file, &counter, &chunks));
    let source = target.source.clone().unwrap_or_else(|| path.to_string_lossy().into());
    let origin = Arc::new(InputMeta {
        index: target.index.clone(),
        host: Arc::clone(&target.host),
        source,
        sourcetype: target.sourcetype.clone(),
    });
    let stream = StreamKey(
        format!("oneshot:{}:{}", path.display(), runtime::random::time_ordered_uuid()).into(),
    );
    let modified = modified(path);
    let push = |bytes, end| Input::Raw {
        origin: Arc::clone(&origin),
        stream: stream.clone(),
        bytes,
        modified,
        end,
    };
    let mut failure = None;
    while let Some(chunk) = received.recv().await {
        match chunk {
            Ok(bytes) => intake.push(push(bytes, false)).await?,
            Err(error) => failure = Some(Error::read(path.display(), error)),
        }
        progress(read.load(Ordering::Relaxed), intake);
    }
    intake.push(push(Bytes::new(), true)).await?;
    intake.settle().await?;
    if reader.await.is_err() {
        return Err(Error::Abandoned);
    }
    failure.map_or(Ok(()), Err)
}

/// When a file was last written.
pub(crate) fn modified(path: &Path) -> Option<EventTime> {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(EventTime(i64::try_from(since.as_micros()).ok()?))
}

/// Counts the bytes read from the disk.
struct Counted<R> {
    inner: R,
    counter: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.counter.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

fn read_file(path: &Path, counter: &Arc<AtomicU64>, chunks: &mpsc::Sender<io::Result<Bytes>>) {
    send_chunks(unpacked(path, counter), CHUNK, chunks);
}

/// Returns a reader of a file's decompressed text, which counts the bytes read from the disk.
fn unpacked(path: &Path, counter: &Arc<AtomicU64>) -> io::Result<Box<dyn Read>> {
    unpack(Counted { inner: File::open(path)?, counter: Arc::clone(counter) })
}

//! The thread that writes a queue, and the recovery at the start.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use foldhash::HashMap;
use runtime::metrics as names;
use uuid::Uuid;

use super::record::{HEADER, Header, MAGIC, head, read_segment_header, segment_header};
use super::{Job, SEGMENT_HEADER, Segment, Shared, segment_files, sync_directory};
use crate::Error;

/// Maximum size of a group in bytes, even if more entries wait.
const GROUP: usize = 4 << 20;
/// Pause before a failed write is retried.
const AGAIN: Duration = Duration::from_millis(500);
/// Segments older than the last one by this time have notes that are already written elsewhere.
const RECENT: Duration = Duration::from_secs(30);

/// The contents of the directory at the start.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) channel: Uuid,
    pub(super) segments: VecDeque<Segment>,
    pub(super) next: u64,
    /// The last note of each source, by its name.
    pub(super) notes: HashMap<Bytes, Bytes>,
}

/// Reads the segments, and truncates a torn end.
pub(super) fn recover(directory: &Path) -> Result<Found, Error> {
    let mut found = Found {
        channel: runtime::random::uuid(),
        segments: VecDeque::new(),
        next: 0,
        notes: HashMap::default(),
    };
    let mut lost = false;
    for (first, path) in segment_files(directory)? {
        let fail = |error| Error::queue("read", &path, error);
        let file = File::open(&path).map_err(fail)?;
        let bytes = file.metadata().map_err(fail)?.len();
        let mut start = [0; SEGMENT_HEADER];
        let whole = file.read_exact_at(&mut start, 0).is_ok();
        let Some((channel, _)) = read_segment_header(&start).filter(|_| whole) else {
            // Usually, the crash happened before the segment had any accepted record.
            tracing::warn!(path = %path.display(), "a segment without a header is put aside");
            let aside = path.with_extension("damaged");
            fs::rename(&path, aside).map_err(|error| Error::queue("rename", &path, error))?;
            lost |= bytes > SEGMENT_HEADER as u64;
            continue;
        };
        found.channel = channel;
        let finished = Some(Instant::now());
        found.segments.push_back(Segment { path, first, bytes, finished });
    }
    let newest = found.segments.back().and_then(|segment| written(&segment.path));
    let last = found.segments.len().saturating_sub(1);
    for (number, segment) in found.segments.iter_mut().enumerate() {
        let recent = match (newest, written(&segment.path)) {
            (Some(newest), Some(time)) => newest.duration_since(time).is_ok_and(|age| age < RECENT),
            _ => true,
        };
        if number != last && !recent {
            continue;
        }
        let scanned = scan(&segment.path, segment.first, &mut found.notes);
        let (next, whole) = scanned.map_err(|error| Error::queue("read", &segment.path, error))?;
        if number == last {
            cut(&segment.path, whole, segment.bytes)?;
            (found.next, segment.bytes) = (next, whole);
        }
    }
    if lost {
        // Numbers of a lost segment must not be reused, because indexers may already know them.
        found.next += 1 << 40;
    }
    Ok(found)
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Reads a segment up to the last whole record; returns the next number and the position.
fn scan(path: &Path, first: u64, notes: &mut HashMap<Bytes, Bytes>) -> io::Result<(u64, u64)> {
    let bytes = fs::read(path)?;
    let (mut next, mut end) = (first, SEGMENT_HEADER);
    let mut at = end;
    while at < bytes.len() {
        let Some((header, body)) = record_at(&bytes, at, next) else {
            // Whole records after an invalid one mean damage, not a torn end.
            let rest = memchr::memmem::find_iter(&bytes[at + 1..], &MAGIC);
            let more = rest.map(|found| at + 1 + found);
            match more.into_iter().find(|found| record_at(&bytes, *found, next).is_some()) {
                Some(found) => {
                    let (path, offset) = (path.display(), at);
                    tracing::error!(%path, offset, "the queue is damaged: records are lost");
                    at = found;
                    continue;
                }
                None => break,
            }
        };
        if header.note_len > 0 {
            let note = Bytes::copy_from_slice(&body[..usize::from(header.note_len)]);
            notes.insert(crate::notes::name_of(&note), note);
        }
        next = header.sequence + 1;
        at += usize::try_from(header.record_len()).unwrap_or(usize::MAX);
        end = at;
    }
    Ok((next, end as u64))
}

/// The whole record at a position, with number `least` or higher.
fn record_at(bytes: &[u8], at: usize, least: u64) -> Option<(Header, &[u8])> {
    let record = bytes.get(at..)?;
    let header = Header::read(record).filter(|header| header.sequence >= least)?;
    let length = usize::try_from(header.record_len()).ok()?;
    let body = record.get(HEADER..length)?;
    header.fits(body).then_some((header, body))
}

fn cut(path: &Path, whole: u64, bytes: u64) -> Result<(), Error> {
    if whole >= bytes {
        return Ok(());
    }
    tracing::warn!(
        path = %path.display(), keep = whole, cut = bytes - whole,
        "the queue has a torn end, which was never taken; it is cut off"
    );
    let file = OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.set_len(whole).and_then(|()| file.sync_all()))
        .map_err(|error| Error::queue("cut", path, error))
}

/// See the module.
pub(super) struct Writer {
    shared: Arc<Shared>,
    next: u64,
    active: Option<(File, PathBuf, u64)>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, next: u64) -> Self {
        Self { shared, next, active: None }
    }

    /// Works until all senders of jobs are dropped.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let first = match jobs.recv_timeout(Duration::from_secs(60)) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut size = first.entry.size();
            let mut group = vec![first];
            while size < GROUP {
                match jobs.try_recv() {
                    Ok(job) => {
                        size += job.entry.size();
                        group.push(job);
                    }
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            self.take(group, size as u64);
        }
    }

    fn take(&mut self, group: Vec<Job>, size: u64) {
        match self.wait_for_room(size) {
            Room::Yes => {}
            Room::Drop => {
                let name = self.shared.settings.name.to_string();
                metrics::counter!(names::FORWARDER_DROPPED, "queue" => name)
                    .increment(group.len() as u64);
                group.into_iter().for_each(|job| (job.done)(true));
                return;
            }
            Room::Closed => {
                group.into_iter().for_each(|job| (job.done)(false));
                return;
            }
        }
        let mut told = false;
        loop {
            match self.write(&group) {
                Ok(()) => {
                    group.into_iter().for_each(|job| (job.done)(true));
                    return;
                }
                Err(error) => {
                    if !told {
                        tracing::error!(%error, "the queue cannot be written; inputs wait");
                    }
                    told = true;
                    metrics::counter!(names::FORWARDER_WRITE_FAILURES).increment(1);
                    if self.pause() {
                        group.into_iter().for_each(|job| (job.done)(false));
                        return;
                    }
                }
            }
        }
    }

    /// Waits for a pause; returns whether the queue was closed.
    fn pause(&self) -> bool {
        let mut state = self.shared.state.lock();
        self.shared.room.wait_while_for(&mut state, |state| !state.closed, AGAIN);
        state.closed
    }

    fn wait_for_room(&self, size: u64) -> Room {
        let settings = &self.shared.settings;
        let since = Instant::now();
        let mut state = self.shared.state.lock();
        let mut told = false;
        loop {
            // A group larger than the whole queue is accepted when the queue is almost empty.
            if state.bytes + size <= settings.max_size || state.segments.len() <= 1 {
                return Room::Yes;
            }
            if state.closed {
                return Room::Closed;
            }
            if settings.drop_after.is_some_and(|limit| since.elapsed() >= limit) {
                tracing::warn!(queue = %settings.name, "the queue is full; events are dropped");
                return Room::Drop;
            }
            if !told {
                tracing::warn!(
                    queue = %settings.name, bytes = state.bytes, limit = settings.max_size,
                    "the queue on disk is full (persistentQueueSize); inputs wait"
                );
                told = true;
            }
            let left = settings.drop_after.map(|limit| limit.saturating_sub(since.elapsed()));
            self.shared.room.wait_for(&mut state, left.unwrap_or(AGAIN).min(AGAIN));
            let name = settings.name.to_string();
            metrics::counter!(names::FORWARDER_BLOCKED, "queue" => name).increment(1);
        }
    }

    /// Writes and syncs a group. If that fails, none of it stays in the file.
    fn write(&mut self, group: &[Job]) -> Result<(), Error> {
        if self.active.as_ref().is_some_and(|(_, _, at)| *at >= self.shared.settings.segment_size) {
            self.finish();
        }
        if self.active.is_none() {
            self.begin()?;
        }
        let Some((file, path, at)) = &mut self.active else { return Err(Error::Closed) };
        let numbered = group.iter().zip(self.next..);
        let heads: Vec<Vec<u8>> = numbered.map(|(job, number)| head(&job.entry, number)).collect();
        let bodies = group.iter().map(|job| &job.entry.content[..]);
        let mut slices: Vec<IoSlice<'_>> = heads
            .iter()
            .zip(bodies)
            .flat_map(|(head, body)| [IoSlice::new(head), IoSlice::new(body)])
            .collect();
        let size: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
        if let Err(error) = write_all(file, &mut slices).and_then(|()| file.sync_data()) {
            let error = Error::queue("write", &*path, error);
            self.cut_back();
            return Err(error);
        }
        *at += size;
        self.next += group.len() as u64;
        let mut state = self.shared.state.lock();
        state.bytes += size;
        if let Some(segment) = state.segments.back_mut() {
            segment.bytes += size;
        }
        drop(state);
        self.shared.durable.send_replace(self.next);
        Ok(())
    }

    /// After a failed sync, the state of the pages is unknown, so that the segment is not used any more.
    fn cut_back(&mut self) {
        let Some((file, path, at)) = self.active.take() else { return };
        if let Err(error) = file.set_len(at).and_then(|()| file.sync_all()) {
            tracing::error!(path = %path.display(), %error, "a failed write cannot be cut back");
        }
        let mut state = self.shared.state.lock();
        if let Some(segment) = state.segments.back_mut() {
            segment.finished = Some(Instant::now());
        }
        // An empty segment would have the same name as its successor.
        let is_empty = at == SEGMENT_HEADER as u64;
        if is_empty && let Some(segment) = state.segments.pop_back() {
            state.bytes = state.bytes.saturating_sub(segment.bytes);
            let _ = fs::remove_file(&path);
        }
    }

    fn finish(&mut self) {
        self.active = None;
        if let Some(segment) = self.shared.state.lock().segments.back_mut() {
            segment.finished = Some(Instant::now());
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        let directory = &self.shared.settings.directory;
        let path = directory.join(format!("{:020}.queue", self.next));
        let fail = |error| Error::queue("write", &path, error);
        // A segment with this name had no accepted records at the last stop.
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).open(&path).map_err(fail)?;
        let prepared = file
            .write_all(&segment_header(self.shared.channel, self.next))
            .and_then(|()| file.sync_all())
            .and_then(|()| sync_directory(directory));
        if let Err(error) = prepared {
            let _ = fs::remove_file(&path);
            return Err(fail(error));
        }
        let at = SEGMENT_HEADER as u64;
        let mut state = self.shared.state.lock();
        if let Some(old) = state.segments.pop_back_if(|segment| segment.path == path) {
            state.bytes = state.bytes.saturating_sub(old.bytes);
        }
        state.bytes += at;
        let first = self.next;
        state.segments.push_back(Segment { path: path.clone(), first, bytes: at, finished: None });
        drop(state);
        self.active = Some((file, path, at));
        Ok(())
    }
}

enum Room {
    Yes,
    Drop,
    Closed,
}

fn write_all(file: &mut File, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    for some in slices.chunks_mut(512) {
        let mut rest = some;
        // Skips empty contents, which would look like the end of the file.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match file.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

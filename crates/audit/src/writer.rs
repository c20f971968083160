//! Writes records with group commit: queued records are written and synced together.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use metrics::{counter, histogram};
use runtime::{OpenDirectory, metrics as names};
use tokio::sync::mpsc;

use crate::chain::Head;
use crate::files::{self, Active, Lines, LogFile};
use crate::record::{EXPIRE, Line};
use crate::recovery::recover;
use crate::shared::{Queued, Shared};
use crate::verify::{self, Anchor};
use crate::{Error, Info, Record};

/// Maximum number of records per write.
const GROUP: usize = 4_096;
/// Interval between write retries.
const RETRY: Duration = Duration::from_secs(1);

/// The writer; see the module.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The directory that was opened.
    directory: OpenDirectory,
    head: Head,
    active: Option<Active>,
    /// Whether the files must be recovered before the next write.
    unsure: bool,
}

/// Files to delete once the record about it is synced.
type Expired = Vec<PathBuf>;

impl Writer {
    /// Finds the end of the chain and verifies its last files. Returns the writer, the record to
    /// write first, and messages.
    pub(crate) fn begin(
        shared: &Shared,
        anchors: &[Anchor],
    ) -> Result<(Self, Option<Record>, Vec<String>), Error> {
        let directory = &shared.directory;
        std::fs::create_dir_all(directory)
            .map_err(|error| Error::file("create", directory, &error))?;
        // Before the recovery, which terminates a torn line.
        let finding = verify::check_end(directory, &shared.key, anchors)?;
        let remarks = finding.iter().map(ToString::to_string).collect();
        let found = recover(directory)?;
        let mut head = found.head;
        // Numbers are never reused, even if their record is missing.
        head.seq = anchors.iter().map(|anchor| anchor.seq).fold(head.seq, u64::max);
        shared.head.send_replace(head);
        let opened = OpenDirectory::open(directory);
        let opened = opened.map_err(|error| Error::file("read", directory, &error))?;
        let writer = Self { directory: opened, head, active: found.active, unsure: false };
        Ok((writer, found.torn, remarks))
    }

    /// Writes until the queue is closed.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Queued>, shared: Arc<Shared>) {
        let mut waiting: Vec<Queued> = Vec::new();
        let mut ends = false;
        while !ends {
            if waiting.is_empty() {
                ends = queue.recv().await.is_none_or(|next| take(next, &mut waiting));
            } else {
                // Failed records are retried together with new ones.
                let next = tokio::time::timeout(RETRY, queue.recv()).await;
                ends = next.is_ok_and(|next| next.is_none_or(|next| take(next, &mut waiting)));
            }
            while !ends && waiting.len() < GROUP {
                let Ok(next) = queue.try_recv() else { break };
                ends = take(next, &mut waiting);
            }
            let group = std::mem::take(&mut waiting);
            if group.is_empty() {
                continue;
            }
            let shared = Arc::clone(&shared);
            let written = tokio::task::spawn_blocking(move || {
                let left = self.write(group, &shared);
                (self, left)
            });
            // Only a bug ends a write without a result; waiting callers then get an error.
            let Ok((writer, left)) = written.await else { return };
            self = writer;
            waiting = left;
        }
    }

    /// Writes a group; returns the records to retry.
    fn write(&mut self, mut group: Vec<Queued>, shared: &Shared) -> Vec<Queued> {
        let begun = std::time::Instant::now();
        match self.try_write(&mut group, shared) {
            Ok(heads) => {
                shared.failed.send_if_modified(|failed| failed.take().is_some());
                shared.head.send_replace(self.head);
                counter!(names::AUDIT_RECORDS).increment(heads.len() as u64);
                histogram!(names::AUDIT_SYNC_SECONDS).record(begun.elapsed().as_secs_f64());
                for (queued, seq) in group.into_iter().zip(heads) {
                    queued.done.map(|done| done.send(Ok(seq)));
                }
                Vec::new()
            }
            Err(error) => {
                counter!(names::AUDIT_WRITE_ERRORS).increment(1);
                let before = shared.failed.send_replace(Some(error.clone()));
                if before.is_none() {
                    tracing::error!(%error, "changes are not recorded");
                }
                let mut left = Vec::new();
                for mut queued in group {
                    match queued.done.take() {
                        Some(done) => drop(done.send(Err(error.clone()))),
                        None => left.push(queued),
                    }
                }
                left
            }
        }
    }

    fn try_write(&mut self, group: &mut Vec<Queued>, shared: &Shared) -> Result<Vec<u64>, Error> {
        let lost = shared.lost.load(Relaxed);
        let mut first = Vec::new();
        let torn = if self.unsure { self.recover_again(shared)? } else { None };
        let was_torn = torn.is_some();
        first.extend(torn);
        if lost > 0 {
            let gap = Record::of_server("audit_gap", Info::Failed)
                .with("lost", lost)
                .with("reason", "records could not be written and were not kept");
            first.push(gap);
        }
        let rotated = self.rotate_if_full(shared);
        self.unsure |= was_torn && rotated.is_err();
        let (rotated, expired) = rotated?;
        first.extend(rotated);
        let (time, own) = (shared.clock.now(), first.len());
        let queued = |record| Queued { record, time, done: None, _permit: None };
        group.splice(0..0, first.into_iter().map(queued));
        let written = self.write_lines(group, shared);
        if written.is_err() {
            // The writer's own records are recreated on retry.
            group.drain(0..own);
            self.unsure |= was_torn;
        }
        let written = written?;
        shared.lost.fetch_sub(lost, Relaxed);
        for path in expired {
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(%error, path = %path.display(), "an old audit file stays");
            }
        }
        Ok(written)
    }

    /// Finds the end of the chain after a write with an unknown result.
    fn recover_again(&mut self, shared: &Shared) -> Result<Option<Record>, Error> {
        check(&self.directory)?;
        let found = recover(&shared.directory)?;
        let seq = found.head.seq.max(self.head.seq);
        self.head = Head { seq, hash: found.head.hash };
        self.active = found.active;
        self.unsure = false;
        Ok(found.torn)
    }

    fn write_lines(&mut self, group: &[Queued], shared: &Shared) -> Result<Vec<u64>, Error> {
        let active = match &mut self.active {
            Some(active) => active,
            none => {
                check(&self.directory)?;
                let (path, file) = files::create(&shared.directory, self.head.seq + 1)?;
                none.insert(Active { path, file, bytes: 0 })
            }
        };
        let mut text = String::new();
        let mut head = self.head;
        let mut numbers = Vec::with_capacity(group.len());
        for queued in group {
            let (line, hash) =
                queued.record.line(queued.time, head.seq + 1, &head.hash, &shared.key);
            head = Head { seq: head.seq + 1, hash };
            numbers.push(head.seq);
            text.push_str(&line);
            text.push('\n');
        }
        let written = active.file.write_all(text.as_bytes()).and_then(|()| active.file.sync_data());
        if let Err(error) = written {
            // These records were not acknowledged: truncating them restores the file.
            let undone = active.file.set_len(active.bytes).and_then(|()| active.file.sync_data());
            self.unsure = undone.is_err();
            return Err(Error::file("write", &active.path, &error));
        }
        active.bytes += text.len() as u64;
        self.head = head;
        Ok(numbers)
    }

    /// Starts a new file after a full one; returns the records and files that expire.
    fn rotate_if_full(&mut self, shared: &Shared) -> Result<(Vec<Record>, Expired), Error> {
        let full = |active: &Active| active.bytes >= shared.settings.file_bytes;
        if !self.active.as_ref().is_some_and(full) {
            return Ok((Vec::new(), Vec::new()));
        }
        check(&self.directory)?;
        let (path, file) = files::create(&shared.directory, self.head.seq + 1)?;
        self.active = Some(Active { path, file, bytes: 0 });
        let files = files::list(&shared.directory)?;
        let mut records = Vec::new();
        let mut expired = Vec::new();
        for pair in files.windows(2) {
            let [old, next] = pair else { break };
            if !has_expired(old, next, shared) {
                break;
            }
            let Some(record) = expiry(old, next)? else { break };
            records.push(record);
            expired.push(old.path.clone());
        }
        Ok((records, expired))
    }
}

/// Fails if another directory has taken the path: its files are another server's.
fn check(directory: &OpenDirectory) -> Result<(), Error> {
    if directory.is_at_path() {
        return Ok(());
    }
    let error = io::Error::other("the directory was moved or replaced; restart the server");
    Err(Error::file("write", directory.path(), &error))
}

/// Adds a record to a group; true if it is the end marker.
fn take(next: Queued, group: &mut Vec<Queued>) -> bool {
    let ends = next.record.is_end();
    if !ends {
        group.push(next);
    }
    ends
}

/// Whether a file is old enough and indexed.
#[expect(clippy::disallowed_methods, reason = "the times of files are the machine's")]
fn has_expired(old: &LogFile, next: &LogFile, shared: &Shared) -> bool {
    let days = shared.settings.keep_days;
    if days == 0 || shared.indexed.load(Relaxed) + 1 < next.first {
        return false;
    }
    let changed = std::fs::metadata(&old.path).and_then(|about| about.modified());
    let age = changed.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age > Duration::from_secs(days.saturating_mul(86_400)))
}

/// The record that vouches for the missing start of the chain.
fn expiry(old: &LogFile, next: &LogFile) -> Result<Option<Record>, Error> {
    let mut line = Vec::new();
    let found = Lines::open(&next.path)?.next(&mut line)?;
    let Some(read) = found.and_then(|_| Line::parse(&line)) else { return Ok(None) };
    let record = Record::of_server(EXPIRE, Info::Succeeded)
        .with("first", old.first)
        .with("last", read.seq - 1)
        .with("last_hash", read.previous)
        .with("reason", "older than [audit] keepDays");
    Ok(Some(record))
}

//! One followed file: the data that was sent, the data that is safe, and how to continue.
//!
//! Only whole lines are sent; an incomplete line waits in the file until the line is complete or the file has
//! been unchanged for long enough. Holes are skipped, and end a line. Before data is read, the bytes before
//! the position are compared with the earlier ones: a file that was rewritten is noticed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::checkpoints::{self, Record, SEEK};
use super::fingerprint::Fingerprint;
use super::flight::Flight;
use super::hole;
use super::place::{FileId, Seen, open};
use super::turn::Shared;
use crate::utf16;
use crate::{Error, Input, InputMeta, Note, StreamKey, Utf16};

/// Bytes read at once.
const CHUNK: usize = 1 << 20;
/// Maximum bytes of one file that are read in one turn.
const QUOTA: usize = 4 << 20;
/// Bytes before the place that are remembered while a file is read.
const WINDOW: usize = 16 << 10;

/// See the module.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) key: u64,
    pub(crate) path: PathBuf,
    /// The index of its target.
    pub(crate) target: usize,
    /// The file when it was looked at last.
    pub(crate) seen: Seen,
    /// Number of the last look at all files that met it.
    pub(crate) generation: u64,
    /// No monitored name refers to the file any more.
    pub(crate) gone: bool,
    /// Something else is in it than was read.
    pub(crate) replaced: bool,
    /// Whether it waits for its turn.
    pub(crate) queued: bool,
    /// Time without changes after which an unfinished event is complete.
    pub(crate) patience: Duration,
    pub(crate) last_growth: Instant,
    file: Option<Arc<File>>,
    origin: Arc<InputMeta>,
    stream: StreamKey,
    /// Whether the stream has begun and is not finished.
    is_streaming: bool,
    /// The byte order, if the file is in UTF-16.
    utf16: Option<Utf16>,
    flight: Flight,
    salt: Fingerprint,
    /// Where the text begins.
    begin: u64,
    start: Fingerprint,
    start_len: usize,
    start_limit: usize,
    /// Everything before was handed over.
    read: u64,
    /// Everything before is safe.
    safe: u64,
    /// The bytes before `safe`.
    seek: Fingerprint,
    /// The bytes before `read`.
    back: Fingerprint,
    /// The last bytes before `read`, as far as they are remembered.
    window: Vec<u8>,
    /// The unfinished line behind `read`.
    held: Vec<u8>,
    /// NULs behind that line, up to the end of the file.
    nuls: u64,
}

/// The position and the state at which following a file begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) key: u64,
    pub(crate) path: PathBuf,
    pub(crate) target: usize,
    pub(crate) seen: Seen,
    pub(crate) patience: Duration,
    pub(crate) origin: InputMeta,
    pub(crate) stream: StreamKey,
    pub(crate) salt: Fingerprint,
    pub(crate) begin: u64,
    pub(crate) start: Fingerprint,
    pub(crate) start_len: usize,
    pub(crate) start_limit: usize,
    pub(crate) offset: u64,
    pub(crate) seek: Fingerprint,
    pub(crate) utf16: Option<Utf16>,
}

/// The purpose of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Send the new data.
    Read,
    /// Take the unfinished event as complete.
    Finish,
    /// The same, for good; without the unfinished line if somebody else has it.
    Close { with_held: bool },
}

/// The outcome of a turn.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Everything is handed over and acknowledged.
    UpToDate,
    /// There is more data to read.
    More,
    /// The file's content has been replaced.
    Replaced,
    /// The file is not where it was.
    Missing,
    /// The file is done with.
    Closed,
    /// The sink or the disk failed; data that is not safe is read again.
    Failed(Error),
}

enum Piece {
    /// The remembered bytes before the position, then the data after it.
    Bytes {
        bytes: Bytes,
        back: usize,
        seen: Seen,
        file: Arc<File>,
    },
    Replaced,
    Missing,
}

impl Tail {
    pub(crate) fn new(beginning: Beginning) -> Self {
        let Beginning { key, path, target, seen, patience, origin, stream, .. } = beginning;
        Self {
            key,
            path,
            target,
            seen,
            generation: 0,
            gone: false,
            replaced: false,
            queued: false,
            patience,
            last_growth: Instant::now(),
            file: None,
            origin: Arc::new(origin),
            stream,
            is_streaming: false,
            utf16: beginning.utf16,
            flight: Flight::default(),
            salt: beginning.salt,
            begin: beginning.begin,
            start: beginning.start,
            start_len: beginning.start_len,
            start_limit: beginning.start_limit,
            read: beginning.offset,
            safe: beginning.offset,
            seek: beginning.seek,
            back: beginning.seek,
            window: Vec::new(),
            held: Vec::new(),
            nuls: 0,
        }
    }

    pub(crate) fn record(&self) -> Record {
        Record {
            key: self.key,
            id: Some(self.seen.id),
            path: self.path.clone(),
            start: self.start,
            start_len: u32::try_from(self.start_len).unwrap_or(u32::MAX),
            offset: self.safe,
            seek: self.seek,
            packed: None,
        }
    }

    /// Everything before is safe.
    pub(crate) fn safe(&self) -> u64 {
        self.safe
    }

    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Whether an event or a line waits for its rest.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.held_characters() > 0 || self.safe < self.read
    }

    /// Bytes of the unfinished line without the beginning of a character.
    fn held_characters(&self) -> usize {
        utf16::border(self.utf16, &self.held, self.read)
    }

    /// Whether the file, as it was seen last, has been handed over to its end.
    pub(crate) fn is_at_end(&self) -> bool {
        self.known_end() >= self.seen.size && self.flight.is_empty()
    }

    /// The end of the file, as far as it has been looked at.
    fn known_end(&self) -> u64 {
        self.read + self.held.len() as u64 + self.nuls
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.last_growth.elapsed() >= self.patience
    }

    /// Continues with a file that has been renamed.
    pub(crate) fn go_on_at(&mut self, path: PathBuf, file: Option<File>) {
        self.path = path;
        self.file = file.map(Arc::new);
    }

    /// Closes the file, and frees the data that can be read again.
    pub(crate) fn rest(&mut self) {
        self.file = None;
        self.window = Vec::new();
        self.held.shrink_to_fit();
    }

    pub(crate) async fn turn(&mut self, shared: &Shared, goal: Goal) -> Outcome {
        // Data that was written since the last check would be lost if the file were closed now.
        let grown = matches!(goal, Goal::Close { with_held: true })
            && self.gone
            && !self.replaced
            && self.has_grown(shared).await;
        let result = match goal {
            Goal::Close { .. } if grown => self.read_on(shared).await,
            Goal::Read => self.read_on(shared).await,
            Goal::Finish => self.finish(shared).await.map(|()| Outcome::UpToDate),
            Goal::Close { with_held } => {
                if !with_held {
                    self.held.clear();
                }
                self.finish(shared).await.map(|()| Outcome::Closed)
            }
        };
        result.unwrap_or_else(|error| {
            self.read_again();
            Outcome::Failed(error)
        })
    }

    async fn read_on(&mut self, shared: &Shared) -> Result<Outcome, Error> {
        let permit = shared.readers.acquire().await;
        let mut budget = QUOTA;
        loop {
            let piece = self.fetch().await.map_err(|e| Error::read(self.path.display(), e))?;
            let (bytes, back, seen, file) = match piece {
                Piece::Bytes { bytes, back, seen, file } => (bytes, back, seen, file),
                Piece::Replaced => return Ok(Outcome::Replaced),
                Piece::Missing => return Ok(Outcome::Missing),
            };
            self.file = Some(file);
            self.seen = seen;
            let data = &bytes[back..];
            if !data.starts_with(&self.held) {
                return Ok(Outcome::Replaced);
            }
            let text = self.text_length(data);
            let data_end = self.read + data.len() as u64;
            if text > self.held.len() || data_end > self.known_end() {
                self.last_growth = Instant::now();
            }
            if text == 0 && !data.is_empty() {
                if self.skip_hole(shared, seen.size).await? {
                    continue;
                }
                drop(permit);
                return self.caught_up().await;
            }
            let at_end = data_end >= seen.size && data[text..].iter().all(|byte| *byte == 0);
            let (data, behind) = data.split_at(text);
            let cut = match utf16::last_line_end(self.utf16, data, self.read) {
                // A hole ends the line.
                _ if !at_end && !behind.is_empty() => text,
                Some(end) => end,
                // A line longer than that cannot wait.
                None if text >= CHUNK => utf16::border(self.utf16, data, self.read),
                None => 0,
            };
            self.held.clear();
            self.nuls = 0;
            if at_end {
                self.held.extend_from_slice(&data[cut..]);
                self.nuls = behind.len() as u64;
            }
            if cut > 0 {
                self.hand_over(shared, &bytes, back, cut).await?;
            }
            // A file that promises more than it gives is not asked again at once.
            if at_end || cut == 0 {
                drop(permit);
                return self.caught_up().await;
            }
            budget = budget.saturating_sub(cut);
            if budget == 0 || shared.is_stopping() {
                return Ok(Outcome::More);
            }
        }
    }

    async fn caught_up(&mut self) -> Result<Outcome, Error> {
        self.settle().await?;
        self.name_start().await;
        Ok(Outcome::UpToDate)
    }

    async fn has_grown(&self, shared: &Shared) -> bool {
        let _permit = shared.readers.acquire().await;
        match self.fetch().await {
            Ok(Piece::Bytes { bytes, back, seen, .. }) => {
                bytes.len() - back > self.held.len() && seen.size > self.known_end()
            }
            _ => false,
        }
    }

    /// Bytes of new data before a hole. In UTF-16, NULs are parts of characters.
    fn text_length(&self, data: &[u8]) -> usize {
        if self.utf16.is_some() { data.len() } else { hole::text_length(data) }
    }

    /// Goes from the start of a hole to the text behind it; the event before the hole is complete. `false`:
    /// nothing is behind it yet. Nothing is held.
    async fn skip_hole(&mut self, shared: &Shared, size: u64) -> Result<bool, Error> {
        let Some(file) = self.file.clone() else { return Ok(false) };
        // The NULs up to there have been looked at.
        let from = self.known_end();
        let work = move || -> io::Result<Option<(u64, Fingerprint)>> {
            let Some(data) = hole::next_data(&file, from, u64::MAX)? else { return Ok(None) };
            let before = data.min(SEEK as u64);
            let bytes = read_at(&file, data - before, usize::try_from(before).unwrap_or(SEEK))?;
            Ok(Some((data, Fingerprint::of(&bytes))))
        };
        let found = tokio::task::spawn_blocking(work).await;
        let found = found
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|error| Error::read(self.path.display(), error))?;
        let Some((data, back)) = found else {
            self.nuls = size.saturating_sub(self.read);
            return Ok(false);
        };
        self.finish(shared).await?;
        (self.read, self.safe) = (data, data);
        (self.back, self.seek) = (back, back);
        self.window = Vec::new();
        self.nuls = 0;
        Ok(true)
    }

    /// The next bytes, read where reading may block.
    async fn fetch(&self) -> io::Result<Piece> {
        let (file, path, id) = (self.file.clone(), self.path.clone(), self.seen.id);
        let (from, back) = (self.read, self.back);
        let work = move || fetch(file, &path, id, from, back);
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    async fn hand_over(
        &mut self,
        shared: &Shared,
        bytes: &Bytes,
        back: usize,
        cut: usize,
    ) -> Result<(), Error> {
        let piece = bytes.slice(back..back + cut);
        if self.window.is_empty() {
            self.window.extend_from_slice(&bytes[..back]);
        }
        self.push(shared, piece.clone(), false).await?;
        self.remember(&piece);
        Ok(())
    }

    fn remember(&mut self, piece: &[u8]) {
        let kept = piece.len().min(WINDOW);
        let room = WINDOW - kept;
        self.window.drain(..self.window.len().saturating_sub(room));
        self.window.extend_from_slice(&piece[piece.len() - kept..]);
        self.back = Fingerprint::of(&self.window[self.window.len().saturating_sub(SEEK)..]);
    }

    async fn push(&mut self, shared: &Shared, bytes: Bytes, end: bool) -> Result<(), Error> {
        let place = self.read + bytes.len() as u64;
        let note = self.note(bytes.clone(), place);
        let input = Input::Raw {
            origin: Arc::clone(&self.origin),
            stream: self.stream.clone(),
            bytes: self.marked(bytes),
            modified: Some(self.seen.time()),
            end,
        };
        let safe = self.flight.push(&shared.sink, (input, Some(note)), place).await?;
        self.is_streaming = !end;
        self.note_safe(safe);
        self.read = place;
        Ok(())
    }

    /// Bytes as their stream needs them: one that begins in the middle of the file does not have the file's
    /// mark, by which its text is decoded.
    fn marked(&self, bytes: Bytes) -> Bytes {
        match self.utf16 {
            Some(utf16) if !self.is_streaming && self.read > 0 && !bytes.is_empty() => {
                [&utf16.mark()[..], &bytes].concat().into()
            }
            _ => bytes,
        }
    }

    /// Returns the note for a sink with bytes that end at a position: the checkpoint once they are safe.
    fn note(&self, bytes: Bytes, place: u64) -> Note {
        let (record, key) = (self.record(), self.key);
        let back = &self.window[self.window.len().saturating_sub(2 * SEEK)..];
        let before = Bytes::copy_from_slice(back);
        let at = move |behind: u64| {
            let offset = place.checked_sub(behind)?;
            let wanted = usize::try_from(offset).unwrap_or(usize::MAX).min(SEEK);
            // The last bytes before the position: of this input, and of those before it.
            let all = before.len() + bytes.len();
            let end = all.checked_sub(usize::try_from(behind).ok()?)?;
            let begin = end.checked_sub(wanted)?;
            let mine = |at: usize| at.clamp(before.len(), all) - before.len();
            let earlier = &before[begin.min(before.len())..end.min(before.len())];
            let seek = Fingerprint::of(&[earlier, &bytes[mine(begin)..mine(end)]].concat());
            Some(checkpoints::noted(&Record { offset, seek, ..record.clone() }))
        };
        Note { source: key, at: Box::new(at) }
    }

    async fn settle(&mut self) -> Result<(), Error> {
        let safe = self.flight.settle().await?;
        self.note_safe(safe);
        Ok(())
    }

    /// The checkpoint moves to places whose bytes before are remembered.
    fn note_safe(&mut self, safe: Option<u64>) {
        let Some(safe) = safe.filter(|safe| *safe > self.safe) else { return };
        if safe == self.read {
            (self.safe, self.seek) = (safe, self.back);
            return;
        }
        let behind = self.read.saturating_sub(safe);
        let Some(end) = usize::try_from(behind).ok().and_then(|b| self.window.len().checked_sub(b))
        else {
            return;
        };
        let wanted = usize::try_from(safe).unwrap_or(usize::MAX).min(SEEK);
        if let Some(start) = end.checked_sub(wanted) {
            (self.safe, self.seek) = (safe, Fingerprint::of(&self.window[start..end]));
        }
    }

    /// Completes the unfinished event.
    async fn finish(&mut self, shared: &Shared) -> Result<(), Error> {
        if self.is_unfinished() {
            // The beginning of a character waits in the file.
            let whole = self.held_characters();
            let rest = self.held.split_off(whole);
            let held = Bytes::from(std::mem::replace(&mut self.held, rest));
            let short = self.window.len() < SEEK && (self.window.len() as u64) < self.read;
            self.push(shared, held.clone(), true).await?;
            if !held.is_empty() {
                self.remember(&held);
                // Without the bytes before, the checksum of the last bytes has to be computed from the file.
                if short {
                    self.back = self.name_back().await.unwrap_or(self.back);
                }
            }
        }
        self.settle().await
    }

    async fn name_back(&self) -> Option<Fingerprint> {
        let (file, path, id, read) =
            (self.file.clone(), self.path.clone(), self.seen.id, self.read);
        let work = move || {
            let file = file.or_else(|| open(&path, id).ok().flatten().map(Arc::new))?;
            let from = read.saturating_sub(SEEK as u64);
            let bytes = read_at(&file, from, usize::try_from(read - from).ok()?).ok()?;
            Some(Fingerprint::of(&bytes))
        };
        tokio::task::spawn_blocking(work).await.ok().flatten()
    }

    /// Extends the start checksum of a file that was short when it was first seen, as the file grows.
    async fn name_start(&mut self) {
        let begin = self.begin;
        // Text may be written in the place of the NULs at the end.
        let size = (self.seen.size - self.nuls.min(self.seen.size)).saturating_sub(begin);
        let wanted = self.start_limit.min(usize::try_from(size).unwrap_or(usize::MAX));
        let Some(file) = self.file.clone().filter(|_| wanted > self.start_len) else { return };
        let read = tokio::task::spawn_blocking(move || read_at(&file, begin, wanted)).await;
        if let Ok(Ok(head)) = read
            && head.len() > self.start_len
        {
            self.start = self.salt.extend(&head);
            self.start_len = head.len();
        }
    }

    /// Reads data that was not acknowledged again, as a new stream.
    fn read_again(&mut self) {
        self.flight.forget();
        (self.read, self.back) = (self.safe, self.seek);
        self.window = Vec::new();
        self.held = Vec::new();
        self.nuls = 0;
        self.stream = StreamKey(format!("{}+", self.stream.0).into());
        self.is_streaming = false;
    }
}

fn fetch(
    file: Option<Arc<File>>,
    path: &Path,
    id: FileId,
    from: u64,
    back: Fingerprint,
) -> io::Result<Piece> {
    let file = match file {
        Some(file) => file,
        None => match open(path, id)? {
            Some(file) => Arc::new(file),
            None => return Ok(Piece::Missing),
        },
    };
    let seen = Seen::of(&file.metadata()?);
    if seen.size < from {
        return Ok(Piece::Replaced);
    }
    let before = from.min(SEEK as u64);
    let more = (seen.size - from).min(CHUNK as u64);
    let wanted = usize::try_from(before + more).unwrap_or(CHUNK);
    let bytes = read_at(&file, from - before, wanted)?;
    let before = usize::try_from(before).unwrap_or(SEEK);
    if bytes.len() < before || Fingerprint::of(&bytes[..before]) != back && before > 0 {
        return Ok(Piece::Replaced);
    }
    Ok(Piece::Bytes { bytes: bytes.into(), back: before, seen, file })
}

/// Up to that many bytes from a place; fewer at the end of the file.
pub(crate) fn read_at(mut file: &File, from: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length);
    file.seek(SeekFrom::Start(from))?;
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

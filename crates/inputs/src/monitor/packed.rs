//! Packed files: unpacked once, from where the file they were made from had been read.
//!
//! A file that ends before its packing does is still written, or was cut: its whole lines are taken, and the
//! beginning of the last line waits for the rest of the file.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::checkpoints::{Checkpoints, Record, SEEK};
use super::examine::{Candidate, Start, Unpacked, examine_packed};
use super::fingerprint::Fingerprint;
use super::flight::Flight;
use super::place::{Seen, open};
use super::target::MonitorTarget;
use super::turn::Shared;
use crate::unpack::{send_chunks, unpack};
use crate::utf16;
use crate::{Error, Input, InputMeta, StreamKey};

const CHUNK: usize = 1 << 20;

/// A packed file to be taken in.
#[derive(Debug, Clone)]
pub(crate) struct PackedFile {
    pub(crate) path: PathBuf,
    pub(crate) seen: Seen,
    pub(crate) signature: Fingerprint,
    pub(crate) target: Arc<MonitorTarget>,
    /// Distinguishes the stream from those of earlier processes.
    pub(crate) instance: uuid::Uuid,
}

/// The outcome for a compressed file.
#[derive(Debug)]
pub(crate) enum Taken {
    /// Everything in it is safe, under this key.
    Whole(u64),
    /// Its content is that of a file that is still followed.
    CopyOf(u64),
    /// Its name leads to another file by now.
    Moved,
    /// The content is not text.
    Binary,
    /// The file cannot be read to its end; the data before the error is safe.
    Broken(Error),
    /// The sink failed or the process stops; to be tried again.
    Again(Error),
}

/// Takes a packed file in.
pub(crate) async fn take(
    shared: &Shared,
    book: &Arc<Mutex<Checkpoints>>,
    packed: &PackedFile,
) -> Taken {
    let _permit = shared.unpackers.acquire().await;
    let (shelf, file) = (Arc::clone(book), packed.clone());
    let utf16 = packed.target.utf16(&packed.path, shared);
    let look = tokio::task::spawn_blocking(move || {
        let target = &file.target;
        let (path, seen) = (&*file.path, file.seen);
        // The file was compared with the program's directories when it was found.
        let outside = None;
        let (from_end, is_text) = (false, false);
        let candidate = Candidate { path, seen, target, from_end, utf16, is_text, outside };
        let Some(opened) = open(path, seen.id)? else { return Ok(None) };
        let known = examine_packed(&shelf, candidate, &opened)?;
        Ok(Some((known, opened)))
    });
    let fail = |error| Taken::Broken(Error::read(packed.path.display(), error));
    let (start, file) = match look.await.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok(Some((Unpacked::From(start), file))) => (start, file),
        Ok(Some((Unpacked::CopyOf(key), _))) => return Taken::CopyOf(key),
        Ok(Some((Unpacked::Binary, _))) => return Taken::Binary,
        Ok(None) => return Taken::Moved,
        Err(error) => return fail(error),
    };
    let mut reading = Reading::new(start);
    match reading.run(shared, packed, file).await {
        Ok(None) => {
            let key = reading.note(book, packed, true);
            Taken::Whole(key)
        }
        Ok(Some(error)) => {
            reading.note(book, packed, false);
            fail(error)
        }
        Err(error) => Taken::Again(error),
    }
}

struct Reading {
    start: Start,
    origin: Option<Arc<InputMeta>>,
    flight: Flight,
    at: u64,
    /// The bytes before `at`, a seek's worth at most.
    last: Vec<u8>,
    /// The beginning of a line behind `at`.
    held: Vec<u8>,
}

impl Reading {
    fn new(start: Start) -> Self {
        let at = start.offset;
        let (last, held) = (Vec::new(), Vec::new());
        Self { start, origin: None, flight: Flight::default(), at, last, held }
    }

    /// Reads to the end; returns the error of the file, if there is one.
    async fn run(
        &mut self,
        shared: &Shared,
        packed: &PackedFile,
        file: File,
    ) -> Result<Option<io::Error>, Error> {
        let (sender, mut chunks) = mpsc::channel(2);
        let skip = self.start.offset;
        let reader = tokio::task::spawn_blocking(move || read(file, skip, &sender));
        let key = format!("packed:{}:{}", packed.instance, packed.path.display());
        let stream = StreamKey(key.into());
        let mut broken = None;
        let mut is_before = skip > 0;
        while let Some(chunk) = chunks.recv().await {
            if shared.is_stopping() {
                return Err(Error::Closed);
            }
            match chunk {
                Ok(bytes) if std::mem::take(&mut is_before) => self.last = bytes.into(),
                Ok(bytes) => self.push_lines(shared, packed, &stream, bytes).await?,
                Err(error) => broken = Some(error),
            }
        }
        let mut rest = Bytes::from(std::mem::take(&mut self.held));
        if broken.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof) {
            rest.clear();
        }
        if self.origin.is_some() || !rest.is_empty() {
            self.push(shared, packed, &stream, rest, true).await?;
        }
        self.flight.settle().await?;
        if reader.await.is_err() {
            return Err(Error::Abandoned);
        }
        Ok(broken)
    }

    /// Hands whole lines over; the beginning of a line is held.
    async fn push_lines(
        &mut self,
        shared: &Shared,
        packed: &PackedFile,
        stream: &StreamKey,
        bytes: Bytes,
    ) -> Result<(), Error> {
        let (utf16, place) = (self.start.utf16, self.at + self.held.len() as u64);
        let cut = match utf16::last_line_end(utf16, &bytes, place) {
            Some(end) => end,
            // A line longer than that cannot wait.
            None if self.held.len() + bytes.len() > CHUNK => utf16::border(utf16, &bytes, place),
            None => 0,
        };
        if cut > 0 {
            let held = std::mem::take(&mut self.held);
            let whole: Bytes = match held.is_empty() {
                true => bytes.slice(..cut),
                false => [&held[..], &bytes[..cut]].concat().into(),
            };
            self.push(shared, packed, stream, whole, false).await?;
        }
        self.held.extend_from_slice(&bytes[cut..]);
        Ok(())
    }

    async fn push(
        &mut self,
        shared: &Shared,
        packed: &PackedFile,
        stream: &StreamKey,
        bytes: Bytes,
        end: bool,
    ) -> Result<(), Error> {
        let origin = match &self.origin {
            Some(origin) => Arc::clone(origin),
            None => {
                let meta = packed.target.meta(&packed.path, &self.start.sample, shared);
                Arc::clone(self.origin.insert(Arc::new(meta)))
            }
        };
        let sent: Bytes = match self.start.utf16 {
            // The stream begins in the middle of the content, behind the mark.
            Some(utf16) if self.at > 0 && self.at == self.start.offset => {
                [&utf16.mark()[..], &bytes].concat().into()
            }
            _ => bytes.clone(),
        };
        self.at += bytes.len() as u64;
        let kept = bytes.len().saturating_sub(SEEK);
        self.last.extend_from_slice(&bytes[kept..]);
        let excess = self.last.len().saturating_sub(SEEK);
        self.last.drain(..excess);
        let modified = Some(packed.seen.time());
        let input = Input::Raw { origin, stream: stream.clone(), bytes: sent, modified, end };
        self.flight.push(&shared.sink, (input, None), self.at).await.map(drop)
    }

    /// Notes how far the content is safe, and that this file is done with if it is.
    fn note(&self, book: &Mutex<Checkpoints>, packed: &PackedFile, whole: bool) -> u64 {
        let mut book = book.lock();
        let key = self.start.key.unwrap_or_else(|| book.new_key());
        let seek = match self.at == self.start.offset {
            // There was no new data: perhaps the bytes before the position were not reached.
            true => (self.start.offset, self.start.seek),
            false => (self.at, Fingerprint::of(&self.last)),
        };
        book.put(Record {
            key,
            id: None,
            path: packed.path.clone(),
            start: self.start.start,
            start_len: u32::try_from(self.start.start_len).unwrap_or(u32::MAX),
            offset: seek.0,
            seek: seek.1,
            packed: whole.then_some(packed.signature),
        });
        key
    }
}

/// Decompresses a file from its beginning, without its first `skip` bytes. If there are such, the first chunk
/// has the last of them, up to the length of the seek checksum: together with the new data, they give the
/// checksum of the new position.
fn read(mut file: File, skip: u64, chunks: &mpsc::Sender<io::Result<Bytes>>) {
    let opened = file.rewind().and_then(|()| {
        let mut reader = unpack(file)?;
        let kept = skip.min(SEEK as u64);
        io::copy(&mut reader.by_ref().take(skip - kept), &mut io::sink())?;
        let mut before = Vec::new();
        reader.by_ref().take(kept).read_to_end(&mut before)?;
        if skip > 0 && chunks.blocking_send(Ok(before.into())).is_err() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(reader)
    });
    send_chunks(opened, CHUNK, chunks);
}

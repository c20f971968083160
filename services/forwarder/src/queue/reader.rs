//! Reads a queue in record order: positions first, contents only when they are sent.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::record::{HEADER, Header};
use super::{SEGMENT_HEADER, Shared};
use crate::Error;

/// The position of a record, readable until it is released.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    path: Arc<Path>,
    file: Arc<File>,
    offset: u64,
    pub(crate) header: Header,
}

impl Place {
    /// Reads and verifies the record's content; blocks.
    pub(crate) fn read(&self) -> Result<Bytes, Error> {
        let note = usize::from(self.header.note_len);
        let mut body = vec![0; note + self.header.content_len as usize];
        self.file
            .read_exact_at(&mut body, self.offset + HEADER as u64)
            .map_err(|error| Error::queue("read", &*self.path, error))?;
        if !self.header.fits(&body) {
            let reason = "the checksum of a record does not match";
            let path = self.path.to_path_buf();
            return Err(Error::Damaged { path, offset: self.offset, reason });
        }
        Ok(Bytes::from(body).slice(note..))
    }
}

/// The read position in the queue.
#[derive(Debug)]
pub(crate) struct Cursor {
    shared: Arc<Shared>,
    /// Number of the next record.
    next: u64,
    /// The open segment and the position in it.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: Arc<Path>,
    file: Arc<File>,
    offset: u64,
    /// Number of the record at the offset.
    at: u64,
    /// First number of the segment after it.
    end: u64,
}

/// The result of advancing a cursor.
#[derive(Debug)]
pub(crate) enum Found {
    /// The next record.
    Record(Place),
    /// There are no more records on disk.
    End,
    /// Records up to this number cannot be read and are lost.
    Lost { upto: u64, error: Error },
}

impl Cursor {
    pub(super) fn new(shared: Arc<Shared>, next: u64) -> Self {
        Self { shared, next, open: None }
    }

    /// Number of the next record.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    /// Returns the next record and advances; reads only its header.
    pub(crate) fn advance(&mut self) -> Found {
        let durable = *self.shared.durable.borrow();
        if self.next >= durable {
            return Found::End;
        }
        match self.step(durable) {
            Ok(place) => {
                self.next = place.header.sequence + 1;
                Found::Record(place)
            }
            Err(error) => {
                let open = self.open.take();
                let upto =
                    open.map_or(self.next + 1, |open| open.end.min(durable)).max(self.next + 1);
                self.next = upto;
                Found::Lost { upto, error }
            }
        }
    }

    fn step(&mut self, durable: u64) -> Result<Place, Error> {
        loop {
            if self.open.as_ref().is_none_or(|open| open.at >= open.end) {
                self.find_segment(durable)?;
            }
            let next = self.next;
            let Some(open) = &mut self.open else { continue };
            let mut fixed = [0; HEADER];
            open.file
                .read_exact_at(&mut fixed, open.offset)
                .map_err(|error| Error::queue("read", &*open.path, error))?;
            let Some(header) = Header::read(&fixed).filter(|header| header.sequence == open.at)
            else {
                let (path, offset) = (open.path.to_path_buf(), open.offset);
                return Err(Error::Damaged { path, offset, reason: "there is no record" });
            };
            let (path, file, offset) =
                (Arc::clone(&open.path), Arc::clone(&open.file), open.offset);
            open.offset += header.record_len();
            open.at += 1;
            if header.sequence >= next {
                return Ok(Place { path, file, offset, header });
            }
        }
    }

    /// Opens the segment of the next record; the open segment may have grown.
    fn find_segment(&mut self, durable: u64) -> Result<(), Error> {
        let (path, first, end) = {
            let state = self.shared.state.lock();
            let after = state.segments.partition_point(|segment| segment.first <= self.next);
            let Some(segment) = after.checked_sub(1).and_then(|at| state.segments.get(at)) else {
                let path = self.shared.settings.directory.clone();
                return Err(Error::Damaged { path, offset: 0, reason: "a segment is missing" });
            };
            let end = state.segments.get(after).map_or(durable, |next| next.first);
            (segment.path.clone(), segment.first, end)
        };
        if let Some(open) = self.open.as_mut().filter(|open| *open.path == path) {
            open.end = end;
            return Ok(());
        }
        let file = File::open(&path).map_err(|error| Error::queue("read", &path, error))?;
        let offset = SEGMENT_HEADER as u64;
        self.open = Some(Open { path: path.into(), file: Arc::new(file), offset, at: first, end });
        Ok(())
    }
}

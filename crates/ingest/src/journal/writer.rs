//! Appending to segments, and releasing them.

use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::HashMap;
use model::{IndexName, JournalPosition, Lane};
use runtime::{Entry, OpenDirectory};

use super::ledger::{Ledger, Mark, Sealed};
use crate::Error;

/// Header of every segment: magic, version, padding.
pub(crate) const SEGMENT_HEADER: [u8; 16] = *b"KARSTJRN\x01\0\0\0\0\0\0\0";

/// A stream within the journal's set.
pub(crate) type StreamRef = (IndexName, Lane);

/// A record that is about to be written.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    pub(crate) stream: StreamRef,
    /// The position that must be committed before the record can be released.
    pub(crate) position: JournalPosition,
    /// Number of its events.
    pub(crate) events: u64,
    pub(crate) bytes: &'a [u8],
}

#[derive(Debug)]
struct Segment {
    number: u64,
    path: PathBuf,
    /// The directory entry for removing the file while it is still being written to.
    entry: Option<Entry>,
    bytes: u64,
    events: u64,
    /// Last position of each stream in the segment.
    last: HashMap<StreamRef, JournalPosition>,
    /// Whether it has a damaged record: then it is renamed and kept when it is released.
    damaged: bool,
}

/// The journal of one pipeline set, which has one writer.
#[derive(Debug)]
pub(crate) struct Journal {
    directory: Arc<OpenDirectory>,
    segment_bytes: u64,
    active: Option<(Arc<File>, Segment)>,
    sealed: Vec<Segment>,
    next_number: u64,
    ledger: Ledger,
    /// A segment whose file was found to be lost when the segment was sealed, see [`Look`].
    lost: Option<Written>,
}

/// The state for checking whether the journal is lost. The check does not lock the journal: the path may lead
/// over a disk that does not answer while the disk of the journal does.
#[derive(Debug)]
pub(crate) struct Look {
    directory: Arc<OpenDirectory>,
    active: Option<Written>,
    /// A segment that seemed lost. It is checked again, because one check can be wrong, as with outdated
    /// attributes of a network file system.
    lost: Option<Written>,
}

/// The file of the segment that is being written.
#[derive(Debug, Clone)]
struct Written {
    file: Arc<File>,
    name: PathBuf,
    entry: Entry,
}

impl Look {
    /// Returns what happened to the directory, or to a segment while it was being written, if it was removed
    /// or replaced, so that no start would find its records. A segment that the journal itself has removed is
    /// no longer the one being written at the next check.
    pub(crate) fn loss(&self) -> Option<String> {
        let of = |written: Option<&Written>| written?.loss(&self.directory);
        of(self.lost.as_ref())
            .or_else(|| self.directory.loss())
            .or_else(|| of(self.active.as_ref()))
    }
}

impl Written {
    fn loss(&self, directory: &OpenDirectory) -> Option<String> {
        directory.loss_of(&self.file, &self.name, self.entry)
    }
}

/// A segment of an earlier process.
#[derive(Debug)]
pub(crate) struct Adopted {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) events: u64,
    pub(crate) last: HashMap<StreamRef, JournalPosition>,
    pub(crate) damaged: bool,
}

/// Returns the segment files of a directory, oldest first.
pub(crate) fn segments(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let fail = |error| Error::journal_read(directory, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if number_of(&path).is_some() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the number of a segment from its file name.
pub(crate) fn number_of(path: &Path) -> Option<u64> {
    if path.extension()? != "journal" {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

impl Journal {
    /// Opens the journal in `directory`, after the existing segments, which have been read and which `adopt`
    /// registers. Writes always begin a new segment.
    pub(crate) fn open(
        directory: &Path,
        segment_bytes: u64,
        ledger: Ledger,
    ) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(|error| Error::journal_write(directory, error))?;
        let opened = OpenDirectory::open(directory);
        let last = segments(directory)?.last().and_then(|path| number_of(path));
        Ok(Self {
            directory: Arc::new(opened.map_err(|error| Error::journal_write(directory, error))?),
            segment_bytes,
            active: None,
            sealed: Vec::new(),
            next_number: last.map_or(0, |last| last + 1),
            ledger,
            lost: None,
        })
    }

    /// Registers a segment of an earlier process, with the last position of each stream in it.
    pub(crate) fn adopt(&mut self, adopted: Adopted) {
        let Adopted { path, bytes, events, last, damaged } = adopted;
        let number = number_of(&path).unwrap_or(0);
        self.sealed.push(Segment { number, path, entry: None, bytes, events, last, damaged });
    }

    /// Reserves numbers up to this one: the name of an earlier segment is never reused, even if its file is
    /// gone.
    pub(crate) fn number_after(&mut self, number: u64) {
        self.next_number = self.next_number.max(number.saturating_add(1));
    }

    /// Starts to write the ledger, which includes the adopted segments from now on.
    pub(crate) fn begin_ledger(&self) {
        self.list();
        let segment = self.next_number;
        self.ledger.acknowledge(Mark { segment, ..Mark::default() });
    }

    /// Writes the list of segments to the ledger.
    pub(crate) fn list(&self) {
        let sealed = self.sealed.iter().map(|segment| Sealed {
            number: segment.number,
            bytes: segment.bytes,
            events: segment.events,
            streams: segment
                .last
                .iter()
                .map(|((index, lane), last)| (index.clone(), *lane, *last))
                .collect(),
        });
        self.ledger.list(sealed.collect());
    }

    /// Writes a group of records and makes them durable with one fsync. If it fails, no record of the group
    /// is in the journal.
    pub(crate) fn append(&mut self, group: &[Pending<'_>]) -> Result<(), Error> {
        if group.is_empty() {
            return Ok(());
        }
        if self.active.as_ref().is_some_and(|(_, segment)| segment.bytes >= self.segment_bytes) {
            self.keep_if_lost();
            self.sealed.extend(self.active.take().map(|(_, segment)| segment));
            self.list();
        }
        if self.active.is_none() {
            self.active = Some(self.begin_segment()?);
        }
        let Some((file, segment)) = &mut self.active else {
            return Err(Error::Abandoned);
        };
        let written = write_group(file, group).and_then(|bytes| file.sync_data().map(|()| bytes));
        match written {
            Ok(bytes) => {
                segment.bytes += bytes;
                for record in group {
                    segment.events += record.events;
                    let last = segment.last.entry(record.stream.clone()).or_default();
                    *last = (*last).max(record.position);
                }
                self.ledger.acknowledge(segment.mark());
                Ok(())
            }
            Err(error) => {
                let error = Error::journal_write(&segment.path, error);
                self.cut_back();
                Err(error)
            }
        }
    }

    /// Truncates what a failed group may have left. After a failed fsync the state of the pages is unknown,
    /// so nothing more is written to the segment. If truncating fails too, the tail has unacknowledged
    /// records that the next start would replay; the file is marked accordingly.
    pub(super) fn cut_back(&mut self) {
        self.keep_if_lost();
        let Some((file, segment)) = self.active.take() else { return };
        let cut = file.set_len(segment.bytes).and_then(|()| file.sync_all());
        if let Err(error) = cut {
            tracing::error!(
                path = %segment.path.display(), %error, keep = segment.bytes,
                "cannot cut back the journal after a failed write; refused events may come back \
                 after a restart",
            );
        }
        if segment.last.is_empty() {
            self.ledger.acknowledge(Mark { bytes: 0, ..segment.mark() });
            if let Err(error) = self.directory.remove(segment.name()) {
                tracing::debug!(path = %segment.path.display(), %error, "empty segment stays");
            }
        } else {
            self.sealed.push(segment);
            self.list();
        }
    }

    fn begin_segment(&mut self) -> Result<(Arc<File>, Segment), Error> {
        let number = self.next_number;
        let name = format!("{number:020}.journal");
        let path = self.directory.path().join(&name);
        let fail = |error| Error::journal_write(&path, error);
        let mut file = self.directory.create_new(&name).map_err(fail)?;
        self.next_number += 1;
        let prepared = file
            .write_all(&SEGMENT_HEADER)
            .and_then(|()| file.sync_all())
            .and_then(|()| self.directory.sync());
        if let Err(error) = prepared {
            // An empty segment is harmless, and the next attempt uses another number.
            let _ = self.directory.remove(&name);
            return Err(fail(error));
        }
        let entry = self.directory.entry(&file, &name).ok();
        let bytes = SEGMENT_HEADER.len() as u64;
        let last = HashMap::default();
        let segment = Segment { number, path, entry, bytes, events: 0, last, damaged: false };
        Ok((Arc::new(file), segment))
    }

    /// Returns the state for checking whether the journal is lost.
    pub(crate) fn look(&self) -> Look {
        Look {
            directory: Arc::clone(&self.directory),
            active: self.written(),
            lost: self.lost.clone(),
        }
    }

    fn written(&self) -> Option<Written> {
        let (file, segment) = self.active.as_ref()?;
        let name = segment.name().to_owned();
        Some(Written { file: Arc::clone(file), name, entry: segment.entry? })
    }

    /// Checks the active segment before it is sealed, because its loss would not be noticed afterwards.
    fn keep_if_lost(&mut self) {
        let has_records = self.active.as_ref().is_some_and(|(_, segment)| !segment.last.is_empty());
        if !has_records || self.is_lost(self.lost.as_ref()) {
            return;
        }
        self.lost = self.written().filter(|written| self.is_lost(Some(written)));
    }

    fn is_lost(&self, written: Option<&Written>) -> bool {
        written.is_some_and(|written| written.loss(&self.directory).is_some())
    }

    /// Deletes the segments whose streams are all committed beyond them.
    pub(crate) fn release(
        &mut self,
        committed: impl Fn(&StreamRef) -> Option<JournalPosition>,
    ) -> usize {
        let done = |segment: &Segment| {
            segment.last.iter().all(|(stream, last)| committed(stream) >= Some(*last))
        };
        let (mut gone, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.sealed).into_iter().partition(done);
        self.sealed = kept;
        // An active segment without uncommitted records is deleted too, so that a drained journal is an empty
        // directory.
        let idle = self.active.take_if(|(_, segment)| !segment.last.is_empty() && done(segment));
        if gone.is_empty() && idle.is_none() {
            return 0;
        }
        // Listed before the files are deleted: a segment that is missing and still listed was lost.
        self.list();
        if let Some((_, segment)) = idle {
            self.ledger.acknowledge(Mark { bytes: 0, events: 0, ..segment.mark() });
            gone.push(segment);
        }
        // From here on the segment is missing because the journal removes it.
        if !self.is_lost(self.lost.as_ref()) {
            self.lost = None;
        }
        let before = gone.len();
        gone.retain(|segment| !let_go(&self.directory, segment));
        let released = before - gone.len();
        self.sealed.extend(gone);
        released
    }

    /// Returns the last position of each stream in the journal.
    pub(crate) fn last_positions(&self) -> HashMap<StreamRef, JournalPosition> {
        let mut all: HashMap<StreamRef, JournalPosition> = HashMap::default();
        let active = self.active.iter().map(|(_, segment)| segment);
        for (stream, last) in self.sealed.iter().chain(active).flat_map(|segment| &segment.last) {
            let known = all.entry(stream.clone()).or_default();
            *known = (*known).max(*last);
        }
        all
    }

    /// Returns the size on disk in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let active = self.active.iter().map(|(_, segment)| segment);
        self.sealed.iter().chain(active).map(|segment| segment.bytes).sum()
    }

    /// Returns the number of segments.
    pub(crate) fn segment_count(&self) -> usize {
        self.sealed.len() + usize::from(self.active.is_some())
    }
}

impl Segment {
    /// Returns the file name of the segment in the directory of the journal.
    fn name(&self) -> &Path {
        Path::new(self.path.file_name().unwrap_or_default())
    }

    fn mark(&self) -> Mark {
        let position = self.last.values().copied().max().unwrap_or_default();
        Mark { segment: self.number, bytes: self.bytes, events: self.events, position }
    }
}

fn let_go(directory: &OpenDirectory, segment: &Segment) -> bool {
    let name = segment.name();
    let result = if segment.damaged {
        directory.rename(name, name.with_extension("damaged"))
    } else {
        directory.remove(name)
    };
    let Err(error) = result else { return true };
    tracing::warn!(path = %segment.path.display(), %error, "cannot remove a journal segment");
    // A file that is already gone is not removed again.
    error.kind() == io::ErrorKind::NotFound
}

fn write_group(mut file: &File, group: &[Pending<'_>]) -> io::Result<u64> {
    let total = group.iter().map(|record| record.bytes.len() as u64).sum();
    for some in group.chunks(512) {
        let mut slices: Vec<_> = some.iter().map(|record| IoSlice::new(record.bytes)).collect();
        let mut rest = slices.as_mut_slice();
        while !rest.is_empty() {
            match file.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(total)
}

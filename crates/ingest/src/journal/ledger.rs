//! A record of what the journal of a set has acknowledged, separate from the segments, so that a start can
//! tell a torn tail of unacknowledged records from missing acknowledged ones.
//!
//! Two small files in `<data>/journal-state/`. `<set>.mark` is 64 bytes, overwritten after each
//! synced group and not synced itself: after a loss of power it may be older than the journal, never
//! newer, so it is a lower bound of what was acknowledged. `<set>.segments` lists the sealed
//! segments; it is rewritten when one is sealed or released. Both are hints: without them, or
//! damaged, the journal is recovered as it is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{IndexName, IndexerId, JournalPosition, Lane};
use runtime::OpenDirectory;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::writer::StreamRef;
use crate::Error;

const MAGIC: [u8; 8] = *b"KARSTMK\x01";
const LENGTH: usize = 64;

/// The acknowledged part of the newest segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Number of the segment.
    pub(crate) segment: u64,
    /// Number of its synced bytes.
    pub(crate) bytes: u64,
    /// Number of events of its records.
    pub(crate) events: u64,
    /// The highest position in it.
    pub(crate) position: JournalPosition,
}

/// A segment that takes no more records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sealed {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) events: u64,
    /// Last position of each stream in it.
    pub(crate) streams: Vec<(IndexName, Lane, JournalPosition)>,
}

impl Sealed {
    /// Whether everything in it is in object storage, so that its file may be missing.
    pub(crate) fn is_covered(
        &self,
        committed: impl Fn(&StreamRef) -> Option<JournalPosition>,
    ) -> bool {
        let mut streams = self.streams.iter();
        streams.all(|(index, lane, last)| committed(&(index.clone(), *lane)) >= Some(*last))
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    sealed: Vec<Sealed>,
}

/// The state that an earlier process has left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The indexer whose journal it is.
    pub(crate) indexer: Option<IndexerId>,
    pub(crate) mark: Option<Mark>,
    pub(crate) sealed: Vec<Sealed>,
}

impl Known {
    /// Reads the files of a set in `directory`.
    pub(crate) fn read(directory: &Path, set: u16) -> Self {
        read(directory, set)
    }

    /// Returns the acknowledged bytes and events of a segment, if they are known.
    pub(crate) fn acknowledged(&self, number: u64) -> Option<(u64, u64)> {
        let mark = self.mark.filter(|mark| mark.segment == number && mark.bytes > 0);
        let sealed = self.sealed.iter().find(|sealed| sealed.number == number);
        let sealed = sealed.map(|sealed| (sealed.bytes, sealed.events));
        mark.map(|mark| (mark.bytes, mark.events)).max(sealed)
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Ledger {
    directory: OpenDirectory,
    set: u16,
    mark: File,
    indexer: IndexerId,
}

impl Ledger {
    /// Opens or creates the files of a set in `directory`, and reads them.
    pub(crate) fn open(
        directory: &Path,
        set: u16,
        indexer: IndexerId,
    ) -> Result<(Self, Known), Error> {
        let fail = |error| Error::journal_write(directory, error);
        fs::create_dir_all(directory).map_err(fail)?;
        let known = read(directory, set);
        let path = directory.join(format!("{set}.mark"));
        let mark = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let mark = mark.map_err(|error| Error::journal_write(&path, error))?;
        let directory = OpenDirectory::open(directory).map_err(fail)?;
        Ok((Self { directory, set, mark, indexer }, known))
    }

    /// Writes the mark of what has been synced, without a sync of its own: see the module.
    pub(crate) fn acknowledge(&self, mark: Mark) {
        if let Err(error) = self.mark.write_all_at(&encode(mark, self.indexer), 0) {
            // The journal itself is on disk; only the hint is older.
            tracing::debug!(%error, "the journal's mark could not be written");
        }
    }

    /// Writes the list of sealed segments.
    pub(crate) fn list(&self, sealed: Vec<Sealed>) {
        let write = || -> io::Result<()> {
            let text = serde_json::to_vec(&List { sealed })?;
            let draft = format!("{}.new", self.set);
            self.directory.create(&draft)?.write_all(&text)?;
            self.directory.rename(&draft, format!("{}.segments", self.set))
        };
        if let Err(error) = write() {
            let path = self.directory.path().display();
            tracing::debug!(%path, set = self.set, %error, "segments could not be listed");
        }
    }
}

/// Returns the indexers to which the files in `directory` belong.
pub(crate) fn owners(directory: &Path) -> Vec<IndexerId> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let marks = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let is_mark = path.extension().is_some_and(|extension| extension == "mark");
        decode(&fs::read(path).ok()?).filter(|_| is_mark).map(|(_, indexer)| indexer)
    });
    let mut owners: Vec<IndexerId> = marks.collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

fn read(directory: &Path, set: u16) -> Known {
    let mark = fs::read(directory.join(format!("{set}.mark"))).ok();
    let mark = mark.as_deref().and_then(decode);
    let list = fs::read(directory.join(format!("{set}.segments"))).ok();
    let list = list.and_then(|text| serde_json::from_slice::<List>(&text).ok());
    Known {
        indexer: mark.map(|(_, indexer)| indexer),
        mark: mark.map(|(mark, _)| mark),
        sealed: list.unwrap_or_default().sealed,
    }
}

fn encode(mark: Mark, indexer: IndexerId) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..24].copy_from_slice(indexer.0.as_bytes());
    let numbers = [mark.segment, mark.bytes, mark.events, mark.position.0];
    for (at, number) in numbers.into_iter().enumerate() {
        bytes[24 + at * 8..32 + at * 8].copy_from_slice(&number.to_le_bytes());
    }
    let crc = crc32fast::hash(&bytes[..56]);
    bytes[56..60].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<(Mark, IndexerId)> {
    let bytes: &[u8; LENGTH] = bytes.first_chunk()?;
    let crc = u32::from_le_bytes([bytes[56], bytes[57], bytes[58], bytes[59]]);
    if bytes[..8] != MAGIC || crc32fast::hash(&bytes[..56]) != crc {
        return None;
    }
    let number = |at: usize| {
        let start = 24 + at * 8;
        bytes[start..start + 8].first_chunk().map_or(0, |number| u64::from_le_bytes(*number))
    };
    let indexer = Uuid::from_slice(&bytes[8..24]).ok()?;
    let position = JournalPosition(number(3));
    let mark = Mark { segment: number(0), bytes: number(1), events: number(2), position };
    Some((mark, IndexerId(indexer)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_and_a_damaged_one_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let indexer = IndexerId(Uuid::from_u128(7));
        let (ledger, known) = Ledger::open(directory.path(), 0, indexer).unwrap();
        assert_eq!(known, Known::default());
        let mark = Mark { segment: 3, bytes: 99, events: 5, position: JournalPosition(12) };
        ledger.acknowledge(mark);
        let (_, known) = Ledger::open(directory.path(), 0, indexer).unwrap();
        assert_eq!((known.mark, known.indexer), (Some(mark), Some(indexer)));
        assert_eq!(known.acknowledged(3), Some((99, 5)));
        assert_eq!(owners(directory.path()), [indexer]);
        let path = directory.path().join("0.mark");
        let mut bytes = fs::read(&path).unwrap();
        bytes[30] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(read(directory.path(), 0), Known::default());
    }
}

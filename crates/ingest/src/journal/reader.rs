//! Reading a segment that may be damaged.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use memchr::memmem;
use model::{IndexName, JournalPosition};

use super::record::{HEADER, Header, MAGIC, Record, decode};
use super::writer::{SEGMENT_HEADER, StreamRef};
use crate::Error;

/// The result of reading a segment.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Length of the intact part; a torn tail follows it.
    pub(crate) whole: u64,
    /// Length of the file.
    pub(crate) length: u64,
    /// Damaged records in the middle.
    pub(crate) damage: Vec<Error>,
}

/// Reads a segment and passes every undamaged record to `deliver`, in order.
///
/// # Errors
/// The file cannot be read, or is not a journal segment.
pub(crate) fn scan_segment(path: &Path, deliver: impl FnMut(Record)) -> Result<Scan, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|error| Error::journal_read(path, error))?;
    Ok(scan_bytes(path, &bytes, deliver))
}

/// Reads a segment in memory as [`scan_segment`] does.
pub(crate) fn scan_bytes(path: &Path, bytes: &[u8], mut deliver: impl FnMut(Record)) -> Scan {
    let mut scan = Scan { whole: 0, length: bytes.len() as u64, damage: Vec::new() };
    if bytes.len() < SEGMENT_HEADER.len() {
        // The crash came before the header was durable, so nothing in the segment was acknowledged.
        return scan;
    }
    let mut at = SEGMENT_HEADER.len();
    if bytes[..at] != SEGMENT_HEADER {
        scan.damage.push(damaged(path, 0, "the segment header is not one"));
    }
    scan.whole = at as u64;
    while at < bytes.len() {
        match read_record(&bytes[at..]) {
            Ok((record, length)) => {
                deliver(record);
                at += length;
                scan.whole = at as u64;
            }
            Err(reason) => match next_record(bytes, at) {
                Some(next) => {
                    scan.damage.push(damaged(path, at, reason));
                    at = next;
                }
                None => break,
            },
        }
    }
    scan
}

/// A record that has not been decoded.
#[derive(Debug)]
pub(crate) struct RawRecord<'a> {
    pub(crate) stream: StreamRef,
    pub(crate) position: JournalPosition,
    pub(crate) bytes: &'a [u8],
}

/// Passes the records of a part of a segment to `deliver` without decoding them, up to the first damage.
pub(crate) fn scan_raw(mut bytes: &[u8], mut deliver: impl FnMut(RawRecord<'_>)) {
    while let Some((header, index)) = Header::read(bytes) {
        let length = usize::try_from(header.record_len()).unwrap_or(usize::MAX);
        let (Some(record), Ok(index)) = (bytes.get(..length), IndexName::new(index)) else {
            return;
        };
        let position = JournalPosition(header.position);
        deliver(RawRecord { stream: (index, header.lane), position, bytes: record });
        bytes = &bytes[length..];
    }
}

fn damaged(path: &Path, offset: usize, reason: &'static str) -> Error {
    Error::JournalDamaged { path: path.to_owned(), offset: offset as u64, reason }
}

fn read_record(bytes: &[u8]) -> Result<(Record, usize), &'static str> {
    let (header, index) = Header::read(bytes).ok_or("there is no record header")?;
    let start = HEADER + index.len();
    let length = usize::try_from(header.record_len()).map_err(|_| "the record is too long")?;
    let payload = bytes.get(start..length).ok_or("the record is longer than the file")?;
    Ok((decode(&header, index, payload)?, length))
}

/// Returns the offset of the next whole record after `at`.
fn next_record(bytes: &[u8], at: usize) -> Option<usize> {
    let candidates = memmem::find_iter(&bytes[at + 1..], &MAGIC).map(|found| at + 1 + found);
    candidates.into_iter().find(|&next| read_record(&bytes[next..]).is_ok())
}

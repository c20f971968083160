//! Examines a file that has just appeared: whether it is new, known under another name, a copy, or
//! compressed.
//!
//! A file is recognized by its identity, otherwise by its start and by the bytes before the position up to
//! which it was read. While a known file still exists, another file with the same content is its copy and
//! waits: when the original is truncated (copytruncate) or removed (compressed rotation), the copy is read
//! from the position at which the original ended.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use parking_lot::Mutex;

use super::checkpoints::{Checkpoints, Record, SEEK};
use super::fingerprint::Fingerprint;
use super::hole::{self, next_data};
use super::place::{FileId, Seen, open};
use super::tail::read_at;
use super::target::MonitorTarget;
use crate::OwnDirectories;
use crate::text::nuls_around;
use crate::unpack::{Packing, is_binary, unpack};
use crate::utf16::{self, Utf16};

/// Bytes from which the format of a file is recognised.
const SAMPLE: usize = 16 << 10;
/// Maximum number of unread files with the same start with which a new file is compared: thousands of files
/// may begin with the same lines.
pub(crate) const COMPARED: usize = 16;
/// Maximum number of NULs on the disk that are read to find the text behind them, for a file that was not
/// followed before.
const MOST_NULS: u64 = 64 << 20;

/// The decision about a file.
#[derive(Debug)]
pub(crate) enum Decision {
    /// The file is empty.
    Empty,
    /// It has only NULs: text may be written in their place, or behind them.
    Blank,
    /// Its name leads to another file by now.
    Moved,
    /// Follow it from a place.
    Follow(Start),
    /// The file has the content of one that is still followed: it waits for the fate of that one.
    CopyOf(u64),
    /// The same, and nothing of that one is read yet.
    CopyOfUnread(u64),
    /// The same, and that one has no record yet.
    CopyOfNew(FileId),
    /// Packed: to be unpacked once it is complete.
    Packed(Fingerprint),
    /// Packed, and taken in before.
    Done(u64),
    /// The file is not read, for this reason.
    Ignore(String),
}

/// The beginning of a file, and where to go on.
#[derive(Debug)]
pub(crate) struct Start {
    /// The record it continues, if any.
    pub(crate) key: Option<u64>,
    /// Where the text begins, behind a hole.
    pub(crate) begin: u64,
    pub(crate) start: Fingerprint,
    pub(crate) start_len: usize,
    pub(crate) offset: u64,
    pub(crate) seek: Fingerprint,
    pub(crate) sample: Vec<u8>,
    /// The byte order, if the text is in UTF-16.
    pub(crate) utf16: Option<Utf16>,
}

/// A file to be judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) path: &'a Path,
    pub(crate) seen: Seen,
    pub(crate) target: &'a MonitorTarget,
    /// Whether a new file is to be read from its end.
    pub(crate) from_end: bool,
    /// The byte order, if the configured character set is UTF-16. A mark in the file counts more.
    pub(crate) utf16: Option<Utf16>,
    /// Whether the file was followed before, and therefore is text.
    pub(crate) is_text: bool,
    /// Directories of the program, if the file must not be in one of them.
    pub(crate) outside: Option<&'a OwnDirectories>,
}

/// Judges a plain or packed file; blocks.
pub(crate) fn examine(book: &Mutex<Checkpoints>, candidate: Candidate<'_>) -> io::Result<Decision> {
    match open(candidate.path, candidate.seen.id)? {
        Some(file) => examine_opened(book, candidate, &file),
        None => Ok(Decision::Moved),
    }
}

/// The same for a file that is open, whatever its name is by now.
pub(crate) fn examine_opened(
    book: &Mutex<Checkpoints>,
    candidate: Candidate<'_>,
    file: &File,
) -> io::Result<Decision> {
    let Candidate { path, target, .. } = candidate;
    if candidate.outside.is_some_and(|own| own.holding_open(file).is_some()) {
        return Ok(Decision::Ignore("in a directory of this program".to_owned()));
    }
    // The file may have grown, or been truncated, since it was listed.
    let seen = Seen::of(&file.metadata()?);
    let candidate = Candidate { seen, ..candidate };
    let mut head = read_at(file, 0, SAMPLE.max(target.init_crc_length))?;
    // A single byte may be half of a byte order mark.
    if head.is_empty() || matches!(head[..], [0xFF | 0xFE]) {
        return Ok(Decision::Empty);
    }
    match Packing::of(&head) {
        Some(Packing::Other(name)) => {
            return Ok(Decision::Ignore(format!("compressed with {name}")));
        }
        Some(_) => {
            let signature = signature(file, seen.size)?;
            let known = book.lock().of_packed(signature).map(|record| record.key);
            return Ok(known.map_or(Decision::Packed(signature), Decision::Done));
        }
        None => {}
    }
    let utf16 = Utf16::marked(&head).or(candidate.utf16);
    let is_text = candidate.is_text || book.lock().of_file(seen.id).is_some();
    let mut begin = 0;
    if utf16.is_none() && head.starts_with(&[0]) {
        let most = if is_text { u64::MAX } else { MOST_NULS };
        let Some(data) = next_data(file, 0, most)? else { return Ok(Decision::Blank) };
        begin = data;
        head = read_at(file, begin, SAMPLE.max(target.init_crc_length))?;
    }
    let nuls_behind = nuls_around(&head).1;
    if utf16.is_none() && !is_text && is_binary(&head[..head.len() - nuls_behind]) {
        return Ok(Decision::Ignore("binary".to_owned()));
    }
    let salt = target.salted(path);
    // Text may be written in the place of the NULs at the end.
    let text = if utf16.is_some() { head.len() } else { hole::text_length(&head) };
    let start_len = text.min(target.init_crc_length);
    let start = salt.extend(&head[..start_len]);
    let follow = |key, offset, seek| {
        let sample = head[..head.len().min(SAMPLE)].to_vec();
        Decision::Follow(Start { key, begin, start, start_len, offset, seek, sample, utf16 })
    };
    if let Some(same) = same_file(book, candidate, &head, file)? {
        let (offset, seek) = whole_characters(file, seen.size, &same, utf16)?;
        return Ok(follow(Some(same.key), offset, seek));
    }
    if target.knows_content() {
        let mut unread = 0;
        for record in alike(book, salt, &head, candidate) {
            let live = book.lock().is_live(record.key);
            if live && record.offset == 0 {
                if is_rewritten(&record, salt) {
                    // This file is what the followed one was before: its line that had begun is here.
                    return Ok(Decision::CopyOf(record.key));
                }
                unread += 1;
                if unread <= COMPARED && is_copy(path, &record.path) {
                    return Ok(Decision::CopyOfUnread(record.key));
                }
                continue;
            }
            if seen.size >= record.offset {
                if seek_at(file, record.offset)? == record.seek {
                    if live && let Some(end) = end_of_copied(&record, file, seen.size) {
                        return Ok(follow(None, end, seek_at(file, end)?));
                    }
                    if live {
                        return Ok(Decision::CopyOf(record.key));
                    }
                    let (offset, seek) = whole_characters(file, seen.size, &record, utf16)?;
                    return Ok(follow(Some(record.key), offset, seek));
                }
            } else if live && begins_like(&record, file, seen.size) {
                return Ok(Decision::CopyOf(record.key));
            }
        }
    }
    if candidate.from_end {
        let end = last_line_end(file, seen.size, utf16)?;
        return Ok(follow(None, end, seek_at(file, end)?));
    }
    Ok(follow(None, begin, seek_at(file, begin)?))
}

/// The record of this very file, if it has not been written anew since.
fn same_file(
    book: &Mutex<Checkpoints>,
    candidate: Candidate<'_>,
    head: &[u8],
    file: &File,
) -> io::Result<Option<Record>> {
    let Candidate { seen, target, .. } = candidate;
    let Some(record) = book.lock().of_file(seen.id).cloned() else { return Ok(None) };
    let length = record.start_len as usize;
    let salt = target.salted(&record.path);
    let same = head.get(..length).is_some_and(|start| salt.extend(start) == record.start)
        && record.offset <= seen.size
        && seek_at(file, record.offset)? == record.seek;
    if same {
        return Ok(Some(record));
    }
    // The identity is another file's now; the record may still be found by content.
    book.lock().put(Record { id: None, ..record });
    Ok(None)
}

/// Returns the records of files with the same start, the longest first.
fn alike(
    book: &Mutex<Checkpoints>,
    salt: Fingerprint,
    head: &[u8],
    candidate: Candidate<'_>,
) -> Vec<Record> {
    let Candidate { path, target, .. } = candidate;
    // A short start is not specific enough: the name has to match, too.
    let fits = |record: &&Record| {
        record.start_len as usize >= target.init_crc_length || family(&record.path) == family(path)
    };
    let book = book.lock();
    let mut found: Vec<_> = book.begun_as(salt, head).into_iter().filter(fits).cloned().collect();
    found.sort_by_key(|record| std::cmp::Reverse(record.offset));
    found
}

/// The relation of a compressed file to known files.
#[derive(Debug)]
pub(crate) enum Unpacked {
    /// The content is new, or continues a known file from a position.
    From(Start),
    /// A file that is still there.
    CopyOf(u64),
    /// The content is not text.
    Binary,
}

/// Examines the content of a compressed file. Blocks the thread.
pub(crate) fn examine_packed(
    book: &Mutex<Checkpoints>,
    candidate: Candidate<'_>,
    file: &File,
) -> io::Result<Unpacked> {
    let Candidate { path, target, .. } = candidate;
    let mut reader = unpack(file)?;
    let mut head = Vec::new();
    let most = SAMPLE.max(target.init_crc_length) as u64;
    reader.by_ref().take(most).read_to_end(&mut head)?;
    let utf16 = Utf16::marked(&head).or(candidate.utf16);
    // A packed file has the NULs of a hole at its start.
    let mut begin = 0;
    while utf16.is_none() && head.starts_with(&[0]) && begin < MOST_NULS {
        let nuls = head.iter().take_while(|byte| **byte == 0).count();
        head.drain(..nuls);
        begin += nuls as u64;
        reader.by_ref().take(most - head.len() as u64).read_to_end(&mut head)?;
    }
    let is_blank = head.is_empty() && begin > 0;
    if utf16.is_none() && (is_blank || is_binary(&head)) {
        return Ok(Unpacked::Binary);
    }
    let nuls = usize::try_from(begin).unwrap_or(SEEK).min(SEEK);
    let salt = target.salted(path);
    let start_len = head.len().min(target.init_crc_length);
    let start = salt.extend(&head[..start_len]);
    let mut from = Start {
        key: None,
        begin,
        start,
        start_len,
        offset: begin,
        seek: Fingerprint::of(&[0; SEEK][..nuls]),
        sample: head[..head.len().min(SAMPLE)].to_vec(),
        utf16,
    };
    // A file that is indexed once is independent of other files; but it may have been read before it was
    // complete.
    let is_own =
        |record: &Record| record.path == path && record.id.is_none() && record.packed.is_none();
    let mut known = alike(book, salt, &head, candidate);
    known.retain(|record| target.knows_content() || is_own(record));
    let mut places: Vec<u64> = known.iter().map(|record| record.offset).collect();
    places.sort_unstable();
    let seeks = seeks_in(io::Cursor::new(head).chain(reader), begin, &places)?;
    for record in known {
        let found = seeks.iter().find(|(place, _)| *place == record.offset);
        if found.is_some_and(|(_, seek)| *seek == record.seek) {
            if book.lock().is_live(record.key) {
                return Ok(Unpacked::CopyOf(record.key));
            }
            (from.key, from.offset, from.seek) = (Some(record.key), record.offset, record.seek);
            break;
        }
    }
    Ok(Unpacked::From(from))
}

/// The names of the bytes before places of a stream whose first bytes were NULs and are not in the reader;
/// places behind its end are left out.
fn seeks_in(
    mut reader: impl Read,
    nuls: u64,
    places: &[u64],
) -> io::Result<Vec<(u64, Fingerprint)>> {
    let mut found = Vec::new();
    let (mut before, mut at) = (vec![0; usize::try_from(nuls).unwrap_or(SEEK).min(SEEK)], nuls);
    for place in places {
        while at < *place {
            let step = (*place - at).min(256 << 10);
            let read = reader.by_ref().take(step).read_to_end(&mut before)?;
            if read == 0 {
                return Ok(found);
            }
            at += read as u64;
            let excess = before.len().saturating_sub(SEEK);
            before.drain(..excess);
        }
        found.push((*place, Fingerprint::of(&before)));
    }
    Ok(found)
}

/// Returns the fingerprint of a compressed file on the disk: its size and both ends.
fn signature(file: &File, size: u64) -> io::Result<Fingerprint> {
    let first = read_at(file, 0, SEEK)?;
    let last = read_at(file, size.saturating_sub(SEEK as u64), SEEK)?;
    Ok(Fingerprint::of(&size.to_le_bytes()).extend(&first).extend(&last))
}

fn seek_at(file: &File, offset: u64) -> io::Result<Fingerprint> {
    let from = offset.saturating_sub(SEEK as u64);
    let length = usize::try_from(offset - from).unwrap_or(SEEK);
    Ok(Fingerprint::of(&read_at(file, from, length)?))
}

/// Whether a shorter file is a copy of the first part of the record's file.
fn begins_like(record: &Record, file: &File, size: u64) -> bool {
    let original = File::open(&record.path).and_then(|original| seek_at(&original, size));
    let copy = seek_at(file, size);
    matches!((original, copy), (Ok(original), Ok(copy)) if original == copy)
}

/// Whether the record's file no longer begins as it did, or is gone.
fn is_rewritten(record: &Record, salt: Fingerprint) -> bool {
    let length = record.start_len as usize;
    let head = File::open(&record.path).and_then(|file| read_at(&file, 0, length));
    head.map_or(true, |head| salt.extend(&head) != record.start)
}

/// Whether one of two files that begin alike has all of the content of the other, by the bytes before the end
/// of the shorter one.
pub(crate) fn is_copy(one: &Path, other: &Path) -> bool {
    let compared = || -> io::Result<bool> {
        let (one, other) = (File::open(one)?, File::open(other)?);
        let (first, second) = (Seen::of(&one.metadata()?), Seen::of(&other.metadata()?));
        let end = first.size.min(second.size);
        Ok(first.id != second.id && seek_at(&one, end)? == seek_at(&other, end)?)
    };
    compared().unwrap_or(false)
}

/// Returns the size of the record's file if this file has all of its content and more: it is a copy to which
/// something was added, or the record's file is the copy.
fn end_of_copied(record: &Record, file: &File, size: u64) -> Option<u64> {
    let original = File::open(&record.path).ok()?;
    let end = original.metadata().ok()?.len();
    // A file that is shorter than what was read of it has been truncated, after it was copied.
    let is_longer = (record.offset..size).contains(&end);
    let is_alike = || Some(seek_at(&original, end).ok()? == seek_at(file, end).ok()?);
    (is_longer && is_alike()?).then_some(end)
}

/// Returns the offset at which the last whole line ends.
fn last_line_end(file: &File, size: u64, utf16: Option<Utf16>) -> io::Result<u64> {
    let from = size.saturating_sub(SAMPLE as u64);
    let tail = read_at(file, from, SAMPLE)?;
    let end = utf16::last_line_end(utf16, &tail, from);
    Ok(from + end.unwrap_or_else(|| utf16::border(utf16, &tail, from)) as u64)
}

/// The place of a record, where characters begin. Earlier versions noted places inside of line feeds.
fn whole_characters(
    file: &File,
    size: u64,
    record: &Record,
    utf16: Option<Utf16>,
) -> io::Result<(u64, Fingerprint)> {
    let place = record.offset;
    if utf16.is_none() || place.is_multiple_of(2) {
        return Ok((place, record.seek));
    }
    let offset = if place < size { place + 1 } else { place - 1 };
    Ok((offset, seek_at(file, offset)?))
}

/// Returns the name of a file without the suffixes of rotation: `app.log` for `app.log.2.gz`.
pub(crate) fn family(path: &Path) -> (Option<&Path>, String) {
    let mut name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    loop {
        let kept = without_rotation(&name).map(str::to_owned);
        match kept {
            Some(kept) if !kept.is_empty() => name = kept.into(),
            _ => return (path.parent(), name.into_owned()),
        }
    }
}

fn without_rotation(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once(['.', '-', '_'])?;
    let packed = ["gz", "zst", "old", "bak"].contains(&ending);
    let number = !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_digit());
    (packed || number).then_some(stem)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Rotation between a look at the names and the look into the files: taking the new file for the
    /// one that was seen read the old one twice.
    #[test]
    fn a_file_that_took_the_name_of_the_one_that_was_seen_is_not_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("app.log");
        let target = MonitorTarget::new(
            &directory.path().to_string_lossy(),
            model::IndexName::new("main").unwrap(),
            "me".into(),
        );
        let target = target.unwrap();
        let book = Checkpoints::open(&directory.path().join("book"), 10).unwrap();
        let book = Mutex::new(book);
        std::fs::write(&path, "the old file\n").unwrap();
        let seen = Seen::at(&path).unwrap();
        let (start, seek) =
            (Fingerprint::of(b"the old file\n"), Fingerprint::of(b"the old file\n"));
        let known = Record {
            key: 1,
            id: Some(seen.id),
            path: path.clone(),
            start,
            start_len: 13,
            offset: 13,
            seek,
            packed: None,
        };
        book.lock().put(known.clone());
        let candidate = Candidate {
            path: &path,
            seen,
            target: &target,
            from_end: false,
            utf16: None,
            is_text: false,
            outside: None,
        };
        std::fs::rename(&path, directory.path().join("app.log.1")).unwrap();
        assert!(matches!(examine(&book, candidate).unwrap(), Decision::Moved));
        std::fs::write(&path, "the new file\n").unwrap();
        assert!(matches!(examine(&book, candidate).unwrap(), Decision::Moved));
        assert_eq!(book.lock().of_file(seen.id), Some(&known));
        let renamed = directory.path().join("app.log.1");
        let found = examine(&book, Candidate { path: &renamed, ..candidate }).unwrap();
        assert!(matches!(found, Decision::Follow(Start { key: Some(1), offset: 13, .. })));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_was_opened_in_a_directory_of_the_program_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir(at("data")).unwrap();
        std::fs::write(at("data/key"), "secret\n").unwrap();
        std::os::unix::fs::symlink(at("data"), at("logs")).unwrap();
        let text = at("logs").to_string_lossy().into_owned();
        let index = model::IndexName::new("main").unwrap();
        let target = MonitorTarget::new(&text, index, "me".into()).unwrap();
        let book = Mutex::new(Checkpoints::open(&at("book"), 10).unwrap());
        let own = OwnDirectories::new([at("data")]);
        let path = at("logs/key");
        let inside = Candidate {
            path: &path,
            seen: Seen::at(&path).unwrap(),
            target: &target,
            from_end: false,
            utf16: None,
            is_text: false,
            outside: Some(&own),
        };
        assert!(matches!(examine(&book, inside).unwrap(), Decision::Ignore(_)));
        let allowed = Candidate { outside: None, ..inside };
        assert!(matches!(examine(&book, allowed).unwrap(), Decision::Follow(_)));
    }

    #[test]
    fn a_noted_place_inside_a_line_feed_is_taken_as_the_end_of_the_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("app.log");
        let text = directory.path().to_string_lossy().into_owned();
        let index = model::IndexName::new("main").unwrap();
        let target = MonitorTarget::new(&text, index, "me".into()).unwrap();
        let book = Checkpoints::open(&directory.path().join("book"), 10).unwrap();
        let book = Mutex::new(book);
        let bytes = b"a\0\n\0b\0\n\0";
        std::fs::write(&path, bytes).unwrap();
        let seen = Seen::at(&path).unwrap();
        for (noted, expected) in [(3, 4), (4, 4), (7, 8)] {
            book.lock().put(Record {
                key: 1,
                id: Some(seen.id),
                path: path.clone(),
                start: Fingerprint::of(bytes),
                start_len: 8,
                offset: noted,
                seek: Fingerprint::of(bytes.get(..usize::try_from(noted).unwrap()).unwrap()),
                packed: None,
            });
            let utf16 = Some(Utf16::Little);
            let candidate = Candidate {
                path: &path,
                seen,
                target: &target,
                from_end: false,
                utf16,
                is_text: false,
                outside: None,
            };
            let found = examine(&book, candidate).unwrap();
            let Decision::Follow(start) = found else { panic!("{found:?}") };
            let before = bytes.get(..usize::try_from(expected).unwrap()).unwrap();
            assert_eq!((start.key, start.offset), (Some(1), expected));
            assert_eq!(start.seek, Fingerprint::of(before));
        }
    }

    #[test]
    fn rotated_names_are_of_one_family() {
        let family = |name: &str| family(Path::new(name)).1;
        for name in ["app.log", "app.log.1", "app.log.12.gz", "app.log-20261120", "app.log.old"] {
            assert_eq!(family(name), "app.log", "{name}");
        }
        assert_ne!(family("a.log"), family("b.log"));
    }

    #[test]
    fn bytes_before_places_of_a_stream_are_found() {
        let text: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
        let found = seeks_in(&text[..], 0, &[0, 100, 3000, 4000, 5000]).unwrap_or_default();
        let places: Vec<_> = found.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 100, 3000, 4000]);
        assert_eq!(found[1].1, Fingerprint::of(&text[..100]));
        assert_eq!(found[2].1, Fingerprint::of(&text[3000 - SEEK..3000]));
        let found = seeks_in(&b"abc"[..], 5, &[7]).unwrap_or_default();
        assert_eq!(found, [(7, Fingerprint::of(b"\0\0\0\0\0ab"))]);
    }
}

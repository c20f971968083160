//! How far every file has been taken in, across restarts: the monitor's "fishbucket".
//!
//! A log of records, the last one of a key counts. Changes are appended at once, which outlives the
//! process, and synced together now and then, which outlives the machine. The log is written anew
//! when most of it is out of date. A torn end is cut off at the next start.
//! Which file a record is about is found by the file's identity, or by the checksum of its start.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use foldhash::{HashMap, HashSet};
use runtime::OpenDirectory;

use super::fingerprint::Fingerprint;
use super::place::FileId;

const MAGIC: &[u8; 8] = b"KARSTFB1";
/// A log below this size is never written anew.
const SMALL: u64 = 1 << 20;
/// Longest record that makes sense.
const MAX_RECORD: usize = 64 << 10;

/// The position up to which a file has been indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The file's number in this log.
    pub(crate) key: u64,
    /// The file, while it is the one the record is about.
    pub(crate) id: Option<FileId>,
    /// The last known path of the file.
    pub(crate) path: PathBuf,
    /// The first bytes, salted, and how many they are.
    pub(crate) start: Fingerprint,
    pub(crate) start_len: u32,
    /// Everything before is safe.
    pub(crate) offset: u64,
    /// The bytes before `offset`, see [`SEEK`].
    pub(crate) seek: Fingerprint,
    /// A packed file, as it lies on the disk; `offset` counts unpacked bytes.
    pub(crate) packed: Option<Fingerprint>,
}

/// Bytes before the offset that prove that a file is still the same.
pub(crate) const SEEK: usize = 256;

/// See the module.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    path: PathBuf,
    directory: OpenDirectory,
    log: Arc<File>,
    log_size: u64,
    /// The log may have a torn record inside and must be written anew.
    damaged: bool,
    next_key: u64,
    records: HashMap<u64, Record>,
    by_id: HashMap<FileId, u64>,
    by_start: HashMap<Fingerprint, Vec<u64>>,
    by_packed: HashMap<Fingerprint, u64>,
    /// Lengths of starts, and how many records have them.
    lengths: BTreeMap<u32, usize>,
    /// Changes that are not written.
    dirty: HashSet<u64>,
    /// Changes that are written and not synced.
    unsynced: HashSet<u64>,
    /// Records of files that are there; they are never dropped for room.
    live: HashSet<u64>,
    limit: usize,
}

/// A log to be synced, and the keys that this covers.
#[derive(Debug)]
pub(crate) struct Flush {
    log: Arc<File>,
    keys: HashSet<u64>,
}

impl Flush {
    /// Syncs; blocks.
    pub(crate) fn run(&self) -> io::Result<()> {
        self.log.sync_data()
    }
}

impl Checkpoints {
    /// Opens or creates the log. At most `limit` records of deleted files are kept.
    pub(crate) fn open(path: &Path, limit: usize) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let log = Arc::new(fs::OpenOptions::new().create(true).append(true).open(path)?);
        let mut book = Self {
            path: path.to_owned(),
            directory: OpenDirectory::of_file(path)?,
            log,
            log_size: bytes.len() as u64,
            damaged: false,
            next_key: 1,
            records: HashMap::default(),
            by_id: HashMap::default(),
            by_start: HashMap::default(),
            by_packed: HashMap::default(),
            lengths: BTreeMap::new(),
            dirty: HashSet::default(),
            unsynced: HashSet::default(),
            live: HashSet::default(),
            limit,
        };
        let good = book.read(&bytes)?;
        book.dirty.clear();
        if good < bytes.len() {
            tracing::info!(path = %path.display(), bytes = bytes.len() - good,
                "the end of the monitor's checkpoints was torn by a crash and is cut off");
        }
        book.rewrite()?;
        Ok(book)
    }

    /// Takes the records in; tells up to where the log is good.
    fn read(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if !bytes.starts_with(MAGIC) {
            if MAGIC.starts_with(bytes) {
                return Ok(0);
            }
            let reason = "not a log of checkpoints; move it away to start anew";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let mut at = MAGIC.len();
        while let Some(header) = bytes.get(at..at + 8) {
            let length = usize::try_from(u32_at(header, 0)).unwrap_or(usize::MAX);
            if length > MAX_RECORD {
                break;
            }
            let Some(payload) = bytes.get(at + 8..at + 8 + length) else { break };
            if crc32fast::hash(payload) != u32_at(header, 4) {
                break;
            }
            match decode(payload) {
                Some((key, Some(record))) => {
                    self.next_key = self.next_key.max(key + 1);
                    self.put(record);
                }
                Some((key, None)) => {
                    self.next_key = self.next_key.max(key + 1);
                    self.remove(key);
                }
                None => break,
            }
            at += 8 + length;
        }
        Ok(at)
    }

    /// A key that no record has had.
    pub(crate) fn new_key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key - 1
    }

    pub(crate) fn get(&self, key: u64) -> Option<&Record> {
        self.records.get(&key)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The record that is about this very file.
    pub(crate) fn of_file(&self, id: FileId) -> Option<&Record> {
        self.records.get(self.by_id.get(&id)?)
    }

    /// The packed file that looks like this one on the disk.
    pub(crate) fn of_packed(&self, packed: Fingerprint) -> Option<&Record> {
        self.records.get(self.by_packed.get(&packed)?)
    }

    /// The records whose file began as these bytes do, after a salt.
    pub(crate) fn begun_as(&self, salt: Fingerprint, head: &[u8]) -> Vec<&Record> {
        let mut found = Vec::new();
        let (mut name, mut at) = (salt, 0);
        for length in self.lengths.keys() {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            let Some(more) = head.get(at..length) else { break };
            name = name.extend(more);
            at = length;
            let keys = self.by_start.get(&name).into_iter().flatten();
            let records = keys.filter_map(|key| self.records.get(key));
            found.extend(records.filter(|record| record.start_len as usize == length));
        }
        found
    }

    /// Adopts the note that a sink has kept with the last bytes it received, if its position is further.
    pub(crate) fn adopt(&mut self, note: &[u8]) {
        let Some((key, Some(noted))) = note.get(8..).and_then(decode) else { return };
        if crc32fast::hash(&note[8..]) != u32_at(note, 4) {
            return;
        }
        self.next_key = self.next_key.max(key + 1);
        if self.records.get(&key).is_none_or(|known| known.offset < noted.offset) {
            self.put(noted);
        }
    }

    /// Notes a record, in place of the one with its key.
    pub(crate) fn put(&mut self, record: Record) {
        if self.records.get(&record.key) == Some(&record) {
            return;
        }
        self.unlink(record.key);
        let key = record.key;
        if let Some(id) = record.id {
            self.by_id.insert(id, key);
        }
        if record.start_len > 0 {
            self.by_start.entry(record.start).or_default().push(key);
            *self.lengths.entry(record.start_len).or_default() += 1;
        }
        if let Some(packed) = record.packed {
            self.by_packed.insert(packed, key);
        }
        self.records.insert(key, record);
        self.dirty.insert(key);
    }

    /// Whether the record's file is there.
    pub(crate) fn set_live(&mut self, key: u64, live: bool) {
        if live {
            self.live.insert(key);
        } else {
            self.live.remove(&key);
        }
    }

    pub(crate) fn is_live(&self, key: u64) -> bool {
        self.live.contains(&key)
    }

    pub(crate) fn has_changes(&self) -> bool {
        !self.dirty.is_empty() || !self.unsynced.is_empty()
    }

    /// Whether a crash of the machine would lose the current record of a file.
    pub(crate) fn is_dirty(&self, key: u64) -> bool {
        self.dirty.contains(&key) || self.unsynced.contains(&key)
    }

    /// Forgets a file.
    pub(crate) fn remove(&mut self, key: u64) {
        self.unlink(key);
        self.live.remove(&key);
        if self.records.remove(&key).is_some() {
            self.dirty.insert(key);
        }
    }

    fn unlink(&mut self, key: u64) {
        let Some(old) = self.records.get(&key) else { return };
        if let Some(id) = old.id
            && self.by_id.get(&id) == Some(&key)
        {
            self.by_id.remove(&id);
        }
        if let Some(packed) = old.packed {
            self.by_packed.remove(&packed);
        }
        if old.start_len == 0 {
            return;
        }
        if let Some(keys) = self.by_start.get_mut(&old.start) {
            keys.retain(|known| *known != key);
            if keys.is_empty() {
                self.by_start.remove(&old.start);
            }
        }
        if let Some(count) = self.lengths.get_mut(&old.start_len) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&old.start_len);
            }
        }
    }

    /// Writes the records; they then survive the end of the process.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        let stale = self.log_size > SMALL.max(3 * 160 * self.records.len() as u64);
        if self.damaged || stale {
            self.rewrite()?;
        }
        if self.dirty.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(self.dirty.len() * 160);
        for key in &self.dirty {
            encode(*key, self.records.get(key), &mut bytes);
        }
        self.damaged = true;
        (&*self.log).write_all(&bytes)?;
        self.damaged = false;
        self.log_size += bytes.len() as u64;
        self.unsynced.extend(self.dirty.drain());
        Ok(())
    }

    /// Returns the files that have to be synced before all current records are durable; `None` if there are
    /// none.
    pub(crate) fn flush(&mut self) -> io::Result<Option<Flush>> {
        self.write()?;
        if self.unsynced.is_empty() {
            return Ok(None);
        }
        let keys = std::mem::take(&mut self.unsynced);
        Ok(Some(Flush { log: Arc::clone(&self.log), keys }))
    }

    /// The sync did not succeed: everything it covered is to be written again.
    pub(crate) fn flush_failed(&mut self, flush: Flush) {
        self.dirty.extend(flush.keys);
        self.damaged = true;
    }

    /// Writes all records to a new log and puts it in the old one's place.
    fn rewrite(&mut self) -> io::Result<()> {
        self.drop_oldest();
        let mut bytes = Vec::with_capacity(self.records.len() * 160 + MAGIC.len());
        bytes.extend_from_slice(MAGIC);
        for (key, record) in &self.records {
            encode(*key, Some(record), &mut bytes);
        }
        let name = Path::new(self.path.file_name().unwrap_or_default());
        self.directory.replace(name, name.with_extension("next"), &bytes)?;
        self.log = Arc::new(self.directory.append(name)?);
        self.log_size = bytes.len() as u64;
        self.damaged = false;
        self.dirty.clear();
        self.unsynced.clear();
        Ok(())
    }

    /// Removes the oldest records of deleted files when there are too many.
    fn drop_oldest(&mut self) {
        let mut gone: Vec<u64> =
            self.records.keys().copied().filter(|key| !self.live.contains(key)).collect();
        if self.live.is_empty() || gone.len() <= self.limit {
            return;
        }
        gone.sort_unstable();
        let many = gone.len() - self.limit;
        tracing::info!(
            files = many,
            limit = self.limit,
            "checkpoints of files that were removed long ago are dropped"
        );
        for key in &gone[..many] {
            self.remove(*key);
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn encode(key: u64, record: Option<&Record>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&key.to_le_bytes());
    if let Some(record) = record {
        let id = record.id.unwrap_or(FileId { device: 0, inode: 0, born: 0 });
        let flags = u8::from(record.id.is_some()) | u8::from(record.packed.is_some()) << 1;
        out.push(1);
        out.push(flags);
        let packed = record.packed.unwrap_or(Fingerprint(0)).0;
        for number in
            [id.device, id.inode, id.born, record.start.0, record.offset, record.seek.0, packed]
        {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&record.start_len.to_le_bytes());
        let path = record.path.as_os_str().as_encoded_bytes();
        out.extend_from_slice(&path[..path.len().min(MAX_RECORD / 2)]);
    } else {
        out.push(0);
    }
    let length = u32::try_from(out.len() - start - 8).expect("a record is short");
    let crc = crc32fast::hash(&out[start + 8..]);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
}

/// A record for [`Checkpoints::adopt`].
pub(crate) fn noted(record: &Record) -> Bytes {
    let mut out = Vec::new();
    encode(record.key, Some(record), &mut out);
    out.into()
}

fn decode(payload: &[u8]) -> Option<(u64, Option<Record>)> {
    let u64_at = |at: usize| Some(u64::from_le_bytes(payload.get(at..at + 8)?.try_into().ok()?));
    let key = u64_at(0)?;
    if *payload.get(8)? == 0 {
        return Some((key, None));
    }
    let flags = *payload.get(9)?;
    let numbers = (0..7).map(|at| u64_at(10 + at * 8)).collect::<Option<Vec<_>>>()?;
    let start_len = u32::from_le_bytes(payload.get(66..70)?.try_into().ok()?);
    let path = std::os::unix::ffi::OsStringExt::from_vec(payload.get(70..)?.to_vec());
    let path: std::ffi::OsString = path;
    let id = FileId { device: numbers[0], inode: numbers[1], born: numbers[2] };
    let record = Record {
        key,
        id: (flags & 1 != 0).then_some(id),
        path: PathBuf::from(path),
        start: Fingerprint(numbers[3]),
        start_len,
        offset: numbers[4],
        seek: Fingerprint(numbers[5]),
        packed: (flags & 2 != 0).then_some(Fingerprint(numbers[6])),
    };
    Some((key, Some(record)))
}

#[cfg(test)]
mod tests;

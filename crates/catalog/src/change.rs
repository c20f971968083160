//! Atomic changes of the catalog: their checks and their writes.

use std::sync::Arc;

use model::{BucketEntry, BucketHeader, BucketSummary, IndexerId};
use serde_json::Value;

use crate::codec::{Batch, Shared};
use crate::commit::Documents;
use crate::error::Result;
use crate::summaries::Summaries;
use crate::{Commit, Discarded, Error, JournalRange, Snapshot, Takeover, codec};

/// The writes of a group of changes to the database. A later write of a key replaces an earlier one.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    pub(crate) entries: Batch,
    /// Size of keys and values in bytes.
    pub(crate) bytes: usize,
}

impl Writes {
    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.bytes += key.len() + value.len();
        self.entries.insert(key, Some(value));
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.bytes += key.len();
        self.entries.insert(key, None);
    }

    /// Makes them the write with this number: adds the number, and the entry of the log that repeats the
    /// headers. Returns the number of the headers.
    pub(crate) fn number(&mut self, number: u64) -> u64 {
        let (value, count) = codec::log_value(&self.entries);
        self.put(codec::log_key(number), value);
        self.put(codec::NUMBER.to_vec(), codec::number_value(number));
        count
    }
}

/// An encoded bucket.
struct Encoded {
    header: BucketHeader,
    /// The summary and its encoding, unless the catalog already has it.
    summary: Option<(Arc<BucketSummary>, Vec<u8>)>,
}

/// Applies changes to the state of the writer and collects what they write. A change that fails
/// leaves both as they were.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) state: &'a mut Snapshot,
    pub(crate) writes: &'a mut Writes,
    pub(crate) shared: &'a mut Shared,
    pub(crate) summaries: &'a Summaries,
    /// Path of the catalog, for errors.
    pub(crate) path: &'a str,
}

impl Change<'_> {
    /// Applies a commit.
    pub(crate) fn commit(&mut self, commit: Commit) -> Result<()> {
        if let Some(id) = commit.expect.iter().find(|id| self.state.bucket(**id).is_none()) {
            // A client that did not receive the answer repeats a replacement that has been made.
            if !commit.add.is_empty() && self.has_all(&commit.add) {
                return Ok(());
            }
            return Err(Error::Gone { path: self.path.to_owned(), id: *id });
        }
        let taken = self.taken(&commit.take_over)?;
        let ahead = self.ahead(&commit.ranges, &commit.take_over)?;
        let is_repeated = !commit.ranges.is_empty() && ahead.is_empty();
        let mut added = Vec::with_capacity(commit.add.len());
        for entry in commit.add {
            added.extend(self.encoded(entry, is_repeated)?);
        }
        // Nothing fails from here on.
        for Takeover { indexer, set, epoch, owner } in taken {
            self.writes.put(codec::owner_key(indexer, set), codec::owner_value(epoch, owner));
            Arc::make_mut(&mut self.state.owners).insert((indexer, set), (epoch, owner));
        }
        for range in ahead {
            let (stream, upto) = (range.stream.clone(), range.upto);
            // A commit may contain a stream twice.
            if self.state.positions.get(&stream).is_some_and(|known| *known >= upto) {
                continue;
            }
            self.writes.put(codec::position_key(&stream), codec::position_value(upto));
            Arc::make_mut(&mut self.state.positions).insert(stream, upto);
        }
        for Encoded { header, summary } in added {
            let id = header.id;
            let key = codec::header_key(&header.index, id);
            self.writes.put(key, codec::header_value(&header));
            if let Some((summary, value)) = summary {
                self.writes.put(codec::summary_key(id), value);
                self.summaries.insert(id, summary);
            }
            self.state.insert(header);
        }
        for id in commit.remove {
            if let Some(header) = self.state.remove(id) {
                self.writes.delete(codec::header_key(&header.index, id));
                self.writes.delete(codec::summary_key(id));
                self.summaries.forget(id);
            }
        }
        self.discard(commit.discard);
        self.forget(&commit.forget);
        Ok(())
    }

    /// Returns the takeovers that the catalog does not have yet.
    fn taken(&self, all: &[Takeover]) -> Result<Vec<Takeover>> {
        let mut taken = Vec::new();
        for new in all {
            let (known, owner) = self.state.owner(new.indexer, new.set);
            if (known, owner) == (new.epoch, new.owner) {
                continue;
            }
            if new.epoch <= known {
                return Err(self.old_epoch((new.indexer, new.set), new.epoch, (known, owner)));
            }
            taken.push(*new);
        }
        Ok(taken)
    }

    fn old_epoch(
        &self,
        (indexer, set): (IndexerId, u16),
        epoch: u64,
        (known, owner): (u64, IndexerId),
    ) -> Error {
        let path = self.path.to_owned();
        Error::OldEpoch { path, indexer, set, epoch, known, owner }
    }

    /// Returns the ranges that end above the known positions.
    fn ahead<'r>(
        &self,
        ranges: &'r [JournalRange],
        take_over: &[Takeover],
    ) -> Result<Vec<&'r JournalRange>> {
        let mut ahead = Vec::new();
        for range in ranges {
            let set = (range.stream.indexer, range.stream.set);
            let taken = take_over.iter().find(|taken| (taken.indexer, taken.set) == set);
            let known = taken
                .map_or_else(|| self.state.owner(set.0, set.1), |taken| (taken.epoch, taken.owner));
            // A later epoch than the known one is from a takeover that is not in this catalog.
            if range.epoch != known.0 {
                return Err(self.old_epoch(set, range.epoch, known));
            }
            let known = self.state.positions.get(&range.stream).copied();
            if known.is_some_and(|known| known >= range.upto) {
                continue;
            }
            if let (Some(known), Some(from)) = (known, range.from)
                && known >= from
            {
                return Err(Error::Overlap {
                    path: self.path.to_owned(),
                    stream: Box::new(range.stream.clone()),
                    records: (from.0, range.upto.0),
                    known: known.0,
                });
            }
            ahead.push(range);
        }
        Ok(ahead)
    }

    /// Whether the catalog has all these buckets, unchanged.
    fn has_all(&mut self, entries: &[BucketEntry]) -> bool {
        entries.iter().all(|entry| {
            self.state.bucket(entry.id).is_some()
                && matches!(self.encoded(entry.clone(), false), Ok(None))
        })
    }

    /// Encodes a bucket that is new or has changed; returns `None` if the catalog has it unchanged.
    fn encoded(&mut self, entry: BucketEntry, is_repeated: bool) -> Result<Option<Encoded>> {
        let failed = |damage: codec::Damage| {
            damage.at(self.path, &codec::header_key(&entry.index, entry.id))
        };
        let (value, fingerprint) = codec::summary_value(&entry.summary).map_err(failed)?;
        let version = self.state.number + 1;
        let header = BucketHeader { version, fingerprint, ..BucketHeader::of(&entry) };
        let header = self.shared.share(header).map_err(failed)?;
        match self.state.bucket(entry.id) {
            Some(old) => {
                let unchanged =
                    BucketHeader { version: old.version, state: old.state, ..header.clone() };
                if unchanged != old {
                    return Err(Error::Conflict { path: self.path.to_owned(), id: entry.id });
                }
                let is_changed = header.state != old.state;
                Ok(is_changed.then_some(Encoded { header, summary: None }))
            }
            None if is_repeated => {
                tracing::info!(bucket = %entry.id, "a repeated commit adds a bucket that has gone");
                Ok(None)
            }
            None => Ok(Some(Encoded { header, summary: Some((entry.summary, value)) })),
        }
    }

    fn discard(&mut self, objects: Vec<Discarded>) {
        for Discarded { path, delete_after } in objects {
            if self.state.discarded.get(&path) == Some(&delete_after) {
                continue;
            }
            self.writes.put(codec::discarded_key(&path), codec::time_value(delete_after));
            Arc::make_mut(&mut self.state.discarded).insert(path, delete_after);
        }
    }

    fn forget(&mut self, paths: &[String]) {
        for path in paths {
            if self.state.discarded.contains_key(path) {
                self.writes.delete(codec::discarded_key(path));
                Arc::make_mut(&mut self.state.discarded).remove(path);
            }
        }
    }

    /// Writes documents, and deletes those that have no content.
    pub(crate) fn documents(&mut self, documents: Documents) -> Result<()> {
        let Documents { after, before } = documents;
        for (kind, name, expected) in &before {
            let now = self.state.documents.get(&(kind.clone(), name.clone())).map(Arc::as_ref);
            let is_now = |json: &Option<Value>| json.as_ref() == now;
            // A client that did not receive the answer repeats a change that has been made.
            let is_made = || {
                after.iter().any(|(other, of, json)| (other, of) == (kind, name) && is_now(json))
            };
            if !is_now(expected) && !is_made() {
                let (path, kind, name) = (self.path.to_owned(), kind.clone(), name.clone());
                return Err(Error::Changed { path, kind, name });
            }
        }
        let mut encoded = Vec::with_capacity(after.len());
        for (kind, name, json) in after {
            let content = match json {
                Some(json) => {
                    let value = self.value(&kind, &name, &json)?;
                    Some((json, value))
                }
                None => None,
            };
            encoded.push((kind, name, content));
        }
        for (kind, name, content) in encoded {
            self.set_document(kind, name, content);
        }
        Ok(())
    }

    fn value(&self, kind: &str, name: &str, json: &Value) -> Result<Vec<u8>> {
        let failed = |damage: codec::Damage| damage.at(self.path, &codec::document_key(kind, name));
        codec::json_value(json).map_err(failed)
    }

    fn set_document(&mut self, kind: String, name: String, content: Option<(Value, Vec<u8>)>) {
        let key = codec::document_key(&kind, &name);
        let id = (kind, name);
        let old = self.state.documents.get(&id);
        match content {
            Some((json, _)) if old.is_some_and(|old| **old == json) => {}
            Some((json, value)) => {
                self.writes.put(key, value);
                Arc::make_mut(&mut self.state.documents).insert(id, Arc::new(json));
            }
            None if old.is_none() => {}
            None => {
                self.writes.delete(key);
                Arc::make_mut(&mut self.state.documents).remove(&id);
            }
        }
    }
}

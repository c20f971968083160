//! Typed names and numbers: no bare string or integer stands for one of these in a signature.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A name that does not follow its rules; `reason` tells which one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid index name \"{name}\": {reason}")]
pub struct InvalidName {
    /// What was given.
    pub name: String,
    /// The rule it breaks.
    pub reason: &'static str,
}

/// An index that events of others may not go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "only the audit trail can write to the index \"{}\"; choose another index",
    IndexName::AUDIT
)]
pub struct ReservedIndex;

/// The name of an index: lower-case letters, digits, `_` and `-`, at most 80 bytes, not starting
/// with `-`, and not containing "kvstore" (Splunk's rules). A leading `_` marks an internal index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IndexName(Arc<str>);

impl IndexName {
    /// Checks and takes a name.
    ///
    /// # Errors
    /// [`InvalidName`] names the rule that is broken.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        let fail = |reason| Err(InvalidName { name: name.to_owned(), reason });
        if name.is_empty() {
            return fail("it is empty");
        }
        if name.len() > 80 {
            return fail("it is longer than 80 bytes");
        }
        if name.starts_with('-') {
            return fail("it starts with a hyphen");
        }
        let allowed =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        if !name.bytes().all(allowed) {
            return fail("only lower-case letters, digits, underscore and hyphen are allowed");
        }
        if name.contains("kvstore") {
            return fail("it contains \"kvstore\"");
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The index that only the audit trail writes into.
    pub const AUDIT: &'static str = "_audit";

    /// Refuses the index of the audit trail to whoever else wants to write into it: what it holds has to be
    /// what the server recorded.
    ///
    /// # Errors
    /// [`ReservedIndex`], for a sender.
    pub fn check_open(&self) -> Result<(), ReservedIndex> {
        if &*self.0 == Self::AUDIT { Err(ReservedIndex) } else { Ok(()) }
    }

    /// Internal indexes (`_internal`, `_audit`) are not matched by `index=*`.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.0.starts_with('_')
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for IndexName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        Self::new(&name)
    }
}

impl From<IndexName> for String {
    fn from(name: IndexName) -> Self {
        name.0.as_ref().to_owned()
    }
}

/// One indexer process over its whole life; written once into its data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IndexerId(pub Uuid);

impl fmt::Display for IndexerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_simple().fmt(f)
    }
}

/// The identity of a bucket: time-ordered and unique, given when the hot bucket is opened and kept
/// for life, so that a search that meets the bucket twice (hot and uploaded) counts it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BucketId(pub Uuid);

impl fmt::Display for BucketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_simple().fmt(f)
    }
}

impl BucketId {
    /// Where the bucket's object lies, below the deployment's root: `<index>/<yyyymmdd>/<id>.parquet`.
    /// `day` is the UTC day of the newest event, for people who look into the store.
    #[must_use]
    pub fn object_path(&self, index: &IndexName, day: &str) -> String {
        format!("buckets/{index}/{day}/{self}.parquet")
    }
}

/// Where the journal of a lane is, besides the disk of its indexer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JournalPlace {
    /// Nowhere else.
    #[default]
    Disk,
    /// In object storage.
    Remote,
    /// On the disks of other indexers.
    Replicated,
}

/// One of the hot buckets that a set has open side by side for an index, so that events of distant
/// times do not stretch the time range of one. Events far from now go to a lane of their own.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lane(u8);

impl Lane {
    /// The lane most events take.
    pub const FIRST: Self = Self(0);
    /// The lane of events far from now.
    pub const QUARANTINE: Self = Self(1);
    /// There are never more lanes than this, the quarantine and those of other journals apart.
    pub const MAX: u8 = 32;
    /// Marks the lanes of events whose journal is also in object storage.
    const REMOTE: u8 = 0x80;
    /// Marks the lanes of events whose journal is also at other indexers.
    const REPLICATED: u8 = 0x40;

    /// The lane of a number, from 0; the last one for numbers beyond.
    #[must_use]
    pub const fn number(number: u8) -> Self {
        Self(if number < Self::MAX { number } else { Self::MAX - 1 } << 1)
    }

    /// The same lane among those whose journal is at this place. A lane has one place as a whole, so that
    /// whoever has the journal there has all of its events.
    #[must_use]
    pub const fn at(self, place: JournalPlace) -> Self {
        let mark = match place {
            JournalPlace::Disk => 0,
            JournalPlace::Remote => Self::REMOTE,
            JournalPlace::Replicated => Self::REPLICATED,
        };
        Self(self.0 & !(Self::REMOTE | Self::REPLICATED) | mark)
    }

    /// Where the journal of the lane is.
    #[must_use]
    pub const fn place(self) -> JournalPlace {
        if self.0 & Self::REMOTE != 0 {
            JournalPlace::Remote
        } else if self.0 & Self::REPLICATED != 0 {
            JournalPlace::Replicated
        } else {
            JournalPlace::Disk
        }
    }

    /// Whether other indexers can recover the events of the lane.
    #[must_use]
    pub const fn is_recoverable(self) -> bool {
        !matches!(self.place(), JournalPlace::Disk)
    }

    /// Whether events far from now are in it.
    #[must_use]
    pub const fn is_quarantine(self) -> bool {
        self.0 & 1 == 1
    }

    /// One byte for records and keys; 0 and 1 are what a plain quarantine flag would be.
    #[must_use]
    pub const fn tag(self) -> u8 {
        self.0
    }

    /// The lane of a byte from [`tag`](Self::tag).
    #[must_use]
    pub const fn from_tag(tag: u8) -> Self {
        Self(tag)
    }
}

/// One sequence of events that fills one hot bucket after the other: an index, a pipeline set, and
/// a lane among those that the set has for the index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StreamId {
    /// The indexer that writes the stream.
    pub indexer: IndexerId,
    /// The pipeline set, counted from 0.
    pub set: u16,
    /// The index the events go to.
    pub index: IndexName,
    /// Which of the hot buckets side by side.
    pub lane: Lane,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { indexer, set, index, lane } = self;
        write!(f, "{index} (indexer {indexer}, set {set}, lane {})", lane.tag())
    }
}

/// The sequence number of a journal record; what is at or below a stream's committed position is in
/// object storage and must not be replayed.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct JournalPosition(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_names_follow_splunks_rules() {
        for good in ["main", "_internal", "web-2", "0x"] {
            assert!(IndexName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "Main", "a b", "my_kvstore", "ä", &"x".repeat(81)] {
            assert!(IndexName::new(bad).is_err(), "{bad}");
        }
    }
}

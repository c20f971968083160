//! Typed names and numbers: signatures use them instead of strings and integers.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A name that breaks a rule; `reason` states the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid index name \"{name}\": {reason}")]
pub struct InvalidName {
    /// The given name.
    pub name: String,
    /// The broken rule.
    pub reason: &'static str,
}

/// The error for events sent to an index that is reserved for the server.
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
    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidName`] with the broken rule.
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

    /// The index that only the audit trail writes to.
    pub const AUDIT: &'static str = "_audit";

    /// Rejects the index of the audit trail, which must have records of the server only.
    ///
    /// # Errors
    /// [`ReservedIndex`] for `_audit`.
    pub fn check_open(&self) -> Result<(), ReservedIndex> {
        if &*self.0 == Self::AUDIT { Err(ReservedIndex) } else { Ok(()) }
    }

    /// Whether the index is internal (`_internal`, `_audit`), so that `index=*` does not match it.
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

/// The identity of an indexer; written once into its data directory and never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IndexerId(pub Uuid);

impl fmt::Display for IndexerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_simple().fmt(f)
    }
}

/// The identity of a bucket: time-ordered and unique, assigned when the hot bucket is opened and never
/// changed, so that a search that finds the bucket twice (hot and uploaded) counts it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BucketId(pub Uuid);

impl fmt::Display for BucketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_simple().fmt(f)
    }
}

impl BucketId {
    /// The path of the bucket's object below the deployment's root: `<index>/<yyyymmdd>/<id>.parquet`.
    /// `day` is the UTC day of the newest event, for administrators who look into the store.
    #[must_use]
    pub fn object_path(&self, index: &IndexName, day: &str) -> String {
        format!("buckets/{index}/{day}/{self}.parquet")
    }
}

/// The place of the journal of a lane, besides the disk of its indexer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JournalPlace {
    /// No other place.
    #[default]
    Disk,
    /// In object storage.
    Remote,
    /// On the disks of other indexers.
    Replicated,
}

/// One of the hot buckets that a set keeps open in parallel for an index, so that events of distant times
/// do not extend the time range of a bucket. Events far from the current time have a lane of their own.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lane(u8);

impl Lane {
    /// The lane of most events.
    pub const FIRST: Self = Self(0);
    /// The lane of events far from the current time.
    pub const QUARANTINE: Self = Self(1);
    /// Maximum number of lanes, not counting the quarantine lane and those with other journal places.
    pub const MAX: u8 = 32;
    /// Flag of lanes whose journal is also in object storage.
    const REMOTE: u8 = 0x80;
    /// Flag of lanes whose journal is also on other indexers.
    const REPLICATED: u8 = 0x40;

    /// The lane with a number from 0; the last lane for larger numbers.
    #[must_use]
    pub const fn number(number: u8) -> Self {
        Self(if number < Self::MAX { number } else { Self::MAX - 1 } << 1)
    }

    /// The corresponding lane with its journal at this place. A lane has one place as a whole, so that the
    /// journal at a place has all events of the lane.
    #[must_use]
    pub const fn at(self, place: JournalPlace) -> Self {
        let mark = match place {
            JournalPlace::Disk => 0,
            JournalPlace::Remote => Self::REMOTE,
            JournalPlace::Replicated => Self::REPLICATED,
        };
        Self(self.0 & !(Self::REMOTE | Self::REPLICATED) | mark)
    }

    /// The place of the lane's journal.
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

    /// Whether it is the lane of events far from the current time.
    #[must_use]
    pub const fn is_quarantine(self) -> bool {
        self.0 & 1 == 1
    }

    /// The lane as one byte, for records and keys; 0 and 1 are compatible with a quarantine flag.
    #[must_use]
    pub const fn tag(self) -> u8 {
        self.0
    }

    /// The lane with the given [`tag`](Self::tag).
    #[must_use]
    pub const fn from_tag(tag: u8) -> Self {
        Self(tag)
    }
}

/// A sequence of events that fills hot buckets one after the other: an index, a pipeline set, and a lane of
/// the set for the index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StreamId {
    /// The indexer that writes the stream.
    pub indexer: IndexerId,
    /// The pipeline set, counted from 0.
    pub set: u16,
    /// The index of the events.
    pub index: IndexName,
    /// The lane.
    pub lane: Lane,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { indexer, set, index, lane } = self;
        write!(f, "{index} (indexer {indexer}, set {set}, lane {})", lane.tag())
    }
}

/// The sequence number of a journal record. Records up to the committed position of a stream are in object
/// storage and must not be replayed.
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

//! Verifies that the records are complete, in order and unchanged.
//!
//! A state machine over lines that reports the first problem. It reads on after it, to distinguish
//! a removed record from a moved one, and an altered record from an inserted one.

use std::fmt;
use std::path::Path;

use crate::Error;
use crate::chain::{Digest, Head, Key};
use crate::files::{self, Lines};
use crate::record::{EXPIRE, Line, REPAIR};

/// A head of the chain saved outside the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The number of the record.
    pub seq: u64,
    /// Its hash, if saved.
    pub hash: Option<Digest>,
    /// Where it was saved, for messages.
    pub noted: &'static str,
}

/// The kind of tampering or damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A record was altered.
    Altered,
    /// Records are missing, not at the end.
    Removed,
    /// A record was inserted.
    Inserted,
    /// A record was moved.
    Reordered,
    /// Records are missing at the end.
    Truncated,
}

/// The first problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// The record.
    pub seq: u64,
    /// File and line.
    pub place: String,
    /// How it was detected.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::Altered => "was altered",
            Kind::Removed => "is missing",
            Kind::Inserted => "was put in",
            Kind::Reordered => "stands in another place",
            Kind::Truncated => "is missing at the end",
        };
        let Self { seq, place, text, .. } = self;
        write!(f, "record {seq} {what} ({place}): {text}")
    }
}

/// The result for an intact trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Number of checked records.
    pub records: u64,
    /// The first of them.
    pub first: u64,
    /// The last.
    pub head: Head,
    /// Torn bytes after the last record; the next start records them.
    pub torn: usize,
}

/// The verifier; see the module.
#[derive(Debug)]
pub struct Verifier {
    key: Key,
    anchors: Vec<Anchor>,
    from: u64,
    start: Option<Head>,
    head: Head,
    records: u64,
    torn: Vec<u8>,
    torn_place: String,
    ended: bool,
    /// The last number and hash of expired files.
    expired: Vec<Head>,
    found: Option<Finding>,
}

impl Verifier {
    /// Verifies records from a number on (1: all) against saved heads.
    #[must_use]
    pub fn new(key: Key, anchors: Vec<Anchor>, from: u64) -> Self {
        Self {
            key,
            anchors,
            from: from.max(1),
            start: None,
            head: Head { seq: 0, hash: Digest::ZERO },
            records: 0,
            torn: Vec::new(),
            torn_place: String::new(),
            ended: true,
            expired: Vec::new(),
            found: None,
        }
    }

    /// Processes the next line, without its line end; `ended`: whether it had one.
    pub fn line(&mut self, place: &dyn fmt::Display, line: &[u8], ended: bool) {
        let read = Line::parse(line);
        self.ended = ended;
        if self.found.is_some() {
            return self.look_behind(read);
        }
        let Some(read) = read else {
            if self.torn.is_empty() {
                self.torn_place = place.to_string();
            }
            self.torn.extend_from_slice(line);
            self.torn.push(b'\n');
            return;
        };
        if self.start.is_none() && read.seq < self.from {
            self.torn.clear();
            return;
        }
        self.found = self.check(place, &read);
        if self.found.is_none() {
            self.accept(&read);
        }
    }

    fn check(&self, place: &dyn fmt::Display, read: &Line<'_>) -> Option<Finding> {
        let finding =
            |kind, seq, text: String| Some(Finding { kind, seq, place: place.to_string(), text });
        let genuine = read.is_genuine(&self.key);
        let vouched = self.torn.is_empty() || (genuine && self.vouches_for_torn(read));
        if !vouched {
            let (seq, place) = (self.head.seq + 1, self.torn_place.clone());
            let text = "the line is not a record, and no record says that it was torn".to_owned();
            return Some(Finding { kind: Kind::Altered, seq, place, text });
        }
        let next = if self.start.is_some() { self.head.seq + 1 } else { read.seq };
        if !genuine {
            let text = "its text does not match its hash".to_owned();
            return finding(Kind::Altered, next, text);
        }
        let differs = |anchor: &&Anchor| {
            anchor.seq == read.seq && anchor.hash.is_some_and(|hash| hash != read.hash)
        };
        if let Some(anchor) = self.anchors.iter().find(differs) {
            let text = format!("its hash is not the one noted in {}", anchor.noted);
            return finding(Kind::Altered, read.seq, text);
        }
        // The first one has no predecessor in the files.
        self.start?;
        if read.seq > next {
            let text = format!("record {} follows record {}", read.seq, self.head.seq);
            return finding(Kind::Removed, next, text);
        }
        if read.seq < next {
            let text = format!("it stands after record {}", self.head.seq);
            return finding(Kind::Inserted, read.seq, text);
        }
        if read.previous != self.head.hash {
            let text = format!("it was not written after this record {}", self.head.seq);
            return finding(Kind::Inserted, read.seq, text);
        }
        None
    }

    fn vouches_for_torn(&self, read: &Line<'_>) -> bool {
        let field = |name| read.field(name).unwrap_or_default();
        field("action") == REPAIR && field("torn_sha256") == Digest::sha256(&self.torn).to_string()
    }

    fn accept(&mut self, read: &Line<'_>) {
        self.torn.clear();
        self.records += 1;
        self.head = Head { seq: read.seq, hash: read.hash };
        if self.start.is_none() {
            self.start = Some(Head { seq: read.seq, hash: read.previous });
        }
        // A cheap text check before parsing the fields.
        if read.body.contains(EXPIRE) && read.field("action").as_deref() == Some(EXPIRE) {
            let last = read.field("last").and_then(|last| last.parse().ok());
            let hash = read.field("last_hash").and_then(|hash| hash.parse().ok());
            self.expired.extend(last.zip(hash).map(|(seq, hash)| Head { seq, hash }));
        }
    }

    /// Later records may refine the first finding.
    fn look_behind(&mut self, read: Option<Line<'_>>) {
        let (Some(read), Some(found)) = (read, &mut self.found) else { return };
        if read.seq != found.seq || !read.is_genuine(&self.key) {
            return;
        }
        match found.kind {
            Kind::Removed => found.kind = Kind::Reordered,
            Kind::Altered if read.previous == self.head.hash => {
                found.kind = Kind::Inserted;
                found.text = "the genuine record follows it".to_owned();
            }
            _ => {}
        }
    }

    /// The result.
    ///
    /// # Errors
    /// The first problem.
    pub fn finish(self) -> Result<Summary, Finding> {
        self.end(false)
    }

    fn end(self, tolerant: bool) -> Result<Summary, Finding> {
        if let Some(found) = self.found {
            return Err(found);
        }
        let at_end = || "the end".to_owned();
        if !self.torn.is_empty() && self.ended && !tolerant {
            let seq = self.head.seq + 1;
            let text = "the line is not a record".to_owned();
            return Err(Finding { kind: Kind::Altered, seq, place: self.torn_place, text });
        }
        let start = self.start.unwrap_or(Head { seq: 1, hash: Digest::ZERO });
        let whole = start.seq == 1 && start.hash == Digest::ZERO;
        let before = Head { seq: start.seq - 1, hash: start.hash };
        if !whole && self.from == 1 && !self.expired.contains(&before) {
            let text =
                "the trail begins later, and no record says that older ones expired".to_owned();
            return Err(Finding { kind: Kind::Removed, seq: 1, place: "the start".into(), text });
        }
        let ahead = self.anchors.iter().filter(|anchor| anchor.seq > self.head.seq);
        if let Some(anchor) = ahead.max_by_key(|anchor| anchor.seq) {
            let mut text = format!("{} has noted record {}", anchor.noted, anchor.seq);
            if self.head.seq == 0 {
                text.push_str(
                    "; there are no records at all, as after a restore without DATA_DIR/audit",
                );
            }
            let seq = self.head.seq + 1;
            return Err(Finding { kind: Kind::Truncated, seq, place: at_end(), text });
        }
        let (records, head, torn) = (self.records, self.head, self.torn.len());
        Ok(Summary { records, first: start.seq, head, torn })
    }
}

/// Verifies the files of a directory, from a record on.
///
/// # Errors
/// If a file cannot be read.
pub fn verify_directory(
    directory: &Path,
    key: &Key,
    anchors: Vec<Anchor>,
    from: u64,
) -> Result<Result<Summary, Finding>, Error> {
    let mut verifier = Verifier::new(key.clone(), anchors, from);
    let all = files::list(directory)?;
    // Files that end earlier are not read.
    let first = all.iter().rposition(|file| file.first <= from).unwrap_or(0);
    feed(&mut verifier, &all[first..])?;
    Ok(verifier.finish())
}

/// As [`verify_directory`] for the newest files only; fast enough for a start.
pub(crate) fn check_end(
    directory: &Path,
    key: &Key,
    anchors: &[Anchor],
) -> Result<Option<Finding>, Error> {
    let all = files::list(directory)?;
    let newest = &all[all.len().saturating_sub(2)..];
    let from = newest.first().map_or(1, |file| file.first);
    let anchors = anchors.iter().filter(|anchor| anchor.seq >= from).cloned().collect();
    let mut verifier = Verifier::new(key.clone(), anchors, from);
    feed(&mut verifier, newest)?;
    Ok(verifier.end(true).err())
}

fn feed(verifier: &mut Verifier, all: &[files::LogFile]) -> Result<(), Error> {
    let mut line = Vec::new();
    for file in all {
        let mut lines = Lines::open(&file.path)?;
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let mut number = 0_u64;
        while let Some(ended) = lines.next(&mut line)? {
            number += 1;
            verifier.line(&format_args!("{name}:{number}"), &line, ended);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;

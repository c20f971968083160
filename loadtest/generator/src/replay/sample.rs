//! A file taken apart: which bytes of each line stay, which are times, which are ids.

use std::ops::Range;

use anyhow::{Result, bail};

use super::stamp::Stamp;
use super::{Options, Span, ids, scan};

/// A part of a line that is written anew.
#[derive(Debug, Clone)]
struct Change {
    range: Range<usize>,
    /// A time; an id without one.
    stamp: Option<Stamp>,
}

#[derive(Debug)]
struct Entry {
    /// The line without its line feed.
    range: Range<usize>,
    changes: Range<usize>,
    /// The event's own time; the line belongs to the event before without one.
    time: Option<i64>,
    /// When the line happens within its file: the time of its event.
    at: i64,
}

/// A file of lines with times.
#[derive(Debug)]
pub struct Sample {
    name: String,
    text: Vec<u8>,
    entries: Vec<Entry>,
    changes: Vec<Change>,
    first: i64,
    last: i64,
    /// Lines that stand before the first time, or behind the last, and begin with `#`.
    head: usize,
    foot: usize,
}

impl Sample {
    /// Takes a file's text apart.
    ///
    /// # Errors
    /// If it has no line.
    pub fn new(name: &str, mut text: Vec<u8>) -> Result<Self> {
        complete(&mut text);
        let mut changes = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &text) {
            entries.push(entry(&text, start..end, &mut changes));
            start = end + 1;
        }
        if entries.is_empty() {
            bail!("no line in it");
        }
        let bare = |change: &Change| change.stamp.is_some_and(|stamp| !stamp.blank);
        let single = changes.iter().any(|change| bare(change) && form_has_bare_days(change));
        if single {
            // One day without a blank tells how the others are written.
            changes
                .iter_mut()
                .filter_map(|change| change.stamp.as_mut())
                .for_each(|s| s.blank = false);
        }
        let times = || entries.iter().filter_map(|entry| entry.time);
        let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
        let comment = |entry: &&Entry| text.get(entry.range.start) == Some(&b'#');
        let head = entries.iter().take_while(comment).count();
        let foot = entries.iter().skip(head).rev().take_while(comment).count();
        let mut at = first;
        for entry in &mut entries {
            at = entry.time.unwrap_or(at);
            entry.at = at;
        }
        Ok(Self { name: name.to_owned(), text, entries, changes, first, last, head, foot })
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its text.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// How many lines it has.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.entries.len() as u64
    }

    /// How many lines have a time.
    #[must_use]
    pub fn timed(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.time.is_some()).count() as u64
    }

    /// Whether a line has a time of its own; without any in the file, every line is an event.
    pub(super) fn begins_event(&self, line: u64) -> bool {
        let entry = &self.entries[usize::try_from(line).unwrap_or(0)];
        entry.time.is_some() || self.first == self.last
    }

    /// Appends a line as it is in a repetition, and gives its time; `None` if the line is the file's
    /// head or foot and it is another repetition's.
    pub(super) fn write(
        &self,
        line: u64,
        repetition: u64,
        span: Span,
        options: &Options,
        out: &mut Vec<u8>,
    ) -> Option<i64> {
        let number = usize::try_from(line).unwrap_or(0);
        let foot = number >= self.entries.len() - self.foot;
        if (number < self.head && repetition > 0) || (foot && repetition + 1 < options.scale) {
            return None;
        }
        let entry = &self.entries[number];
        let time = self.time_of(line, entry, repetition, span, options);
        let moved = time - entry.at;
        let mut from = entry.range.start;
        for change in &self.changes[entry.changes.clone()] {
            if change.stamp.is_none() && !options.fresh_ids {
                continue;
            }
            out.extend_from_slice(&self.text[from..change.range.start]);
            match change.stamp {
                Some(stamp) => stamp.write(stamp.time + moved, out),
                None => ids::write(&self.text[change.range.clone()], repetition, out),
            }
            from = change.range.end;
        }
        out.extend_from_slice(&self.text[from..entry.range.end]);
        Some(time)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn time_of(
        &self,
        line: u64,
        entry: &Entry,
        repetition: u64,
        span: Span,
        options: &Options,
    ) -> i64 {
        let scale = u128::from(options.scale.max(1));
        let share = |part: u128, of: u128| {
            let whole = u128::from(repetition) * of + part;
            (whole * u128::from(span.length) / (scale * of.max(1))) as i64
        };
        // A line without a time goes with its event.
        let range = u128::from(self.last.abs_diff(self.first));
        let offset = if options.even || range == 0 {
            share(u128::from(line), u128::from(self.lines()))
        } else {
            share(u128::from(entry.at.abs_diff(self.first)), range + 1)
        };
        span.start.saturating_add(offset)
    }
}

fn form_has_bare_days(change: &Change) -> bool {
    change.stamp.is_some_and(|stamp| stamp.form().pattern.contains("%e"))
}

/// Ends the last line as the others end.
fn complete(text: &mut Vec<u8>) {
    if text.last().is_some_and(|last| *last != b'\n') {
        let returns = text.windows(2).filter(|pair| *pair == b"\r\n").count();
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        if returns * 2 > lines && text.last() != Some(&b'\r') {
            text.push(b'\r');
        }
        text.push(b'\n');
    }
}

fn entry(text: &[u8], range: Range<usize>, changes: &mut Vec<Change>) -> Entry {
    let line = &text[range.clone()];
    let found = scan::times(line);
    let begin = changes.len();
    for (at, stamp) in &found.stamps {
        let start = range.start + at;
        changes.push(Change { range: start..start + stamp.length, stamp: Some(*stamp) });
    }
    let times = begin..changes.len();
    for id in ids::find(line) {
        let id = range.start + id.start..range.start + id.end;
        let apart = |time: &Change| id.end <= time.range.start || time.range.end <= id.start;
        if changes[times.clone()].iter().all(apart) {
            changes.push(Change { range: id, stamp: None });
        }
    }
    changes[begin..].sort_by_key(|change| change.range.start);
    let time = found.own.map(|own| found.stamps[own].1.time);
    Entry { range, changes: begin..changes.len(), time, at: 0 }
}

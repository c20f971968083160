//! Records which rows were being encoded when a process died: mark files, written before encoding and removed
//! after it.
//!
//! A process that dies while it encodes a bucket finds the same events in the journal at its next start, and
//! may die again. So the journal range of a bucket that is being encoded is marked. If processes died
//! [`DEATHS`] times over a range, the next start tries its records one by one, each in parts, and marks each
//! part before it is tried. Another death then identifies the part, and after a few more the event.
//!
//! A `kill -9` leaves a mark too. This only costs a trial: events that can be encoded are kept.

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use model::{JournalPosition, StreamId};
use parking_lot::Mutex;
use runtime::OpenDirectory;

/// Number of deaths over a range that makes its records suspects.
const DEATHS: u32 = 2;
/// Number of parts in which a suspect is tried.
const PARTS: usize = 64;

/// Rows of one journal record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rows {
    stream: String,
    position: u64,
    rows: Range<usize>,
}

/// The journal range of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    stream: String,
    positions: std::ops::RangeInclusive<u64>,
    deaths: u32,
}

#[derive(Debug, Default)]
struct State {
    /// Ranges of buckets that processes died over.
    left: Vec<Span>,
    /// The rows that the last process died over during a trial.
    suspect: Option<Rows>,
    /// Single rows that processes died over.
    poison: Vec<Rows>,
    next: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Attempts {
    root: Arc<OpenDirectory>,
    state: Mutex<State>,
}

/// A mark file, which is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Mark {
    root: Arc<OpenDirectory>,
    name: String,
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Err(error) = self.root.remove(&self.name) {
            let path = self.root.path().join(&self.name);
            tracing::debug!(path = %path.display(), %error, "a mark of encoding stays");
        }
    }
}

/// How to treat a record before its rows become hot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The record is not a suspect.
    Clean,
    /// These parts must be tried one by one.
    Try(Vec<Range<usize>>),
}

impl Attempts {
    /// Reads the marks of earlier processes.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let mut state = State::default();
        for file in fs::read_dir(root)? {
            let path = file?.path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let extension = path.extension().and_then(|extension| extension.to_str());
            match extension {
                Some("encoding" | "left") => {
                    let died = u32::from(extension == Some("encoding"));
                    if let Some(mut span) = read_span(&text) {
                        span.deaths += died;
                        state.left.push(span);
                    }
                    fs::remove_file(path)?;
                }
                Some("trial") => {
                    // A death over a single row identifies the row; one over several rows narrows the search.
                    match read_rows(&text) {
                        Some(rows) if rows.rows.len() == 1 => state.poison.push(rows),
                        other => state.suspect = other,
                    }
                    fs::remove_file(path)?;
                }
                Some("poison") => state.poison.extend(text.lines().filter_map(read_rows)),
                _ => {}
            }
        }
        let root = Arc::new(OpenDirectory::open(root)?);
        let attempts = Self { root, state: Mutex::new(state) };
        attempts.save()?;
        Ok(attempts)
    }

    /// Saves the findings for the next process.
    fn save(&self) -> io::Result<()> {
        let state = self.state.lock();
        for (number, span) in state.left.iter().enumerate() {
            self.write(&format!("{number}.left"), &write_span(span))?;
        }
        if !state.poison.is_empty() {
            let lines: Vec<String> = state.poison.iter().map(write_rows).collect();
            self.write("rows.poison", &lines.join("\n"))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.root.create(name)?.write_all(text.as_bytes())
    }

    /// Writes a mark file.
    fn mark(&self, name: String, text: &str) -> io::Result<Mark> {
        self.write(&name, text)?;
        Ok(Mark { root: Arc::clone(&self.root), name })
    }

    /// Marks a bucket as being encoded.
    pub(crate) fn begin(
        &self,
        stream: &StreamId,
        from: JournalPosition,
        upto: JournalPosition,
    ) -> io::Result<Mark> {
        let stream = name(stream);
        let positions = from.0..=upto.0;
        let (deaths, number) = {
            let mut state = self.state.lock();
            state.next += 1;
            let same = state.left.iter().filter(|span| span.touches(&stream, &positions));
            (same.map(|span| span.deaths).max().unwrap_or(0), state.next)
        };
        self.mark(format!("{number}.encoding"), &write_span(&Span { stream, positions, deaths }))
    }

    /// Removes the suspicion from a stream's records up to a position, because they have been encoded.
    pub(crate) fn succeeded(&self, stream: &StreamId, upto: JournalPosition) {
        let stream = name(stream);
        let is_over = |span: &Span| span.stream == stream && *span.positions.end() <= upto.0;
        let mut state = self.state.lock();
        if !state.left.iter().any(is_over) {
            return;
        }
        for number in 0..state.left.len() {
            let _ = self.root.remove(format!("{number}.left"));
        }
        state.left.retain(|span| !is_over(span));
        drop(state);
        if let Err(error) = self.save() {
            tracing::warn!(%error, "marks of encoding cannot be written");
        }
    }

    /// Decides how to treat a record with this number of rows.
    pub(crate) fn verdict(
        &self,
        stream: &StreamId,
        position: JournalPosition,
        rows: usize,
    ) -> Verdict {
        let state = self.state.lock();
        if state.left.is_empty() && state.suspect.is_none() {
            return Verdict::Clean;
        }
        let stream = name(stream);
        let is_here = |rows: &&Rows| rows.stream == stream && rows.position == position.0;
        if let Some(suspect) = state.suspect.as_ref().filter(is_here) {
            let known = suspect.rows.start.min(rows)..suspect.rows.end.min(rows);
            let step = known.len().div_ceil(PARTS).max(1);
            let parts = known.clone().step_by(step);
            return Verdict::Try(parts.map(|from| from..(from + step).min(known.end)).collect());
        }
        let here = position.0..=position.0;
        let suspected = |span: &Span| span.deaths >= DEATHS && span.touches(&stream, &here);
        if state.left.iter().any(suspected) {
            // One line rather than a range of ranges.
            return Verdict::Try(std::iter::once(0..rows).collect());
        }
        Verdict::Clean
    }

    /// Returns the rows of a record that a process died over.
    pub(crate) fn poison(&self, stream: &StreamId, position: JournalPosition) -> Vec<usize> {
        let state = self.state.lock();
        if state.poison.is_empty() {
            return Vec::new();
        }
        let stream = name(stream);
        let here = state.poison.iter();
        let here = here.filter(|rows| rows.stream == stream && rows.position == position.0);
        here.map(|rows| rows.rows.start).collect()
    }

    /// Marks rows of a record that are about to be tried.
    pub(crate) fn trial(
        &self,
        stream: &StreamId,
        position: JournalPosition,
        rows: Range<usize>,
    ) -> io::Result<Mark> {
        let stream = name(stream);
        // A single mark is enough: sets are recovered one after the other, and a set tries one part at a
        // time.
        let tried = Rows { stream, position: position.0, rows };
        self.mark("rows.trial".to_owned(), &write_rows(&tried))
    }
}

impl Span {
    fn touches(&self, stream: &str, positions: &std::ops::RangeInclusive<u64>) -> bool {
        self.stream == stream
            && self.positions.start() <= positions.end()
            && positions.start() <= self.positions.end()
    }
}

fn name(stream: &StreamId) -> String {
    format!("{}/{}/{}", stream.set, stream.index, stream.lane.tag())
}

fn write_span(span: &Span) -> String {
    let Span { stream, positions, deaths } = span;
    format!("{stream} {} {} {deaths}", positions.start(), positions.end())
}

fn read_span(text: &str) -> Option<Span> {
    let mut words = text.split_whitespace();
    let stream = words.next()?.to_owned();
    let positions = words.next()?.parse().ok()?..=words.next()?.parse().ok()?;
    Some(Span { stream, positions, deaths: words.next()?.parse().ok()? })
}

fn write_rows(rows: &Rows) -> String {
    let Rows { stream, position, rows } = rows;
    format!("{stream} {position} {} {}", rows.start, rows.end)
}

fn read_rows(text: &str) -> Option<Rows> {
    let mut words = text.split_whitespace();
    let stream = words.next()?.to_owned();
    let position = words.next()?.parse().ok()?;
    Some(Rows { stream, position, rows: words.next()?.parse().ok()?..words.next()?.parse().ok()? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{IndexName, IndexerId, Lane};

    use super::*;

    const HERE: JournalPosition = JournalPosition(5);

    /// The process dies over row 777 of 1,000, whichever rows are encoded together with it.
    #[test]
    fn deaths_narrow_down_to_the_row_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let mut deaths = 0;
        while !lives(directory.path(), 777) {
            deaths += 1;
            assert!(deaths < 10, "it dies for ever");
        }
        assert_eq!(deaths, 5, "two in ordinary work, then 1,000 rows, 16 and 1");
        let attempts = Attempts::open(directory.path()).unwrap();
        assert_eq!(attempts.poison(&stream(), HERE), [777]);
        assert!(attempts.poison(&stream(), JournalPosition(4)).is_empty());
    }

    #[test]
    fn a_mark_is_gone_with_the_work_and_a_death_elsewhere_counts_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let attempts = Attempts::open(directory.path()).unwrap();
        drop(attempts.begin(&stream(), HERE, HERE).unwrap());
        std::mem::forget(attempts.begin(&stream(), HERE, HERE).unwrap());
        for _ in 0..5 {
            let attempts = Attempts::open(directory.path()).unwrap();
            assert_eq!(attempts.verdict(&stream(), HERE, 10), Verdict::Clean);
        }
        let attempts = Attempts::open(directory.path()).unwrap();
        attempts.succeeded(&stream(), HERE);
        assert!(Attempts::open(directory.path()).unwrap().state.lock().left.is_empty());
    }

    /// Simulates one process that recovers and encodes a record. Returns false if it dies.
    fn lives(root: &Path, deadly: usize) -> bool {
        let attempts = Attempts::open(root).unwrap();
        let poison = attempts.poison(&stream(), HERE);
        if let Verdict::Try(parts) = attempts.verdict(&stream(), HERE, 1_000) {
            for part in parts {
                let mark = attempts.trial(&stream(), HERE, part.clone()).unwrap();
                if part.contains(&deadly) && !poison.contains(&deadly) {
                    std::mem::forget(mark);
                    return false;
                }
            }
        }
        let mark = attempts.begin(&stream(), HERE, HERE).unwrap();
        if !poison.contains(&deadly) {
            std::mem::forget(mark);
            return false;
        }
        attempts.succeeded(&stream(), HERE);
        true
    }

    fn stream() -> StreamId {
        let (indexer, index) = (IndexerId(uuid::Uuid::nil()), IndexName::new("main").unwrap());
        StreamId { indexer, set: 0, index, lane: Lane::FIRST }
    }
}

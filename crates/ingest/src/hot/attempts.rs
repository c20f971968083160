//! Records which rows were being encoded when a process died: mark files, written before encoding and removed
//! after it.
//!
//! A process that dies while it encodes a bucket finds the same events in the journal at its next start, and
//! may die again. If processes died [`DEATHS`] times over a bucket, its rows are suspects: they are tried in
//! parts, while no other hot bucket is encoded, and each part is marked. A death over a part makes that part
//! the first one to be tried, in smaller parts, until a part is a single row. A row is rejected only after
//! [`ROW_DEATHS`] deaths over this row alone, without a trial in between that it survived. Stored buckets may
//! be joined meanwhile: a death over a join counts against the part, too.
//!
//! A `kill -9` leaves marks too. This only costs a trial, and a row that survives one is not a suspect any
//! more. A process that is told to stop, and ends before it has finished a bucket, has not died over it: see
//! [`Attempts::end`].
//!
//! Each process has a number, the findings name the last one, and marks name theirs. The findings are
//! replaced atomically, with the next number and the deaths of the last process. So a death is counted once,
//! even if the start that counts it is killed, too.

use std::cmp::Reverse;
use std::fs;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use model::{IndexerId, StreamId};
use parking_lot::{Mutex, RwLock};
use runtime::OpenDirectory;
use serde::{Deserialize, Serialize};

/// Number of deaths over a bucket that makes its rows suspects.
const DEATHS: u32 = 2;
/// Number of deaths over a single row that is tried alone after which it is rejected.
pub(crate) const ROW_DEATHS: u32 = 3;
/// The file that is kept between processes; all others are marks.
const FINDINGS: &str = "findings.json";
const DRAFT: &str = "findings.draft";

/// Arrival times of rows, which are unique in an indexer.
pub(crate) type Times = RangeInclusive<i64>;

/// Rows of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    stream: String,
    times: Times,
    /// Checksum of the text of a single row that is tried alone, so that no other row is taken for it.
    text: Option<u32>,
    deaths: u32,
}

/// The content of a mark file.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The process.
    process: u64,
    /// Whether the rows are tried as suspects.
    trial: bool,
    rows: Span,
}

/// What is known from earlier processes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Findings {
    /// The last process whose marks are not counted yet.
    process: u64,
    /// Buckets that processes died over.
    buckets: Vec<Span>,
    /// Parts of suspects that processes died over while they tried them.
    parts: Vec<Span>,
}

#[derive(Debug, Default)]
struct State {
    findings: Findings,
    /// Number of marks so far.
    marks: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Attempts {
    root: Arc<OpenDirectory>,
    /// The number of this process.
    process: u64,
    state: Mutex<State>,
    /// Held for writing while suspects are tried, and for reading while a hot bucket is encoded.
    pub(crate) alone: RwLock<()>,
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

impl Attempts {
    /// Reads the findings and counts the marks of the last process.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let directory = Arc::new(OpenDirectory::open(root)?);
        let before = read_findings(root);
        let mut findings = before.clone();
        let mut marks = Vec::new();
        for file in fs::read_dir(root)? {
            let path = file?.path();
            if path.file_name().is_some_and(|name| name == FINDINGS) {
                continue;
            }
            // A file that was not written completely is not a mark: nothing was being encoded yet.
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let Ok(note) = serde_json::from_str::<Note>(&text)
                && note.process == before.process
            {
                findings.count(&before, note);
            }
            marks.push(path);
        }
        findings.process = before.process.saturating_add(1);
        let attempts = Self {
            root: directory,
            process: findings.process,
            state: Mutex::new(State { findings, marks: 0 }),
            alone: RwLock::new(()),
        };
        // If the disk is full, the marks stay and are counted at the next start.
        if attempts.save(&attempts.state.lock().findings) {
            for path in marks {
                if let Err(error) = fs::remove_file(&path) {
                    tracing::debug!(path = %path.display(), %error, "a mark of encoding stays");
                }
            }
        }
        Ok(attempts)
    }

    /// Replaces the findings. Returns whether they are durable.
    fn save(&self, findings: &Findings) -> bool {
        let written = serde_json::to_vec(findings).map_err(io::Error::from);
        let saved = written.and_then(|bytes| self.root.replace(FINDINGS, DRAFT, &bytes));
        if let Err(error) = &saved {
            tracing::warn!(%error, "what is known of ends during encoding cannot be written");
        }
        saved.is_ok()
    }

    /// Writes a mark file.
    fn mark(&self, trial: bool, rows: Span) -> io::Result<Mark> {
        let number = {
            let mut state = self.state.lock();
            state.marks += 1;
            state.marks
        };
        let text = serde_json::to_vec(&Note { process: self.process, trial, rows })?;
        let name = format!("{}-{number}.mark", self.process);
        let mut file = self.root.create(&name)?;
        // A mark that cannot be written completely is removed.
        let mark = Mark { root: Arc::clone(&self.root), name };
        file.write_all(&text)?;
        Ok(mark)
    }

    /// Marks rows as being encoded.
    pub(crate) fn begin(&self, stream: &StreamId, times: &Times) -> io::Result<Mark> {
        self.mark(false, Span::new(stream, times, None))
    }

    /// Marks suspects as being tried; `text` is the checksum of a single row.
    pub(crate) fn try_part(
        &self,
        stream: &StreamId,
        times: &Times,
        text: Option<u32>,
    ) -> io::Result<Mark> {
        self.mark(true, Span::new(stream, times, text))
    }

    /// Returns `None` if none of the rows is a suspect; otherwise the parts that processes died over, which
    /// are to be tried before all rows are.
    pub(crate) fn suspects(&self, stream: &StreamId, times: &Times) -> Option<Vec<Times>> {
        let state = self.state.lock();
        let Findings { buckets, parts, .. } = &state.findings;
        if buckets.is_empty() && parts.is_empty() {
            return None;
        }
        let stream = stream.to_string();
        let mut parts: Vec<&Span> =
            parts.iter().filter(|part| part.touches(&stream, times) && !part.is_proven()).collect();
        let is_suspected = |span: &Span| span.deaths >= DEATHS && span.touches(&stream, times);
        if parts.is_empty() && !buckets.iter().any(is_suspected) {
            return None;
        }
        parts.sort_by_key(|part| Reverse(part.deaths));
        Some(parts.into_iter().map(|part| part.times.clone()).collect())
    }

    /// Whether any rows of a stream are suspects.
    #[cfg(test)]
    pub(crate) fn has_suspects(&self, stream: &StreamId) -> bool {
        self.suspects(stream, &(i64::MIN..=i64::MAX)).is_some()
    }

    /// Returns arrival time and checksum of the rows that end a process.
    pub(crate) fn proven(&self, stream: &StreamId) -> Vec<(i64, u32)> {
        let state = self.state.lock();
        if state.findings.parts.is_empty() {
            return Vec::new();
        }
        let stream = stream.to_string();
        let proven = state.findings.parts.iter();
        let proven = proven.filter(|part| part.stream == stream && part.is_proven());
        proven.filter_map(|part| Some((*part.times.start(), part.text?))).collect()
    }

    /// Notes that a part of the suspects has been tried.
    pub(crate) fn survived(&self, stream: &StreamId, part: &Times) {
        let stream = stream.to_string();
        let mut state = self.state.lock();
        let before = state.findings.parts.len();
        let is_it = |span: &Span| span.stream == stream && span.times == *part;
        state.findings.parts.retain(|span| !is_it(span) || span.is_proven());
        if state.findings.parts.len() < before {
            self.save(&state.findings);
        }
    }

    /// Notes that rows have been tried, or encoded: they are not suspects any more.
    pub(crate) fn clear(&self, stream: &StreamId, times: &Times) {
        let mut state = self.state.lock();
        let Findings { buckets, parts, .. } = &mut state.findings;
        if buckets.is_empty() && parts.is_empty() {
            return;
        }
        let stream = stream.to_string();
        let is_here = |span: &Span| span.touches(&stream, times) && !span.is_proven();
        if !buckets.iter().chain(parts.iter()).any(is_here) {
            return;
        }
        for spans in [buckets, parts] {
            let before = std::mem::take(spans);
            for span in before {
                if is_here(&span) {
                    spans.extend(span.without(times));
                } else {
                    spans.push(span);
                }
            }
        }
        self.save(&state.findings);
    }

    /// Forgets suspects of an indexer that no hot bucket has: they are stored, or set aside. Buckets that a
    /// recovery fills have other borders than those that processes died over, so arrival times that no row
    /// has remain between them.
    pub(crate) fn keep_hot(&self, indexer: IndexerId, hot: &[(StreamId, Times)]) {
        let mut state = self.state.lock();
        let Findings { buckets, parts, .. } = &mut state.findings;
        let before = buckets.len() + parts.len();
        if before == 0 {
            return;
        }
        let hot: Vec<(String, &Times)> =
            hot.iter().map(|(stream, times)| (stream.to_string(), times)).collect();
        let own = format!("(indexer {indexer}, ");
        let is_kept = |span: &Span| {
            span.is_proven()
                || !span.stream.contains(&own)
                || hot.iter().any(|(stream, times)| span.touches(stream, times))
        };
        buckets.retain(&is_kept);
        parts.retain(&is_kept);
        if buckets.len() + parts.len() < before {
            self.save(&state.findings);
        }
    }

    /// The process has been told to stop and does not wait for encoding any more: its end is not a death over
    /// the rows that are marked now, or later.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.findings.process = self.process.saturating_add(1);
        self.save(&state.findings);
    }
}

impl Findings {
    /// Counts a death over the rows of a mark; `before` are the findings without the marks.
    fn count(&mut self, before: &Self, note: Note) {
        let Note { trial, rows, .. } = note;
        if trial {
            let same = |part: &&Span| part.is_same(&rows);
            let deaths = before.parts.iter().find(same).map_or(0, |part| part.deaths);
            // The part replaces the larger one that it belongs to.
            self.parts.retain(|part| !rows.is_within(part));
            self.parts.push(Span { deaths: deaths + 1, ..rows });
        } else {
            let same = before.buckets.iter().filter(|span| span.touches(&rows.stream, &rows.times));
            let deaths = same.map(|span| span.deaths).max().unwrap_or(0);
            self.buckets.retain(|span| !span.is_within(&rows));
            self.buckets.push(Span { deaths: deaths + 1, ..rows });
        }
    }
}

impl Span {
    fn new(stream: &StreamId, times: &Times, text: Option<u32>) -> Self {
        Self { stream: stream.to_string(), times: times.clone(), text, deaths: 0 }
    }

    fn touches(&self, stream: &str, times: &Times) -> bool {
        self.stream == stream
            && self.times.start() <= times.end()
            && times.start() <= self.times.end()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.stream == other.stream && self.times == other.times && self.text == other.text
    }

    fn is_within(&self, other: &Self) -> bool {
        self.stream == other.stream
            && other.times.start() <= self.times.start()
            && self.times.end() <= other.times.end()
    }

    /// Whether the rows are a single one that ends a process.
    fn is_proven(&self) -> bool {
        self.text.is_some() && self.deaths >= ROW_DEATHS
    }

    /// Returns the rows before and after a range.
    fn without(&self, times: &Times) -> impl Iterator<Item = Self> + use<> {
        let (first, last) = (*self.times.start(), *self.times.end());
        let left = first..=last.min(times.start().saturating_sub(1));
        let right = first.max(times.end().saturating_add(1))..=last;
        let rest = [left, right].map(|rest| Self { times: rest, ..self.clone() });
        rest.into_iter().filter(|span| !span.times.is_empty())
    }
}

/// Returns the findings of the last process; none if there are none, or if they cannot be read: then deaths
/// are counted from the beginning.
fn read_findings(root: &Path) -> Findings {
    let path = root.join(FINDINGS);
    let read = match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Findings::default(),
        Err(error) => Err(error),
    };
    read.unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "what is known of ends during encoding is lost");
        Findings::default()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{IndexName, Lane};

    use super::*;

    const ALL: Times = 1_000..=1_999;

    /// Simulates a process that dies over these rows.
    fn die(root: &Path, times: &Times, text: Option<u32>) {
        let attempts = Attempts::open(root).unwrap();
        std::mem::forget(attempts.try_part(&stream(0), times, text).unwrap());
    }

    fn die_over_bucket(root: &Path) {
        std::mem::forget(Attempts::open(root).unwrap().begin(&stream(0), &ALL).unwrap());
    }

    #[test]
    fn rows_are_suspects_after_two_deaths_over_their_bucket_until_they_are_encoded() {
        let directory = tempfile::tempdir().unwrap();
        die_over_bucket(directory.path());
        die_over_bucket(directory.path());
        for _ in 0..3 {
            let attempts = Attempts::open(directory.path()).unwrap();
            assert_eq!(attempts.suspects(&stream(0), &(1_500..=9_000)), Some(Vec::new()));
            assert_eq!(attempts.suspects(&stream(0), &(2_000..=9_000)), None, "other rows");
            assert!(attempts.has_suspects(&stream(0)) && !attempts.has_suspects(&stream(1)));
        }
        let attempts = Attempts::open(directory.path()).unwrap();
        attempts.clear(&stream(0), &(1_200..=1_300));
        let attempts = Attempts::open(directory.path()).unwrap();
        assert_eq!(attempts.suspects(&stream(0), &(1_200..=1_300)), None);
        assert!(attempts.suspects(&stream(0), &(1_100..=1_250)).is_some(), "the rows before");
        attempts.clear(&stream(0), &(0..=1_999));
        assert!(!Attempts::open(directory.path()).unwrap().has_suspects(&stream(0)));
    }

    #[test]
    fn a_mark_is_gone_with_the_work_and_one_death_makes_no_suspects() {
        let directory = tempfile::tempdir().unwrap();
        let attempts = Attempts::open(directory.path()).unwrap();
        drop(attempts.begin(&stream(0), &ALL).unwrap());
        drop(attempts.try_part(&stream(0), &ALL, None).unwrap());
        die_over_bucket(directory.path());
        for _ in 0..5 {
            assert!(!Attempts::open(directory.path()).unwrap().has_suspects(&stream(0)));
        }
    }

    #[test]
    fn a_stop_that_gives_up_waiting_is_not_a_death() {
        let directory = tempfile::tempdir().unwrap();
        for _ in 0..5 {
            let attempts = Attempts::open(directory.path()).unwrap();
            assert!(!attempts.has_suspects(&stream(0)));
            std::mem::forget(attempts.begin(&stream(0), &ALL).unwrap());
            attempts.end();
            std::mem::forget(attempts.try_part(&stream(0), &(1_007..=1_007), Some(7)).unwrap());
        }
    }

    #[test]
    fn a_death_is_counted_once_if_the_start_that_counts_it_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        die_over_bucket(directory.path());
        let mark = directory.path().join("1-1.mark");
        let text = fs::read(&mark).unwrap();
        for _ in 0..5 {
            // The findings are written, and the mark is not removed yet.
            Attempts::open(directory.path()).unwrap();
            fs::write(&mark, &text).unwrap();
        }
        assert!(!Attempts::open(directory.path()).unwrap().has_suspects(&stream(0)));
        assert!(!mark.exists());
    }

    #[test]
    fn deaths_over_parts_narrow_down_to_a_row_which_is_rejected_after_three_deaths_over_it() {
        let directory = tempfile::tempdir().unwrap();
        let row = 1_007..=1_007;
        die(directory.path(), &(1_000..=1_015), None);
        for deaths in 0..ROW_DEATHS {
            let attempts = Attempts::open(directory.path()).unwrap();
            let part = if deaths == 0 { 1_000..=1_015 } else { row.clone() };
            assert_eq!(attempts.suspects(&stream(0), &ALL), Some(vec![part]));
            assert!(attempts.proven(&stream(0)).is_empty(), "after {deaths} deaths over the row");
            std::mem::forget(attempts.try_part(&stream(0), &row, Some(7)).unwrap());
        }
        let attempts = Attempts::open(directory.path()).unwrap();
        attempts.clear(&stream(0), &ALL);
        assert_eq!(attempts.suspects(&stream(0), &ALL), None);
        assert_eq!(Attempts::open(directory.path()).unwrap().proven(&stream(0)), [(1_007, 7)]);
        assert!(attempts.proven(&stream(1)).is_empty(), "a row of another indexer");
    }

    #[test]
    fn a_row_that_survives_a_trial_is_as_any_other_row() {
        let directory = tempfile::tempdir().unwrap();
        let row = 1_007..=1_007;
        for _ in 0..4 {
            for _ in 1..ROW_DEATHS {
                die(directory.path(), &row, Some(7));
            }
            Attempts::open(directory.path()).unwrap().survived(&stream(0), &row);
        }
        let attempts = Attempts::open(directory.path()).unwrap();
        assert!(attempts.proven(&stream(0)).is_empty() && !attempts.has_suspects(&stream(0)));
    }

    #[test]
    fn deaths_over_different_rows_reject_none() {
        let directory = tempfile::tempdir().unwrap();
        for row in 1_000..1_020 {
            die(directory.path(), &(row..=row), Some(7));
        }
        // The same arrival time, and another text.
        for text in 0..20 {
            die(directory.path(), &(1_500..=1_500), Some(text));
        }
        assert!(Attempts::open(directory.path()).unwrap().proven(&stream(0)).is_empty());
    }

    #[test]
    fn arrival_times_that_no_hot_row_has_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        die_over_bucket(directory.path());
        die_over_bucket(directory.path());
        let attempts = Attempts::open(directory.path()).unwrap();
        let hot = [(stream(0), 900..=1_680), (stream(0), 1_720..=1_999)];
        attempts.keep_hot(stream(0).indexer, &hot);
        // The rows are now in two buckets, and none arrived between them.
        attempts.clear(&stream(0), &(900..=1_680));
        attempts.clear(&stream(0), &(1_720..=1_999));
        let attempts = Attempts::open(directory.path()).unwrap();
        assert!(attempts.has_suspects(&stream(0)));
        attempts.keep_hot(stream(1).indexer, &[]);
        assert!(attempts.has_suspects(&stream(0)), "those of another indexer");
        attempts.keep_hot(stream(0).indexer, &[(stream(0), 2_000..=2_100)]);
        assert!(!Attempts::open(directory.path()).unwrap().has_suspects(&stream(0)));
    }

    #[test]
    fn what_cannot_be_read_counts_nothing() {
        let directory = tempfile::tempdir().unwrap();
        die_over_bucket(directory.path());
        die_over_bucket(directory.path());
        fs::write(directory.path().join("findings.json"), "{\"proc").unwrap();
        fs::write(directory.path().join("rows.poison"), "0/main/1 5 7 8").unwrap();
        let attempts = Attempts::open(directory.path()).unwrap();
        assert!(!attempts.has_suspects(&stream(0)) && attempts.proven(&stream(0)).is_empty());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    fn stream(indexer: u128) -> StreamId {
        let index = IndexName::new("main").unwrap();
        let indexer = IndexerId(uuid::Uuid::from_u128(indexer));
        StreamId { indexer, set: 0, index, lane: Lane::FIRST }
    }
}

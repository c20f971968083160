//! The report of `karst add` for each file: whether its format was recognized, and how much of it was
//! indexed.

use std::fmt;

use serde_json::Value;

use crate::cli::plural::counted;

/// Maximum number of characters of a header.
const SHOWN: usize = 100;

/// The durability of events (`ackLevel`), the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Local,
    Replicated,
    Remote,
}

impl Level {
    fn of(name: &str) -> Option<Self> {
        match name {
            "local" => Some(Self::Local),
            "replicated" => Some(Self::Replicated),
            "remote" => Some(Self::Remote),
            _ => None,
        }
    }
}

/// The data of a file or object that the server has acknowledged.
#[derive(Debug, Default)]
pub(super) struct Report {
    name: String,
    sourcetype: String,
    events: u64,
    /// Microseconds since 1970.
    earliest: Option<i64>,
    latest: Option<i64>,
    undated: u64,
    truncated: u64,
    split: u64,
    headers: u64,
    /// The lowest durability of all events.
    level: Option<Level>,
    first_line: String,
    /// Events before this time are deleted, or moved to the archive of the index: microseconds since 1970.
    kept_since: Option<i64>,
}

impl Report {
    pub(super) fn new(name: String, kept_since: Option<i64>) -> Self {
        Self { name, kept_since, ..Self::default() }
    }

    /// Notes a chunk before it is sent: the line that may be the header is in the first.
    pub(super) fn begin(&mut self, piece: &[u8]) {
        if !self.first_line.is_empty() {
            return;
        }
        let mut lines = piece.split(|byte| matches!(byte, b'\n' | b'\r'));
        let line = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
        let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < line.len() {
            shown.push_str("...");
        }
        self.first_line = shown;
    }

    /// Adds the server's answer to a chunk.
    pub(super) fn take(&mut self, answer: &Value) {
        let count = |name: &str| answer[name].as_u64().unwrap_or(0);
        if self.sourcetype.is_empty() {
            // The source type is recognized by the beginning of the file only.
            self.sourcetype = answer["sourcetype"].as_str().unwrap_or_default().to_owned();
        }
        self.events += count("events");
        self.undated += count("undated");
        self.truncated += count("truncated");
        self.split += count("split");
        self.headers += count("headers");
        let level = answer["ackLevel"].as_str().and_then(Level::of);
        self.level = self.level.into_iter().chain(level).min();
        let (earliest, latest) = (answer["earliest"].as_i64(), answer["latest"].as_i64());
        self.earliest = self.earliest.into_iter().chain(earliest).min();
        self.latest = self.latest.into_iter().chain(latest).max();
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sourcetype = match self.sourcetype.as_str() {
            "" => "no source type",
            known => known,
        };
        write!(f, "{}: {sourcetype}, {}", self.name, counted(self.events, "event"))?;
        if let (Some(earliest), Some(latest)) = (self.earliest, self.latest) {
            write!(f, ", {} to {} UTC", shown(earliest), shown(latest))?;
        }
        match self.level {
            None | Some(Level::Local) => {}
            Some(Level::Replicated) => write!(f, ", acknowledged as replicated")?,
            Some(Level::Remote) => write!(f, ", acknowledged as remote")?,
        }
        let mut note = |count: u64, text: &str| match count {
            0 => Ok(()),
            count => write!(f, "\n  {} {text}", counted(count, "event")),
        };
        note(
            self.undated,
            "without a time in the text; the time of the previous event, or of the file, was used",
        )?;
        note(self.truncated, "longer than TRUNCATE; the rest was dropped")?;
        note(self.split, "split after MAX_EVENTS lines")?;
        if let (Some(latest), Some(since)) = (self.latest, self.kept_since)
            && latest < since
        {
            let text = "all older than the retention of the index (frozenTimePeriodInSecs), which removes them from \
                        searches within minutes";
            write!(f, "\n  {text}: raise it first, and add the file again")?;
        }
        if self.headers > 0 {
            write!(f, "\n  the first line was taken as the header: {}", self.first_line)?;
        }
        Ok(())
    }
}

/// A time in UTC.
pub(super) fn shown(micros: i64) -> String {
    let time = jiff::Timestamp::from_microsecond(micros);
    let text = time.map_or_else(|_| micros.to_string(), |time| time.to_string());
    text.replace('T', " ").trim_end_matches('Z').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chunks_add_up_and_oddities_are_named() {
        let mut report = Report::new("/data/a.csv".to_owned(), None);
        report.begin(b"\nName,Date\nx,y\n");
        report.begin(b"z\n");
        report.take(&json!({
            "sourcetype": "csv", "events": 2, "earliest": 1_714_644_672_500_000_i64,
            "latest": 1_714_644_673_000_000_i64, "undated": 1, "headers": 1, "ackLevel": "remote",
        }));
        report.take(&json!({"sourcetype": "a", "events": 1, "earliest": 1_714_644_600_000_000_i64,
            "latest": 1_714_644_600_000_000_i64, "truncated": 2, "ackLevel": "replicated"}));
        assert_eq!(
            report.to_string(),
            "/data/a.csv: csv, 3 events, 2024-05-02 10:10:00 to 2024-05-02 10:11:13 UTC, acknowledged \
             as replicated\n  1 event without a time in the text; the time of the previous event, or of \
             the file, was used\n  2 events longer than TRUNCATE; the rest was dropped\n  the first \
             line was taken as the header: Name,Date"
        );
        report.kept_since = Some(1_714_644_673_000_000);
        assert!(!report.to_string().contains("retention"), "the latest event is kept");
        report.kept_since = Some(1_714_644_673_000_001);
        assert!(report.to_string().contains("all older than the retention"), "{report}");
        assert_eq!(Report::new("b".to_owned(), None).to_string(), "b: no source type, 0 events");
    }
}

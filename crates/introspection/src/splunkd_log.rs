//! splunkd.log: warnings and errors of the server's log, in Splunk's format.

use jiff::Timestamp;
use model::EventTime;
use serde_json::Value;

use crate::line::written;
use crate::{Log, OwnEvent};

/// Maximum number of lines per interval.
const MAX_LINES: usize = 1_000;
/// Maximum length of a line in bytes.
const MAX_BYTES: usize = 8 << 10;

/// Warnings and errors since the last call of [`take`](Self::take).
#[derive(Debug, Default)]
pub struct SplunkdLog {
    lines: Vec<String>,
    left_out: u64,
}

impl SplunkdLog {
    /// Adds a line of the log, a JSON object, if it is a warning or an error.
    pub fn line(&mut self, line: &[u8]) {
        // The level comes directly after the time.
        let head = &line[..line.len().min(100)];
        let has = |word: &[u8]| head.windows(word.len()).any(|part| part == word);
        if !has(b"\"level\":\"WARN\"") && !has(b"\"level\":\"ERROR\"") {
            return;
        }
        if self.lines.len() >= MAX_LINES || line.len() > MAX_BYTES * 2 {
            self.left_out += 1;
            return;
        }
        self.lines.push(String::from_utf8_lossy(line).into_owned());
    }

    /// The events since the last call. `component` maps a target to the part of the server.
    pub fn take(&mut self, now: EventTime, component: impl Fn(&str) -> String) -> Vec<OwnEvent> {
        let lines = std::mem::take(&mut self.lines);
        let mut events: Vec<OwnEvent> =
            lines.iter().filter_map(|line| event(line, now, &component)).collect();
        if self.left_out > 0 {
            let count = std::mem::take(&mut self.left_out);
            let text = format!(
                "{} WARN  Server - further lines are in karst.log lines={count}",
                written(now)
            );
            events.push(OwnEvent { log: Log::Splunkd, time: now, text, points: None });
        }
        events
    }
}

fn event(line: &str, now: EventTime, component: impl Fn(&str) -> String) -> Option<OwnEvent> {
    let Value::Object(fields) = serde_json::from_str(line).ok()? else { return None };
    let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let time = field("timestamp").parse::<Timestamp>().ok();
    let time = time.map_or(now, |time| EventTime(time.as_microsecond()));
    let component = component(field("target"));
    let level = field("level");
    let mut text = format!("{} {level:<5} {component} - {}", written(time), field("message"));
    for (name, value) in &fields {
        if matches!(name.as_str(), "timestamp" | "level" | "target" | "message") {
            continue;
        }
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | ',' | ';' | '|' | '&');
        if !value.is_empty() && value.chars().all(plain) {
            text.push_str(&format!(" {name}={value}"));
        } else {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
            text.push_str(&format!(" {name}=\"{value}\""));
        }
    }
    text.truncate(text.floor_char_boundary(MAX_BYTES));
    Some(OwnEvent { log: Log::Splunkd, time, text, points: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARNING: &str = r#"{"timestamp":"2026-11-22T10:15:00.123456Z","level":"WARN","message":"buckets wait","waiting":3,"error":"the \"store\" is away","target":"karst_ingest::hot::upload"}"#;

    #[test]
    fn warnings_are_lines_of_splunkd_log_and_the_rest_is_not() {
        let mut log = SplunkdLog::default();
        log.line(WARNING.as_bytes());
        log.line(WARNING.replace("WARN", "INFO").as_bytes());
        let events = log.take(EventTime(0), |_| "Ingest".to_owned());
        assert_eq!(events.len(), 1);
        assert_eq!(
            events[0].text,
            "11-22-2026 10:15:00.123 +0000 WARN  Ingest - buckets wait waiting=3 error=\"the \\\"store\\\" is away\""
        );
        assert_eq!(events[0].time, EventTime(1_795_342_500_123_456));
        assert!(log.take(EventTime(0), str::to_owned).is_empty());
    }

    #[test]
    fn there_are_never_too_many_and_the_rest_is_counted() {
        let mut log = SplunkdLog::default();
        for _ in 0..MAX_LINES + 5 {
            log.line(WARNING.as_bytes());
        }
        let events = log.take(EventTime(0), str::to_owned);
        assert_eq!(events.len(), MAX_LINES + 1);
        assert!(events.last().is_some_and(|event| event.text.ends_with("lines=5")));
    }
}

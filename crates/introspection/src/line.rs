//! A line of a log in Splunk's format: time, level, component, and `name=value` separated by commas.

use jiff::Timestamp;
use model::EventTime;

use crate::{Log, OwnEvent, Points};

/// Maximum length of a quoted value; longer ones are truncated.
const MAX_NAME: usize = 1 << 10;

/// A line that is being written.
#[derive(Debug)]
pub(crate) struct Line {
    log: Log,
    time: EventTime,
    text: String,
    separator: &'static str,
    is_first: bool,
    /// The numbers, of metrics.log only.
    points: Option<Points>,
}

impl Line {
    /// Starts a line of metrics.log for a group.
    pub(crate) fn metrics(time: EventTime, group: &str) -> Self {
        let line = Self::new(Log::Metrics, time, ("INFO", "Metrics"), ", ").word("group", group);
        Self { points: Some(Points::of(group)), ..line }
    }

    pub(crate) fn new(
        log: Log,
        time: EventTime,
        (level, component): (&str, &str),
        separator: &'static str,
    ) -> Self {
        let text = format!("{} {level:<5} {component} - ", written(time));
        Self { log, time, text, separator, is_first: true, points: None }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push_str(self.separator);
        }
        self.text.push_str(name);
        self.text.push('=');
    }

    /// Adds a word, which needs no quotes.
    pub(crate) fn word(mut self, name: &str, word: &str) -> Self {
        self.name(name);
        self.text.push_str(word);
        if let Some(points) = &mut self.points {
            points.word(name, word);
        }
        self
    }

    /// Adds text without a name.
    pub(crate) fn bare(mut self, text: &str) -> Self {
        if !std::mem::take(&mut self.is_first) {
            self.text.push_str(self.separator);
        }
        self.text.push_str(text);
        self
    }

    /// Adds a name chosen by a user, in quotes.
    pub(crate) fn quoted(mut self, name: &str, value: &str) -> Self {
        let value = &value[..value.floor_char_boundary(MAX_NAME)];
        self.name(name);
        self.text.push('"');
        escape(&mut self.text, value, MAX_NAME);
        self.text.push('"');
        if let Some(points) = &mut self.points {
            points.dimension(name, value);
        }
        self
    }

    /// Adds an integer.
    pub(crate) fn count(self, name: &str, value: u64) -> Self {
        self.digits(name, &value.to_string(), true)
    }

    /// Adds a number with at most three decimals. Only finite ones are points.
    pub(crate) fn number(self, name: &str, value: f64) -> Self {
        self.digits(name, &decimal(value), value.is_finite())
    }

    fn digits(mut self, name: &str, number: &str, is_finite: bool) -> Self {
        self.name(name);
        self.text.push_str(number);
        if let Some(points) = self.points.as_mut().filter(|_| is_finite) {
            points.measure(name, number);
        }
        self
    }

    /// Adds a number, if it is known.
    pub(crate) fn some(self, name: &str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.number(name, value),
            None => self,
        }
    }

    pub(crate) fn end(self) -> OwnEvent {
        let points = self.points.filter(|points| !points.is_empty());
        OwnEvent { log: self.log, time: self.time, text: self.text, points }
    }
}

/// Appends a quoted value, cut to a number of bytes.
pub(crate) fn escape(text: &mut String, value: &str, most: usize) {
    for letter in value[..value.floor_char_boundary(most)].chars() {
        match letter {
            '"' | '\\' => {
                text.push('\\');
                text.push(letter);
            }
            letter if letter.is_control() => text.push(' '),
            letter => text.push(letter),
        }
    }
}

/// Formats a number with at most three decimals.
pub(crate) fn decimal(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if matches!(text, "-0" | "") { "0".to_owned() } else { text.to_owned() }
}

/// Formats a time as in Splunk's logs.
pub(crate) fn written(time: EventTime) -> String {
    let moment = Timestamp::from_microsecond(time.0).unwrap_or_default();
    moment.strftime("%m-%d-%Y %H:%M:%S%.3f +0000").to_string()
}

/// Bytes in kilobytes.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// Bytes in megabytes.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn mb(bytes: u64) -> f64 {
    bytes as f64 / (1 << 20) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_splunks() {
        let line = Line::metrics(EventTime(1_795_342_500_123_456), "queue");
        let line = line.quoted("series", "a \"b\" \\\n").count("ev", 3).number("kb", 1.25);
        let line = line.number("kbps", 2.0).some("p50_ms", None).bare("\"system total\"").end();
        assert_eq!(
            line.text,
            "11-22-2026 10:15:00.123 +0000 INFO  Metrics - group=queue, series=\"a \\\"b\\\" \\\\ \", ev=3, \
             kb=1.25, kbps=2, \"system total\""
        );
    }

    #[test]
    fn the_numbers_of_metrics_log_are_points_too() {
        let line = Line::metrics(EventTime(0), "thruput").word("name", "index_thruput");
        let line = line.count("ev", 3).number("kb", 1.25).number("eps", f64::NAN);
        let points = line.quoted("s", "a \"b\"").end().points.unwrap_or_default();
        let fields: Vec<_> =
            points.fields().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "metric_name:spl.mlog.thruput.index_thruput.ev=3",
            "metric_name:spl.mlog.thruput.index_thruput.kb=1.25",
            "group=thruput",
            "name=index_thruput",
            "s=a \"b\"",
        ];
        assert_eq!(fields, expected);
        let usage = Line::new(Log::LicenseUsage, EventTime(0), ("INFO", "LicenseUsage"), " ");
        assert_eq!(usage.count("b", 1).end().points, None);
        assert_eq!(Line::metrics(EventTime(0), "x").word("a", "b").end().points, None);
    }

    #[test]
    fn decimals_are_short() {
        let texts = [0.0, -0.0001, 12.0, 0.1234, 1e9, 100.0].map(decimal);
        assert_eq!(texts, ["0", "0", "12", "0.123", "1000000000", "100"]);
    }
}

//! Spans and bins: `5m`, `1mon@mon`, `10`, `2log10`.
//!
//! Guarantees: a count is at least one, a number is above zero, a base is above one.

use super::{OptionValue, Parsed};
use crate::ast::{BinOptions, BinSpan, StatsBy, TimeSpan, TimeUnit};

/// The options in `BinOptions`.
pub(crate) const BIN_OPTIONS: &[&str] = &["span", "minspan", "bins", "start", "end", "aligntime"];

/// The maximum number of automatic bins.
const AUTOMATIC_BINS: u64 = 100;

/// The placeholder for a span that is the result of a subsearch.
const UNKNOWN: &str = "1s";

impl OptionValue {
    /// Parses `span=5m`.
    pub(crate) fn time_span(&self) -> Parsed<TimeSpan> {
        let text = if self.is_subsearch() { UNKNOWN } else { &self.value };
        time_span(text).ok_or_else(|| self.error("a time such as 30s, 5m, 1h or 1d"))
    }

    /// Parses `time_window=5m`; a number without a unit is in seconds.
    pub(crate) fn seconds_or_span(&self) -> Parsed<TimeSpan> {
        match self.value.parse() {
            Ok(count) if count > 0 => Ok(TimeSpan { count, unit: TimeUnit::Second, snap: None }),
            _ => self.time_span(),
        }
    }

    /// Parses `span=5m`, `span=10` or `span=2log10`.
    pub(crate) fn bin_span(&self) -> Parsed<BinSpan> {
        let text = if self.is_subsearch() { UNKNOWN } else { &self.value };
        bin_span(text).ok_or_else(|| self.error("a span such as 30s, 5m, 1d, 10 or 2log10"))
    }

    /// Returns whether the value is that of `span=auto`, with which the planner chooses the span.
    pub(crate) fn is_auto(&self) -> bool {
        self.value.eq_ignore_ascii_case("auto")
    }

    /// Sets `span=` of group keys.
    pub(crate) fn group_span(&self, by: &mut StatsBy) -> Parsed<()> {
        by.auto_span = self.is_auto();
        by.span = if by.auto_span { None } else { Some(self.bin_span()?) };
        Ok(())
    }

    /// Returns whether the option of bins may be about numbers: it is not a time, nor a time span.
    pub(super) fn divides_numbers(&self) -> bool {
        match self.name {
            "bins" | "start" | "end" => true,
            "span" | "minspan" => {
                !self.is_auto() && !self.is_subsearch() && time_span(&self.value).is_none()
            }
            _ => false,
        }
    }

    /// Sets the option in `bins`; returns `false` if it is not an option of bins.
    pub(crate) fn bin_option(&self, bins: &mut BinOptions) -> Parsed<bool> {
        match self.name {
            "span" if self.is_auto() => bins.span = None,
            "span" => bins.span = Some(self.bin_span()?),
            "minspan" => bins.minspan = Some(self.bin_span()?),
            "bins" => {
                let count = self.number()?;
                if count < 2 {
                    return Err(self.error("a whole number of at least 2"));
                }
                bins.bins = Some(count);
            }
            "start" => bins.start = Some(self.decimal()?),
            "end" => bins.end = Some(self.decimal()?),
            "aligntime" => bins.aligntime = Some(self.text()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets the option in the `bins` of a field of `chart`, which has bins only if an option asks for them.
    pub(crate) fn chart_bin_option(&self, bins: &mut BinOptions) -> Parsed<()> {
        self.bin_option(bins)?;
        if self.name == "span" && self.is_auto() && *bins == BinOptions::default() {
            bins.bins = Some(AUTOMATIC_BINS);
        }
        Ok(())
    }
}

/// Parses `15m`, `mon`, `7d@w1`.
pub(crate) fn time_span(text: &str) -> Option<TimeSpan> {
    let (width, snap) = match text.split_once('@') {
        Some((width, snap)) => (width, Some(snap)),
        None => (text, None),
    };
    let digits = width.find(|c: char| !c.is_ascii_digit()).unwrap_or(width.len());
    let count = if digits == 0 { 1 } else { width[..digits].parse().ok()? };
    let unit = TimeUnit::from_name(&width[digits..])?;
    let snap_is_sound =
        snap.is_none_or(|snap| !snap.is_empty() && snap.chars().all(char::is_alphanumeric));
    (count > 0 && snap_is_sound).then(|| TimeSpan { count, unit, snap: snap.map(str::to_owned) })
}

fn bin_span(text: &str) -> Option<BinSpan> {
    if let Some(span) = time_span(text) {
        return Some(BinSpan::Time(span));
    }
    if is_number_above(text, 0.0) {
        return Some(BinSpan::Number(text.to_owned()));
    }
    let lower = text.to_ascii_lowercase();
    let (coefficient, base) = lower.split_once("log")?;
    let or = |text: &str, default: &str| {
        if text.is_empty() { default.to_owned() } else { text.to_owned() }
    };
    let (coefficient, base) = (or(coefficient, "1"), or(base, "10"));
    (is_number_above(&coefficient, 0.0) && is_number_above(&base, 1.0))
        .then_some(BinSpan::Log { coefficient, base })
}

fn is_number_above(text: &str, bound: f64) -> bool {
    text.parse::<f64>().is_ok_and(|number| number.is_finite() && number > bound)
}

impl TimeUnit {
    /// Returns the unit with a name such as `m`, `min` or `minutes`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "us" => Self::Microsecond,
            "ms" => Self::Millisecond,
            "cs" => Self::Centisecond,
            "ds" => Self::Decisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "w" | "week" | "weeks" => Self::Week,
            "mon" | "month" | "months" => Self::Month,
            "q" | "qtr" | "qtrs" | "quarter" | "quarters" => Self::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Self::Year,
            _ => return None,
        })
    }

    /// Returns the short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Microsecond => "us",
            Self::Millisecond => "ms",
            Self::Centisecond => "cs",
            Self::Decisecond => "ds",
            Self::Second => "s",
            Self::Minute => "m",
            Self::Hour => "h",
            Self::Day => "d",
            Self::Week => "w",
            Self::Month => "mon",
            Self::Quarter => "q",
            Self::Year => "y",
        }
    }
}

//! `timewrap`: displays the periods of a time chart side by side.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, TimeSpan, TimeUnit};
use crate::display::Arguments;
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `timewrap <span> [align=] [series=] [time_format=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TimewrapCommand {
    /// The length of a period.
    pub period: TimeSpan,
    /// `align=`: the end of the last period (default: the end of the search).
    pub align: TimewrapAlign,
    /// `series=`: the naming of the columns (default relative).
    pub series: TimewrapSeries,
    /// `time_format=`: the format of the names with `series=exact`.
    pub time_format: Option<String>,
}

/// The end of the last period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimewrapAlign {
    /// The end of the time range of the search.
    End,
    /// The present.
    Now,
}

/// The naming of columns by period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimewrapSeries {
    /// `latest_week`, `1week_before`.
    Relative,
    /// The start time of the period.
    Exact,
    /// `s0`, `s1`.
    Short,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "timewrap",
    aliases: &[],
    summary: "places the periods of a time chart side by side",
    syntax: "timewrap <span> [align=now|end] [series=relative|exact|short] [time_format=<format>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["align", "series", "time_format"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut align, mut series) = (TimewrapAlign::End, TimewrapSeries::Relative);
    let (mut period, mut time_format) = (None, None);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        match p.option(OPTIONS)? {
            Some(option) => match option.name {
                "align" => align = aligned(&option)?,
                "series" => series = named(&option)?,
                _ => time_format = Some(option.text()),
            },
            None if period.is_none() => period = Some(span(p)?),
            None => return Err(p.unexpected("an option or the end of the command")),
        }
    }
    let period = period.ok_or_else(|| p.unexpected("a length of time such as 1d or 1week"))?;
    Ok(Command::Timewrap(TimewrapCommand { period, align, series, time_format }))
}

fn aligned(option: &OptionValue) -> Parsed<TimewrapAlign> {
    match option.value.to_ascii_lowercase().as_str() {
        "end" => Ok(TimewrapAlign::End),
        "now" => Ok(TimewrapAlign::Now),
        _ => Err(option.error("now or end")),
    }
}

fn named(option: &OptionValue) -> Parsed<TimewrapSeries> {
    match option.value.to_ascii_lowercase().as_str() {
        "relative" => Ok(TimewrapSeries::Relative),
        "exact" => Ok(TimewrapSeries::Exact),
        "short" => Ok(TimewrapSeries::Short),
        _ => Err(option.error("relative, exact or short")),
    }
}

/// Parses `d`, `1week`, `"2m"`; unlike elsewhere, `m` is a month.
fn span(p: &mut Parser<'_>) -> Parsed<TimeSpan> {
    let start = p.pos();
    let word = match p.peek() {
        Some('"') => p.quoted('"')?.node,
        _ => p.take_while(|c| c.is_ascii_alphanumeric()).to_owned(),
    };
    let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let count = if digits == 0 { Some(1) } else { word[..digits].parse().ok() };
    let unit = match word[digits..].to_ascii_lowercase().as_str() {
        "m" => Some(TimeUnit::Month),
        other => TimeUnit::from_name(other).filter(|unit| *unit >= TimeUnit::Second),
    };
    match (count.filter(|count| *count > 0), unit) {
        (Some(count), Some(unit)) => Ok(TimeSpan { count, unit, snap: None }),
        _ if p.pos() == start => Err(p.unexpected("a length of time such as 1d or 1week")),
        _ => {
            let span = p.span_from(start);
            Err(p.error(format!("'{word}' is not a length of time such as 1d or 1week"), span))
        }
    }
}

impl fmt::Display for TimewrapCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeSpan { count, unit, .. } = &self.period;
        let unit = match unit {
            TimeUnit::Minute => "min",
            unit => unit.name(),
        };
        let align = match self.align {
            TimewrapAlign::End => "end",
            TimewrapAlign::Now => "now",
        };
        let series = match self.series {
            TimewrapSeries::Relative => "relative",
            TimewrapSeries::Exact => "exact",
            TimewrapSeries::Short => "short",
        };
        Arguments::default()
            .push(format_args!("{count}{unit}"))
            .option("align", align)
            .option("series", series)
            .maybe("time_format", self.time_format.as_ref())
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | timechart count | timewrap 1week",
            "* | timechart count | timewrap 15min align=now series=short",
            "* | timechart count | timewrap series=exact time_format=\"week of %d/%m\" w",
        ]);
        same("* | timewrap m", "* | timewrap 1mon");
        same("* | timewrap \"1d\" series=short", "* | timewrap 1d series=short");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | timewrap", "expected a length of time", "");
        refuses("* | timewrap 1x", "'1x' is not a length of time", "1x");
        refuses("* | timewrap \"\"", "'' is not a length of time", "\"\"");
        refuses("* | timewrap 1d series=long", "relative, exact or short", "long");
    }
}

//! `trendline`: adds moving averages.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Span};
use crate::display::{Arguments, commas, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `trendline (<type><period>(<field>) [AS <name>])...`.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendlineCommand {
    /// The trends, at least one.
    pub trends: Vec<Trend>,
}

/// `sma5(x) AS y`.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// The kind of moving average.
    pub kind: TrendKind,
    /// Number of values in the average, 2 to 10000.
    pub period: u64,
    /// The averaged field.
    pub field: Field,
    /// The field for the result; if absent, it is named as the trend is written.
    pub alias: Option<Field>,
    /// The place of the trend.
    pub span: Span,
}

/// A kind of moving average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrendKind {
    /// `sma`: all values have the same weight.
    Simple,
    /// `ema`: the weight of a value falls exponentially with its age.
    Exponential,
    /// `wma`: the weight of a value falls linearly with its age.
    Weighted,
}

impl TrendKind {
    /// Returns the name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "sma",
            Self::Exponential => "ema",
            Self::Weighted => "wma",
        }
    }
}

impl Trend {
    /// Returns the name of the result field.
    pub fn output_name(&self) -> String {
        match &self.alias {
            Some(alias) => alias.node.clone(),
            None => format!("{}{}({})", self.kind.name(), self.period, self.field.node),
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "trendline",
    aliases: &[],
    summary: "adds moving averages",
    syntax: "trendline ((sma|ema|wma)<n>(<field>) [AS <field>])...",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut trends = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        trends.push(trend(p)?);
    }
    if trends.is_empty() {
        return Err(p.unexpected("a trend such as sma5(field)"));
    }
    Ok(Command::Trendline(TrendlineCommand { trends }))
}

fn trend(p: &mut Parser<'_>) -> Parsed<Trend> {
    let start = p.pos();
    let word = p.take_while(|c| c.is_ascii_alphanumeric()).to_ascii_lowercase();
    if word.is_empty() {
        return Err(p.unexpected("a trend such as sma5(field)"));
    }
    let span = p.span_from(start);
    let kinds = [TrendKind::Simple, TrendKind::Exponential, TrendKind::Weighted];
    let found = kinds.into_iter().find(|kind| word.starts_with(kind.name()));
    let Some(kind) = found else {
        return Err(p.error(format!("invalid trend '{word}': use sma, ema or wma"), span));
    };
    let period = word[kind.name().len()..].parse().ok();
    let Some(period) = period.filter(|period| (2..=10_000).contains(period)) else {
        let message = format!("{} needs a period from 2 to 10000: {0}5(field)", kind.name());
        return Err(p.error(message, span));
    };
    p.expect("(", "after the period")?;
    let field = p.field("a field name")?;
    p.expect(")", "after the field")?;
    let alias = p.alias_of_call()?;
    Ok(Trend { kind, period, field, alias, span: p.span_from(start) })
}

impl fmt::Display for Trend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}({})", self.kind.name(), self.period, field_name(&self.field.node))?;
        match &self.alias {
            Some(alias) => write!(f, " AS {}", field_name(&alias.node)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TrendlineCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().push(commas(&self.trends)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | trendline sma5(foo) AS smoothed_foo ema10(bar)",
            "* | trendline wma2(\"a b\") as c, SMA3(d)",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | trendline", "expected a trend", "");
        refuses("* | trendline avg5(a)", "invalid trend 'avg5'", "avg5");
        refuses("* | trendline sma1(a)", "a period from 2 to 10000", "sma1");
        refuses("* | trendline sma5 a", "expected '(' after the period", "a");
    }
}

//! `predict`: forecasts time series.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, commas, field_name};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `predict (<field> [AS <name>]... [<options>])...`: options apply to the fields before them.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictCommand {
    /// The groups of fields, at least one.
    pub groups: Vec<PredictGroup>,
}

/// Fields that are forecast with the same options.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictGroup {
    /// The fields, at least one.
    pub fields: Vec<PredictField>,
    /// The options of the forecast.
    pub options: PredictOptions,
}

/// `count AS expected`.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictField {
    /// The series.
    pub field: Field,
    /// The field for the forecast; `prediction(<field>)` if absent.
    pub alias: Option<Field>,
}

/// The options of a forecast.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictOptions {
    /// `algorithm=` (default LLP5).
    pub algorithm: PredictAlgorithm,
    /// `future_timespan=`: number of rows to forecast after the last row used (default 5).
    pub future_timespan: u64,
    /// `holdback=`: number of rows at the end that are not used (default 0).
    pub holdback: u64,
    /// `period=`: number of rows in a period, at least 2.
    pub period: Option<u64>,
    /// `correlate=`: the series from which LLB forecasts.
    pub correlate: Option<Field>,
    /// `suppress=`: a forecast that is not displayed.
    pub suppress: Option<Field>,
    /// `upperNN=` (default 95).
    pub upper: PredictBound,
    /// `lowerNN=` (default 95).
    pub lower: PredictBound,
}

/// A bound of the confidence interval.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictBound {
    /// The probability in percent, below 100.
    pub percent: u64,
    /// The field for the bound; `upper95(prediction(<field>))` and the like if absent.
    pub field: Option<Field>,
}

impl Default for PredictOptions {
    fn default() -> Self {
        let bound = PredictBound { percent: 95, field: None };
        Self {
            algorithm: PredictAlgorithm::LocalLevelPeriodicTrend,
            future_timespan: 5,
            holdback: 0,
            period: None,
            correlate: None,
            suppress: None,
            upper: bound.clone(),
            lower: bound,
        }
    }
}

/// The models of `predict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictAlgorithm {
    /// `LL`: a level.
    LocalLevel,
    /// `LLT`: a level and a trend.
    LocalLevelTrend,
    /// `LLP`: a level for each position in a period.
    LocalLevelPeriodic,
    /// `LLP5`: the weighted mean of LLT and LLP.
    LocalLevelPeriodicTrend,
    /// `LLB`: a level, forecast from another series.
    Bivariate,
    /// `BiLL`: two levels, forecast together.
    Both,
}

impl PredictAlgorithm {
    const ALL: [Self; 6] = [
        Self::LocalLevel,
        Self::LocalLevelTrend,
        Self::LocalLevelPeriodic,
        Self::LocalLevelPeriodicTrend,
        Self::Bivariate,
        Self::Both,
    ];

    /// Returns the name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::LocalLevel => "LL",
            Self::LocalLevelTrend => "LLT",
            Self::LocalLevelPeriodic => "LLP",
            Self::LocalLevelPeriodicTrend => "LLP5",
            Self::Bivariate => "LLB",
            Self::Both => "BiLL",
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "predict",
    aliases: &[],
    summary: "forecasts time series",
    syntax: "predict (<field> [AS <field>]... [algorithm=<name>] [future_timespan=<n>] \
             [holdback=<n>] [period=<n>] [correlate=<field>] [upper<n>=<field>] \
             [lower<n>=<field>] [suppress=<field>])...",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "algorithm",
    "future_timespan",
    "holdback",
    "period",
    "correlate",
    "correlate_field",
    "suppress",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut groups: Vec<PredictGroup> = Vec::new();
    let mut optioned = true;
    // Options before all fields apply to the first ones.
    let mut ahead = PredictOptions::default();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some((upper, percent)) = bound(p) {
            let field = Some(p.field("the name of a field")?);
            let options = last(&mut groups).unwrap_or(&mut ahead);
            let side = if upper { &mut options.upper } else { &mut options.lower };
            *side = PredictBound { percent, field };
            optioned = true;
        } else if let Some(option) = p.option(OPTIONS)? {
            accept(last(&mut groups).unwrap_or(&mut ahead), &option)?;
            optioned = true;
        } else if let Some(field) = unnamed(&mut groups)
            && let Some(alias) = p.alias()?
        {
            field.alias = Some(alias);
        } else {
            let field = PredictField { field: p.field("a field name")?, alias: p.alias()? };
            match groups.last_mut() {
                Some(group) if !optioned => group.fields.push(field),
                _ => groups.push(PredictGroup {
                    fields: vec![field],
                    options: std::mem::take(&mut ahead),
                }),
            }
            optioned = false;
        }
    }
    if groups.is_empty() {
        return Err(p.unexpected("a field name"));
    }
    Ok(Command::Predict(PredictCommand { groups }))
}

/// Returns the options of the last group.
fn last(groups: &mut [PredictGroup]) -> Option<&mut PredictOptions> {
    groups.last_mut().map(|group| &mut group.options)
}

/// Returns the last field if it has no alias: options may be between a field and its alias.
fn unnamed(groups: &mut [PredictGroup]) -> Option<&mut PredictField> {
    let field = groups.last_mut()?.fields.last_mut()?;
    field.alias.is_none().then_some(field)
}

/// Reads `upper95=` or `lower95=` if it is next.
fn bound(p: &mut Parser<'_>) -> Option<(bool, u64)> {
    p.attempt(|p| {
        let name = p.option_name()?.node.to_ascii_lowercase();
        let upper = name.strip_prefix("upper");
        let percent = upper.or_else(|| name.strip_prefix("lower"))?.parse().ok()?;
        (percent < 100).then_some((upper.is_some(), percent))
    })
}

fn accept(options: &mut PredictOptions, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "algorithm" => {
            let known = PredictAlgorithm::ALL.into_iter();
            let named = |a: &PredictAlgorithm| a.name().eq_ignore_ascii_case(&option.value);
            options.algorithm = known
                .into_iter()
                .find(named)
                .ok_or_else(|| option.error("LL, LLT, LLP, LLP5, LLB or BiLL"))?;
        }
        "future_timespan" => options.future_timespan = option.number()?,
        "holdback" => options.holdback = option.number()?,
        "period" => {
            let period = option.number()?;
            if period < 2 {
                return Err(option.error("a whole number of at least 2"));
            }
            options.period = Some(period);
        }
        "suppress" => options.suppress = Some(option.field()?),
        _ => options.correlate = Some(option.field()?),
    }
    Ok(())
}

impl fmt::Display for PredictField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&field_name(&self.field.node))?;
        match &self.alias {
            Some(alias) => write!(f, " AS {}", field_name(&alias.node)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for PredictGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        let name = |field: &Option<Field>| field.as_ref().map(|field| field.node.clone());
        let mut arguments = Arguments::default();
        arguments
            .push(commas(&self.fields))
            .option("algorithm", options.algorithm.name())
            .option("future_timespan", options.future_timespan)
            .option("holdback", options.holdback)
            .maybe("period", options.period)
            .maybe("correlate", name(&options.correlate))
            .maybe("suppress", name(&options.suppress));
        for (side, bound) in [("upper", &options.upper), ("lower", &options.lower)] {
            if let Some(field) = &bound.field {
                let name = field_name(&field.node);
                arguments.push(format_args!("{side}{}={name}", bound.percent));
            }
        }
        arguments.write(f)
    }
}

impl fmt::Display for PredictCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for group in &self.groups {
            arguments.push(group);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | predict count",
            "* | predict foo AS foobar algorithm=LL upper90=high lower97=low future_timespan=10",
            "* | predict foo3 AS foobar algorithm=LLB correlate=foo2 holdback=100",
            "* | predict foo1 AS a foo2, foo3 algorithm=llt future_timespan=15 holdback=5",
            "* | predict foo1 algorithm=LL future_timespan=15 foo2 algorithm=LLP period=7",
            "* | predict foo1 foo2 algorithm=BiLL suppress=foo2",
        ]);
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        same("* | predict n future_timespan=2 AS p", "* | predict n AS p future_timespan=2");
        same(
            "* | predict a b holdback=1 AS c upper90=high d",
            "* | predict a, b AS c holdback=1 upper90=high d",
        );
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | predict", "expected a field name", "");
        refuses("* | predict x algorithm=ARIMA", "LL, LLT, LLP", "ARIMA");
        refuses("* | predict x period=1", "at least 2", "1");
        refuses("* | predict period=7", "expected a field name", "");
        refuses("* | predict n period=7 AS", "a field name after AS", "");
    }
}

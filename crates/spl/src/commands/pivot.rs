//! `pivot`: creates a table from the events of a dataset of a data model.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, SortKey, Spanned, StatsCall};
use crate::display::{Arguments, commas, field_name, quoted};
use crate::parser::{Parsed, Parser, StatsDialect, boolean};
use crate::stats_functions;
use std::fmt;

/// `pivot <model> <dataset> [<aggregation>]... [<element>]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotCommand {
    /// The model.
    pub model: Field,
    /// The dataset.
    pub dataset: Field,
    /// The aggregations in the cells.
    pub cells: Vec<StatsCall>,
    /// `SPLITROW`: the fields whose values become rows.
    pub rows: Vec<PivotSplit>,
    /// `SPLITCOL`: the field whose values become columns.
    pub column: Option<PivotSplit>,
    /// `FILTER`: conditions on events.
    pub filters: Vec<PivotFilter>,
    /// `LIMIT`: limits of the number of values of a field.
    pub limits: Vec<PivotLimit>,
    /// `SORT`: the order of rows, and how many of them are kept (0 means all).
    pub sort: Option<(u64, Vec<SortKey>)>,
    /// `NUMCOLS`: maximum number of columns that `SPLITCOL` creates.
    pub columns: Option<u64>,
    /// `SHOWOTHER`: whether further columns are combined into one (default true).
    pub other: bool,
    /// `ROWSUMMARY`: whether each row has a total.
    pub row_summary: bool,
    /// `COLSUMMARY`: whether a row of totals is added.
    pub column_summary: bool,
}

/// A field whose values make rows or columns.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotSplit {
    /// The field.
    pub field: Field,
    /// `AS`: its name in the result.
    pub label: Option<Spanned<String>>,
    /// How its values are grouped.
    pub groups: PivotGroups,
}

/// How the values of a [`PivotSplit`] are grouped.
#[derive(Debug, Clone, PartialEq)]
pub enum PivotGroups {
    /// Each value is a group.
    Values,
    /// `RANGE`: numbers are grouped into bins; all numbers are kept as text.
    Range {
        /// `start=`.
        start: Option<String>,
        /// `end=`.
        end: Option<String>,
        /// `max=`: maximum number of bins.
        max: Option<u64>,
        /// `size=`: width of a bin.
        size: Option<String>,
    },
    /// `PERIOD`: times are grouped into bins.
    Period(PivotPeriod),
    /// `TRUELABEL`, `FALSELABEL`: names of Boolean values.
    Truth {
        /// The name of true.
        yes: Option<String>,
        /// The name of false.
        no: Option<String>,
    },
}

/// The width of a time bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "periods name themselves")]
pub enum PivotPeriod {
    Auto,
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl PivotPeriod {
    const ALL: [(&'static str, Self); 7] = [
        ("auto", Self::Auto),
        ("year", Self::Year),
        ("month", Self::Month),
        ("day", Self::Day),
        ("hour", Self::Hour),
        ("minute", Self::Minute),
        ("second", Self::Second),
    ];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, period)| *period == self).map_or("auto", |(name, _)| name)
    }
}

/// A condition on a field.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotFilter {
    /// The field.
    pub field: Field,
    /// The comparison.
    pub condition: PivotCondition,
    /// The operands: one text, any number of them for `in`, none for `isNull` and `isNotNull`.
    pub values: Vec<Spanned<String>>,
}

/// The comparisons of a [`PivotFilter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "conditions name themselves")]
pub enum PivotCondition {
    Is,
    IsNot,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Contains,
    DoesNotContain,
    StartsWith,
    EndsWith,
    IsNull,
    IsNotNull,
}

impl PivotCondition {
    /// The comparisons as they are written; longer operators come before their prefixes.
    const ALL: [(&'static str, Self); 15] = [
        ("isNotNull", Self::IsNotNull),
        ("isNull", Self::IsNull),
        ("isNot", Self::IsNot),
        ("is", Self::Is),
        ("in", Self::In),
        ("contains", Self::Contains),
        ("doesNotContain", Self::DoesNotContain),
        ("startsWith", Self::StartsWith),
        ("endsWith", Self::EndsWith),
        ("!=", Self::IsNot),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
        ("=", Self::Is),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, condition)| *condition == self).map_or("is", |(name, _)| name)
    }
}

/// `LIMIT <field> BY TOP|BOTTOM <n> <aggregation>`.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotLimit {
    /// The field.
    pub field: Field,
    /// Whether the lowest values are kept instead of the highest.
    pub bottom: bool,
    /// Number of values that are kept.
    pub count: u64,
    /// The aggregation by which values are ranked.
    pub call: StatsCall,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "pivot",
    aliases: &[],
    summary: "makes a table from a dataset of a data model",
    syntax: "pivot <model> <dataset> [<aggregation> [AS <name>]]... [SPLITROW <field> [AS <name>] [<groups>]]... [SPLITCOL <field> [<groups>]] [FILTER <field> <condition> [<value>]]... [LIMIT <field> BY TOP|BOTTOM <n> <aggregation>]... [SORT <n> <field> [ASC|DESC]]... [NUMCOLS <n>] [SHOWOTHER <bool>] [ROWSUMMARY <bool>] [COLSUMMARY <bool>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: RANGE_OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

const RANGE_OPTIONS: &[&str] = &["start", "end", "max", "size"];

/// The keywords that begin elements.
const ELEMENTS: [&str; 11] = [
    "top",
    "bottom",
    "splitrow",
    "splitcol",
    "filter",
    "limit",
    "sort",
    "numcols",
    "showother",
    "rowsummary",
    "colsummary",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut pivot = PivotCommand {
        model: p.field("the name of a data model")?,
        dataset: p.field("the name of a dataset")?,
        cells: Vec::new(),
        rows: Vec::new(),
        column: None,
        filters: Vec::new(),
        limits: Vec::new(),
        sort: None,
        columns: None,
        other: true,
        row_summary: false,
        column_summary: false,
    };
    let mut ranked = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            pivot.limits.extend(rows_ranked(ranked, &pivot.rows));
            return Ok(Command::Pivot(pivot));
        }
        let element = ELEMENTS.iter().find(|word| p.eat_keyword(word));
        match element.copied() {
            None => pivot.cells.push(cell(p)?),
            Some("splitrow") => pivot.rows.push(split(p)?),
            Some("splitcol") if pivot.column.is_some() => {
                return Err(p.unexpected("one SPLITCOL"));
            }
            Some("splitcol") => pivot.column = Some(split(p)?),
            Some("filter") => pivot.filters.push(filter(p)?),
            Some("limit") => pivot.limits.push(limit(p)?),
            Some(word @ ("top" | "bottom")) => {
                let (count, call) = ranking(p)?;
                let (before, bottom) = (pivot.rows.len(), word == "bottom");
                ranked.push(Ranked { before, bottom, count, call });
            }
            Some("sort") => pivot.sort = Some(sort(p)?),
            Some("numcols") => {
                let columns = p.count()?;
                pivot.columns = Some(columns.ok_or_else(|| p.unexpected("a number of columns"))?);
            }
            Some("showother") => pivot.other = truth(p)?,
            Some("rowsummary") => pivot.row_summary = truth(p)?,
            Some(_) => pivot.column_summary = truth(p)?,
        }
    }
}

/// Reads `count(Web) AS "Requests"`; `duration(x)` is converted to `range` of the times.
fn cell(p: &mut Parser<'_>) -> Parsed<StatsCall> {
    let Some(name) = p.attempt(|p| {
        let start = p.pos();
        p.eat_keyword("duration").then(|| p.span_from(start))
    }) else {
        return p.stats_call(StatsDialect::Stats);
    };
    let mut call = p.attempt(|p| {
        let range = stats_functions::find("range")?.0;
        p.eat("(").then_some(())?;
        let field = p.field_pattern("a field name").ok()?;
        p.eat(")").then_some(())?;
        let function = crate::ast::StatsFunction {
            kind: range.kind,
            parameter: None,
            name: Spanned::new("range".to_owned(), name),
        };
        let text = format!("range({})", field_name(&field.text));
        let argument = crate::ast::StatsArgument::Field(field);
        Some(StatsCall { function, argument, alias: None, text, span: name })
    });
    if let Some(call) = &mut call {
        call.alias = p.alias_of_call()?;
    }
    call.ok_or_else(|| p.unexpected("a field in brackets"))
}

fn split(p: &mut Parser<'_>) -> Parsed<PivotSplit> {
    let field = p.field("a field name")?;
    let label = p.alias()?;
    let mut groups = PivotGroups::Values;
    loop {
        if p.eat_keyword("range") {
            groups = range(p)?;
        } else if p.eat_keyword("period") {
            let found = PivotPeriod::ALL.iter().find(|(name, _)| p.eat_keyword(name));
            let Some((_, period)) = found else {
                return Err(p.unexpected("auto, year, month, day, hour, minute or second"));
            };
            groups = PivotGroups::Period(*period);
        } else if p.eat_keyword("truelabel") {
            let yes = Some(p.text_argument("a text for true")?.node);
            let no = if let PivotGroups::Truth { no, .. } = groups { no } else { None };
            groups = PivotGroups::Truth { yes, no };
        } else if p.eat_keyword("falselabel") {
            let no = Some(p.text_argument("a text for false")?.node);
            let yes = if let PivotGroups::Truth { yes, .. } = groups { yes } else { None };
            groups = PivotGroups::Truth { yes, no };
        } else {
            return Ok(PivotSplit { field, label, groups });
        }
    }
}

fn range(p: &mut Parser<'_>) -> Parsed<PivotGroups> {
    let (mut start, mut end, mut max, mut size) = (None, None, None, None);
    loop {
        p.skip_separators();
        let Some(option) = p.option(RANGE_OPTIONS)? else {
            return Ok(PivotGroups::Range { start, end, max, size });
        };
        match option.name {
            "start" => start = Some(option.decimal()?),
            "end" => end = Some(option.decimal()?),
            "max" => max = Some(option.number()?),
            _ => size = Some(option.decimal()?),
        }
    }
}

fn filter(p: &mut Parser<'_>) -> Parsed<PivotFilter> {
    let field = p.field_before_operator().ok_or_else(|| p.unexpected("a field name"))?;
    let sign = |text: &str| !text.starts_with(char::is_alphabetic);
    let found = PivotCondition::ALL.iter().find(|(text, _)| match sign(text) {
        true => p.eat(text),
        false => p.eat_keyword(text),
    });
    let Some((_, condition)) = found else {
        return Err(p.unexpected("is, isNot, in, contains, startsWith, = or the like"));
    };
    let values = match condition {
        PivotCondition::IsNull | PivotCondition::IsNotNull => Vec::new(),
        PivotCondition::In => listed(p)?,
        _ => vec![p.text_argument("a value")?],
    };
    Ok(PivotFilter { field, condition: *condition, values })
}

/// Reads `(a, b c)`.
fn listed(p: &mut Parser<'_>) -> Parsed<Vec<Spanned<String>>> {
    p.expect("(", "before the values of in")?;
    let mut values = Vec::new();
    loop {
        p.skip_separators();
        if p.eat(")") {
            break;
        }
        let value = p.field_pattern("a value or ')'")?;
        values.push(Spanned::new(value.text, value.span));
    }
    if values.is_empty() {
        return Err(p.unexpected("a value in the brackets"));
    }
    Ok(values)
}

fn limit(p: &mut Parser<'_>) -> Parsed<PivotLimit> {
    let field = p.field("a field name")?;
    p.eat_keyword("by");
    let bottom = p.eat_keyword("bottom");
    if !bottom && !p.eat_keyword("top") {
        return Err(p.unexpected("TOP or BOTTOM"));
    }
    let (count, call) = ranking(p)?;
    Ok(PivotLimit { field, bottom, count, call })
}

/// Reads the number of values that are kept, and the aggregation by which they are ranked.
fn ranking(p: &mut Parser<'_>) -> Parsed<(u64, StatsCall)> {
    let count = p.count()?.ok_or_else(|| p.unexpected("a number of values"))?;
    p.skip_space();
    Ok((count, p.stats_call(StatsDialect::Stats)?))
}

/// Returns the limits for `TOP` and `BOTTOM` without a field: each applies to the `SPLITROW` before it, or to
/// the first one. The Pivot editor writes them also if rows are not split; then they have no effect.
fn rows_ranked(ranked: Vec<Ranked>, rows: &[PivotSplit]) -> impl Iterator<Item = PivotLimit> {
    ranked.into_iter().filter_map(|Ranked { before, bottom, count, call }| {
        let split = rows.get(before.saturating_sub(1))?;
        Some(PivotLimit { field: split.field.clone(), bottom, count, call })
    })
}

/// `TOP` or `BOTTOM` without a field.
struct Ranked {
    /// The number of `SPLITROW`s before it.
    before: usize,
    bottom: bool,
    count: u64,
    call: StatsCall,
}

fn sort(p: &mut Parser<'_>) -> Parsed<(u64, Vec<SortKey>)> {
    let count = p.count()?.unwrap_or(0);
    let mut keys = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() || ELEMENTS.iter().any(|word| p.at_keyword(word)) {
            break;
        }
        let mut descending = p.eat("-");
        if !descending {
            p.eat("+");
        }
        let field = p.field("a field to sort by")?;
        if p.eat_keyword("desc") || p.eat_keyword("descending") {
            descending = true;
        } else if !p.eat_keyword("asc") {
            p.eat_keyword("ascending");
        }
        keys.push(SortKey { field, descending, order: crate::ast::SortOrder::Auto });
    }
    if keys.is_empty() {
        return Err(p.unexpected("a field to sort by"));
    }
    Ok((count, keys))
}

fn truth(p: &mut Parser<'_>) -> Parsed<bool> {
    let word = p.text_argument("true or false")?;
    boolean(&word.node).ok_or_else(|| p.error("expected true or false", word.span))
}

impl fmt::Display for PivotCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.model.node)).push(field_name(&self.dataset.node));
        arguments.push(commas(&self.cells));
        for row in &self.rows {
            arguments.push(format_args!("SPLITROW {row}"));
        }
        if let Some(column) = &self.column {
            arguments.push(format_args!("SPLITCOL {column}"));
        }
        for filter in &self.filters {
            arguments.push(format_args!("FILTER {filter}"));
        }
        for PivotLimit { field, bottom, count, call } in &self.limits {
            let end = if *bottom { "BOTTOM" } else { "TOP" };
            let field = field_name(&field.node);
            arguments.push(format_args!("LIMIT {field} BY {end} {count} {call}"));
        }
        if let Some((count, keys)) = &self.sort {
            arguments.push(format_args!("SORT {count}"));
            for key in keys {
                let direction = if key.descending { "DESC" } else { "ASC" };
                arguments.push(format_args!("{} {direction}", quoted(&key.field.node)));
            }
        }
        if let Some(columns) = self.columns {
            arguments.push(format_args!("NUMCOLS {columns}"));
        }
        let flags = [
            ("SHOWOTHER", self.other, true),
            ("ROWSUMMARY", self.row_summary, false),
            ("COLSUMMARY", self.column_summary, false),
        ];
        for (name, value, default) in flags {
            if value != default {
                arguments.push(format_args!("{name} {}", u8::from(value)));
            }
        }
        arguments.write(f)
    }
}

impl fmt::Display for PivotSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.field.node));
        arguments.alias(self.label.as_ref().map(|label| label.node.as_str()));
        match &self.groups {
            PivotGroups::Values => {}
            PivotGroups::Range { start, end, max, size } => {
                arguments.push("RANGE");
                arguments.maybe("start", start.as_ref()).maybe("end", end.as_ref());
                arguments.maybe("max", max.as_ref()).maybe("size", size.as_ref());
            }
            PivotGroups::Period(period) => {
                arguments.push(format_args!("PERIOD {}", period.name()));
            }
            PivotGroups::Truth { yes, no } => {
                for (word, text) in [("TRUELABEL", yes), ("FALSELABEL", no)] {
                    if let Some(text) = text {
                        arguments.push(format_args!("{word} {}", quoted(text)));
                    }
                }
            }
        }
        arguments.write(f)
    }
}

impl fmt::Display for PivotFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", field_name(&self.field.node), self.condition.name())?;
        let values: Vec<String> = self.values.iter().map(|value| quoted(&value.node)).collect();
        match self.condition {
            PivotCondition::In => write!(f, " ({})", values.join(", ")),
            _ if values.is_empty() => Ok(()),
            _ => write!(f, " {}", values.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| pivot Tutorial HTTP_requests count(HTTP_requests) AS \"Count of requests\"",
            "| pivot Web Web count(Web) AS n, dc(user) SPLITROW host AS Server SORT 100 host",
            "| pivot Web Web sum(bytes) SPLITROW _time AS _time PERIOD auto SPLITCOL host NUMCOLS 5 SHOWOTHER 0",
            "| pivot Web Web count(Web) SPLITROW size AS Size RANGE start=0 end=100 max=10 size=10 FILTER status >= 400",
            "| pivot Web Web values(x) SPLITROW ok TRUELABEL yes FALSELABEL \"not ok\" ROWSUMMARY 1 COLSUMMARY true",
            "| pivot Web Web avg(t) SPLITROW host LIMIT host BY TOP 3 avg(t) SORT 10 avg(t) DESC host",
            "| pivot Web Web duration(_time) AS long FILTER user isNotNull FILTER user isNot admin FILTER level in (\"WARN\", ERROR)",
            "| pivot Web Web count(Web) FILTER uri contains \"a b\" FILTER uri startsWith / FILTER status!=200 FILTER x isNull",
        ]);
        same("| pivot Web Web count(a) SORT -a", "| pivot Web Web count(a) SORT 0 a DESC");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| pivot", "the name of a data model", "");
        refuses("| pivot Web", "the name of a dataset", "");
        refuses("| pivot Web Web cnt(x)", "unknown function 'cnt'", "cnt");
        refuses("| pivot Web Web count(Web) SPLITROW a PERIOD week", "auto, year", "week");
        refuses("| pivot Web Web count(Web) FILTER a like b", "is, isNot, in", "like");
        refuses("| pivot Web Web count(Web) SPLITCOL a SPLITCOL b", "one SPLITCOL", "b");
        refuses("| pivot Web Web count(Web) LIMIT a BY MOST 3 count(a)", "TOP or BOTTOM", "MOST");
        refuses("| pivot Web Web count(Web) ROWSUMMARY 2", "expected true or false", "2");
    }
}

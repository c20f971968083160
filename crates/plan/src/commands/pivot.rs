//! `pivot`: a pivot table over the events of a dataset of a data model.
//!
//! Split: as the commands to which it expands: the search of the dataset, bins and labels of the row and
//! column fields, `stats` or `chart`, sorting and totals.

use std::fmt::Write;

use futures::future::BoxFuture;
use knowledge::Dataset;
use model::columns;
use spl::Span;
use spl::ast::{
    Command, Field, FieldPattern, PivotCommand, PivotCondition, PivotFilter, PivotGroups,
    PivotLimit, PivotPeriod, PivotSplit, SearchCommand, Spanned, StatsArgument, StatsCall,
    StatsKind,
};

use super::{
    CommandPlan, Error, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    dataset,
};
use context::planning::PlanningContext;
use context::subsearch::quoted;

impl CommandPlan for PivotCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Expanded)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { expand(self, first.span, first.env).await.map(Some) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// The name of totals.
const ALL: &str = "ALL";
/// Default maximum number of columns of `SPLITCOL`.
const COLUMNS: u64 = 100;
const METRIC: &str = "_pivot_metric";
const RANK: &str = "_pivot_rank";
const ROW: &str = "_pivot_row";

pub(super) async fn expand(
    command: &PivotCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Expanded, Error> {
    let dataset = &command.dataset;
    let dataset = dataset::find(&command.model.node, Some(&dataset.node), dataset.span, env)?;
    let pivot = Pivot { command, dataset: &dataset };
    let filter = pivot.filter()?;
    let mut commands = dataset::commands(&dataset, &filter, false, span, env).await?;
    let text = pivot.text()?;
    let table: Vec<Spanned<Command>> = dataset::parsed(&text, span, env).await?;
    commands.extend(table.into_iter().skip(1));
    Ok(Expanded::of(commands, env))
}

struct Pivot<'p> {
    command: &'p PivotCommand,
    dataset: &'p Dataset,
}

/// A field that splits rows or columns.
struct Split<'p> {
    split: &'p PivotSplit,
    /// Its temporary name during the aggregation.
    name: String,
    /// Its name in the result.
    label: &'p str,
    /// The commands that compute its values.
    text: String,
}

impl Pivot<'_> {
    /// Returns the name that a field of the dataset has in events.
    fn field(&self, field: &Field) -> Result<String, Error> {
        match self.dataset.field(&field.node) {
            Some(known) => Ok(known.name.clone()),
            // The fields that keep their names in every dataset.
            None if columns::ALL.contains(&field.node.as_str()) => Ok(field.node.clone()),
            None => {
                let names: Vec<&str> =
                    self.dataset.fields.iter().map(|field| field.name.as_str()).collect();
                let message = format!(
                    "the dataset \"{}\" has no field \"{}\"; it has {}",
                    self.dataset.name,
                    field.node,
                    names.join(", ")
                );
                Err(Error::at(message, field.span))
            }
        }
    }

    /// Returns the conditions as a search.
    fn filter(&self) -> Result<SearchCommand, Error> {
        let mut text = String::new();
        for filter in &self.command.filters {
            text += &condition(&self.field(&filter.field)?, filter);
            text.push(' ');
        }
        if text.is_empty() {
            return Ok(SearchCommand::default());
        }
        spl::parse_search_terms(&text).map_err(|error| {
            Error::internal(format!("the filters of pivot are not a valid search: {error}: {text}"))
        })
    }

    /// Whether a name is that of the dataset or of one of its ancestors; an aggregation of it counts events.
    fn is_dataset(&self, name: &str) -> bool {
        let last = name.rsplit('.').next().unwrap_or(name);
        self.dataset.lineage.iter().any(|known| known == last)
    }

    /// Returns an aggregation with the names that fields have in events, and the name of its result.
    fn call(&self, call: &StatsCall) -> Result<(String, String), Error> {
        let label = call.output_name().to_owned();
        let text = match &call.argument {
            StatsArgument::Field(FieldPattern { text, .. })
                if call.function.kind == StatsKind::Count && self.is_dataset(text) =>
            {
                "count".to_owned()
            }
            StatsArgument::Field(pattern) => {
                let field = Spanned::new(pattern.text.clone(), pattern.span);
                let name = &call.function.name.node;
                format!("{name}({})", quoted(&self.field(&field)?))
            }
            StatsArgument::Sparkline { call: Some(inner), step } => {
                let (inner, _) = self.call(inner)?;
                let step = step.as_ref().map_or_else(String::new, |step| format!(", {step}"));
                format!("{}({inner}{step})", call.function.name.node)
            }
            _ => call.text.clone(),
        };
        Ok((text, label))
    }

    fn split<'s>(&self, split: &'s PivotSplit, name: &str) -> Result<Split<'s>, Error> {
        let field = self.field(&split.field)?;
        let label = &split.label.as_ref().unwrap_or(&split.field).node;
        let is_time = field == "_time";
        let own = if is_time { field.clone() } else { name.to_owned() };
        let (name, text) = match &split.groups {
            PivotGroups::Values => (field, String::new()),
            PivotGroups::Period(period) => {
                let text = format!(" | bin {} {} AS {own}", period_text(*period), quoted(&field));
                (own, text)
            }
            PivotGroups::Range { start, end, max, size } => {
                let mut text = " | bin".to_owned();
                let options = [("start", start), ("end", end), ("span", size)];
                for (option, value) in options {
                    if let Some(value) = value {
                        let _ = write!(text, " {option}={value}");
                    }
                }
                if size.is_none() {
                    let _ = write!(text, " bins={}", max.unwrap_or(10).max(2));
                }
                let _ = write!(text, " {} AS {own}", quoted(&field));
                (own, text)
            }
            PivotGroups::Truth { yes, no } => {
                let value = eval_name(&field);
                let yes = quoted(yes.as_deref().unwrap_or("true"));
                let no = quoted(no.as_deref().unwrap_or("false"));
                let truths = r#"("1", "true", "t", "yes")"#;
                let text = format!(
                    " | eval {own}=case(isnull({value}), null(), \
                     lower({value}) IN {truths}, {yes}, true(), {no})"
                );
                (own, text)
            }
        };
        Ok(Split { split, name, label, text })
    }

    /// Returns the commands after the events, as text.
    fn text(&self) -> Result<String, Error> {
        let command = self.command;
        let mut rows = Vec::new();
        for (at, row) in command.rows.iter().enumerate() {
            rows.push(self.split(row, &format!("{ROW}{at}"))?);
        }
        let column = command.column.as_ref();
        let column = column.map(|split| self.split(split, "_pivot_column")).transpose()?;
        let mut text = "search *".to_owned();
        rows.iter().chain(&column).for_each(|split| text += &split.text);
        let alone = rows.len() == 1 && column.is_none() && command.limits.len() == 1;
        let mut late = None;
        for limit in &command.limits {
            let is_row = rows.iter().any(|row| row.split.field.node == limit.field.node);
            if alone && is_row {
                late = Some(limit);
                continue;
            }
            let splits = rows.iter().chain(&column);
            let meant = splits.filter(|split| split.split.field.node == limit.field.node);
            let name = meant.map(|split| split.name.clone()).next();
            let name = name.map_or_else(|| self.field(&limit.field), Ok)?;
            let is_column = column.as_ref().is_some_and(|column| column.name == name);
            text += &self.limit(limit, &name, is_column && command.other)?;
        }
        let cells = self.table(&mut text, &rows, column.as_ref(), late)?;
        self.order(&mut text, &rows);
        self.totals(&mut text, &rows, column.is_some(), &cells);
        for row in rows.iter().filter(|row| row.name != row.label) {
            let _ = write!(text, " | rename {} AS {}", quoted(&row.name), quoted(row.label));
        }
        Ok(text)
    }

    /// Returns commands that keep the rows whose value of a field is among the top values, or combine the
    /// others.
    fn limit(&self, limit: &PivotLimit, name: &str, other: bool) -> Result<String, Error> {
        let (call, _) = self.call(&limit.call)?;
        let (sign, count) = (if limit.bottom { '+' } else { '-' }, limit.count);
        let (field, value) = (quoted(name), eval_name(name));
        let rest = match other {
            true => format!("eval {field}=if({RANK}>{count}, \"OTHER\", {value})"),
            false => format!("where {RANK}<={count}"),
        };
        Ok(format!(
            " | eventstats {call} AS {METRIC} BY {field} | sort 0 {sign}num({METRIC}), {field} \
             | streamstats dc({field}) AS {RANK} | {rest}"
        ))
    }

    /// Adds the aggregation; returns the names of the cells as far as they are known.
    fn table(
        &self,
        text: &mut String,
        rows: &[Split<'_>],
        column: Option<&Split<'_>>,
        late: Option<&PivotLimit>,
    ) -> Result<Vec<String>, Error> {
        let command = self.command;
        let (mut calls, mut labels) = (Vec::new(), Vec::new());
        for cell in &command.cells {
            let (call, label) = self.call(cell)?;
            calls.push(format!("{call} AS {}", quoted(&label)));
            labels.push(label);
        }
        let bare = calls.is_empty();
        if bare {
            calls.push("count".to_owned());
        }
        let by: Vec<String> = rows.iter().map(|row| quoted(&row.name)).collect();
        let Some(column) = column else {
            if let Some(limit) = late {
                calls.push(format!("{} AS {METRIC}", self.call(&limit.call)?.0));
            }
            let _ = write!(text, " | stats {}", calls.join(", "));
            if !by.is_empty() {
                let _ = write!(text, " BY {}", by.join(", "));
            }
            if let Some(limit) = late {
                let (sign, count) = (if limit.bottom { '+' } else { '-' }, limit.count);
                let _ = write!(text, " | sort {count} {sign}num({METRIC}) | fields - {METRIC}");
            }
            if bare && !rows.is_empty() {
                text.push_str(" | fields - count");
            }
            return Ok(labels);
        };
        // `chart` has only one row field: several fields are joined into one, and split again afterwards.
        let key = match rows {
            [one] => one.name.clone(),
            _ => "_pivot_key".to_owned(),
        };
        if rows.len() != 1 {
            let parts: Vec<String> = rows.iter().map(|row| eval_name(&row.name)).collect();
            let parts = if parts.is_empty() { vec!["1".to_owned()] } else { parts };
            let _ = write!(text, " | eval {key}={}", parts.join(".\"\u{1f}\"."));
        }
        let columns = command.columns.unwrap_or(COLUMNS);
        let format = if calls.len() > 1 { " format=\"$VAL$:::$AGG$\"" } else { "" };
        let _ = write!(
            text,
            " | chart limit={columns} useother={} usenull=f{format} {} OVER {} BY {}",
            command.other,
            calls.join(", "),
            quoted(&key),
            quoted(&column.name)
        );
        if rows.len() != 1 {
            for (at, row) in rows.iter().enumerate() {
                let name = quoted(&row.name);
                let _ = write!(text, " | eval {name}=mvindex(split({key}, \"\u{1f}\"), {at})");
            }
            let _ = write!(text, " | fields - {key}");
            if !by.is_empty() {
                let _ = write!(text, " | table {}, *", by.join(", "));
            }
        }
        Ok(Vec::new())
    }

    fn order(&self, text: &mut String, rows: &[Split<'_>]) {
        let Some((count, keys)) = &self.command.sort else { return };
        let _ = write!(text, " | sort {count}");
        for key in keys {
            let wanted = key.field.node.as_str();
            let row = rows.iter().find(|row| row.label == wanted || row.split.field.node == wanted);
            // The text may be the call or the name of a cell.
            let cell = self.command.cells.iter().find(|cell| cell.text == wanted);
            let name = row.map(|row| row.name.as_str()).or(cell.map(StatsCall::output_name));
            let sign = if key.descending { '-' } else { '+' };
            let _ = write!(text, " {sign}{}", quoted(name.unwrap_or(wanted)));
        }
    }

    /// Adds totals. The row fields are not added up: their temporary names begin with `_`.
    fn totals(&self, text: &mut String, rows: &[Split<'_>], split: bool, cells: &[String]) {
        let command = self.command;
        let across = command.row_summary && split;
        if !across && !command.column_summary {
            return;
        }
        let names: Vec<(String, String)> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| (row.name.clone(), format!("{ROW}_{at}")))
            .filter(|(name, _)| !name.starts_with('_'))
            .collect();
        for (name, hidden) in &names {
            let _ = write!(text, " | rename {} AS {hidden}", quoted(name));
        }
        let _ = write!(text, " | addtotals row={across} col={}", command.column_summary);
        let _ = write!(text, " fieldname={ALL}");
        if let Some(first) = rows.first() {
            let hidden = names.iter().find(|(name, _)| *name == first.name);
            let label = hidden.map_or(first.name.as_str(), |(_, hidden)| hidden);
            let _ = write!(text, " labelfield={label} label={ALL}");
        }
        for cell in cells {
            let _ = write!(text, " {}", quoted(cell));
        }
        for (name, hidden) in &names {
            let _ = write!(text, " | rename {hidden} AS {}", quoted(name));
        }
    }
}

/// Returns a field as an operand of an expression.
fn eval_name(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn period_text(period: PivotPeriod) -> &'static str {
    match period {
        PivotPeriod::Auto => "bins=100",
        PivotPeriod::Year => "span=1y",
        PivotPeriod::Month => "span=1mon",
        PivotPeriod::Day => "span=1d",
        PivotPeriod::Hour => "span=1h",
        PivotPeriod::Minute => "span=1m",
        PivotPeriod::Second => "span=1s",
    }
}

/// Returns a filter in the syntax of `search`.
fn condition(name: &str, filter: &PivotFilter) -> String {
    let field = quoted(name);
    let value = filter.values.first().map(|value| value.node.as_str()).unwrap_or_default();
    let quoted_value = quoted(value);
    let inner = &quoted_value[1..quoted_value.len() - 1];
    match filter.condition {
        PivotCondition::Is => format!("{field}={quoted_value}"),
        PivotCondition::IsNot => format!("{field}!={quoted_value}"),
        PivotCondition::Less => format!("{field}<{quoted_value}"),
        PivotCondition::LessOrEqual => format!("{field}<={quoted_value}"),
        PivotCondition::Greater => format!("{field}>{quoted_value}"),
        PivotCondition::GreaterOrEqual => format!("{field}>={quoted_value}"),
        PivotCondition::Contains => format!("{field}=\"*{inner}*\""),
        PivotCondition::DoesNotContain => format!("{field}!=\"*{inner}*\""),
        PivotCondition::StartsWith => format!("{field}=\"{inner}*\""),
        PivotCondition::EndsWith => format!("{field}=\"*{inner}\""),
        PivotCondition::IsNull => format!("NOT {field}=*"),
        PivotCondition::IsNotNull => format!("{field}=*"),
        PivotCondition::In => {
            let values: Vec<String> = filter.values.iter().map(|v| quoted(&v.node)).collect();
            format!("{field} IN ({})", values.join(", "))
        }
    }
}

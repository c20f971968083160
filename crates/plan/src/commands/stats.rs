//! `stats`: one row of aggregates per group.
//!
//! Split: the indexers aggregate their events to partial states, the search head merges these.

use std::collections::{HashMap, HashSet};

use datafusion::functions_nested::expr_fn::array_distinct;
use datafusion::logical_expr::LogicalPlanBuilder;
use exprs::Report;
use exprs::Typed;
use exprs::aggregates::{AggregateOptions, SparklineAxis};
use exprs::order::group_key;
use exprs::present::any_present;
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::{Command, FieldPattern, StatsArgument, StatsBy, StatsCall, StatsCommand, StatsKind};

use super::eval::{convert, is_time};
use super::fields::expand;
use super::{
    CommandPlan, Input, OutputFields, Place, RequiredFields, Rest, Step, TwoStep, bin, presence,
    summary,
};
use crate::arguments::{Arguments, aggregate_call};
use crate::{Error, MessageKind};
use context::planning::PlanningContext;
use context::sql::aggregate::grouped as sql_grouped;
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for StatsCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.stats(&self.calls, &self.by);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn merges_summaries(&self) -> bool {
        true
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        presence::counts(&self.calls, frame) || presence::keys(&self.by, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, rest, env, .. } = input;
        refuse_span("stats", &self.by)?;
        let frame = summary::prepared(frame)?;
        if let Some(step) = times_needed(&self.calls, &frame, env)? {
            return Ok(step);
        }
        let calls = summary::calls(&self.calls, &frame)?;
        let keys = by_fields(&self.by, &frame);
        refuse_names_of_keys("stats", &self.calls, &keys, &frame)?;
        let sparklines = sparkline_axis(&frame, env);
        let (frame, keys) = split_values(frame, keys, self.dedup_splitvals)?;
        let rules = Rules { only_numbers: self.allnum, sparklines };
        let possible = presence::outputs(&calls, &keys, &frame);
        let mut values = aggregates_by(&calls, &keys, &frame, env, rules)?;
        if let Some(delimiter) = &self.delim {
            let each = |value: (String, Typed)| match becomes_text(&value.0, rest) {
                true => joined(value, delimiter),
                false => value,
            };
            values = values.into_iter().map(each).collect();
        }
        let names: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
        let whole = keys.is_empty();
        let mut frame = grouped(frame, keys, values)?;
        if whole {
            // If all aggregates are empty, there is no row, as in Splunk: an alert must not fire on it.
            let columns = names.iter().map(|name| frame.field(name).expr).collect();
            if let Some(any) = any_present(columns) {
                frame = frame.filter(any)?;
            }
        }
        Ok(Step::Next(frame.if_present(possible)))
    }

    fn sql(&self, layer: Layer, text: &mut SqlText) -> Result<Layer, Reason> {
        if self.allnum || self.delim.is_some() || self.dedup_splitvals {
            return Err("its options".to_owned());
        }
        sql_grouped(&self.calls, &self.by, layer, text)
    }

    fn outline(&self, _: &str) -> Arguments {
        Arguments::Stats {
            calls: self.calls.iter().map(aggregate_call).collect(),
            by: self.by.fields.iter().map(|field| field.text.clone()).collect(),
        }
    }
}

/// Options of a command for its aggregates.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Whether numeric aggregates are null if any value is not a number (`allnum=`).
    pub(super) only_numbers: bool,
    /// The time axis of sparklines, for commands that may have some.
    pub(super) sparklines: Option<SparklineAxis>,
}

/// Returns the step that finds the time range of all rows, if a sparkline needs it and the search has none.
pub(super) fn times_needed(
    calls: &[StatsCall],
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Result<Option<Step>, Error> {
    let sparkline = calls.iter().any(|call| call.function.kind == StatsKind::Sparkline);
    let has_time = frame.kind(model::columns::TIME) == Some(ValueType::Time);
    if !sparkline || !has_time || sparkline_axis(frame, env).is_some() {
        return Ok(None);
    }
    bin::extent(frame.clone(), model::columns::TIME).map(Some)
}

/// Returns the time axis: the time range of the search where it is bounded, otherwise that of the rows.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn sparkline_axis(frame: &Frame, env: &PlanningContext<'_>) -> Option<SparklineAxis> {
    let range = env.context.range;
    let (all, now) = (model::TimeRange::ALL, env.context.now);
    let from = (range.earliest != all.earliest).then_some(range.earliest.0);
    let to = match range.latest {
        latest if latest != all.latest => Some(latest.0.saturating_sub(1)),
        _ => from.filter(|from| *from < now.0).map(|_| now.0),
    };
    let (low, high) = match (from, to, frame.extent) {
        (Some(from), Some(to), _) => (from, to),
        (_, _, Some(Some((low, high)))) => (from.unwrap_or(low as i64), to.unwrap_or(high as i64)),
        // There are no rows, so any axis is right.
        (_, _, Some(None)) => (0, 0),
        (_, _, None) => return None,
    };
    Some(SparklineAxis { zone: env.context.timezone.clone(), range: (low, high) })
}

/// Aggregates rows by keys, and orders the result by the keys.
pub(super) fn grouped(
    frame: Frame,
    keys: Vec<String>,
    values: Vec<(String, Typed)>,
) -> Result<Frame, Error> {
    let keys: Vec<(String, Typed)> =
        keys.into_iter().map(|name| (name.clone(), frame.field(&name))).collect();
    let names: Vec<String> = keys.iter().map(|(name, _)| name.clone()).collect();
    // A value with the name of a key replaces the key.
    let values = values.into_iter().filter(|(name, _)| !names.contains(name)).collect();
    let frame = frame.aggregate(keys, values)?;
    order_by_groups(frame, &names)
}

pub(super) fn order_by_groups(frame: Frame, names: &[String]) -> Result<Frame, Error> {
    if names.is_empty() {
        return Ok(frame);
    }
    let order = names.iter().map(|name| (group_key(frame.field(name)), false, false)).collect();
    frame.order_by(order, false)
}

/// The names of the group keys.
pub(super) fn by_fields(by: &StatsBy, frame: &Frame) -> Vec<String> {
    expand(&by.fields, frame, true)
}

/// Returns the rows that have all keys, repeated for each value of a multivalue key.
pub(super) fn split_values(
    mut frame: Frame,
    keys: Vec<String>,
    distinct: bool,
) -> Result<(Frame, Vec<String>), Error> {
    for name in &keys {
        if frame.kind(name) == Some(ValueType::Multi) {
            if distinct {
                let value = array_distinct(frame.field(name).expr);
                let value = Typed::new(value, ValueType::Multi);
                frame = frame.with_columns(vec![(name.clone(), value)])?;
            }
            frame = explode(frame, name, Valueless::Go)?;
        }
    }
    let frame = frame.with_keys(keys.iter().map(String::as_str))?;
    Ok((frame, keys))
}

/// Whether rows without a value are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Valueless {
    /// They are removed.
    Go,
    /// They are kept, once each.
    Stay,
}

/// Returns one row for each value of a multivalue column.
pub(super) fn explode(frame: Frame, name: &str, without: Valueless) -> Result<Frame, Error> {
    let column = datafusion::common::Column::new_unqualified(name);
    let stay = without == Valueless::Stay;
    let options = datafusion::common::UnnestOptions::new().with_preserve_nulls(stay);
    let mut frame = frame.map_plan(|plan| {
        let builder = LogicalPlanBuilder::from(plan);
        Ok(builder.unnest_column_with_options(column, options)?.build()?)
    })?;
    frame.set_kind(name, ValueType::Text);
    Ok(frame)
}

/// Returns the aggregates of calls with their output names; wildcards are expanded.
pub(super) fn aggregates(
    calls: &[StatsCall],
    keys: &[String],
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Result<Vec<(String, Typed)>, Error> {
    aggregates_by(calls, keys, frame, env, Rules::default())
}

/// As [`aggregates`], with the options of a command.
pub(super) fn aggregates_by(
    calls: &[StatsCall],
    keys: &[String],
    frame: &Frame,
    env: &PlanningContext<'_>,
    rules: Rules,
) -> Result<Vec<(String, Typed)>, Error> {
    let order = frame.sort_exprs();
    let log = env.log.clone();
    let options = AggregateOptions {
        report: Report::new(move |text| log.add(MessageKind::Warning, text)),
        only_numbers: rules.only_numbers,
        sparklines: rules.sparklines,
        list_limit: env.context.limits.listed_values,
        values_limit: env.context.limits.distinct_values,
        ..AggregateOptions::default()
    };
    let mut values: Vec<(String, Typed)> = Vec::new();
    let mut known: HashMap<String, String> = HashMap::new();
    let scope = env.scope(frame);
    for call in expand_calls(calls, keys, frame) {
        env.context.planning.check()?;
        let name = call.output_name().to_owned();
        let value = exprs::aggregates::aggregate_with(&call, &scope, &order, &options)?;
        if let Some(first) = known.get(&name) {
            // Identical results are merged.
            if call.alias.is_some() && *first != call.text {
                let message = format!("two results are named \"{name}\"; rename one with AS");
                return Err(Error::at(message, call.span));
            }
            continue;
        }
        known.insert(name.clone(), call.text.clone());
        // A field of this name is always a time, whatever it was computed from.
        let is_number = matches!(value.kind, ValueType::Float | ValueType::Integer);
        let value = match is_time(&name) && is_number {
            true => convert(value, ValueType::Time),
            false => value,
        };
        values.push((name, value));
    }
    Ok(values)
}

/// Expands calls with wildcard arguments to one call per field. A result that an explicit call also has is
/// skipped.
pub(super) fn expand_calls(calls: &[StatsCall], keys: &[String], frame: &Frame) -> Vec<StatsCall> {
    let is_exact = |call: &&StatsCall| match &call.argument {
        StatsArgument::Field(pattern) => !pattern.has_wildcard(),
        StatsArgument::None => counts_rows(call),
        _ => true,
    };
    let exact: HashSet<&str> = calls.iter().filter(is_exact).map(StatsCall::output_name).collect();
    let mut expanded = Vec::new();
    // Parts of a summary are not fields of its events; a pattern matches them only if it is about parts.
    let summed = frame.kind(summary::VERSION).is_some();
    for call in calls {
        let pattern = match &call.argument {
            StatsArgument::Field(pattern) if pattern.has_wildcard() => pattern.clone(),
            StatsArgument::None if !counts_rows(call) => FieldPattern::new("*", call.span),
            _ => {
                expanded.push(call.clone());
                continue;
            }
        };
        let asks_parts = ["psrsvd_", "orig_"].iter().any(|part| pattern.text.starts_with(part));
        for column in frame.listed() {
            let part = summed && !asks_parts && summary::is_part(&column.name);
            let meant = !part && !column.name.starts_with('_') && !keys.contains(&column.name);
            if let Some(captures) = pattern.captures(&column.name).filter(|_| meant) {
                let call = specific(call, &column.name, &captures);
                if !exact.contains(call.output_name()) {
                    expanded.push(call);
                }
            }
        }
    }
    expanded
}

/// Refuses a span behind the group keys.
pub(super) fn refuse_span(command: &str, by: &StatsBy) -> Result<(), Error> {
    match by.fields.last() {
        Some(field) if by.has_span() => {
            let message = format!(
                "{command} has no span: use bin before it, as in bin {} span=1h",
                field.text
            );
            Err(Error::at(message, field.span))
        }
        _ => Ok(()),
    }
}

/// Refuses aggregates with the name of a group key, because one of both values would be lost. Aggregates that
/// are the value of the key, such as `values(host) AS host BY host`, lose nothing.
pub(super) fn refuse_names_of_keys(
    command: &str,
    calls: &[StatsCall],
    keys: &[String],
    frame: &Frame,
) -> Result<(), Error> {
    for call in expand_calls(calls, keys, frame) {
        let name = call.output_name();
        if keys.iter().any(|key| key == name) && !is_value_of(&call, name) {
            let message = format!(
                "Error in '{command}' command: The output field '{name}' cannot have the same name \
                 as a group-by field: give it another name with AS"
            );
            return Err(Error::at(message, call.span));
        }
    }
    Ok(())
}

/// Whether a call returns the only value that a group key has in its group.
fn is_value_of(call: &StatsCall, key: &str) -> bool {
    use StatsKind::{Earliest, First, Last, Latest, Max, Min, Mode, Values};
    let kinds = [Earliest, First, Last, Latest, Max, Min, Mode, Values];
    let of_key = matches!(&call.argument, StatsArgument::Field(field) if field.text == key);
    of_key && kinds.contains(&call.function.kind)
}

/// Whether a call without an argument aggregates rows, not all fields.
fn counts_rows(call: &StatsCall) -> bool {
    matches!(call.function.kind, StatsKind::Count | StatsKind::Sparkline)
}

/// Returns the call for one of the names that its pattern matches.
pub(super) fn specific(call: &StatsCall, name: &str, captures: &[&str]) -> StatsCall {
    let mut specific = call.clone();
    specific.text = format!("{}({name})", call.function.name.node);
    specific.argument = StatsArgument::Field(FieldPattern::new(name, call.span));
    if let Some(alias) = &mut specific.alias {
        let mut captures = captures.iter();
        let pieces: Vec<&str> = alias.node.split('*').collect();
        let mut text = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                text.push_str(captures.next().unwrap_or(&""));
            }
            text.push_str(piece);
        }
        alias.node = text;
    }
    specific
}

/// Whether `nomv` makes a text of a result, before a command that may read its values.
fn becomes_text(name: &str, rest: Rest<'_>) -> bool {
    for next in rest {
        match &next.node {
            Command::Nomv(nomv) if nomv.field.node == name => return true,
            Command::Nomv(_) | Command::Table(_) | Command::Fields(_) | Command::Sort(_) => {}
            _ => return false,
        }
    }
    false
}

/// Joins several values to one text.
pub(super) fn joined((name, value): (String, Typed), delimiter: &str) -> (String, Typed) {
    if value.kind != ValueType::Multi {
        return (name, value);
    }
    let delimiter = delimiter.to_owned();
    let parameter = delimiter.clone();
    let function = exprs::kernel::text("join_values", move |row, out| {
        let value = row.value(0);
        if value.is_null() {
            return None;
        }
        let mut first = true;
        value.each_text(|text| {
            if !std::mem::take(&mut first) {
                out.push_str(&delimiter);
            }
            out.push_str(text);
        });
        Some(())
    });
    (name, function.with(parameter).call(vec![value]))
}

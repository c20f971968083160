//! `chart`: rows by one field, series by another.
//!
//! Split: as `stats` by both fields; the search head chooses the series, pivots and adds the bins without
//! events.

use std::collections::HashSet;

use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::{BinOptions, ChartCommand, SplitBy, StatsArgument, StatsCall, StatsKind};

use super::eval::reads_any;
use super::split::{Series, pivot};
use super::stats::{Rules, split_values};
use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, TwoStep, bin,
    presence, stats, summary,
};
use context::planning::PlanningContext;
use context::stage::pivot::PivotAxis;

impl CommandPlan for ChartCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.calls(&self.calls);
        fields.splits([&self.row, &self.column]);
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
        presence::any(&self.calls, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env)
    }
}

pub(super) fn plan(
    command: &ChartCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let frame = summary::prepared(frame)?;
    if let Some(step) = stats::times_needed(&command.calls, &frame, env)? {
        let splits = [command.row.as_ref(), command.column.as_ref()];
        let counted =
            |split: &&SplitBy| split.bins != BinOptions::default() && split.bins.span.is_none();
        if let Some(split) = splits.into_iter().flatten().find(counted) {
            let message = "beside a sparkline, bins need span= or the search a time range";
            return Err(Error::at(message, split.field.span));
        }
        return Ok(step);
    }
    let calls = summary::calls(&command.calls, &frame)?;
    let Some(row) = &command.row else {
        let rules = Rules { sparklines: stats::sparkline_axis(&frame, env), ..Rules::default() };
        let values = stats::aggregates_by(&calls, &[], &frame, env, rules)?;
        return Ok(Step::Next(stats::grouped(frame, Vec::new(), values)?));
    };
    let name = row.field.node.clone();
    let mut frame = frame;
    let mut axis = PivotAxis::Values;
    if row.bins != BinOptions::default() {
        refuse_binned_values(&calls, &name, &frame)?;
        if let Some(step) = bin::extent_needed(&name, &row.bins, &frame, env)? {
            return Ok(step);
        }
        let fill = command.series.cont != Some(false);
        axis = bin::axis(&name, &row.bins, fill, &frame, env)?;
        let value = bin::binned(&name, &row.bins, &frame, env)?;
        frame = frame.with_columns(vec![(name.clone(), value)])?;
    }
    if let Some(split) = &command.column
        && split.bins != BinOptions::default()
        && let Some(step) = bin::extent_needed(&split.field.node, &split.bins, &frame, env)?
    {
        return Ok(step);
    }
    let (mut frame, _) = split_values(frame, vec![name.clone()], command.series.dedup_splitvals)?;
    if frame.kind(&name).is_none() {
        let missing = Typed::null(ValueType::Text);
        frame = frame.with_columns(vec![(name.clone(), missing)])?;
    }
    let series = Series {
        calls: &calls,
        span: None,
        shows_span: false,
        column: command.column.as_ref(),
        options: &command.series,
        filter: command.filter.as_ref(),
    };
    pivot(frame, name, axis, &series, env)
}

/// Refuses aggregates of a number whose ranges are the rows: there, its values are the texts of the ranges.
fn refuse_binned_values(calls: &[StatsCall], name: &str, frame: &Frame) -> Result<(), Error> {
    if frame.kind(name) == Some(ValueType::Time) {
        return Ok(());
    }
    for call in calls {
        if reads(call, name) {
            let message = format!(
                "chart cannot aggregate \"{name}\" by its own ranges: aggregate a copy, as after \
                 eval copy='{name}'"
            );
            return Err(Error::at(message, call.span));
        }
    }
    Ok(())
}

/// Whether a call needs the values of a field; `count(field)` needs only their number.
fn reads(call: &StatsCall, name: &str) -> bool {
    match &call.argument {
        StatsArgument::Field(field) => field.text == name && call.function.kind != StatsKind::Count,
        StatsArgument::Eval(expr) => reads_any(expr, &HashSet::from([name])),
        StatsArgument::Over { calls, .. } => calls.iter().any(|call| reads(call, name)),
        StatsArgument::Sparkline { call: Some(call), .. } => reads(call, name),
        StatsArgument::None | StatsArgument::Prefix(_) | StatsArgument::Sparkline { .. } => false,
    }
}

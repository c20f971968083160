//! `top` and `rare`: the most and least frequent values.
//!
//! Split: the indexers count; the search head adds up the counts, ranks the values and computes percentages.

use std::sync::Arc;

use datafusion::functions_aggregate::expr_fn::{min, sum};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{Sort as SortExpr, WindowFunction};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, Window, WindowFunctionDefinition, lit, when,
};
use exprs::Typed;
use exprs::kernel::text;
use exprs::order::group_key;
use exprs::types::ValueType;
use frames::{Frame, column};
use spl::ast::TopCommand;

use super::eval::convert;
use super::stats::split_values;
use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, summary,
};
use crate::arguments::Arguments;
use context::sql::aggregate::ranked as sql_ranked;
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for TopCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.fields);
        fields.fields(&self.by);
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

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, Order::MostFrequent, input.frame).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        sql_ranked(self, false, layer)
    }

    fn outline(&self, _: &str) -> Arguments {
        outlined(self)
    }
}

/// The end of the ranking that is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    MostFrequent,
    Rarest,
}

const COUNT: &str = "__count";

pub(super) fn plan(command: &TopCommand, order: Order, frame: Frame) -> Result<Frame, Error> {
    let by: Vec<String> = command.by.iter().map(|field| field.node.clone()).collect();
    let fields: Vec<String> = command.fields.iter().map(|field| field.node.clone()).collect();
    let keys: Vec<String> = by.iter().chain(&fields).cloned().collect();
    for (at, field) in command.by.iter().chain(&command.fields).enumerate() {
        if keys[..at].contains(&field.node) {
            return Err(Error::at(format!("\"{}\" is named twice", field.node), field.span));
        }
    }
    refuse_overwritten(command)?;
    let frame = summary::prepared(frame)?;
    let (frame, keys) = split_values(frame, keys, false)?;
    let groups = keys.iter().map(|name| (name.clone(), frame.field(name))).collect();
    let counted = summary::events(&frame);
    let frame = frame.aggregate(groups, vec![(COUNT.to_owned(), counted)])?;
    let (frame, total, rank) = ranked(frame, &by, &keys, order)?;
    let frame = limited(frame, command, &by, &fields, (&total, &rank))?;
    finished(frame, command, &by, &fields)
}

/// Refuses counts and percentages with the name of a field whose values they would replace.
fn refuse_overwritten(command: &TopCommand) -> Result<(), Error> {
    let TopCommand { countfield, percentfield, .. } = command;
    if command.showcount && command.showperc && countfield == percentfield {
        let message = format!("countfield and percentfield are both \"{countfield}\"");
        return Err(Error::invalid_anywhere(message));
    }
    for (shown, option, name) in [
        (command.showcount, "countfield", countfield),
        (command.showperc, "percentfield", percentfield),
    ] {
        let field = command.by.iter().chain(&command.fields).find(|field| field.node == *name);
        if let Some(field) = field.filter(|_| shown) {
            let message = format!(
                "a column with numbers would replace the values of \"{name}\": give it another \
                 name with {option}="
            );
            return Err(Error::at(message, field.span));
        }
    }
    Ok(())
}

const TOTAL: &str = "__total";
const RANK: &str = "__rank";

/// Adds the total count and the rank of each value, both within the groups of `by`.
fn ranked(
    frame: Frame,
    by: &[String],
    keys: &[String],
    order: Order,
) -> Result<(Frame, String, String), Error> {
    let partition: Vec<Expr> = by.iter().map(|name| column(name)).collect();
    let ascending = order == Order::Rarest;
    let mut ranking = vec![SortExpr::new(column(COUNT), ascending, false)];
    // Values with equal counts are ordered by value, so that the result does not depend on the order of
    // events. For top, the last value comes first, as in Splunk.
    let tie = |name: &String| SortExpr::new(group_key(frame.field(name)), ascending, false);
    ranking.extend(keys.iter().map(tie));
    let sum = WindowFunctionDefinition::AggregateUDF(sum_udaf());
    let total = Expr::from(WindowFunction::new(sum, vec![column(COUNT)]))
        .partition_by(partition.clone())
        .build()?
        .alias(TOTAL);
    let rank = row_number().partition_by(partition).order_by(ranking).build()?.alias(RANK);
    let frame = frame.map_plan(|plan| {
        let window = Window::try_new(vec![total], Arc::new(plan))?;
        let window = Window::try_new(vec![rank], Arc::new(LogicalPlan::Window(window)))?;
        Ok(LogicalPlan::Window(window))
    })?;
    Ok((frame, TOTAL.to_owned(), RANK.to_owned()))
}

/// Keeps the first ranks; the others are combined into one row on request.
fn limited(
    frame: Frame,
    command: &TopCommand,
    by: &[String],
    fields: &[String],
    (total, rank): (&str, &str),
) -> Result<Frame, Error> {
    let limit = match command.limit {
        0 => u64::MAX >> 1,
        limit => limit,
    };
    let inside = column(rank).lt_eq(lit(limit));
    if !command.useother {
        let frame = frame.filter(inside)?;
        return Ok(frame.adopt_hidden(&[total.to_owned(), rank.to_owned()]));
    }
    let mut keys: Vec<(String, Typed)> =
        by.iter().map(|name| (name.clone(), frame.field(name))).collect();
    for (at, name) in fields.iter().enumerate() {
        let value = convert(frame.field(name), ValueType::Text);
        let other =
            if at == 0 { Typed::text(&command.otherstr) } else { Typed::null(ValueType::Text) };
        let value = when(inside.clone(), value.expr).otherwise(other.expr)?;
        keys.push((name.clone(), Typed::new(value, ValueType::Text)));
    }
    let capped = when(inside, column(rank)).otherwise(lit(limit.saturating_add(1)))?;
    keys.push((RANK.to_owned(), Typed::new(capped, ValueType::Integer)));
    let values = vec![
        (COUNT.to_owned(), Typed::new(sum(column(COUNT)), ValueType::Integer)),
        (TOTAL.to_owned(), Typed::new(min(column(total)), ValueType::Integer)),
    ];
    frame.aggregate(keys, values)
}

fn finished(
    frame: Frame,
    command: &TopCommand,
    by: &[String],
    fields: &[String],
) -> Result<Frame, Error> {
    let mut order: Vec<(Expr, bool, bool)> =
        by.iter().map(|name| (group_key(frame.field(name)), false, false)).collect();
    order.push((column(RANK), false, false));
    let percent = Typed::new(column(COUNT), ValueType::Integer);
    let percent = text("percent", |row, out| {
        use std::fmt::Write;
        let (count, total) = (row.number(0)?, row.number(1)?);
        write!(out, "{:.6}", 100.0 * count / total).ok()
    })
    .call(vec![percent, Typed::new(column(TOTAL), ValueType::Integer)]);
    let frame = frame.order_by(order, false)?;
    let mut outputs: Vec<(String, Typed)> =
        by.iter().chain(fields).map(|name| (name.clone(), frame.field(name))).collect();
    let count = Typed::new(column(COUNT), ValueType::Integer);
    for (wanted, name, value) in [
        (command.showcount, &command.countfield, count),
        (command.showperc, &command.percentfield, percent),
    ] {
        if wanted {
            outputs.push((name.clone(), value));
        }
    }
    outputs.retain(|(name, _)| name != ALL);
    outputs.push((ALL.to_owned(), Typed::new(column(TOTAL), ValueType::Integer)));
    frame.project(outputs)
}

/// The total on which percentages are based, as an internal field.
const ALL: &str = "_tc";

/// Returns the arguments of `top` and `rare` for clients of the parser.
pub(super) fn outlined(command: &TopCommand) -> Arguments {
    Arguments::Top {
        limit: command.limit,
        showcount: command.showcount,
        showperc: command.showperc,
        countfield: command.countfield.clone(),
        percentfield: command.percentfield.clone(),
        fields: command.fields.iter().map(|field| field.node.clone()).collect(),
    }
}

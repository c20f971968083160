//! `sort`: sorts rows by fields.
//!
//! Split: each indexer sorts its rows and keeps the first N, the search head merges.

use std::sync::Arc;

use datafusion::logical_expr::Expr;
use exprs::order::sort_key;
use frames::Frame;
use frames::stream::{NoticedLimit, StreamNode};
use spl::ast::{SortCommand, SortKey, SortOrder};

use super::first_rows::first_rows;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep};
use context::planning::PlanningContext;
use context::sql::layer::{Kind, Value};
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for SortCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Reduce { rows: self.limit.filter(|limit| *limit > 0) })
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.keys.iter().for_each(|key| fields.name(&key.field.node));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

/// Plans the command as SQL.
pub(super) fn select(command: &SortCommand, layer: Layer) -> Result<Layer, Reason> {
    let mut layer = layer.unlimited()?;
    let mut order = Vec::new();
    for key in &command.keys {
        if key.order == SortOrder::Ip {
            return Err("ip()".to_owned());
        }
        let mut sorted = layer.key(
            &key.field.node,
            key.descending != command.reversed,
            key.order == SortOrder::Auto,
        );
        if key.order == SortOrder::Number {
            sorted.value = Value::new(sorted.value.number()?, Kind::Number);
        }
        order.push(sorted);
    }
    // The sort is stable: equal rows keep their previous order.
    order.append(&mut layer.order);
    layer.order = order;
    layer.limit = command.limit.filter(|limit| *limit > 0);
    Ok(layer)
}

fn plan(command: &SortCommand, input: Input<'_>) -> Result<Frame, Error> {
    let Input { frame, rest, env, .. } = input;
    let keys = keys(&command.keys, &frame, command.reversed);
    let frame = frame.order_by(keys, true)?;
    // A sort that keeps few rows soon knows a bound for them, by which the scan skips rows.
    let used = first_rows(rest).unwrap_or(usize::MAX);
    match command.limit {
        Some(0) => Ok(frame),
        Some(limit) => Ok(frame.limit(usize::try_from(limit).unwrap_or(usize::MAX).min(used))),
        None if used <= env.context.limits.sort_rows => Ok(frame.limit(used)),
        None => noticed_limit(frame, env),
    }
}

/// Returns sort expressions with direction and position of nulls, which are always last.
pub(super) fn keys(keys: &[SortKey], frame: &Frame, reversed: bool) -> Vec<(Expr, bool, bool)> {
    let expr = |key: &SortKey| {
        let value = frame.field(&key.field.node);
        (sort_key(value, key.order), key.descending != reversed, false)
    };
    keys.iter().map(expr).collect()
}

fn noticed_limit(frame: Frame, env: &PlanningContext<'_>) -> Result<Frame, Error> {
    let rows = env.context.limits.sort_rows;
    let message = format!("sort kept the first {rows} rows; use \"sort 0\" to keep all");
    let op = Arc::new(NoticedLimit::new(rows as u64, message, env.log));
    let frame = frame.limit(rows.saturating_add(1));
    let order = frame.sort_exprs();
    let node = StreamNode::try_new(frame.plan().clone(), op, Vec::new(), order, Vec::new())?;
    Ok(frame.stream(node))
}

//! `sort`: orders rows by fields.
//!
//! Split: each indexer sorts its rows and keeps the first N, the search head merges.

use datafusion::logical_expr::Expr;
use spl::ast::{SortCommand, SortKey};
use std::sync::Arc;

use crate::Error;
use crate::frame::Frame;
use crate::order::sort_key;
use crate::pipeline::Env;
use crate::stream::{NoticedLimit, StreamNode};

pub(super) fn plan(command: &SortCommand, frame: Frame, env: &Env<'_>) -> Result<Frame, Error> {
    let keys = keys(&command.keys, &frame, command.reversed);
    let frame = frame.order_by(keys, true)?;
    match command.limit {
        Some(0) => Ok(frame),
        Some(limit) => Ok(frame.limit(usize::try_from(limit).unwrap_or(usize::MAX))),
        None => noticed_limit(frame, env),
    }
}

/// Sort expressions with direction and place of nulls, which is always last.
pub(super) fn keys(keys: &[SortKey], frame: &Frame, reversed: bool) -> Vec<(Expr, bool, bool)> {
    let expr = |key: &SortKey| {
        let value = frame.field(&key.field.node);
        (sort_key(value, key.order), key.descending != reversed, false)
    };
    keys.iter().map(expr).collect()
}

fn noticed_limit(frame: Frame, env: &Env<'_>) -> Result<Frame, Error> {
    let rows = env.context.limits.sort_rows;
    let message = format!("sort kept the first {rows} rows; use \"sort 0\" to keep all");
    let op = Arc::new(NoticedLimit::new(rows as u64, message, env.log));
    let frame = frame.limit(rows.saturating_add(1));
    let order = frame.sort_exprs();
    let node = StreamNode::try_new(frame.plan().clone(), op, Vec::new(), order, Vec::new())?;
    Ok(frame.stream(node))
}

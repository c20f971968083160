//! `dedup`: removes rows that repeat a combination of values.
//!
//! Split: each indexer removes repetitions among its rows, the search head among what is left.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::when;
use spl::ast::DedupCommand;

use super::fields::expand;
use crate::Error;
use crate::expr::Typed;
use crate::frame::{Frame, column};
use crate::pipeline::Env;
use crate::stream::{Dedup, StreamNode};

pub(super) fn plan(
    command: &DedupCommand,
    mut frame: Frame,
    env: &Env<'_>,
) -> Result<Frame, Error> {
    let names = expand(&command.fields, &frame, true);
    let op = Dedup {
        count: command.count,
        keep_empty: command.keepempty,
        consecutive: command.consecutive,
        keep_events: command.keepevents,
        limit: env.context.limits.groups,
    };
    let unknown = names.iter().any(|name| frame.kind(name).is_none());
    if unknown && !command.keepempty {
        return frame.filter(datafusion::logical_expr::lit(false));
    }
    let known = |name: &&String| frame.kind(name).is_some();
    let arguments = names.iter().filter(known).map(|name| column(name)).collect();
    let order = frame.sort_exprs();
    let flag = frame.fresh("keep");
    let added = if command.keepevents {
        vec![Field::new(&flag, DataType::Boolean, true)]
    } else {
        Vec::new()
    };
    let node = StreamNode::try_new(frame.plan().clone(), Arc::new(op), arguments, order, added)?;
    frame = frame.stream(node);
    if command.keepevents {
        let mut values = Vec::new();
        for name in names {
            let Typed { expr, kind } = frame.field(&name);
            let value = when(column(&flag), expr).end()?;
            values.push((name, Typed::new(value, kind)));
        }
        frame = frame.with_columns(values)?;
    }
    if command.sortby.is_empty() {
        return Ok(frame);
    }
    let keys = super::sort::keys(&command.sortby, &frame, false);
    frame.order_by(keys, true)
}

//! `dedup`: removes rows with a combination of values that an earlier row has.
//!
//! Split: each indexer removes duplicates among its rows, the search head removes those between indexers.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::when;
use exprs::Typed;
use frames::stream::{Dedup, StreamNode};
use frames::{Frame, column};
use spl::ast::{DedupCommand, SortCommand};

use super::fields::expand;
use super::first_rows::first_rows;
use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, TwoStep, presence,
    sort,
};
use context::planning::PlanningContext;
use context::sql::layer::{Key, Kind, Value, names};
use context::sql::{Layer, Reason, SqlText, identifier};

/// The column with the number of a row within its group.
const ROW: &str = "__row";

impl CommandPlan for DedupCommand {
    fn place(&self) -> Place {
        if self.consecutive || self.keepevents {
            Place::SearchHead
        } else {
            Place::TwoStep(TwoStep::Reduce { rows: None })
        }
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns(&self.fields);
        self.sortby.iter().for_each(|key| fields.name(&key.field.node));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        !self.fields.is_empty() && presence::reaches(&self.fields, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        // With `sortby`, the first rows in the result are not the first rows in the input order.
        let used = first_rows(input.rest).filter(|_| self.sortby.is_empty());
        plan(self, input.frame, used, input.env).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

fn select(command: &DedupCommand, layer: Layer) -> Result<Layer, Reason> {
    if command.keepevents || command.keepempty || command.consecutive {
        return Err("its options".to_owned());
    }
    let names = names(&command.fields)?;
    let sort_first = SortCommand { limit: Some(0), keys: command.sortby.clone(), reversed: false };
    let layer = if command.sortby.is_empty() { layer } else { sort::select(&sort_first, layer)? };
    let mut layer = layer.unlimited()?;
    let order = layer.order.clone();
    if order.is_empty() {
        return Err("rows without an order".to_owned());
    }
    let values: Vec<String> = names.iter().map(|name| layer.field(name).sql).collect();
    layer.filters.extend(values.iter().map(|value| format!("{value} IS NOT NULL")));
    let keys: Vec<String> = order.iter().map(Key::render).collect();
    let number = format!(
        "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {})",
        values.join(", "),
        keys.join(", ")
    );
    layer.set(ROW, Value::new(number, Kind::Integer));
    let mut layer = layer.sealed(true)?;
    layer.filters.push(format!("{} <= {}", identifier(ROW), command.count));
    layer.remove(ROW);
    Ok(layer)
}

/// Plans the command if only the first `used` rows are needed; `None` means all rows.
pub(super) fn plan(
    command: &DedupCommand,
    mut frame: Frame,
    used: Option<usize>,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let names = expand(&command.fields, &frame, true);
    let op = Dedup {
        count: command.count,
        keep_empty: command.keepempty,
        consecutive: command.consecutive,
        keep_events: command.keepevents,
        limit: env.context.limits.groups,
        first: used,
    };
    let unknown = names.iter().any(|name| frame.kind(name).is_none());
    if unknown && !command.keepempty {
        return frame.filter(datafusion::logical_expr::lit(false));
    }
    // With `keepempty`, a row that lacks one of the fields is never removed: here no row has it.
    if !unknown {
        frame = without_duplicates(&names, op, frame)?;
    }
    if command.sortby.is_empty() {
        return Ok(frame);
    }
    let keys = sort::keys(&command.sortby, &frame, false);
    frame.order_by(keys, true)
}

fn without_duplicates(names: &[String], op: Dedup, mut frame: Frame) -> Result<Frame, Error> {
    let arguments = names.iter().map(|name| column(name)).collect();
    let order = frame.sort_exprs();
    let flag = frame.fresh("keep");
    let keep_events = op.keep_events;
    let added = match keep_events {
        true => vec![Field::new(&flag, DataType::Boolean, true)],
        false => Vec::new(),
    };
    let node = StreamNode::try_new(frame.plan().clone(), Arc::new(op), arguments, order, added)?;
    let frame = frame.stream(node);
    if !keep_events {
        return Ok(frame);
    }
    let mut values = Vec::new();
    for name in names {
        let Typed { expr, kind } = frame.field(name);
        let value = when(column(&flag), expr).end()?;
        values.push((name.clone(), Typed::new(value, kind)));
    }
    frame.with_columns(values)
}

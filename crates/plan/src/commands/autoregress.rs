//! `autoregress`: adds values of earlier rows.
//!
//! Split: runs at the search head, which sees rows in order.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::Field;
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use exprs::Typed;
use exprs::types::{ArrowType, ValueType};
use frames::Frame;
use frames::stream::{Output, StreamNode, StreamOp, StreamRun};
use spl::ast::AutoregressCommand;

use super::eval::{convert, is_time};
use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::planning::PlanningContext;

impl CommandPlan for AutoregressCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        self.alias.as_ref().is_some_and(|alias| is_source(&alias.node))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env).map(Step::Next)
    }
}

pub(super) fn plan(
    command: &AutoregressCommand,
    mut frame: Frame,
    env: &PlanningContext<'_>,
) -> std::result::Result<Frame, Error> {
    let name = &command.field.node;
    let limit = env.context.limits.stream_window;
    let rows = |rows: u64| usize::try_from(rows).ok().filter(|rows| *rows <= limit);
    let (Some(least), Some(greatest)) = (rows(command.least), rows(command.greatest)) else {
        let message = format!(
            "p= must be a number of rows up to {limit} (max_stream_window in limits.conf [streamstats])"
        );
        return Err(Error::at(message, command.field.span));
    };
    let source = match frame.field(name) {
        Typed { kind: ValueType::Null, .. } => Typed::null(ValueType::Text),
        value => value,
    };
    let mut added = Vec::new();
    let mut values = Vec::new();
    for back in least..=greatest {
        let target = match &command.alias {
            Some(alias) => alias.node.clone(),
            None => format!("{name}_p{back}"),
        };
        let column = frame.fresh("earlier");
        added.push(Field::new(&column, source.kind.data_type(), true));
        let value = Typed::column(&column, source.kind);
        let keeps = source.kind != ValueType::Time || is_time(&target);
        let value = if keeps { value } else { convert(value, ValueType::Float) };
        values.push((target, value));
    }
    let op = Arc::new(Earlier { least, greatest });
    let (order, plan) = (frame.sort_exprs(), frame.plan().clone());
    let node = StreamNode::try_new(plan, op, vec![source.expr], order, added)?;
    frame.stream(node).with_columns(values)
}

/// The argument's values `least` to `greatest` rows before the current row.
#[derive(Debug, Clone)]
struct Earlier {
    least: usize,
    greatest: usize,
}

impl StreamOp for Earlier {
    fn name(&self) -> &'static str {
        "Earlier"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(Run { op: self.clone(), before: None }))
    }
}

struct Run {
    op: Earlier,
    /// The last `greatest` values; null before the first row.
    before: Option<ArrayRef>,
}

impl StreamRun for Run {
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output> {
        let Earlier { least, greatest } = self.op;
        let values = &arguments[0];
        let before = self.before.take();
        let before = before.unwrap_or_else(|| new_null_array(values.data_type(), greatest));
        let all = concat(&[before.as_ref(), values.as_ref()])?;
        let added = (least..=greatest).map(|back| all.slice(greatest - back, rows)).collect();
        self.before = Some(all.slice(rows, greatest));
        Ok(Output { added, ..Output::default() })
    }
}

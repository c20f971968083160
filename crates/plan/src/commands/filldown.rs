//! `filldown`: replaces missing values with the last value of the field.
//!
//! Split: runs at the search head, which sees rows in order.

use std::sync::Arc;

use arrow::datatypes::Field;
use exprs::Typed;
use exprs::types::ArrowType;
use frames::stream::{FillDown, StreamNode};
use frames::{Frame, column};
use spl::ast::FilldownCommand;

use super::fields::expand_or_all;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for FilldownCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame).map(Step::Next)
    }
}

pub(super) fn plan(command: &FilldownCommand, mut frame: Frame) -> Result<Frame, Error> {
    let mut added = Vec::new();
    let mut arguments = Vec::new();
    let mut outputs = Vec::new();
    for name in expand_or_all(&command.fields, &frame) {
        let Some(kind) = frame.kind(&name) else { continue };
        let filled = frame.fresh("filled");
        added.push(Field::new(&filled, kind.data_type(), true));
        arguments.push(column(&name));
        outputs.push((name, Typed::column(&filled, kind)));
    }
    if outputs.is_empty() {
        return Ok(frame);
    }
    let order = frame.sort_exprs();
    let plan = frame.plan().clone();
    let node = StreamNode::try_new(plan, Arc::new(FillDown), arguments, order, added)?;
    frame.stream(node).with_changed(outputs)
}

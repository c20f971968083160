//! `strcat`: joins values and texts.
//!
//! Split: runs where the rows are.

use exprs::Typed;
use exprs::kernel::text;
use frames::Frame;
use spl::ast::{StrcatCommand, StrcatPart};

use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for StrcatCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for part in &self.parts {
            if let StrcatPart::Field(field) = part {
                fields.name(&field.node);
            }
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        is_source(&self.destination.node)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame).map(Step::Next)
    }
}

pub(super) fn plan(command: &StrcatCommand, frame: Frame) -> Result<Frame, Error> {
    let part = |part: &StrcatPart| match part {
        StrcatPart::Field(field) => frame.field(&field.node),
        StrcatPart::Literal(literal) => Typed::text(&literal.node),
    };
    let arguments = command.parts.iter().map(part).collect();
    let required = command.allrequired;
    let joined = text("strcat", move |row, out| {
        for value in row.values() {
            match value.text() {
                Some(text) => out.push_str(&text),
                None if required => return None,
                None => {}
            }
        }
        Some(())
    });
    let value = joined.with(required.to_string()).call(arguments);
    frame.with_columns(vec![(command.destination.node.clone(), value)])
}

//! `fieldformat`: formats fields for display; commands see the original values.
//!
//! Split: runs at the search head, over the rows of the result.

use exprs::compile;
use spl::ast::FieldformatCommand;

use super::eval::storable;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for FieldformatCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for assignment in &self.assignments {
            fields.expr(&assignment.expr);
            fields.name(&assignment.field.node);
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { mut frame, env, .. } = input;
        for assignment in &self.assignments {
            // The expressions are checked here, where error messages can give their position.
            storable(compile(&assignment.expr, &env.scope(&frame))?, assignment.expr.span)?;
            frame.formats.set(&assignment.field.node, assignment.expr.clone());
        }
        Ok(Step::Next(frame))
    }
}

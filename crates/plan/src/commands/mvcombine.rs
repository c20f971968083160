//! `mvcombine`: combines rows that differ in only one field, with all values of this field.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::{Command, MvcombineCommand};
use tables::shape::mvcombine::Mvcombine;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for MvcombineCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, rest, .. } = input;
        let field = self.field.node.clone();
        // The delimiter has no effect on the multivalue field until `nomv` joins its values.
        let joined = match rest.first().map(|next| &next.node) {
            Some(Command::Nomv(next)) if next.field.node == field => self.delim.clone(),
            _ => None,
        };
        Ok(Step::Materialize(frame, Breaker::table(Mvcombine { field, joined })))
    }
}

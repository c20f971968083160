//! `selfjoin`: joins the rows of a result with each other.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::SelfjoinCommand;
use tables::shape::selfjoin::Selfjoin;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for SelfjoinCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = Selfjoin {
            fields: self.fields.iter().map(|field| field.node.clone()).collect(),
            most: self.max,
            overwrite: self.overwrite,
            keep_single: self.keepsingle,
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

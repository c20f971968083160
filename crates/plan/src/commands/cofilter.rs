//! `cofilter`: how many users two items have in common.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::CofilterCommand;
use tables::analysis::cofilter::Cofilter;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for CofilterCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.user.node);
        fields.name(&self.item.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let op = Cofilter { user: self.user.node.clone(), item: self.item.node.clone() };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

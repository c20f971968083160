//! `concurrency`: the number of events in progress at the start of each event.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::ConcurrencyCommand;
use tables::analysis::concurrency::Concurrency;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for ConcurrencyCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.duration.node);
        fields.name(&self.start);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let op = Concurrency {
            duration: self.duration.node.clone(),
            start: self.start.clone(),
            output: self.output.clone(),
        };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

//! `erex`: extracts values that resemble given examples.
//!
//! Split: runs at the search head, over all rows, from which a regular expression is learned.

use spl::ast::ErexCommand;
use tables::text::erex::Erex;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for ErexCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.fromfield);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = Erex {
            field: self.field.clone(),
            from: self.fromfield.clone(),
            examples: self.examples.clone(),
            counterexamples: self.counterexamples.clone(),
            trainers: usize::try_from(self.maxtrainers).unwrap_or(usize::MAX),
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

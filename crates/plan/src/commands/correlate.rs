//! `correlate`: how often fields occur together.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::{CorrelateCommand, FieldPattern};
use tables::analysis::correlate::Correlate;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for CorrelateCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn reads_declared(&self) -> bool {
        !self.fields.iter().any(FieldPattern::has_wildcard)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = Correlate { fields: self.fields.clone() };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

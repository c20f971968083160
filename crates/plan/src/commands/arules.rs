//! `arules`: association rules between values of fields.
//!
//! Split: runs at the search head, over all rows. The Apriori algorithm finds frequent sets of values level
//! by level. Each set gives a rule for each of its values that is implied by the others.

use spl::ast::ArulesCommand;
use tables::analysis::arules::Arules;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use context::stage::Breaker;

impl CommandPlan for ArulesCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = Arules {
            support: usize::try_from(self.sup).unwrap_or(usize::MAX),
            confidence: parse_number(&self.conf).unwrap_or_default(),
            fields: self.fields.iter().map(|field| field.node.clone()).collect(),
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

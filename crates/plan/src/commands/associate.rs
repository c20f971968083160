//! `associate`: values of a field that reduce the entropy of another field.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::{AssociateCommand, FieldPattern};
use tables::analysis::associate::Associate;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use context::stage::Breaker;

impl CommandPlan for AssociateCommand {
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
        let op = Associate {
            least_count: usize::try_from(self.supcnt).unwrap_or(usize::MAX),
            least_share: parse_number(&self.supfreq).unwrap_or_default(),
            improvement: parse_number(&self.improv).unwrap_or_default(),
            fields: self.fields.clone(),
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

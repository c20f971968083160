//! `gauge`: one row with a value and the bounds of the ranges for its display.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::{GaugeCommand, GaugeNumber};
use tables::analysis::gauge::Gauge;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for GaugeCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for number in std::iter::once(&self.value).chain(&self.bounds) {
            if let GaugeNumber::Field(field) = number {
                fields.name(&field.node);
            }
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = Gauge { value: self.value.clone(), bounds: self.bounds.clone() };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

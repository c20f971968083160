//! `x11`: removes seasonal components from time series.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::X11Command;
use tables::series::x11::X11;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for X11Command {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = X11 {
            field: self.field.clone(),
            additive: self.additive,
            period: self.period,
            target: self.alias.as_ref().map(|alias| alias.node.clone()),
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

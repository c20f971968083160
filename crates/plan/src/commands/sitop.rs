//! `sitop`: rows of which `top` computes its result; planned in `summary`.

use spl::ast::SitopCommand;

use super::{CommandPlan, Input, Step, summary};
use crate::Error;
use crate::place::{Place, TwoStep};
use crate::required_fields::{OutputFields, RequiredFields};

impl CommandPlan for SitopCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.0.fields);
        fields.fields(&self.0.by);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        summary::top(&self.0, input.span(), input.frame)
    }
}

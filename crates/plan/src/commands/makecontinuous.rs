//! `makecontinuous`: adds rows for missing bins.
//!
//! Split: runs at the search head, over all rows.

use exprs::required_fields::field_or;
use spl::ast::MakecontinuousCommand;
use tables::series::makecontinuous::Continuous;

use super::bin::{DEFAULT_BINS, alignment};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for MakecontinuousCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(field_or(&self.field, "_time"));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, env, .. } = input;
        let field = self.field.as_ref().map_or("_time", |field| field.node.as_str());
        if frame.kind(field).is_none() {
            return Ok(Step::Next(frame));
        }
        let op = Continuous {
            field: field.to_owned(),
            options: self.bins.clone(),
            default_bins: DEFAULT_BINS,
            align: alignment(self.bins.aligntime.as_deref(), env)?,
            zone: env.context.timezone.clone(),
        };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

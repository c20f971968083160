//! `meventcollect`: converts events to metric data points; planned in `mcollect`.

use spl::ast::MeventcollectCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, mcollect};

impl CommandPlan for MeventcollectCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        mcollect::plan("meventcollect", &self.0, input.span(), input.frame, input.env)
    }
}

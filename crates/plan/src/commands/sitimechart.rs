//! `sitimechart`: summary rows from which `timechart` computes its result; planned in `summary`.

use spl::ast::SitimechartCommand;

use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, summary,
};

impl CommandPlan for SitimechartCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.calls(&self.0.calls);
        fields.splits([&self.0.column]);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        summary::timechart(&self.0, input.span(), input.frame)
    }
}

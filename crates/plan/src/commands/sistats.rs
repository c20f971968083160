//! `sistats`: summary rows from which `stats` computes its result; planned in `summary`.

use spl::ast::SistatsCommand;

use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, summary,
};

impl CommandPlan for SistatsCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.stats(&self.0.calls, &self.0.by);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        summary::stats(&self.0, input.span(), input.frame)
    }
}

//! `sichart`: summary rows from which `chart` computes its result; planned in `summary`.

use spl::ast::SichartCommand;

use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, summary,
};

impl CommandPlan for SichartCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.calls(&self.0.calls);
        fields.splits([&self.0.row, &self.0.column]);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        summary::chart(&self.0, input.span(), input.frame)
    }
}

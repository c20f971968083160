//! `sirare`: summary rows from which `rare` computes its result; planned in `summary`.

use spl::ast::SirareCommand;

use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, summary,
};

impl CommandPlan for SirareCommand {
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

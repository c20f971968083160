//! `sichart`: summary rows from which `chart` computes its result; planned in `summary`.

use frames::Frame;
use spl::ast::SichartCommand;

use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, TwoStep, presence,
    summary,
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

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        presence::any(&self.0.calls, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        summary::chart(&self.0, input.span(), input.frame)
    }
}

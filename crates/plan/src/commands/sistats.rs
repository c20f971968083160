//! `sistats`: summary rows from which `stats` computes its result; planned in `summary`.

use frames::Frame;
use spl::ast::SistatsCommand;

use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, TwoStep, presence,
    summary,
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

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        presence::any(&self.0.calls, frame) || presence::keys(&self.0.by, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        summary::stats(&self.0, input.span(), input.frame)
    }
}

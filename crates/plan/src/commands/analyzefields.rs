//! `analyzefields`: how well numbers predict a field.
//!
//! Split: runs at the search head, over all rows. The class predicted from a number is the one with the
//! nearest mean, where the distance is measured in standard deviations of the numbers of that class.

use spl::ast::AnalyzefieldsCommand;
use tables::analysis::analyzefields::Analyzefields;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for AnalyzefieldsCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = Analyzefields { class: self.classfield.node.clone() };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

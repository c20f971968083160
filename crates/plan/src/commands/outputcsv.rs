//! `outputcsv`: writes a CSV file; planned in `outputlookup`.

use spl::ast::OutputcsvCommand;

use super::inputlookup::Named;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, outputlookup};

impl CommandPlan for OutputcsvCommand {
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
        outputlookup::plan(&self.0, Named::File, input.frame, input.env)
    }
}

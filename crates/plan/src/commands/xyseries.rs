//! `xyseries`: values of a field become columns; planned in `reshape`.

use spl::ast::XyseriesCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, reshape};

impl CommandPlan for XyseriesCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.x.node);
        fields.name(&self.series.node);
        fields.fields(&self.values);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(reshape::xyseries(self, input.frame))
    }
}

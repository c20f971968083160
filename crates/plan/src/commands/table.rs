//! `table`: keeps only the named fields, in this order; planned in `fields`.

use spl::ast::TableCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, fields};
use context::sql::layer::names;
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for TableCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        fields::table(self, input.frame).map(Step::Next)
    }

    fn sql(&self, mut layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        layer.keep(names(&self.fields)?);
        Ok(layer)
    }
}

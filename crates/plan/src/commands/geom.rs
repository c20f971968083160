//! `geom`: the shapes of places; planned in `geomfilter`.

use spl::ast::GeomCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, geomfilter};

impl CommandPlan for GeomCommand {
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
        geomfilter::geom(self, input.span(), input.frame)
    }
}

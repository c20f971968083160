//! `geom`: the shapes of places; planned in `geomfilter`.

use spl::ast::GeomCommand;

use super::{CommandPlan, Input, Step, geomfilter};
use crate::Error;
use crate::place::Place;
use crate::required_fields::{OutputFields, RequiredFields};

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

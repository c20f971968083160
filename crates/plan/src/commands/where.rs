//! `where`: keeps rows for which a condition is true; planned in `eval`.

use spl::ast::WhereCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, eval};
use context::sql::{Layer, Reason, SqlText, expr};

impl CommandPlan for WhereCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.expr(&self.expr);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        eval::filter(self, input.frame, input.env).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        let mut layer = layer.unlimited()?;
        let condition = expr::condition(&self.expr, &layer)?;
        layer.filters.push(condition);
        Ok(layer)
    }
}

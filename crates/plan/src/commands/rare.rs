//! `rare`: the least frequent values; planned in `top`.

use spl::ast::RareCommand;

use super::top::Order;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, top};
use crate::arguments::Arguments;
use context::sql::aggregate::ranked;
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for RareCommand {
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

    fn reads_declared(&self) -> bool {
        true
    }

    fn merges_summaries(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        top::plan(&self.0, Order::Rarest, input.frame).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        ranked(&self.0, true, layer)
    }

    fn outline(&self, _: &str) -> Arguments {
        top::outlined(&self.0)
    }
}

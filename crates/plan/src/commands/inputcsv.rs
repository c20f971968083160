//! `inputcsv`: rows of a CSV file; planned in `inputlookup`.

use async_trait::async_trait;
use spl::ast::InputcsvCommand;

use super::inputlookup::Named;
use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    inputlookup,
};

#[async_trait]
impl CommandPlan for InputcsvCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    async fn begin(&self, first: First<'_>) -> Result<Begin, Error> {
        inputlookup::start(&self.0, Named::File, first.env).await.map(Begin::Rows)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        inputlookup::plan(&self.0, Named::File, input.frame, input.command.span)
    }
}

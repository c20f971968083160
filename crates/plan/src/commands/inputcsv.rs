//! `inputcsv`: rows of a CSV file; planned in `inputlookup`.

use futures::future::BoxFuture;
use spl::ast::InputcsvCommand;

use super::inputlookup::Named;
use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    inputlookup,
};

impl CommandPlan for InputcsvCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move {
            inputlookup::start(&self.0, Named::File, first.env).await.map(Begin::Rows)
        })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        inputlookup::plan(&self.0, Named::File, input.frame, input.command.span)
    }
}

//! `from`: the rows of a dataset; planned in `dataset`.

use futures::future::BoxFuture;
use spl::ast::FromCommand;

use super::{
    CommandPlan, Error, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    dataset,
};

impl CommandPlan for FromCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Expanded)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { dataset::expand_from(self, first.span, first.env).await.map(Some) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

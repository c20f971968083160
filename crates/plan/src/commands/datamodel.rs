//! `datamodel`: data models and their datasets; planned in `dataset`.

use futures::future::BoxFuture;
use spl::ast::DatamodelCommand;

use super::{
    Begin, CommandPlan, Error, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields,
    Step, dataset,
};

impl CommandPlan for DatamodelCommand {
    fn place(&self) -> Place {
        match self.mode {
            Some(_) => Place::Generating(Origin::Expanded),
            None => Place::Generating(Origin::SearchHead),
        }
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { dataset::describe(self, first.env).map(Begin::Rows) })
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { dataset::expand_datamodel(self, first.span, first.env).await })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

//! `datamodel`: data models and their datasets; planned in `dataset`.

use async_trait::async_trait;
use spl::ast::DatamodelCommand;

use super::{
    Begin, CommandPlan, Error, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields,
    Step, dataset,
};

#[async_trait]
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

    async fn begin(&self, first: First<'_>) -> Result<Begin, Error> {
        dataset::describe(self, first.env).map(Begin::Rows)
    }

    async fn expand(&self, first: First<'_>) -> Result<Option<Expanded>, Error> {
        dataset::expand_datamodel(self, first.span, first.env).await
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

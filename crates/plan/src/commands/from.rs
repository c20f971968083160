//! `from`: the rows of a dataset; planned in `dataset`.

use async_trait::async_trait;
use spl::ast::FromCommand;

use super::{
    CommandPlan, Error, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    dataset,
};

#[async_trait]
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

    async fn expand(&self, first: First<'_>) -> Result<Option<Expanded>, Error> {
        dataset::expand_from(self, first.span, first.env).await.map(Some)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

//! `dbinspect`: what buckets say of themselves; planned in `eventcount`.

use async_trait::async_trait;
use spl::ast::DbinspectCommand;

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    eventcount,
};

#[async_trait]
impl CommandPlan for DbinspectCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Indexers)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    async fn begin(&self, first: First<'_>) -> Result<Begin, Error> {
        eventcount::dbinspect(self, first.env).await.map(Begin::Rows)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

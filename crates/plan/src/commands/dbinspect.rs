//! `dbinspect`: the properties of buckets; planned in `eventcount`.

use futures::future::BoxFuture;
use spl::ast::DbinspectCommand;

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    eventcount,
};

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

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { eventcount::dbinspect(self, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

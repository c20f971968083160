//! `history`: the searches that were run before.
//!
//! Split: runs at the search head.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::HistoryCommand;

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use context::planning::{PlanningContext, SourceRows};

impl CommandPlan for HistoryCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

pub(super) async fn start(
    command: &HistoryCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let mut rows = env.context.host.history().await?;
    if command.events && rows.column("_raw").is_none() {
        let texts = rows.texts("search")?;
        rows.set_texts("_raw", texts);
    }
    Ok(SourceRows {
        frame: Frame::of_rows(rows)?,
        range: env.context.range,
        indexes: Vec::new(),
        messages: Vec::new(),
    })
}

//! `set`: set operations on the rows of two searches.
//!
//! Split: the search head compares whole rows by hash; both searches split like any search.

use futures::future::BoxFuture;
use spl::ast::{SetCommand, SetOperation};
use tables::shape::set::combined;

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use context::planning::{PlanningContext, SourceRows};
use context::stage::inner::{Bounds, Inner};
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for SetCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(
            async move { Ok(Begin::Materialize(SourceRows::nothing(first.env)?, breaker(self))) },
        )
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// Returns the step that computes the result. The command begins a search, so it has no input rows.
fn breaker(command: &SetCommand) -> Breaker {
    let inner = command.searches.clone().map(|search| Inner {
        pipeline: *search.pipeline,
        tail: Vec::new(),
        bounds: Bounds::default(),
        command: "set",
    });
    Breaker::table(Set { operation: command.operation, searches: inner })
}

#[derive(Debug)]
struct Set {
    operation: SetOperation,
    searches: [Inner; 2],
}

impl TableOp for Set {
    fn apply<'a>(
        &'a self,
        _: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let [one, other] = &self.searches;
            let (one, other) = (one.rows(env).await?, other.rows(env).await?);
            Ok(combined(&one, &other, self.operation, env.context.limits.stage_rows)?)
        })
    }
}

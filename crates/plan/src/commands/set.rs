//! `set`: the rows of two searches as sets.
//!
//! Split: the search head compares whole rows by hash; both searches split like any search.

use async_trait::async_trait;
use spl::ast::{SetCommand, SetOperation};
use tables::shape::set::combined;

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use crate::context::{PlanningContext, SourceRows};
use crate::stage::inner::{Bounds, Inner};
use crate::stage::{Breaker, Rows, TableOp};

#[async_trait]
impl CommandPlan for SetCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    async fn begin(&self, first: First<'_>) -> Result<Begin, Error> {
        Ok(Begin::Materialize(SourceRows::nothing(first.env)?, breaker(self)))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// What becomes of no rows.
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

#[async_trait]
impl TableOp for Set {
    async fn apply(&self, _: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let [one, other] = &self.searches;
        let (one, other) = (one.rows(env).await?, other.rows(env).await?);
        Ok(combined(&one, &other, self.operation, env.context.limits.stage_rows)?)
    }
}

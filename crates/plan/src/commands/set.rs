//! `set`: the rows of two searches as sets.
//!
//! Split: the search head compares whole rows by hash; both searches split like any search.

use std::collections::HashSet;

use async_trait::async_trait;
use spl::ast::{SetCommand, SetOperation};

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use crate::pipeline::{PlanningContext, SourceRows};
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
        let (one_keys, other_keys) = (one.whole_keys()?, other.whole_keys()?);
        let in_one: HashSet<&str> = one_keys.iter().map(String::as_str).collect();
        let in_other: HashSet<&str> = other_keys.iter().map(String::as_str).collect();
        let operation = self.operation;
        let of_one = distinct(&one_keys, |key| match operation {
            SetOperation::Union => true,
            SetOperation::Diff => !in_other.contains(key),
            SetOperation::Intersect => in_other.contains(key),
        });
        let of_other = distinct(&other_keys, |key| {
            operation != SetOperation::Intersect && !in_one.contains(key)
        });
        let (one, other) = (one.take(&of_one)?, other.take(&of_other)?);
        Ok(Rows::stacked(vec![one, other], env.context.limits.stage_rows)?)
    }
}

/// The places of the first rows with each of the keys wanted.
fn distinct(keys: &[String], wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(keys.len());
    let found = keys.iter().enumerate().filter(|(_, key)| wanted(key) && seen.insert(key.as_str()));
    found.map(|(place, _)| place).collect()
}

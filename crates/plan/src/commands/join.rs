//! `join`: adds the fields of rows of another search that have the same key values.
//!
//! Split: the search head joins by hash; the subsearch splits like any search.

use futures::future::BoxFuture;
use spl::ast::{Command, FieldPattern, JoinCommand, JoinOn, Spanned, TableCommand};
use tables::places;
use tables::shape::join::Matching;

use super::required::required_by_joined;
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, MessageKind};
use context::planning::PlanningContext;
use context::stage::inner::{Bounds, Inner, pipeline_of};
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for JoinCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        if self.on.is_none() {
            fields.fields(&self.fields);
            if self.fields.is_empty() {
                fields.all();
            }
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn reads_declared(&self) -> bool {
        self.on.is_none()
    }

    fn required_after(&self, rest: &[Spanned<Command>]) -> Option<RequiredFields> {
        let on = self.on.as_ref()?;
        let keys = on.pairs.iter().map(|(left, _)| left.node.clone());
        Some(required_by_joined(&on.left, keys, rest))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input)
    }
}

fn plan(join: &JoinCommand, input: Input<'_>) -> Result<Step, Error> {
    let pipeline = pipeline_of(&join.dataset)?;
    let tail = match &join.on {
        Some(on) => right_tail(on, input.rest, input.span()),
        None => input.tail(),
    };
    let inner = Inner { pipeline, tail, bounds: Bounds::from(&join.options), command: "join" };
    Ok(Step::Materialize(input.frame, Breaker::table(Join { inner, join: join.clone() })))
}

/// Returns a `table` command with the fields that the right side must read: its keys, and the fields that are
/// mentioned with its alias.
fn right_tail(on: &JoinOn, rest: &[Spanned<Command>], span: spl::Span) -> Vec<Spanned<Command>> {
    let keys = on.pairs.iter().map(|(_, right)| right.node.clone());
    let required = required_by_joined(&on.right, keys, rest);
    let names = required.names.into_iter().chain(required.patterns);
    let fields = names.map(|name| FieldPattern::new(name, span)).collect();
    vec![Spanned::new(Command::Table(TableCommand { fields }), span)]
}

#[derive(Debug)]
struct Join {
    inner: Inner,
    join: JoinCommand,
}

impl TableOp for Join {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let other = self.inner.rows(env).await?;
            let (left_keys, right_keys) = self.key_fields(&rows, &other, env);
            let matching = Matching {
                most: self.join.max,
                outer: self.join.outer,
                time: self.join.usetime.then_some(self.join.earlier),
            };
            let limit = env.context.limits.stage_rows;
            let stop = env.context.planning.stop();
            let pairs = matching.pairs((&rows, &left_keys), (&other, &right_keys), limit, &stop)?;
            let left = places(pairs.iter().map(|(left, _)| Some(*left)));
            let right = places(pairs.iter().map(|(_, right)| *right));
            match &self.join.on {
                None => Ok(rows.beside(&left, &other, &right, |_| self.join.overwrite)?),
                Some(on) => {
                    let (rows, other) = (prefixed(rows, &on.left), prefixed(other, &on.right));
                    Ok(rows.beside(&left, &other, &right, |_| false)?)
                }
            }
        })
    }
}

impl Join {
    /// Returns the fields of both sides that must be equal.
    fn key_fields(
        &self,
        rows: &Rows,
        other: &Rows,
        env: &PlanningContext<'_>,
    ) -> (Vec<String>, Vec<String>) {
        if let Some(on) = &self.join.on {
            let names = |(left, right): &(spl::ast::Field, spl::ast::Field)| {
                (left.node.clone(), right.node.clone())
            };
            return on.pairs.iter().map(names).unzip();
        }
        let mut fields: Vec<String> =
            self.join.fields.iter().map(|field| field.node.clone()).collect();
        if fields.is_empty() {
            let common = |name: &String| !name.starts_with('_') && other.column(name).is_some();
            fields = rows.names().into_iter().filter(common).collect();
            if fields.is_empty() {
                let text = "join found no field that both searches have";
                env.log.add(MessageKind::Warning, text);
            }
        }
        (fields.clone(), fields)
    }
}

/// Prefixes the field names with an alias, except internal ones.
fn prefixed(mut rows: Rows, alias: &str) -> Rows {
    for column in &mut rows.columns {
        if !column.name.starts_with('_') {
            column.name = format!("{alias}.{}", column.name);
        }
    }
    rows
}

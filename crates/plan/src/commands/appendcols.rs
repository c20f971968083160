//! `appendcols`: adds the fields of another search to the rows, row by row.
//!
//! Split: the search head joins the results by position; the subsearch splits like any search.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::AppendcolsCommand;
use tables::places;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::planning::PlanningContext;
use context::stage::inner::{Bounds, Inner};
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for AppendcolsCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let tail = input.tail();
        Ok(plan(self, input.frame, tail))
    }
}

pub(super) fn plan(
    command: &AppendcolsCommand,
    frame: Frame,
    tail: Vec<spl::Spanned<spl::ast::Command>>,
) -> Step {
    let pipeline = (*command.subsearch.pipeline).clone();
    let bounds = Bounds::from(&command.options);
    let inner = Inner { pipeline, tail, bounds, command: "appendcols" };
    Step::Materialize(frame, Breaker::table(Appendcols { inner, replace: command.replace }))
}

#[derive(Debug)]
struct Appendcols {
    inner: Inner,
    /// Whether values of the subsearch replace existing values.
    replace: bool,
}

impl TableOp for Appendcols {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let mut other = self.inner.rows(env).await?;
            other.columns.retain(|column| !column.name.starts_with('_'));
            let count = rows.count.max(other.count);
            let of = |limit: usize| places((0..count).map(|row| (row < limit).then_some(row)));
            Ok(rows.beside(&of(rows.count), &other, &of(other.count), |_| self.replace)?)
        })
    }
}

//! `append=` of `tstats`, `mstats` and `mcatalog`: combines the rows of several such commands for one later
//! command.
//!
//! Split: leading commands with `prestats=` are read where the events are, like the searches of
//! `multisearch`; the search head appends the rows of other commands.

use futures::future::BoxFuture;
use spl::ast::{Command, MultisearchCommand, Pipeline, Spanned, Subsearch};

use super::{Input, Step};
use crate::Error;
use context::planning::PlanningContext;
use context::stage::inner::{Bounds, Inner};
use context::stage::stack::Stack;
use context::stage::{Breaker, Rows, TableOp};

/// Returns the pipeline with its leading `prestats=` commands combined into one `multisearch`; `None` if
/// there are fewer than two.
pub(crate) fn together(commands: &[Spanned<Command>]) -> Option<Vec<Spanned<Command>>> {
    let mut rest = commands.iter();
    let first = rest.next().filter(|first| prestats(&first.node))?;
    let behind = rest.take_while(|next| prestats(&next.node) && appends(&next.node)).count();
    if behind == 0 {
        return None;
    }
    let (several, rest) = commands.split_at(1 + behind);
    let search = |command: &Spanned<Command>| Subsearch {
        pipeline: Box::new(Pipeline { commands: vec![alone(command)] }),
        span: command.span,
    };
    let searches = several.iter().map(search).collect();
    let together = Command::Multisearch(MultisearchCommand { searches });
    Some([vec![Spanned::new(together, first.span)], rest.to_vec()].concat())
}

/// Appends the rows of a command to the previous rows.
pub(super) fn append(input: Input<'_>) -> Step {
    let pipeline = Pipeline { commands: vec![alone(input.command)] };
    let (tail, command) = (input.tail(), input.command.node.name());
    let inner = Inner { pipeline, tail, bounds: Bounds::default(), command };
    Step::Materialize(input.frame, Breaker::table(Below(inner)))
}

/// Whether the rows of a command are appended to others.
fn appends(command: &Command) -> bool {
    match command {
        Command::Tstats(command) => command.append,
        Command::Mstats(command) => command.append,
        Command::Mcatalog(command) => command.append,
        _ => false,
    }
}

fn prestats(command: &Command) -> bool {
    match command {
        Command::Tstats(command) => command.prestats,
        Command::Mstats(command) => command.prestats && !command.points,
        _ => false,
    }
}

/// Returns the command without `append=`.
fn alone(command: &Spanned<Command>) -> Spanned<Command> {
    let mut alone = command.clone();
    match &mut alone.node {
        Command::Tstats(command) => command.append = false,
        Command::Mstats(command) => command.append = false,
        Command::Mcatalog(command) => command.append = false,
        _ => {}
    }
    alone
}

#[derive(Debug)]
struct Below(Inner);

impl TableOp for Below {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let mut stack = Stack::new(env)?;
            stack.push(rows)?;
            stack.push(self.0.all_rows(env).await?)?;
            stack.stacked(env.context.limits.stage_rows)
        })
    }
}

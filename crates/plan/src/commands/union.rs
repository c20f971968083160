//! `union`: combines the rows of several searches.
//!
//! Split: event searches with only streaming commands run where the events are, and are merged by time; the
//! search head appends the rows of others.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{
    AppendCommand, Command, Dataset, MultisearchCommand, Pipeline, Spanned, Subsearch, UnionCommand,
};
use spl::{CommandKind, Span};

use super::{
    CommandPlan, Error, Expanded, First, Input, OutputFields, Place, RequiredFields, Step,
};
use context::planning::PlanningContext;
use context::stage::inner::{Bounds, Inner, pipeline_of};
use context::stage::stack::Stack;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for UnionCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { expand(self, first.span, first.env).map(Some) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let tail = input.tail();
        plan(self, input.frame, &tail)
    }
}

/// Expands a leading `union`: streaming searches before the first other one are merged, and the rest is
/// appended.
pub(super) fn expand(
    command: &UnionCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Expanded, Error> {
    let subsearch = |dataset: &Dataset| {
        let pipeline = Box::new(pipeline_of(dataset)?);
        Ok::<_, Error>(Subsearch { pipeline, span: dataset.span() })
    };
    let mut searches =
        command.datasets.iter().map(subsearch).collect::<Result<Vec<Subsearch>, Error>>()?;
    let streaming = searches.iter().take_while(|search| streams(&search.pipeline)).count();
    let below = searches.split_off(streaming.clamp(1, searches.len()));
    let mut commands = match searches.len() {
        1 => searches.remove(0).pipeline.commands,
        _ => vec![Spanned::new(Command::Multisearch(MultisearchCommand { searches }), span)],
    };
    let options = &command.options;
    commands.extend(below.into_iter().map(|subsearch| {
        let append = AppendCommand {
            subsearch,
            maxtime: options.maxtime,
            maxout: options.maxout,
            timeout: options.timeout,
            extendtimerange: options.extendtimerange,
        };
        Spanned::new(Command::Append(append), span)
    }));
    Ok(Expanded::of(commands, env))
}

/// Whether a pipeline returns events, newest first, without collecting them.
fn streams(pipeline: &Pipeline) -> bool {
    let Some((first, rest)) = pipeline.commands.split_first() else { return false };
    let streaming =
        |command: &Spanned<Command>| command.node.definition().kind == CommandKind::Streaming;
    matches!(first.node, Command::Search(_)) && rest.iter().all(streaming)
}

pub(super) fn plan(
    command: &UnionCommand,
    frame: Frame,
    tail: &[Spanned<Command>],
) -> Result<Step, Error> {
    let bounds = Bounds::from(&command.options);
    let inner = |dataset: &Dataset| {
        let pipeline = pipeline_of(dataset)?;
        let streams = streams(&pipeline);
        Ok::<_, Error>((streams, Inner { pipeline, tail: tail.to_vec(), bounds, command: "union" }))
    };
    let searches = command.datasets.iter().map(inner).collect::<Result<_, Error>>()?;
    let events = frame.open;
    Ok(Step::Materialize(frame, Breaker::table(Union { events, searches })))
}

#[derive(Debug)]
struct Union {
    /// Whether the input rows are events.
    events: bool,
    /// The other searches, and whether each is streaming.
    searches: Vec<(bool, Inner)>,
}

impl TableOp for Union {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            // Streaming searches are merged by time; from the first other search on, rows are appended.
            let mut merging = self.events && rows.newest_first()?;
            let mut stack = Stack::new(env)?;
            stack.push(rows)?;
            let most = env.context.limits.stage_rows;
            for (streams, search) in &self.searches {
                if merging && !streams {
                    merging = false;
                    let merged = stack.stacked(most)?.by_time()?;
                    stack = Stack::new(env)?;
                    stack.push(merged)?;
                }
                stack.push(match merging {
                    true => search.all_rows(env).await?,
                    false => search.rows(env).await?,
                })?;
            }
            let stacked = stack.stacked(most)?;
            if merging { Ok(stacked.by_time()?) } else { Ok(stacked) }
        })
    }
}

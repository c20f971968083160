//! From text to stages: parses a search, builds the frame of its source and lets each command
//! change it, until the end or a command that must see rows first.

pub(crate) mod depth;

use std::borrow::Cow;

use frames::{Frame, weight};
use model::columns::ORIGIN_AND_INDEX;
use spl::ast::{Command, Pipeline, SearchExpr, Spanned};

use crate::commands::presence::{asked, is_wide};
use crate::commands::required::{readers, without_unread};
use crate::commands::{self, Begin, Step};
use crate::{Error, MessageLog, PlanContext, PlannedSearch, ResultKind};
use context::planning::{
    Advanced, Breaker, LookedUp, Planner, Planning, PlanningContext, Remainder, SourceRows,
    StagePlan, Subsearches, Watch,
};
use context::subsearch;

/// The planner of inner pipelines.
pub(crate) const PIPELINES: Pipelines = Pipelines;

/// The [`Planner`] of all searches.
#[derive(Debug)]
pub(crate) struct Pipelines;

impl Planner for Pipelines {
    fn search<'p>(
        &self,
        pipeline: &'p Pipeline,
        tail: Option<&'p [Spanned<Command>]>,
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, PlannedSearch> {
        plan_before(pipeline, tail, env)
    }

    fn stage<'p>(
        &self,
        frame: Frame,
        commands: &'p [Spanned<Command>],
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, StagePlan> {
        plan_stage(frame, commands, env)
    }

    fn advance<'p>(
        &self,
        frame: Frame,
        commands: &'p [Spanned<Command>],
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, Advanced> {
        Box::pin(advance(frame, commands, env))
    }
}

/// Plans a search.
///
/// # Errors
/// If the text is not SPL, names what does not exist, or the source cannot be asked.
pub async fn plan_search(
    text: &str,
    context: &PlanContext,
    subsearches: Subsearches<'_>,
) -> Result<PlannedSearch, Error> {
    plan_search_watched(text, context, subsearches, None).await
}

/// Plans a search with an observer of the plans of its subsearches; see [`plan_search`].
///
/// # Errors
/// As [`plan_search`].
pub async fn plan_search_watched(
    text: &str,
    context: &PlanContext,
    subsearches: Subsearches<'_>,
    watch: Option<&dyn Watch>,
) -> Result<PlannedSearch, Error> {
    let log = MessageLog::default();
    let range = context.restriction.hold(context.range, context.now, &log);
    let context = &PlanContext { range, ..context.clone() };
    let env = PlanningContext::new(context, &log, None, &PIPELINES).resolving(subsearches);
    let env = env.watched(watch);
    let planning = Box::pin(async {
        let pipeline = subsearch::parse(text, subsearches, &env).await?;
        plan_before(&pipeline, None, &env).await
    });
    context.planning.counted(planning).await
}

/// Plans a search within another one, described by an [`InnerSearch`](crate::InnerSearch).
///
/// # Errors
/// As [`plan_search`].
pub async fn plan_inner(
    text: &str,
    tail: Option<&str>,
    context: &PlanContext,
) -> Result<PlannedSearch, Error> {
    let log = MessageLog::default();
    let subsearches = Subsearches::Refuse;
    let env = PlanningContext::new(context, &log, None, &PIPELINES).resolving(subsearches);
    let planning = Box::pin(async {
        let pipeline = subsearch::parse(text, subsearches, &env).await?;
        let tail = match tail {
            None => None,
            Some("") => Some(Vec::new()),
            Some(tail) => Some(subsearch::parse(tail, subsearches, &env).await?.commands),
        };
        plan_before(&pipeline, tail.as_deref(), &env).await
    });
    context.planning.counted(planning).await
}

/// Plans the stage of a search that follows these lookups, and returns the search from there on.
///
/// # Errors
/// If the search has other stages, or the next one cannot be planned.
pub async fn plan_after(
    mut planned: PlannedSearch,
    looked_up: &[LookedUp],
) -> Result<PlannedSearch, Error> {
    for one in looked_up {
        let Some(rest) = planned.rest.take() else {
            return Err(Error::internal("the search has fewer stages"));
        };
        let env = PlanningContext::new(&rest.context, &planned.log, None, &PIPELINES);
        let frame = rest.breaker.knowing(one)?;
        let stage = plan_stage(frame, &rest.commands, &env).await?;
        planned.plan = stage.plan;
        planned.columns = stage.columns;
        planned.kind = stage.kind;
        planned.hidden_fields = stage.filter;
        planned.unformatted = stage.unformatted;
        planned.rest = stage.rest;
    }
    Ok(planned)
}

/// Implements [`context::planning::plan_before`].
fn plan_before<'p>(
    pipeline: &'p Pipeline,
    tail: Option<&'p [Spanned<Command>]>,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, PlannedSearch> {
    Box::pin(plan_whole(pipeline, tail, env))
}

async fn plan_whole(
    pipeline: &Pipeline,
    tail: Option<&[Spanned<Command>]>,
    env: &PlanningContext<'_>,
) -> Result<PlannedSearch, Error> {
    let limit = env.context.limits.commands;
    if pipeline.commands.len() > limit {
        let message = format!("the search has more than {limit} commands (a fixed limit)");
        return Err(Error::Exhausted { message });
    }
    let Some((first, rest)) = pipeline.commands.split_first() else {
        return Err(Error::invalid_anywhere("the search is empty"));
    };
    if let Some(together) = commands::prestats::together(&pipeline.commands) {
        let inner = Pipeline { commands: together };
        let mut planned = plan_before(&inner, tail, &env.deeper()?).await?;
        planned.normalized = pipeline.to_string();
        return Ok(planned);
    }
    if let Some(expanded) = commands::expand(first, env).await? {
        let mut context = env.context.clone();
        (context.range, context.index_range) = (expanded.range, expanded.index_range);
        let inner = Pipeline { commands: [&expanded.commands, rest].concat() };
        let env = env.within(&context).deeper()?;
        let mut planned = plan_before(&inner, tail, &env).await?;
        planned.normalized = pipeline.to_string();
        return Ok(planned);
    }
    let mentioned = readers(&pipeline.commands, tail);
    let (start, breaker, rest) = match commands::begin(first, &mentioned, rest, env).await? {
        Begin::Rows(start) => (start, None, rest),
        Begin::Materialize(start, breaker) => (start, Some(breaker), rest),
        Begin::Nothing => (SourceRows::nothing(env)?, None, &pipeline.commands[..]),
    };
    let mut context = env.context.clone();
    context.range = start.range;
    let ranged = env.within(&context);
    let mut frame = start.frame;
    frame.words = highlight(std::slice::from_ref(first));
    let stage = match breaker {
        Some(breaker) => stage_before(&frame, breaker, rest, &ranged)?,
        None => plan_stage(frame, rest, &ranged).await?,
    };
    Ok(PlannedSearch {
        plan: stage.plan,
        kind: stage.kind,
        columns: stage.columns,
        hidden_fields: stage.filter,
        unformatted: stage.unformatted,
        range: start.range,
        indexes: start.indexes,
        messages: start.messages,
        highlight: highlight(&pipeline.commands),
        normalized: pipeline.to_string(),
        rest: stage.rest,
        log: env.log.clone(),
    })
}

/// Plans commands over a frame, up to the first one that needs rows.
pub(crate) fn plan_stage<'p>(
    frame: Frame,
    commands: &'p [Spanned<Command>],
    env: &'p PlanningContext<'_>,
) -> Planning<'p, StagePlan> {
    env.context.planning.counted(Box::pin(async move {
        let (frame, breaker) = advance(frame, commands, env).await?;
        match breaker {
            Some((breaker, left)) => stage_before(&frame, breaker, &left, env),
            None if is_wide(&frame, &env.context.limits)
                && frame.result_kind() == ResultKind::Report =>
            {
                let (frame, breaker) = counted(frame)?;
                stage_before(&frame, breaker, &[], env)
            }
            None => stage(&frame, None, env),
        }
    }))
}

/// Implements [`context::planning::advance`].
async fn advance(
    mut frame: Frame,
    commands: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<Advanced, Error> {
    let mut commands = Cow::Borrowed(commands);
    let mut at = 0;
    while let Some(command) = commands.get(at) {
        env.context.planning.check()?;
        frame = without_unread(frame, &commands[at..])?;
        let wide = is_wide(&frame, &env.context.limits).then(|| frame.clone());
        let step = commands::plan(command, frame, &commands[at + 1..], env).await?;
        // Lets a search end here that was cancelled or whose client has disconnected.
        tokio::task::yield_now().await;
        match step {
            Step::Next(next) => {
                frame = next;
                at += 1;
            }
            Step::Replace(next, instead) => {
                frame = next;
                commands.to_mut().splice(at..=at, instead);
            }
            Step::Materialize(next, breaker) => {
                // Collected rows have only fields with values.
                let (frame, breaker) = match wide {
                    Some(wide) if matches!(breaker, Breaker::Table(_)) => counted(wide)?,
                    _ => (next, breaker),
                };
                // A command that requested the extent or the existing fields is planned again once they are
                // known.
                let left = commands[if breaker.reads_again() { at } else { at + 1 }..].to_vec();
                return Ok((frame, Some((breaker, left))));
            }
        }
        frame.extent = None;
        frame.time_extent = None;
    }
    Ok((frame, None))
}

/// Returns a stage that counts the values of possible fields.
fn counted(frame: Frame) -> Result<(Frame, Breaker), Error> {
    match asked(frame)? {
        Step::Materialize(counts, breaker) => Ok((counts, breaker)),
        _ => Err(Error::internal("counts of values are a stage")),
    }
}

/// Ends a stage before commands that are planned once its rows are known.
fn stage_before(
    frame: &Frame,
    breaker: Breaker,
    commands: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<StagePlan, Error> {
    let (context, formats) = (env.context.clone(), frame.formats.clone());
    let (commands, composed) = (commands.to_vec(), frame.composed().clone());
    let rest = Remainder { breaker, commands, context, formats, composed };
    stage(frame, Some(rest), env)
}

fn stage(
    frame: &Frame,
    rest: Option<Remainder>,
    env: &PlanningContext<'_>,
) -> Result<StagePlan, Error> {
    depth::check(frame.plan(), env.context.limits.plan_depth)?;
    weight::check(frame.plan(), env.context.limits.memory_bytes)?;
    let (mut plan, mut columns) = frame.finish()?;
    let mut unformatted = None;
    if rest.is_none() && !frame.formats.is_empty() {
        let values = frame.formats.values(&env.scope(frame))?;
        let shown = frame.clone().with_columns(values)?.finish()?;
        unformatted = Some((plan.into(), columns));
        (plan, columns) = shown;
    }
    let kind = if rest.is_some() { ResultKind::Report } else { frame.result_kind() };
    let (plan, filter) = (plan.into(), frame.filter.clone());
    Ok(StagePlan { plan, columns, kind, filter, unformatted, rest })
}

/// Returns the words and phrases in the leading filter, and those of `highlight`.
fn highlight(commands: &[Spanned<Command>]) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(Command::Search(search)) = commands.first().map(|command| &command.node)
        && let Some(expr) = &search.expr
    {
        expr.walk_positive(&mut |part| words.extend(words_of(part)));
    }
    for command in commands {
        if let Command::Highlight(command) = &command.node {
            words.extend(command.texts.iter().cloned());
        }
    }
    words
}

/// Returns the words in a part of a filter, unless it is negated.
fn words_of(expr: &SearchExpr) -> Option<String> {
    match expr {
        SearchExpr::Term(term) if !term.pattern.is_any() => Some(term.pattern.text()),
        SearchExpr::Directive(directive) => Some(directive.pattern.text()),
        SearchExpr::Comparison(comparison)
            if comparison.operator == spl::ast::ComparisonOperator::Equal
                && !is_metadata(&comparison.field.node)
                && !comparison.value.pattern.is_any() =>
        {
            Some(comparison.value.pattern.text())
        }
        _ => None,
    }
}

fn is_metadata(name: &str) -> bool {
    ORIGIN_AND_INDEX.contains(&name) || name.starts_with('_')
}

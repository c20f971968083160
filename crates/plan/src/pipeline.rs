//! From text to stages: parses a search, builds the frame of its source and lets each command
//! change it, until the end or a command that must see rows first.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use model::{EventTime, IndexName, TimeRange};
use spl::ast::{Command, Pipeline, SearchExpr, Spanned};

use crate::commands::{self, Begin, Step};
use crate::expr::Scope;
use crate::frame::Frame;
use crate::functions::lookup::Lookups;
use crate::lookup::Lookup;
use crate::required_fields::readers;
use crate::stage::{Breaker, Remainder, Rows};
use crate::type_erased::TypeErased;
use crate::types::ValueType;
use crate::{
    Error, FieldFilter, Message, MessageLog, OutputColumn, PlanContext, PlannedSearch, ResultKind,
    Session, Subsearches, Watch, subsearch,
};

/// Searches within each other, such as saved searches that name others, at most.
const MAX_DEPTH: usize = 20;

/// A step of planning whose type callers do not see.
///
/// Planning calls itself in many places. Were all of it one type, the compiler would look through the
/// whole of it wherever a future has to be `Send`: that was most of the time this crate took to build.
pub(crate) type Planning<'p, T> = BoxFuture<'p, Result<T, Error>>;

/// What commands are planned against.
#[derive(Clone, Copy)]
pub(crate) struct PlanningContext<'e> {
    pub(crate) context: &'e PlanContext,
    /// Where operators leave messages.
    pub(crate) log: &'e MessageLog,
    /// Where stages run; absent while the first one is planned.
    session: Option<&'e Session>,
    /// Who sees their plans.
    watch: Option<&'e dyn Watch>,
    /// What becomes of subsearches in the text of saved searches, while no session is there.
    subsearches: Subsearches<'e>,
    /// How many searches are around this one.
    depth: usize,
    /// Whether the rows are a preview, for which nothing outside the search is changed.
    dry_run: bool,
    /// What the expressions of a command may ask.
    lookups: Option<&'e Lookups>,
}

impl<'e> PlanningContext<'e> {
    pub(crate) fn new(
        context: &'e PlanContext,
        log: &'e MessageLog,
        session: Option<&'e Session>,
    ) -> Self {
        let subsearches = session.map_or(Subsearches::Skip, Subsearches::Run);
        let (watch, lookups) = (None, None);
        Self { context, log, session, watch, subsearches, depth: 0, dry_run: false, lookups }
    }

    /// The same, which treats subsearches in the text of saved searches like this.
    pub(crate) fn resolving(self, subsearches: Subsearches<'e>) -> Self {
        Self { subsearches, ..self }
    }

    /// The same where stages run.
    pub(crate) fn running<'n>(&self, session: &'n Session) -> PlanningContext<'n>
    where
        'e: 'n,
    {
        PlanningContext { session: Some(session), subsearches: Subsearches::Run(session), ..*self }
    }

    /// What becomes of subsearches in the text of searches that this one names.
    pub(crate) fn subsearches(&self) -> Subsearches<'e> {
        self.subsearches
    }

    /// The same for a search within this one.
    pub(crate) fn deeper(self) -> Result<Self, Error> {
        if self.depth >= MAX_DEPTH {
            let message = format!("searches run within each other more than {MAX_DEPTH} deep");
            return Err(Error::invalid_anywhere(message));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    /// The same with somebody who sees the plans that run.
    pub(crate) fn watched(self, watch: Option<&'e dyn Watch>) -> Self {
        Self { watch, ..self }
    }

    /// The same, as a dry run or not: for a preview, nothing outside the search is changed.
    pub(crate) fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Whether commands may change nothing outside the search.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Who sees the plans that run.
    pub(crate) fn watch(&self) -> Option<&'e dyn Watch> {
        self.watch
    }

    /// The same with another context, such as a narrower time range.
    pub(crate) fn within<'n>(&self, context: &'n PlanContext) -> PlanningContext<'n>
    where
        'e: 'n,
    {
        PlanningContext { context, ..*self }
    }

    /// The same for expressions that may ask lookups.
    pub(crate) fn asking<'n>(&self, lookups: &'n Lookups) -> PlanningContext<'n>
    where
        'e: 'n,
    {
        PlanningContext { lookups: Some(lookups), ..*self }
    }

    /// The session in which stages run.
    pub(crate) fn session(&self) -> Result<&'e Session, Error> {
        self.session.ok_or_else(|| Error::internal("a stage runs while a search is planned"))
    }

    /// What expressions over a frame can see.
    pub(crate) fn scope<'s>(&'s self, frame: &'s Frame) -> FrameScope<'s> {
        FrameScope { frame, context: self.context, lookups: self.lookups }
    }
}

/// The fields of a frame, for expressions.
#[derive(Debug)]
pub(crate) struct FrameScope<'s> {
    frame: &'s Frame,
    context: &'s PlanContext,
    lookups: Option<&'s Lookups>,
}

impl Scope for FrameScope<'_> {
    fn field(&self, name: &str) -> Option<ValueType> {
        self.frame.kind(name)
    }

    fn fields(&self) -> Vec<String> {
        self.frame.names()
    }

    fn lookup(&self, table: &str, inputs: &[String]) -> Option<Arc<Lookup>> {
        self.lookups?.get(table, inputs)
    }

    fn now(&self) -> EventTime {
        self.context.now
    }

    fn timezone(&self) -> &TimeZone {
        &self.context.timezone
    }
}

/// One stage, ready to run.
#[derive(Debug, Clone)]
pub(crate) struct StagePlan {
    pub(crate) plan: TypeErased<LogicalPlan>,
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) kind: ResultKind,
    pub(crate) filter: FieldFilter,
    /// Plan and columns without the formats of fields, if there are any.
    pub(crate) unformatted: Option<(TypeErased<LogicalPlan>, Vec<OutputColumn>)>,
    pub(crate) rest: Option<Remainder>,
}

/// What a generating command starts from.
#[derive(Debug)]
pub(crate) struct SourceRows {
    pub(crate) frame: Frame,
    pub(crate) range: TimeRange,
    pub(crate) indexes: Vec<IndexName>,
    pub(crate) messages: Vec<Message>,
}

impl SourceRows {
    /// No rows and no fields.
    pub(crate) fn nothing(env: &PlanningContext<'_>) -> Result<Self, Error> {
        let frame = Frame::of_rows(Rows::blank(0))?;
        let range = env.context.range;
        Ok(Self { frame, range, indexes: Vec::new(), messages: Vec::new() })
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
    let log = MessageLog::default();
    let range = context.restriction.hold(context.range, context.now, &log);
    let context = &PlanContext { range, ..context.clone() };
    let env = PlanningContext::new(context, &log, None).resolving(subsearches);
    let planning = Box::pin(async {
        let pipeline = subsearch::parse(text, subsearches, &env).await?;
        plan_pipeline(&pipeline, &env).await
    });
    context.planning.counted(planning).await
}

/// Plans a pipeline. One that does not begin with a generating command works on no rows.
pub(crate) async fn plan_pipeline(
    pipeline: &Pipeline,
    env: &PlanningContext<'_>,
) -> Result<PlannedSearch, Error> {
    plan_before(pipeline, None, env).await
}

/// As [`plan_pipeline`], for rows that go on through `tail`: what its commands mention is read.
pub(crate) fn plan_before<'p>(
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
        let message = format!("the search has more than {limit} commands (limit commands)");
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
        context.range = expanded.range;
        let inner = Pipeline { commands: [&expanded.commands, rest].concat() };
        let env = env.within(&context).deeper()?;
        let mut planned = plan_before(&inner, tail, &env).await?;
        planned.normalized = pipeline.to_string();
        return Ok(planned);
    }
    let mentioned = readers(&pipeline.commands, tail);
    let (start, breaker, rest) = match commands::begin(first, &mentioned, env).await? {
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

/// Plans commands over a frame, up to the first that must see rows.
pub(crate) fn plan_stage<'p>(
    frame: Frame,
    commands: &'p [Spanned<Command>],
    env: &'p PlanningContext<'_>,
) -> Planning<'p, StagePlan> {
    env.context.planning.counted(Box::pin(async move {
        let (frame, breaker) = advance(frame, commands, env).await?;
        match breaker {
            Some((breaker, left)) => stage_before(&frame, breaker, &left, env),
            None => stage(&frame, None, env),
        }
    }))
}

/// Lets commands change a frame, up to the first that must see rows: what that does with them, and the
/// commands that follow.
pub(crate) async fn advance(
    mut frame: Frame,
    commands: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<(Frame, Option<(Breaker, Vec<Spanned<Command>>)>), Error> {
    let mut commands = Cow::Borrowed(commands);
    let mut at = 0;
    while let Some(command) = commands.get(at) {
        env.context.planning.check()?;
        let step = commands::plan(command, frame, &commands[at + 1..], env).await?;
        // A search that was cancelled, or whose client has left, ends here.
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
            Step::Materialize(frame, breaker) => {
                // A command that asked for the extent of a field runs again once it is known.
                let again = matches!(breaker, Breaker::Extent(_));
                let left = commands[if again { at } else { at + 1 }..].to_vec();
                return Ok((frame, Some((breaker, left))));
            }
        }
        frame.extent = None;
    }
    Ok((frame, None))
}

/// A stage that ends before commands which are planned once its rows are known.
fn stage_before(
    frame: &Frame,
    breaker: Breaker,
    commands: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<StagePlan, Error> {
    let (context, formats) = (env.context.clone(), frame.formats.clone());
    let rest = Remainder { breaker, commands: commands.to_vec(), context, formats };
    stage(frame, Some(rest), env)
}

fn stage(
    frame: &Frame,
    rest: Option<Remainder>,
    env: &PlanningContext<'_>,
) -> Result<StagePlan, Error> {
    crate::depth::check(frame.plan(), env.context.limits.plan_depth)?;
    let (mut plan, mut columns) = frame.finish()?;
    let mut unformatted = None;
    if rest.is_none() && !frame.formats.is_empty() {
        let shown = frame.formats.apply(frame.clone(), env)?.finish()?;
        unformatted = Some((plan.into(), columns));
        (plan, columns) = shown;
    }
    let kind = if rest.is_some() { ResultKind::Report } else { frame.result_kind() };
    let (plan, filter) = (plan.into(), frame.filter.clone());
    Ok(StagePlan { plan, columns, kind, filter, unformatted, rest })
}

/// The words and phrases that the filter a search begins with looks for, and those of `highlight`.
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

/// The words that a part of a filter looks for, if it is not negated.
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
    matches!(name, "index" | "host" | "source" | "sourcetype") || name.starts_with('_')
}

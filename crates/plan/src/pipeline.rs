//! From text to stages: parses a search, builds the frame of its source and lets each command
//! change it, until the end or a command that must see rows first.

use datafusion::logical_expr::LogicalPlan;
use jiff::tz::TimeZone;
use model::{EventTime, IndexName, TimeRange};
use spl::ast::{Command, Pipeline, SearchExpr, Spanned};

use crate::commands::{self, Step};
use crate::expr::Scope;
use crate::frame::Frame;
use crate::stage::Continuation;
use crate::types::ValueType;
use crate::{
    Error, FieldFilter, Message, MessageLog, OutputColumn, PlanContext, PlannedSearch, ResultKind,
    Session, Subsearches, Watch, subsearch,
};

/// What commands are planned against.
#[derive(Clone, Copy)]
pub(crate) struct Env<'e> {
    pub(crate) context: &'e PlanContext,
    /// Where operators leave messages.
    pub(crate) log: &'e MessageLog,
    /// Where stages run; absent while the first one is planned.
    session: Option<&'e Session>,
    /// Who sees their plans.
    watch: Option<&'e dyn Watch>,
}

impl<'e> Env<'e> {
    pub(crate) fn new(
        context: &'e PlanContext,
        log: &'e MessageLog,
        session: Option<&'e Session>,
    ) -> Self {
        Self { context, log, session, watch: None }
    }

    /// The same with somebody who sees the plans that run.
    pub(crate) fn watched(self, watch: Option<&'e dyn Watch>) -> Self {
        Self { watch, ..self }
    }

    /// Who sees the plans that run.
    pub(crate) fn watch(&self) -> Option<&'e dyn Watch> {
        self.watch
    }

    /// The same with another context, such as a narrower time range.
    pub(crate) fn within<'n>(&self, context: &'n PlanContext) -> Env<'n>
    where
        'e: 'n,
    {
        Env { context, log: self.log, session: self.session, watch: self.watch }
    }

    /// The session in which stages run.
    pub(crate) fn session(&self) -> Result<&'e Session, Error> {
        self.session.ok_or_else(|| Error::internal("a stage runs while a search is planned"))
    }

    /// What expressions over a frame can see.
    pub(crate) fn scope<'s>(&'s self, frame: &'s Frame) -> FrameScope<'s> {
        FrameScope { frame, context: self.context }
    }
}

/// The fields of a frame, for expressions.
#[derive(Debug)]
pub(crate) struct FrameScope<'s> {
    frame: &'s Frame,
    context: &'s PlanContext,
}

impl Scope for FrameScope<'_> {
    fn field(&self, name: &str) -> Option<ValueType> {
        self.frame.kind(name)
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
    pub(crate) plan: LogicalPlan,
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) kind: ResultKind,
    pub(crate) filter: FieldFilter,
    pub(crate) rest: Option<Continuation>,
}

/// What a generating command starts from.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) frame: Frame,
    pub(crate) range: TimeRange,
    pub(crate) indexes: Vec<IndexName>,
    pub(crate) messages: Vec<Message>,
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
    let env = Env::new(context, &log, None);
    let pipeline = subsearch::parse(text, subsearches, &env).await?;
    plan_pipeline(&pipeline, &env).await
}

/// Plans a pipeline that begins with a generating command.
pub(crate) async fn plan_pipeline(
    pipeline: &Pipeline,
    env: &Env<'_>,
) -> Result<PlannedSearch, Error> {
    let limit = env.context.limits.commands;
    if pipeline.commands.len() > limit {
        let message = format!("the search has more than {limit} commands (limit commands)");
        return Err(Error::Exhausted { message });
    }
    let Some((first, rest)) = pipeline.commands.split_first() else {
        return Err(Error::invalid_anywhere("the search is empty"));
    };
    let start = Box::pin(commands::start(first, &pipeline.commands, env)).await?;
    let mut context = env.context.clone();
    context.range = start.range;
    let ranged = env.within(&context);
    let stage = plan_stage(start.frame, rest, &ranged)?;
    Ok(PlannedSearch {
        plan: stage.plan,
        kind: stage.kind,
        columns: stage.columns,
        hidden_fields: stage.filter,
        range: start.range,
        indexes: start.indexes,
        messages: start.messages,
        highlight: highlight(&first.node),
        normalized: pipeline.to_string(),
        rest: stage.rest,
        log: env.log.clone(),
    })
}

/// Plans commands over a frame, up to the first that must see rows.
pub(crate) fn plan_stage(
    mut frame: Frame,
    commands: &[Spanned<Command>],
    env: &Env<'_>,
) -> Result<StagePlan, Error> {
    for (at, command) in commands.iter().enumerate() {
        match commands::plan(command, frame, &commands[at + 1..], env)? {
            Step::Next(next) => frame = next,
            Step::Finish(frame, finish) => {
                // A command that asked for the extent of a field runs again once it is known.
                let again = matches!(finish, crate::stage::Finish::Extent(_));
                let left = &commands[if again { at } else { at + 1 }..];
                let rest =
                    Continuation { finish, commands: left.to_vec(), context: env.context.clone() };
                return stage(&frame, Some(rest));
            }
        }
        frame.extent = None;
    }
    stage(&frame, None)
}

fn stage(frame: &Frame, rest: Option<Continuation>) -> Result<StagePlan, Error> {
    let (plan, columns) = frame.finish()?;
    let kind = if rest.is_some() { ResultKind::Report } else { frame.result_kind() };
    Ok(StagePlan { plan, columns, kind, filter: frame.filter.clone(), rest })
}

/// The words and phrases that the filter of a search looks for.
fn highlight(command: &Command) -> Vec<String> {
    let mut words = Vec::new();
    if let Command::Search(search) = command
        && let Some(expr) = &search.expr
    {
        collect_words(expr, &mut words);
    }
    words
}

fn collect_words(expr: &SearchExpr, words: &mut Vec<String>) {
    match expr {
        SearchExpr::And(members) | SearchExpr::Or(members) => {
            members.iter().for_each(|member| collect_words(member, words));
        }
        SearchExpr::Term(term) if !term.pattern.is_any() => words.push(term.pattern.text()),
        SearchExpr::Directive(directive) => words.push(directive.pattern.text()),
        SearchExpr::Comparison(comparison)
            if comparison.operator == spl::ast::ComparisonOperator::Equal
                && !is_metadata(&comparison.field.node)
                && !comparison.value.pattern.is_any() =>
        {
            words.push(comparison.value.pattern.text());
        }
        _ => {}
    }
}

fn is_metadata(name: &str) -> bool {
    matches!(name, "index" | "host" | "source" | "sourcetype") || name.starts_with('_')
}

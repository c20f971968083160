//! What commands are planned against, and what planning and running hand to each other.
//!
//! Guarantees: nothing here knows a command or how a pipeline is planned. A command that takes the rows of
//! another pipeline has it planned through its context ([`plan_before`], [`plan_stage`], [`advance`]); the
//! [`Planner`] behind it is `pipeline`, which knows the commands.
//!
//! It is one module because its types need each other: a stage holds what becomes of its rows
//! ([`Breaker`]), which is planned against a context, in which somebody sees the stages.

mod stages;
mod watch;

use std::fmt::Debug;
use std::sync::Arc;

use exprs::types::ValueType;
use exprs::{AskedLookup, Report, Scope, Typed};
use frames::Frame;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use model::EventTime;
use spl::ast::{Command, Pipeline, Spanned};

pub(crate) use stages::{Breaker, Remainder, SourceRows, StagePlan, TableOp};
pub use stages::{LookedUp, PlannedSearch};
pub use watch::{Completed, InnerSearch, OnBatch, PlanOf, Stage, Watch};

use crate::lookup::Lookups;
use crate::{Error, MessageKind, MessageLog, PlanContext, Session};

/// Searches within each other, such as saved searches that name others, at most.
const MAX_DEPTH: usize = 20;

/// A step of planning whose type callers do not see.
///
/// Planning calls itself in many places. Were all of it one type, the compiler would look through the
/// whole of it wherever a future has to be `Send`: that was most of the time this crate took to build.
pub(crate) type Planning<'p, T> = BoxFuture<'p, Result<T, Error>>;

/// What becomes of subsearches whose result stands for a text.
#[derive(Debug, Clone, Copy)]
pub enum Subsearches<'s> {
    /// They run here.
    Run(&'s Session),
    /// They do not run; a word that is no event's stands for their result. For checks.
    Skip,
    /// A search that has one is refused: whoever planned it before has put all results into its text.
    Refuse,
}

/// What a pipeline makes of a frame: the next one, and, if a command must see rows, what that does with
/// them and the commands that follow.
pub(crate) type Advanced = (Frame, Option<(Breaker, Vec<Spanned<Command>>)>);

/// Plans pipelines within a search, for commands.
pub(crate) trait Planner: Debug + Sync {
    /// As [`plan_before`].
    fn search<'p>(
        &self,
        pipeline: &'p Pipeline,
        tail: Option<&'p [Spanned<Command>]>,
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, PlannedSearch>;

    /// As [`plan_stage`].
    fn stage<'p>(
        &self,
        frame: Frame,
        commands: &'p [Spanned<Command>],
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, StagePlan>;

    /// As [`advance`].
    fn advance<'p>(
        &self,
        frame: Frame,
        commands: &'p [Spanned<Command>],
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, Advanced>;
}

/// Plans a pipeline whose rows go on through `tail`, if there is one: what its commands mention is read. A
/// pipeline that does not begin with a generating command works on no rows.
pub(crate) fn plan_before<'p>(
    pipeline: &'p Pipeline,
    tail: Option<&'p [Spanned<Command>]>,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, PlannedSearch> {
    env.planner.search(pipeline, tail, env)
}

/// Plans commands over a frame, up to the first that must see rows.
pub(crate) fn plan_stage<'p>(
    frame: Frame,
    commands: &'p [Spanned<Command>],
    env: &'p PlanningContext<'_>,
) -> Planning<'p, StagePlan> {
    env.planner.stage(frame, commands, env)
}

/// Lets commands change a frame, up to the first that must see rows.
pub(crate) fn advance<'p>(
    frame: Frame,
    commands: &'p [Spanned<Command>],
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Advanced> {
    env.planner.advance(frame, commands, env)
}

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
    /// Who plans the searches and commands within this one.
    planner: &'static dyn Planner,
}

impl<'e> PlanningContext<'e> {
    pub(crate) fn new(
        context: &'e PlanContext,
        log: &'e MessageLog,
        session: Option<&'e Session>,
        planner: &'static dyn Planner,
    ) -> Self {
        let subsearches = session.map_or(Subsearches::Skip, Subsearches::Run);
        let (watch, lookups) = (None, None);
        Self {
            context,
            log,
            session,
            watch,
            subsearches,
            depth: 0,
            dry_run: false,
            lookups,
            planner,
        }
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
            let message = format!("searches are nested more than {MAX_DEPTH} levels deep");
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
        let (context, lookups, log) = (self.context, self.lookups, self.log);
        let zone = &self.context.timezone;
        FrameScope { frame, context, zone, lookups, log }
    }
}

/// The fields of a frame, for expressions.
#[derive(Debug)]
pub(crate) struct FrameScope<'s> {
    frame: &'s Frame,
    context: &'s PlanContext,
    /// Where days begin.
    zone: &'s TimeZone,
    lookups: Option<&'s Lookups>,
    log: &'s MessageLog,
}

impl<'s> FrameScope<'s> {
    /// The same in another time zone than that of the search.
    pub(crate) fn in_zone(self, zone: &'s TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// A field, or nulls where there is none.
    pub(crate) fn value(&self, name: &str) -> Typed {
        match self.field(name) {
            Some(kind) => Typed::column(name, kind),
            None => Typed::null(ValueType::Null),
        }
    }
}

impl Scope for FrameScope<'_> {
    fn field(&self, name: &str) -> Option<ValueType> {
        self.frame.kind(name)
    }

    fn fields(&self) -> Vec<String> {
        self.frame.names()
    }

    fn lookup(&self, table: &str, inputs: &[String]) -> Option<Arc<dyn AskedLookup>> {
        Some(self.lookups?.get(table, inputs)?)
    }

    fn report(&self) -> Option<Report> {
        let log = self.log.clone();
        Some(Report::new(move |text| log.add(MessageKind::Warning, text)))
    }

    fn now(&self) -> EventTime {
        self.context.now
    }

    fn timezone(&self) -> &TimeZone {
        self.zone
    }
}

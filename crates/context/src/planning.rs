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

use std::fmt::{self, Debug};
use std::sync::Arc;

use exprs::types::ValueType;
use exprs::{AskedLookup, Report, Scope, Typed};
use frames::Frame;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use model::EventTime;
use spl::ast::{Command, Pipeline, Spanned};

pub(crate) use stages::too_many_rows;
pub use stages::{Breaker, Remainder, SourceRows, StagePlan, TableOp};
pub use stages::{LookedUp, PlannedSearch};
pub use watch::{Completed, InnerSearch, OnBatch, PlanOf, Stage, Watch};

use crate::lookup::Lookups;
use crate::plan_context::PlanContext;
use frames::{Error, MessageKind, MessageLog, Session};

/// Maximum nesting of searches, for example of saved searches that refer to others.
const MAX_DEPTH: usize = 20;

/// A step of planning whose type callers do not see.
///
/// Planning calls itself in many places. Were all of it one type, the compiler would look through the
/// whole of it wherever a future has to be `Send`: that was most of the time this crate took to build.
pub type Planning<'p, T> = BoxFuture<'p, Result<T, Error>>;

/// How subsearches whose result becomes text are handled.
#[derive(Debug, Clone, Copy)]
pub enum Subsearches<'s> {
    /// They run.
    Run(&'s Session),
    /// They do not run and are replaced by a placeholder word. For checks.
    Skip,
    /// They are refused: the process that planned the search before has replaced them by their results.
    Refuse,
}

/// The result of advancing a pipeline: the next frame, and, if a command needs rows, its breaker and the
/// remaining commands.
pub type Advanced = (Frame, Option<(Breaker, Vec<Spanned<Command>>)>);

/// Plans inner pipelines for commands.
pub trait Planner: Debug + Sync {
    /// Implements [`plan_before`].
    fn search<'p>(
        &self,
        pipeline: &'p Pipeline,
        tail: Option<&'p [Spanned<Command>]>,
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, PlannedSearch>;

    /// Implements [`plan_stage`].
    fn stage<'p>(
        &self,
        frame: Frame,
        commands: &'p [Spanned<Command>],
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, StagePlan>;

    /// Implements [`advance`].
    fn advance<'p>(
        &self,
        frame: Frame,
        commands: &'p [Spanned<Command>],
        env: &'p PlanningContext<'_>,
    ) -> Planning<'p, Advanced>;
}

/// Plans a pipeline whose rows are processed by `tail`, so that fields mentioned there are read. A pipeline
/// that does not begin with a generating command has no rows.
pub fn plan_before<'p>(
    pipeline: &'p Pipeline,
    tail: Option<&'p [Spanned<Command>]>,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, PlannedSearch> {
    env.planner.search(pipeline, tail, env)
}

/// Plans commands over a frame, up to the first one that needs rows.
pub fn plan_stage<'p>(
    frame: Frame,
    commands: &'p [Spanned<Command>],
    env: &'p PlanningContext<'_>,
) -> Planning<'p, StagePlan> {
    env.planner.stage(frame, commands, env)
}

/// Applies commands to a frame, up to the first one that needs rows.
pub fn advance<'p>(
    frame: Frame,
    commands: &'p [Spanned<Command>],
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Advanced> {
    env.planner.advance(frame, commands, env)
}

/// The context in which commands are planned.
#[derive(Clone, Copy)]
pub struct PlanningContext<'e> {
    /// What the search is planned against.
    pub context: &'e PlanContext,
    /// The log for messages of operators.
    pub log: &'e MessageLog,
    /// The session in which stages run; `None` while the first one is planned.
    session: Option<&'e Session>,
    /// The observer of plans.
    watch: Option<&'e dyn Watch>,
    /// How subsearches in saved searches are handled while there is no session.
    subsearches: Subsearches<'e>,
    /// The nesting depth of the search.
    depth: usize,
    /// Whether the rows are for a preview, which must not have side effects.
    dry_run: bool,
    /// Whether the stages are those of a search within another one.
    inner: bool,
    /// The lookups for expressions of the command.
    lookups: Option<&'e Lookups>,
    /// The planner of inner searches.
    planner: &'static dyn Planner,
}

impl Debug for PlanningContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanningContext")
            .field("depth", &self.depth)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

impl<'e> PlanningContext<'e> {
    /// Creates the context of a search that is not inside of another one.
    pub fn new(
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
            inner: false,
            lookups,
            planner,
        }
    }

    /// Sets how subsearches in saved searches are handled.
    pub fn resolving(self, subsearches: Subsearches<'e>) -> Self {
        Self { subsearches, ..self }
    }

    /// Sets the session in which stages run.
    pub fn running<'n>(&self, session: &'n Session) -> PlanningContext<'n>
    where
        'e: 'n,
    {
        PlanningContext { session: Some(session), subsearches: Subsearches::Run(session), ..*self }
    }

    /// Returns how subsearches in searches that this one refers to are handled.
    pub fn subsearches(&self) -> Subsearches<'e> {
        self.subsearches
    }

    /// Returns the context of a search within this one.
    pub fn deeper(self) -> Result<Self, Error> {
        if self.depth >= MAX_DEPTH {
            let message = format!("searches are nested more than {MAX_DEPTH} levels deep");
            return Err(Error::invalid_anywhere(message));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    /// Sets the observer of plans.
    pub fn watched(self, watch: Option<&'e dyn Watch>) -> Self {
        Self { watch, ..self }
    }

    /// Sets whether this is a dry run, as for previews, which must not have side effects.
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Whether commands must not have side effects.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Sets that the stages are those of a search within another one.
    pub fn inside(self) -> Self {
        Self { inner: true, ..self }
    }

    /// Whether the stages are those of a search within another one.
    pub fn is_inner(&self) -> bool {
        self.inner
    }

    /// Returns the observer of plans.
    pub fn watch(&self) -> Option<&'e dyn Watch> {
        self.watch
    }

    /// Replaces the planning context, for example by one with a narrower time range.
    pub fn within<'n>(&self, context: &'n PlanContext) -> PlanningContext<'n>
    where
        'e: 'n,
    {
        PlanningContext { context, ..*self }
    }

    /// Sets the lookups for expressions.
    pub fn asking<'n>(&self, lookups: &'n Lookups) -> PlanningContext<'n>
    where
        'e: 'n,
    {
        PlanningContext { lookups: Some(lookups), ..*self }
    }

    /// Returns the session in which stages run.
    pub fn session(&self) -> Result<&'e Session, Error> {
        self.session.ok_or_else(|| Error::internal("a stage runs while a search is planned"))
    }

    /// Returns the scope of expressions over a frame.
    pub fn scope<'s>(&'s self, frame: &'s Frame) -> FrameScope<'s> {
        let (context, lookups, log) = (self.context, self.lookups, self.log);
        let zone = &self.context.timezone;
        FrameScope { frame, context, zone, lookups, log }
    }
}

/// The scope of expressions over a frame.
#[derive(Debug)]
pub struct FrameScope<'s> {
    frame: &'s Frame,
    context: &'s PlanContext,
    /// The time zone in which days begin.
    zone: &'s TimeZone,
    lookups: Option<&'s Lookups>,
    log: &'s MessageLog,
}

impl<'s> FrameScope<'s> {
    /// Replaces the time zone of the search by another one.
    pub fn in_zone(self, zone: &'s TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// Returns a field; nulls if it does not exist.
    pub fn value(&self, name: &str) -> Typed {
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

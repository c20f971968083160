//! The commands: each turns a frame into the next, or ends a stage.
//!
//! One file per command, found by its name, with its [`CommandPlan`]: where it may run, the fields it reads
//! and leaves, how it plans, its SQL text. Their modules come from the list of `spl`, so that a command
//! without a file does not compile. What a command makes of all rows at once is in `tables`; code that
//! several commands share is in further files beside them, listed here. The doc of each file says how the
//! command splits: the part that the indexers can run on their events, and the part that is left to the
//! search head.

mod composed;
mod dataset;
mod discover;
mod enrich;
pub(crate) mod eval_named;
mod first_rows;
mod metrics;
mod multivalue;
pub(crate) mod presence;
pub(crate) mod prestats;
pub(crate) mod required;
mod reshape;
mod running;
mod split;
pub(crate) mod summary;
mod tokens;

use std::sync::Arc;

use exprs::required_fields::RequiredFields;
use frames::Frame;
use futures::future::BoxFuture;
use model::TimeRange;
use spl::Span;
use spl::ast::{Command, LookupCommand, SearchExpr, Spanned};

use crate::arguments::Arguments;
use crate::context::{Planning, PlanningContext, SourceRows};
use crate::lookup::{Lookup, Lookups};
use crate::place::{Origin, Place, TwoStep};
use crate::sql::{Layer, NO_EQUIVALENT, Reason, SqlText};
use crate::stage::Breaker;
use crate::{Error, rights};

pub(crate) use enrich::Enrichment;
pub use enrich::check_calculated_field;
pub(crate) use search::FIXED;

/// What becomes of the fields of the source that a command does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFields {
    /// They go on, those included that are found when events are shown.
    Unchanged,
    /// Fields that it does not name are left out (`fields`).
    Chosen,
    /// Rows are new ones: nothing of the source survives unless it is named.
    Replaced,
    /// Events become collected rows, with the fields that they have by then.
    Collected,
}

/// The commands after one.
pub(crate) type Rest<'p> = &'p [Spanned<Command>];

/// A command as the planner sees it, implemented by its arguments. A method without a default is required.
pub(crate) trait CommandPlan: Sync {
    /// Where it may run.
    fn place(&self) -> Place;

    /// Adds the fields that it reads by name or pattern; all of them if that cannot be told.
    fn required_fields(&self, fields: &mut RequiredFields);

    /// What becomes of fields of the source that it does not name.
    fn output_fields(&self) -> OutputFields;

    /// Plans it over the rows of the commands before it.
    fn plan(&self, input: Input<'_>) -> Result<Step, Error>;

    /// Plans it as the first command. One that makes no rows begins with none and is planned over those.
    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move {
            match self.place() {
                Place::Generating(_) => {
                    Err(Error::at("this command cannot begin a search", first.span))
                }
                _ => Ok(Begin::Nothing),
            }
        })
    }

    /// The commands that it stands for as the first command, if it stands for others.
    fn expand<'a>(&'a self, _: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { Ok(None) })
    }

    /// The lookup whose rows are read before it is planned.
    fn table(&self) -> Option<&LookupCommand> {
        None
    }

    /// What is read for the commands after it, where it changes the names of fields.
    fn required_after(&self, _: &[Spanned<Command>]) -> Option<RequiredFields> {
        None
    }

    /// Whether its result depends on which of the fields that events may have some row has.
    fn needs_presence(&self, _: &Frame, _: Rest<'_>) -> bool {
        false
    }

    /// Whether it changes or removes `_raw`, `host`, `source` or `sourcetype`, by name or by pattern: fields
    /// that are extracted only for the shown rows would come from the changed values.
    fn changes_source(&self) -> bool {
        false
    }

    /// Whether it merges rows of summary indexes.
    fn merges_summaries(&self) -> bool {
        false
    }

    /// The filter on the events that it reads as the first command.
    fn event_filter(&self) -> Option<&SearchExpr> {
        None
    }

    /// Its arguments for clients of the parser; `written` is their text.
    fn outline(&self, written: &str) -> Arguments {
        Arguments::Text(written.to_owned())
    }

    /// Its rows as SQL, as the first command.
    fn sql_source(&self, _: &mut SqlText) -> Result<Layer, Reason> {
        Err("it makes rows of something else than events".to_owned())
    }

    /// Adds it to a `SELECT`.
    fn sql(&self, _: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        Err(NO_EQUIVALENT.to_owned())
    }
}

macro_rules! registry {
    ($($module:ident $variant:ident($arguments:ident),)*) => {
        $(pub(crate) mod $module;)*

        /// The plan of a command.
        pub(crate) fn of(command: &Command) -> &dyn CommandPlan {
            match command {
                $(Command::$variant(arguments) => arguments,)*
            }
        }
    };
}

spl::for_each_command!(registry);

/// Where a command may run.
#[must_use]
pub fn place_of(command: &Command) -> Place {
    of(command).place()
}

/// What a command is planned with.
pub(crate) struct Input<'p> {
    /// The rows of the commands before it.
    pub(crate) frame: Frame,
    pub(crate) command: &'p Spanned<Command>,
    /// The commands after it.
    pub(crate) rest: &'p [Spanned<Command>],
    pub(crate) env: &'p PlanningContext<'p>,
    /// The lookup that it asks for ([`CommandPlan::table`]).
    pub(crate) table: Option<Arc<Lookup>>,
}

impl Input<'_> {
    /// Where the command was written.
    fn span(&self) -> Span {
        self.command.span
    }

    /// The command and those after it, as the tail of a search whose rows it takes.
    fn tail(&self) -> Vec<Spanned<Command>> {
        [std::slice::from_ref(self.command), self.rest].concat()
    }

    /// The error of a generating command that does not stand first.
    fn only_begins(&self) -> Result<Step, Error> {
        Err(Error::at("this command can only begin a search", self.span()))
    }
}

/// What the first command of a pipeline is planned with.
#[derive(Clone, Copy)]
pub(crate) struct First<'p> {
    pub(crate) span: Span,
    /// All commands and those that follow, whose fields are read.
    pub(crate) pipeline: &'p [Spanned<Command>],
    /// The commands that its rows go through, as far as that is certain.
    pub(crate) rest: Rest<'p>,
    pub(crate) env: &'p PlanningContext<'p>,
}

/// What a command makes of a frame.
#[derive(Debug)]
pub(crate) enum Step {
    /// The frame the next command works on.
    Next(Frame),
    /// The rows of the frame are needed before the pipeline goes on.
    Materialize(Frame, Breaker),
    /// Other commands stand in its place.
    Replace(Frame, Vec<Spanned<Command>>),
}

/// What a pipeline begins with.
#[derive(Debug)]
pub(crate) enum Begin {
    /// Rows.
    Rows(SourceRows),
    /// What becomes of rows at the end of the first stage.
    Materialize(SourceRows, Breaker),
    /// A command that makes no rows: no rows at all.
    Nothing,
}

/// The commands that stand for a command, and their time range.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) commands: Vec<Spanned<Command>>,
    pub(crate) range: TimeRange,
}

/// The commands that a command stands for at the beginning of a pipeline, if it stands for others.
pub(crate) fn expand<'p>(
    command: &'p Spanned<Command>,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Option<Expanded>> {
    Box::pin(async move {
        rights::check(command, env.context)?;
        let first = First { span: command.span, pipeline: &[], rest: &[], env };
        of(&command.node).expand(first).await
    })
}

/// Plans the beginning of a pipeline; what its commands mention is read. `rest` is what its rows go through.
pub(crate) fn begin<'p>(
    command: &'p Spanned<Command>,
    pipeline: &'p [Spanned<Command>],
    rest: Rest<'p>,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Begin> {
    Box::pin(async move {
        rights::check(command, env.context)?;
        of(&command.node).begin(First { span: command.span, pipeline, rest, env }).await
    })
}

/// Plans a command over a frame. `rest` is what follows it.
pub(crate) fn plan<'p>(
    command: &'p Spanned<Command>,
    frame: Frame,
    rest: &'p [Spanned<Command>],
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Step> {
    Box::pin(async move {
        rights::check(command, env.context)?;
        let lookups = Lookups::read(&command.node, env.context).await?;
        let plan = of(&command.node);
        // Before limits: which fields occur may depend on all rows.
        if plan.needs_presence(&frame, rest) {
            return presence::asked(frame);
        }
        let frame = first_rows::needed(&command.node, frame, rest);
        let table = match plan.table() {
            Some(asked) => Some(lookup::read(asked, env).await?),
            None => None,
        };
        let env = &env.asking(&lookups);
        plan.plan(Input { frame, command, rest, env, table })
    })
}

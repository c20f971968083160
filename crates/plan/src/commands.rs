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

use crate::Error;
use crate::arguments::Arguments;
use context::lookup::{Lookup, Lookups};
use context::place::{Origin, Place, TwoStep};
use context::planning::{Planning, PlanningContext, SourceRows};
use context::rights;
use context::sql::{Layer, NO_EQUIVALENT, Reason, SqlText};
use context::stage::Breaker;

pub use enrich::check_calculated_field;
pub(crate) use enrich::{Enrichment, Events};
pub(crate) use search::FIXED;

/// How a command treats the fields of the source that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFields {
    /// They are kept, including those that are extracted when events are displayed.
    Unchanged,
    /// They are removed (`fields`).
    Chosen,
    /// The command creates new rows: fields of the source remain only if it names them.
    Replaced,
    /// Events become rows in memory, with the fields that they have at that point.
    Collected,
}

/// The commands after a command.
pub(crate) type Rest<'p> = &'p [Spanned<Command>];

/// The planner's interface of a command, implemented by its arguments. A method without a default is
/// required.
pub(crate) trait CommandPlan: Sync {
    /// Returns where the command may run.
    fn place(&self) -> Place;

    /// Adds the fields that it reads, by name or pattern; all fields if they are unknown.
    fn required_fields(&self, fields: &mut RequiredFields);

    /// Returns how the command treats fields of the source that it does not name.
    fn output_fields(&self) -> OutputFields;

    /// Whether it reads no fields other than those that it declares, `_time`, and fields of summary indexes.
    /// Many commands also read `_raw` or the origin of events, which every event has.
    fn reads_declared(&self) -> bool {
        false
    }

    /// Plans the command over the rows of the previous commands.
    fn plan(&self, input: Input<'_>) -> Result<Step, Error>;

    /// Plans the command as the first one. A command that generates no rows is planned over an empty input.
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

    /// Expands the command, if it is the first one and stands for other commands.
    fn expand<'a>(&'a self, _: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { Ok(None) })
    }

    /// Returns the lookup whose rows must be read before planning.
    fn table(&self) -> Option<&LookupCommand> {
        None
    }

    /// Returns the fields to read for the commands after it, if it renames fields.
    fn required_after(&self, _: &[Spanned<Command>]) -> Option<RequiredFields> {
        None
    }

    /// Whether the result depends on which of the possible fields have values.
    fn needs_presence(&self, _: &Frame, _: Rest<'_>) -> bool {
        false
    }

    /// Whether the command changes or removes `_raw`, `host`, `source` or `sourcetype`, by name or pattern.
    /// Then fields extracted when rows are displayed would come from the changed values.
    fn changes_source(&self) -> bool {
        false
    }

    /// Whether the command merges rows of summary indexes.
    fn merges_summaries(&self) -> bool {
        false
    }

    /// Returns the filter on the events that the command reads as the first one.
    fn event_filter(&self) -> Option<&SearchExpr> {
        None
    }

    /// Returns its arguments for clients of the parser; `written` is their text.
    fn outline(&self, written: &str) -> Arguments {
        Arguments::Text(written.to_owned())
    }

    /// Returns its rows as SQL, as the first command.
    fn sql_source(&self, _: &mut SqlText) -> Result<Layer, Reason> {
        Err("it makes rows of something else than events".to_owned())
    }

    /// Adds the command to a `SELECT`.
    fn sql(&self, _: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        Err(NO_EQUIVALENT.to_owned())
    }
}

macro_rules! registry {
    ($($module:ident $variant:ident($arguments:ident),)*) => {
        $(pub(crate) mod $module;)*

        /// Returns the planner's interface of a command.
        pub(crate) fn of(command: &Command) -> &dyn CommandPlan {
            match command {
                $(Command::$variant(arguments) => arguments,)*
            }
        }
    };
}

spl::for_each_command!(registry);

/// Returns where a command may run.
#[must_use]
pub fn place_of(command: &Command) -> Place {
    of(command).place()
}

/// The input for planning a command.
pub(crate) struct Input<'p> {
    /// The rows of the commands before it.
    pub(crate) frame: Frame,
    pub(crate) command: &'p Spanned<Command>,
    /// The commands after it.
    pub(crate) rest: &'p [Spanned<Command>],
    pub(crate) env: &'p PlanningContext<'p>,
    /// The lookup that it requires ([`CommandPlan::table`]).
    pub(crate) table: Option<Arc<Lookup>>,
}

impl Input<'_> {
    /// Returns the position of the command in the text.
    fn span(&self) -> Span {
        self.command.span
    }

    /// Returns the command and the following ones, as the tail of a search whose rows it uses.
    fn tail(&self) -> Vec<Spanned<Command>> {
        [std::slice::from_ref(self.command), self.rest].concat()
    }

    /// Returns the error about a generating command that is not the first one.
    fn only_begins(&self) -> Result<Step, Error> {
        Err(Error::at("this command can only begin a search", self.span()))
    }
}

/// The input for planning the first command of a pipeline.
#[derive(Clone, Copy)]
pub(crate) struct First<'p> {
    pub(crate) span: Span,
    /// All commands, including the following ones, whose fields must be read.
    pub(crate) pipeline: &'p [Spanned<Command>],
    /// The commands that process its rows, as far as this is certain.
    pub(crate) rest: Rest<'p>,
    pub(crate) env: &'p PlanningContext<'p>,
}

/// The result of planning a command.
#[derive(Debug)]
pub(crate) enum Step {
    /// The frame for the next command.
    Next(Frame),
    /// The frame must be executed before the pipeline continues.
    Materialize(Frame, Breaker),
    /// Other commands replace the command.
    Replace(Frame, Vec<Spanned<Command>>),
}

/// The beginning of a pipeline.
#[derive(Debug)]
pub(crate) enum Begin {
    /// Rows.
    Rows(SourceRows),
    /// Rows that end the first stage, and the breaker that processes them.
    Materialize(SourceRows, Breaker),
    /// No rows: the command does not generate any.
    Nothing,
}

/// The commands that replace a command, and their time ranges.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) commands: Vec<Spanned<Command>>,
    pub(crate) range: TimeRange,
    pub(crate) index_range: TimeRange,
}

impl Expanded {
    /// Creates commands over the time ranges of the search.
    pub(crate) fn of(commands: Vec<Spanned<Command>>, env: &PlanningContext<'_>) -> Self {
        let (range, index_range) = (env.context.range, env.context.index_range);
        Self { commands, range, index_range }
    }
}

/// Expands the first command of a pipeline, if it stands for other commands.
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

/// Plans the first command of a pipeline. All fields that its commands mention are read; `rest` are the
/// commands that process its rows.
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

/// Plans a command over a frame; `rest` are the following commands.
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
        // Before limits, because the existence of fields may depend on all rows.
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

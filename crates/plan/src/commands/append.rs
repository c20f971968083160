//! `append` and `appendpipe`: append the rows of another pipeline.
//!
//! Split: the search head joins the results; the subsearch of `append` splits like any search.

use frames::Frame;
use spl::ast::{AppendCommand, AppendpipeCommand, Command, Spanned};

use super::first_rows::{first_rows, limited};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, place_of};
use context::stage::Breaker;
use context::stage::append::{Append, Appendpipe};
use context::stage::inner::{Bounds, Inner};

impl CommandPlan for AppendCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let tail = input.tail();
        let Input { frame, rest, .. } = input;
        // Whether an optional column is kept depends on all collected rows: it is kept if any row has a
        // value. So the input is limited only if there are no optional columns.
        let used = first_rows(rest).filter(|_| frame.possible().next().is_none());
        Ok(append(self, limited(frame, used), tail))
    }
}

pub(super) fn append(command: &AppendCommand, frame: Frame, tail: Vec<Spanned<Command>>) -> Step {
    let pipeline = (*command.subsearch.pipeline).clone();
    let bounds = Bounds { rows: command.maxout, seconds: command.maxtime };
    let inner = Inner { pipeline, tail, bounds, command: "append" };
    Step::Materialize(frame, Breaker::table(Append(inner)))
}

pub(super) fn appendpipe(
    command: &AppendpipeCommand,
    frame: Frame,
    tail: Vec<Spanned<Command>>,
) -> Step {
    let pipeline = command.subsearch.pipeline.clone();
    if pipeline.commands.first().is_some_and(|first| begins(&first.node)) {
        let (pipeline, bounds) = (*pipeline, Bounds::default());
        let inner = Inner { pipeline, tail, bounds, command: "appendpipe" };
        return Step::Materialize(frame, Breaker::table(Append(inner)));
    }
    Step::Materialize(frame, Breaker::table(Appendpipe(pipeline)))
}

/// Whether a command generates rows that do not follow those of the commands before it.
fn begins(command: &Command) -> bool {
    let appends = match command {
        Command::Inputcsv(command) => command.0.append,
        Command::Inputlookup(command) => command.append,
        Command::Mstats(command) => command.append,
        Command::Tstats(command) => command.append,
        _ => false,
    };
    !appends && matches!(place_of(command), Place::Generating(_))
}

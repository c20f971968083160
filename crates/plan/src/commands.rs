//! The commands: each turns a frame into the next, or ends a stage.
//!
//! One file per command or tight family. The doc of each says how the command splits: what the
//! indexers can run on their part of the events, and what is left to the search head.

mod addtotals;
mod append;
mod bin;
mod chart;
mod convert;
mod dedup;
mod eval;
mod eventstats;
mod fields;
mod fieldsummary;
mod filldown;
mod fillnull;
mod head;
mod makeresults;
mod metadata;
mod multivalue;
mod rangemap;
mod regex;
mod rename;
mod replace;
mod reshape;
mod rex;
mod running;
mod search;
mod sort;
mod spath;
mod split;
mod stats;
mod strcat;
mod streamstats;
mod timechart;
mod top;
mod tstats;

use spl::ast::{Command, Spanned};

use crate::frame::Frame;
use crate::pipeline::{Env, Start};
use crate::stage::Finish;
use crate::Error;

/// What a command makes of a frame.
#[derive(Debug)]
pub(crate) enum Step {
    /// The frame the next command works on.
    Next(Frame),
    /// The rows of the frame are needed before the pipeline goes on.
    Finish(Frame, Finish),
}

/// Plans the command a pipeline begins with.
pub(crate) async fn start(
    command: &Spanned<Command>,
    pipeline: &[Spanned<Command>],
    env: &Env<'_>,
) -> Result<Start, Error> {
    match &command.node {
        Command::Search(command) => search::start(command, pipeline, env).await,
        Command::Tstats(options) => tstats::start(options, command.span, env).await,
        Command::Makeresults(options) => makeresults::start(options, env),
        Command::Metadata(command) => metadata::start(command, env).await,
        _ => Err(Error::at(
            "a search begins with search, tstats, makeresults or metadata",
            command.span,
        )),
    }
}

/// Plans a command over a frame. `rest` is what follows it.
pub(crate) fn plan(
    command: &Spanned<Command>,
    frame: Frame,
    rest: &[Spanned<Command>],
    env: &Env<'_>,
) -> Result<Step, Error> {
    let next = match &command.node {
        Command::Accum(command) => running::accum(command, frame)?,
        Command::Addtotals(command) => return addtotals::plan(command, frame, env),
        Command::Append(command) => return Ok(append::append(command, frame)),
        Command::Appendpipe(command) => return Ok(append::appendpipe(command, frame)),
        Command::Bin(command) => return bin::plan(command, frame, env),
        Command::Chart(command) => return chart::plan(command, frame, env),
        Command::Convert(command) => convert::plan(command, frame, env)?,
        Command::Dedup(command) => dedup::plan(command, frame, env)?,
        Command::Delta(command) => running::delta(command, frame, env)?,
        Command::Eval(command) => eval::plan(command, frame, env)?,
        Command::Eventstats(command) => eventstats::plan(command, frame, env)?,
        Command::Fields(command) => fields::fields(command, frame)?,
        Command::Fieldsummary(command) => return Ok(fieldsummary::plan(command, frame)),
        Command::Filldown(command) => filldown::plan(command, frame)?,
        Command::Fillnull(command) => fillnull::plan(command, frame)?,
        Command::Head(command) => head::head(command, frame, env)?,
        Command::Makemv(command) => multivalue::makemv(command, frame)?,
        Command::Mvexpand(command) => multivalue::mvexpand(command, frame)?,
        Command::Nomv(command) => multivalue::nomv(command, frame)?,
        Command::Rangemap(command) => rangemap::plan(command, frame)?,
        Command::Rare(command) => top::plan(command, top::Order::Rarest, frame)?,
        Command::Regex(command) => regex::plan(command, frame, env)?,
        Command::Rename(command) => rename::plan(command, frame)?,
        Command::Replace(command) => replace::plan(command, frame)?,
        Command::Reverse(_) => frame.reverse(),
        Command::Rex(command) => rex::plan(command, frame)?,
        Command::Search(command) => search::filter(command, frame, env)?,
        Command::Sort(command) => sort::plan(command, frame, env)?,
        Command::Spath(command) => return spath::plan(command, frame, rest),
        Command::Stats(command) => stats::plan(command, frame, env)?,
        Command::Strcat(command) => strcat::plan(command, frame)?,
        Command::Streamstats(command) => streamstats::plan(command, frame, env)?,
        Command::Table(command) => fields::table(command, frame)?,
        Command::Tail(command) => head::tail(command, frame),
        Command::Timechart(options) => return timechart::plan(options, command.span, frame, env),
        Command::Top(command) => top::plan(command, top::Order::MostFrequent, frame)?,
        Command::Transpose(command) => return Ok(reshape::transpose(command, frame)),
        Command::Untable(command) => return Ok(reshape::untable(command, frame)),
        Command::Where(command) => eval::filter(command, frame, env)?,
        Command::Xyseries(command) => return Ok(reshape::xyseries(command, frame)),
        Command::Makeresults(_) | Command::Metadata(_) | Command::Tstats(_) => {
            return Err(Error::at("this command can only begin a search", command.span));
        }
        _ => return Err(Error::at("this command cannot be planned yet", command.span)),
    };
    Ok(Step::Next(next))
}

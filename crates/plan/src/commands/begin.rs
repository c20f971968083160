//! What a pipeline begins with: rows of a source, a table that commands make, or nothing.

use model::TimeRange;
use spl::CommandKind;
use spl::ast::{Command, Spanned};

use super::{
    dataset, metasearch, mstats, multisearch, pivot, rest, savedsearch, searchtxn, set, start,
    union,
};
use crate::Error;
use crate::pipeline::{Env, Planning, Start};
use crate::stage::Finish;

/// What a pipeline begins with.
#[derive(Debug)]
pub(crate) enum Begin {
    /// Rows.
    Rows(Start),
    /// What becomes of rows at the end of the first stage.
    Table(Start, Finish),
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
    env: &'p Env<'_>,
) -> Planning<'p, Option<Expanded>> {
    Box::pin(expanded(command, env))
}

async fn expanded(command: &Spanned<Command>, env: &Env<'_>) -> Result<Option<Expanded>, Error> {
    crate::rights::check(command, env)?;
    match &command.node {
        Command::Savedsearch(saved) => {
            savedsearch::expand(saved, command.span, env).await.map(Some)
        }
        Command::From(found) => dataset::expand_from(found, command.span, env).await.map(Some),
        Command::Datamodel(found) => dataset::expand_datamodel(found, command.span, env).await,
        Command::Metasearch(found) => Ok(Some(metasearch::expand(found, command.span, env))),
        Command::Pivot(found) => pivot::expand(found, command.span, env).await.map(Some),
        Command::Tstats(found) => dataset::expand_tstats(found, command.span, env).await,
        Command::Mstats(found) => Ok(mstats::expand(found, command.span, env)),
        Command::Searchtxn(found) => searchtxn::expand(found, command.span, env).map(Some),
        Command::Union(found) => union::expand(found, command.span, env).map(Some),
        _ => Ok(None),
    }
}

/// Plans the beginning of a pipeline; what its commands mention is read.
pub(crate) fn begin<'p>(
    command: &'p Spanned<Command>,
    pipeline: &'p [Spanned<Command>],
    env: &'p Env<'_>,
) -> Planning<'p, Begin> {
    Box::pin(begun(command, pipeline, env))
}

async fn begun(
    command: &Spanned<Command>,
    pipeline: &[Spanned<Command>],
    env: &Env<'_>,
) -> Result<Begin, Error> {
    crate::rights::check(command, env)?;
    match &command.node {
        Command::Mstats(found) => mstats::begin(found, pipeline, env).await,
        Command::Multisearch(found) => multisearch::begin(found, pipeline, env).await,
        Command::Set(found) => Ok(Begin::Table(Start::nothing(env)?, set::finish(found))),
        Command::Rest(found) => rest::begin(found, env),
        Command::Search(_) => start(command, pipeline, env).await.map(Begin::Rows),
        node if node.definition().kind == CommandKind::Generating => {
            start(command, pipeline, env).await.map(Begin::Rows)
        }
        _ => Ok(Begin::Nothing),
    }
}

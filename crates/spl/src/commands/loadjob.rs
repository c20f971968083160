//! `loadjob`: returns the rows of a completed search.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `loadjob <sid>|savedsearch=<owner:app:name> [options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadjobCommand {
    /// The job to load.
    pub job: LoadedJob,
    /// `events=`: whether the events are loaded instead of the results.
    pub events: bool,
    /// `job_delegate=`: the user who started the job.
    pub job_delegate: Option<String>,
    /// `artifact_offset=`: number of runs back (default 0).
    pub artifact_offset: u64,
    /// `ignore_running=` (default true).
    pub ignore_running: bool,
}

/// A reference to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadedJob {
    /// By its id.
    Id(Spanned<String>),
    /// The last job of a saved search, `owner:app:name`.
    Saved(Spanned<String>),
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "loadjob",
    aliases: &[],
    summary: "loads the result of a finished search",
    syntax: "loadjob <sid> | savedsearch=\"<owner>:<app>:<name>\" [events=<bool>] [job_delegate=<text>] [artifact_offset=<n>] [ignore_running=<bool>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["savedsearch", "events", "job_delegate", "artifact_offset", "ignore_running"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut job, mut events, mut job_delegate) = (None, false, None);
    let (mut artifact_offset, mut ignore_running) = (0, true);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let quoted = p.peek() == Some('"');
        let option = if quoted { None } else { p.option(OPTIONS)? };
        let Some(option) = option else {
            if job.is_some() {
                return Err(p.unexpected("an option or the end of the command"));
            }
            job = Some(LoadedJob::Id(p.text_argument("the id of a search")?));
            continue;
        };
        match option.name {
            "savedsearch" => {
                if option.value.splitn(3, ':').filter(|part| !part.is_empty()).count() < 3 {
                    return Err(option.error("<owner>:<app>:<name>"));
                }
                job = Some(LoadedJob::Saved(option.spanned()));
            }
            "events" => events = option.boolean()?,
            "job_delegate" => job_delegate = Some(option.text()),
            "artifact_offset" => artifact_offset = option.number()?,
            _ => ignore_running = option.boolean()?,
        }
    }
    let job = job.ok_or_else(|| p.unexpected("the id of a search or savedsearch="))?;
    let loaded = LoadjobCommand { job, events, job_delegate, artifact_offset, ignore_running };
    Ok(Command::Loadjob(loaded))
}

impl fmt::Display for LoadjobCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        match &self.job {
            LoadedJob::Id(id) => arguments.push(field_name(&id.node)),
            LoadedJob::Saved(name) => arguments.option("savedsearch", &name.node),
        };
        arguments
            .flag("events", self.events, false)
            .maybe("job_delegate", self.job_delegate.as_ref());
        if self.artifact_offset > 0 {
            arguments.option("artifact_offset", self.artifact_offset);
        }
        arguments.flag("ignore_running", self.ignore_running, true).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| loadjob 1233886270.2 events=true",
            "| loadjob savedsearch=\"admin:search:my Saved Search\" artifact_offset=1",
            "| loadjob events=f \"scheduler__a__b_1\" job_delegate=scheduler ignore_running=f",
            "| loadjob $sid$",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| loadjob", "the id of a search or savedsearch=", "");
        refuses("| loadjob savedsearch=x", "<owner>:<app>:<name>", "x");
        refuses("| loadjob 1 2", "an option or the end of the command", "2");
    }
}

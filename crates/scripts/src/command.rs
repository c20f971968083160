//! A custom search command: rows in, rows out, by the protocol of its stanza.

use std::time::Duration;

use tempfile::TempDir;

use crate::arguments::Arguments;
use crate::chunked::Chunked;
use crate::definition::{Behaviour, Command, Legacy, Protocol, SearchInfo};
use crate::error::Error;
use crate::legacy;
use crate::messages::{Answer, Message};
use crate::settings::Settings;
use crate::table::Table;

/// The variable with the address of the management port, for the modules `splunk.*`.
const ADDRESS: &str = "SPLUNKD_URI";

/// A run of a command for one search.
#[derive(Debug)]
pub struct CommandRun {
    command: Command,
    settings: Settings,
    info: SearchInfo,
    behaviour: Behaviour,
    /// The search that has to process the rows before this command.
    preop: String,
    chunked: Option<Chunked>,
    /// The temporary files of the run. They are removed after the program is killed: fields are dropped in
    /// their order.
    scratch: TempDir,
}

impl CommandRun {
    /// Starts a command and asks for its properties.
    ///
    /// # Errors
    /// If the program is missing, does not answer, or refuses its arguments.
    pub async fn start(
        mut command: Command,
        info: SearchInfo,
        settings: &Settings,
    ) -> Result<(Self, Vec<Message>), Error> {
        if !info.uri.is_empty() {
            command.script.environment.push((ADDRESS.to_owned(), info.uri.clone()));
        }
        let failed = |source| Error::Start { program: command.script.described(), source };
        let scratch = tempfile::Builder::new().prefix("karst-script-").tempdir().map_err(failed)?;
        let mut run = Self {
            settings: settings.clone(),
            info,
            scratch,
            behaviour: Behaviour::default(),
            preop: String::new(),
            chunked: None,
            command,
        };
        let messages = match run.command.protocol {
            Protocol::Chunked => {
                let path = run.scratch.path();
                let begun = Chunked::start(&run.command, &run.info, path, &run.settings).await?;
                run.behaviour = begun.behaviour;
                run.preop = begun.preop;
                run.chunked = Some(begun.chunked);
                begun.messages
            }
            Protocol::Legacy(legacy) => {
                let path = run.scratch.path();
                legacy::write_info(&run.info, path).map_err(|source| Error::Start {
                    program: run.command.script.described(),
                    source,
                })?;
                run.behaviour = match legacy.supports_getinfo {
                    true => legacy::ask(&run.call(legacy)).await?,
                    false => legacy.behaviour,
                };
                Vec::new()
            }
        };
        Ok((run, messages))
    }

    /// The properties of the command.
    #[must_use]
    pub fn behaviour(&self) -> Behaviour {
        self.behaviour
    }

    /// The command that has to process the rows before this one, with its arguments. For reporting commands
    /// of the Python SDK, it is the same command with `phase=map`.
    #[must_use]
    pub fn preop(&self) -> Option<(&str, Arguments)> {
        let text = self.preop.trim();
        let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        (!name.is_empty()).then(|| (name, Arguments::of(arguments)))
    }

    /// Maximum number of rows per request; at least 1.
    #[must_use]
    pub fn chunk_rows(&self) -> usize {
        self.command.maxinputs.max(1)
    }

    /// Whether it takes only one request, like commands of protocol 1 that need all rows at once.
    #[must_use]
    pub fn takes_one_request(&self) -> bool {
        self.chunked.is_none() && !self.behaviour.streaming
    }

    /// Sends rows and whether they are the last; returns the answer.
    ///
    /// # Errors
    /// If the answer is missing or invalid.
    pub async fn execute(&mut self, rows: &Table, last: bool) -> Result<Answer, Error> {
        match (&mut self.chunked, self.command.protocol.clone()) {
            (Some(chunked), _) => chunked.execute(rows, last).await,
            (None, Protocol::Legacy(legacy)) => {
                let mut answer = legacy::execute(&self.call(legacy), rows).await?;
                // A streaming command gets the next chunk in a new process.
                answer.finished = self.behaviour.generating || !self.behaviour.streaming;
                Ok(answer)
            }
            // A command of protocol 2 has had its process since the start.
            (None, Protocol::Chunked) => Ok(Answer { finished: true, ..Answer::default() }),
        }
    }

    /// Waits until the program ends.
    ///
    /// # Errors
    /// If the program fails.
    pub async fn end(mut self) -> Result<(), Error> {
        match self.chunked.take() {
            Some(chunked) => chunked.end().await,
            None => Ok(()),
        }
    }

    fn call(&self, legacy: Legacy) -> legacy::Call<'_> {
        legacy::Call {
            command: &self.command,
            legacy,
            info: &self.info,
            scratch: self.scratch.path(),
            settings: &self.settings,
        }
    }
}

impl Command {
    /// The time limit for an answer, and the setting that limits it.
    pub(crate) fn answer_time(&self, settings: &Settings) -> (Duration, &'static str) {
        match self.maxwait.filter(|wait| !wait.is_zero() && *wait < settings.answer_time) {
            Some(wait) => (wait, "maxwait in commands.conf"),
            None => (settings.answer_time, WAIT_SETTING),
        }
    }

    /// The size limit of an answer, and the setting that limits it.
    pub(crate) fn answer_bytes(&self, settings: &Settings) -> (u64, &'static str) {
        match self.maxchunksize.filter(|bytes| (1..settings.answer_bytes).contains(bytes)) {
            Some(bytes) => (bytes, "maxchunksize in commands.conf"),
            None => (settings.answer_bytes, CHUNK_SETTING),
        }
    }
}

/// The name of the setting of [`Settings::answer_time`].
pub(crate) const WAIT_SETTING: &str = "maxwait in limits.conf [scripts]";
/// The name of the setting of [`Settings::answer_bytes`].
const CHUNK_SETTING: &str = "maxchunksize in limits.conf [scripts]";

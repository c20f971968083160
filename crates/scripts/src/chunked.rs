//! Protocol 2: `chunked 1.0,<bytes of metadata>,<bytes of CSV>`, JSON and CSV, in both directions.
//!
//! The program is first asked for its properties (`getinfo`); then each chunk of rows is a request
//! (`execute`), which the program answers with one chunk.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::definition::{Behaviour, Command, SearchInfo};
use crate::error::Error;
use crate::legacy::percent_encoded;
use crate::messages::{Answer, Message};
use crate::program::{Broken, Process, hinted};
use crate::settings::Settings;
use crate::table::Table;

/// Maximum number of rows that the Python SDK puts into one answer of a generating command.
const ANSWER_ROWS: usize = 50_000;

/// A running program that has reported its properties.
#[derive(Debug)]
pub(crate) struct Chunked {
    process: Process,
    program: String,
    wait: (Duration, &'static str),
    most: (u64, &'static str),
    /// The errors in the last answer: the likely reason if the program ends.
    said: String,
}

/// The properties reported by a program.
#[derive(Debug)]
pub(crate) struct StartedProgram {
    pub(crate) chunked: Chunked,
    pub(crate) behaviour: Behaviour,
    /// `streaming_preop`.
    pub(crate) preop: String,
    pub(crate) messages: Vec<Message>,
}

impl Chunked {
    /// Starts the program and asks for its properties.
    pub(crate) async fn start(
        command: &Command,
        info: &SearchInfo,
        scratch: &Path,
        settings: &Settings,
    ) -> Result<StartedProgram, Error> {
        let mut started = Self {
            process: Process::start(&command.script, &[], scratch, settings)?,
            program: command.script.described(),
            wait: command.answer_time(settings),
            most: command.answer_bytes(settings),
            said: String::new(),
        };
        let request = json!({
            "action": "getinfo",
            "preview": false,
            "streaming_command_will_restart": false,
            "searchinfo": {
                "args": info.arguments,
                "raw_args": info.raw_arguments,
                "dispatch_dir": scratch,
                "sid": info.sid,
                "app": info.app,
                "owner": info.owner,
                "username": info.owner,
                "session_key": info.session_key.text(),
                "splunkd_uri": info.uri,
                "splunk_version": info.version,
                "search": percent_encoded(&info.search),
                "command": command.name,
                "maxresultrows": ANSWER_ROWS,
                "earliest_time": info.earliest,
                "latest_time": info.latest,
            },
        });
        let (metadata, _) = started.ask(&request, &[]).await?;
        let messages = Message::of_metadata(&metadata);
        let errors = Message::errors(&messages);
        if !errors.is_empty() {
            let message = hinted(errors, settings.is_restricted());
            return Err(Error::Refused { program: started.program.clone(), message });
        }
        let generating = metadata["generating"].as_bool().unwrap_or(false);
        let kind = metadata["type"].as_str().unwrap_or("streaming");
        let behaviour = Behaviour { generating, streaming: kind == "streaming" };
        let preop = metadata["streaming_preop"].as_str().unwrap_or_default().to_owned();
        Ok(StartedProgram { chunked: started, behaviour, preop, messages })
    }

    /// Sends rows to the program.
    pub(crate) async fn execute(&mut self, rows: &Table, last: bool) -> Result<Answer, Error> {
        let request = json!({ "action": "execute", "preview": false, "finished": last });
        let (metadata, body) = self.ask(&request, &rows.to_csv(true)).await?;
        let messages = Message::of_metadata(&metadata);
        self.said = Message::errors(&messages);
        let csv = |reason| Error::Csv { program: self.program.clone(), reason };
        let rows = Table::of_csv(&body).map_err(csv)?;
        let finished = metadata["finished"].as_bool().unwrap_or(false);
        Ok(Answer { rows, finished, messages })
    }

    /// Waits until the program ends.
    pub(crate) async fn end(mut self) -> Result<(), Error> {
        let status = self.process.end().await?;
        // A program that was killed because it continued after its last answer has returned all rows.
        if status.success() || status.code().is_none() {
            return Ok(());
        }
        let said = std::mem::take(&mut self.said);
        Err(self.process.ended(status, said).await)
    }

    async fn ask(&mut self, request: &Value, body: &[u8]) -> Result<(Value, Vec<u8>), Error> {
        let metadata = request.to_string();
        let header = format!("chunked 1.0,{},{}\n", metadata.len(), body.len());
        let parts: [&[u8]; 3] = [header.as_bytes(), metadata.as_bytes(), body];
        let (wait, setting) = self.wait;
        let (most, most_setting) = self.most;
        let exchange = self.process.exchange(&parts, most, most_setting);
        let answered = tokio::time::timeout(wait, exchange).await;
        let (metadata, body) = match answered {
            Ok(Ok(answer)) => answer,
            Ok(Err(broken)) => {
                let said = match broken {
                    Broken::End => std::mem::take(&mut self.said),
                    _ => String::new(),
                };
                return Err(self.process.failed(broken, said).await);
            }
            Err(_) => return Err(self.process.silent(wait, setting).await),
        };
        let program = || self.program.clone();
        let metadata: Value = match metadata.as_slice() {
            [] => json!({}),
            text => serde_json::from_slice(text).map_err(|error| Error::Metadata {
                program: program(),
                reason: error.to_string(),
            })?,
        };
        if !metadata.is_object() {
            let reason = "it is not an object".to_owned();
            return Err(Error::Metadata { program: program(), reason });
        }
        if let Some(message) = metadata["error"].as_str() {
            return Err(Error::Refused { program: program(), message: message.to_owned() });
        }
        Ok((metadata, body))
    }
}

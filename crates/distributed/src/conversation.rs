//! The search head's side of a part that another process runs.

use std::fmt;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use futures::stream;
use protocol::search::{RunAnswer, RunRequest};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;

use crate::{CallContext, MAX_MESSAGE, RUN, Valve, ipc, path_of};

/// A part that another process runs. Dropping this ends the part there.
#[derive(Debug)]
pub struct Conversation {
    requests: mpsc::UnboundedSender<RunRequest>,
    answers: Streaming<RunAnswer>,
    schema: SchemaRef,
    /// Maximum time without a message from the process.
    silence: Duration,
    valve: Valve,
}

/// A message of a worker.
#[derive(Debug)]
pub enum Said {
    /// A batch of rows.
    Rows(RecordBatch),
    /// The complete preview so far.
    Preview(Vec<RecordBatch>),
    /// The progress so far, in a form known to the author of the recipe.
    Progress(Bytes),
    /// The end of the rows.
    Done,
}

/// Why there are no rows, or no more rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The process refuses to run the part.
    Refused(String),
    /// The part failed in the process.
    Failed(String),
    /// The process does not answer.
    Lost(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) | Self::Failed(why) | Self::Lost(why) => f.write_str(why),
        }
    }
}

impl Conversation {
    /// Starts the part of a recipe in a process; its rows have the given columns. `context` is sent with
    /// the call.
    ///
    /// # Errors
    /// [`Failure::Lost`] if the process does not answer within the maximum time of silence.
    pub async fn begin(
        channel: Channel,
        recipe: Bytes,
        schema: SchemaRef,
        silence: Duration,
        context: &CallContext,
    ) -> Result<Self, Failure> {
        let (requests, mut waiting) = mpsc::unbounded_channel();
        let _ = requests.send(RunRequest { recipe, ..RunRequest::default() });
        let sent = stream::poll_fn(move |context| waiting.poll_recv(context));
        let asking = async {
            let codec = ProstCodec::<RunRequest, RunAnswer>::default();
            ready(channel).await?.streaming(context.with(sent), path_of(RUN), codec).await
        };
        let answers = timeout(silence, asking).await.map_err(|_| silent(silence))?;
        let answers = answers.map_err(|status| lost(&status))?.into_inner();
        Ok(Self { requests, answers, schema, silence, valve: Valve::Open })
    }

    /// Sends the new state of the search to the process.
    pub fn set(&mut self, valve: Valve) {
        if self.valve != valve {
            self.valve = valve;
            self.send(RunRequest { valve: valve.number(), ..RunRequest::default() });
        }
    }

    /// Requests a preview.
    pub fn ask_preview(&self) {
        self.send(RunRequest {
            valve: self.valve.number(),
            preview: true,
            ..RunRequest::default()
        });
    }

    fn send(&self, request: RunRequest) {
        // A lost process is noticed by its missing answers.
        let _ = self.requests.send(request);
    }

    /// Waits for the next message of the process. Cancel safe.
    ///
    /// # Errors
    /// [`Failure`]; no message follows it.
    pub async fn next(&mut self) -> Result<Said, Failure> {
        loop {
            let answer = timeout(self.silence, self.answers.message()).await;
            let answer = answer.map_err(|_| silent(self.silence))?;
            let Some(answer) = answer.map_err(|status| lost(&status))? else {
                return Err(Failure::Lost("it left before the end".to_owned()));
            };
            if let Some(said) = self.read(answer)? {
                return Ok(said);
            }
        }
    }

    fn read(&self, answer: RunAnswer) -> Result<Option<Said>, Failure> {
        let rows = |bytes: &[u8]| {
            ipc::decode(&self.schema, bytes).map_err(|error| Failure::Failed(error.to_string()))
        };
        if !answer.refused.is_empty() {
            return Err(Failure::Refused(answer.refused));
        }
        if !answer.failed.is_empty() {
            return Err(Failure::Failed(answer.failed));
        }
        if !answer.rows.is_empty() {
            let batches = rows(&answer.rows)?;
            return match <[RecordBatch; 1]>::try_from(batches) {
                Ok([batch]) => Ok(Some(Said::Rows(batch))),
                Err(others) => {
                    Err(Failure::Failed(format!("{} batches came at a time", others.len())))
                }
            };
        }
        if !answer.preview.is_empty() {
            // Previews of a paused search are not shown, and decoding them costs CPU time.
            let found = match self.valve {
                Valve::Paused => Vec::new(),
                Valve::Open | Valve::Closed => rows(&answer.preview)?,
            };
            return Ok(Some(Said::Preview(found)));
        }
        if !answer.progress.is_empty() {
            return Ok(Some(Said::Progress(answer.progress)));
        }
        Ok(answer.done.then_some(Said::Done))
    }
}

pub(crate) async fn ready(channel: Channel) -> Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let ready = grpc.ready().await;
    ready.map_err(|error| Status::unavailable(transport::reason(&error)))?;
    Ok(grpc)
}

pub(crate) fn silent(silence: Duration) -> Failure {
    Failure::Lost(format!("no answer within {} s", silence.as_secs_f64()))
}

pub(crate) fn lost(status: &Status) -> Failure {
    Failure::Lost(transport::reason(status))
}

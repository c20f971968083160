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

/// A part that another process runs. It ends there when this is dropped.
#[derive(Debug)]
pub struct Conversation {
    requests: mpsc::UnboundedSender<RunRequest>,
    answers: Streaming<RunAnswer>,
    schema: SchemaRef,
    /// How long the process may be silent.
    silence: Duration,
    valve: Valve,
}

/// What a worker says.
#[derive(Debug)]
pub enum Said {
    /// A batch of rows.
    Rows(RecordBatch),
    /// All that it has found so far.
    Preview(Vec<RecordBatch>),
    /// What it has done so far, in a form that whoever made the recipe understands.
    Progress(Bytes),
    /// All rows have come.
    Done,
}

/// Why there are no rows, or no more of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The process does not run the part.
    Refused(String),
    /// The part failed there.
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
    /// Has the process run the part of a recipe, whose rows have these columns. `context` goes with the call.
    ///
    /// # Errors
    /// [`Failure::Lost`] if it does not answer within the time of silence.
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

    /// Tells the process what the search does now.
    pub fn set(&mut self, valve: Valve) {
        if self.valve != valve {
            self.valve = valve;
            self.send(RunRequest { valve: valve.number(), ..RunRequest::default() });
        }
    }

    /// Asks for what has been found so far.
    pub fn ask_preview(&self) {
        self.send(RunRequest {
            valve: self.valve.number(),
            preview: true,
            ..RunRequest::default()
        });
    }

    fn send(&self, request: RunRequest) {
        // Whether the process is there shows in its answers.
        let _ = self.requests.send(request);
    }

    /// What the process says next. May be dropped while it waits, and called again.
    ///
    /// # Errors
    /// [`Failure`], after which there is nothing more.
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

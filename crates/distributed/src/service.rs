//! The worker's side: the gRPC service `karst.search.v1.MapParts`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::error::Result as PlanResult;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use protocol::search::{
    DescribeAnswer, DescribeRequest, RunAnswer, RunRequest, WarmAnswer, WarmRequest,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tonic::{Status, Streaming};
use transport::{Answer, Call, Methods};

use crate::{BEAT, CallContext, DESCRIBE, MAX_MESSAGE, RUN, SERVICE, Valve, WARM, ipc};

/// Maximum number of queued answers for a slow caller.
const WAITING: usize = 4;

/// Runs the parts of recipes.
pub trait PartRunner: std::fmt::Debug + Send + Sync + 'static {
    /// Plans the part of a recipe and starts it; `context` is that of the call.
    ///
    /// # Errors
    /// The reason why it cannot be run here.
    fn start<'a>(
        &'a self,
        recipe: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn RunningPart>, String>>;

    /// Answers a question of the planner about local hot rows.
    ///
    /// # Errors
    /// The reason why it cannot be answered here.
    fn describe<'a>(
        &'a self,
        question: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Bytes, String>>;

    /// Takes hints about buckets that this process is likely to read soon, and returns the number of those
    /// that it may read in advance. Returns at once.
    fn warm(&self, hints: Bytes) -> usize {
        let _ = hints;
        0
    }
}

/// A running part. Dropping this ends it.
pub trait RunningPart: Send + Sync {
    /// The columns of its rows.
    fn schema(&self) -> SchemaRef;

    /// Waits for the next rows; `None` after the last. Cancel safe.
    fn next<'a>(&'a mut self) -> BoxFuture<'a, Option<PlanResult<RecordBatch>>>;

    /// Pauses, resumes or closes the part.
    fn set(&self, valve: Valve);

    /// The preview so far; `None` if there is none.
    fn preview(&self) -> Option<Vec<RecordBatch>>;

    /// The progress so far.
    fn progress(&self) -> Vec<u8>;
}

/// The service that runs parts for search heads, for tonic and axum. Clones share it.
#[derive(Debug, Clone)]
pub struct PartService {
    runner: Arc<dyn PartRunner>,
}

impl PartService {
    /// Creates a service that runs parts with `runner`.
    #[must_use]
    pub fn new(runner: Arc<dyn PartRunner>) -> Self {
        Self { runner }
    }

    fn run(
        &self,
        requests: Streaming<RunRequest>,
        context: CallContext,
    ) -> BoxStream<'static, Result<RunAnswer, Status>> {
        let (answers, mut waiting) = mpsc::channel(WAITING);
        let part = Part { runner: Arc::clone(&self.runner), requests, answers, context };
        // Aborted when the caller disconnects, which drops the stream.
        let mut task = JoinSet::new();
        task.spawn(part.run());
        stream::poll_fn(move |context| {
            let _ends_with_the_stream = &task;
            waiting.poll_recv(context).map(|answer| answer.map(Ok))
        })
        .boxed()
    }
}

impl PartService {
    fn describe(
        &self,
        question: Bytes,
        context: CallContext,
    ) -> BoxStream<'static, Result<DescribeAnswer, Status>> {
        let (answers, mut waiting) = mpsc::channel(WAITING);
        let runner = Arc::clone(&self.runner);
        // Aborted when the caller disconnects, which drops the stream.
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut beat = interval(BEAT);
            beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut answering = std::pin::pin!(runner.describe(question, context));
            let answer = loop {
                tokio::select! {
                    answer = &mut answering => break answer,
                    _ = beat.tick() => {
                        let alive = DescribeAnswer { alive: true, ..DescribeAnswer::default() };
                        if answers.send(alive).await.is_err() {
                            return;
                        }
                    }
                }
            };
            let answer = match answer {
                Ok(answer) => DescribeAnswer { answer, ..DescribeAnswer::default() },
                Err(refused) => DescribeAnswer { refused, ..DescribeAnswer::default() },
            };
            let _ = answers.send(answer).await;
        });
        stream::poll_fn(move |context| {
            let _ends_with_the_stream = &task;
            waiting.poll_recv(context).map(|answer| answer.map(Ok))
        })
        .boxed()
    }
}

/// The state of one call.
struct Part {
    runner: Arc<dyn PartRunner>,
    requests: Streaming<RunRequest>,
    answers: mpsc::Sender<RunAnswer>,
    context: CallContext,
}

/// A preview that is being encoded; `None` if it cannot be encoded.
type EncodingPreview = BoxFuture<'static, Option<Bytes>>;

/// The caller has disconnected.
struct Left;

impl Part {
    async fn run(mut self) {
        let last = match self.answered().await {
            Ok(last) => last,
            Err(Left) => return,
        };
        let _ = self.answers.send(last).await;
    }

    /// Sends all answers except for the last one, which is returned.
    async fn answered(&mut self) -> Result<RunAnswer, Left> {
        let recipe = match self.requests.message().await {
            Ok(Some(request)) if !request.recipe.is_empty() => request.recipe,
            Ok(Some(_)) => return Ok(refused("the first message has no recipe".to_owned())),
            Ok(None) | Err(_) => return Err(Left),
        };
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let runner = Arc::clone(&self.runner);
        let mut starting = std::pin::pin!(runner.start(recipe, self.context.clone()));
        let started = loop {
            tokio::select! {
                started = &mut starting => break started,
                _ = beat.tick() => self.say(RunAnswer { alive: true, ..RunAnswer::default() }).await?,
            }
        };
        let mut part = match started {
            Ok(part) => part,
            Err(why) => return Ok(refused(why)),
        };
        let schema = part.schema();
        let mut encoding: Option<EncodingPreview> = None;
        loop {
            tokio::select! {
                rows = part.next() => match rows {
                    Some(Ok(batch)) => match ipc::encode(&schema, &[batch]) {
                        Ok(rows) => self.say(RunAnswer { rows, ..RunAnswer::default() }).await?,
                        Err(error) => return Ok(failed(error.to_string())),
                    },
                    Some(Err(error)) => return Ok(failed(error.to_string())),
                    None => {
                        self.tell(part.progress()).await?;
                        return Ok(RunAnswer { done: true, ..RunAnswer::default() });
                    }
                },
                _ = beat.tick() => {
                    let alive = RunAnswer { alive: true, ..RunAnswer::default() };
                    self.say(alive).await?;
                    self.tell(part.progress()).await?;
                }
                request = self.requests.message() => {
                    let Ok(Some(request)) = request else { return Err(Left) };
                    if let Some(valve) = Valve::of(request.valve) {
                        part.set(valve);
                        if valve == Valve::Paused && encoding.take().is_some() {
                            self.skip_preview(&schema).await?;
                        }
                    }
                    if request.preview && let Some(found) = part.preview() {
                        encoding = Some(Box::pin(encoded(Arc::clone(&schema), found)));
                    }
                }
                preview = next_of(&mut encoding) => {
                    encoding = None;
                    // A preview that exceeds the message limit is skipped.
                    if let Some(preview) = preview.filter(|bytes| bytes.len() < MAX_MESSAGE) {
                        self.say(RunAnswer { preview, ..RunAnswer::default() }).await?;
                    }
                }
            }
        }
    }

    /// Answers a request for a preview without batches: the search head keeps the preview that it has, and
    /// asks again when the search goes on. Search heads of earlier versions wait for each requested preview.
    async fn skip_preview(&self, schema: &SchemaRef) -> Result<(), Left> {
        let Ok(preview) = ipc::encode(schema, &[]) else { return Ok(()) };
        self.say(RunAnswer { preview, ..RunAnswer::default() }).await
    }

    async fn tell(&self, progress: Vec<u8>) -> Result<(), Left> {
        self.say(RunAnswer { progress: progress.into(), ..RunAnswer::default() }).await
    }

    async fn say(&self, answer: RunAnswer) -> Result<(), Left> {
        self.answers.send(answer).await.map_err(|_| Left)
    }
}

async fn encoded(schema: SchemaRef, found: Vec<RecordBatch>) -> Option<Bytes> {
    ipc::encode_in_turns(schema, found).await.ok()
}

/// Waits for the preview; never returns if there is none.
async fn next_of(encoding: &mut Option<EncodingPreview>) -> Option<Bytes> {
    match encoding {
        Some(encoding) => encoding.await,
        None => std::future::pending().await,
    }
}

fn refused(why: String) -> RunAnswer {
    RunAnswer { refused: why, ..RunAnswer::default() }
}

fn failed(why: String) -> RunAnswer {
    RunAnswer { failed: why, ..RunAnswer::default() }
}

impl Methods for PartService {
    const NAME: &'static str = SERVICE;
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    async fn answer(self, call: Call) -> Answer {
        let context = CallContext::of(&call);
        match call.method() {
            RUN => {
                let run = |requests: Streaming<RunRequest>| self.run(requests, context);
                call.conversation(run).await
            }
            DESCRIBE => {
                let describe =
                    async move |asked: DescribeRequest| Ok(self.describe(asked.question, context));
                call.stream(describe).await
            }
            WARM => {
                let warm = async move |told: WarmRequest| {
                    let taken = self.runner.warm(told.hints);
                    Ok(WarmAnswer { taken: u32::try_from(taken).unwrap_or(u32::MAX) })
                };
                call.unary(warm).await
            }
            _ => call.unknown(),
        }
    }
}

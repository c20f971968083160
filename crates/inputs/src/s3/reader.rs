//! Reads the objects of messages, sends their events, and deletes the messages.
//!
//! A message is deleted when all its objects are safe. A message that cannot be processed (not a
//! notification, an object that is missing or damaged) is counted and left in the queue: the queue delivers
//! it again and, after the configured number of attempts, moves it to its dead-letter queue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use futures::StreamExt;
use model::{ErrorKind, EventTime};
use object_store::{ObjectStore, ObjectStoreExt};
use runtime::{Shutdown, metrics as names};
use tokio::sync::Mutex;

use super::notice::{Notice, notices};
use super::object::{OBJECT_CHUNK, chunks, take};
use super::queue::{Message, Queue, SqsInput};
use super::taken::Taken;
use crate::{Error, InputMeta, Sink};

/// Buckets whose clients are kept.
const BUCKETS: usize = 256;
/// Pause after a failure, growing up to the longer one.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A queue that is read.
#[derive(Debug)]
pub struct SqsReader {
    queue: Queue,
    input: SqsInput,
    taken: Mutex<Taken>,
    /// The objects that are being read, by name: messages about one object take turns.
    turns: Mutex<HashMap<String, Arc<Mutex<()>>>>,
    variables: BTreeMap<String, String>,
    stores: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl SqsReader {
    pub(crate) fn new(
        queue: Queue,
        input: SqsInput,
        taken: Taken,
        variables: BTreeMap<String, String>,
    ) -> Self {
        let (turns, stores) = Default::default();
        Self { queue, input, taken: Mutex::new(taken), turns, variables, stores }
    }

    /// Takes in the objects that the queue tells of until the signal to stop.
    pub async fn run(self, sink: Arc<dyn Sink>, shutdown: Shutdown) {
        let mut pause = PAUSES.0;
        loop {
            let received = tokio::select! {
                received = self.queue.receive(self.input.batch_size, self.input.visibility_timeout) =>
                    received,
                () = shutdown.stopped() => return,
            };
            let messages = match received {
                Ok(messages) => messages,
                Err(error) => {
                    tracing::warn!(input = %self.input.name, %error, "waiting for a queue");
                    if !shutdown.sleep(pause).await {
                        return;
                    }
                    pause = (pause * 2).min(PAUSES.1);
                    continue;
                }
            };
            pause = PAUSES.0;
            // Messages that are unfinished when the process stops are delivered again by the queue.
            let works = messages.iter().map(|message| self.work(message, &sink));
            let all = futures::future::join_all(works);
            tokio::select! {
                _ = all => {}
                () = shutdown.stopped() => return,
            }
        }
    }

    async fn work(&self, message: &Message, sink: &Arc<dyn Sink>) {
        let outcome = match self.take(message, sink).await {
            Ok(()) => match self.queue.delete(message).await {
                Ok(()) => "done",
                Err(error) => {
                    tracing::warn!(input = %self.input.name, %error, "a message may come again");
                    "undeleted"
                }
            },
            Err(error) => {
                let kind = error.kind();
                tracing::warn!(input = %self.input.name, message = %message.id, %error,
                    "a message is left in its queue");
                if matches!(kind, ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Corrupt) {
                    "poison"
                } else {
                    "failed"
                }
            }
        };
        metrics::counter!(names::SQS_MESSAGES, "outcome" => outcome).increment(1);
    }

    /// Indexes all objects of a message, which is hidden from other consumers meanwhile.
    async fn take(&self, message: &Message, sink: &Arc<dyn Sink>) -> Result<(), Error> {
        let Some(notices) = notices(&message.body) else {
            let reason = "the message is not a notification of S3".into();
            return Err(Error::Refused { kind: ErrorKind::Invalid, reason });
        };
        for notice in &notices {
            tokio::select! {
                result = self.take_once(notice, sink) => result?,
                () = self.hold(message) => unreachable_hold()?,
            }
        }
        Ok(())
    }

    /// Takes in an object unless it is in already. Queues give one message out twice, and at the same time.
    async fn take_once(&self, notice: &Notice, sink: &Arc<dyn Sink>) -> Result<(), Error> {
        let name = notice.name();
        let turn = Arc::clone(self.turns.lock().await.entry(name.clone()).or_default());
        let result = {
            let _turn = turn.lock().await;
            self.take_unless_taken(&name, notice, sink).await
        };
        let mut turns = self.turns.lock().await;
        // The two references are the one in the map and this one: no other task waits for it.
        if Arc::strong_count(&turn) == 2 {
            turns.remove(&name);
        }
        result
    }

    async fn take_unless_taken(
        &self,
        name: &str,
        notice: &Notice,
        sink: &Arc<dyn Sink>,
    ) -> Result<(), Error> {
        if self.taken.lock().await.contains(name) {
            metrics::counter!(names::S3_OBJECTS, "outcome" => "duplicate").increment(1);
            return Ok(());
        }
        let result = self.take_object(notice, sink).await;
        let outcome = if result.is_ok() { "taken" } else { "failed" };
        metrics::counter!(names::S3_OBJECTS, "outcome" => outcome).increment(1);
        let events = result?;
        tracing::debug!(bucket = notice.bucket, key = notice.key, events, "an object is in");
        let noted = self.taken.lock().await.insert(name);
        noted.map_err(|error| Error::read("the list of objects", error))
    }

    /// Hides a message from other consumers, until this future is dropped.
    async fn hold(&self, message: &Message) {
        let time = self.input.visibility_timeout;
        loop {
            tokio::time::sleep(time / 2).await;
            if let Err(error) = self.queue.hold(message, time).await {
                tracing::warn!(input = %self.input.name, %error, "a message may come to others");
            }
        }
    }

    async fn take_object(&self, notice: &Notice, sink: &Arc<dyn Sink>) -> Result<u64, Error> {
        let store = self.store(&notice.bucket).await?;
        let source = format!("s3://{}/{}", notice.bucket, notice.key);
        let fail = |error: object_store::Error| {
            let kind = match error {
                object_store::Error::NotFound { .. } => ErrorKind::NotFound,
                _ => ErrorKind::Unavailable,
            };
            Error::Refused { kind, reason: format!("cannot read {source}: {error}").into() }
        };
        let path = object_store::path::Path::parse(&notice.key)
            .map_err(|error| fail(object_store::Error::InvalidPath { source: error }))?;
        let got = store.get(&path).await.map_err(fail)?;
        let modified = EventTime(got.meta.last_modified.timestamp_micros());
        let origin = InputMeta {
            index: self.input.index.clone(),
            host: Arc::clone(&self.input.host),
            source: self.input.source.clone().unwrap_or_else(|| source.as_str().into()),
            sourcetype: self.input.sourcetype.clone(),
        };
        let text = chunks(got.into_stream().boxed(), OBJECT_CHUNK);
        take(text, self.input.decoder, Arc::new(origin), Some(modified), sink).await
    }

    async fn store(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>, Error> {
        let mut stores = self.stores.lock().await;
        if let Some(store) = stores.get(bucket) {
            return Ok(Arc::clone(store));
        }
        let variables = self.variables.clone();
        let options = runtime::store::Options { variables, ..runtime::store::Options::default() };
        let opened = runtime::store::open(&format!("s3://{bucket}"), &options);
        let opened = opened.map_err(|error| Error::Refused {
            kind: error.kind(),
            reason: error.to_string().into(),
        })?;
        if stores.len() >= BUCKETS {
            stores.clear();
        }
        stores.insert(bucket.to_owned(), Arc::clone(&opened.store));
        Ok(opened.store)
    }
}

/// Holding a message never ends by itself.
fn unreachable_hold() -> Result<(), Error> {
    Err(Error::Abandoned)
}

//! The answer of an indexer to a search that is paused while its preview is encoded.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::error::Result as PlanResult;
use distributed::{CallContext, Conversation, PartRunner, PartService, RunningPart, Said, Valve};
use futures::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tonic::transport::{Endpoint, Server};
use transport::Served;

/// Number of batches of a preview. Requests are read after each batch that is encoded.
const BATCHES: i64 = 5_000;

fn batch(number: i64) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![number]));
    RecordBatch::try_from_iter([("n", column)]).unwrap()
}

/// Runs parts that have large previews and do not end.
#[derive(Debug)]
struct Previews;

impl PartRunner for Previews {
    fn start<'a>(
        &'a self,
        _: Bytes,
        _: CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn RunningPart>, String>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn RunningPart>) })
    }

    fn describe<'a>(&'a self, _: Bytes, _: CallContext) -> BoxFuture<'a, Result<Bytes, String>> {
        Box::pin(async { Ok(Bytes::new()) })
    }
}

impl RunningPart for Previews {
    fn schema(&self) -> SchemaRef {
        batch(0).schema()
    }

    fn next<'a>(&'a mut self) -> BoxFuture<'a, Option<PlanResult<RecordBatch>>> {
        Box::pin(std::future::pending())
    }

    fn set(&self, _: Valve) {}

    fn preview(&self) -> Option<Vec<RecordBatch>> {
        Some((0..BATCHES).map(batch).collect())
    }

    fn progress(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Returns the number of batches of the next preview.
async fn previewed(conversation: &mut Conversation) -> usize {
    loop {
        let said = tokio::time::timeout(Duration::from_secs(30), conversation.next()).await;
        match said.expect("an answer to each request").unwrap() {
            Said::Preview(found) => return found.len(),
            Said::Progress(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_that_a_pause_ends_is_answered_without_batches() {
    let (client, server) = tokio::io::duplex(1 << 20);
    let mut client = Some(client);
    let connector = tower::service_fn(move |_| {
        let client = client.take().ok_or_else(|| std::io::Error::other("it is gone"));
        async move { client.map(TokioIo::new) }
    });
    let channel = Endpoint::from_static("http://worker").connect_with_connector_lazy(connector);
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let incoming = futures::stream::once(async { Ok::<_, std::io::Error>(server) });
        let service = Served(PartService::new(Arc::new(Previews)));
        let _ = Server::builder().add_service(service).serve_with_incoming(incoming).await;
    });
    let (recipe, schema) = (Bytes::from_static(b"a recipe"), batch(0).schema());
    let (silence, context) = (Duration::from_secs(30), CallContext::default());
    let begun = Conversation::begin(channel, recipe, schema, silence, &context).await;
    let mut conversation = begun.unwrap();
    conversation.ask_preview();
    conversation.set(Valve::Paused);
    conversation.set(Valve::Open);
    assert_eq!(previewed(&mut conversation).await, 0);
    conversation.ask_preview();
    assert_eq!(previewed(&mut conversation).await, BATCHES as usize);
}

//! Requests to one indexer.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use model::IndexName;
use protocol::hot::{
    OpenRequest, OpenResponse, ReadRequest, ReadResponse, RollRequest, RollResponse,
};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::{MAX_MESSAGE, OPEN, READ, ROLL};

/// Creates a connection to the process at an address, which is established at its first use; fails if the
/// address is invalid.
pub type Connect = Arc<dyn Fn(&str) -> Result<Channel, String> + Send + Sync>;

/// Deadlines of answers: of the first part and of each further one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    pub(crate) first: Duration,
    pub(crate) next: Duration,
}

/// An answer that comes in parts.
pub(crate) struct Answer<T> {
    parts: Streaming<T>,
    deadlines: Deadlines,
    has_begun: bool,
}

impl<T> Answer<T> {
    /// The next part; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<T>, Status> {
        let most = if self.has_begun { self.deadlines.next } else { self.deadlines.first };
        self.has_begun = true;
        within(most, self.parts.message()).await
    }
}

async fn within<T>(
    most: Duration,
    doing: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    timeout(most, doing).await.unwrap_or_else(|_| {
        Err(Status::deadline_exceeded(format!("no answer within {} ms", most.as_millis())))
    })
}

async fn ready(channel: Channel) -> Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let ready = grpc.ready().await;
    ready.map_err(|error| Status::unavailable(transport::reason(&error)))?;
    Ok(grpc)
}

/// Opens the hot buckets of an indexer, with the rows after those that are known.
pub(crate) async fn open(
    channel: Channel,
    request: OpenRequest,
    deadlines: Deadlines,
) -> Result<Answer<OpenResponse>, Status> {
    let asking = async {
        let codec = ProstCodec::<OpenRequest, OpenResponse>::default();
        let path = PathAndQuery::from_static(OPEN);
        ready(channel).await?.server_streaming(Request::new(request), path, codec).await
    };
    let parts = within(deadlines.first, asking).await?.into_inner();
    Ok(Answer { parts, deadlines, has_begun: false })
}

/// A part of an object that waits for its upload.
pub(crate) async fn read(
    channel: Channel,
    path: &str,
    range: std::ops::Range<u64>,
    deadlines: Deadlines,
) -> Result<Bytes, Status> {
    let length = range.end.saturating_sub(range.start);
    let request = ReadRequest { path: path.to_owned(), start: range.start, end: range.end };
    let asking = async {
        let codec = ProstCodec::<ReadRequest, ReadResponse>::default();
        let path = PathAndQuery::from_static(READ);
        ready(channel).await?.server_streaming(Request::new(request), path, codec).await
    };
    let parts = within(deadlines.first, asking).await?.into_inner();
    let mut answer = Answer { parts, deadlines, has_begun: false };
    let mut data = BytesMut::new();
    while let Some(part) = answer.next().await? {
        data.extend_from_slice(&part.data);
    }
    if data.len() as u64 == length {
        return Ok(data.freeze());
    }
    Err(Status::data_loss(format!("{} bytes came instead of {length}", data.len())))
}

/// Rolls the hot buckets of an index; the identity of the process that has done it.
pub(crate) async fn roll(
    channel: Channel,
    index: &IndexName,
    most: Duration,
) -> Result<String, Status> {
    let request = RollRequest { index: index.to_string() };
    let asking = async {
        let codec = ProstCodec::<RollRequest, RollResponse>::default();
        let path = PathAndQuery::from_static(ROLL);
        ready(channel).await?.unary(Request::new(request), path, codec).await
    };
    Ok(within(most, asking).await?.into_inner().id)
}

/// Returns why a process did not answer, as a text for users of searches.
pub(crate) fn reason(status: &Status) -> String {
    transport::reason(status)
}

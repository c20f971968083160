//! The shared parts of HTTP inputs: senders and their tokens, size limits, addresses, and the sink.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use inputs::body::{BodyError, snappy_length, unpack_snappy};
use inputs::elastic::LineLengths;
use inputs::hec::{AckChannels, EventLengths};
use inputs::{Acknowledgement, EventLimits, Input, Receipt, Sink};
use metrics::counter;
use model::IndexName;
use runtime::{Share, metrics as names};

use crate::ApiState;
use crate::body::{self, BodyLimits, Unwatched, Watch};
use crate::credentials::{Credentials, Scheme};
use crate::http_input::{ConnectionHost, HttpInput};
use crate::work::work;
use access::HecToken;

/// Time that a sender is asked to wait when the server is busy.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) api: ApiState,
    pub(crate) settings: HttpInput,
    pub(crate) acks: AckChannels,
}

/// Why a token was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// No token was sent.
    Missing,
    /// The credentials are not in a supported form.
    Unreadable,
    /// Nobody's.
    Unknown,
    /// Switched off.
    Disabled,
}

impl Denied {
    /// Returns the text for people; HEC has its own texts.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Missing => "a token is required",
            Self::Unreadable => "the authorization header has no valid token",
            Self::Unknown => "the token is not known",
            Self::Disabled => "the token is disabled",
        }
    }

    /// Whether other credentials are asked for, rather than refused.
    pub(crate) fn is_unauthenticated(self) -> bool {
        matches!(self, Self::Missing | Self::Unreadable)
    }
}

impl Receiver {
    /// Returns the token in the headers.
    pub(crate) fn sender(
        &self,
        headers: &HeaderMap,
        schemes: &[Scheme],
    ) -> Result<Arc<HecToken>, Denied> {
        match Credentials::of(headers, schemes) {
            Credentials::None => Err(Denied::Missing),
            Credentials::Unreadable => Err(Denied::Unreadable),
            Credentials::Secrets(secrets) => self.token(&secrets),
        }
    }

    pub(crate) fn token(&self, secrets: &[String]) -> Result<Arc<HecToken>, Denied> {
        match secrets.iter().find_map(|secret| self.api.tokens.by_secret(secret)) {
            Some(token) if token.disabled => Err(Denied::Disabled),
            Some(token) => Ok(token),
            None => Err(Denied::Unknown),
        }
    }

    /// Whether events of the token may go to the index, and it takes any.
    pub(crate) fn allows(&self, token: &HecToken, index: &IndexName) -> bool {
        token.allows(index) && self.api.indexes.check_takes(index).is_ok()
    }

    /// The host of events that name none.
    pub(crate) fn host(&self, token: &HecToken, parts: &Parts) -> String {
        self.host_of(token, &parts.headers, parts.extensions.get::<ConnectInfo<SocketAddr>>())
    }

    pub(crate) fn host_of(
        &self,
        token: &HecToken,
        headers: &HeaderMap,
        peer: Option<&ConnectInfo<SocketAddr>>,
    ) -> String {
        if let Some(host) = &token.host {
            return host.clone();
        }
        let address = || peer.map_or_else(String::new, |peer| peer.0.ip().to_string());
        match self.settings.connection_host {
            ConnectionHost::Server => self.api.info.host.clone(),
            ConnectionHost::Address => address(),
            // The first address is the sender; those after it are proxies.
            ConnectionHost::Proxied => headers
                .get("x-forwarded-for")
                .and_then(|value| value.to_str().ok()?.split(',').next())
                .map(|first| first.trim().to_owned())
                .filter(|first| !first.is_empty())
                .unwrap_or_else(address),
        }
    }

    /// Reads and decompresses a request's body; its memory is part of the budget that requests share.
    pub(crate) async fn body(&self, headers: &HeaderMap, body: Body) -> Result<Bytes, BodyError> {
        let budget = &self.api.request_memory;
        body::read_unpacked(budget, headers, body, self.limits(), &mut Unwatched)
            .await
            .inspect_err(count_refused)
    }

    /// The same, watched while it arrives and unpacks.
    pub(crate) async fn watched_body(
        &self,
        headers: &HeaderMap,
        body: Body,
        watch: &mut dyn Watch,
    ) -> Result<Bytes, BodyError> {
        let budget = &self.api.request_memory;
        let read = body::read_unpacked(budget, headers, body, self.limits(), watch);
        read.await.inspect_err(count_refused)
    }

    /// A snappy block, unpacked, with the memory that it takes.
    pub(crate) async fn unpacked_snappy(&self, packed: Bytes) -> Result<(Bytes, Share), BodyError> {
        let BodyLimits { bytes, ratio } = self.limits();
        let length = snappy_length(&packed, bytes, ratio).inspect_err(count_refused)?;
        let mut share = self.api.request_memory.share();
        share.grow(length).await.map_err(BodyError::from).inspect_err(count_refused)?;
        let unpacked = work(length, || unpack_snappy(&packed)).inspect_err(count_refused)?;
        Ok((unpacked.into(), share))
    }

    /// Returns the limits of a request's events, within this number of bytes of memory.
    pub(crate) fn event_limits(&self, memory: usize) -> EventLimits {
        EventLimits { memory, ..self.api.ingest.settings().event_limits() }
    }

    /// Decodes a body within the memory that requests share: `decode` receives the limits and is called again
    /// with more memory if it reports that they were insufficient. The share has to live as long as the
    /// decoded data.
    pub(crate) async fn decoded<T, E>(
        &self,
        bytes: usize,
        mut decode: impl FnMut(EventLimits) -> Result<T, E>,
        needs_more: impl Fn(&E) -> bool,
    ) -> Result<(Result<T, E>, Share), BodyError> {
        let mut share = self.api.request_memory.share();
        // Most requests take hardly more than their body.
        let mut memory = bytes.saturating_add(bytes / 2).saturating_add(16 << 10);
        loop {
            let more = memory - share.bytes();
            share.grow(more).await.map_err(BodyError::from).inspect_err(count_refused)?;
            match work(bytes, || decode(self.event_limits(memory))) {
                Err(error) if needs_more(&error) => memory = memory.saturating_mul(4),
                decoded => return Ok((decoded, share)),
            }
        }
    }

    /// Limits of one request.
    pub(crate) fn limits(&self) -> BodyLimits {
        let HttpInput { max_content_length, max_compression_ratio, .. } = self.settings;
        BodyLimits { bytes: max_content_length, ratio: max_compression_ratio }
    }

    /// Hands events over without waiting until they are safe.
    pub(crate) async fn enqueue(&self, input: Input) -> Result<Acknowledgement, inputs::Error> {
        let wait = self.api.ingest.limits().queue_wait;
        self.api.ingest.enqueue(input, wait).await.inspect_err(log_defect)
    }

    /// Hands events over and waits until they are safe. The memory is theirs until they are parsed.
    pub(crate) async fn submit(
        &self,
        input: Input,
        share: Share,
    ) -> Result<Receipt, inputs::Error> {
        let queued = self.enqueue(input.holding(share)).await?;
        queued.wait().await.inspect_err(log_defect)
    }

    /// Returns the watch that ends a body of lines in which one is too long.
    pub(crate) fn line_watch(&self) -> LineWatch {
        let limit = self.api.ingest.settings().max_event_size;
        LineWatch { limit, lengths: LineLengths::new(limit) }
    }

    /// Returns the watch that ends a body of events in which one is too long.
    pub(crate) fn event_watch(&self) -> EventWatch {
        let limit = self.api.ingest.settings().max_event_size;
        EventWatch { limit, lengths: EventLengths::new(limit) }
    }

    /// Whether some queue refuses the next request.
    pub(crate) fn queues_are_full(&self) -> bool {
        self.api.ingest.list_queues().iter().any(|queue| queue.bytes >= queue.capacity)
    }
}

/// Ends a body of events in which one is certainly too long, before it is in memory.
#[derive(Debug)]
pub(crate) struct EventWatch {
    limit: usize,
    lengths: EventLengths,
}

impl Watch for EventWatch {
    fn look(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        let limit = self.limit;
        self.lengths.look(bytes).map_or(Ok(()), |number| Err(BodyError::Event { number, limit }))
    }
}

/// Ends a body of lines in which one is certainly too long.
#[derive(Debug)]
pub(crate) struct LineWatch {
    limit: usize,
    lengths: LineLengths,
}

impl Watch for LineWatch {
    fn look(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        let limit = self.limit;
        self.lengths.look(bytes).map_or(Ok(()), |number| Err(BodyError::Line { number, limit }))
    }
}

/// Returns the reason why events are refused as a text for senders: without paths and other facts about the
/// host, which are in the health of the server and its log.
pub(crate) fn told_to_sender(error: &inputs::Error) -> String {
    use model::ErrorKind as K;
    if matches!(error, inputs::Error::Unacknowledged) {
        return error.to_string();
    }
    let text = match error.kind() {
        K::Exhausted => "a queue or disk of the server is full; send again later",
        K::Internal | K::Corrupt => "the events could not be stored; see the log of the server",
        K::Invalid => return error.to_string(),
        _ => "the server accepts no events now; send again later",
    };
    text.to_owned()
}

/// The status of a request whose events are not taken, for senders of Elasticsearch and Loki, which take 429
/// as "later".
pub(crate) fn refused_status(error: &inputs::Error) -> StatusCode {
    use model::ErrorKind as K;
    match error.kind() {
        K::Exhausted => StatusCode::TOO_MANY_REQUESTS,
        K::Invalid => StatusCode::BAD_REQUEST,
        K::Internal | K::Corrupt => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The status of a body that is not taken, for the same senders: full memory is, as full queues are, 429.
pub(crate) fn refused_body_status(error: &BodyError) -> StatusCode {
    match body::status(error) {
        StatusCode::SERVICE_UNAVAILABLE => StatusCode::TOO_MANY_REQUESTS,
        status => status,
    }
}

fn log_defect(error: &inputs::Error) {
    if error.kind() == model::ErrorKind::Internal {
        tracing::error!(%error, "cannot take events in");
    }
}

fn count_refused(error: &BodyError) {
    let reason = match error {
        BodyError::TooLarge { .. } => "body_too_large",
        BodyError::Ratio { .. } => "compression_ratio",
        BodyError::Event { .. } | BodyError::Line { .. } => "event_too_large",
        BodyError::Broken { .. } | BodyError::Unsupported { .. } => "body_encoding",
        BodyError::Incomplete { .. } => "body_incomplete",
        BodyError::Memory(_) => "request_memory",
    };
    counter!(names::INGEST_REFUSED, "reason" => reason).increment(1);
}

/// Adds `Retry-After` to a response whose status allows a retry.
pub(crate) fn with_retry_after(mut response: Response) -> Response {
    let busy = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
    if busy.contains(&response.status()) {
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER.as_secs().into());
    }
    response
}

#[cfg(test)]
mod tests {
    use inputs::Error;
    use model::ErrorKind as K;
    use runtime::OverBudget;

    use super::*;

    #[test]
    fn senders_that_retry_are_told_by_the_status_what_to_do() {
        let refused = |kind| Error::Refused { kind, reason: "because".into() };
        let expected = [
            (K::Exhausted, 429),
            (K::Invalid, 400),
            (K::Internal, 500),
            (K::Corrupt, 500),
            (K::Unavailable, 503),
            (K::NotFound, 503),
        ];
        for (kind, status) in expected {
            assert_eq!(refused_status(&refused(kind)).as_u16(), status, "{kind:?}");
        }
        assert_eq!(refused_status(&Error::Closed).as_u16(), 503);
        assert_eq!(refused_status(&Error::Abandoned).as_u16(), 500);
    }

    #[test]
    fn senders_of_events_that_are_in_the_journal_learn_that_they_are_kept() {
        assert_eq!(refused_status(&Error::Unacknowledged).as_u16(), 503);
        assert!(told_to_sender(&Error::Unacknowledged).contains("may be indexed twice"));
        assert!(!told_to_sender(&Error::Closed).contains("twice"));
    }

    #[test]
    fn a_body_for_which_there_is_no_memory_now_is_sent_again() {
        let busy = BodyError::Memory(OverBudget::Busy { capacity: 1 });
        assert_eq!(refused_body_status(&busy).as_u16(), 429);
        let broken = BodyError::Broken { encoding: "gzip" };
        assert_eq!(refused_body_status(&broken).as_u16(), 400);
    }
}

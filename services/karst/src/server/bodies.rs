//! Request bodies with time-outs.
//!
//! Only time spent waiting for the next chunk counts: a sender that is blocked because queues are
//! full is not slow. The rest of a body after the response is read and discarded, up to a limit: a
//! client that is still sending could lose the response otherwise.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use runtime::Shutdown;
use tokio::time::{Instant, Sleep};

use super::http_conf::Timeouts;

/// Time-outs of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    idle: Duration,
    grace: Duration,
    /// Minimum bytes per second; 0 for no minimum.
    rate: u64,
}

impl Patience {
    pub(crate) fn new(timeouts: &Timeouts) -> Self {
        Self { idle: timeouts.body_idle, grace: timeouts.body_grace, rate: timeouts.body_min_rate }
    }

    /// Creates the time-outs of an endless body, whose events arrive at any time.
    pub(crate) fn of_stream(timeouts: &Timeouts) -> Self {
        Self { idle: timeouts.stream_idle, grace: Duration::ZERO, rate: 0 }
    }

    /// The time left for the next chunk, given the bytes received and the time waited.
    fn left(&self, bytes: u64, waited: Duration) -> Duration {
        if self.rate == 0 {
            return self.idle;
        }
        let earned = Duration::from_millis(bytes.saturating_mul(1_000) / self.rate);
        self.idle.min((self.grace + earned).saturating_sub(waited))
    }
}

/// Why a body ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the body did not come in time ([httpServer] bodyIdleTimeout, bodyMinRate)")]
    TooSlow,
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// Records whether a body timed out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome(Arc<AtomicBool>);

impl Outcome {
    pub(crate) fn was_too_slow(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Maximum bytes that are read of an unused body.
const MAX_REST: u64 = 64 << 20;

/// A body with time-outs.
#[derive(Debug)]
pub(crate) struct Timed<B> {
    body: B,
    patience: Patience,
    outcome: Outcome,
    bytes: u64,
    waited: Duration,
    waits: Option<(Instant, Pin<Box<Sleep>>)>,
    ended: bool,
}

impl<B> Timed<B> {
    pub(crate) fn new(body: B, patience: Patience, outcome: Outcome) -> Self {
        let waited = Duration::ZERO;
        Self { body, patience, outcome, bytes: 0, waited, waits: None, ended: false }
    }

    /// Polls whether the next chunk is overdue.
    fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let left = self.patience.left(self.bytes, self.waited);
        let (_, sleep) = self.waits.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(tokio::time::sleep_until(now + left)))
        });
        sleep.as_mut().poll(context)
    }
}

impl<B> Body for Timed<B>
where
    B: Body<Data = Bytes, Error = hyper::Error> + Unpin,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) else {
            if this.poll_overdue(context).is_pending() {
                return Poll::Pending;
            }
            this.outcome.0.store(true, Ordering::Relaxed);
            this.ended = true;
            return Poll::Ready(Some(Err(Error::TooSlow)));
        };
        if let Some((since, _)) = this.waits.take() {
            this.waited += since.elapsed();
        }
        match &frame {
            Some(Ok(frame)) => this.bytes += size(frame),
            _ => this.ended = true,
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Error::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn size(frame: &Frame<Bytes>) -> u64 {
    frame.data_ref().map_or(0, |data| data.len() as u64)
}

/// A body whose rest is read if the route does not consume it.
#[derive(Debug)]
pub(crate) struct ReadOut {
    /// `Some` until dropped.
    body: Option<Timed<Incoming>>,
    /// `None` if the client does not depend on the rest being read.
    reader: Option<Shutdown>,
}

impl ReadOut {
    /// `request`: its head, which shows whether the client keeps sending regardless of the
    /// response. Over HTTP/2, the alternative to reading is `RST_STREAM` after the response, which
    /// some clients (curl 7.88) report as an error of the connection in place of the response.
    /// gRPC is left to that: its clients expect it, and its streams may be endless. So are requests
    /// that are refused because there are too many (`is_admitted` is false): one connection may
    /// have many of them, whose bodies no limit counts.
    pub(crate) fn new<B>(
        body: Timed<Incoming>,
        request: &hyper::Request<B>,
        is_admitted: bool,
        shutdown: &Shutdown,
    ) -> Self {
        let is_read = reads_rest(request, is_admitted);
        Self { body: Some(body), reader: is_read.then(|| shutdown.clone()) }
    }
}

/// Whether the rest of a body is read.
fn reads_rest<B>(request: &hyper::Request<B>, is_admitted: bool) -> bool {
    let is_counted = is_admitted || request.version() != hyper::Version::HTTP_2;
    is_counted && sends_on(request)
}

/// Whether the client of a request sends its whole body before it reads the response.
fn sends_on<B>(request: &hyper::Request<B>) -> bool {
    let headers = request.headers();
    let kind = headers.get(hyper::header::CONTENT_TYPE);
    let is_grpc = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    !is_grpc && !headers.contains_key(hyper::header::EXPECT)
}

impl Body for ReadOut {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for ReadOut {
    fn drop(&mut self) {
        let body = self.body.take().filter(|body| !body.ended && !body.is_end_stream());
        if let (Some(body), Some(shutdown)) = (body, &self.reader)
            && tokio::runtime::Handle::try_current().is_ok()
        {
            shutdown.spawn(throw_away(body));
        }
    }
}

async fn throw_away(mut body: Timed<Incoming>) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        bytes += size(&frame);
        if bytes > MAX_REST {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_sender_earns_time_with_every_byte() {
        let patience = Patience { idle: 30 * S, grace: 10 * S, rate: 100 };
        assert_eq!(patience.left(0, Duration::ZERO), 10 * S);
        assert_eq!(patience.left(0, 10 * S), Duration::ZERO);
        assert_eq!(patience.left(1_000, 10 * S), 10 * S);
        assert_eq!(patience.left(1 << 40, 10 * S), 30 * S);
    }

    #[test]
    fn a_stream_is_waited_for_however_little_it_sends() {
        let patience = Patience::of_stream(&Timeouts { stream_idle: 9 * S, ..Timeouts::default() });
        assert_eq!(patience.left(0, 1_000_000 * S), 9 * S);
    }

    #[test]
    fn clients_send_on_unless_they_ask_first_or_speak_grpc() {
        let sends = |version, name: &str, value: &str| {
            let request = hyper::Request::post("/").version(version).header(name, value);
            sends_on(&request.body(()).unwrap())
        };
        for version in [hyper::Version::HTTP_11, hyper::Version::HTTP_2] {
            assert!(sends(version, "content-type", "text/plain"));
            assert!(!sends(version, "expect", "100-continue"));
            assert!(!sends(version, "content-type", "application/grpc+proto"));
        }
    }

    #[test]
    fn bodies_of_requests_beyond_the_limit_are_not_read_over_http_2() {
        let reads = |version, is_admitted| {
            let request = hyper::Request::post("/").version(version).body(()).unwrap();
            reads_rest(&request, is_admitted)
        };
        assert!(reads(hyper::Version::HTTP_2, true));
        assert!(!reads(hyper::Version::HTTP_2, false));
        // The connection has one at a time.
        assert!(reads(hyper::Version::HTTP_11, false));
    }

    /// A body that never sends.
    struct Silent;

    impl Body for Silent {
        type Data = Bytes;
        type Error = hyper::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_is_given_up_and_says_so() {
        let patience = Patience { idle: Duration::from_millis(1), grace: S, rate: 0 };
        let outcome = Outcome::default();
        let mut body = Timed::new(Silent, patience, outcome.clone());
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        assert!(matches!(frame, Some(Err(Error::TooSlow))));
        assert!(outcome.was_too_slow());
    }
}

//! The time-outs of a connection: sending a request header, idling, reading the response.
//!
//! A connection is overdue in one of four ways, see [`Cause`]. Request bodies have separate
//! time-outs ([`super::bodies`]): while a request is served the connection waits for the server,
//! and only a client that does not read its response is overdue.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::http_conf::Timeouts;

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The request header did not arrive completely.
    Head,
    /// Idle for too long.
    Idle,
    /// Idle while most connections are in use.
    Busy,
    /// The client does not read its response.
    Stalled,
}

impl Cause {
    /// Its setting, which is also its label in metrics.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Head => "headerTimeout",
            Self::Idle => "keepAliveIdleTimeout",
            Self::Busy => "busyKeepAliveIdleTimeout",
            Self::Stalled => "responseStallTimeout",
        }
    }
}

/// The state of a connection.
#[derive(Debug)]
struct State {
    /// Requests whose response is not complete.
    requests: usize,
    /// Whether there was a request.
    asked: bool,
    /// Whether it uses HTTP/2, where header time-outs do not apply.
    multiplexed: bool,
    /// End of the last response, or start of the connection.
    quiet_since: Instant,
    /// Time of the first byte since then.
    head_since: Option<Instant>,
    /// Since when the client accepts no bytes.
    stalled_since: Option<Instant>,
}

impl State {
    /// When the connection will be overdue without further activity, and why.
    fn due(&self, timeouts: &Timeouts, busy: bool) -> Option<(Instant, Cause)> {
        if let Some(since) = self.stalled_since {
            return Some((since + timeouts.stall, Cause::Stalled));
        }
        if self.requests > 0 {
            return None;
        }
        if !self.asked {
            return Some((self.quiet_since + timeouts.head, Cause::Head));
        }
        let (time, cause) = match busy {
            true if timeouts.busy_keep_alive < timeouts.keep_alive => {
                (timeouts.busy_keep_alive, Cause::Busy)
            }
            _ => (timeouts.keep_alive, Cause::Idle),
        };
        match self.head_since.filter(|_| !self.multiplexed) {
            Some(since) => Some((since + timeouts.head, Cause::Head)),
            None => Some((self.quiet_since + time, cause)),
        }
    }
}

/// The time-outs of a connection; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Conversation(Arc<Mutex<State>>);

impl Conversation {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            requests: 0,
            asked: false,
            multiplexed: false,
            quiet_since: Instant::now(),
            head_since: None,
            stalled_since: None,
        })))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock());
    }

    /// Registers a request, which lasts until the returned value is dropped.
    pub(crate) fn request(&self, multiplexed: bool) -> Request {
        self.change(|state| {
            state.requests += 1;
            state.asked = true;
            state.multiplexed = multiplexed;
            state.head_since = None;
        });
        Request(self.clone())
    }

    /// Waits until the connection is overdue. `busy`: whether idle connections should be closed
    /// early.
    pub(crate) async fn overdue(&self, timeouts: &Timeouts, busy: impl Fn() -> bool) -> Cause {
        loop {
            let now = Instant::now();
            let due = {
                let state = self.0.lock();
                state.due(timeouts, busy())
            };
            let look_again = now + look_again_after(timeouts);
            let next = match due {
                Some((at, cause)) if at <= now => return cause,
                Some((at, _)) => at.min(look_again),
                None => look_again,
            };
            tokio::time::sleep_until(next).await;
        }
    }
}

/// Returns the interval between checks for overdue connections: a fraction of the shortest time-out.
fn look_again_after(timeouts: &Timeouts) -> Duration {
    let shortest = timeouts.head.min(timeouts.busy_keep_alive).min(timeouts.keep_alive);
    (shortest.min(timeouts.stall) / 4).clamp(Duration::from_millis(100), Duration::from_secs(5))
}

/// A request that is being served.
#[derive(Debug)]
pub(crate) struct Request(Conversation);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.requests -= 1;
            state.quiet_since = Instant::now();
            state.head_since = None;
        });
    }
}

/// A connection whose reads and writes are observed.
#[derive(Debug)]
pub(crate) struct Watched<I> {
    inner: I,
    conversation: Conversation,
    stalled: bool,
}

impl<I> Watched<I> {
    pub(crate) fn new(inner: I, conversation: Conversation) -> Self {
        Self { inner, conversation, stalled: false }
    }

    fn wrote<T>(&mut self, outcome: Poll<T>) -> Poll<T> {
        if self.stalled != outcome.is_pending() {
            self.stalled = outcome.is_pending();
            let since = self.stalled.then(Instant::now);
            self.conversation.change(|state| state.stalled_since = since);
        }
        outcome
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.inner).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.conversation.change(|state| {
                if state.requests == 0 {
                    state.head_since.get_or_insert_with(Instant::now);
                }
            });
        }
        outcome
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.wrote(outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        self.wrote(outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.wrote(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

/// A response body that holds a value until it is sent.
#[derive(Debug)]
pub(crate) struct Held<T> {
    body: axum::body::Body,
    _held: T,
}

impl<T> Held<T> {
    pub(crate) fn new(body: axum::body::Body, held: T) -> Self {
        Self { body, _held: held }
    }
}

impl<T: Unpin> Body for Held<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn timeouts() -> Timeouts {
        Timeouts {
            head: 2 * S,
            keep_alive: 9 * S,
            busy_keep_alive: 5 * S,
            stall: 7 * S,
            ..Timeouts::default()
        }
    }

    /// When the connection is overdue, in seconds from its beginning, and why.
    fn due(of: &Conversation, busy: bool) -> Option<(u64, Cause)> {
        let state = of.0.lock();
        let begin = state.quiet_since;
        state.due(&timeouts(), busy).map(|(at, cause)| ((at - begin).as_secs(), cause))
    }

    #[test]
    fn who_connects_sends_a_request_in_time() {
        let conversation = Conversation::new();
        assert_eq!(due(&conversation, false), Some((2, Cause::Head)));
        conversation.change(|state| state.head_since = Some(state.quiet_since + S));
        assert_eq!(due(&conversation, false), Some((2, Cause::Head)));
    }

    #[test]
    fn a_request_that_is_served_has_all_the_time_unless_nobody_reads_the_answer() {
        let conversation = Conversation::new();
        let request = conversation.request(false);
        assert_eq!(due(&conversation, true), None);
        conversation.change(|state| state.stalled_since = Some(state.quiet_since));
        assert_eq!(due(&conversation, false), Some((7, Cause::Stalled)));
        drop(request);
    }

    #[test]
    fn between_requests_a_connection_may_be_idle_and_less_so_when_others_wait() {
        let conversation = Conversation::new();
        drop(conversation.request(false));
        assert_eq!(due(&conversation, false), Some((9, Cause::Idle)));
        assert_eq!(due(&conversation, true), Some((5, Cause::Busy)));
        conversation.change(|state| state.head_since = Some(state.quiet_since + S));
        assert_eq!(due(&conversation, false), Some((3, Cause::Head)));
    }

    #[test]
    fn frames_of_http2_are_no_heads() {
        let conversation = Conversation::new();
        drop(conversation.request(true));
        conversation.change(|state| state.head_since = Some(state.quiet_since + S));
        assert_eq!(due(&conversation, false), Some((9, Cause::Idle)));
    }
}

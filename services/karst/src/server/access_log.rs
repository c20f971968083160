//! The access log of REST: requests that are answered, as events of splunkd_access.log.
//!
//! ```text
//! request -> AccessLog -> Accessed -> response -> its body is sent -> a waiting event -> own events
//! ```
//!
//! Guarantees: no request waits for the log. The events that wait have a limit; requests beyond it are
//! counted. The time of an event is the end of its response, so that a stream of hours is not an event of
//! hours ago, which searches of the last minutes never find. Own events are indexed within the process, so
//! writing this log adds no requests to it.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::http::header;
use axum::response::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use introspection::{Access, OwnEvent};
use metrics::counter;
use parking_lot::Mutex;
use runtime::{Clock, SystemClock, metrics as names};

/// Maximum bytes of events that wait for the end of the interval: 100 to 200 requests a second, if it has 30
/// seconds.
const MAX_WAITING: usize = 1 << 20;
/// Estimated memory of an event besides its text.
const EVENT_BYTES: usize = 96;

/// The log; clones share it. It is closed at first.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessLog(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    is_open: bool,
    events: Vec<OwnEvent>,
    bytes: usize,
    /// Requests that were left out, since the start.
    dropped: u64,
}

impl Waiting {
    /// Returns whether there was room for the event.
    fn add(&mut self, event: OwnEvent) -> bool {
        let size = event.text.len() + EVENT_BYTES;
        if self.bytes + size > MAX_WAITING {
            self.dropped += 1;
            return false;
        }
        self.bytes += size;
        self.events.push(event);
        true
    }
}

impl AccessLog {
    /// Logs requests from now on.
    pub(crate) fn open(&self) {
        self.0.lock().is_open = true;
    }

    /// Begins the event of a request; `None` while the log is closed or full.
    pub(crate) fn begin<B>(&self, request: &hyper::Request<B>, peer: IpAddr) -> Option<Accessed> {
        if !self.has_room()? {
            counter!(names::ACCESS_DROPPED).increment(1);
            return None;
        }
        let agent = request.headers().get(header::USER_AGENT);
        let access = Access {
            time: SystemClock.now(),
            client: peer.to_canonical().to_string(),
            user: None,
            method: request.method().to_string(),
            uri: api::logged_uri(request.uri()),
            version: format!("{:?}", request.version()),
            status: 0,
            bytes: 0,
            agent: agent.and_then(|agent| agent.to_str().ok()).map(str::to_owned),
            spent: Duration::ZERO,
        };
        Some(Accessed { log: self.clone(), access, begin: Instant::now() })
    }

    /// Whether there is room for an event, before the work of making one; `None` while the log is closed. If
    /// there is none, the request is counted.
    fn has_room(&self) -> Option<bool> {
        let mut waiting = self.0.lock();
        if !waiting.is_open {
            return None;
        }
        let has_room = waiting.bytes + EVENT_BYTES <= MAX_WAITING;
        if !has_room {
            waiting.dropped += 1;
        }
        Some(has_room)
    }

    fn add(&self, event: OwnEvent) {
        let is_added = self.0.lock().add(event);
        if !is_added {
            counter!(names::ACCESS_DROPPED).increment(1);
        }
    }

    /// Returns the events since the last call.
    pub(crate) fn take(&self) -> Vec<OwnEvent> {
        let mut waiting = self.0.lock();
        waiting.bytes = 0;
        std::mem::take(&mut waiting.events)
    }

    /// Closes the log. Returns the number of events that wait, which are lost.
    pub(crate) fn close(&self) -> usize {
        self.0.lock().is_open = false;
        self.take().len()
    }

    /// The number of requests that were left out, since the start.
    pub(crate) fn dropped(&self) -> u64 {
        self.0.lock().dropped
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Accessed {
    log: AccessLog,
    access: Access,
    begin: Instant,
}

impl Accessed {
    /// Returns the response; the event is added to the log when the body is sent or dropped.
    pub(crate) fn answered(mut self, response: Response) -> Response {
        self.access.status = response.status().as_u16();
        if let Some(requester) = response.extensions().get::<api::Requester>() {
            self.access.user.clone_from(&requester.user);
            if let Some(address) = &requester.address {
                self.access.client.clone_from(address);
            }
        }
        response.map(|body| axum::body::Body::new(Logged { body, accessed: self }))
    }
}

/// The body of a response in the log.
#[derive(Debug)]
struct Logged {
    body: axum::body::Body,
    accessed: Accessed,
}

impl Drop for Logged {
    fn drop(&mut self) {
        let Accessed { log, access, begin } = &mut self.accessed;
        access.time = SystemClock.now();
        access.spent = begin.elapsed();
        log.add(access.event());
    }
}

impl Body for Logged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.accessed.access.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        frame
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

    /// Answers a request, if the log is open.
    async fn answer(log: &AccessLog, uri: &str) -> bool {
        let request = hyper::Request::get(uri).header("user-agent", "test").body(()).unwrap();
        let Some(accessed) = log.begin(&request, [127, 0, 0, 1].into()) else { return false };
        let mut response = Response::new(axum::body::Body::from("answer"));
        let user = Some("ann".to_owned());
        response.extensions_mut().insert(api::Requester { user, address: None });
        let response = accessed.answered(response);
        assert_eq!(response.body().size_hint().exact(), Some(6));
        let body = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
        assert_eq!(&*body, b"answer");
        true
    }

    #[tokio::test]
    async fn a_request_is_logged_once_its_response_is_sent() {
        let log = AccessLog::default();
        assert!(!answer(&log, "/services/a").await, "it is closed at first");
        log.open();
        assert!(answer(&log, "/services/a?token=s1").await);
        let events = log.take();
        assert_eq!(events.len(), 1);
        let text = &events[0].text;
        assert!(text.starts_with("127.0.0.1 - ann ["), "{text}");
        let request = "\"GET /services/a?token=******** HTTP/1.1\" 200 6 \"-\" \"test\" - ";
        assert!(text.contains(request), "{text}");
        assert!(log.take().is_empty());
    }

    #[tokio::test]
    async fn the_time_of_an_event_is_the_end_of_its_response() {
        let log = AccessLog::default();
        log.open();
        let request = hyper::Request::get("/services/a").body(()).unwrap();
        let accessed = log.begin(&request, [127, 0, 0, 1].into()).unwrap();
        let response = accessed.answered(Response::new(axum::body::Body::from("answer")));
        tokio::time::sleep(Duration::from_millis(5)).await;
        let end = SystemClock.now();
        drop(response);
        let event = log.take().pop().unwrap();
        assert!(event.time >= end, "{event:?}");
        answer(&log, "/services/a").await;
        assert_eq!(log.close(), 1, "it is lost");
        assert!(!answer(&log, "/services/a").await);
    }

    #[tokio::test]
    async fn events_beyond_the_limit_are_counted_and_there_is_space_after_the_interval() {
        let log = AccessLog::default();
        log.open();
        let long = format!("/services/{}", "a".repeat(1_900));
        for _ in 0..1_000 {
            answer(&log, &long).await;
        }
        let dropped = log.dropped();
        let events = log.take();
        let bytes: usize = events.iter().map(|event| event.text.len()).sum();
        assert!(dropped > 0 && bytes <= MAX_WAITING, "{dropped} {bytes}");
        assert_eq!(events.len() as u64 + dropped, 1_000);
        answer(&log, "/services/a").await;
        assert_eq!((log.take().len(), log.dropped()), (1, dropped));
    }
}

//! A proxy in front of a real S3 server that makes it as slow and as unreliable as a remote one.
//!
//! It forwards requests unchanged (signatures stay valid, because they name the proxy as host), delays the
//! first byte, answers some requests with S3 errors, truncates some bodies, and counts. What happens to a
//! request depends on the seed, the request and the number of its repetitions, not on the order of arrival,
//! so that two runs of a test have the same faults.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_LENGTH, RANGE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use crate::S3Server;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, Failure>;

/// The faults of requests. Percentages are of all requests and add up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// Delay before the first byte of every answer.
    pub latency: Duration,
    /// Requests that fail with 500 InternalError or 503 ServiceUnavailable, half each.
    pub error_percent: f64,
    /// Requests that are refused with 503 SlowDown.
    pub slow_down_percent: f64,
    /// Responses whose bodies are cut off before their end.
    pub cut_percent: f64,
    /// The seed that selects these requests.
    pub seed: u64,
}

/// Counts of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProxyCounts {
    /// Reads of objects or ranges.
    pub get: u64,
    /// Reads of metadata.
    pub head: u64,
    /// Listings.
    pub list: u64,
    /// Writes of objects and parts.
    pub put: u64,
    /// All other requests.
    pub other: u64,
    /// Requests that failed with 500 or 503.
    pub errors: u64,
    /// Requests that were refused with SlowDown.
    pub slow_downs: u64,
    /// Responses whose bodies were cut off.
    pub cuts: u64,
    /// Bytes of response bodies sent by the server.
    pub sent: u64,
    /// Maximum number of concurrent requests.
    pub most_at_once: u64,
}

impl ProxyCounts {
    /// Requests of every kind.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.get + self.head + self.list + self.put + self.other
    }
}

/// A running proxy; it ends when this is dropped.
#[derive(Debug)]
pub struct S3Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: AbortHandle,
}

impl S3Proxy {
    /// Starts a proxy in front of a server, on a free port.
    ///
    /// # Panics
    /// If the machine has no free port.
    pub async fn before(server: &S3Server, faults: Faults) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let started = Self::listen(address, &server.endpoint(), faults).await;
        started.expect("the machine has a free port")
    }

    /// Starts a proxy at an address, in front of an endpoint such as `http://127.0.0.1:9000`.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn listen(address: SocketAddr, upstream: &str, faults: Faults) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let shared = Arc::new(Shared {
            upstream: upstream.trim_end_matches('/').to_owned(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            state: Mutex::new(State { faults, ..State::default() }),
        });
        let server = tokio::spawn(serve(listener, Arc::clone(&shared))).abort_handle();
        Ok(Self { address, shared, server })
    }

    /// The address for clients.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The `AWS_*` variables of a client that uses the server through this proxy.
    #[must_use]
    pub fn variables(&self, server: &S3Server) -> std::collections::BTreeMap<String, String> {
        let mut variables = server.variables();
        variables.insert("AWS_ENDPOINT".to_owned(), self.endpoint());
        variables
    }

    /// Changes the faults for requests from now on.
    pub fn set(&self, faults: Faults) {
        self.shared.state.lock().faults = faults;
    }

    /// The counts since the start or the last reset.
    #[must_use]
    pub fn counts(&self) -> ProxyCounts {
        self.shared.state.lock().counts
    }

    /// Resets the counts.
    pub fn reset(&self) {
        self.shared.state.lock().counts = ProxyCounts::default();
    }
}

impl Drop for S3Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[derive(Debug)]
struct Shared {
    upstream: String,
    client: Client<HttpConnector, Incoming>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    faults: Faults,
    counts: ProxyCounts,
    under_way: u64,
    /// The number of repetitions of each request, by its hash.
    seen: HashMap<u64, u64>,
}

/// The outcome of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Forward,
    Fail(StatusCode, &'static str),
    /// The share of the body after which it is cut off.
    Cut(f64),
}

impl State {
    /// Counts a request and decides its outcome.
    fn begin(&mut self, request: &Request<Incoming>) -> (Duration, Fate) {
        let is_list = request.uri().query().is_some_and(|query| query.contains("list-type="));
        let count = match *request.method() {
            Method::GET if is_list => &mut self.counts.list,
            Method::GET => &mut self.counts.get,
            Method::HEAD => &mut self.counts.head,
            Method::PUT => &mut self.counts.put,
            _ => &mut self.counts.other,
        };
        *count += 1;
        self.under_way += 1;
        self.counts.most_at_once = self.counts.most_at_once.max(self.under_way);
        let fate = self.fate(identity(request));
        match fate {
            Fate::Fail(_, "SlowDown") => self.counts.slow_downs += 1,
            Fate::Fail(..) => self.counts.errors += 1,
            Fate::Forward | Fate::Cut(_) => {}
        }
        (self.faults.latency, fate)
    }

    fn fate(&mut self, identity: u64) -> Fate {
        let seen = self.seen.entry(identity).or_default();
        *seen += 1;
        let random = mix(identity ^ mix(self.faults.seed) ^ mix(*seen << 32));
        let faults = &self.faults;
        let mut percent = share(random) * 100.0;
        let mut falls_to = |part: f64| {
            percent -= part;
            percent < 0.0
        };
        if falls_to(faults.error_percent / 2.0) {
            Fate::Fail(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")
        } else if falls_to(faults.error_percent / 2.0) {
            Fate::Fail(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
        } else if falls_to(faults.slow_down_percent) {
            Fate::Fail(StatusCode::SERVICE_UNAVAILABLE, "SlowDown")
        } else if falls_to(faults.cut_percent) {
            Fate::Cut(share(mix(random)))
        } else {
            Fate::Forward
        }
    }
}

/// A hash of a request, without the parts that change when it is sent again.
fn identity(request: &Request<Incoming>) -> u64 {
    let range = request.headers().get(RANGE).map_or(&b""[..], |range| range.as_bytes());
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let parts = [request.method().as_str().as_bytes(), path.as_bytes(), range];
    parts.into_iter().flatten().fold(0, |hash, byte| mix(hash ^ u64::from(*byte)))
}

/// The finalizer of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Maps a random number to the range from 0 to 1, uniformly.
#[allow(clippy::cast_precision_loss)]
fn share(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(shared.answer(request).await) }
            });
            // A body that is cut off ends the connection with an error, as intended.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// A running request, until this is dropped.
struct UnderWay<'a>(&'a Shared);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state.lock().under_way -= 1;
    }
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (latency, fate) = self.state.lock().begin(&request);
        let _under_way = UnderWay(self);
        tokio::time::sleep(latency).await;
        if let Fate::Fail(status, code) = fate {
            return refusal(status, code);
        }
        match self.forward(request).await {
            Ok(answer) => self.deliver(answer, fate),
            Err(error) => refusal(StatusCode::BAD_GATEWAY, &error.to_string()),
        }
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Incoming>, Failure> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = format!("{}{path}", self.upstream).parse::<Uri>()?;
        Ok(self.client.request(Request::from_parts(parts, body)).await?)
    }

    fn deliver(&self, answer: Response<Incoming>, fate: Fate) -> Response<Body> {
        let length = answer.headers().get(CONTENT_LENGTH);
        let length: u64 = length.and_then(|text| text.to_str().ok()?.parse().ok()).unwrap_or(0);
        let mut state = self.state.lock();
        state.counts.sent += length;
        match fate {
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
            Fate::Cut(share) if length > 0 => {
                state.counts.cuts += 1;
                let bytes = (length as f64 * share) as u64;
                answer.map(|body| broken_off(body, bytes))
            }
            _ => answer.map(|body| body.map_err(Failure::from).boxed_unsync()),
        }
    }
}

/// Cuts a body off after `bytes` bytes, with an error.
fn broken_off(body: Incoming, bytes: u64) -> Body {
    let frames = futures::stream::try_unfold(
        (BodyDataStream::new(body), bytes),
        |(mut body, left)| async move {
            let next = body.next().await.transpose()?.filter(|_| left > 0);
            let Some(mut data) = next else { return Err(Failure::from("broken off")) };
            data.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            let left = left - data.len() as u64;
            Ok(Some((Frame::data(data), (body, left))))
        },
    );
    StreamBody::new(frames).boxed_unsync()
}

/// An error response in S3's format.
fn refusal(status: StatusCode, code: &str) -> Response<Body> {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code>\
         <Message>from the proxy before the server</Message></Error>"
    );
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(faults: &Faults, requests: u64) -> Vec<Fate> {
        let mut state = State { faults: faults.clone(), ..State::default() };
        (0..requests).map(|request| state.fate(mix(request))).collect()
    }

    #[test]
    fn as_many_requests_fail_as_asked_for_and_the_same_ones_each_time() {
        let faults = Faults {
            error_percent: 5.0,
            slow_down_percent: 10.0,
            cut_percent: 20.0,
            seed: 7,
            ..Faults::default()
        };
        let first = fates(&faults, 10_000);
        let share = |test: &dyn Fn(&Fate) -> bool| first.iter().filter(|fate| test(fate)).count();
        let errors = share(&|fate| matches!(fate, Fate::Fail(_, code) if *code != "SlowDown"));
        let refused = share(&|fate| matches!(fate, Fate::Fail(_, "SlowDown")));
        let cut = share(&|fate| matches!(fate, Fate::Cut(_)));
        assert!((400..600).contains(&errors), "{errors}");
        assert!((850..1150).contains(&refused), "{refused}");
        assert!((1800..2200).contains(&cut), "{cut}");
        assert_eq!(first, fates(&faults, 10_000));
        assert_ne!(first, fates(&Faults { seed: 8, ..faults }, 10_000));
    }

    #[test]
    fn a_request_that_failed_may_work_the_next_time() {
        let faults = Faults { error_percent: 50.0, ..Faults::default() };
        let mut state = State { faults, ..State::default() };
        let fates: Vec<Fate> = (0..20).map(|_| state.fate(3)).collect();
        assert!(fates.contains(&Fate::Forward) && fates.iter().any(|fate| *fate != Fate::Forward));
    }
}

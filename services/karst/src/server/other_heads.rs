//! Requests about jobs of other search heads: a job runs and has its results where it was started, its id
//! names that process, and any other search head passes requests about it on. So a load balancer need not be
//! sticky. If that process does not answer, any search head answers for a job that is in object storage.
//!
//! They travel over the connections of the cluster, below a path of their own, with what the listener of a
//! port knows of a client.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{Others, Question};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TRANSFER_ENCODING,
};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header, uri};
use axum::response::Response;
use catalog::Catalog;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered};
use parking_lot::Mutex;
use peers::Registration;
use serde_json::Value;
use tonic::transport::Channel;
use tower::ServiceExt;
use transport::Transport;

use super::gateway::{self, HttpService};

/// The prefix of paths on the cluster's port.
const PREFIX: &str = "/karst.rest.v1";
/// The address of the client.
const CLIENT: HeaderName = HeaderName::from_static("karst-client");
/// How the request arrived: `tls` and `web`, if they apply.
const ARRIVAL: HeaderName = HeaderName::from_static("karst-arrival");
/// The host that it asked.
const ASKED: HeaderName = HeaderName::from_static("karst-host");

/// The other search heads. Clones share the connections.
#[derive(Debug, Clone)]
pub(crate) struct OtherHeads {
    catalog: Catalog,
    transport: Transport,
    /// The identity of this process.
    own: Arc<str>,
    channels: Arc<Mutex<HashMap<String, Channel>>>,
    silent: Arc<Silent>,
}

impl OtherHeads {
    pub(crate) fn new(catalog: Catalog, transport: Transport, own: &str) -> Self {
        let (channels, silent) = (Arc::default(), Arc::default());
        Self { catalog, transport, own: own.into(), channels, silent }
    }

    /// The process that has the job, if it is another one that is known.
    fn owner(&self, sid: &str) -> Option<Registration> {
        let (_, id) = sid.rsplit_once('_')?;
        if id == &*self.own || uuid::Uuid::parse_str(id).is_err() {
            return None;
        }
        let all = Registration::all(&self.catalog.snapshot());
        let (_, owner) = all.into_iter().find(|(known, _)| known == id)?;
        owner.roles.iter().any(|role| role == "search-head").then_some(owner)
    }

    fn channel(&self, address: &str) -> Result<Channel, String> {
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(address) {
            return Ok(channel.clone());
        }
        let channel = self.transport.channel(address).map_err(|error| error.to_string())?;
        channels.insert(address.to_owned(), channel.clone());
        Ok(channel)
    }

    async fn pass_on(&self, owner: &Registration, request: Request) -> Result<Response, String> {
        let channel = self.channel(&owner.address)?;
        let request = outgoing(request).ok_or("the path cannot be forwarded")?;
        let response = channel.oneshot(request).await;
        let response = response.map_err(|error| transport::reason(&error))?;
        Ok(response.map(Body::new))
    }
}

/// Time-out of responses of other processes.
const ANSWER: Duration = Duration::from_secs(5);
/// Bytes that an answer may have.
const MAX_ANSWER: usize = 64 << 20;
/// The headers that are passed on with a question.
const ASKING: [HeaderName; 6] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::USER_AGENT,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    HeaderName::from_static("x-splunk-request-channel"),
];

/// All other processes with a role.
#[derive(Debug, Clone)]
pub(crate) struct WithRole {
    pub(crate) others: OtherHeads,
    pub(crate) role: &'static str,
}

impl Others for WithRole {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Vec<Result<Value, String>>> {
        Box::pin(async move {
            let asking = self.all().map(|process| async move {
                let asked =
                    tokio::time::timeout(ANSWER, self.others.ask_one(&process, question)).await;
                let answer = asked.unwrap_or_else(|_| Err("it does not answer".to_owned()));
                let Registration { name, address, .. } = &process;
                answer.map_err(|reason| format!("the {} {name} ({address}): {reason}", self.role))
            });
            let asking: Vec<_> = asking.collect();
            futures::future::join_all(asking).await
        })
    }

    fn ask_quickly<'a>(
        &'a self,
        question: &'a Question<'a>,
        most: Duration,
    ) -> BoxStream<'a, Value> {
        let (others, now) = (&self.others, Instant::now());
        let asked = self.all().filter(|process| !others.silent.has(&process.address, now));
        let asking = asked.map(move |process| async move {
            let asking = others.ask_one(&process, question);
            let answer = tokio::time::timeout(most, asking).await;
            if answer.is_err() {
                others.silent.add(process.address, Instant::now());
            }
            answer.ok()?.ok()
        });
        let answers: FuturesUnordered<_> = asking.collect();
        Box::pin(answers.filter_map(std::future::ready))
    }
}

impl WithRole {
    /// Returns the other processes with the role.
    fn all(&self) -> impl Iterator<Item = Registration> {
        let all = Registration::all(&self.others.catalog.snapshot()).into_iter();
        let others = all.filter(move |(id, known)| {
            *id != *self.others.own && known.roles.iter().any(|role| role == self.role)
        });
        others.map(|(_, process)| process)
    }
}

/// Time for which a process is not asked quickly again after it did not answer.
const SILENCE: Duration = Duration::from_secs(10);

/// The addresses of processes that did not answer a quick question, with the times of the questions.
#[derive(Debug, Default)]
struct Silent(Mutex<HashMap<String, Instant>>);

impl Silent {
    fn has(&self, address: &str, now: Instant) -> bool {
        self.0.lock().get(address).is_some_and(|since| now < *since + SILENCE)
    }

    fn add(&self, address: String, now: Instant) {
        let mut all = self.0.lock();
        all.retain(|_, since| now < *since + SILENCE);
        all.insert(address, now);
    }
}

impl OtherHeads {
    async fn ask_one(
        &self,
        process: &Registration,
        question: &Question<'_>,
    ) -> Result<Value, String> {
        let request = Request::builder().method(question.method.clone()).uri(question.path);
        let request = request.body(Body::from(question.body.clone()));
        let mut request = request.map_err(|error| error.to_string())?;
        for name in ASKING {
            for value in question.headers.get_all(&name) {
                request.headers_mut().append(&name, value.clone());
            }
        }
        request.extensions_mut().insert(ConnectInfo(question.client));
        let answer = self.pass_on(process, request).await?;
        if !answer.status().is_success() {
            return Err(format!("it answers {}", answer.status()));
        }
        let body = axum::body::to_bytes(answer.into_body(), MAX_ANSWER).await;
        let body = body.map_err(|error| error.to_string())?;
        serde_json::from_slice(&body).map_err(|error| error.to_string())
    }
}

/// Maximum bytes of a request's body that are kept, so that the request can be answered here if the other
/// process does not answer. A request with a larger body can only be passed on.
const KEPT_BODY: u64 = 1 << 20;

/// Returns a REST service that passes on requests about jobs of other search heads. Requests about a job in
/// object storage are answered here if its search head does not answer, or is starting or stopping.
pub(crate) fn passing_on(heads: OtherHeads, rest: impl HttpService) -> impl HttpService {
    tower::service_fn(move |request: Request| {
        let (heads, rest) = (heads.clone(), rest.clone());
        async move {
            let sid = sid_of(request.uri().path());
            let owner = sid.and_then(|sid| heads.owner(sid));
            let Some(owner) = owner else { return rest.oneshot(request).await };
            let is_saved =
                || sid.is_some_and(|sid| search::is_saved_job(&heads.catalog.snapshot(), sid));
            let (request, again) = match is_short(&request) && is_saved() {
                true => match twice(request).await {
                    Ok((request, again)) => (request, Some(again)),
                    // The client has left, or has sent more than it said.
                    Err(reason) => return Ok(unavailable(&owner, &reason)),
                },
                false => (request, None),
            };
            let answer = heads.pass_on(&owner, request).await;
            let is_away = answer
                .as_ref()
                .map_or(true, |answer| answer.status() == StatusCode::SERVICE_UNAVAILABLE);
            match (again, answer) {
                (Some(again), _) if is_away => rest.oneshot(again).await,
                (_, Ok(response)) => Ok(response),
                (_, Err(reason)) => Ok(unavailable(&owner, &reason)),
            }
        }
    })
}

/// Whether the body of a request can be kept.
fn is_short(request: &Request) -> bool {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match length.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) => length <= KEPT_BODY,
        None => {
            let has_none = matches!(*request.method(), Method::GET | Method::DELETE);
            has_none && !request.headers().contains_key(TRANSFER_ENCODING)
        }
    }
}

/// The same request twice.
async fn twice(request: Request) -> Result<(Request, Request), String> {
    let (parts, body) = request.into_parts();
    let body: Bytes =
        axum::body::to_bytes(body, KEPT_BODY as usize).await.map_err(|error| error.to_string())?;
    let again = Request::from_parts(parts.clone(), Body::from(body.clone()));
    Ok((Request::from_parts(parts, Body::from(body)), again))
}

/// REST for the other search heads, on the cluster's port.
pub(crate) fn served_to_others(rest: impl HttpService + Sync) -> Router {
    let arriving = tower::service_fn(move |request: Request| {
        let rest = rest.clone();
        async move { rest.oneshot(incoming(request)).await }
    });
    Router::new().route_service(&format!("{PREFIX}/{{*path}}"), arriving)
}

/// The id of the job that a path is about.
fn sid_of(path: &str) -> Option<&str> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next()? {
        "services" => {}
        "servicesNS" => {
            parts.nth(1)?;
        }
        _ => return None,
    }
    if parts.next()? != "search" {
        return None;
    }
    match parts.next()? {
        "jobs" => parts.next(),
        "v2" => parts.next().filter(|part| *part == "jobs").and_then(|_| parts.next()),
        _ => None,
    }
}

fn outgoing(request: Request) -> Option<axum::http::Request<tonic::body::Body>> {
    let (mut parts, body) = request.into_parts();
    let query = parts.uri.path_and_query().map_or("/", uri::PathAndQuery::as_str);
    parts.uri = Uri::try_from(format!("{PREFIX}{query}")).ok()?;
    let value = |text: &str| HeaderValue::from_str(text).ok();
    let client = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let client = client.and_then(|info| value(&info.0.to_string()));
    let arrival = parts.extensions.get::<api::Arrival>().copied().unwrap_or_default();
    let arrival = [(arrival.tls, "tls"), (arrival.web, "web")];
    let arrival: Vec<_> = arrival.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
    let asked = parts.headers.get(HOST).cloned();
    let told = [(CLIENT, client), (ARRIVAL, value(&arrival.join(","))), (ASKED, asked)];
    without_hops(&mut parts.headers);
    for (name, value) in told {
        parts.headers.remove(&name);
        if let Some(value) = value {
            parts.headers.insert(name, value);
        }
    }
    parts.extensions.clear();
    parts.version = axum::http::Version::HTTP_2;
    Some(axum::http::Request::from_parts(parts, tonic::body::Body::new(body)))
}

/// A request as the listener of a port would have it.
fn incoming(mut request: Request) -> Request {
    let headers = request.headers_mut();
    let mut take = |name| headers.remove(name);
    let (client, arrival, asked) = (take(CLIENT), take(ARRIVAL), take(ASKED));
    if let Some(asked) = asked {
        headers.insert(HOST, asked);
    }
    let text = |value: Option<HeaderValue>| {
        value.and_then(|value| value.to_str().ok().map(str::to_owned)).unwrap_or_default()
    };
    let arrival = text(arrival);
    let has = |name| arrival.split(',').any(|part| part == name);
    let arrival = api::Arrival { tls: has("tls"), web: has("web") };
    let query = request.uri().path_and_query().map_or("/", uri::PathAndQuery::as_str);
    if let Ok(path) = Uri::try_from(query.strip_prefix(PREFIX).unwrap_or(query)) {
        *request.uri_mut() = path;
    }
    let extensions = request.extensions_mut();
    // Also removes the matched route, which is not a REST route.
    extensions.clear();
    extensions.insert(arrival);
    extensions.insert(api::FromOther);
    if let Ok(client) = text(client).parse::<SocketAddr>() {
        extensions.insert(ConnectInfo(client));
    }
    request
}

/// Removes headers that HTTP/2 does not have, and those of a single connection.
fn without_hops(headers: &mut HeaderMap) {
    const HOPS: [HeaderName; 6] = [
        CONNECTION,
        TRANSFER_ENCODING,
        HOST,
        header::UPGRADE,
        header::TE,
        HeaderName::from_static("keep-alive"),
    ];
    let named = headers.get(CONNECTION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let named: Vec<HeaderName> =
        named.split(',').filter_map(|name| name.trim().parse().ok()).collect();
    for name in HOPS.iter().chain(&named) {
        headers.remove(name);
    }
}

fn unavailable(owner: &Registration, reason: &str) -> Response {
    let Registration { name, address, .. } = owner;
    gateway::refusal(&format!(
        "the search head {name} ({address}), which has the job, does not answer: {reason}; start the search \
         again"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_job_is_found_with_and_without_a_namespace() {
        for (path, sid) in [
            ("/services/search/jobs/17.2_a", Some("17.2_a")),
            ("/services/search/v2/jobs/17.2_a/results", Some("17.2_a")),
            ("/servicesNS/admin/search/search/jobs/17.2_a/control", Some("17.2_a")),
            ("/services/search/jobs", None),
            ("/services/search/parser/jobs", None),
            ("/services/saved/searches/jobs/dispatch", None),
            ("/api/v1/sql", None),
        ] {
            assert_eq!(sid_of(path), sid, "{path}");
        }
    }

    #[test]
    fn a_process_that_did_not_answer_is_silent_for_a_while() {
        let (silent, start) = (Silent::default(), Instant::now());
        silent.add("a:1".to_owned(), start);
        assert!(silent.has("a:1", start) && !silent.has("b:1", start));
        let later = start + SILENCE;
        assert!(!silent.has("a:1", later));
        silent.add("b:1".to_owned(), later);
        assert_eq!(silent.0.lock().len(), 1);
    }

    #[tokio::test]
    async fn a_request_with_a_short_body_is_there_twice() {
        let post = |length: Option<&str>| {
            let mut request = Request::post("/services/search/jobs/1_a/control");
            if let Some(length) = length {
                request = request.header(CONTENT_LENGTH, length);
            }
            request.body(Body::from("action=touch")).unwrap()
        };
        assert!(is_short(&post(Some("12"))) && is_short(&Request::new(Body::empty())));
        // Longer bodies, and those of unknown length, are not kept in memory.
        assert!(!is_short(&post(None)) && !is_short(&post(Some("1048577"))));
        let mut request = post(Some("12"));
        request.extensions_mut().insert(api::Arrival { tls: true, web: true });
        let (one, two) = twice(request).await.unwrap();
        for request in [one, two] {
            assert!(request.extensions().get::<api::Arrival>().is_some_and(|arrival| arrival.web));
            let body = axum::body::to_bytes(request.into_body(), 100).await.unwrap();
            assert_eq!(body, "action=touch");
        }
    }

    #[test]
    fn what_a_listener_knows_arrives_and_what_a_client_claims_does_not() {
        let client: SocketAddr = "10.1.2.3:456".parse().unwrap();
        let mut request = Request::post("/services/search/jobs/1_a/control?output_mode=json")
            .header(HOST, "karst:8089")
            .header(CONNECTION, "close, x-hop")
            .header("x-hop", "1")
            .header(CLIENT, "6.6.6.6:6")
            .header(header::AUTHORIZATION, "Splunk key")
            .header(CONTENT_LENGTH, "3")
            .body(Body::from("a=b"))
            .unwrap();
        let arrival = api::Arrival { tls: true, web: false };
        request.extensions_mut().insert(ConnectInfo(client));
        request.extensions_mut().insert(arrival);
        let sent = outgoing(request).unwrap();
        assert_eq!(sent.uri(), "/karst.rest.v1/services/search/jobs/1_a/control?output_mode=json");
        assert!(sent.headers().get(CONNECTION).is_none() && sent.headers().get("x-hop").is_none());
        let arrived = incoming(sent.map(Body::new));
        assert_eq!(arrived.uri(), "/services/search/jobs/1_a/control?output_mode=json");
        let headers = arrived.headers();
        assert_eq!((headers[HOST].as_bytes(), headers.get(CLIENT)), (&b"karst:8089"[..], None));
        assert_eq!(headers[header::AUTHORIZATION], "Splunk key");
        assert_eq!(arrived.extensions().get::<ConnectInfo<SocketAddr>>().unwrap().0, client);
        assert_eq!(arrived.extensions().get::<api::Arrival>(), Some(&arrival));
    }
}

//! The audit trail of requests over HTTP: one layer around every route, so that no route can omit it.
//!
//! | what | when it is answered |
//! | --- | --- |
//! | changes, logins, refusals (401, 403) | once the record is on the disk |
//! | searches, their ends, reads of secrets, requests that change nothing | the record is on its way |
//!
//! Searches are recorded where they begin and end, in `searches`; what kind of request a route takes is
//! decided in `actions`.

mod actions;
mod client;
mod ended;
mod expiry;
mod observed;
mod redact;
pub(crate) mod searches;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::audit::{AuditLog, Info, Limiter, Record, Verdict};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::counter;
use parking_lot::Mutex;
use runtime::metrics as names;
use runtime::trace::TraceContext;

use crate::ApiState;
use crate::error::RestError;
use crate::output::{OutputMode, error_body};
use crate::params::Params;
use actions::{Action, Class};
use client::Client;
pub use client::Proxies;
pub use expiry::record_expired_sessions;
pub use observed::Requester;
pub use observed::WithinSearch;
pub(crate) use observed::{Changed, Observed};
pub use redact::logged_uri;

/// The action name of logins, including failed ones.
const LOGIN_ATTEMPT: &str = "login attempt";
/// Interval at which a user who sends name and password with every request is recorded as logged in.
const BASIC_LOGIN: Duration = Duration::from_secs(600);
/// Logins of that kind that are remembered.
const BASIC_LOGINS: usize = 4_096;

/// The trail, and the values that routes need to write to it.
#[derive(Debug)]
pub struct Audit {
    /// The trail.
    pub log: AuditLog,
    proxies: Proxies,
    /// Refusals of senders who are nobody.
    denials: Limiter,
    basic: Mutex<HashMap<(String, String), Instant>>,
}

impl Audit {
    /// Creates an audit trail that writes to `log`, with a maximum number of refusals per address and second.
    #[must_use]
    pub fn new(log: AuditLog, proxies: Proxies, denials_per_second: u32) -> Self {
        let denials = Limiter::new(denials_per_second);
        Self { log, proxies, denials, basic: Mutex::default() }
    }

    /// Records refusals that were only counted when they came; asked now and then.
    pub async fn flush_suppressed(&self) {
        for (address, suppressed) in self.denials.unsaid(Instant::now()) {
            let record = Record::new("", "denials_suppressed", Info::Denied)
                .with("clientip", address)
                .with("suppressed", suppressed);
            // The log reports its own failures.
            let _ = self.log.note(record).await;
        }
    }

    /// A refusal of somebody who is nobody, unless there were too many a moment ago.
    async fn denied(&self, client: &Client, record: Record) -> Result<(), ::audit::Error> {
        let address = client.address.as_deref().unwrap_or_default();
        match self.denials.take(address, Instant::now()) {
            Verdict::Suppress => {
                counter!(names::AUDIT_SUPPRESSED).increment(1);
                Ok(())
            }
            Verdict::Record { suppressed } => {
                let suppressed = (suppressed > 0).then_some(suppressed);
                self.log.append(record.with_some("suppressed", suppressed)).await.map(drop)
            }
        }
    }

    /// Whether this use of name and password counts as a login.
    fn is_new_login(&self, user: &str, client: &Client) -> bool {
        let key = (user.to_owned(), client.address.clone().unwrap_or_default());
        let now = Instant::now();
        let mut basic = self.basic.lock();
        if basic.len() >= BASIC_LOGINS {
            basic.retain(|_, at| now.duration_since(*at) < BASIC_LOGIN);
        }
        if basic.len() >= BASIC_LOGINS {
            basic.clear();
        }
        let last = basic.get(&key);
        let is_new = last.is_none_or(|at| now.duration_since(*at) >= BASIC_LOGIN);
        if is_new {
            basic.insert(key, now);
        }
        is_new
    }
}

/// Whether a request is one that begins a search.
pub(crate) fn begins_search(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    actions::of(request.method(), route, request.uri().path()).class == Class::Search
}

/// Records a request with its outcome. A change is not started while it could not be recorded.
pub(crate) async fn record(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let action = actions::of(request.method(), route.as_deref(), request.uri().path());
    let client = Client::of(&request, &state.audit.proxies);
    let trace = request.extensions().get::<TraceContext>().cloned().unwrap_or_default();
    let is_within_search = request.extensions().get::<WithinSearch>().is_some();
    let seen = Observed::new(client.clone(), trace, is_within_search);
    request.extensions_mut().insert(seen.clone());
    let writes = matches!(action.class, Class::Change | Class::Login);
    if writes && let Err(error) = state.audit.log.check() {
        return refused(request, &error).await;
    }
    let about = About::of(&request, &action);
    let mut response = next.run(request).await;
    response.extensions_mut().insert(seen.requester());
    let outcome = Outcome::of(&response);
    match write(&state, &about, &action, &seen, &outcome).await {
        Ok(()) => response,
        // Nobody may believe in a change that is not on record.
        Err(error) if writes && outcome.info == Info::Succeeded => {
            let json = seen.params().is_some_and(|params| asks_json(&params));
            About { json: about.json || json, ..about }.unrecorded(&error)
        }
        Err(error) => {
            tracing::error!(%error, action = action.name, "a request is not in the audit trail");
            response
        }
    }
}

async fn write(
    state: &ApiState,
    about: &About,
    action: &Action,
    seen: &Observed,
    outcome: &Outcome,
) -> Result<(), ::audit::Error> {
    let (audit, client) = (&state.audit, seen.client());
    let user = seen.user();
    if let Some(user) = &user
        && client.scheme == Some("basic")
        && action.class != Class::Login
        && audit.is_new_login(user, client)
    {
        let login = client.fields(Record::new(user, LOGIN_ATTEMPT, Info::Succeeded));
        audit.log.note(login.with("reason", "name and password with a request")).await?;
    }
    let nobody = user.is_none();
    match action.class {
        _ if outcome.info == Info::Denied => {
            let record = about.record(action, seen, outcome);
            if nobody {
                audit.denied(client, record).await
            } else {
                audit.log.append(record).await.map(drop)
            }
        }
        Class::Polled if outcome.info != Info::Succeeded => {
            audit.denied(client, about.record(action, seen, outcome)).await
        }
        Class::Read | Class::Polled => Ok(()),
        Class::Search if seen.is_recorded() => Ok(()),
        Class::Login if outcome.info != Info::Succeeded => {
            audit.denied(client, about.record(action, seen, outcome)).await
        }
        Class::Change | Class::Login => {
            audit.log.append(about.record(action, seen, outcome)).await.map(drop)
        }
        // Strangers write no more into the trail by this than by refusals.
        Class::Light if nobody => audit.denied(client, about.record(action, seen, outcome)).await,
        Class::Search | Class::Light | Class::Secret => {
            audit.log.note(about.record(action, seen, outcome)).await
        }
    }
}

/// The outcome of a request.
#[derive(Debug)]
struct Outcome {
    info: Info,
    status: u16,
    reason: Option<String>,
}

impl Outcome {
    fn of(response: &Response) -> Self {
        let error = response.extensions().get::<RestError>();
        // A browser may be led on after a refusal.
        let status = error.map_or(response.status(), |error| error.status).as_u16();
        let grpc = response.headers().get("grpc-status").and_then(|value| value.to_str().ok());
        let info = match (status, grpc) {
            (401 | 403, _) | (_, Some("7" | "16")) => Info::Denied,
            (..=399, None | Some("0")) => Info::Succeeded,
            _ => Info::Failed,
        };
        let error = error.map(|error| error.text.clone());
        let message = || {
            let value = response.headers().get("grpc-message")?;
            Some(redact::decoded(value.to_str().ok()?))
        };
        Self { info, status, reason: error.or_else(message) }
    }
}

/// Data of a request that is read before it is handled.
#[derive(Debug)]
struct About {
    method: String,
    path: String,
    agent: Option<String>,
    namespace: Option<(Option<String>, Option<String>)>,
    /// Whether errors are JSON, according to the path, the URL and the headers.
    json: bool,
}

/// Whether the parameters ask for an answer in JSON.
fn asks_json(params: &Params) -> bool {
    OutputMode::of(params).is_ok_and(OutputMode::is_json)
}

impl About {
    fn of(request: &Request, _: &Action) -> Self {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let namespace = request.extensions().get::<crate::namespace::PathNamespace>();
        let path = request.uri().path().to_owned();
        let query = Params::parse(request.uri().query().unwrap_or_default(), &[]);
        let accepts = header(header::ACCEPT).unwrap_or_default();
        Self {
            method: request.method().to_string(),
            json: path.starts_with("/api/")
                || accepts.starts_with("application/json")
                || asks_json(&query),
            path,
            agent: header(header::USER_AGENT).map(|agent| agent.chars().take(200).collect()),
            namespace: namespace.map(|place| (place.owner.clone(), place.app.clone())),
        }
    }

    fn record(&self, action: &Action, seen: &Observed, outcome: &Outcome) -> Record {
        let params = seen.params();
        let tries = seen.has_password() || action.name == actions::SAML_RESPONSE;
        let attempt = action.class == Class::Login
            || (outcome.info == Info::Denied && outcome.status == 401 && tries);
        // For a failed login: the name in the request.
        let tried = || params.as_ref().and_then(|p| p.text("username").map(str::to_lowercase));
        let user =
            seen.user().or_else(|| if action.class == Class::Login { tried() } else { None });
        let user = user.or_else(|| seen.client().name.clone()).unwrap_or_default();
        let info = match outcome.info {
            Info::Denied if attempt => Info::Failed,
            info => info,
        };
        let name = if attempt { LOGIN_ATTEMPT } else { &action.name };
        let mut record = Record::new(&user, name, info);
        let created = || params.as_ref().and_then(|p| p.text("name").map(str::to_owned));
        let object = Some(action.object.clone()).filter(|object| !object.is_empty());
        record = record.with_some("object", object.or_else(created));
        record = seen.client().fields(record);
        record = record.with_some("session", seen.session());
        record = record.with("method", &self.method).with("uri", &self.path);
        if let Some((owner, app)) = &self.namespace {
            record = record.with_some("owner", owner.as_ref()).with_some("app", app.as_ref());
        }
        record = record.with("status", outcome.status);
        record = record.with_some("useragent", self.agent.as_ref());
        record = record.with_some("reason", outcome.reason.as_ref());
        if let Some(params) = params {
            record = redact::add(record, &self.path, &params, action.class == Class::Search);
        }
        if let Some(changed) = seen.what_changed() {
            record = redact::add_changed(record, changed);
        }
        record.with_some("body_bytes", seen.body_bytes())
    }

    /// The answer to a change that was made and is not recorded.
    fn unrecorded(&self, error: &::audit::Error) -> Response {
        let text = format!("the change was made, but it is not in the audit trail: {error}");
        self.answer(text)
    }

    fn answer(&self, text: String) -> Response {
        let error = RestError::of_kind(model::ErrorKind::Unavailable, text);
        let mode = if self.json { OutputMode::Json } else { OutputMode::Xml };
        mode.respond(error.status, error_body(&error, mode)).into_response()
    }
}

/// The answer to a change that could not be recorded, and is not made.
async fn refused(request: Request, error: &::audit::Error) -> Response {
    let mut about = About::of(&request, &Action::default());
    if !about.json {
        // Most clients set the mode in the form, which has not been read yet.
        about.json = asks_json(&Params::of_refused("", request.into_body()).await);
    }
    about.answer(format!("changes are refused while they cannot be recorded: {error}"))
}

/// Records that a sender of events was refused.
pub(crate) async fn record_sender(
    state: &ApiState,
    input: &'static str,
    client: &Client,
    path: &str,
    reason: &str,
) {
    let record = Record::new("", "send_events", Info::Denied)
        .with("object", input)
        .with("uri", path)
        .with("reason", reason);
    // Events are not changes: senders are answered even if the trail cannot be written.
    if let Err(error) = state.audit.denied(client, client.fields(record)).await {
        tracing::error!(%error, "a refused sender is not in the audit trail");
    }
}

impl Audit {
    /// Returns the sender of a request.
    pub(crate) fn client(&self, request: &Request) -> Client {
        Client::of(request, &self.proxies)
    }
}

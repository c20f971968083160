//! `GET /api/v1/jobs/stream`: the status of the jobs of a page, sent whenever it changes.
//!
//! ```text
//! jobs of this search head --- looked at every 500 ms, and when one ends ---+
//! new jobs of the page ------- StatusStreams -------------------------------+--> events
//! jobs of other search heads - one request a second to each head -----------+
//! ```
//!
//! Server-sent events: `status` (an entry of `POST /api/v1/jobs/status`), `gone` (the job does not exist any
//! more, or the caller may not see it), `end` (why the stream ends). A new stream begins with the status of
//! every job, so events have no ids: a client that comes back has missed nothing that it needs.
//! Rows are not sent.

use std::collections::HashSet;
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use metrics::counter;
use runtime::metrics as names;
use search::Job;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until};

use super::job_entry;
use super::job_status;
use super::jobs::find_known;
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need;
use crate::routing::{Routes, get};
use crate::session::{self, Caller};
use crate::status_streams::{OpenStream, stream_name};
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::{ApiState, FromOther, Others};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(PATH, get(Need::Own, "Streams the status of up to 200 jobs as it changes", stream))
}

const PATH: &str = "/api/v1/jobs/stream";
/// Most jobs that a stream names: their ids are in the address, and a header of HTTP/2 has 16 KB
/// (`http2MaxHeaderListSize`).
const MOST_NAMED: usize = 200;
/// Maximum number of jobs that a stream follows at a time, including those that begin later.
const MOST_JOBS: usize = 1_000;
/// Between two looks at jobs that run, and so between two events of a job. The console draws progress once a
/// second; a preview should not wait as long. The end of a job wakes the stream and is not held back.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Between two requests to other search heads, each for all of their jobs.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Proxies close connections without traffic, often after 30 or 60 s. The rights of the caller are looked at
/// anew at the same time.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time for which a stream without running jobs is kept for a page that may start more searches.
const LINGER: Duration = Duration::from_secs(15);
/// Number of consecutive requests after which a job that no search head has counts as removed, while some
/// search head does not answer.
const PATIENCE: usize = 8;
/// Nginx would collect the events.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Events are of the moment, and a proxy that packs them would hold them back.
const NOT_KEPT: &str = "no-store, no-cache, no-transform";

async fn stream(
    Call { state, caller, params, source, .. }: Call,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, RestError> {
    let name = params.text("status_stream").map(stream_name).transpose()?;
    let sids = named(&params, name.is_some())?;
    let most = state.settings.max_status_streams;
    let open = state.status_streams.open(&caller.user, name, most);
    let open = open.ok_or_else(|| refused(&caller.user, most))?;
    let client = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    // A search head that asks for a client follows its own jobs itself.
    let heads = state.heads.clone().filter(|_| extensions.get::<FromOther>().is_none());
    let elsewhere = heads.zip(client).map(|(heads, client)| RemoteJobs::new(heads, client));
    let lingers = name.is_some();
    let mut follow =
        Follow::new(state, caller, RequestIdentity { headers, source }, open, elsewhere);
    follow.lingers = lingers;
    follow.take(sids);
    let events = futures::stream::unfold(follow, |mut follow| async move {
        let chunk = follow.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(chunk.into()), follow))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static(NOT_KEPT)),
        (BUFFERING, HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(events.boxed())).into_response())
}

/// Returns the jobs of a request, each once. A request that names its stream may begin without jobs.
fn named(params: &Params, may_be_none: bool) -> Result<Vec<String>, RestError> {
    let mut seen = HashSet::new();
    let sids: Vec<String> =
        params.all("sid").filter(|sid| seen.insert(*sid)).map(str::to_owned).collect();
    if sids.is_empty() && !may_be_none {
        let text = "add sid=<id of a job> to the request, once for each job, or status_stream=<name> to follow \
                    the searches that are started with the same status_stream";
        return Err(RestError::invalid(text));
    }
    if sids.len() > MOST_NAMED {
        let text = format!(
            "{} jobs: a stream names {MOST_NAMED} at most; ask for more with POST /api/v1/jobs/status",
            sids.len()
        );
        return Err(RestError::invalid(text));
    }
    Ok(sids)
}

fn refused(user: &str, most: usize) -> RestError {
    let text = format!(
        "the user \"{user}\" has {most} streams of job statuses open (maxStatusStreams in server.conf \
         [httpServer]): close some, or ask with POST /api/v1/jobs/status"
    );
    RestError::new(StatusCode::TOO_MANY_REQUESTS, "WARN", text)
}

/// The credentials of the request, for checking the rights again.
struct RequestIdentity {
    headers: HeaderMap,
    source: Option<IpAddr>,
}

/// A job of this search head, with the status that was sent last.
struct LocalJob {
    job: Arc<Job>,
    told: Option<Map<String, Value>>,
}

/// Jobs of other search heads.
struct RemoteJobs {
    heads: Arc<dyn Others>,
    client: SocketAddr,
    /// The jobs by id, with the status that was sent last.
    jobs: Vec<(String, Option<Map<String, Value>>)>,
    /// Requests in a row that some head did not answer.
    misses: usize,
    ask_at: Instant,
    asking: Option<BoxFuture<'static, Vec<Result<Value, String>>>>,
}

impl RemoteJobs {
    fn new(heads: Arc<dyn Others>, client: SocketAddr) -> Self {
        let (jobs, ask_at) = (Vec::new(), Instant::now());
        Self { heads, client, jobs, misses: 0, ask_at, asking: None }
    }

    /// Waits for the next answer of all heads; without a job, for ever.
    async fn answers(&mut self, headers: &HeaderMap) -> Vec<Result<Value, String>> {
        if self.jobs.is_empty() && self.asking.is_none() {
            return std::future::pending().await;
        }
        if self.asking.is_none() {
            sleep_until(self.ask_at).await;
            self.ask_at = Instant::now() + ASK_EVERY;
            let sids = self.jobs.iter().map(|(sid, _)| sid.clone()).collect();
            let (heads, client) = (Arc::clone(&self.heads), self.client);
            self.asking = Some(Box::pin(job_status::ask(heads, headers.clone(), client, sids)));
        }
        let asking = self.asking.as_mut().map(|asking| asking.as_mut());
        let Some(asking) = asking else { return std::future::pending().await };
        let answers = asking.await;
        self.asking = None;
        answers
    }
}

/// A stream, between two events.
struct Follow {
    state: ApiState,
    caller: Caller,
    identity: RequestIdentity,
    open: OpenStream,
    here: Vec<LocalJob>,
    elsewhere: Option<RemoteJobs>,
    /// Whether jobs may begin later.
    lingers: bool,
    look_at: Instant,
    beat_at: Instant,
    /// When something ran last.
    busy_at: Instant,
    /// Events that are ready.
    out: String,
    has_ended: bool,
}

/// The event that has woken a stream.
enum Woken {
    Stopping,
    Job(Option<Arc<Job>>),
    Look,
    Answers(Vec<Result<Value, String>>),
    Beat,
}

impl Follow {
    fn new(
        state: ApiState,
        caller: Caller,
        identity: RequestIdentity,
        open: OpenStream,
        elsewhere: Option<RemoteJobs>,
    ) -> Self {
        let now = Instant::now();
        Self {
            state,
            caller,
            identity,
            open,
            here: Vec::new(),
            elsewhere,
            lingers: false,
            look_at: now,
            beat_at: now + HEARTBEAT,
            busy_at: now,
            // Sent at once, so that the client notices whether a proxy buffers events.
            out: "retry: 3000\n: open\n\n".to_owned(),
            has_ended: false,
        }
    }

    /// Begins with the jobs that the request names.
    fn take(&mut self, sids: Vec<String>) {
        for sid in sids {
            if let Ok(job) = find_known(&self.state, &self.caller, &sid) {
                self.here.push(LocalJob { job, told: None });
            } else if let Some(elsewhere) = &mut self.elsewhere {
                elsewhere.jobs.push((sid, None));
            } else {
                self.gone(&sid);
            }
        }
        self.look();
    }

    /// The next events as text; `None` after the last one.
    async fn next(&mut self) -> Option<String> {
        loop {
            if !self.has_ended && !self.lingers && !self.follows() {
                self.end("done");
            }
            if !self.out.is_empty() {
                return Some(std::mem::take(&mut self.out));
            }
            if self.has_ended {
                return None;
            }
            match self.wait().await {
                Woken::Stopping => self.end("stopping"),
                Woken::Job(Some(job)) => self.begins(job),
                Woken::Job(None) => self.end("replaced"),
                Woken::Look => self.look(),
                Woken::Answers(answers) => self.heard(&answers),
                Woken::Beat => self.beat().await,
            }
        }
    }

    /// Whether a job of it has not ended.
    fn follows(&self) -> bool {
        !self.here.is_empty() || self.elsewhere.as_ref().is_some_and(|all| !all.jobs.is_empty())
    }

    async fn wait(&mut self) -> Woken {
        let mut ends: FuturesUnordered<_> = self
            .here
            .iter()
            .map(|LocalJob { job, .. }| async move {
                let _ = job.finished().await;
            })
            .collect();
        let looks = !self.here.is_empty();
        let headers = &self.identity.headers;
        let elsewhere = &mut self.elsewhere;
        let answers = async move {
            match elsewhere {
                Some(elsewhere) => elsewhere.answers(headers).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.state.shutdown.stopped() => Woken::Stopping,
            job = self.open.next_job() => Woken::Job(job),
            Some(()) = ends.next() => Woken::Look,
            () = sleep_until(self.look_at), if looks => Woken::Look,
            answers = answers => Woken::Answers(answers),
            () = sleep_until(self.beat_at) => Woken::Beat,
        }
    }

    /// A search of the page that has just been started.
    fn begins(&mut self, job: Arc<Job>) {
        let is_known = self.here.iter().any(|here| here.job.sid() == job.sid());
        if is_known || self.here.len() >= MOST_JOBS {
            return;
        }
        self.here.push(LocalJob { job, told: None });
        self.look();
    }

    /// Writes the changes of the jobs of this search head.
    fn look(&mut self) {
        let now = Instant::now();
        self.look_at = now + LOOK_EVERY;
        for mut here in std::mem::take(&mut self.here) {
            self.busy_at = now;
            let sid = here.job.sid().to_owned();
            // Found anew each time: a job can be removed, and its rows closed to the caller.
            let Ok(job) = find_known(&self.state, &self.caller, &sid) else {
                self.gone(&sid);
                continue;
            };
            let content = job_entry::status(&job);
            let has_ended = has_ended(&content);
            if is_news(here.told.as_ref(), &content) {
                let entry = job_status::entry(&job, &content);
                self.event("status", &entry);
                here.told = Some(content);
            }
            if !has_ended {
                self.here.push(here);
            }
        }
    }

    /// Writes the changes in the responses of other search heads.
    fn heard(&mut self, answers: &[Result<Value, String>]) {
        let Some(mut elsewhere) = self.elsewhere.take() else { return };
        self.busy_at = Instant::now();
        let is_silent = answers.iter().any(Result::is_err);
        elsewhere.misses = if is_silent { elsewhere.misses + 1 } else { 0 };
        let found = |sid: &str| {
            let jobs = answers.iter().flatten().filter_map(|answer| answer["jobs"].as_array());
            jobs.flatten().find(|job| job["sid"] == *sid)
        };
        let known = self.here.len();
        for (sid, told) in std::mem::take(&mut elsewhere.jobs) {
            let Some(entry) = found(&sid) else {
                // The job was saved meanwhile, and its search head is no longer available.
                if let Ok(job) = find_known(&self.state, &self.caller, &sid) {
                    self.here.push(LocalJob { job, told });
                    continue;
                }
                // The head that has the job may be the one that does not answer.
                if is_silent && elsewhere.misses < PATIENCE {
                    elsewhere.jobs.push((sid, told));
                } else {
                    self.gone(&sid);
                }
                continue;
            };
            let content = entry["content"].as_object().cloned().unwrap_or_default();
            if is_news(told.as_ref(), &content) {
                self.event("status", entry);
            }
            if !has_ended(&content) {
                elsewhere.jobs.push((sid, Some(content)));
            }
        }
        self.elsewhere = Some(elsewhere);
        if self.here.len() > known {
            self.look();
        }
    }

    /// Shows that the stream is alive, and ends it with the session, or when nothing has run for a while.
    async fn beat(&mut self) {
        let now = Instant::now();
        self.beat_at = now + HEARTBEAT;
        if !self.follows() && now >= self.busy_at + LINGER {
            return self.end("done");
        }
        // Each of the requests that a stream replaces would have been checked.
        let RequestIdentity { headers, source } = &self.identity;
        match session::caller(&self.state, headers, *source).await {
            Ok((caller, _)) if caller.user == self.caller.user => self.caller = caller,
            _ => return self.end("session"),
        }
        self.out.push_str(": alive\n\n");
    }

    fn gone(&mut self, sid: &str) {
        self.event("gone", &json!({"sid": sid}));
    }

    fn end(&mut self, reason: &str) {
        self.event("end", &json!({"reason": reason}));
        self.has_ended = true;
    }

    fn event(&mut self, kind: &'static str, data: &Value) {
        counter!(names::STATUS_EVENTS, "kind" => kind).increment(1);
        // JSON contains no line ends, so the data is one line.
        let _ = write!(self.out, "event: {kind}\ndata: {data}\n\n");
    }
}

fn has_ended(content: &Map<String, Value>) -> bool {
    content.get("isDone").and_then(Value::as_bool).unwrap_or_default()
}

/// Whether something has changed besides times, or a second has passed in which the job ran.
fn is_news(told: Option<&Map<String, Value>>, content: &Map<String, Value>) -> bool {
    const TIMES: [&str; 2] = ["runDuration", "modifiedTime"];
    let Some(told) = told else { return true };
    // Another search head may report fewer values.
    let seconds = |content: &Map<String, Value>| {
        content.get("runDuration").and_then(Value::as_f64).unwrap_or_default()
    };
    let changed = |(name, value): (&String, &Value)| {
        !TIMES.contains(&name.as_str()) && told.get(name) != Some(value)
    };
    seconds(content) - seconds(told) >= 1.0 || content.iter().any(changed)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let get = format!("GET {PATH}");
    let search = "id=streamed&exec_mode=blocking&search=%7C+makeresults";
    let many: String = (0..=MOST_NAMED).map(|number| format!("&sid={number}")).collect();
    vec![
        case("POST /services/search/jobs", search, 201, "streamed"),
        case(&format!("{get}?sid=streamed"), "", 200, "\"isDone\":true"),
        case(&format!("{get}?sid=streamed"), "", 200, "event: end\ndata: {\"reason\":\"done\"}"),
        case(&format!("{get}?sid=none"), "", 200, "event: gone\ndata: {\"sid\":\"none\"}"),
        case(&get, "", 400, "add sid="),
        case(&format!("{get}?status_stream=a%20b"), "", 400, "status_stream: 1 to 64"),
        case(&format!("{get}?{}", &many[1..]), "", 400, "201 jobs"),
        case("POST /services/search/jobs", "search=x&status_stream=%2F", 400, "status_stream: 1"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(progress: f64, seconds: f64) -> Map<String, Value> {
        let content = json!({
            "doneProgress": progress, "runDuration": seconds, "modifiedTime": seconds.to_string(),
        });
        content.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_job_is_news_when_it_has_changed_and_once_a_second() {
        assert!(is_news(None, &content(0.0, 0.0)));
        let told = content(0.5, 1.0);
        assert!(!is_news(Some(&told), &content(0.5, 1.9)));
        assert!(is_news(Some(&told), &content(0.6, 1.25)));
        assert!(is_news(Some(&told), &content(0.5, 2.0)));
    }
}

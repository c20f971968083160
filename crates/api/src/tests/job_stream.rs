//! Streams of job statuses: what joins one, who sees what, how one ends, what other search heads are asked.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode, header};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use parking_lot::Mutex;
use search::JobRequest;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::server::Server;
use crate::{FromOther, Others, Question, Settings};

const PATH: &str = "/api/v1/jobs/stream";
const JOBS: &str = "/services/search/jobs";

/// A stream that is open.
struct Stream {
    headers: HeaderMap,
    body: BodyDataStream,
    text: String,
}

impl Stream {
    /// Reads until the text has arrived; returns all text so far.
    async fn until(&mut self, wanted: &str) -> &str {
        while !self.text.contains(wanted) {
            let next = tokio::time::timeout(Duration::from_secs(20), self.body.next()).await;
            let chunk = next.unwrap_or_else(|_| panic!("{wanted} is not in {}", self.text));
            let chunk = chunk.unwrap_or_else(|| panic!("ended without {wanted}: {}", self.text));
            self.text.push_str(&String::from_utf8_lossy(&chunk.unwrap()));
        }
        &self.text
    }

    /// Everything up to the end.
    async fn rest(mut self) -> String {
        self.until("event: end").await;
        assert!(self.body.next().await.is_none(), "it goes on after its end: {}", self.text);
        self.text
    }
}

/// The stream, or the status and text of the refusal.
async fn open(server: &Server, user: &str, query: &str) -> Result<Stream, (StatusCode, String)> {
    let key = server.state.accounts.local_session(user);
    let client: SocketAddr = "127.0.0.1:4000".parse().unwrap();
    let request = Request::get(format!("{PATH}?{query}"))
        .header(header::AUTHORIZATION, format!("Splunk {key}"))
        .extension(ConnectInfo(client));
    let request = request.body(Body::empty()).unwrap();
    let Ok(answer) = crate::rest_router(server.state.clone()).oneshot(request).await;
    let (parts, body) = answer.into_parts();
    if parts.status.is_success() {
        let (headers, text) = (parts.headers, String::new());
        return Ok(Stream { headers, body: body.into_data_stream(), text });
    }
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    Err((parts.status, String::from_utf8_lossy(&bytes).into_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_joins_the_stream_that_it_names() {
    let server = Server::start().await;
    let mut stream = open(&server, "user", "status_stream=page-1").await.unwrap();
    assert_eq!(stream.headers[header::CONTENT_TYPE], "text/event-stream");
    assert_eq!(stream.headers["x-accel-buffering"], "no");
    stream.until(": open").await;
    let form = [("search", "| makeresults"), ("id", "joined"), ("status_stream", "page-1")];
    // Those of others and of other pages do not.
    for (user, id, name) in [("power", "of_power", "page-1"), ("user", "elsewhere", "page-2")] {
        let form = [("search", "| makeresults"), ("id", id), ("status_stream", name)];
        assert_eq!(server.post(user, JOBS, &form).await.status, StatusCode::CREATED);
    }
    assert_eq!(server.post("user", JOBS, &form).await.status, StatusCode::CREATED);
    let text = stream.until("\"isDone\":true").await;
    assert!(text.contains("\"sid\":\"joined\"") && text.contains("\"cost\":"), "{text}");
    assert!(!text.contains("of_power") && !text.contains("\"elsewhere\""), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_gone_and_those_of_others_are_gone_and_the_stream_ends_with_the_last_one() {
    let server = Server::start().await;
    let own = server.job("user", "| makeresults").await;
    let other = server.job("power", "| makeresults").await;
    let query = format!("sid={own}&sid={other}&sid=never&sid={own}");
    let text = open(&server, "user", &query).await.unwrap().rest().await;
    let gone = |sid: &str| text.contains(&format!("event: gone\ndata: {{\"sid\":\"{sid}\"}}\n\n"));
    assert!(gone(&other) && gone("never") && !gone(&own), "{text}");
    assert_eq!(text.matches("event: status").count(), 1, "{text}");
    assert!(text.contains("{\"reason\":\"done\"}"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_a_limited_number_of_streams_and_a_page_one() {
    let mut server = Server::start().await;
    server.state.settings = Arc::new(Settings { max_status_streams: 1, ..Settings::default() });
    let first = open(&server, "user", "status_stream=a").await.unwrap();
    let (status, text) = open(&server, "user", "status_stream=b").await.err().unwrap();
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{text}");
    assert!(text.contains("maxStatusStreams"), "{text}");
    assert!(open(&server, "power", "status_stream=b").await.is_ok());
    let again = open(&server, "user", "status_stream=a").await.unwrap();
    assert!(first.rest().await.contains("{\"reason\":\"replaced\"}"));
    drop(again);
    assert!(open(&server, "user", "status_stream=b").await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_when_the_server_stops() {
    let server = Server::start().await;
    let stream = open(&server, "user", "status_stream=a").await.unwrap();
    server.state.shutdown.stop();
    assert!(stream.rest().await.contains("{\"reason\":\"stopping\"}"));
}

/// Search heads that give these answers, one after the other, the last one for ever.
#[derive(Debug, Default)]
struct Heads {
    answers: Mutex<Vec<Result<Value, String>>>,
    asked: Mutex<Vec<(Instant, String)>>,
}

impl Others for Heads {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Vec<Result<Value, String>>> {
        let mut asked = self.asked.lock();
        let answers = self.answers.lock();
        let answer = answers[asked.len().min(answers.len() - 1)].clone();
        asked.push((Instant::now(), String::from_utf8_lossy(&question.body).into_owned()));
        assert!(question.headers.contains_key(header::AUTHORIZATION));
        Box::pin(async move { vec![answer] })
    }

    fn ask_quickly<'a>(&'a self, question: &'a Question<'a>, _: Duration) -> BoxStream<'a, Value> {
        Box::pin(stream::once(self.ask(question)).flat_map(|answers| {
            let answers: Vec<Value> = answers.into_iter().flatten().collect();
            let has_it =
                answers.iter().any(|one| !one["jobs"][0].is_null() || !one["hidden"][0].is_null());
            // Nothing waits for the slow head if another one has the job.
            let slow: BoxStream<'_, Value> =
                if has_it { stream::pending().boxed() } else { stream::empty().boxed() };
            stream::iter(answers).chain(slow)
        }))
    }
}

fn jobs(jobs: &[(&str, f64, bool)]) -> Result<Value, String> {
    let entry = |(sid, progress, done): &(&str, f64, bool)| {
        let content = json!({"doneProgress": progress, "isDone": done});
        json!({"sid": sid, "content": content})
    };
    Ok(json!({"jobs": jobs.iter().map(entry).collect::<Vec<_>>()}))
}

#[tokio::test(flavor = "multi_thread")]
async fn other_heads_are_asked_for_all_of_their_jobs_once_a_second() {
    let mut server = Server::start().await;
    let heads = Arc::new(Heads {
        answers: Mutex::new(vec![
            jobs(&[("a", 0.5, false), ("b", 0.5, false)]),
            jobs(&[("a", 0.5, false), ("b", 1.0, true)]),
            jobs(&[("a", 1.0, true)]),
        ]),
        ..Heads::default()
    });
    server.state.heads = Some(Arc::clone(&heads) as Arc<dyn Others>);
    let text = open(&server, "user", "sid=a&sid=b&sid=c").await.unwrap().rest().await;
    // An unchanged status is not sent again.
    assert_eq!(text.matches("event: status").count(), 4, "{text}");
    assert!(text.contains("event: gone\ndata: {\"sid\":\"c\"}"), "{text}");
    let asked = heads.asked.lock();
    let forms: Vec<&str> = asked.iter().map(|(_, form)| form.as_str()).collect();
    assert_eq!(forms, ["sid=a&sid=b&sid=c", "sid=a&sid=b", "sid=a"]);
    for pair in asked.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= Duration::from_millis(990), "{asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_not_gone_because_a_head_does_not_answer_for_a_moment() {
    let mut server = Server::start().await;
    let answers = vec![Err("it does not answer".to_owned()), jobs(&[("a", 1.0, true)])];
    let heads = Heads { answers: Mutex::new(answers), ..Heads::default() };
    server.state.heads = Some(Arc::new(heads));
    let text = open(&server, "user", "sid=a").await.unwrap().rest().await;
    assert!(text.contains("\"isDone\":true") && !text.contains("event: gone"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_saved_is_not_gone_with_its_head() {
    let mut server = Server::start().await;
    let answers = Mutex::new(vec![jobs(&[("a", 0.5, false)])]);
    let heads = Arc::new(Heads { answers, ..Heads::default() });
    server.state.heads = Some(Arc::clone(&heads) as Arc<dyn Others>);
    let mut stream = open(&server, "user", "sid=a").await.unwrap();
    stream.until("event: status").await;
    // The job ends and is saved; then it is only in object storage.
    let form = [("search", "search index=open"), ("id", "a"), ("exec_mode", "blocking")];
    let made = server.post("user", JOBS, &form).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let saved = server.post("user", &format!("{JOBS}/a/control"), &[("action", "save")]).await;
    assert_eq!(saved.status, StatusCode::OK, "{saved:?}");
    assert!(server.state.search.cancel("a"));
    heads.answers.lock().push(jobs(&[]));
    let text = stream.rest().await;
    assert!(text.contains("\"isDone\":true") && !text.contains("event: gone"), "{text}");
}

/// Sends a form of the user, as a client or as another search head does.
async fn send(server: &Server, path: &str, form: String, is_head: bool) -> (StatusCode, String) {
    let key = server.state.accounts.local_session("user");
    let client: SocketAddr = "127.0.0.1:4000".parse().unwrap();
    let mut request = Request::post(path)
        .header(header::AUTHORIZATION, format!("Splunk {key}"))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .extension(ConnectInfo(client));
    if is_head {
        request = request.extension(FromOther);
    }
    let request = request.body(Body::from(form)).unwrap();
    let Ok(answer) = crate::rest_router(server.state.clone()).oneshot(request).await;
    let status = answer.status();
    let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_with_which_another_head_has_a_job_is_refused() {
    let mut server = Server::start().await;
    let answers = vec![
        jobs(&[("a", 0.5, false)]),
        Ok(json!({"jobs": [], "unknown": ["a"], "hidden": ["a"]})),
        Ok(json!({"jobs": [], "unknown": ["a"], "hidden": []})),
        Err("it does not answer".to_owned()),
    ];
    let heads = Arc::new(Heads { answers: Mutex::new(answers), ..Heads::default() });
    server.state.heads = Some(Arc::clone(&heads) as Arc<dyn Others>);
    for (id, expected) in [("a", 400), ("a", 400), ("a", 201), ("b", 201)] {
        let form = format!("search=%7C+makeresults&id={id}");
        let (status, text) = send(&server, JOBS, form, false).await;
        assert_eq!(status.as_u16(), expected, "{text}");
        assert_eq!(text.contains("exists already"), expected == 400, "{text}");
    }
    // Nobody is asked about an id that this search head makes or has, nor if the search is not SPL.
    for (form, expected) in [
        ("search=%7C+makeresults", 201),
        ("search=%7C+makeresults&id=b", 400),
        ("search=%7C+nosuchcommand&id=c", 400),
    ] {
        let (status, text) = send(&server, JOBS, form.to_owned(), false).await;
        assert_eq!(status.as_u16(), expected, "{text}");
    }
    assert_eq!(heads.asked.lock().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_a_search_that_is_being_planned_is_taken() {
    let server = Server::start().await;
    let request = JobRequest::new("| makeresults", "power");
    let reserved = server.state.search.reserve("slow", &request).unwrap();
    let form = "search=%7C+makeresults&id=slow";
    let (status, text) = send(&server, JOBS, form.to_owned(), false).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
    let (_, text) = send(&server, "/api/v1/jobs/status", "sid=slow".to_owned(), true).await;
    assert!(text.contains("\"hidden\":[\"slow\"]"), "{text}");
    drop(reserved);
    // The ids of searches that cannot be planned are free again.
    let invalid = format!("{form}&earliest_time=nonsense");
    for (form, expected) in [(&*invalid, 400), (form, 201), (form, 400)] {
        let (status, text) = send(&server, JOBS, form.to_owned(), false).await;
        assert_eq!(status.as_u16(), expected, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_other_heads_hear_of_jobs_that_the_user_may_not_see() {
    let server = Server::start().await;
    let other = server.job("power", "| makeresults").await;
    for is_head in [false, true] {
        let form = format!("sid={other}&sid=none");
        let (status, text) = send(&server, "/api/v1/jobs/status", form, is_head).await;
        assert_eq!(status, StatusCode::OK, "{text}");
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&body["jobs"], &body["unknown"]), (&json!([]), &json!([other, "none"])));
        let hidden = if is_head { json!([other]) } else { Value::Null };
        assert_eq!(body["hidden"], hidden);
    }
}

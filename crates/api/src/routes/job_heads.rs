//! What this search head asks the others of the cluster about jobs.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method};
use futures::StreamExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{ApiState, Others, Question};

/// The path of the question.
pub(super) const PATH: &str = "/api/v1/jobs/status";
/// Maximum time for which a search waits for the answers of other search heads about its id.
const WAIT: Duration = Duration::from_secs(1);

/// Asks all other search heads for jobs, with the credentials of the client.
pub(super) async fn ask(
    heads: &dyn Others,
    headers: HeaderMap,
    client: SocketAddr,
    body: Bytes,
) -> Vec<Result<Value, String>> {
    heads.ask(&question(&of_form(headers), client, body)).await
}

fn question(headers: &HeaderMap, client: SocketAddr, body: Bytes) -> Question<'_> {
    Question { method: Method::POST, path: PATH, headers, body, client }
}

/// Replaces the type of the body in the headers of a client.
fn of_form(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.remove(CONTENT_ENCODING);
    headers
}

/// The request for these jobs.
pub(super) fn form(sids: &[&str], touch: bool) -> Bytes {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(sids.iter().map(|sid| ("sid", *sid)));
    if touch {
        form.append_pair("touch", "1");
    }
    form.finish().into()
}

/// Whether another search head has a job with an id, or is starting one, also if the client may not see it.
/// Search heads that do not answer are left out: one that is down must not prevent searches.
pub(super) fn is_taken<'a>(
    state: &'a ApiState,
    sid: String,
    headers: HeaderMap,
    extensions: &Extensions,
) -> BoxFuture<'a, bool> {
    let client = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    Box::pin(async move {
        let (Some(heads), Some(client)) = (&state.heads, client) else { return false };
        let headers = of_form(headers);
        let question = question(&headers, client, form(&[sid.as_str()], false));
        let mut answers = heads.ask_quickly(&question, WAIT);
        while let Some(answer) = answers.next().await {
            if has_jobs(&answer) {
                return true;
            }
        }
        false
    })
}

/// Whether a search head has one of the jobs that it was asked for.
fn has_jobs(answer: &Value) -> bool {
    let has = |field: &str| answer[field].as_array().is_some_and(|jobs| !jobs.is_empty());
    has("jobs") || has("hidden")
}

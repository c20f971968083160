//! What this search head asks the others of the cluster about jobs.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{ApiState, Others, Question};

/// The path of the question.
pub(super) const PATH: &str = "/api/v1/jobs/status";

/// Asks all other search heads for jobs, with the credentials of the client.
pub(super) async fn ask(
    heads: &dyn Others,
    mut headers: HeaderMap,
    client: SocketAddr,
    body: Bytes,
) -> Vec<Result<Value, String>> {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.remove(CONTENT_ENCODING);
    heads.ask(&Question { method: Method::POST, path: PATH, headers: &headers, body, client }).await
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
        let answers = ask(heads.as_ref(), headers, client, form(&[&sid], false)).await;
        answers.iter().flatten().any(has_jobs)
    })
}

/// Whether a search head has one of the jobs that it was asked for.
fn has_jobs(answer: &Value) -> bool {
    let has = |field: &str| answer[field].as_array().is_some_and(|jobs| !jobs.is_empty());
    has("jobs") || has("hidden")
}

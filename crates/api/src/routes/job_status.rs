//! `POST /api/v1/jobs/status`: the progress of many jobs in one request, for pages that show many.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::response::Response;
use search::Job;
use serde_json::{Map, Value, json};

use super::job_entry;
use super::job_heads::{self, PATH, form};
use super::jobs::find_all_known;
use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::rights::Need;
use crate::routing::{Routes, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::{FromOther, Others};

pub(super) fn routes() -> Routes {
    Routes::default().at(PATH, post(Need::Own, "Progress and cost of up to 1,000 jobs", status))
}

/// Most jobs of a request.
const MOST_JOBS: usize = 1_000;

/// Returns the status of jobs. A list of jobs shows every job and must not keep it forever, so only `touch=1`
/// extends their lifetimes. In a cluster, other search heads are asked for the jobs that this one does not
/// have; then object storage.
async fn status(
    Call { state, caller, params, .. }: Call,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, RestError> {
    let mut seen = HashSet::new();
    let sids: Vec<&str> = params.all("sid").filter(|sid| seen.insert(*sid)).collect();
    if sids.is_empty() {
        return Err(RestError::invalid("add sid=<id of a job> to the request, once for each job"));
    }
    if sids.len() > MOST_JOBS {
        let text = format!("{} jobs were requested; the maximum is {MOST_JOBS}", sids.len());
        return Err(RestError::invalid(text));
    }
    let touch = params.flag("touch");
    let mut unknown = sids;
    let by = (&state, &caller);
    let own = find_all_known(by, &mut unknown, |sid| state.search.job(sid));
    let mut jobs: Vec<Value> = own.iter().map(|job| status_json(job, touch)).collect();
    let client = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let is_asked = extensions.get::<FromOther>().is_some();
    if let (Some(heads), Some(client), false, false) =
        (&state.heads, client, is_asked, unknown.is_empty())
    {
        let body = form(&unknown, touch);
        let answers = job_heads::ask(heads.as_ref(), headers, client, body).await;
        for answer in answers.into_iter().filter_map(Result::ok) {
            let found = answer["jobs"].as_array().cloned().unwrap_or_default();
            unknown.retain(|sid| !found.iter().any(|job| job["sid"] == *sid));
            jobs.extend(found);
        }
    }
    // The process that has sent the request looks into object storage itself.
    if !is_asked {
        let saved = find_all_known(by, &mut unknown, |sid| state.search.saved_job(sid));
        jobs.extend(saved.iter().map(|job| status_json(job, touch)));
    }
    let mut body = json!({"jobs": jobs, "unknown": unknown});
    if is_asked {
        // The process that has sent the request may have to know whether an id is free.
        unknown.retain(|sid| state.search.is_taken(sid));
        body["hidden"] = json!(unknown);
    }
    Ok(OutputMode::Json.respond(StatusCode::OK, body.to_string()))
}

/// Asks all other search heads for jobs, with the credentials of the client.
pub(super) async fn ask(
    heads: Arc<dyn Others>,
    headers: HeaderMap,
    client: SocketAddr,
    sids: Vec<String>,
) -> Vec<Result<Value, String>> {
    let sids: Vec<&str> = sids.iter().map(String::as_str).collect();
    job_heads::ask(heads.as_ref(), headers, client, form(&sids, false)).await
}

/// Returns a job in the response. `content`: the result of `job_entry::status`.
pub(super) fn entry(job: &Job, content: &Map<String, Value>) -> Value {
    json!({"sid": job.sid(), "content": content, "cost": cost(job)})
}

fn status_json(job: &Job, touch: bool) -> Value {
    if touch {
        job.touch();
    }
    entry(job, &job_entry::status(job))
}

/// Returns the data that the job has read so far, and its cost.
fn cost(job: &Job) -> Value {
    let inspection = job.summary();
    json!({
        "dollars": inspection.dollars,
        "s3_price_get_per_1000": inspection.s3_price_get_per_1000,
        "reads": inspection.reads,
    })
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "POST /api/v1/jobs/status";
    let search = "id=asked&exec_mode=blocking&search=%7C+makeresults";
    vec![
        case("POST /services/search/jobs", search, 201, "asked"),
        case(path, "sid=asked&sid=none", 200, "\"unknown\":[\"none\"]"),
        case(path, "sid=asked", 200, "\"isDone\":true"),
        case(path, "", 400, "add sid="),
        case(path, "sid=asked", 200, "\"jobs\":[]").by("user"),
    ]
}

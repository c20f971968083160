//! `/healthz` and `/readyz`: for load balancers and orchestrators; and the conditions that they, the
//! health of REST and the messages for administrators show.
//!
//! The first two need no login: they return only the kind of a problem. Locations and names are shown to
//! users with `list_health`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use catalog::Stalled;
use runtime::health::{self, Condition, Severity};
use runtime::metrics as names;
use serde_json::{Value, json};

use crate::ApiState;
use crate::effects::changes;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::Open;
use crate::routing::{Routes, get};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at("/healthz", get(Open, "Liveness; `starting` during the start", live))
        .at("/readyz", get(Open, "Readiness; 503 with the reasons; `output_mode=json`", ready))
}

/// The process runs and answers; whether it should get work is another question.
async fn live() -> &'static str {
    "ok\n"
}

async fn ready(State(state): State<ApiState>, params: Params) -> Response {
    let conditions = conditions(&state);
    let ready = conditions.iter().all(|condition| condition.severity < Severity::Error);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if params.get("output_mode") == Some("json") {
        let summary = |condition: &Condition| condition_json(condition, condition.summary());
        let conditions: Vec<Value> = conditions.iter().map(summary).collect();
        return (status, Json(json!({"ready": ready, "conditions": conditions}))).into_response();
    }
    let mut text = if ready { "ready\n" } else { "not ready\n" }.to_owned();
    for condition in &conditions {
        let severity = condition.severity.as_str();
        text.push_str(&format!("{severity} {}: {}\n", condition.name, condition.summary()));
    }
    (status, text).into_response()
}

/// Requests that a server that may change nothing answers nevertheless.
const ALLOWED: [&str; 3] =
    ["/services/auth/logout", "/services/server/control/restart", "/api/v1/jobs/status"];

/// While a condition is fatal, refuses changes and searches, whose results would be incomplete.
pub(crate) async fn refuse_changes(
    State(state): State<Arc<ApiState>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let reads = !changes(request.method(), path) && !path.ends_with("/export");
    if !reads
        && !ALLOWED.contains(&path)
        && let Some(condition) = state.health.fatal()
    {
        let text = text_for(request.extensions().get::<Caller>(), &condition).to_owned();
        return RestError::of_kind(model::ErrorKind::Unavailable, text).into_response();
    }
    next.run(request).await
}

/// Conditions that nobody sets: they are asked for.
const ASKED: [&str; 6] = [
    health::STOPPING,
    health::INTAKE_STOPPED,
    health::UPLOADS_FAILING,
    health::DAMAGED,
    health::CATALOG_NOT_COMMITTING,
    health::CATALOG_NOT_FOLLOWED,
];

/// Updates the metrics of sessions and conditions; other components keep their own conditions up to date.
pub(crate) fn measure(state: &ApiState) {
    #[allow(clippy::cast_precision_loss)]
    metrics::gauge!(names::SESSIONS).set(state.accounts.sessions().len() as f64);
    let all = conditions(state);
    for name in ASKED {
        let holds = all.iter().any(|condition| condition.name == name);
        metrics::gauge!(names::HEALTH, "condition" => name).set(f64::from(u8::from(holds)));
    }
}

/// Returns the text of a condition that the caller may see.
pub(crate) fn text_for<'a>(caller: Option<&Caller>, condition: &'a Condition) -> &'a str {
    let may_know = caller.is_some_and(|caller| caller.may("list_health"));
    if may_know { &condition.text } else { condition.summary() }
}

/// A condition as JSON, in the words that its reader may have.
pub(crate) fn condition_json(condition: &Condition, text: &str) -> Value {
    json!({
        "name": condition.name,
        "severity": condition.severity.as_str(),
        "text": text,
        "since": condition.since.0 / 1_000_000,
    })
}

/// Returns the current conditions, the most severe first: those set by components, and those computed on
/// request.
pub(crate) fn conditions(state: &ApiState) -> Vec<Condition> {
    let since = state.clock.now();
    let mut all = state.health.conditions();
    let mut add = |name: &'static str, severity: Severity, text: String| {
        if all.iter().all(|condition| condition.name != name) {
            all.push(Condition { name, severity, text: Arc::from(text), since });
        }
    };
    let status = state.ingest.status();
    if state.control.leaves() || state.shutdown.is_stopped() {
        add(health::STOPPING, Severity::Error, "the server is shutting down".to_owned());
    }
    if let Some(why) = &status.spool.full {
        let text = format!("no events are accepted: {why}");
        add(health::INTAKE_STOPPED, severity_of_full_disk(state.intake.is_indexer), text);
    }
    if let Some(error) = &status.uploads.last_error {
        let text = format!("buckets cannot be uploaded to object storage: {error}");
        add(health::UPLOADS_FAILING, Severity::Warning, text);
    }
    if let Some(text) = damage(state, &status) {
        add(health::DAMAGED, Severity::Warning, text);
    }
    // Events are accepted and searches run meanwhile, so the process stays ready, unless it is a control
    // plane without other roles (`is_in_the_way`).
    if let Some(stalled) = state.catalog.stalled() {
        let name = match stalled {
            Stalled::Committing { .. } => health::CATALOG_NOT_COMMITTING,
            Stalled::Following { .. } => health::CATALOG_NOT_FOLLOWED,
        };
        add(name, Severity::Warning, stalled.to_string());
    }
    all.sort_by_key(|condition| std::cmp::Reverse(condition.severity));
    all
}

/// Returns the severity of a full disk. An indexer cannot accept events without space. Other processes only
/// write their own events, and continue to serve searches.
fn severity_of_full_disk(is_indexer: bool) -> Severity {
    if is_indexer { Severity::Error } else { Severity::Warning }
}

/// Returns why this process must not get work of the cluster, if so: it stops, or another process has its
/// catalog. Problems of all processes (a full disk, no object storage) are no reason: the others have them,
/// too, and senders have to be told. A process that `only_leads`, a control plane without other roles, has no
/// senders: it is not ready while changes of the catalog wait, so that orchestrators do not evict indexers.
#[must_use]
pub fn unavailable(state: &ApiState, only_leads: bool) -> Option<&'static str> {
    let all = conditions(state);
    all.iter().find(|condition| is_in_the_way(condition, only_leads)).map(Condition::summary)
}

fn is_in_the_way(condition: &Condition, only_leads: bool) -> bool {
    let waits = [health::CATALOG_NOT_COMMITTING, health::CATALOG_NOT_FOLLOWED];
    condition.severity == Severity::Fatal
        || condition.name == health::STOPPING
        || (only_leads && waits.contains(&condition.name))
}

/// Returns a description of damaged or missing data that has been noticed.
fn damage(state: &ApiState, status: &ingest::Status) -> Option<String> {
    let lost = status.lost.iter().map(|lost| {
        let (path, events) = (lost.path.display(), lost.events);
        format!("journal {path}: at most {events} acknowledged events are missing: {}", lost.reason)
    });
    let quarantined = search::quarantined(&state.catalog.snapshot());
    let events: u64 = quarantined.values().map(|bucket| bucket.events).sum();
    let buckets = (events > 0).then(|| {
        let count = quarantined.len();
        format!(
            "{count} buckets are quarantined, searches miss {events} events (karst list buckets)"
        )
    });
    let all: Vec<String> = lost.chain(buckets).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case("GET /healthz", "", 200, "ok"),
        case("GET /readyz", "", 200, "\"ready\":true"),
        case("POST /readyz", "", 405, ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_makes_only_a_process_unready_that_takes_events_in() {
        assert!(severity_of_full_disk(true) >= Severity::Error);
        assert!(severity_of_full_disk(false) < Severity::Error);
    }

    #[test]
    fn only_a_control_plane_without_other_roles_is_unready_while_object_storage_is_away() {
        let condition = |name, severity| Condition {
            name,
            severity,
            text: Arc::from("a text"),
            since: model::EventTime(0),
        };
        for name in [health::CATALOG_NOT_COMMITTING, health::CATALOG_NOT_FOLLOWED] {
            let waits = condition(name, Severity::Warning);
            assert!(is_in_the_way(&waits, true) && !is_in_the_way(&waits, false), "{name}");
        }
        let uploads = condition(health::UPLOADS_FAILING, Severity::Warning);
        assert!(!is_in_the_way(&uploads, true) && !is_in_the_way(&uploads, false));
        let fenced = condition(health::FENCED, Severity::Fatal);
        assert!(is_in_the_way(&fenced, true) && is_in_the_way(&fenced, false));
    }
}

//! `/services/indexer_discovery`: forwarders ask for the indexers that they can send to. They have no
//! session: each request is signed with the key of indexer discovery, which `deployment` checks. Every
//! process of a cluster answers. The messages are described in `docs/forwarder.md`.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deployment::{PROOF_HEADER, ReceivingIndexer, ReceivingPort};
use peers::Registration;

use super::cluster_views::reasons;
use super::deployment_broker::proof;
use crate::ApiState;
use crate::body::RawBody;
use crate::error::RestError;
use crate::rights::Need::Open;
use crate::routing::{Routes, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/indexer_discovery";

pub(super) fn routes() -> Routes {
    let lists = "Lists the indexers that a forwarder can send to; requests are signed with the key of indexer discovery";
    Routes::default().at(PATH, post(Open, lists, discover))
}

async fn discover(
    State(state): State<ApiState>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, RestError> {
    let now = u64::try_from(state.clock.now().0 / 1_000_000).unwrap_or(0);
    let request = state.discovery.check(&body, proof(&headers), now)?;
    // A request may be repeated by who has no key, while its time is valid.
    if state.discovery.is_to_ask(now) {
        state.discovery.report_silent(silent(&state).await);
    }
    let indexers = receiving(&state);
    let (answer, proof) = state.discovery.answer(&request, indexers, now)?;
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (HeaderName::from_static(PROOF_HEADER), proof),
    ];
    Ok((StatusCode::OK, headers, answer).into_response())
}

/// The processes that do not answer, each with its full time.
async fn silent(state: &ApiState) -> Vec<String> {
    let Some(directory) = &state.directory else { return Vec::new() };
    let down = reasons(directory.answers_in_time().await);
    down.into_iter().map(|(id, _)| id).collect()
}

/// The indexers with ports for forwarders, but those that leave or stop. Those that do not answer are only
/// marked: if slow ones were left out, the others would get their load, and become slow, too; and forwarders
/// may reach an indexer that this process does not reach.
fn receiving(state: &ApiState) -> Vec<ReceivingIndexer> {
    let silent = state.discovery.silent();
    let snapshot = state.catalog.snapshot();
    let all = Registration::all(&snapshot);
    let receives = |(id, known): &&(String, Registration)| {
        known.is_indexer()
            && !known.forwarders.is_empty()
            && !known.is_replaced(&all)
            && peers::asked(&snapshot, id, &known.started).is_none()
    };
    let indexer = |(id, known): &(String, Registration)| ReceivingIndexer {
        id: id.clone(),
        answers: !silent.contains(id),
        name: known.name.clone(),
        site: known.site.clone(),
        ports: known
            .forwarders
            .iter()
            .map(|port| ReceivingPort { address: port.address.clone(), tls: port.tls })
            .collect(),
    };
    all.iter().filter(receives).map(indexer).collect()
}

/// Returns requests with their responses. Signed requests are tested in `tests/deployment.rs`.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![case(&format!("POST {PATH}"), "{}", 403, "is not signed with the key of indexer").by("")]
}

//! `/services/collector/ack`, and requests that are acknowledged there.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::CONTENT_ENCODING;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use inputs::hec::{AckState, ChannelKey, HecError};
use inputs::{Durability, Input};
use runtime::Share;
use serde::Deserialize;
use serde_json::{Map, json};
use uuid::Uuid;

use super::HecRequest;
use super::answer::{answer, refuse, refuse_body, respond};
use crate::params::Params;
use crate::receiver::Receiver;
use crate::{FromOther, Question};
use access::HecToken;

pub(super) const PATH: &str = "/services/collector/ack";

/// The parameter that asks for the levels of acknowledgements, too.
pub(super) const REPORT: &str = "report";

/// The channel of a request: a GUID in the header or the query.
pub(super) fn channel(
    token: &HecToken,
    headers: &HeaderMap,
    params: &Params,
) -> Result<ChannelKey, HecError> {
    let header = headers.get("x-splunk-request-channel").and_then(|value| value.to_str().ok());
    let named = header.filter(|text| !text.is_empty()).or_else(|| params.text("channel"));
    let named = named.ok_or(HecError::NO_CHANNEL)?;
    let channel = Uuid::parse_str(named).map_err(|_| HecError::WRONG_CHANNEL)?;
    Ok(ChannelKey { token: token.name.clone(), channel })
}

/// Puts events into the queue; the answer has the id under which their safety can be asked for.
pub(super) async fn take(
    receiver: &Arc<Receiver>,
    (input, share): (Input, Share),
    key: ChannelKey,
) -> Result<Response, Response> {
    let id = receiver.acks.begin(&key, receiver.api.clock.now()).map_err(|limit| {
        tracing::warn!(token = key.token, channel = %key.channel, %limit, "request refused");
        refuse(&HecError::BUSY)
    })?;
    let queued = receiver.enqueue(input.holding(share)).await;
    let outcome = match queued {
        Ok(outcome) => outcome,
        Err(error) => {
            receiver.acks.fail(&key, id);
            return Err(refuse(&HecError::from(&error)));
        }
    };
    let waiting = Arc::clone(receiver);
    receiver.api.shutdown.spawn(async move {
        // After a stop nobody can ask any more.
        let outcome = tokio::select! {
            outcome = outcome.wait() => outcome,
            () = waiting.api.shutdown.stopped() => return,
        };
        match outcome {
            Ok(receipt) => waiting.acks.settle(&key, id, receipt.findings.durability),
            Err(error) => {
                let (token, channel) = (&key.token, key.channel);
                tracing::warn!(token, %channel, id, %error, "not safe: never acknowledged");
                waiting.acks.fail(&key, id);
            }
        }
    });
    Ok(respond(StatusCode::OK, json!({"text": "Success", "code": 0, "ackId": id})))
}

#[derive(Deserialize)]
struct Asked {
    acks: Vec<u64>,
}

pub(super) async fn ask(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    answer_question(&receiver, request).await.unwrap_or_else(|refusal| refusal)
}

async fn answer_question(receiver: &Receiver, request: Request) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let request = HecRequest::new(receiver, &parts).map_err(|error| refuse(&error))?;
    if !request.token.use_ack {
        return Err(refuse(&HecError::ACK_DISABLED));
    }
    let key = channel(&request.token, &request.headers, &request.params);
    let key = key.map_err(|error| refuse(&error))?;
    let body = receiver.body(&parts.headers, body).await.map_err(|error| refuse_body(&error))?;
    if body.trim_ascii().is_empty() {
        return Err(refuse(&HecError::NO_DATA));
    }
    let malformed = |_| answer(StatusCode::BAD_REQUEST, "Invalid data format", 6);
    let asked: Asked = serde_json::from_slice(&body).map_err(malformed)?;
    let acks = receiver.acks.ask(&key, &asked.acks, receiver.api.clock.now());
    let is_unknown = |(_, state): &&(u64, AckState)| *state == AckState::Unknown;
    let unknown: Vec<u64> = acks.iter().filter(is_unknown).map(|(id, _)| *id).collect();
    let elsewhere = safe_elsewhere(receiver, &key, &parts, &unknown).await;
    let (mut safe, mut levels) = (Map::new(), Map::new());
    for (id, state) in acks {
        let level = match state {
            AckState::Unknown => elsewhere.get(&id).map(Option::as_deref),
            AckState::Waiting => None,
            AckState::Safe(durability) => Some(durability.map(Durability::name)),
        };
        safe.insert(id.to_string(), level.is_some().into());
        if let Some(level) = level {
            levels.insert(id.to_string(), level.into());
        }
    }
    let mut answer = json!({"acks": safe});
    // Splunk's answer has nothing else.
    if request.params.flag(REPORT) {
        answer["ackLevels"] = levels.into();
    }
    Ok(respond(StatusCode::OK, answer))
}

/// Returns the requests that other indexers report as safe, with the levels that were reached. An indexer
/// that does not answer reports none: the sender asks again.
async fn safe_elsewhere(
    receiver: &Receiver,
    key: &ChannelKey,
    asked: &Parts,
    ids: &[u64],
) -> HashMap<u64, Option<String>> {
    let Some(others) = &receiver.api.indexers else { return HashMap::new() };
    let client = asked.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let is_asked = asked.extensions.get::<FromOther>().is_some();
    let (false, false, Some(client)) = (ids.is_empty(), is_asked, client) else {
        return HashMap::new();
    };
    let path = format!("{PATH}?channel={}&{REPORT}=1", key.channel);
    let body = json!({ "acks": ids }).to_string().into();
    let mut headers = asked.headers.clone();
    // The body is another one.
    headers.remove(CONTENT_ENCODING);
    let question = Question { method: Method::POST, path: &path, headers: &headers, body, client };
    let mut safe = HashMap::new();
    for answer in others.ask(&question).await {
        match answer {
            Ok(answer) => {
                let acks = answer["acks"].as_object().into_iter().flatten();
                let known = acks.filter(|(_, is_safe)| **is_safe == true);
                safe.extend(known.filter_map(|(id, _)| {
                    let level = answer["ackLevels"][id].as_str().map(str::to_owned);
                    Some((id.parse::<u64>().ok()?, level))
                }));
            }
            Err(reason) => tracing::debug!(reason, "cannot query an indexer for acknowledgements"),
        }
    }
    safe
}

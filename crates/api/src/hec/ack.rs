//! `/services/collector/ack`, and requests that are acknowledged there.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use inputs::Input;
use inputs::hec::{ChannelKey, HecError};
use runtime::Share;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::HecRequest;
use super::answer::{answer, refuse, refuse_body, respond};
use crate::params::Params;
use crate::receiver::Receiver;
use access::HecToken;

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
            receiver.acks.settle(&key, id, false);
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
        if let Err(error) = &outcome {
            let (token, channel) = (&key.token, key.channel);
            tracing::warn!(token, %channel, id, %error, "not safe: never acknowledged");
        }
        waiting.acks.settle(&key, id, outcome.is_ok());
    });
    Ok(respond(StatusCode::OK, json!({"text": "Success", "code": 0, "ackId": id})))
}

#[derive(Deserialize)]
struct Question {
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
    let question: Question = serde_json::from_slice(&body).map_err(malformed)?;
    let acks = receiver.acks.ask(&key, &question.acks, receiver.api.clock.now());
    let acks: Map<String, Value> =
        acks.into_iter().map(|(id, safe)| (id.to_string(), Value::Bool(safe))).collect();
    Ok(respond(StatusCode::OK, json!({"acks": acks})))
}

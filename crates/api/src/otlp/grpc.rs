//! Handling of gRPC requests before they are decoded: they are distinguished from HTTP by their content type,
//! their token is checked before the body is read, the body is read and decompressed in the memory that
//! requests share, and the decoded size is estimated.
//!
//! The inner service receives one uncompressed message.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use inputs::body::BodyError;
use inputs::otlp::protobuf_memory;
use runtime::Share;

use super::{MAX_MESSAGE, Refusal, SCHEMES, status, unknown_path};
use crate::body::{self, BodyLimits, Unwatched};
use crate::receiver::Receiver;
use crate::work::work;

/// A byte that tells whether the message is packed, and its length.
const PREFIX: usize = 5;

/// Lets only gRPC through to the service: it shares its port with HTTP.
pub(super) async fn only(request: Request, next: Next) -> Response {
    if is_grpc(request.headers()) { next.run(request).await } else { unknown_path() }
}

/// `application/grpc`, also with the format of the messages; not gRPC-Web, which is another protocol.
fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let rest = content_type.and_then(|text| text.trim().strip_prefix("application/grpc"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

pub(super) async fn admit(
    State(receiver): State<Arc<Receiver>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let admitted = async {
        receiver.sender(&parts.headers, SCHEMES)?;
        message(&receiver, &parts.headers, body).await
    };
    match admitted.await {
        Ok((message, _share)) => {
            parts.headers.remove("grpc-encoding");
            parts.headers.remove(header::CONTENT_LENGTH);
            next.run(Request::from_parts(parts, Body::from(message))).await
        }
        Err(refusal) => status(&refusal).into_http(),
    }
}

/// The message of a request with its prefix, not packed, and the memory that it takes when decoded.
async fn message(
    receiver: &Receiver,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, Share), Refusal> {
    let BodyLimits { bytes, ratio } = receiver.limits();
    let limits = BodyLimits { bytes: MAX_MESSAGE.min(bytes), ratio };
    let budget = &receiver.api.request_memory;
    let framed = body::read(budget, body, limits.bytes + PREFIX, &mut Unwatched).await?;
    let broken = || BodyError::Broken { encoding: "gRPC" };
    let (prefix, message) = framed.split_first_chunk::<PREFIX>().ok_or_else(broken)?;
    let [packed, length @ ..] = *prefix;
    if u32::from_be_bytes(length) as usize != message.len() || packed > 1 {
        return Err(broken().into());
    }
    let framed = match packed {
        0 => framed,
        _ => {
            let encoding = headers.get("grpc-encoding").map(HeaderValue::to_str);
            let encoding = encoding.and_then(Result::ok).unwrap_or_default().to_owned();
            let packed = framed.slice(PREFIX..);
            let plain = body::unpack(budget, &packed, &encoding, limits, &mut Unwatched).await?;
            // Packed, but not said how.
            if plain.as_ptr() == packed.as_ptr() {
                let encoding = BodyError::Unsupported { encoding };
                let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
                return Err(Refusal::unsupported(status, encoding));
            }
            let mut share = budget.share();
            share.grow(plain.len() + PREFIX).await.map_err(BodyError::from)?;
            let length = u32::try_from(plain.len()).map_err(|_| broken())?;
            let mut framed = Vec::with_capacity(plain.len() + PREFIX);
            framed.push(0);
            framed.extend_from_slice(&length.to_be_bytes());
            framed.extend_from_slice(&plain);
            framed.into()
        }
    };
    let mut share = budget.share();
    let memory = work(framed.len(), || protobuf_memory(&framed[PREFIX..]));
    share.grow(memory).await.map_err(BodyError::from)?;
    Ok((framed, share))
}

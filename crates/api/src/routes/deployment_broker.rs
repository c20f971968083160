//! `/services/broker/phonehome` and `/services/streams/deployment`: the requests of forwarders to their
//! deployment server. They have no session: each request is signed with the key of the deployment server,
//! which `deployment` checks. The messages are described in `docs/deployment-server.md`.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deployment::{Download, DownloadRequest, PROOF_HEADER, TIME_HEADER};
use model::ErrorKind;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use crate::ApiState;
use crate::body::RawBody;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::Open;
use crate::routing::{Routes, get, post};
use crate::session::source;
#[cfg(test)]
use crate::tests::cases::{Case, case};

/// The path at which forwarders ask for their apps.
pub(crate) const PHONE_HOME: &str = "/services/broker/phonehome";
const DOWNLOAD: &str = "/services/streams/deployment";
/// Bytes of an archive that are in memory for each download.
const PIECE: usize = 256 << 10;

pub(super) fn routes() -> Routes {
    let answers = "Tells a forwarder which apps to install; requests are signed with the key of the deployment server";
    let sends = "Sends a version of an app (`name`, `checksum`) as a tar.gz archive; requests are signed with the same key";
    Routes::default()
        .at(PHONE_HOME, post(Open, answers, phone_home))
        .at(DOWNLOAD, get(Open, sends, download))
}

/// The proof of a request; empty if it has none.
pub(super) fn proof(headers: &HeaderMap) -> &str {
    headers.get(PROOF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

async fn phone_home(
    State(state): State<ApiState>,
    parts: Parts,
    RawBody(body): RawBody,
) -> Result<Response, RestError> {
    let now = u64::try_from(state.clock.now().0 / 1_000_000).unwrap_or(0);
    let source = source(&parts.extensions);
    let (answer, proof) = state.deployment.phone_home(&body, proof(&parts.headers), source, now)?;
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (HeaderName::from_static(PROOF_HEADER), proof),
    ];
    Ok((StatusCode::OK, headers, answer).into_response())
}

async fn download(
    State(state): State<ApiState>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, RestError> {
    let now = u64::try_from(state.clock.now().0 / 1_000_000).unwrap_or(0);
    let time = headers.get(TIME_HEADER).and_then(|value| value.to_str().ok());
    let request = DownloadRequest {
        app: params.required("name")?.to_owned(),
        checksum: params.required("checksum")?.to_owned(),
        time: time.and_then(|time| time.parse().ok()).unwrap_or(0),
    };
    let download = state.deployment.download(&request, proof(&headers), now)?;
    let file = File::open(&download.path).await.map_err(|error| {
        let text = format!("the archive of the app cannot be read: {error}; phone home again");
        RestError::of_kind(ErrorKind::Unavailable, text)
    })?;
    let headers = [
        (header::CONTENT_TYPE, "application/gzip".to_owned()),
        (header::CONTENT_LENGTH, download.bytes.to_string()),
    ];
    Ok((StatusCode::OK, headers, Body::from_stream(pieces(file, download))).into_response())
}

/// The bytes of a file; the download counts until they are sent.
fn pieces(
    file: File,
    download: Download,
) -> impl futures::Stream<Item = std::io::Result<Bytes>> + Send {
    futures::stream::unfold(Some((file, download)), |state| async move {
        let (mut file, download) = state?;
        let mut piece = Vec::with_capacity(PIECE);
        match (&mut file).take(PIECE as u64).read_to_end(&mut piece).await {
            Ok(0) => None,
            Ok(_) => Some((Ok(piece.into()), Some((file, download)))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

/// Returns requests with their responses. Signed requests are tested in `tests/deployment.rs`.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let sum = "a".repeat(64);
    vec![
        case(&format!("POST {PHONE_HOME}"), "{}", 403, "is not signed with the deployment").by(""),
        case(&format!("GET {DOWNLOAD}"), "", 400, "\\\"name\\\" is missing").by(""),
        case(&format!("GET {DOWNLOAD}?name=base&checksum={sum}"), "", 403, "is not signed").by(""),
    ]
}

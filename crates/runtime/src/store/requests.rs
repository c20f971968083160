//! Counts requests to S3 as sent, including retries, and reports failures with all causes.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector, SpawnedReqwestConnector,
};
use tokio::runtime::Handle;

use crate::metrics as names;

/// A counter of the attempts of one read. Put a clone into the extensions of its `GetOptions`, and read the
/// counter afterwards. Stores other than S3 leave it at 0.
#[derive(Debug, Clone, Default)]
pub struct Attempts(Arc<AtomicU32>);

impl Attempts {
    /// Returns the number of retries, including requests for the rest of a broken body.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.0.load(Relaxed).saturating_sub(1)
    }
}

/// A factory of HTTP clients that count requests and send them from the runtime that created them: searches
/// use the clients from threads with long computations, which must not delay the shared connections.
#[derive(Debug, Default)]
pub(super) struct Counted(ReqwestConnector);

impl HttpConnector for Counted {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = match Handle::try_current() {
            Ok(runtime) => SpawnedReqwestConnector::new(runtime).connect(options)?,
            Err(_) => self.0.connect(options)?,
        };
        Ok(HttpClient::new(Requests(client)))
    }
}

#[derive(Debug)]
struct Requests(HttpClient);

#[async_trait]
impl HttpService for Requests {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let operation = operation(request.method().as_str(), request.uri().query());
        if let Some(Attempts(attempts)) = request.extensions().get() {
            attempts.fetch_add(1, Relaxed);
        }
        let sent = request.body().content_length() as u64;
        metrics::counter!(names::STORE_REQUESTS, "operation" => operation).increment(1);
        let began = Instant::now();
        let answer = self.0.execute(request).await;
        metrics::histogram!(names::STORE_SECONDS, "operation" => operation).record(began.elapsed());
        let failed = |reason: String| {
            metrics::counter!(names::STORE_ERRORS, "operation" => operation, "reason" => reason)
                .increment(1);
        };
        match answer {
            Ok(answer) => {
                let status = answer.status();
                // Other statuses are results: not found, already exists, not modified.
                if status.is_server_error() || matches!(status.as_u16(), 403 | 408 | 429) {
                    failed(status.as_str().to_owned());
                }
                let length = answer.headers().get("content-length");
                let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
                let received: u64 = length.filter(|_| operation == "get").unwrap_or(0);
                metrics::counter!(names::STORE_BYTES, "operation" => operation)
                    .increment(sent + received);
                Ok(answer)
            }
            Err(error) => {
                failed(kind(error.kind()).to_owned());
                Err(HttpError::new(error.kind(), Causes::of(&error)))
            }
        }
    }
}

/// Returns the operation for billing: lists cost as much as PUT requests, deletions nothing.
fn operation(method: &str, query: Option<&str>) -> &'static str {
    let has = |name: &str| {
        let mut parts = query.unwrap_or_default().split('&');
        parts.any(|part| part.split('=').next() == Some(name))
    };
    match method {
        "GET" if has("list-type") => "list",
        "GET" => "get",
        "HEAD" => "head",
        "PUT" => "put",
        // Deletes many keys in one request.
        "POST" if has("delete") => "delete",
        "POST" => "post",
        "DELETE" => "delete",
        _ => "other",
    }
}

fn kind(kind: HttpErrorKind) -> &'static str {
    match kind {
        HttpErrorKind::Connect => "connect",
        HttpErrorKind::Timeout => "timeout",
        HttpErrorKind::Interrupted => "interrupted",
        _ => "request",
    }
}

/// A network error with all its causes: the message of the client ends at "error sending request".
#[derive(Debug)]
struct Causes(String);

impl Causes {
    fn of(error: &HttpError) -> Self {
        let mut texts = Vec::new();
        let mut cause = error.source();
        while let Some(error) = cause {
            texts.push(error.to_string());
            cause = error.source();
        }
        Self(texts.join(": "))
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Causes {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_deletions_are_told_from_reads_and_uploads() {
        assert_eq!(operation("GET", Some("list-type=2&prefix=cluster%2Fdelete")), "list");
        assert_eq!(operation("GET", Some("versionId=list-type")), "get");
        assert_eq!(operation("GET", None), "get");
        assert_eq!(operation("POST", Some("delete")), "delete");
        assert_eq!(operation("POST", Some("uploads=")), "post");
        assert_eq!(operation("POST", Some("uploadId=1")), "post");
    }
}

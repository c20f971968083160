//! Requests to S3 as they go over the wire: each try counted, failures with all their causes.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use crate::metrics as names;

/// How often one read is sent. Put a clone into the extensions of its `GetOptions` and ask when the read
/// is done. A store that is not S3 leaves it at 0.
#[derive(Debug, Clone, Default)]
pub struct Attempts(Arc<AtomicU32>);

impl Attempts {
    /// How often it was sent after the first time, also for the rest of a body that broke off.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.0.load(Relaxed).saturating_sub(1)
    }
}

/// Makes HTTP clients that count.
#[derive(Debug, Default)]
pub(super) struct Counted(ReqwestConnector);

impl HttpConnector for Counted {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Requests(self.0.connect(options)?)))
    }
}

#[derive(Debug)]
struct Requests(HttpClient);

#[async_trait]
impl HttpService for Requests {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let operation = operation(request.method().as_str());
        if let Some(Attempts(attempts)) = request.extensions().get() {
            attempts.fetch_add(1, Relaxed);
        }
        let sent = request.body().content_length() as u64;
        metrics::counter!(names::STORE_REQUESTS, "operation" => operation).increment(1);
        let answer = self.0.execute(request).await;
        let failed = |reason: String| {
            metrics::counter!(names::STORE_ERRORS, "operation" => operation, "reason" => reason)
                .increment(1);
        };
        match answer {
            Ok(answer) => {
                let status = answer.status();
                // Others are answers: not there, there already, not changed.
                if status.is_server_error() || matches!(status.as_u16(), 408 | 429) {
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

fn operation(method: &str) -> &'static str {
    match method {
        "GET" => "get",
        "HEAD" => "head",
        "PUT" => "put",
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

/// What the network said, down to the last cause: the client's own text ends at "error sending request".
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

//! The one place where an error becomes an HTTP answer.
//!
//! Bodies follow Splunk's REST: `<response><messages><msg type="FATAL">..` or the same as JSON. The
//! output format is not known where an error arises, so [`RestError`] carries the facts and
//! `output::render_errors` (a middleware) writes the body in the format the request asked for.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::ErrorKind;

/// A setting of the HTTP inputs that is invalid.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An invalid setting of inputs.conf or limits.conf.
    #[error(transparent)]
    Setting(#[from] conf::Invalid),
}

/// An error that is returned to the client.
#[derive(Debug, Clone)]
pub(crate) struct RestError {
    pub(crate) status: StatusCode,
    /// Splunk's message types: FATAL, ERROR, WARN.
    pub(crate) severity: &'static str,
    pub(crate) text: String,
    /// A machine-readable word, where Splunk sends one.
    pub(crate) code: Option<&'static str>,
    /// Ask for credentials.
    pub(crate) challenge: bool,
}

impl RestError {
    pub(crate) fn new(status: StatusCode, severity: &'static str, text: impl Into<String>) -> Self {
        Self { status, severity, text: text.into(), code: None, challenge: false }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "FATAL", text)
    }

    /// Returns the error for an unknown argument, in Splunk's words.
    pub(crate) fn unknown_argument(name: &str) -> Self {
        Self::invalid(format!("Argument \"{name}\" is not supported by this handler."))
    }

    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "ERROR", text)
    }

    pub(crate) fn forbidden(text: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "ERROR", text)
    }

    /// Splunk's words for an object that is not there.
    pub(crate) fn no_object(name: &str) -> Self {
        Self::not_found(format!("Could not find object id={name}"))
    }

    pub(crate) fn of_kind(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self::new(status(kind), "FATAL", text)
    }

    /// The error for work that the end of the server has cancelled.
    pub(crate) fn stopping() -> Self {
        Self::of_kind(ErrorKind::Unavailable, "the server stops")
    }
}

/// Returns the HTTP status of an error kind.
pub(crate) fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Exhausted => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Corrupt | ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Error> for RestError {
    fn from(error: Error) -> Self {
        Self::of_kind(ErrorKind::Invalid, error.to_string())
    }
}

/// Errors that become an answer by their kind.
macro_rules! answered_by_kind {
    ($($error:ty),*) => {$(
        impl From<$error> for RestError {
            fn from(error: $error) -> Self {
                Self::of_kind(error.kind(), error.to_string())
            }
        }
    )*};
}

answered_by_kind!(
    access::Error,
    search::Error,
    ingest::Error,
    inputs::Error,
    catalog::Error,
    deployment::Error
);

impl From<apps::Error> for RestError {
    fn from(error: apps::Error) -> Self {
        let severity = match &error {
            apps::Error::NotFound(_) | apps::Error::Exists(_) | apps::Error::Taken(_) => "ERROR",
            _ => "FATAL",
        };
        Self { severity, ..Self::of_kind(error.kind(), error.to_string()) }
    }
}

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if self.challenge {
            let basic = HeaderValue::from_static("Basic realm=\"/splunk\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, basic);
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Marks an error that has its body.
#[derive(Debug, Clone)]
pub(crate) struct Written;

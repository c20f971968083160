//! Errors of connections between processes.

use std::path::PathBuf;

use model::ErrorKind;
use tonic::Status;

/// Errors of connections between processes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The credentials already exist.
    #[error(
        "{} exists already: credentials are not overwritten; delete the directory's files only if no process \
         uses them",
        path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file of the credentials is missing, or cannot be read or written.
    #[error(
        "{}: {reason}; karst cluster init writes the credentials of a new cluster, and every process needs a copy \
         of the directory",
        path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {reason}; replace the cluster's credentials on all processes", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// An address cannot be used.
    #[error("the address {address:?} of a process is not usable: {reason}")]
    Address {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// One of the two processes refuses the other.
    #[error("{address}: {reason}")]
    Refused {
        /// The address of the other process.
        address: String,
        /// The reason, and what helps.
        reason: String,
    },
    /// The other process cannot be reached.
    #[error("{address} cannot be reached: {reason}")]
    Unreachable {
        /// The address of the other process.
        address: String,
        /// The reason.
        reason: String,
    },
}

impl Error {
    /// The kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Exists { .. } => ErrorKind::Conflict,
            Self::File { .. } | Self::Certificate { .. } | Self::Address { .. } => {
                ErrorKind::Invalid
            }
            Self::Refused { .. } | Self::Unreachable { .. } => ErrorKind::Unavailable,
        }
    }

    /// The refusal that caused the failure of a request; `None` if there is none. After a refusal, a retry
    /// does not help, because the two processes do not belong together.
    #[must_use]
    pub fn refusal(failure: &(dyn std::error::Error + 'static)) -> Option<String> {
        let mut next = Some(failure);
        while let Some(error) = next {
            if let Some(refused @ Self::Refused { .. }) = error.downcast_ref() {
                return Some(refused.to_string());
            }
            next = error.source();
        }
        None
    }
}

/// Generic texts of libraries for connection failures; the reason is in the error's sources.
const EMPTY: [&str; 5] = [
    "",
    "transport error",
    "http2 error",
    "h2 protocol error: http2 error",
    "operation was canceled",
];

/// The reason why a request to another process failed, for messages: the answer of the process, or the
/// innermost cause of the connection failure, without generic texts of libraries.
#[must_use]
pub fn reason(failure: &(dyn std::error::Error + 'static)) -> String {
    let (mut reason, mut next) = (None, Some(failure));
    while let Some(error) = next {
        if let Some(known) = error.downcast_ref::<Error>() {
            return known.to_string();
        }
        let text = text_of(error);
        if !EMPTY.contains(&text.as_str()) {
            reason = Some(text);
            if error.is::<Status>() {
                break;
            }
        }
        next = error.source();
    }
    let said = || match failure.downcast_ref::<Status>() {
        Some(status) if status.message().is_empty() => status.code().to_string(),
        _ => text_of(failure),
    };
    reason.unwrap_or_else(said)
}

fn text_of(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(status) = error.downcast_ref::<Status>() {
        return status.message().to_owned();
    }
    match error.downcast_ref::<std::io::Error>() {
        Some(error) => io_reason(error),
        None => error.to_string(),
    }
}

/// The text of a connection error, without its number if its kind is sufficient.
pub(crate) fn io_reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{ConnectionRefused, ConnectionReset, TimedOut};

    match error.kind() {
        kind @ (ConnectionRefused | ConnectionReset | TimedOut) => kind.to_string(),
        _ => error.to_string(),
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    fn status(message: &str, source: impl std::error::Error + Send + Sync + 'static) -> Status {
        let mut status = Status::unavailable(message);
        status.set_source(Arc::new(source));
        status
    }

    #[test]
    fn the_reason_is_the_innermost_cause_that_says_something() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(reason(&status("transport error", refused())), "connection refused");
        let inner = status("http2 error", refused());
        assert_eq!(reason(&status("h2 protocol error: http2 error", inner)), "connection refused");
        let away = Error::Unreachable { address: "a:1".to_owned(), reason: "timed out".to_owned() };
        assert_eq!(reason(&status("", away)), "a:1 cannot be reached: timed out");
    }

    #[test]
    fn the_reason_is_what_the_other_process_said() {
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(reason(&status("no answer within 5 s", reset)), "no answer within 5 s");
        assert_eq!(reason(&Status::unavailable("transport error")), "transport error");
        assert_eq!(reason(&Status::unavailable("")), tonic::Code::Unavailable.to_string());
    }
}

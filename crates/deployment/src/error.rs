//! Errors of the deployment server and of the apps that it distributes.

use std::io;
use std::path::{Path, PathBuf};

use model::ErrorKind;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An invalid value of a setting.
    #[error(transparent)]
    Invalid(#[from] conf::Invalid),
    /// The files of the configuration cannot be read.
    #[error(transparent)]
    Configuration(#[from] conf::Error),
    /// `serverclass.conf` is invalid.
    #[error("{place}: {reason}")]
    Rule {
        /// File and line.
        place: String,
        /// The problem, and what is expected.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The failed action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An app or archive that forwarders would refuse.
    #[error("{0}")]
    App(String),
    /// A damaged archive; another download may succeed.
    #[error("the archive cannot be read: {0}")]
    Archive(String),
    /// There are no server classes.
    #[error(
        "this server is not a deployment server: serverclass.conf has no [serverClass:<name>], or is disabled"
    )]
    NotSetUp,
    /// The rules could not be read yet.
    #[error("serverclass.conf of the deployment server cannot be used; its log says why")]
    Unusable,
    /// There is no key, so that forwarders cannot authenticate.
    #[error(
        "the deployment server has no key: set pass4SymmKey in [deployment] of server.conf, there and on \
         forwarders, or a forwarding token"
    )]
    NoKey,
    /// A request was not signed with the key.
    #[error(
        "the request is not signed with the deployment server's key: pass4SymmKey in [deployment] of \
         server.conf, or the token of [tcpout], has to be the same on both sides"
    )]
    Proof,
    /// There is no key of indexer discovery.
    #[error(
        "indexer discovery has no key: set pass4SymmKey in [indexer_discovery] of server.conf, and in \
         [indexer_discovery:<name>] of outputs.conf on forwarders, or a forwarding token"
    )]
    NoDiscoveryKey,
    /// A request or an answer was not signed with the key of indexer discovery.
    #[error(
        "the message is not signed with the key of indexer discovery: pass4SymmKey in [indexer_discovery] of \
         server.conf and in [indexer_discovery:<name>] of outputs.conf, or the forwarding token, has to be \
         the same on both sides"
    )]
    DiscoveryProof,
    /// The time of a request differs too much: it may be a replay of an earlier request.
    #[error(
        "the clock of the forwarder differs by {seconds} s from the server's: correct it, or \
         raise maxClockDifference in [deployment] of server.conf"
    )]
    Clock {
        /// The difference of the clocks in seconds.
        seconds: u64,
    },
    /// An invalid request.
    #[error("the request is invalid: {0}")]
    Request(String),
    /// An app, or a version of it, that is not distributed.
    #[error("there is no app {0} of that checksum to download; phone home again")]
    Absent(String),
    /// Too many concurrent downloads.
    #[error(
        "{0} apps are being downloaded already, the maximum (maxConcurrentDownloads of serverclass.conf)"
    )]
    Busy(usize),
}

impl Error {
    /// The kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid(_) | Self::Rule { .. } | Self::App(_) | Self::Request(_) => {
                ErrorKind::Invalid
            }
            Self::Configuration(error) => error.kind(),
            Self::File { .. } | Self::NotSetUp | Self::Unusable | Self::Busy(_) => {
                ErrorKind::Unavailable
            }
            Self::NoKey
            | Self::Proof
            | Self::NoDiscoveryKey
            | Self::DiscoveryProof
            | Self::Clock { .. } => ErrorKind::Forbidden,
            Self::Archive(_) => ErrorKind::Corrupt,
            Self::Absent(_) => ErrorKind::NotFound,
        }
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    pub(crate) fn rule(place: impl ToString, reason: impl Into<String>) -> Self {
        Self::Rule { place: place.to_string(), reason: reason.into() }
    }
}

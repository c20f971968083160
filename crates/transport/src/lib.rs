//! Connections between the processes of a cluster: who may connect, and over what.
//!
//! The crate knows neither messages nor services: it gives out gRPC channels and serves gRPC routes. A
//! connection begins with TLS 1.3, in which both sides show the cluster's certificate, and a greeting
//! in which both sides prove that they know the cluster's secret. HTTP/2 follows.
//!
//! ```text
//! Credentials::open(directory) -> Transport::new -> channel(address)     -> tonic clients
//!                                                -> serve(listener, ...) <- tonic services
//! ```
//!
//! Guarantees:
//! - A process without the certificate and the secret of the cluster reaches no service.
//! - The secret is never sent. Its proof belongs to one TLS connection, so it cannot be used for another.
//! - A refused process learns why in one sentence: wrong secret, other cluster, unsupported version.
//! - Connections, handshakes and silence are limited ([`Settings`]).
//! - Without credentials only addresses of this machine are served and connected to.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod certificate;
mod connect;
mod credentials;
mod error;
mod hello;
mod methods;
mod serve;
mod settings;
mod socket;
mod tls;

pub use credentials::Credentials;
pub use error::{Error, reason};
pub use methods::{Answer, Call, Methods, Served};
pub use serve::Peer;
pub use settings::Settings;

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::hello::Secret;
use crate::tls::Tls;

/// Versions of the messages between processes that this release understands: the newest, and the one
/// before it.
const VERSIONS: RangeInclusive<u16> = 1..=1;

/// What a process needs to connect to the others of its cluster. Clones share it.
#[derive(Debug, Clone)]
pub struct Transport {
    settings: Settings,
    secret: Arc<Secret>,
    /// `None`: connections within this machine, without TLS.
    tls: Option<Tls>,
    versions: RangeInclusive<u16>,
}

impl Transport {
    /// Connections with the cluster's credentials.
    ///
    /// # Errors
    /// [`Error::Certificate`] if TLS does not accept the certificates.
    pub fn new(credentials: &Credentials, settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            settings,
            secret: Arc::new(Secret::new(credentials.cluster(), credentials.secret())),
            tls: Some(Tls::new(credentials)?),
            versions: VERSIONS,
        })
    }

    /// Connections within this machine, without TLS and without proof.
    #[must_use]
    pub fn plain(settings: Settings) -> Self {
        let secret = Arc::new(Secret::none());
        Self { settings, secret, tls: None, versions: VERSIONS }
    }
}

#[cfg(test)]
mod tests;

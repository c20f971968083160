//! Connections between the processes of a cluster, with authentication.
//!
//! The crate knows neither messages nor services: it provides gRPC channels and serves gRPC routes. A
//! connection begins with TLS 1.3, in which both sides present the cluster's certificate, and a greeting in
//! which both sides prove that they know the cluster's secret. HTTP/2 follows.
//!
//! ```text
//! Credentials::open(directory) -> Transport::new -> channel(address)     -> tonic clients
//!                                                -> serve(listener, ...) <- tonic services
//! ```
//!
//! Guarantees:
//! - A process without the certificate and the secret of the cluster reaches no service.
//! - The secret is never sent. Its proof is bound to one TLS connection, so that it cannot be replayed.
//! - A refused process gets the reason: wrong secret, other cluster, unsupported version.
//! - Connections, handshakes and idle times are limited ([`Settings`]).
//! - Without credentials, only addresses of this machine are served and connected to.
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

/// The message versions that this release supports: the newest, and the previous one.
const VERSIONS: RangeInclusive<u16> = 1..=1;

/// The connections of a process to the others of its cluster. Clones share it.
#[derive(Debug, Clone)]
pub struct Transport {
    settings: Settings,
    secret: Arc<Secret>,
    /// `None` for connections within this machine, without TLS.
    tls: Option<Tls>,
    versions: RangeInclusive<u16>,
}

impl Transport {
    /// Creates connections that use the cluster's credentials.
    ///
    /// # Errors
    /// [`Error::Certificate`] if TLS rejects the certificates.
    pub fn new(credentials: &Credentials, settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            settings,
            secret: Arc::new(Secret::new(credentials.cluster(), credentials.secret())),
            tls: Some(Tls::new(credentials)?),
            versions: VERSIONS,
        })
    }

    /// Creates connections within this machine, without TLS and without proof.
    #[must_use]
    pub fn plain(settings: Settings) -> Self {
        let secret = Arc::new(Secret::none());
        Self { settings, secret, tls: None, versions: VERSIONS }
    }
}

#[cfg(test)]
mod tests;

//! The ports on which the server receives events, as set at its start: ports of the command line, on or off.

use std::net::SocketAddr;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Intake {
    /// Whether this process takes events in (its role `indexer`).
    pub is_indexer: bool,
    /// Whether the certificate was configured, so that clients can verify it without explicit trust.
    pub has_own_certificate: bool,
    /// Whether forwarders have to show a token.
    pub forwarders_need_token: bool,
    /// Whether senders to TCP inputs with TLS must present a certificate.
    pub inputs_need_certificate: bool,
    /// The ports.
    pub ports: Vec<IntakePort>,
}

/// A port of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntakePort {
    /// The protocol of the port.
    pub kind: IntakeKind,
    /// The address of the port; `None` if it is off.
    pub address: Option<SocketAddr>,
    /// Whether it speaks TLS.
    pub tls: bool,
    /// The flag that sets its address.
    pub flag: &'static str,
    /// The variable of the environment that does so too.
    pub variable: &'static str,
}

/// A protocol with its own port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntakeKind {
    /// The HTTP Event Collector; OTLP over HTTP beside it.
    Hec,
    /// OTLP over gRPC, and over HTTP beside it.
    OtlpGrpc,
    /// OTLP over HTTP.
    OtlpHttp,
    /// Elasticsearch's `_bulk`.
    Elasticsearch,
    /// Loki's push API.
    Loki,
    /// The protocol of Karst's forwarder.
    Forwarders,
    /// REST, which takes events at `/services/receivers`.
    Management,
}

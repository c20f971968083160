//! How a request came, as whoever listens knows it.

/// An extension of every request that came through a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrival {
    /// With TLS.
    pub tls: bool,
    /// To the port of the web console.
    pub web: bool,
}

//! The transport of a request, as its listener knows it.

/// An extension of every request that came through a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Whether the connection uses TLS.
    pub tls: bool,
    /// Whether the port is that of the web console.
    pub web: bool,
}

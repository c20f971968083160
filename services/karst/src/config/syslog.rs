//! Flags of the ports for syslog.

use std::net::SocketAddr;

use clap::Args;

/// Ports for syslog, and the index of their events.
#[derive(Debug, Clone, Args)]
pub(crate) struct SyslogOptions {
    /// Receive syslog over TCP at this address (may be given more than once).
    #[arg(long, env = "KARST_SYSLOG_TCP", value_delimiter = ',')]
    pub(crate) syslog_tcp: Vec<SocketAddr>,
    /// Receive syslog over TLS at this address, usually port 6514 (may be given more than once). The
    /// certificate is that of the stanza `SSL` in inputs.conf, or that of the server.
    #[arg(long, env = "KARST_SYSLOG_TLS", value_delimiter = ',')]
    pub(crate) syslog_tls: Vec<SocketAddr>,
    /// Receive syslog over UDP at this address (may be given more than once).
    #[arg(long, env = "KARST_SYSLOG_UDP", value_delimiter = ',')]
    pub(crate) syslog_udp: Vec<SocketAddr>,
    /// Index of syslog events.
    #[arg(long, env = "KARST_SYSLOG_INDEX", default_value = "main")]
    pub(crate) syslog_index: String,
}

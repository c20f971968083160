//! Settings of the HTTP ports: `[httpServer]` of `server.conf`, overridden by the command line.

use std::time::Duration;

use anyhow::{Result, ensure};
use conf::{Layers, Type};

use crate::config::ServerOptions;

conf::settings! {
    /// Settings of the HTTP ports together.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct HttpServer {
        "server"["httpServer"] {
            /// Maximum number of connections; 0 for a third of the limit of open files, at most 8,192.
            "maxSockets" => pub(crate) max_sockets: usize = "0", Type::number(0);
            /// Maximum number of connections per address (IPv6: per /64 network); 0 for half of
            /// `maxSockets`.
            "maxSocketsPerClient" => pub(crate) max_sockets_per_client: usize = "0", Type::number(0);
            /// Number of connections of `maxSockets` reserved for this machine and the management port.
            "reservedSockets" => pub(crate) reserved_sockets: usize = "32", Type::number(0);
            /// Maximum number of concurrent requests; 0 for 16,384.
            "maxThreads" => pub(crate) max_requests: usize = "0", Type::number(0);
            /// Maximum size of a request header.
            "maxHeaderSize" => pub(crate) max_head_bytes: usize = "64KB", Type::size(8 << 10);
            /// Maximum size of a REST request body. Splunk: 2147483648.
            "max_content_length" => pub(crate) max_content_length: usize = "64MB", Type::size(1);
            /// Maximum number of form parameters.
            "maxFormParameters" => pub(crate) max_form_parameters: usize = "10000", Type::number(0);
            /// Maximum number of open streams of job statuses of one user; a page has one. 0: none, pages
            /// poll.
            "maxStatusStreams" => pub(crate) max_status_streams: usize = "32", Type::number(0);
            /// Whether browsers that connect with TLS are told to use only TLS (HSTS). Splunk: false.
            "sendStrictTransportSecurityHeader" => pub(crate) hsts: bool = "true", Type::Boolean;
            /// Token that scrapers of `/metrics` on other machines send as Authorization: Bearer. Default:
            /// none.
            "metricsToken" => pub(crate) metrics_token: Option<String> = "", Type::Secret;
        }
        nested {
            /// HTTP/2 limits.
            pub(crate) http2: Http2;
            /// Time-outs of clients.
            pub(crate) timeouts: Timeouts;
            /// Limits of uploads.
            pub(crate) uploads: Uploads;
        }
    }
}

conf::settings! {
    /// Limits of uploads.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Uploads {
        "web"["settings"] {
            /// Maximum size of an uploaded app archive, in MB.
            "max_upload_size" => pub(crate) max_mb: usize = "500", Type::number(1);
        }
    }
}

conf::settings! {
    /// Limits of one HTTP/2 connection.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Http2 {
        "server"["httpServer"] {
            /// Maximum number of concurrent requests of an HTTP/2 connection.
            "http2MaxStreams" => pub(crate) max_streams: u32 = "128", Type::number(0);
            /// Maximum size of decompressed request headers of HTTP/2.
            "http2MaxHeaderListSize" => pub(crate) max_header_list_bytes: u32 = "16KB", Type::size(0);
            /// Maximum number of cancelled HTTP/2 streams that have not been processed yet; above it, the
            /// connection is closed.
            "http2MaxResets" => pub(crate) max_resets: usize = "20", Type::number(0);
            /// Idle time after which an HTTP/2 ping is sent.
            "http2PingInterval" => pub(crate) ping_interval: Duration = "60", Type::seconds(1);
            /// Time-out of an HTTP/2 ping.
            "http2PingTimeout" => pub(crate) ping_timeout: Duration = "20", Type::seconds(1);
        }
    }
}

conf::settings! {
    /// Time-outs of clients.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Timeouts {
        "server"["httpServer"] {
            /// Time-out of a TLS handshake.
            "handshakeTimeout" => pub(crate) handshake: Duration = "10", Type::seconds(1);
            /// Time limit for receiving the header of a request.
            "headerTimeout" => pub(crate) head: Duration = "30", Type::seconds(1);
            /// Maximum time between two chunks of a body.
            "bodyIdleTimeout" => pub(crate) body_idle: Duration = "30", Type::seconds(1);
            /// Time spent waiting for a body after which `bodyMinRate` applies.
            "bodyGraceTime" => pub(crate) body_grace: Duration = "30", Type::seconds(0);
            /// Minimum rate of a body, in bytes per second of waiting; 0 for no minimum.
            "bodyMinRate" => pub(crate) body_min_rate: u64 = "256", Type::size(0);
            /// Maximum time between two chunks of an endless body (`/services/receivers/stream`).
            "streamIdleTimeout" => pub(crate) stream_idle: Duration = "600", Type::seconds(1);
            /// Maximum time between two requests of a connection. Splunk: 7200.
            "keepAliveIdleTimeout" => pub(crate) keep_alive: Duration = "300", Type::seconds(1);
            /// Maximum time between two requests of a connection while at least 80 % of `maxSockets` are in
            /// use.
            "busyKeepAliveIdleTimeout" => pub(crate) busy_keep_alive: Duration = "12", Type::seconds(1);
            /// Maximum time for which a client does not read its response.
            "responseStallTimeout" => pub(crate) stall: Duration = "3600", Type::seconds(1);
        }
    }
}

/// Reads the settings.
///
/// # Errors
/// If a value is invalid (with its position), or settings contradict each other.
pub(crate) fn settings(layers: &Layers, options: &ServerOptions) -> Result<HttpServer> {
    let mut settings = HttpServer::read(layers)?;
    if options.metrics_token.is_some() {
        settings.metrics_token.clone_from(&options.metrics_token);
    }
    let (all, reserved) = (settings.max_sockets, settings.reserved_sockets);
    ensure!(
        all == 0 || reserved < all,
        "[httpServer] reservedSockets = {reserved}: must be less than maxSockets = {all}"
    );
    Ok(settings)
}

impl HttpServer {
    /// `maxSockets`, or the default for the descriptor limit: the rest is for buckets, journal,
    /// cache and object storage.
    pub(crate) fn sockets(&self, descriptors: u64) -> usize {
        const MOST: usize = 8_192;
        match self.max_sockets {
            0 => usize::try_from(descriptors / 3).unwrap_or(MOST).clamp(16, MOST),
            given => given,
        }
    }

    /// `maxThreads`, or a default that only abuse reaches.
    pub(crate) fn requests(&self) -> usize {
        if self.max_requests == 0 { 16_384 } else { self.max_requests }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;
    use conf::Layer;

    use super::*;
    use crate::config::{Arguments, Command};

    fn read(conf: &str, flags: &[&str]) -> Result<HttpServer> {
        let conf = format!("[httpServer]\n{conf}\n");
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", &conf);
        let arguments = Arguments::parse_from([&["karst", "server"], flags].concat());
        let Command::Server(options) = arguments.command else { unreachable!("it is server") };
        settings(&layers, &options)
    }

    #[test]
    fn settings_come_from_the_file_and_the_flag_wins() {
        let file =
            "maxSockets = 90\nkeepAliveIdleTimeout = 7\nmaxHeaderSize = 16KB\nmetricsToken = a";
        let settings = read(file, &["--metrics-token", "b"]).unwrap();
        assert_eq!((settings.sockets(3_000), settings.max_head_bytes), (90, 16_384));
        assert_eq!(settings.timeouts.keep_alive, Duration::from_secs(7));
        assert_eq!(settings.metrics_token.as_deref(), Some("b"));
    }

    #[test]
    fn sockets_follow_the_descriptors_unless_they_are_set() {
        let settings = HttpServer::default();
        let sockets = [9, 256, 3_000, 1 << 40].map(|descriptors| settings.sockets(descriptors));
        assert_eq!(sockets, [16, 85, 1_000, 8_192]);
    }

    #[test]
    fn values_that_cannot_be_meant_keep_the_server_from_starting() {
        for (conf, named) in [
            ("headerTimeout = 0", "headerTimeout"),
            ("maxSockets = many", "maxSockets"),
            ("maxHeaderSize = 10", "maxHeaderSize"),
            ("maxSockets = 9\nreservedSockets = 9", "reservedSockets"),
        ] {
            let error = read(conf, &[]).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}

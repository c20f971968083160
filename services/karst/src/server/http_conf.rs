//! Settings of the HTTP ports: `[httpServer]` of `server.conf`, overridden by the command line.

use std::time::Duration;

use anyhow::{Result, ensure};
use knowledge::layers::Layers;

use super::conf::{self, Key, key, seconds, size};
use crate::config::ServerOptions;

/// Settings of the HTTP ports together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpServer {
    /// `maxSockets`: maximum connections; 0 for a third of the descriptors, at most 8,192.
    pub(crate) max_sockets: usize,
    /// `maxSocketsPerClient`: maximum connections per address; 0 for half of `maxSockets`.
    pub(crate) max_sockets_per_client: usize,
    /// `reservedSockets`: connections of `maxSockets` reserved for this machine and the management
    /// port.
    pub(crate) reserved_sockets: usize,
    /// `maxThreads`: maximum concurrent requests; 0 for 16,384.
    pub(crate) max_requests: usize,
    /// `maxHeaderSize`: maximum size of a request header in bytes.
    pub(crate) max_head_bytes: usize,
    /// HTTP/2 limits.
    pub(crate) http2: Http2,
    /// Time-outs of clients.
    pub(crate) timeouts: Timeouts,
    /// `max_content_length`: maximum size of a REST request body in bytes.
    pub(crate) max_content_length: usize,
    /// `maxFormParameters`: maximum number of form parameters.
    pub(crate) max_form_parameters: usize,
    /// `sendStrictTransportSecurityHeader`: whether to send HSTS.
    pub(crate) hsts: bool,
    /// `metricsToken`: token that permits `/metrics` from other machines.
    pub(crate) metrics_token: Option<String>,
}

/// Limits of one HTTP/2 connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Http2 {
    /// `http2MaxStreams`: concurrent requests.
    pub(crate) max_streams: u32,
    /// `http2MaxHeaderListSize`: maximum size of decompressed request headers in bytes.
    pub(crate) max_header_list_bytes: u32,
    /// `http2MaxResets`: maximum number of cancelled streams that have not been processed yet.
    pub(crate) max_resets: usize,
    /// `http2PingInterval`: idle time after which a ping is sent.
    pub(crate) ping_interval: Duration,
    /// `http2PingTimeout`: time-out of the ping.
    pub(crate) ping_timeout: Duration,
}

/// Time-outs of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// `handshakeTimeout`: TLS.
    pub(crate) handshake: Duration,
    /// `headerTimeout`: the head of a request.
    pub(crate) head: Duration,
    /// `bodyIdleTimeout`: between two chunks of a body.
    pub(crate) body_idle: Duration,
    /// `bodyGraceTime`: time before the minimum rate applies.
    pub(crate) body_grace: Duration,
    /// `bodyMinRate`: minimum bytes per second of waiting; 0 for no minimum.
    pub(crate) body_min_rate: u64,
    /// `streamIdleTimeout`: between two chunks of an endless body (`/services/receivers/stream`).
    pub(crate) stream_idle: Duration,
    /// `keepAliveIdleTimeout`: between two requests.
    pub(crate) keep_alive: Duration,
    /// `busyKeepAliveIdleTimeout`: the same while four fifths of the connections are in use.
    pub(crate) busy_keep_alive: Duration,
    /// `responseStallTimeout`: a client that does not read its response.
    pub(crate) stall: Duration,
}

impl Default for HttpServer {
    fn default() -> Self {
        Self {
            max_sockets: 0,
            max_sockets_per_client: 0,
            reserved_sockets: 32,
            max_requests: 0,
            max_head_bytes: 64 << 10,
            http2: Http2 {
                max_streams: 128,
                max_header_list_bytes: 16 << 10,
                max_resets: 20,
                ping_interval: Duration::from_secs(60),
                ping_timeout: Duration::from_secs(20),
            },
            timeouts: Timeouts::default(),
            max_content_length: 64 << 20,
            max_form_parameters: 10_000,
            hsts: true,
            metrics_token: None,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(30),
            body_idle: Duration::from_secs(30),
            body_grace: Duration::from_secs(30),
            body_min_rate: 256,
            stream_idle: Duration::from_secs(600),
            keep_alive: Duration::from_secs(300),
            busy_keep_alive: Duration::from_secs(12),
            stall: Duration::from_secs(3_600),
        }
    }
}

macro_rules! setting {
    ($name:literal, $parse:expr, $($field:ident).+) => {
        key("server", "httpServer", $name, |to: &mut HttpServer, text| {
            to.$($field).+ = $parse(text)?;
            Some(())
        })
    };
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "t" | "yes" | "y" => Some(true),
        "0" | "false" | "f" | "no" | "n" => Some(false),
        _ => None,
    }
}

/// Parses a duration greater than zero.
fn time(text: &str) -> Option<Duration> {
    seconds(text).filter(|time| !time.is_zero())
}

fn bytes(text: &str) -> Option<usize> {
    usize::try_from(size(text)?).ok().filter(|bytes| *bytes > 0)
}

const KEYS: &[Key<HttpServer>] = &[
    setting!("maxSockets", number, max_sockets),
    setting!("maxSocketsPerClient", number, max_sockets_per_client),
    setting!("reservedSockets", number, reserved_sockets),
    setting!("maxThreads", number, max_requests),
    setting!("maxHeaderSize", bytes, max_head_bytes),
    setting!("http2MaxStreams", number, http2.max_streams),
    setting!(
        "http2MaxHeaderListSize",
        |text| u32::try_from(size(text)?).ok(),
        http2.max_header_list_bytes
    ),
    setting!("http2MaxResets", number, http2.max_resets),
    setting!("http2PingInterval", time, http2.ping_interval),
    setting!("http2PingTimeout", time, http2.ping_timeout),
    setting!("handshakeTimeout", time, timeouts.handshake),
    setting!("headerTimeout", time, timeouts.head),
    setting!("bodyIdleTimeout", time, timeouts.body_idle),
    setting!("bodyGraceTime", seconds, timeouts.body_grace),
    setting!("bodyMinRate", size, timeouts.body_min_rate),
    setting!("streamIdleTimeout", time, timeouts.stream_idle),
    setting!("keepAliveIdleTimeout", time, timeouts.keep_alive),
    setting!("busyKeepAliveIdleTimeout", time, timeouts.busy_keep_alive),
    setting!("responseStallTimeout", time, timeouts.stall),
    setting!("max_content_length", bytes, max_content_length),
    setting!("maxFormParameters", number, max_form_parameters),
    setting!("sendStrictTransportSecurityHeader", flag, hsts),
    setting!("metricsToken", |text: &str| Some(Some(text.to_owned())), metrics_token),
];

/// Reads the settings.
///
/// # Errors
/// If a value is invalid (with its position), or settings contradict each other.
pub(crate) fn settings(layers: &Layers, options: &ServerOptions) -> Result<HttpServer> {
    let mut settings = HttpServer::default();
    conf::apply(KEYS, layers, &mut settings)?;
    if options.metrics_token.is_some() {
        settings.metrics_token.clone_from(&options.metrics_token);
    }
    ensure!(
        settings.max_head_bytes >= 8 << 10,
        "[httpServer] maxHeaderSize = {}: at least 8KB are needed",
        settings.max_head_bytes
    );
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
    use knowledge::layers::Layer;

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

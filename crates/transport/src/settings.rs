//! Limits of connections between processes.

use std::time::Duration;

use conf::{Type, Unit};

conf::settings! {
    /// Limits of connections between processes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["clustering"] {
            /// Time limit for connecting to another process of the cluster, including the handshake.
            /// Splunk: 60.
            "cxn_timeout" => pub connect: Duration = "2", Type::of(Unit::Seconds, 1, 600);
            /// Maximum time without data from another process. A connection that neither carries data nor
            /// responds to probes, which are sent twice a second, is closed. Splunk: 60.
            "rcv_timeout" => pub silence: Duration = "2", Type::of(Unit::Seconds, 1, 600);
        }
        fixed {
            /// Idle time after which a connection is probed.
            pub probe: Duration = Duration::from_millis(500);
            /// Time limit for the handshake of a client.
            pub handshake: Duration = Duration::from_secs(5);
            /// Maximum number of open connections, including handshakes; further ones are closed.
            pub connections: usize = 4_096;
            /// Maximum number of concurrent requests per connection.
            pub streams: u32 = 1_024;
            /// Maximum size in bytes of the headers of a request.
            pub header_bytes: u32 = 64 << 10;
            /// HTTP/2 flow control windows in bytes: per request, and per connection.
            pub window_bytes: (u32, u32) = (1 << 20, 8 << 20);
            /// Time for running requests to complete after the process has begun to stop.
            pub farewell: Duration = Duration::from_secs(2);
        }
    }
}

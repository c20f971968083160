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
            /// How long a connection may be idle before it is probed.
            pub probe: Duration = Duration::from_millis(500);
            /// How long the handshake of somebody who connects may take.
            pub handshake: Duration = Duration::from_secs(5);
            /// Open connections, handshakes included; further ones are closed.
            pub connections: usize = 4_096;
            /// Requests at a time on one connection.
            pub streams: u32 = 1_024;
            /// Bytes of the headers of a request.
            pub header_bytes: u32 = 64 << 10;
            /// Bytes that are on their way for one request, and for one connection.
            pub window_bytes: (u32, u32) = (1 << 20, 8 << 20);
            /// How long requests may go on once the process stops.
            pub farewell: Duration = Duration::from_secs(2);
        }
    }
}

//! Settings of the HTTP inputs: `[http]` of `inputs.conf`, `[http_input]` of `limits.conf`.

use conf::{FromValue, Setting, Type, Unit, Value};
use inputs::hec::AckSettings;

/// The source of the host of events without one (`connection_host`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionHost {
    /// The sender's address (`ip`).
    Address,
    /// The sender's address in the proxy's header `X-Forwarded-For`; without it, the address of the
    /// connection (`proxied_ip`). Only for servers that senders cannot reach without the proxy.
    Proxied,
    /// This server's name (`none`).
    Server,
}

impl FromValue for ConnectionHost {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text("ip") => Some(Self::Address),
            Value::Text("proxied_ip") => Some(Self::Proxied),
            Value::Text("none") => Some(Self::Server),
            Value::Text("dns") => {
                tracing::warn!("[http] connection_host = dns: HTTP inputs use the address");
                Some(Self::Address)
            }
            _ => None,
        }
    }
}

conf::settings! {
    /// Settings of HEC, OTLP, Elasticsearch and Loki over HTTP.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HttpInput {
        "limits"["http_input"] {
            /// Maximum size of a request body, both compressed and decompressed.
            "max_content_length" => pub max_content_length: usize = "838860800", BYTES;
            /// Maximum compression ratio of a body that decompresses to more than 16 MB.
            "max_compression_ratio" => pub max_compression_ratio: usize = "100", Type::number(1);
            /// Maximum number of tokens.
            "max_number_of_tokens" => pub max_tokens: usize = "10000", Type::number(1);
        }
        "inputs"["http"] {
            /// Origin of the host of events without one: the sender's address (ip, dns), the address in
            /// `X-Forwarded-For` of a proxy (proxied_ip), or the name of this server (none).
            "connection_host" => pub connection_host: ConnectionHost = "ip", HOSTS;
        }
        nested {
            /// Limits of acknowledgement.
            pub acks: AckSettings;
        }
    }
}

const BYTES: Type = Type::of(Unit::Bytes, 1, i64::MAX);
const HOSTS: Type = Type::Choice(&["ip", "proxied_ip", "none", "dns"]);

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[HttpInput::SETTINGS];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    #[test]
    fn settings_come_from_the_configuration() {
        let layers = Layers::builtin()
            .with(
                Layer::SystemLocal,
                "inputs",
                "[http]\nmaxIdleTime = 5\nconnection_host = proxied_ip\n",
            )
            .with(Layer::SystemLocal, "limits", "[http_input]\nmax_content_length = 1000\n");
        let settings = HttpInput::read(&layers).unwrap();
        assert_eq!((settings.max_content_length, settings.acks.max_idle.as_secs()), (1_000, 5));
        assert_eq!(settings.connection_host, ConnectionHost::Proxied);
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let layers = Layers::builtin().with(
            Layer::SystemLocal,
            "inputs",
            "[http]\nackIdleCleanup = maybe\n",
        );
        let error = HttpInput::read(&layers).unwrap_err().to_string();
        assert_eq!(
            error,
            "system/local/inputs.conf:2: [http] ackIdleCleanup = maybe: expected true or false"
        );
    }
}

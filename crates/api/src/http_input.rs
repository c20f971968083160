//! How the HTTP inputs behave: `[http]` of `inputs.conf`, `[http_input]` of `limits.conf`.

use std::time::Duration;

use inputs::hec::AckSettings;
use knowledge::Knowledge;
use knowledge::layers::Effective;

use crate::Error;

/// Where the host of an event comes from that names none (`connection_host`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionHost {
    /// The sender's address (`ip`).
    Address,
    /// What a proxy says the sender's address is, in `X-Forwarded-For`; without that, the sender's
    /// address (`proxied_ip`). Only for servers that senders cannot reach around the proxy.
    Proxied,
    /// This server's name (`none`).
    Server,
}

/// Settings of HEC, OTLP and Elasticsearch over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpInput {
    /// `max_content_length`: bytes of a body, packed and unpacked.
    pub max_content_length: usize,
    /// `max_compression_ratio`: how many times its size a body may unpack to.
    pub max_compression_ratio: usize,
    /// `max_number_of_tokens`.
    pub max_tokens: usize,
    /// Limits of acknowledgement.
    pub acks: AckSettings,
    /// `connection_host`.
    pub connection_host: ConnectionHost,
}

impl Default for HttpInput {
    fn default() -> Self {
        Self {
            max_content_length: 838_860_800,
            max_compression_ratio: 100,
            max_tokens: 10_000,
            acks: AckSettings::default(),
            connection_host: ConnectionHost::Address,
        }
    }
}

impl HttpInput {
    /// Reads the configuration.
    ///
    /// # Errors
    /// [`Error::Setting`] names the value that does not fit.
    pub fn read(knowledge: &Knowledge) -> Result<Self, Error> {
        let (limits, inputs) = (knowledge.conf("limits"), knowledge.conf("inputs"));
        let mut settings = Self::default();
        let acks = &mut settings.acks;
        let numbers = [
            ("max_content_length", &mut settings.max_content_length),
            ("max_compression_ratio", &mut settings.max_compression_ratio),
            ("max_number_of_tokens", &mut settings.max_tokens),
            ("max_number_of_ack_channel", &mut acks.max_channels),
            ("max_number_of_acked_requests_pending_query", &mut acks.max_pending),
            (
                "max_number_of_acked_requests_pending_query_per_ack_channel",
                &mut acks.max_pending_per_channel,
            ),
        ];
        for (name, value) in numbers {
            if let Some(number) = number(&limits, "http_input", name)? {
                *value = number;
            }
        }
        if let Some(seconds) = number(&inputs, "http", "maxIdleTime")? {
            acks.max_idle = Duration::from_secs(seconds as u64);
        }
        if let Some(cleanup) = flag(&inputs, "http", "ackIdleCleanup")? {
            acks.idle_cleanup = cleanup;
        }
        if let Some(text) = value(&inputs, "http", "connection_host") {
            settings.connection_host = match text {
                "ip" => ConnectionHost::Address,
                "proxied_ip" => ConnectionHost::Proxied,
                "none" => ConnectionHost::Server,
                "dns" => {
                    tracing::warn!("[http] connection_host = dns: HTTP inputs use the address");
                    ConnectionHost::Address
                }
                _ => return Err(wrong("http", "connection_host", text, "ip, proxied_ip or none")),
            };
        }
        Ok(settings)
    }
}

fn value<'a>(conf: &'a Effective, stanza: &str, name: &str) -> Option<&'a str> {
    conf.get(stanza, name).map(|entry| entry.value.trim()).filter(|value| !value.is_empty())
}

fn number(conf: &Effective, stanza: &str, name: &'static str) -> Result<Option<usize>, Error> {
    let Some(text) = value(conf, stanza, name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(wrong(stanza, name, text, "a whole number of 1 or more")),
    }
}

fn flag(conf: &Effective, stanza: &str, name: &'static str) -> Result<Option<bool>, Error> {
    let Some(text) = value(conf, stanza, name) else { return Ok(None) };
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "t" | "yes" | "y" => Ok(Some(true)),
        "0" | "false" | "f" | "no" | "n" => Ok(Some(false)),
        _ => Err(wrong(stanza, name, text, "true or false")),
    }
}

fn wrong(stanza: &str, name: &'static str, value: &str, expected: &'static str) -> Error {
    Error::Setting { stanza: stanza.to_owned(), name, value: value.to_owned(), expected }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use knowledge::layers::{Layer, Layers};

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
        let settings = HttpInput::read(&Knowledge::new(layers)).unwrap();
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
        let error = HttpInput::read(&Knowledge::new(layers)).unwrap_err().to_string();
        assert_eq!(error, "[http] ackIdleCleanup = maybe: expected true or false");
    }
}

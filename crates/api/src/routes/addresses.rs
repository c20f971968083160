//! `GET /api/v1/addresses`: the addresses where this process receives events, with the data that senders'
//! commands need; and the ports that are off, with how to enable them.

use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::response::Response;
use inputs::configured::{Listening, Protocol};
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::error::RestError;
use crate::intake::{Intake, IntakeKind, IntakePort};
use crate::output::OutputMode;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    let what =
        "Addresses at which this process receives events, and how to enable the disabled ones";
    Routes::default().at("/api/v1/addresses", get(May("list_inputs"), what, list))
}

/// The properties of a protocol.
struct About {
    kind: &'static str,
    name: &'static str,
    /// The scheme of its URLs, without and with TLS.
    schemes: [&'static str; 2],
    usual_port: u16,
    /// The credential that senders use.
    credential: &'static str,
    paths: &'static [(&'static str, &'static str)],
}

const HTTP: [&str; 2] = ["http", "https"];

fn about(kind: IntakeKind) -> About {
    match kind {
        IntakeKind::Hec => About {
            kind: "hec",
            name: "HTTP Event Collector",
            schemes: HTTP,
            usual_port: 8088,
            credential: "hec_token",
            paths: &[
                ("event", "/services/collector/event"),
                ("raw", "/services/collector/raw"),
                ("ack", "/services/collector/ack"),
                ("health", "/services/collector/health"),
                ("otlp", "/v1/logs"),
            ],
        },
        IntakeKind::OtlpGrpc => About {
            kind: "otlp_grpc",
            name: "OpenTelemetry over gRPC",
            schemes: HTTP,
            usual_port: 4317,
            credential: "hec_token",
            paths: &[("otlp", "/v1/logs")],
        },
        IntakeKind::OtlpHttp => About {
            kind: "otlp_http",
            name: "OpenTelemetry over HTTP",
            usual_port: 4318,
            ..about(IntakeKind::OtlpGrpc)
        },
        IntakeKind::Elasticsearch => About {
            kind: "elasticsearch",
            name: "Elasticsearch _bulk",
            usual_port: 9200,
            paths: &[("bulk", "/_bulk")],
            ..about(IntakeKind::OtlpGrpc)
        },
        IntakeKind::Loki => About {
            kind: "loki",
            name: "Loki push API",
            usual_port: 3100,
            paths: &[("push", "/loki/api/v1/push")],
            ..about(IntakeKind::OtlpGrpc)
        },
        IntakeKind::Forwarders => About {
            kind: "forwarders",
            name: "Forwarders",
            schemes: ["tcp", "tls"],
            usual_port: 9997,
            credential: "none",
            paths: &[],
        },
        IntakeKind::Management => About {
            kind: "rest",
            name: "REST",
            schemes: HTTP,
            usual_port: 8089,
            credential: "login",
            paths: &[
                ("simple", "/services/receivers/simple"),
                ("stream", "/services/receivers/stream"),
            ],
        },
    }
}

async fn list(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    OutputMode::of(params)?;
    let (intake, host) = (&state.intake, &state.info.host);
    let mut all: Vec<Value> =
        intake.ports.iter().map(|port| port_json(port, intake, host)).collect();
    let listening = state.inputs.listening().await;
    all.extend(listening.iter().map(|one| input_json(one, intake, host)));
    let is_tcp = |one: &Listening| matches!(one.protocol, Protocol::Tcp { .. });
    if !listening.iter().any(is_tcp) {
        all.push(none_json(Protocol::Tcp { tls: false }, intake));
    }
    if listening.iter().all(|one| one.protocol != Protocol::Udp) {
        all.push(none_json(Protocol::Udp, intake));
    }
    let body = json!({
        "host": host,
        "takes_events": intake.is_indexer,
        "certificate": if intake.has_own_certificate { "own" } else { "self_signed" },
        "inputs": all,
    });
    Ok(OutputMode::Json.respond(StatusCode::OK, body.to_string()))
}

/// A port of the command line.
fn port_json(port: &IntakePort, intake: &Intake, host: &str) -> Value {
    let about = about(port.kind);
    // Processes of other roles have the management port, which takes no events there.
    let address = port.address.filter(|_| intake.is_indexer);
    let credential = match port.kind {
        IntakeKind::Forwarders if intake.forwarders_need_token => "forwarder_token",
        _ => about.credential,
    };
    let mut json = json!({
        "kind": about.kind,
        "name": about.name,
        "credential": credential,
        "tls": address.map(|_| port.tls),
        "flag": port.flag,
        "variable": port.variable,
        "advice": advice(port, &about, address, intake),
    });
    let paths = about.paths.iter().map(|(name, path)| ((*name).to_owned(), json!(path)));
    json["paths"] = Value::Object(paths.collect::<Map<_, _>>());
    put_address(&mut json, address, about.schemes[usize::from(port.tls)], host);
    json
}

/// Returns how to make a port available that is off, or that other machines cannot reach.
fn advice(
    port: &IntakePort,
    about: &About,
    address: Option<SocketAddr>,
    intake: &Intake,
) -> Option<String> {
    let IntakePort { flag, variable, .. } = port;
    if !intake.is_indexer {
        return Some(
            "this process is not an indexer: send events to a process with this role".to_owned(),
        );
    }
    match address {
        None => Some(format!(
            "off; start karst server with {flag} 0.0.0.0:{} (or {variable})",
            about.usual_port
        )),
        Some(address) if address.ip().to_canonical().is_loopback() => Some(format!(
            "only reachable from this machine; for other machines, start karst server with {flag} \
             0.0.0.0:{} (or {variable})",
            address.port()
        )),
        Some(_) => None,
    }
}

/// A port of `inputs.conf`, or of the syslog flags.
fn input_json(one: &Listening, intake: &Intake, host: &str) -> Value {
    let is_syslog = one.sourcetype.as_deref() == Some("syslog") || one.stanza.is_none();
    let (kind, name, scheme) = match one.protocol {
        Protocol::Tcp { tls: false } if is_syslog => ("syslog_tcp", "Syslog over TCP", "tcp"),
        Protocol::Tcp { tls: true } if is_syslog => ("syslog_tcp", "Syslog over TLS", "tls"),
        Protocol::Udp if is_syslog => ("syslog_udp", "Syslog over UDP", "udp"),
        Protocol::Tcp { tls: false } => ("tcp", "TCP", "tcp"),
        Protocol::Tcp { tls: true } => ("tcp", "TCP with TLS", "tls"),
        Protocol::Udp => ("udp", "UDP", "udp"),
        Protocol::Forwarders { tls: false } => ("forwarders", "Forwarders", "tcp"),
        Protocol::Forwarders { tls: true } => ("forwarders", "Forwarders", "tls"),
    };
    let credential = match one.protocol {
        Protocol::Forwarders { .. } if intake.forwarders_need_token => "forwarder_token",
        Protocol::Tcp { tls: true } if intake.inputs_need_certificate => "client_certificate",
        _ => "none",
    };
    let mut json = json!({
        "kind": kind,
        "name": name,
        "credential": credential,
        "tls": scheme == "tls",
        "stanza": one.stanza,
        "index": one.index,
        "sourcetype": one.sourcetype,
        "paths": {},
        "advice": null,
    });
    put_address(&mut json, Some(one.address), scheme, host);
    json
}

/// Returns the entry for a protocol without a port, with how to enable it.
fn none_json(protocol: Protocol, intake: &Intake) -> Value {
    let (kind, name, path, flag) = match protocol {
        Protocol::Udp => ("syslog_udp", "Syslog over UDP", "udp", "--syslog-udp"),
        _ => ("syslog_tcp", "Syslog over TCP", "tcp/raw", "--syslog-tcp"),
    };
    let advice = if intake.is_indexer {
        format!(
            "off; create an input at /services/data/inputs/{path} with name=<port> and \
             sourcetype=syslog, without a restart, or start karst server with {flag} 0.0.0.0:5514"
        )
    } else {
        "this process is not an indexer: send events to a process with this role".to_owned()
    };
    let mut json = json!({
        "kind": kind,
        "name": name,
        "credential": "none",
        "tls": null,
        "flag": flag,
        "paths": {},
        "advice": advice,
    });
    put_address(&mut json, None, "", "");
    json
}

/// Adds the address of a port, and the URL for senders. If the port listens on all addresses of the machine,
/// the URL has the name of the server, which senders may know by another one.
fn put_address(json: &mut Value, address: Option<SocketAddr>, scheme: &str, host: &str) {
    json["on"] = json!(address.is_some());
    json["address"] = json!(address.map(|address| address.ip().to_string()));
    json["port"] = json!(address.map(|address| address.port()));
    json["reach"] = json!(address.map(|address| match address.ip().to_canonical() {
        ip if ip.is_loopback() => "this_machine",
        ip if ip.is_unspecified() => "all_addresses",
        _ => "one_address",
    }));
    json["url"] = json!(address.map(|address| match address {
        address if address.ip().is_unspecified() => format!("{scheme}://{host}:{}", address.port()),
        address => format!("{scheme}://{address}"),
    }));
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "GET /api/v1/addresses";
    vec![
        case(path, "", 200, "\"url\":\"https://test-host:8088\""),
        case(path, "", 200, "start karst server with --otlp-grpc 0.0.0.0:4317"),
        case(&format!("{path}?output_mode=none"), "", 400, "unknown output_mode"),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn port(kind: IntakeKind, address: Option<&str>) -> IntakePort {
        let address = address.map(|address| address.parse().unwrap());
        IntakePort { kind, address, tls: true, flag: "--flag", variable: "KARST_FLAG" }
    }

    fn indexer() -> Intake {
        Intake { is_indexer: true, ..Intake::default() }
    }

    #[test]
    fn a_port_says_where_it_is_who_reaches_it_and_how_to_turn_it_on() {
        let told =
            |kind, address: Option<&str>| port_json(&port(kind, address), &indexer(), "web1");
        let open = told(IntakeKind::Hec, Some("0.0.0.0:8088"));
        assert_eq!(
            (&open["url"], &open["reach"]),
            (&json!("https://web1:8088"), &json!("all_addresses"))
        );
        assert_eq!(open["paths"]["event"], "/services/collector/event");
        assert!(open["advice"].is_null());
        let near = told(IntakeKind::Elasticsearch, Some("[::1]:9200"));
        assert_eq!((&near["url"], &near["on"]), (&json!("https://[::1]:9200"), &json!(true)));
        assert!(near["advice"].as_str().unwrap().contains("--flag 0.0.0.0:9200"), "{near}");
        let off = told(IntakeKind::OtlpGrpc, None);
        assert_eq!((&off["url"], &off["on"]), (&Value::Null, &json!(false)));
        assert!(off["advice"].as_str().unwrap().contains("--flag 0.0.0.0:4317"), "{off}");
    }

    #[test]
    fn a_process_without_the_role_sends_senders_elsewhere() {
        let address = Some("0.0.0.0:8089");
        let told = port_json(&port(IntakeKind::Management, address), &Intake::default(), "web1");
        assert_eq!(told["on"], false);
        assert!(told["advice"].as_str().unwrap().contains("not an indexer"), "{told}");
    }

    #[test]
    fn inputs_of_files_have_their_stanza() {
        let one = Listening {
            protocol: Protocol::Forwarders { tls: true },
            address: "10.0.0.7:9997".parse().unwrap(),
            stanza: Some("splunktcp-ssl://9997".to_owned()),
            index: None,
            sourcetype: None,
        };
        let told = input_json(&one, &indexer(), "web1");
        assert_eq!(
            (&told["kind"], &told["url"]),
            (&json!("forwarders"), &json!("tls://10.0.0.7:9997"))
        );
        let flag = Listening { protocol: Protocol::Udp, stanza: None, ..one.clone() };
        assert_eq!(input_json(&flag, &indexer(), "web1")["kind"], "syslog_udp");
        let sourcetype = Some("syslog".to_owned());
        let tls = Listening { protocol: Protocol::Tcp { tls: true }, sourcetype, ..one };
        let told = input_json(&tls, &indexer(), "web1");
        assert_eq!(
            (&told["kind"], &told["url"], &told["tls"]),
            (&json!("syslog_tcp"), &json!("tls://10.0.0.7:9997"), &json!(true))
        );
        assert_eq!(told["credential"], "none");
        let strict = Intake { inputs_need_certificate: true, ..indexer() };
        assert_eq!(input_json(&tls, &strict, "web1")["credential"], "client_certificate");
        assert_eq!(input_json(&flag, &strict, "web1")["credential"], "none");
    }
}

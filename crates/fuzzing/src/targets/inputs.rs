//! Decoders of data from senders.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write;

use bytes::Bytes;
use conf::Layers;
use inputs::body::{snappy_length, unpack, unpack_snappy};
use inputs::elastic::{BulkDefaults, LineLengths, decode_bulk};
use inputs::hec::{EventLengths, HecDefaults, decode_events, decode_raw};
use inputs::loki::{LokiDefaults, LokiFormat, decode_push};
use inputs::otlp::{OtlpDefaults, decode_json, decode_logs, json_memory, protobuf_memory};
use inputs::text::with_whole_surrogates;
use inputs::{CutEvents, EventLimits, Input, StreamKey};
use knowledge::{EventBreaking, Knowledge};
use model::IndexName;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use prost::Message;
use serde_json::value::RawValue;

use super::Target;

const JSON: &[&str] = &[
    "{", "}", "[", "]", "\"", "\\", "\\u", "\\ud800", ":", ",", "null", "true", "-", "1e999", "0.",
    "{\"a\":", "\u{feff}", "\0", "ä", "\u{ff}",
];

pub(super) const HEC_EVENT: Target = Target {
    name: "hec",
    decode: |bytes| {
        let limits = limits();
        let defaults = HecDefaults {
            index: index(),
            host: "h".into(),
            source: "s".into(),
            sourcetype: None,
            time: None,
            extract_time: false,
            limits,
        };
        if let Ok(Input::Events { events, .. }) =
            decode_events(bytes, &defaults, &|_| true, stream())
        {
            same_as_serde_json(bytes, &events);
        }
        let _ = black_box(decode_raw(Bytes::copy_from_slice(bytes), &defaults, stream()));
        black_box(EventLengths::new(10).look(bytes));
    },
    seeds: || {
        texts(&[
            r#"{"event":"a","time":1.5,"host":"h1","fields":{"x":1,"y":["p",true],"z":null}}"#,
            r#"[{"event":{"b": 1.50, "a":[ {} ]},"index":"main"},{"event":12.0,"time":"1700000000.123"}]"#,
            r#"{"event":"t\u00e4\n\"x\"\ud83d\ude00","sourcetype":"s","source":""} {"event":1}"#,
        ])
    },
    words: JSON,
};

/// Asserts that `serde_json` accepts a body that the scanner accepts, with the same events.
fn same_as_serde_json(body: &[u8], events: &CutEvents) {
    let Ok(text) = std::str::from_utf8(body) else { return };
    let text = text.trim_start_matches('\u{feff}');
    // The decoder replaces unpaired surrogates, which `serde_json` rejects.
    if with_whole_surrogates(text).is_some() {
        return;
    }
    let mut row = 0;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>() {
        let value = value.expect("serde_json refuses what the scanner takes");
        let list = serde_json::from_str::<Vec<Box<RawValue>>>(value.get());
        for envelope in list.unwrap_or_else(|_| vec![value]) {
            let envelope: BTreeMap<String, Box<RawValue>> =
                serde_json::from_str(envelope.get()).expect("an envelope is an object");
            let event = envelope.get("event").expect("each envelope has an event").get();
            let event = match serde_json::from_str::<String>(event) {
                Ok(event) => event,
                Err(_) => event.to_owned(),
            };
            assert_eq!(String::from_utf8_lossy(events.text(row)), event, "event {row}");
            row += 1;
        }
    }
    assert_eq!(row, events.len(), "events");
}

pub(super) const SCHEDULE: Target = Target {
    name: "schedule",
    decode: |bytes| inputs::fuzzing::schedule(&String::from_utf8_lossy(bytes)),
    seeds: || {
        texts(&[
            "*/5 0-6,12 1 * *",
            "30 2 * 3,10 7",
            "0 0 29 feb mon-fri",
            "@daily",
            "59 23 31 12 */2",
        ])
    },
    words: &["*", "/", "-", ",", " ", "0", "7", "30", "sun", "jan", "@", "99999999999", "ä"],
};

pub(super) const MONITORED_PATH: Target = Target {
    name: "path",
    decode: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let (pattern, path) = text.split_once('\n').unwrap_or((&text, "/var/log/a.log"));
        inputs::fuzzing::monitored_path(pattern, path);
    },
    seeds: || {
        texts(&[
            "/var/log/*.log\n/var/log/a.log",
            "/a/.../b*c/d\n/a/x/y/bc/d/e",
            "a b/[c]\na b/[c]",
        ])
    },
    words: &["*", "...", "/", "//", "..", ".", "\\", "[", "(", "{1000}", "ä", "\0"],
};

pub(super) const PACKED: Target = Target {
    name: "packed",
    decode: |bytes| {
        for encoding in ["gzip", "deflate", "zstd"] {
            let packed = Bytes::copy_from_slice(bytes);
            let _ = black_box(unpack(packed, encoding, 32 << 20, 100));
        }
    },
    seeds: || {
        let text = b"2026-01-02 a line of a log file, and another one; ".repeat(20);
        let level = flate2::Compression::default();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
        let _ = gzip.write_all(&text).and_then(|()| zlib.write_all(&text));
        let packed = [gzip.finish(), zlib.finish(), zstd::encode_all(&text[..], 1)];
        packed.into_iter().flatten().collect()
    },
    words: &["\u{1f}", "\0\0\0\0"],
};

pub(super) const SYSLOG: Target = Target {
    name: "syslog",
    decode: inputs::fuzzing::syslog,
    seeds: || {
        texts(&[
            "<34>Oct 11 22:14:15 mymachine su: 'su root' failed\n<13>a line\n",
            "34 <34>1 2003-10-11T22:14:15.003Z host a 5 <13>a",
            "<165>1 2003-10-11T22:14:15.003Z host app 1 ID47 [x@1 a=\"b\"] text\n",
        ])
    },
    words: &["<", ">", "\n", "\0", "99999999999 ", "0 ", "1 ", " - - -", "\r\n", "ä"],
};

pub(super) const OTLP_PROTOBUF: Target = Target {
    name: "otlp",
    decode: |bytes| {
        // The server only decodes requests whose estimated memory is within its limit.
        if protobuf_memory(bytes) < 32 << 20
            && let Ok(request) = ExportLogsServiceRequest::decode(bytes)
        {
            logs(&request);
        }
    },
    seeds: || vec![request().encode_to_vec()],
    words: &["\n", "\x12", "*\x02", "\x00", "2\x04\n\x02"],
};

pub(super) const OTLP_JSON: Target = Target {
    name: "otlp-json",
    decode: |bytes| {
        if json_memory(bytes) < 32 << 20
            && let Ok(request) = decode_json(bytes)
        {
            logs(&request);
        }
    },
    seeds: || texts(&[REQUEST]),
    words: JSON,
};

pub(super) const BULK: Target = Target {
    name: "bulk",
    decode: |bytes| {
        let defaults = BulkDefaults {
            index: index(),
            host: "h".into(),
            source: "s".into(),
            sourcetype: "t".into(),
            limits: limits(),
        };
        let _ = black_box(decode_bulk(bytes, Some("x"), &defaults, &|_| true));
        black_box(LineLengths::new(10).look(bytes));
    },
    seeds: || {
        texts(&[
            "{\"index\":{\"_index\":\"x\",\"_id\":\"7\"}}\n{\"@timestamp\":\"2026-01-02T03:04:05Z\",\"a\":1}\n",
            "{\"create\":{}}\r\n{\"host\":{\"name\":\"h\"},\"log\":{\"file\":{\"path\":\"/a\"}}}\n\n",
            "{\"delete\":{\"_id\":1}}\n{\"update\":{\"_index\":\"x\"}}\n{\"doc\":{}}\n",
        ])
    },
    words: JSON,
};

pub(super) const LOKI: Target = Target {
    name: "loki",
    decode: |bytes| {
        let defaults = LokiDefaults {
            index: index(),
            tenant: Some("t".into()),
            host: "h".into(),
            source: "s".into(),
            sourcetype: None,
            limits: limits(),
        };
        for format in [LokiFormat::Protobuf, LokiFormat::Json] {
            let _ = black_box(decode_push(bytes, format, &defaults));
        }
        // The server only decompresses requests within this limit.
        if snappy_length(bytes, 32 << 20, 100).is_ok()
            && let Ok(unpacked) = unpack_snappy(bytes)
        {
            let _ = black_box(decode_push(&unpacked, LokiFormat::Protobuf, &defaults));
        }
    },
    seeds: || {
        let mut seeds = texts(&[
            r#"{"streams":[{"stream":{"host":"h"},"values":[["1700000000123456789","x",{"c":"d"}]]}]}"#,
            "\n\x23\n\x0f{a=\"b\",c=`d\\n`}\x12\x10\n\x04\x08\x01\x10\x02\x12\x01x\x1a\x05\n\x01t\x12\x00",
        ]);
        seeds.push(b"\x09\x20\x0a\x07\x0a\x02{}\x12\x01\x0a".to_vec());
        seeds
    },
    words: &["{", "}", "\"", "`", "\\x", "\\u", "=", ",", "\n", "\x12", "\x1a", "\x00", "[", "]"],
};

pub(super) const FORWARDED: Target = Target {
    name: "forwarded",
    decode: |bytes| {
        if let Ok(message) = protocol::ToIndexer::decode(bytes)
            && let Some(protocol::to_indexer::Kind::Batch(batch)) = message.kind
            && let Ok(content) = protocol::unpack(&batch, 16 << 20)
        {
            ingest::fuzzing::forwarded(content);
        }
        if let Ok(content) = protocol::Content::decode(bytes) {
            ingest::fuzzing::forwarded(content);
        }
        if let Ok(message) = protocol::ToForwarder::decode(bytes)
            && let Some(protocol::to_forwarder::Kind::Rules(rules)) = message.kind
        {
            let stanzas = rules.stanzas.into_iter().take(100).map(|stanza| {
                let settings = stanza.settings.into_iter().map(|one| (one.key, one.value));
                (stanza.name, settings.collect())
            });
            let rules: EventBreaking = stanzas.collect();
            let knowledge = Knowledge::new(Layers::default()).over_event_breaking(&rules);
            let _ = black_box(knowledge.parsing_rules("t", "s", "h"));
        }
    },
    seeds: || {
        let origin =
            || protocol::Origin { index: "main".to_owned(), ..protocol::Origin::default() };
        let events = protocol::Events {
            origins: vec![origin()],
            runs: vec![0, 2],
            lengths: vec![2, 3],
            text: Bytes::from_static(b"abcde"),
            times: vec![1, 1_700_000_000_000_000],
            ..protocol::Events::default()
        };
        let text = protocol::Text {
            origin: Some(origin()),
            bytes: Bytes::from_static(b"a\nb"),
            modified: None,
        };
        let bodies = [
            protocol::content_body::Body::Events(events),
            protocol::content_body::Body::Text(text),
        ];
        let setting = |key: &str, value: &str| protocol::Setting {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let stanza = protocol::Stanza {
            name: "t".to_owned(),
            settings: vec![setting("LINE_BREAKER", "([\\r\\n]+)x"), setting("TIME_FORMAT", "%s")],
        };
        let rules = protocol::ParsingRules { stanzas: vec![stanza], ..Default::default() };
        let kind = Some(protocol::to_forwarder::Kind::Rules(rules));
        let mut seeds = vec![protocol::ToForwarder { kind }.encode_to_vec()];
        for body in bodies {
            let content = protocol::Content { body: Some(body), ..protocol::Content::default() };
            for level in [None, Some(1)] {
                let (compression, plain_len, packed) = protocol::pack(&content, level);
                let batch = protocol::Batch {
                    sequence: 1,
                    compression: compression.into(),
                    plain_len,
                    content: packed,
                    ..protocol::Batch::default()
                };
                let kind = Some(protocol::to_indexer::Kind::Batch(batch));
                seeds.push(protocol::ToIndexer { kind }.encode_to_vec());
            }
            seeds.push(content.encode_to_vec());
        }
        seeds
    },
    words: &["\n", "\x12", "\x00", "main"],
};

const REQUEST: &str = r#"{"resourceLogs":[{"resource":{"attributes":[
    {"key":"host.name","value":{"stringValue":"web-1"}}]},
    "scopeLogs":[{"scope":{"name":"lib"},"logRecords":[
        {"timeUnixNano":"1700000000123456789","severityNumber":9,"body":{"stringValue":"hello"},
         "traceId":"5b8efff798038103d269b633813fc60c","attributes":[
            {"key":"n","value":{"intValue":"7"}},
            {"key":"tags","value":{"arrayValue":{"values":[{"stringValue":"a"},{"boolValue":true}]}}},
            {"key":"http","value":{"kvlistValue":{"values":[{"key":"s","value":{"doubleValue":2}}]}}}]},
        {"body":{"kvlistValue":{"values":[{"key":"b","value":{"arrayValue":{"values":[{}]}}}]}}}]}]}]}"#;

fn request() -> ExportLogsServiceRequest {
    serde_json::from_str(REQUEST).unwrap_or_default()
}

fn logs(request: &ExportLogsServiceRequest) {
    let defaults = OtlpDefaults {
        index: index(),
        host: "h".into(),
        source: "s".into(),
        sourcetype: None,
        limits: limits(),
    };
    let _ = black_box(decode_logs(request, &defaults, &|_| true));
}

fn limits() -> EventLimits {
    EventLimits { event_bytes: 16 << 10, memory: 4 << 20, ..EventLimits::default() }
}

fn index() -> IndexName {
    IndexName::new("main").expect("it is a name")
}

fn stream() -> StreamKey {
    StreamKey("fuzz".into())
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

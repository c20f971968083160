//! Requests as clients send them, in both formats, and requests that are not taken.

use super::*;

#[test]
fn lines_are_events_with_the_labels_of_their_stream_and_their_metadata() {
    let json = r#"{"streams":[{"values":[
        ["1767323045678901234","first \"line\"",{"trace_id":"7","host":"own"}],
        ["1767323045000000000","second"], [1767323046000000000,"",{}]],
        "stream":{"host":"h1","filename":"/var/log/a","source":"stdout",
            "sourcetype":"access","index":"x"}}]}"#;
    let label =
        r#"{host="h1", filename="/var/log/a", source="stdout", sourcetype="access", index="x"}"#;
    let entries = [
        entry(1_767_323_045, 678_901_234, b"first \"line\"", &[("trace_id", "7"), ("host", "own")]),
        entry(1_767_323_045, 0, b"second", &[]),
        entry(1_767_323_046, 0, b"", &[]),
    ];
    for push in [decode_json(json), decode_protobuf(&stream(label, &entries))] {
        let push = push.unwrap();
        assert_eq!((push.rejected, &push.reason), (0, &None));
        let events = push.events;
        assert_eq!((events.text(0), events.text(1)), (&b"first \"line\""[..], &b"second"[..]));
        let micros = [1_767_323_045_678_901, 1_767_323_045_000_000];
        assert_eq!(events.times, micros.map(|micros| Some(EventTime(micros))));
        let hosts: Vec<_> = events.each_origin().map(|origin| &*origin.host).collect();
        assert_eq!(hosts, ["own", "h1"]);
        let origin = events.each_origin().next().unwrap();
        assert_eq!((&*origin.source, origin.sourcetype.as_deref()), ("/var/log/a", Some("access")));
        assert_eq!(
            fields(&events, 0),
            [
                ("trace_id", "7"),
                ("extracted_host", "h1"),
                ("filename", "/var/log/a"),
                ("extracted_source", "stdout"),
                ("extracted_index", "x"),
                ("loki_tenant", "team"),
            ]
        );
        assert_eq!(fields(&events, 1)[0], ("filename", "/var/log/a"));
    }
}

#[test]
fn a_label_does_not_stand_in_for_the_tenant() {
    let body = stream(r#"{loki_tenant="a"}"#, &[entry(1, 0, b"x", &[("loki_tenant", "b")])]);
    let defaults = LokiDefaults { limits: EventLimits::default(), ..defaults() };
    let push = decode_push(&body, LokiFormat::Protobuf, &defaults).unwrap();
    let sent = "extracted_loki_tenant";
    assert_eq!(fields(&push.events, 0), [(sent, "b"), (sent, "a"), ("loki_tenant", "team")]);
    let defaults = LokiDefaults { tenant: None, ..defaults };
    let push = decode_push(&body, LokiFormat::Protobuf, &defaults).unwrap();
    assert_eq!(fields(&push.events, 0), [("loki_tenant", "b"), ("loki_tenant", "a")]);
}

#[test]
fn without_labels_the_defaults_are_used_and_a_line_need_not_be_utf8() {
    let push = decode_protobuf(&stream("{}", &[message(2, b"\xff\xfe")])).unwrap();
    let origin = push.events.each_origin().next().unwrap();
    let names = (&*origin.host, &*origin.source, origin.sourcetype.as_deref());
    assert_eq!(names, ("peer", "loki", None));
    assert_eq!((push.events.text(0), push.events.times[0]), (&b"\xff\xfe"[..], None));
}

#[test]
fn labels_may_come_after_the_entries_of_their_stream() {
    let body =
        message(1, &[message(2, &entry(1, 0, b"a", &[])), message(1, b"{node=\"n\"}")].concat());
    let push = decode_protobuf(&body).unwrap();
    assert_eq!(&*push.events.each_origin().next().unwrap().host, "n");
}

#[test]
fn an_invalid_stream_or_entry_is_rejected_alone_with_its_place() {
    let good = entry(1, 0, b"good", &[]);
    let far = entry(i64::MAX, 0, b"far", &[]);
    let nanos = entry(1, 1_000_000_000, b"nanos", &[]);
    let long = entry(1, 0, &[b'x'; 400], &[]);
    let many = entry(1, 0, b"many", &[("a", "1"); 8]);
    let name = entry(1, 0, b"name", &[("abcdefghijklm", "1")]);
    let cases = [
        ("{a=b}", good.clone(), "labels are invalid at byte 3: expected a quoted value: {a=b}"),
        ("{}", far, "1 and 2262"),
        ("{}", nanos, "1 and 2262"),
        ("{}", long, "maxEventSize"),
        ("{}", many, "maxEventFields"),
        ("{}", name, "maxFieldNameSize"),
    ];
    for (labels, bad, reason) in cases {
        let body = [stream("{}", std::slice::from_ref(&good)), stream(labels, &[bad])].concat();
        let push = decode_protobuf(&body).unwrap();
        assert_eq!((push.events.len(), push.rejected), (1, 1), "{reason}");
        let told = push.reason.unwrap();
        assert!(told.starts_with("stream 2, entry 1: ") && told.contains(reason), "{told}");
    }
    let json = r#"{"streams":[{"stream":{},"values":[["soon","a"],["1","b"]]}]}"#;
    let push = decode_json(json).unwrap();
    assert_eq!((push.events.len(), push.rejected), (1, 1));
    assert!(push.reason.unwrap().contains("entry 1: its time is not a number"));
}

#[test]
fn limits_count_labels_and_metadata_together() {
    let labels = r#"{a="1", b="2", c="3", d="4"}"#;
    let long = format!(r#"{{a="{}"}}"#, "x".repeat(280));
    let empty = r#"{a="", b="", c="", d="", e="", f="", g="", h=""}"#;
    let cases = [
        (labels, entry(1, 0, b"three", &[("m", "1"); 3]), None),
        (labels, entry(1, 0, b"four", &[("m", "1"); 4]), Some("maxEventFields")),
        (empty, entry(1, 0, b"x", &[]), Some("maxEventFields")),
        (r#"{abcdefghijklm="1"}"#, entry(1, 0, b"x", &[]), Some("maxFieldNameSize")),
        (long.as_str(), entry(1, 0, b"short", &[("m", "1")]), None),
        (long.as_str(), entry(1, 0, b"short", &[("m", "1234567890")]), Some("maxEventSize")),
    ];
    for (labels, line, reason) in cases {
        let push = decode_protobuf(&stream(labels, &[line])).unwrap();
        assert_eq!(push.rejected, u64::from(reason.is_some()), "{labels} {reason:?}");
        let told = push.reason.unwrap_or_default();
        assert!(told.contains(reason.unwrap_or_default()), "{told}");
    }
}

#[test]
fn labels_are_weighed_once_and_those_without_a_value_are_not_kept() {
    let pairs = [("name", ""), ("a", "1"), ("b", "23")];
    let pairs = pairs.map(|(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value)));
    let labels = Labels::new(Vec::from(pairs));
    let Weight { bytes, fields, longest_name } = labels.weight;
    assert_eq!((bytes, fields, longest_name), (9, 3, 4));
    assert_eq!(labels.pairs.len(), 2);
}

#[test]
fn a_malformed_request_is_refused_as_a_whole() {
    let good = stream("{}", &[entry(1, 0, b"a", &[])]);
    let torn = good.len() - 1;
    let bodies: [&[u8]; 6] = [
        &good[..torn],
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x0a\x7f",
        b"\x08\x01",
        b"\x0b",
        b"\x0a\x02\x10\x01",
    ];
    for body in bodies {
        let refused = decode_protobuf(body).unwrap_err();
        assert!(matches!(refused, LokiError::Malformed(_)), "{body:?}: {refused}");
    }
    let line =
        |values: &str| format!(r#"{{"streams":[{{"stream":{{"a":"b"}},"values":{values}}}]}}"#);
    let bodies = [
        String::new(),
        "{}".to_owned(),
        r#"{"streams":{}}"#.to_owned(),
        r#"{"streams":[{"values":[]}]}"#.to_owned(),
        r#"{"streams":[{"stream":{"a":1},"values":[]}]}"#.to_owned(),
        line(r#"[["1","a"],["2"]]"#),
        line(r#"[["1","a"],["2",3]]"#),
        line(r#"[["1","a"],["2","b",{"c":{}}]]"#),
        line(r#"[["1","a"],["2","b",{},1]]"#),
    ];
    for body in bodies {
        let refused = decode_json(&body).unwrap_err();
        assert!(matches!(refused, LokiError::Malformed(_)), "{body}: {refused}");
    }
    let refused = decode_json(&line(r#"[["1","a"],["2"]]"#)).unwrap_err().to_string();
    assert!(refused.contains("near stream 1, entry 1: "), "{refused}");
}

#[test]
fn halves_of_surrogate_pairs_are_replaced() {
    let push = decode_json(r#"{"streams":[{"stream":{},"values":[["1","a\ud800"]]}]}"#).unwrap();
    assert_eq!(push.events.text(0), "a\u{fffd}".as_bytes());
}

#[test]
fn json_need_not_be_utf8() {
    let body = b"{\"streams\":[{\"stream\":{\"l\":\"\xe4\"},\"values\":[[\"1\",\"a\xff\"],[\"2\",\"b\"]]}]}";
    let push = decode_push(body, LokiFormat::Json, &defaults()).unwrap();
    assert_eq!((push.events.len(), push.rejected), (2, 0));
    assert_eq!((push.events.text(0), push.events.text(1)), (&b"a\\xFF"[..], &b"b"[..]));
    assert_eq!(fields(&push.events, 1), [("l", "\\xE4"), ("loki_tenant", "team")]);
    let outside = b"{\"streams\":\xff[]}";
    let refused = decode_push(outside, LokiFormat::Json, &defaults()).unwrap_err();
    assert!(matches!(refused, LokiError::Malformed(_)), "{refused}");
}

#[test]
fn more_events_than_there_is_memory_for_are_refused() {
    let entries = vec![entry(1, 0, b"a", &[]); 1_000];
    let limits = EventLimits { memory: 10_000, ..EventLimits::default() };
    let defaults = LokiDefaults { limits, ..defaults() };
    let body = stream("{}", &entries);
    let refused = decode_push(&body, LokiFormat::Protobuf, &defaults).unwrap_err();
    assert_eq!(refused, LokiError::Memory(OverLimit::Memory(10_000)));
}

#[test]
fn names_of_fields_count_as_memory() {
    let limits = EventLimits { memory: 10_000, ..EventLimits::default() };
    let defaults = LokiDefaults { limits, ..defaults() };
    let decode = |name: &dyn Fn(usize) -> String| {
        let entry = |number| entry(1, 0, b"a", &[(name(number).as_str(), "1")]);
        let entries: Vec<_> = (0..50).map(entry).collect();
        decode_push(&stream("{}", &entries), LokiFormat::Protobuf, &defaults)
    };
    assert_eq!(decode(&|_| "same".to_owned()).unwrap().events.len(), 50);
    let refused = decode(&|number| format!("other{number}")).unwrap_err();
    assert_eq!(refused, LokiError::Memory(OverLimit::Memory(10_000)));
}

fn fields(events: &CutEvents, row: u32) -> Vec<(&str, &str)> {
    let of_row = events.fields.iter().filter(|field| field.row == row);
    of_row.map(|field| (&*field.name, &*field.value)).collect()
}

fn decode_json(json: &str) -> Result<LokiPush, LokiError> {
    decode_push(json.as_bytes(), LokiFormat::Json, &defaults())
}

fn decode_protobuf(body: &[u8]) -> Result<LokiPush, LokiError> {
    decode_push(body, LokiFormat::Protobuf, &defaults())
}

fn defaults() -> LokiDefaults {
    LokiDefaults {
        index: IndexName::new("main").unwrap(),
        tenant: Some("team".into()),
        host: "peer".into(),
        source: "loki".into(),
        sourcetype: None,
        limits: EventLimits {
            event_bytes: 300,
            fields: 8,
            field_name_bytes: 12,
            ..EventLimits::default()
        },
    }
}

fn stream(labels: &str, entries: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = message(1, labels.as_bytes());
    entries.iter().for_each(|entry| stream.extend(message(2, entry)));
    // The hash.
    stream.extend([0x18, 0x07]);
    message(1, &stream)
}

fn entry(seconds: i64, nanos: u64, line: &[u8], metadata: &[(&str, &str)]) -> Vec<u8> {
    let time = [&[0x08][..], &varint(seconds.cast_unsigned()), &[0x10], &varint(nanos)].concat();
    let mut entry = [message(1, &time), message(2, line)].concat();
    for (name, value) in metadata {
        let pair = [message(1, name.as_bytes()), message(2, value.as_bytes())].concat();
        entry.extend(message(3, &pair));
    }
    entry
}

/// A field that has a length.
fn message(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[(number << 3) | 2][..], &varint(bytes.len() as u64), bytes].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

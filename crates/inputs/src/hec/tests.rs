//! Bodies as clients send them, and the codes HEC answers broken ones with.

use model::{EventTime, IndexName};

use super::*;
use crate::CutEvents;

#[test]
fn objects_without_separator_become_events_with_their_own_metadata() {
    let events = decode(
        r#"{"event":"a","time":1.5,"host":"h1"}{"event":"b","host":"h2"}
           {"event":"c","host":"h1","sourcetype":"s"} "#,
    )
    .unwrap();
    let origins = events.each_origin().enumerate();
    let seen: Vec<_> =
        origins.map(|(row, meta)| (&*meta.host, events.text(row), events.times[row])).collect();
    assert_eq!(
        seen,
        [("h1", &b"a"[..], Some(EventTime(1_500_000))), ("h2", b"b", None), ("h1", b"c", None)]
    );
}

#[test]
fn an_array_is_a_batch() {
    assert_eq!(decode(r#"[{"event":"a"},{"event":"b"}]"#).unwrap().len(), 2);
}

#[test]
fn escaped_names_and_unknown_members_do_no_harm() {
    let events =
        decode(r#"{"\u0065vent":"a","more":{"x":[1,"}"]},"y":"\"","host":"h\u00f6","source":""}"#)
            .unwrap();
    let origin = events.each_origin().next().unwrap();
    assert_eq!((events.text(0), &*origin.host, &*origin.source), (&b"a"[..], "hö", "http:test"));
}

#[test]
fn values_other_than_strings_keep_the_senders_bytes() {
    let events =
        decode(r#"{"event":{"b": 1.50, "a":[ ]}}{"event":12.0}{"event":"t\u00e4\n\"x\""}"#);
    let events = events.unwrap();
    assert_eq!(events.text(0), br#"{"b": 1.50, "a":[ ]}"#);
    assert_eq!(events.text(1), b"12.0");
    assert_eq!(events.text(2), "tä\n\"x\"".as_bytes());
}

#[test]
fn fields_are_attached_and_lists_are_multivalues() {
    let events = decode(r#"{"event":"a","fields":{"x":1,"y":["p",true],"z":"t"}}"#).unwrap();
    let fields: Vec<_> = events.fields.iter().map(|field| (&*field.name, &*field.value)).collect();
    assert_eq!(fields, [("x", "1"), ("y", "p"), ("y", "true"), ("z", "t")]);
}

#[test]
fn fields_with_the_names_of_columns_are_kept_under_other_names() {
    let events = decode(r#"{"event":"a","fields":{"host":"h","_time":[1,2],"_value":3}}"#).unwrap();
    let fields: Vec<_> = events.fields.iter().map(|field| (&*field.name, &*field.value)).collect();
    let expected = [
        ("extracted_host", "h"),
        ("extracted_time", "1"),
        ("extracted_time", "2"),
        ("_value", "3"),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn the_time_of_the_request_is_that_of_events_without_one() {
    let time = Some(EventTime(7_500_000));
    let defaults = HecDefaults { time, ..defaults() };
    let body = br#"{"event":"a","time":1}{"event":"b"}{"event":"c","time":null}"#;
    let input = decode_events(body, &defaults, &|_| true, stream()).unwrap();
    let Input::Events { events, .. } = input else { panic!("events were sent") };
    assert_eq!(events.times, [Some(EventTime(1_000_000)), time, time]);
    let raw = decode_raw("a".into(), &defaults, stream()).unwrap();
    assert!(matches!(raw, Input::Raw { modified, .. } if modified == time));
}

#[test]
fn broken_requests_get_their_code_and_event_number() {
    let cases: &[(&str, u16, Option<u64>)] = &[
        ("", 5, None),
        (" \n", 5, None),
        ("[]", 5, None),
        ("{\"event\":\"a\"", 6, Some(0)),
        ("{\"event\":\"a\"}{\"event\":", 6, Some(1)),
        ("{\"event\":\"a\"}xyz", 6, Some(1)),
        ("[{\"event\":\"a\"}", 6, Some(1)),
        ("[{\"event\":\"a\"},]", 6, Some(1)),
        ("{\"event\":\"a\",}", 6, Some(0)),
        ("{\"event\":\"a\",\"event\":\"b\"}", 6, Some(0)),
        ("{\"event\":\"a\nb\"}", 6, Some(0)),
        ("[[{\"event\":\"a\"}]]", 6, Some(0)),
        ("\"text\"", 6, Some(0)),
        ("{\"event\":\"a\",\"host\":{}}", 6, Some(0)),
        ("{\"event\":\"a\",\"fields\":[1]}", 6, Some(0)),
        ("{\"event\":\"a\"}{\"event\":\"b\",\"index\":\"nope\"}", 7, Some(2)),
        ("{\"event\":\"a\",\"index\":\"UPPER\"}", 7, Some(1)),
        ("{\"time\":1}", 12, Some(0)),
        ("{\"event\":null}", 12, Some(0)),
        ("{\"event\":\"a\"}{\"event\":\"\"}", 13, Some(1)),
        ("{\"event\":\"a\",\"fields\":{\"x\":{\"y\":1}}}", 15, Some(0)),
        ("{\"event\":\"a\",\"time\":\"soon\"}", 15, Some(0)),
        ("{\"event\":\"a\",\"time\":99999999999999999999}", 15, Some(0)),
    ];
    for (body, code, number) in cases {
        let error = decode(body).expect_err(body);
        assert_eq!((error.code, error.invalid_event_number), (*code, *number), "{body}");
    }
}

#[test]
fn the_value_of_a_metric_is_one_number() {
    let wrong = [
        r#"{"metric_name:cpu":[1,2]}"#,
        r#"{"metric_name:cpu":"abc"}"#,
        r#"{"metric_name:cpu":true}"#,
        r#"{"metric_name:cpu":1,"metric_name:mem":""}"#,
        r#"{"_value":[1,2],"metric_name":"cpu"}"#,
        r#"{"metric_name":"cpu","_value":"high"}"#,
    ];
    let unnamed = [
        r#"{"metric_name:":1}"#,
        r#"{"metric_name":["cpu","mem"],"_value":1}"#,
        r#"{"metric_name":"","_value":1}"#,
    ];
    let wrong = wrong.iter().map(|fields| (fields, "must be one number"));
    let unnamed = unnamed.iter().map(|fields| (fields, "must have one name"));
    for (fields, reason) in wrong.chain(unnamed) {
        let error =
            decode(&format!(r#"{{"event":"metric","fields":{fields}}}"#)).expect_err(fields);
        assert_eq!((error.code, error.invalid_event_number), (15, Some(0)), "{fields}");
        assert!(error.text.ends_with(reason), "{}", error.text);
    }
    let right = [
        r#"{"metric_name:cpu":1.5,"metric_name:mem":"-2e3","region":["eu","us"]}"#,
        r#"{"metric_name:cpu":1,"metric_name:mem":null}"#,
        r#"{"metric_name":"cpu","_value":"7"}"#,
        // Either of the two without the other is an ordinary field.
        r#"{"metric_name":["cpu","mem"]}"#,
        r#"{"_value":"high"}"#,
    ];
    for fields in right {
        let decoded = decode(&format!(r#"{{"event":"metric","fields":{fields}}}"#));
        assert!(decoded.is_ok(), "{fields}");
    }
}

#[test]
fn data_points_that_are_not_finite_are_left_out() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            r#"{"metric_name:cpu":"NaN","metric_name:mem":2,"region":"NaN"}"#,
            &[("metric_name:mem", "2"), ("region", "NaN")],
        ),
        (r#"{"metric_name:a":"+Inf","metric_name:b":"-Inf","metric_name:c":1e999}"#, &[]),
        (r#"{"_value":"NaN","metric_name":"cpu"}"#, &[("metric_name", "cpu")]),
        (r#"{"metric_name":"cpu","_value":"inf"}"#, &[("metric_name", "cpu")]),
        // It is not a data point.
        (r#"{"_value":"inf"}"#, &[("_value", "inf")]),
    ];
    for (fields, kept) in cases {
        let events = decode(&format!(r#"{{"event":"metric","fields":{fields}}}"#)).unwrap();
        let found: Vec<(&str, &str)> =
            events.fields.iter().map(|field| (&*field.name, &*field.value)).collect();
        assert_eq!(found, *kept, "{fields}");
    }
}

#[test]
fn a_body_that_is_not_utf8_is_repaired() {
    let input = decode_events(b"{\"event\":\"a\xffb\"}", &defaults(), &|_| true, stream());
    let Ok(Input::Events { events, .. }) = input else { panic!("events were sent") };
    assert_eq!(events.text(0), b"a\\xFFb");
}

#[test]
fn half_of_a_surrogate_pair_is_replaced() {
    let events = decode(
        r#"{"event":"s \ud800 x","fields":{"a":"\udc00"}}{"event":{"b":"\ud83d"}}{"event":"\ud83d\ude00"}"#,
    );
    let events = events.unwrap();
    assert_eq!(events.text(0), "s \u{fffd} x".as_bytes());
    assert_eq!(&*events.fields[0].value, "\u{fffd}");
    assert_eq!(events.text(1), br#"{"b":"\ufffd"}"#);
    assert_eq!(events.text(2), "😀".as_bytes());
}

#[test]
fn an_event_over_a_limit_is_named_and_nothing_is_taken() {
    let limits =
        EventLimits { event_bytes: 100, fields: 3, field_name_bytes: 5, depth: 4, memory: 2_000 };
    let long = "x".repeat(101);
    let many = r#"{"event":"0123456789"}"#.repeat(60);
    let cases = [
        (format!(r#"{{"event":"a"}}{{"event":"{long}"}}"#), 27, Some(1), "maxEventSize"),
        (format!(r#"{{"event":"a","fields":{{"a":"{long}"}}}}"#), 27, Some(0), "maxEventSize"),
        (r#"{"event":1,"fields":{"a":[1,2,3,4]}}"#.to_owned(), 15, Some(0), "maxEventFields"),
        (r#"{"event":1,"fields":{"abcdef":1}}"#.to_owned(), 15, Some(0), "maxFieldNameSize"),
        (r#"{"event":[[[[[]]]]]}"#.to_owned(), 6, Some(0), "maxEventDepth"),
        (many, 27, None, "2000 bytes"),
    ];
    for (body, code, number, name) in cases {
        let error = decode_within(&body, limits).unwrap_err();
        assert_eq!((error.code, error.invalid_event_number), (code, number), "{body}");
        assert!(error.text.contains(name), "{}", error.text);
    }
    let within = r#"{"event":{"a":[[[]]]},"fields":{"abcde":[1,2,3]}}"#;
    assert_eq!(decode_within(within, limits).unwrap().len(), 1);
}

fn decode(body: &str) -> Result<CutEvents, HecError> {
    decode_within(body, EventLimits::default())
}

fn decode_within(body: &str, limits: EventLimits) -> Result<CutEvents, HecError> {
    let allowed = |index: &IndexName| index.as_str() == "main";
    let defaults = HecDefaults { limits, ..defaults() };
    match decode_events(body.as_bytes(), &defaults, &allowed, stream())? {
        Input::Events { events, .. } => Ok(events),
        Input::Raw { .. } => panic!("events were sent"),
    }
}

#[test]
fn events_that_are_in_the_journal_at_a_stop_are_not_answered_as_refused() {
    let refused = HecError::from(&crate::Error::Closed);
    let kept = HecError::from(&crate::Error::Unacknowledged);
    assert_eq!(refused, HecError::SHUTTING_DOWN);
    assert_eq!((kept.status, kept.code), (503, 23));
    assert!(kept.text.contains("in the journal of this server"), "{}", kept.text);
}

fn defaults() -> HecDefaults {
    HecDefaults {
        index: IndexName::new("main").unwrap(),
        host: "peer".into(),
        source: "http:test".into(),
        sourcetype: None,
        time: None,
        extract_time: false,
        limits: EventLimits::default(),
    }
}

fn stream() -> StreamKey {
    StreamKey("test".into())
}

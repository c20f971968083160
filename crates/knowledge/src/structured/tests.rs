//! Tests of structured sources from their settings to the events.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use conf::{Layer, Layers};
use parking_lot::Mutex;
use proptest::prelude::*;

use super::{RecordScanner, StructuredReader, StructuredRules};
use crate::Knowledge;

/// Returns the rules of some settings, compiled once.
fn rules(settings: &str) -> Arc<StructuredRules> {
    static KNOWN: Mutex<BTreeMap<String, Arc<StructuredRules>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock();
    Arc::clone(known.entry(settings.to_owned()).or_insert_with(|| compiled(settings)))
}

fn compiled(settings: &str) -> Arc<StructuredRules> {
    let text = format!("[a]\n{settings}");
    let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", &text));
    assert!(knowledge.errors().is_empty(), "{:?}", knowledge.errors());
    knowledge.parsing_rules("a", "s", "h").structured.clone().unwrap()
}

/// Returns the events with their fields.
fn read(settings: &str, lines: &[&str]) -> Vec<String> {
    let mut reader = StructuredReader::new(rules(settings));
    let mut out = Vec::new();
    for line in lines {
        if !reader.is_event(line) {
            continue;
        }
        let mut fields = Vec::new();
        reader.fields(line, |name, value| fields.push(format!("{name}={value}")));
        out.push(fields.join(" "));
    }
    out
}

#[test]
fn a_header_names_the_columns_of_what_follows() {
    let csv = "INDEXED_EXTRACTIONS = csv";
    assert_eq!(read(csv, &["a,b c,d.e", "1,2,3", "4,,6"]), ["a=1 b c=2 d_e=3", "a=4 d_e=6"]);
    assert_eq!(
        read(csv, &["a,host,_time", "\"x, \"\"y\"\"\",h,9"]),
        ["a=x, \"y\" extracted_host=h extracted_time=9"]
    );
    assert_eq!(read("INDEXED_EXTRACTIONS = TSV", &["a\tb", "1\t2 3"]), ["a=1 b=2 3"]);
    assert_eq!(read("INDEXED_EXTRACTIONS = psv", &["a|b", "1|2"]), ["a=1 b=2"]);
    assert_eq!(read(csv, &["a,b", "1,2,3", "4", "x\"y\",z"]), ["a=1 b=2", "a=4", "a=x\"y\" b=z"]);
}

#[test]
fn headers_are_found_by_line_number_prefix_or_settings() {
    let lines = ["made by x", "a;b", "1;2"];
    let semicolons = "INDEXED_EXTRACTIONS = csv\nFIELD_DELIMITER = ;\n";
    assert_eq!(read(&format!("{semicolons}HEADER_FIELD_LINE_NUMBER = 2"), &lines), ["a=1 b=2"]);
    assert_eq!(read(&format!("{semicolons}PREAMBLE_REGEX = ^made"), &lines), ["a=1 b=2"]);
    assert_eq!(read(&format!("{semicolons}FIELD_NAMES = x, y"), &lines[2..]), ["x=1 y=2"]);
    let prefixed = format!("{semicolons}FIELD_HEADER_REGEX = ^head:\\s*");
    assert_eq!(read(&prefixed, &["other", "head: a;b", "1;2"]), ["a=1 b=2"]);
    let zeek = "INDEXED_EXTRACTIONS = tsv\nFIELD_HEADER_REGEX = ^#fields\\t\nPREAMBLE_REGEX = ^#";
    let header = ["#separator \\x09", "#fields\tts\tuid", "#types\ttime\tstring"];
    assert_eq!(read(zeek, &[&header[..], &["1\ta", "#close"]].concat()), ["ts=1 uid=a"]);
    // A part of a file that arrives without the header is not lost.
    assert_eq!(read(zeek, &["1\ta", "2\tb"]), ["", ""]);
    let other = "INDEXED_EXTRACTIONS = csv\nHEADER_FIELD_DELIMITER = |\nFIELD_QUOTE = '\n\
                 HEADER_FIELD_QUOTE = none\nHEADER_FIELD_ACCEPTABLE_SPECIAL_CHARACTERS = .\n\
                 MISSING_VALUE_REGEX = ^-$";
    assert_eq!(read(other, &["a.b|c", "'1,2',-"]), ["a.b=1,2"]);
    let blanks = "INDEXED_EXTRACTIONS = csv\nFIELD_DELIMITER = whitespace";
    assert_eq!(read(blanks, &["a   b", " 1 \t 2  "]), ["a=1 b=2"]);
}

#[test]
fn a_first_record_that_names_nothing_is_an_event() {
    let csv = "INDEXED_EXTRACTIONS = csv";
    let first = "2021-01-04 00:22:01.903 UTC,\"postgres\",59";
    assert_eq!(
        read(csv, &[first, "x,y,z"]),
        [
            "column_1=2021-01-04 00:22:01.903 UTC column_2=postgres column_3=59",
            "column_1=x column_2=y column_3=z"
        ]
    );
    for values in ["a,12", "a,-1.5e3", "a,10.0.0.1", "a,$12.50", "a,2024-05-01", "a,b,a", "a,,b"] {
        assert_eq!(read(csv, &[values]).len(), 1, "{values}");
    }
    for names in [",a,b", "a,b,", "1st,2nd", "Name,Order Date", "a"] {
        assert_eq!(read(csv, &[names]).len(), 0, "{names}");
    }
    let line = format!("{csv}\nHEADER_FIELD_LINE_NUMBER = 1");
    assert_eq!(read(&line, &["2019,2020", "1,2"]), ["2019=1 2020=2"]);
    let named = format!("{csv}\nFIELD_NAMES = x, y\nFIELD_HEADER_REGEX = ^(?=version,)");
    assert_eq!(read(&named, &["1,2", "version,3"]), ["x=1 y=2", "x=version y=3"]);
    assert_eq!(read(&named, &["version,b", "1,2"]), ["version=1 b=2"]);
}

#[test]
fn w3c_logs_name_their_fields_in_directives_which_may_come_again() {
    let lines = [
        "#Software: x",
        "#Fields: date time cs(User-Agent) s-ip",
        "2024-01-02 03:04:05 \"a b\" 1.2.3.4",
        "#Fields: date time s-ip",
        "2024-01-02 03:04:06 5.6.7.8",
    ];
    assert_eq!(
        read("INDEXED_EXTRACTIONS = w3c", &lines),
        [
            "date=2024-01-02 time=03:04:05 cs_User_Agent_=a b s_ip=1.2.3.4",
            "date=2024-01-02 time=03:04:06 s_ip=5.6.7.8"
        ]
    );
}

#[test]
fn scalars_of_json_are_fields_by_their_paths() {
    let event = r#"{"a":{"b":1},"c":["x","y"],"host":"h","n":null,"e":""}"#;
    let json = "INDEXED_EXTRACTIONS = json";
    assert_eq!(read(json, &[event]), ["a.b=1 c{}=x c{}=y extracted_host=h n=null"]);
    let trimmed = "INDEXED_EXTRACTIONS = json\nJSON_TRIM_BRACES_IN_ARRAY_NAMES = true";
    assert_eq!(read(trimmed, &[r#"{"c":[{"d":1}]}"#]), ["c.d=1"]);
    assert_eq!(read(json, &["no json"]), [""]);
}

#[test]
fn a_stream_that_goes_on_in_the_middle_keeps_the_header_of_its_source() {
    let rules = rules("INDEXED_EXTRACTIONS = csv\nPREAMBLE_REGEX = ^;");
    let mut reader = StructuredReader::resume(rules, "; note\na,b\n1,2\n");
    assert!(reader.is_event("3,4"));
    let mut fields = Vec::new();
    reader.fields("3,4", |name, value| fields.push(format!("{name}={value}")));
    assert_eq!(fields, ["a=3", "b=4"]);
}

#[test]
fn several_fields_make_the_timestamp() {
    let settings = "INDEXED_EXTRACTIONS = csv\nTIMESTAMP_FIELDS = day, clock";
    let reader = StructuredReader::new(rules(settings));
    let fields = [("clock", "03:04"), ("x", "1"), ("day", "2024-01-02")]
        .map(|(name, value)| (name.into(), value.to_owned()));
    assert_eq!(reader.time_text(&fields).as_deref(), Some("2024-01-02 03:04"));
    assert_eq!(reader.time_text(&fields[1..2]), None);
}

/// Returns the records of a text that arrives in two chunks, for every position of the cut.
fn records(settings: &str, text: &str, limit: usize) -> Vec<String> {
    scanned(&RecordScanner::new(&rules(settings), limit).unwrap(), text)
}

fn scanned(scanner: &RecordScanner, text: &str) -> Vec<String> {
    let mut first = None;
    for cut in 0..=text.len() {
        let mut scanner = scanner.clone();
        let (mut records, mut at, mut start) = (Vec::new(), 0, 0);
        for end in [cut, text.len()] {
            while let Some(found) = scanner.next(&text.as_bytes()[..end], &mut at) {
                if found.line_end > start && !found.is_gap {
                    records.push(text[start..found.line_end].to_owned());
                }
                start = found.next_start;
            }
        }
        if start < text.len() {
            records.push(text[start..].to_owned());
        }
        assert_eq!(*first.get_or_insert_with(|| records.clone()), records, "cut at {cut}");
    }
    first.unwrap()
}

#[test]
fn quoted_line_ends_do_not_end_a_record() {
    let csv = "INDEXED_EXTRACTIONS = csv";
    let text = "a,b\n1,\"x\r\n\r\ny\"\n\n2, \"q \"\"z\"\" \n\"\n3,it\"s\n";
    assert_eq!(
        records(csv, text, 1000),
        ["a,b", "1,\"x\r\n\r\ny\"", "2, \"q \"\"z\"\" \n\"", "3,it\"s"]
    );
}

#[test]
fn a_quote_that_never_closes_costs_one_line_only() {
    let csv = "INDEXED_EXTRACTIONS = csv";
    let text = format!("1,\"open\n{}", "2,b\n".repeat(20));
    let records = records(csv, &text, 40);
    assert_eq!(records.len(), 21, "{records:?}");
    assert_eq!(records[..2], ["1,\"open", "2,b"]);
}

#[test]
fn json_records_end_with_their_brackets() {
    let json = "INDEXED_EXTRACTIONS = json";
    let text = "{\"a\":\n {\"b\":\"}\\\"\"}}{\"c\":1}\n[1] text\n\n{\"d\":2}";
    let expected = ["{\"a\":\n {\"b\":\"}\\\"\"}}", "{\"c\":1}", "[1] text", "{\"d\":2}"];
    assert_eq!(records(json, text, 1000), expected);
    let array = "[\n {\"a\":1},\n {\"a\":[2]}\n]\n{\"b\":1}\n";
    assert_eq!(records(json, array, 1000), ["{\"a\":1}", "{\"a\":[2]}", "{\"b\":1}"]);
    let broken = "{\"a\":\n{\"b\":1}\n{\"c\":2}\n{\"d\":3}\n";
    assert_eq!(records(json, broken, 10)[0], "{\"a\":");
}

#[test]
fn json_logs_are_lines_or_pretty_printed_objects() {
    let objects = |text: &str| scanned(&RecordScanner::objects(60), text);
    let lines = "{\"a\":1}\n{\"a\":{\"b\":\"}\"}} tail\r\n\r\n{\"cut\": {\n{\"b\":2} {\"c\":3}\n  no json\n[1,2]\n\
                 [{\"d\":4}]\n{}";
    let expected = [
        "{\"a\":1}",
        "{\"a\":{\"b\":\"}\"}} tail",
        "{\"cut\": {",
        "{\"b\":2} {\"c\":3}",
        "  no json",
        "[1,2]",
        "[{\"d\":4}]",
        "{}",
    ];
    assert_eq!(objects(lines), expected);
    let pretty = "{\n  \"a\": {\n    \"b\": \"}\"\n  }\n}\n{ \r\n\t\"c\": []\r\n}\r\nline\n";
    let expected = ["{\n  \"a\": {\n    \"b\": \"}\"\n  }\n}", "{ \r\n\t\"c\": []\r\n}", "line"];
    assert_eq!(objects(pretty), expected);
    let array = "[\n  {\n    \"a\": 1\n  },\n  {\"a\": 2},\n{\"a\": 3}\n]\n{\"b\": 4}\n  x\n";
    let expected = ["{\n    \"a\": 1\n  }", "{\"a\": 2}", "{\"a\": 3}", "{\"b\": 4}", "  x"];
    assert_eq!(objects(array), expected);
    // A record that is never closed ends at its first line end once it is longer than the limit.
    let open = format!("{{\n  \"a\": [\n{}", "{\"b\":2}\n".repeat(12));
    assert_eq!(objects(&open)[..3], ["{", "  \"a\": [", "{\"b\":2}"]);
}

proptest! {
    #[test]
    fn records_do_not_depend_on_the_chunks_and_nothing_but_line_ends_is_lost(
        text in "[ab,\"\n ]{0,40}|[a{}\\[\\],:\"\n\\\\ ]{0,40}", limit in 1_usize..20, kind in 0..3
    ) {
        let json = kind > 0;
        let found = match kind {
            0 => records("INDEXED_EXTRACTIONS = csv", &text, limit),
            1 => records("INDEXED_EXTRACTIONS = json", &text, limit),
            _ => scanned(&RecordScanner::objects(limit), &text),
        };
        let found = found.concat();
        let kept = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
        // Brackets and commas around the records of a JSON array are gaps.
        let gaps = |text: String| if json { text.replace(['[', ']', ','], "") } else { text };
        prop_assert_eq!(gaps(kept(&found)), gaps(kept(&text)));
    }

    #[test]
    fn any_record_is_read(lines in proptest::collection::vec("\\PC{0,20}|[a,\" \t]{0,20}", 1..6)) {
        for settings in [
            "INDEXED_EXTRACTIONS = csv",
            "INDEXED_EXTRACTIONS = csv\nFIELD_DELIMITER = whitespace\nFIELD_QUOTE = '",
            "INDEXED_EXTRACTIONS = w3c",
            "INDEXED_EXTRACTIONS = json",
        ] {
            let mut reader = StructuredReader::new(rules(settings));
            for line in &lines {
                if reader.is_event(line) {
                    reader.fields(line, |_, _| {});
                }
            }
        }
    }
}

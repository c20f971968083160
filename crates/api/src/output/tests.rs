//! Tests of every format: several pages give the same text as a single page, and the text is stable.

use std::borrow::Cow;

use search::{Message, MessageKind, Page, Value};
use serde_json::{Value as Json, json};

use super::csv::no_formula;
use super::{OutputMode, Pieces, ResponseMeta, whole};

const MODES: [OutputMode; 7] = [
    OutputMode::Json,
    OutputMode::JsonRows,
    OutputMode::JsonCols,
    OutputMode::Csv,
    OutputMode::SafeCsv,
    OutputMode::Xml,
    OutputMode::Raw,
];

fn one(text: &str) -> Option<Value> {
    Some(Value::One(text.to_owned()))
}

fn many(texts: &[&str]) -> Option<Value> {
    Some(Value::Many(texts.iter().map(|text| (*text).to_owned()).collect()))
}

fn page(fields: &[&str], rows: Vec<Vec<Option<Value>>>) -> Page {
    Page { fields: fields.iter().map(|field| (*field).to_owned()).collect(), rows }
}

fn meta() -> ResponseMeta {
    let text = "5 < 6".to_owned();
    ResponseMeta {
        offset: 40,
        messages: vec![Message { kind: MessageKind::Warning, text }],
        highlight: Some(vec!["w".to_owned()]),
        preview: true,
        post_process: Some(3),
    }
}

/// Events whose field `late` only the last has.
fn events() -> Page {
    page(
        &["_raw", "n", "=tags", "late"],
        vec![
            vec![one("a <b>\tc"), one("1"), many(&["x", "y, \"z\""]), None],
            vec![None, one("=2"), None, None],
            vec![one(""), None, many(&[]), None],
            vec![one("d\n"), one("4"), None, one("now")],
        ],
    )
}

/// The same events as pages that have the fields of their rows only.
fn pages_of_events() -> Vec<Page> {
    let cells = |row: usize, places: &[usize]| {
        places.iter().map(|at| events().rows[row][*at].clone()).collect::<Vec<_>>()
    };
    let first = page(&["_raw", "n", "=tags"], vec![cells(0, &[0, 1, 2]), cells(1, &[0, 1, 2])]);
    let second = page(&["_raw", "=tags"], vec![cells(2, &[0, 2])]);
    let last = page(&["_raw", "late", "n"], vec![cells(3, &[0, 3, 1])]);
    vec![first, page(&["_raw"], Vec::new()), second, last]
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn in_pieces(mode: OutputMode, fields: &[String], pages: Vec<Page>) -> String {
    let pieces = Pieces::new(mode.format(meta(), fields.to_vec()), pages.into_iter());
    text(pieces.collect::<Vec<_>>().concat())
}

#[test]
fn pages_one_after_the_other_give_the_text_of_one() {
    for mode in MODES {
        let all = events().fields;
        for fields in [all.clone(), vec!["late".to_owned(), "n".to_owned()], Vec::new()] {
            let at_once = text(whole(mode.format(meta(), fields.clone()), &events()));
            assert_eq!(in_pieces(mode, &fields, pages_of_events()), at_once, "{mode:?} {fields:?}");
        }
        assert_eq!(text(mode.write(meta(), &events())), in_pieces(mode, &all, vec![events()]));
    }
}

#[test]
fn json_is_what_clients_of_splunk_read() {
    let parsed = |mode: OutputMode| -> Json {
        serde_json::from_slice(&mode.write(meta(), &events())).unwrap()
    };
    let head = json!({
        "preview": true, "init_offset": 40, "messages": [{"type": "WARN", "text": "5 < 6"}],
        "fields": ["_raw", "n", "=tags", "late"],
    });
    let with = |name: &str, rows: Json| {
        let mut answer = head.clone();
        answer[name] = rows;
        answer["post_process_count"] = json!(3);
        answer
    };
    let tags = json!(["x", "y, \"z\""]);
    let rows = json!([
        ["a <b>\tc", "1", tags, null],
        [null, "=2", null, null],
        ["", null, [], null],
        ["d\n", "4", null, "now"],
    ]);
    assert_eq!(parsed(OutputMode::JsonRows), with("rows", rows));
    let columns = json!([
        ["a <b>\tc", null, "", "d\n"],
        ["1", "=2", null, "4"],
        [tags, null, [], null],
        [null, null, null, "now"],
    ]);
    assert_eq!(parsed(OutputMode::JsonCols), with("columns", columns));
    let results = json!([
        {"_raw": "a <b>\tc", "n": "1", "=tags": tags},
        {"n": "=2"},
        {"_raw": "", "=tags": []},
        {"_raw": "d\n", "n": "4", "late": "now"},
    ]);
    let mut objects = with("results", results);
    objects["fields"] =
        json!([{"name": "_raw"}, {"name": "n"}, {"name": "=tags"}, {"name": "late"}]);
    objects["highlighted"] = json!(["w"]);
    assert_eq!(parsed(OutputMode::Json), objects);
    let bare = text(OutputMode::Json.write(ResponseMeta::default(), &Page::default()));
    let head = r#"{"preview":false,"init_offset":0,"messages":[],"fields":[],"#;
    assert_eq!(bare, format!(r#"{head}"results":[],"highlighted":{{}}}}"#));
}

#[test]
fn tables_and_texts_are_what_they_were() {
    let written = |mode: OutputMode| text(mode.write(meta(), &events()));
    assert_eq!(
        written(OutputMode::Csv),
        "_raw,n,=tags,late\na <b>\tc,1,\"x\ny, \"\"z\"\"\",\n,=2,,\n,,,\n\"d\n\",4,,now\n"
    );
    assert_eq!(written(OutputMode::Raw), "a <b>\tc\n\t=2\t\t\n\nd\n\n");
    let xml = written(OutputMode::Xml);
    assert!(
        xml.starts_with("<?xml version='1.0' encoding='UTF-8'?>\n<results preview='1'>\n<meta>\n")
    );
    for part in [
        "<fieldOrder>\n<field>_raw</field>\n<field>n</field>\n<field>=tags</field>\n",
        "<messages>\n<msg type='WARN'>5 &lt; 6</msg>\n</messages>\n<result offset='40'>\n",
        "<field k='_raw'><v xml:space='preserve' trunc='0'>a &lt;b&gt;\tc</v></field>\n",
        "<value><text>x</text></value><value><text>y, &quot;z&quot;</text></value></field>\n",
        "</result>\n<result offset='43'>\n",
    ] {
        assert!(xml.contains(part), "{part} in {xml}");
    }
    assert!(xml.ends_with("</result>\n</results>\n"));
}

#[test]
fn of_columns_with_one_name_an_object_has_the_last_value() {
    let rows = vec![vec![one("1"), one("2")], vec![one("3"), None]];
    let answer = OutputMode::Json.write(ResponseMeta::default(), &page(&["x", "x"], rows.clone()));
    let answer: Json = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["results"], json!([{"x": "2"}, {"x": "3"}]));
    let csv = OutputMode::Csv.write(ResponseMeta::default(), &page(&["x", "x"], rows));
    assert_eq!(text(csv), "x,x\n1,2\n3,\n");
}

#[test]
fn csv_without_fields_is_empty() {
    assert_eq!(text(OutputMode::Csv.write(ResponseMeta::default(), &page(&[], Vec::new()))), "");
    let rows = vec![vec![], vec![]];
    assert_eq!(text(OutputMode::SafeCsv.write(ResponseMeta::default(), &page(&[], rows))), "");
    assert_eq!(
        text(OutputMode::Csv.write(ResponseMeta::default(), &page(&["a"], Vec::new()))),
        "a\n"
    );
}

#[test]
fn cells_that_begin_like_formulas_are_text_on_request() {
    let texts = ["=1+1", "+SUM(A1)", "-2+3", "@x", "\tx", "\rx", "-2.5", "+3e4", "a=b", ""];
    let escaped = texts.map(|text| no_formula(Cow::Borrowed(text)).into_owned());
    let expected =
        ["'=1+1", "'+SUM(A1)", "'-2+3", "'@x", "'\tx", "'\rx", "-2.5", "+3e4", "a=b", ""];
    assert_eq!(escaped, expected);
    let csv = |mode: OutputMode| {
        text(mode.write(ResponseMeta::default(), &page(&["=a"], vec![vec![one("=1+1")]])))
    };
    assert_eq!(csv(OutputMode::SafeCsv), "'=a\n'=1+1\n");
    assert_eq!(csv(OutputMode::Csv), "=a\n=1+1\n");
}

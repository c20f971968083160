//! What the settings of `props.conf` and `transforms.conf` make of events, from the input to the
//! rows.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int32Type;
use catalog::Catalog;
use conf::{Layer, Layers};
use ingest::{Ingest, Parts};
use inputs::{Input, Sink, SinkExt, StreamKey, Utf16};
use knowledge::Knowledge;
use model::{IndexerId, TimeRange};
use runtime::SystemClock;
use testkit::TestDir;

use crate::setup::{Setup, cut, indexes, local, meta, seconds, settings};

/// 2026-01-02 03:04:05, which is not far from any day this runs on.
const DAY: &str = "2026-01-02 03:04:05";

/// An ingest with settings for the sourcetype `st`, and for others as written.
pub(crate) async fn configured(props: &str, transforms: &str) -> (TestDir, Setup) {
    let data = TestDir::new();
    let indexes = "[main]\n[other]\n[off]\ndisabled = true";
    let layers = Layers::builtin()
        .with(Layer::SystemLocal, "props", &format!("[st]\nSHOULD_LINEMERGE = false\n{props}"))
        .with(Layer::SystemLocal, "transforms", transforms)
        .with(Layer::SystemLocal, "indexes", indexes);
    let knowledge = Knowledge::new(layers);
    assert!(knowledge.errors().is_empty(), "{:?}", knowledge.errors());
    let store = local(data.path());
    let clock = Arc::new(SystemClock);
    let catalog_settings = catalog::Settings::default();
    let catalog = Catalog::open(Arc::clone(&store), "catalog", catalog_settings, clock.clone());
    let catalog = Arc::new(catalog.await.unwrap());
    let parts = Parts {
        data: data.path().to_owned(),
        indexer: IndexerId(uuid::Uuid::nil()),
        store: Arc::clone(&store),
        replicas: None,
        catalog: Arc::clone(&catalog),
        knowledge: Arc::new(knowledge),
        clock,
        settings: settings(),
    };
    let ingest = Arc::new(Ingest::start(parts).await.unwrap());
    (data, Setup { ingest, catalog, store })
}

/// All hot events as `index host sourcetype: text {fields}`, without what is as it came.
fn events(setup: &Setup) -> Vec<String> {
    let mut out = Vec::new();
    for index in indexes() {
        for bucket in setup.ingest.hot().snapshot(std::slice::from_ref(&index), &TimeRange::ALL) {
            for batch in &bucket.batches {
                let raw = batch.column(2).as_string_view();
                let fields = batch.column(6).as_string::<i32>();
                let name = |column: usize, row: usize| {
                    let names = batch.column(column).as_dictionary::<Int32Type>();
                    let key = usize::try_from(names.keys().value(row)).unwrap();
                    names.values().as_string::<i32>().value(key).to_owned()
                };
                for row in 0..batch.num_rows() {
                    let described = [
                        (index.to_string(), "main"),
                        (name(3, row), "web01"),
                        (name(4, row), "test"),
                        (name(5, row), "st"),
                    ];
                    let changed = described.iter().filter(|(value, usual)| value != usual);
                    let mut shown: Vec<_> = changed.map(|(value, _)| value.clone()).collect();
                    shown.push(raw.value(row).to_owned());
                    if fields.is_valid(row) {
                        shown.push(fields.value(row).to_owned());
                    }
                    out.push(shown.join(" | "));
                }
            }
        }
    }
    out
}

async fn check(props: &str, transforms: &str, text: &str, expected: &[&str]) {
    let (_data, setup) = configured(props, transforms).await;
    setup.raw("st", text).await;
    assert_eq!(events(&setup), expected);
}

#[tokio::test]
async fn events_for_the_null_queue_are_acknowledged_and_gone() {
    let transforms = "[drop]\nREGEX = DEBUG\nDEST_KEY = queue\nFORMAT = nullQueue";
    let (_data, setup) = configured("TRANSFORMS-a = drop", transforms).await;
    assert_eq!(setup.raw("st", "INFO 1\nDEBUG 2\nINFO 3\n").await, 2);
    assert_eq!(setup.raw("st", "DEBUG 4\n").await, 0);
    assert_eq!(events(&setup), ["INFO 1", "INFO 3"]);
}

#[tokio::test]
async fn events_move_to_another_index_if_there_is_one() {
    let transforms = "[errors]\nREGEX = (ERROR)\nDEST_KEY = _MetaData:Index\nFORMAT = other\n\
        [nowhere]\nREGEX = WARN\nDEST_KEY = _MetaData:Index\nFORMAT = missing\n\
        [off]\nREGEX = OFF\nDEST_KEY = _MetaData:Index\nFORMAT = off";
    check(
        "TRANSFORMS-a = errors, nowhere, off",
        transforms,
        "INFO 1\nERROR 2\nWARN 3\nERROR 4\nOFF 5\n",
        &["INFO 1", "WARN 3", "OFF 5", "other | ERROR 2", "other | ERROR 4"],
    )
    .await;
}

#[tokio::test]
async fn hosts_sources_and_sourcetypes_are_overridden() {
    let transforms = "[host]\nREGEX = from=(\\w+)\nDEST_KEY = MetaData:Host\nFORMAT = host::$1\n\
        [type]\nREGEX = type=(\\w+)\nDEST_KEY = MetaData:Sourcetype\nFORMAT = sourcetype::$1\n\
        [source]\nREGEX = file=(\\S+)\nDEST_KEY = MetaData:Source\nFORMAT = source::$1\n\
        [later]\nREGEX = type=x\nFORMAT = still::st\nWRITE_META = true";
    check(
        "TRANSFORMS-a = host, type, source, later\n[x]\nSEDCMD-never = s/type/no/",
        transforms,
        "a\nb from=db1\nc from=db1 type=x file=/f\n",
        &["a", "db1 | b from=db1", "db1 | /f | x | c from=db1 type=x file=/f | {\"still\":\"st\"}"],
    )
    .await;
}

#[tokio::test]
async fn secrets_are_masked_before_anything_is_kept() {
    let (_data, setup) = configured("SEDCMD-card = s/card=\\d{4}/card=XXXX/g", "").await;
    setup.raw("st", "a card=1234 card=5678\nb\n").await;
    assert_eq!(setup.texts().await, ["a card=XXXX card=XXXX", "b"]);
}

/// Rules for the sourcetype `st`.
fn rules(props: &str) -> Arc<Knowledge> {
    let props = format!("[st]\n{props}");
    Arc::new(Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", &props)))
}

#[tokio::test]
async fn new_rules_hold_for_what_comes_after_them() {
    let (_data, setup) = configured("SEDCMD-a = s/one/two/", "").await;
    let changed = rules("SHOULD_LINEMERGE = false\nLINE_BREAKER = (;)\nSEDCMD-a = s/one/three/");
    setup.raw("st", "one\n").await;
    setup.ingest.submit(cut(&["one"])).await.unwrap();
    setup.ingest.set_rules(&changed).await.unwrap();
    setup.raw("st", "one;four").await;
    let mut texts = setup.texts().await;
    texts.sort();
    assert_eq!(texts, ["four", "one", "three", "two"]);
}

#[tokio::test]
async fn inputs_recognise_sources_by_new_rules() {
    let (_data, setup) = configured("", "").await;
    let recognised = || {
        let sourcetype = setup.ingest.recognise("/var/log/a.special", b"text\n");
        let utf16 = setup.ingest.utf16("/var/log/b", Some("st"), "h");
        (sourcetype.to_string(), utf16)
    };
    let before = recognised();
    assert_ne!(before.0, "special");
    assert_eq!(before.1, None);
    let props = "CHARSET = UTF-16LE\n[source::/var/log/a.special]\nsourcetype = special";
    setup.ingest.set_rules(&rules(props)).await.unwrap();
    assert_eq!(recognised(), ("special".to_owned(), Some(Utf16::Little)));
}

#[tokio::test]
async fn an_open_stream_keeps_its_unfinished_line_when_rules_change() {
    let (_data, setup) = configured("SEDCMD-a = s/one/two/", "").await;
    let part = |text: &str, end| Input::Raw {
        origin: Arc::new(meta(Some("st"))),
        stream: StreamKey("open".into()),
        bytes: bytes::Bytes::copy_from_slice(text.as_bytes()),
        modified: None,
        end,
    };
    let first = setup.ingest.submit(part("one\non", false)).await.unwrap();
    assert_eq!(first.events, 1);
    setup
        .ingest
        .set_rules(&rules("SHOULD_LINEMERGE = false\nSEDCMD-a = s/one/three/"))
        .await
        .unwrap();
    let rest = setup.ingest.submit(part("e\nfour\n", true)).await.unwrap();
    assert_eq!(rest.events, 2);
    assert_eq!(setup.texts().await, ["two", "three", "four"]);
}

#[tokio::test]
async fn an_event_of_several_lines_ends_with_the_last_whole_line_when_rules_change() {
    let props = "[many]\nSHOULD_LINEMERGE = true\nBREAK_ONLY_BEFORE = ^begin\n";
    let (_data, setup) = configured(props, "").await;
    let part = |text: &str, end| Input::Raw {
        origin: Arc::new(meta(Some("many"))),
        stream: StreamKey("open".into()),
        bytes: bytes::Bytes::copy_from_slice(text.as_bytes()),
        modified: None,
        end,
    };
    setup.ingest.submit(part("begin 1\n a\n b", false)).await.unwrap();
    setup.ingest.set_rules(&rules(&format!("A = b\n{props}"))).await.unwrap();
    setup.ingest.submit(part("c\nbegin 2\n", true)).await.unwrap();
    let mut texts = setup.texts().await;
    texts.sort();
    assert_eq!(texts, [" bc", "begin 1\n a", "begin 2"]);
}

#[tokio::test]
async fn events_that_the_sender_cut_go_through_the_rules() {
    let (_data, setup) = configured("[test]\nSEDCMD-a = s/one/two/", "").await;
    setup.ingest.submit(cut(&["one", "three"])).await.unwrap();
    assert_eq!(setup.texts().await, ["two", "three"]);
}

#[tokio::test]
async fn a_clone_goes_through_the_rules_of_its_own_sourcetype() {
    let props = "TRANSFORMS-a = clone\n[masked]\nSEDCMD-m = s/secret=\\w+/secret=#/\n\
                 TRANSFORMS-a = route, back";
    let transforms = "[clone]\nREGEX = (secret)\nDEST_KEY = _meta\nFORMAT = $0 why::$1\nCLONE_SOURCETYPE = masked\n\
        [route]\nREGEX = .\nDEST_KEY = _MetaData:Index\nFORMAT = other\n\
        [back]\nREGEX = .\nDEST_KEY = _meta\nFORMAT = $0 x::y\nCLONE_SOURCETYPE = st";
    check(
        props,
        transforms,
        "plain\nsecret=abc\n",
        &["plain", "secret=abc", "other | masked | secret=# | {\"why\":\"secret\"}"],
    )
    .await;
}

#[tokio::test]
async fn expressions_compute_fields_and_routes() {
    let transforms = "[eval]\nINGEST_EVAL = size=len(_raw), queue=if(match(_raw, \"^#\"), \"nullQueue\", queue), \
        index=if(like(_raw, \"%err%\"), \"other\", index), _raw=replace(_raw, \"\\d+\", \"N\"), size:=size*2";
    check(
        "TRANSFORMS-a = eval",
        transforms,
        "# note\nab 12\nerr\n",
        &["ab N | {\"size\":\"10\"}", "other | err | {\"size\":\"6\"}"],
    )
    .await;
}

#[tokio::test]
async fn a_table_in_many_chunks_has_the_fields_of_its_header() {
    for (format, delimiter) in [("csv", ","), ("tsv", "\t"), ("psv", "|")] {
        let props = format!("INDEXED_EXTRACTIONS = {format}\nTIMESTAMP_FIELDS = when");
        let (_data, setup) = configured(&props, "").await;
        let text = format!("when,a,b\n{DAY},1,\"x\ny\"\n{DAY},2,z\n").replace(',', delimiter);
        in_pieces(&setup, &text, 7).await;
        let raw = |a: &str, b: &str| format!("{DAY},{a},{b}").replace(',', delimiter);
        let fields =
            |a: &str, b: &str| format!("{{\"when\":\"{DAY}\",\"a\":\"{a}\",\"b\":\"{b}\"}}");
        assert_eq!(
            events(&setup),
            [
                format!("{} | {}", raw("1", "\"x\ny\""), fields("1", "x\\ny")),
                format!("{} | {}", raw("2", "z"), fields("2", "z"))
            ],
            "{format}"
        );
        assert_eq!(seconds(setup.rows().await[0].0), 1_767_323_045.0);
    }
}

#[tokio::test]
async fn w3c_logs_and_json_have_fields_whatever_the_chunks() {
    let (_data, setup) = configured("INDEXED_EXTRACTIONS = w3c", "").await;
    in_pieces(&setup, &format!("#Version: 1.0\n#Fields: date time c-ip\n{DAY} ::1\n"), 5).await;
    assert_eq!(
        events(&setup),
        [format!("{DAY} ::1 | {{\"date\":\"2026-01-02\",\"time\":\"03:04:05\",\"c_ip\":\"::1\"}}")]
    );
    let (_data, setup) = configured("INDEXED_EXTRACTIONS = json", "").await;
    in_pieces(&setup, "{\"a\":\n {\"b\": 1}}\n{\"c\":[2,3]} {\"d\":4}", 4).await;
    assert_eq!(
        events(&setup),
        [
            "{\"a\":\n {\"b\": 1}} | {\"a.b\":\"1\"}",
            "{\"c\":[2,3]} | {\"c{}\":[\"2\",\"3\"]}",
            "{\"d\":4} | {\"d\":\"4\"}"
        ]
    );
}

#[tokio::test]
async fn a_file_that_grows_after_a_pause_keeps_its_header() {
    let (data, setup) = configured("INDEXED_EXTRACTIONS = csv", "").await;
    let path = data.path().join("table.csv");
    std::fs::write(&path, "a,b\n1,2\n3,4\n").unwrap();
    let source: Arc<str> = path.to_string_lossy().into();
    let origin = Arc::new(inputs::InputMeta { source, ..meta(Some("st")) });
    for bytes in ["a,b\n1,2\n", "3,4\n"] {
        let stream = StreamKey("monitor:0:1".into());
        let (origin, bytes) = (Arc::clone(&origin), bytes.into());
        let input = Input::Raw { origin, stream, bytes, modified: None, end: true };
        setup.ingest.submit(input).await.unwrap();
    }
    let shown = events(&setup);
    let fields: Vec<_> = shown.iter().map(|event| event.rsplit(" | ").next().unwrap()).collect();
    assert_eq!(fields, ["{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"3\",\"b\":\"4\"}"]);
}

#[tokio::test]
async fn timestamps_that_are_too_old_get_the_time_of_the_event_before() {
    let (_data, setup) = configured("MAX_DAYS_AGO = 3650", "").await;
    setup.raw("st", &format!("{DAY} a\n1999-01-01 00:00:00 b\n")).await;
    let times: Vec<_> = setup.rows().await.iter().map(|row| seconds(row.0)).collect();
    assert_eq!(times, [1_767_323_045.0; 2]);
}

#[tokio::test]
async fn lines_hold_an_event_open_until_another_ends_it() {
    let props = "SHOULD_LINEMERGE = true\nMUST_NOT_BREAK_AFTER = ^begin\nMUST_BREAK_AFTER = ^end\n\
                 BREAK_ONLY_BEFORE = ^\\d";
    check(
        props,
        "",
        "1 a\nb\n2 c\nbegin\n3 d\n4 e\nend\nf\n5 g\n",
        &["1 a\nb", "2 c\nbegin\n3 d\n4 e\nend", "f", "5 g"],
    )
    .await;
}

#[tokio::test]
async fn times_come_from_the_input_or_the_clock_where_the_text_is_not_to_be_read() {
    for (config, expected) in [("NONE", true), ("CURRENT", false)] {
        let (_data, setup) = configured(&format!("DATETIME_CONFIG = {config}"), "").await;
        let modified = Some(model::EventTime(1_767_000_000_000_000));
        let (origin, stream) = (Arc::new(meta(Some("st"))), StreamKey("a".into()));
        let bytes = format!("{DAY} a\n").into();
        let input = Input::Raw { origin, stream, bytes, modified, end: true };
        setup.ingest.submit(input).await.unwrap();
        assert_eq!(setup.rows().await[0].0 == 1_767_000_000_000_000, expected, "{config}");
    }
}

#[tokio::test]
async fn text_in_another_character_set_is_found_out() {
    let (_data, setup) = configured("CHARSET = AUTO", "").await;
    let (origin, stream) = (Arc::new(meta(Some("st"))), StreamKey("a".into()));
    let bytes = b"plain\nGr\xfc\xdfe aus K\xf6ln\n".as_slice().into();
    setup
        .ingest
        .submit(Input::Raw { origin, stream, bytes, modified: None, end: true })
        .await
        .unwrap();
    assert_eq!(setup.texts().await, ["plain", "Grüße aus Köln"]);
}

async fn in_pieces(setup: &Setup, text: &str, size: usize) {
    let origin = Arc::new(meta(Some("st")));
    let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let input = Input::Raw {
            origin: Arc::clone(&origin),
            stream: StreamKey("pieces".into()),
            bytes: bytes::Bytes::copy_from_slice(piece),
            modified: None,
            end: at + 1 == pieces.len(),
        };
        setup.ingest.submit(input).await.unwrap();
    }
}

//! Comparisons of `where` and SQL with constants: the same rows whether stored integers, their bounds and the
//! term index decide, or every value is compared.

use std::sync::Arc;

use bucket::WriteOptions;
use catalog::Commit;
use conf::{Layer, Layers};
use karst_search::{SearchService, Settings};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{ColumnKind, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::sql::request;
use crate::support::{Random, done, hot, log_event, open, put, service};

/// Events of each bucket.
const PART: usize = 1_200;

const NOTATIONS: [&str; 14] = [
    "7",
    "007",
    "7.0",
    "7e0",
    "\" 7\"",
    "-7",
    "x-7",
    "\"\"",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-0",
    "abc",
    "1e3",
];

/// Integers in the first and the third part; other notations, or no value, in the others. In the fourth,
/// `num` is sent along with the event, with one or two values.
fn event(at: usize, random: &mut Random) -> SpecEvent {
    let part = at / PART;
    let value = match part {
        0 | 2 => format!("{}", random.below(400) as i64 - 150),
        _ => NOTATIONS[random.below(14) as usize].to_owned(),
    };
    let mut raw = format!("n={at} val={value} word={}", ["cat", "x-7"][at % 2]);
    let mut fields = Vec::new();
    match (part, random.below(5)) {
        (0 | 2, _) => raw.push_str(&format!(" num={value}")),
        (_, 0) => {}
        (3, 1) => fields.push(("num".to_owned(), vec!["8".to_owned(), "7".to_owned()])),
        (3, _) => fields.push(("num".to_owned(), vec![random.below(9).to_string()])),
        _ => raw.push_str(&format!(" num={value}")),
    }
    let sourcetype = if part == 2 { "old" } else { "new" }.to_owned();
    SpecEvent { raw, fields, sourcetype, ..log_event(at) }
}

/// Four buckets, of which the third was written with other rules, and hot rows.
async fn filled() -> SearchService {
    let seed = 11;
    println!("seed {seed}");
    let mut random = Random(seed);
    let events: Vec<SpecEvent> = (0..PART * 5).map(|at| event(at, &mut random)).collect();
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let rules = Arc::new(Knowledge::builtin());
    // Its column has the first digit only.
    let before = "[old]\nEXTRACT-n = num=(?<num>-?\\d)\n";
    let before = Layers::builtin().with(Layer::SystemLocal, "props", before);
    let before = Arc::new(Knowledge::new(before));
    let options = WriteOptions { granule_rows: 64, row_group_rows: 320, ..WriteOptions::default() };
    let (stored, fresh) = events.split_at(PART * 4);
    let mut add = Vec::new();
    for (at, part) in stored.chunks(PART).enumerate() {
        let knowledge = if at == 2 { &before } else { &rules };
        add.push(put(&store, part, knowledge, &options).await);
    }
    let kind = |at: usize| add[at].summary.field("num").and_then(|field| field.column);
    assert_eq!(kind(0), Some(ColumnKind::Integer));
    assert_ne!(kind(1), Some(ColumnKind::Integer));
    let catalog = open(&store).await;
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let names = vec![IndexName::new("main").unwrap()];
    service(catalog, vec![hot(fresh)], store, &rules, names)
}

async fn rows(service: &SearchService, condition: &str) -> String {
    let job = done(service, &format!("search * | where {condition} | table n, num")).await;
    format!("{:?}", job.page(0, PART * 5).rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn comparisons_of_where_hold_for_the_same_rows_in_both_ways() {
    let service = filled().await;
    let mut conditions: Vec<String> = [
        "host=\"host1\"",
        "host!=\"host1\"",
        "host=\"HOST1\"",
        "word=\"cat\"",
        "word=\"Cat\"",
        "word=\"x-7\" AND num=7",
        "index=\"main\"",
        "index=\"other\"",
        "sourcetype=\"old\"",
        "nowhere=\"cat\"",
        "NOT num=7",
    ]
    .map(str::to_owned)
    .into();
    let constants = [
        "7",
        "0",
        "-7",
        "100",
        "1.5",
        "1000",
        "9007199254740993",
        "1e19",
        "\"7\"",
        "\"007\"",
        "\"abc\"",
        "\"x-7\"",
        "\"\"",
    ];
    for constant in constants {
        for operator in ["=", "!=", "<", "<=", ">", ">="] {
            conditions.push(format!("num{operator}{constant}"));
        }
    }
    for condition in conditions {
        let quick = rows(&service, &condition).await;
        // A condition that also reads the text is evaluated for every event.
        let slow = rows(&service, &format!("({condition}) OR len(_raw)<0")).await;
        assert_eq!(quick, slow, "{condition}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comparisons_of_sql_hold_for_the_same_rows_in_both_ways() {
    let service = filled().await;
    let found = async |condition: &str| {
        let query = format!("SELECT n, val FROM main WHERE {condition} ORDER BY _time LIMIT 9000");
        let result = service.sql(request(&query)).await;
        let result = result.unwrap_or_else(|error| panic!("{query}: {error}"));
        format!("{:?}", result.page().rows)
    };
    for condition in [
        "n = 7",
        "n <> 7",
        "n > 5990",
        "n >= 5990.5",
        "n BETWEEN 1195 AND 1205",
        "n = 9007199254740993",
        "TRY_CAST(val AS BIGINT) = 7",
        "TRY_CAST(val AS BIGINT) > -1",
        "TRY_CAST(val AS BIGINT) = 9007199254740992",
        "TRY_CAST(val AS DOUBLE) = 9007199254740992",
        "TRY_CAST(val AS DOUBLE) < 1.5",
        "TRY_CAST(val AS DOUBLE) <> 7",
        "val = '007'",
        "val = 'abc'",
    ] {
        let slow = found(&format!("({condition}) OR length(_raw) < 0")).await;
        assert_eq!(found(condition).await, slow, "{condition}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comparisons_of_where_read_only_events_that_may_pass() {
    let events: Vec<_> = (0..8_000).map(log_event).collect();
    let (service, _) = crate::support::filled(&events, 4, Settings::default()).await;
    let number = done(&service, "search * | where n>=7900 | table n").await;
    assert_eq!(number.page(0, 1_000).rows.len(), 100);
    assert!(number.counts().granules_pruned_by_bounds > 100, "{:?}", number.counts());
    assert!(number.counts().events_scanned < 1_000, "{:?}", number.counts());
    let text = done(&service, "search * | where user=\"u7\" | table n").await;
    let same = done(&service, "search user=u7 | table n").await;
    assert_eq!(text.page(0, 100).rows, same.page(0, 100).rows);
    assert_eq!(text.page(0, 100).rows.len(), 3);
    assert!(text.counts().events_scanned < 1_000, "{:?}", text.counts());
    // A number may be in other notations, so that it has no word.
    let all = done(&service, "search * | where user=7 | table n").await;
    assert_eq!(all.counts().events_scanned, 8_000);
}

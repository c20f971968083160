//! Aggregations over fields that some buckets store as integers, some as texts, some not at all, and some
//! have not stored yet: the same results as over texts.

use std::sync::Arc;

use bucket::WriteOptions;
use catalog::Commit;
use karst_search::{JobRequest, SearchService, Value};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::IndexName;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::support::{hot, log_event, open, put, service};

const ROWS: usize = 6_000;

fn event(at: usize) -> SpecEvent {
    let mixed = ["1", "007", "1.5", "-3", "x", "9223372036854775807", "9223372036854775808", "-0"];
    let num = match at % 3_000 {
        0..1_000 => (at * 7_919 % 500).to_string(),
        _ => mixed[at % mixed.len()].to_owned(),
    };
    let path = ["/", "/cart", "/a/path/that/is/longer/than/a/view/holds", "42"][at * 31 % 4];
    let rest = if at.is_multiple_of(5) { String::new() } else { format!("rest={}", at % 11) };
    SpecEvent {
        raw: format!("id={at} num={num} path={path} {rest}"),
        sourcetype: "t".to_owned(),
        ..log_event(at)
    }
}

/// Of each thousand events, a bucket; of the last one, a hot bucket.
async fn filled() -> SearchService {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    let options = WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
    let events: Vec<SpecEvent> = (0..ROWS).map(event).collect();
    let mut add = Vec::new();
    let (stored, fresh) = events.split_at(ROWS - 1_000);
    for part in stored.chunks(1_000) {
        add.push(put(&store, part, &knowledge, &options).await);
    }
    let kinds = add.iter().map(|entry| entry.summary.field("num").unwrap().column);
    assert_eq!(kinds.collect::<std::collections::HashSet<_>>().len(), 2);
    let catalog = open(&store).await;
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let names = vec![IndexName::new("main").unwrap()];
    service(catalog, vec![hot(fresh)], store, &knowledge, names)
}

async fn rows(service: &SearchService, search: &str) -> Vec<String> {
    let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
    job.finished().await.unwrap_or_else(|error| panic!("{search}: {error}"));
    let page = job.page(0, 10_000);
    page.rows.iter().map(|row| row.iter().map(rounded).collect::<Vec<_>>().join(" ")).collect()
}

/// A cell without the last digits of a long number: those of a mean depend on which partition ends first.
fn rounded(cell: &Option<Value>) -> String {
    match cell {
        Some(Value::One(text)) if text.len() > 15 => {
            text.parse::<f64>().map_or_else(|_| text.clone(), |number| format!("{number:.12e}"))
        }
        other => format!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregations_do_not_depend_on_how_fields_are_stored() {
    let service = filled().await;
    let searches = [
        "stats dc(num) estdc(num) count(num) values(rest)",
        "stats avg(num) sum(num) min(num) max(num) range(num)",
        "stats median(num) p95(num) exactperc10(num)",
        "stats stdev(num) var(num)",
        "stats dc(num) avg(num) p95(num) by path",
        "stats count by num",
        "stats count sum(rest) by path, host, rest",
        "stats count by missing",
        "stats dc(missing) avg(missing) count",
        "stats avg(eval(num*2)) count(eval(rest>5)) by host",
        "eval double=num+num | stats sum(double) dc(num) by path",
        "timechart span=10m avg(num) count by host",
        "timechart span=10m p90(num)",
        "chart dc(num) over path by rest",
        "top 5 num",
        "rare path by host",
        "stats first(num) last(num) dc(num) by path",
        "eventstats avg(num) as mean by path | stats sum(mean)",
        "where num > 100 | stats count avg(num) by path",
        "search num>100 | stats count avg(num) by path",
        "search rest=* | stats count by rest",
        "stats dc(id) estdc(id)",
        "sort 20 num | table num, path, id",
        "eval low=lower(path) | stats count avg(num) sum(rest) by low, host",
        "eval some=if(num>100,num,null()) | where isnotnull(some) | stats count avg(num) by some",
        "rex \"num=(?<n>\\d+) path=(?<p>\\S+)\" | stats count sum(num) by n, p, host",
        "eval low=lower(path) | top 3 low by host",
        "eval low=lower(path) | timechart span=10m avg(num) by low",
        "eval some=nullif(rest,\"3\") | chart usenull=f sum(num) over path by some",
    ];
    for search in searches {
        let typed = rows(&service, &format!("search * | {search}")).await;
        // Concatenation makes texts of them, whatever they were.
        let texts = "eval num=num.\"\", path=path.\"\", rest=rest.\"\", id=id.\"\", host=host.\"\"";
        let texts = rows(&service, &format!("search * | {texts} | {search}")).await;
        assert_eq!(typed.is_empty(), search.ends_with("by missing"), "{search}");
        assert_eq!(typed, texts, "{search}");
    }
}

/// The rows of a computed group key are chosen after it is computed, over parts and keys of other columns.
#[tokio::test(flavor = "multi_thread")]
async fn groups_by_a_computed_field_are_those_of_the_rows_that_have_it() {
    let service = filled().await;
    let keys = ["nullif(rest,\"3\")", "if(num>100,num,null())", "lower(path)", "rest+num"];
    for key in keys {
        let stats = "stats count sum(num) as sum dc(id) as ids by key, host";
        let by_key = rows(&service, &format!("search * | eval key={key} | {stats}")).await;
        let all = format!("eval key=coalesce({key},\"none\") | {stats} | where key!=\"none\"");
        assert!(!by_key.is_empty(), "{key}");
        assert_eq!(by_key, rows(&service, &format!("search * | {all}")).await, "{key}");
    }
}

/// Numbers of `id` and `num` and `rest` are each other's words: the term index finds granules for all of
/// them, and columns decide.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_is_found_in_its_own_field_only() {
    let service = filled().await;
    let value = |at: usize, name: &str| {
        let raw = event(at).raw;
        let pairs = raw.split(' ').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).next()
    };
    for (field, wanted) in [
        ("num", "7"),
        ("num", "499"),
        ("num", "007"),
        ("num", "x"),
        ("num", "-3"),
        ("rest", "10"),
        ("rest", "3"),
        ("id", "3"),
        ("id", "4711"),
        ("id", "5999"),
        ("path", "42"),
    ] {
        let ids = (0..ROWS).filter(|at| value(*at, field).as_deref() == Some(wanted));
        let (count, sum) = ids.fold((0, 0), |(count, sum), id| (count + 1, sum + id));
        let search = format!(
            "search {field}={wanted} | stats count as n sum(id) as s | where n={count} AND s={sum}"
        );
        assert!(count > 0, "{search}");
        assert_eq!(rows(&service, &search).await.len(), 1, "{search}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn row_groups_are_left_out_by_the_bounds_of_their_numbers() {
    let service = filled().await;
    for (condition, expected) in [
        ("id<100", 100),
        ("id<=100 id>=100", 1),
        ("id=4242.0 OR id>5998", 1),
        ("id>=4990 id<5010", 20),
        ("id>4999.5 id<5001.5", 2),
        ("id<0", 0),
        ("id!=7 id<10", 9),
    ] {
        let search = format!("search {condition}");
        let job = service.dispatch(JobRequest::new(&search, "me")).await.unwrap();
        job.finished().await.unwrap();
        let counts = job.counts();
        assert_eq!(counts.events_matched, expected, "{search}");
        let is_or = condition.contains("OR");
        assert_eq!(counts.granules_pruned_by_bounds > 0, !is_or, "{search}: {counts:?}");
    }
}

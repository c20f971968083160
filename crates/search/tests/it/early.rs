//! Filters over small columns that are tested before other columns are decoded: the same rows as without, and
//! fewer bytes if few rows pass.

use std::sync::Arc;

use bucket::WriteOptions;
use cache::CachedStore;
use catalog::Commit;
use karst_search::{Job, SearchService, Settings};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{ErrorKind, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::sql::request;
use crate::support::{Counted, Random, done, hot, log_event, open, put, service_with};

/// Stores each part of the events as a bucket, with granules of default size, behind a cache of small blocks.
async fn filled(stored: &[&[SpecEvent]], fresh: &[SpecEvent]) -> SearchService {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    let mut add = Vec::new();
    for part in stored {
        add.push(put(&store, part, &knowledge, &WriteOptions::default()).await);
    }
    let catalog = open(&store).await;
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let sizes = cache::Settings {
        dram_bytes: 64 << 20,
        block_bytes: 4 << 10,
        ..cache::Settings::in_memory()
    };
    let objects = Arc::new(Counted(Arc::new(CachedStore::open(store, sizes).await.unwrap())));
    let names = vec![IndexName::new("main").unwrap()];
    let hot = if fresh.is_empty() { Vec::new() } else { vec![hot(fresh)] };
    service_with(catalog, hot, objects, &knowledge, names, Settings::default())
}

fn rows(job: &Job) -> String {
    format!("{:?}", job.page(0, 20_000).rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_the_same_whether_small_columns_are_tested_first_or_not() {
    let seed = 5;
    println!("seed {seed}");
    let mut random = Random(seed);
    // The share of the rows that pass changes within a bucket and between buckets.
    let event = |at: usize| {
        let most = [10, 10_000, 3, 100_000][at / 3_000 % 4];
        let level = random.below(most);
        let word = ["cat", "dog", "emu"][random.below(3) as usize];
        let pad = format!("{:x}", random.below(u64::MAX)).repeat(9);
        SpecEvent { raw: format!("n={at} level={level} word={word} {pad}"), ..log_event(at) }
    };
    let events: Vec<SpecEvent> = (0..23_000).map(event).collect();
    let service = filled(&[&events[..10_000], &events[10_000..20_000]], &events[20_000..]).await;
    let conditions: [&[(&str, &str, &str)]; 7] = [
        &[("level", ">", "9990")],
        &[("level", "<", "2")],
        &[("level", "!=", "1")],
        &[("level", ">=", "0")],
        &[("level", ">", "99000"), ("host", "=", "host1")],
        &[("host", "!=", "host1"), ("word", "=", "emu"), ("level", ">", "9000")],
        &[("word", ">", "dog")],
    ];
    let ends = [
        "table n, level, _raw",
        "head 7 | table n, _raw",
        "reverse | head 7 | table n",
        "eval size=len(_raw) | stats count sum(n) sum(size)",
    ];
    for condition in conditions {
        let early = condition.iter().map(|(field, is, value)| format!("{field}{is}\"{value}\""));
        let early = early.collect::<Vec<_>>().join(" ");
        // A condition that reads the text is not evaluated before it.
        let late = condition.iter().map(|(field, is, value)| {
            let quote = if *field == "level" { "" } else { "\"" };
            format!("case(len(_raw)>0, {field}){is}{quote}{value}{quote}")
        });
        let late = late.collect::<Vec<_>>().join(" AND ");
        for end in ends {
            let tested = done(&service, &format!("search {early} | {end}")).await;
            let read = done(&service, &format!("search * | where {late} | {end}")).await;
            assert_eq!(rows(&tested), rows(&read), "{early} | {end}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_is_read_only_where_rows_pass_if_few_do() {
    let mut random = Random(7);
    let event = |at: usize| {
        let pad: String = (0..40).map(|_| format!("{:x} ", random.below(1 << 30))).collect();
        SpecEvent { raw: format!("level={} {pad}", at % 9_973), ..log_event(at) }
    };
    let events: Vec<SpecEvent> = (0..40_000).map(event).collect();
    let service = filled(&[&events], &[]).await;
    let bytes = async |filter: &str, passing: u64| {
        let search = format!("search {filter} | eval size=len(_raw) | stats sum(size)");
        let job = done(&service, &search).await;
        assert_eq!(job.counts().events_matched, passing, "{filter}");
        assert_eq!(job.counts().events_scanned, 40_000, "{filter}");
        let reads = job.inspect().reads;
        reads.store.bytes + reads.dram.bytes
    };
    let all = bytes("level>=0", 40_000).await;
    let few = bytes("level>9971", 4).await;
    // Without a word or a number that the term index knows.
    let more = bytes("level!=9972", 39_996).await;
    assert!(few * 2 < all, "{few} of {all} bytes");
    assert!(more <= all + all / 2, "{more} and {all} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_not_a_number_is_a_mistake_of_the_query_also_if_it_is_tested_first() {
    let mut random = Random(9);
    let event = |at: usize| {
        let pad = format!("{:08x}", random.below(1 << 30)).repeat(20);
        // So few different texts that they are a column in the bucket with the other text, too.
        let (n, word) = match at {
            7_000 => ("none".to_owned(), "rare"),
            _ => ((at % 900).to_string(), "common"),
        };
        SpecEvent { raw: format!("n={n} word={word} {pad}"), ..log_event(at) }
    };
    let events: Vec<SpecEvent> = (0..30_000).map(event).collect();
    // The newest bucket, which is read first, has numbers only.
    let service = filled(&[&events[..15_000], &events[15_000..]], &[]).await;
    for filter in ["n >= 5", "n >= 898", "word = 'rare' AND n >= 5"] {
        let query = format!("SELECT max(_raw) FROM main WHERE {filter}");
        let error = service.sql(request(&query)).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{filter}: {error}");
        let text = error.to_string();
        assert!(text.contains("none") && text.contains("TRY_CAST"), "{filter}: {text}");
    }
}

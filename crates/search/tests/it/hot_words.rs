//! Word filters of hot rows: answers are those of searches that read all rows, and searches for rare words
//! read few.

use std::sync::Arc;

use bucket::HotBucket;
use conf::{Layer, Layers};
use karst_search::{Job, SearchService, Settings};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::IndexName;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::support::{Random, Uncounted, done, hot, log_event, open, rows, service_with};

const ROWS: usize = 9_000;

/// `code` is a part of a word, `level` an alias, `whole` joins what is apart in the text, `tags` has several
/// values.
const RULES: &str = "
[odd]
EXTRACT-code = code:(?<code>\\d+)x
FIELDALIAS-level = rank AS level
REPORT-whole = whole
REPORT-tags = tags
";
const TRANSFORMS: &str = "
[whole]
REGEX = left:(\\w+) right:(\\w+)
FORMAT = whole::$1-$2
[tags]
REGEX = tag:(\\w+)
FORMAT = tags::$1
MV_ADD = true
";

fn knowledge() -> Arc<Knowledge> {
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", RULES).with(
        Layer::SystemLocal,
        "transforms",
        TRANSFORMS,
    );
    Arc::new(Knowledge::new(layers))
}

/// Mostly the same words everywhere, and some that are rare.
fn event(at: usize, random: &mut Random) -> SpecEvent {
    let mut number = |most: u64| random.below(most);
    let words = ["alpha", "Beta", "GAMMA", "Ärger", "ärger", "größe", "10.1.2.3", "a_b-c"];
    let word = words[number(8) as usize];
    let rare = if number(400) == 0 { format!("Seldom{}", number(9)) } else { String::new() };
    let user = number(3_000);
    let (sourcetype, raw) = match number(4) {
        0 => ("log", format!("n={at} user=u{user} {word} k=v{} k=w{} {rare}", number(9), user % 7)),
        1 => {
            let deep = format!("\"deep\":{{\"side\":\"Y{}\",\"user\":\"x{user}\"}}", number(5));
            ("json", format!("{{\"n\":{at},\"user\":\"u{user}\",{deep},\"t\":\"{word} {rare}\"}}"))
        }
        2 => {
            let pair = format!("left:l{user} right:r{} tag:a{} tag:b{user}", user % 3, number(9));
            ("odd", format!("n={at} code:{user}x {pair} rank={user} {rare}"))
        }
        _ => ("log", format!("n={at} {word},{word}/{user} \"quoted {rare} text\"")),
    };
    let fields = match number(50) {
        0 => vec![("sent".to_owned(), vec![format!("s{user}"), "Twice\\n".to_owned()])],
        _ => Vec::new(),
    };
    let host = if number(1_500) == 0 { "Rare-Host" } else { "web" };
    SpecEvent {
        raw,
        fields,
        host: host.to_owned(),
        sourcetype: sourcetype.to_owned(),
        ..log_event(at)
    }
}

/// A bucket of these events, as the writer joins them: large batches, then small ones.
fn bucket(events: &[SpecEvent]) -> HotBucket {
    let (large, rest) = events.split_at(5_500);
    let (middle, small) = rest.split_at(3_000);
    HotBucket { batches: [large, middle, small].map(rows).to_vec(), ..hot(events) }
}

async fn over(bucket: &HotBucket, hot_word_bytes: usize) -> SearchService {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let names = vec![IndexName::new("main").unwrap()];
    let settings = Settings { hot_word_bytes, ..Settings::default() };
    let (catalog, hot) = (open(&store).await, vec![bucket.clone()]);
    service_with(catalog, hot, Arc::new(Uncounted(store)), &knowledge(), names, settings)
}

/// A condition about values that some events have.
fn condition(random: &mut Random) -> String {
    let user = random.below(3_000);
    let digit = random.below(9);
    let conditions = [
        format!("user=u{user}"),
        format!("user=U{user}"),
        format!("u{user}"),
        format!("{user}"),
        format!("user=u{}*", user / 10),
        format!("user!=u{user}"),
        format!("seldom{digit}"),
        format!("SELDOM{digit}"),
        format!("\"quoted seldom{digit} text\""),
        format!("sel*{digit}"),
        format!("*dom{digit}"),
        format!("\"ärger/{user}\""),
        format!("\"ÄRGER,ärger/{user}\""),
        format!("code={user}"),
        format!("level={user}"),
        format!("whole=l{user}-r{}", user % 3),
        format!("whole=\"L{user}-r*\""),
        format!("k=v{digit} k=w{}", digit % 7),
        format!("deep.user=X{user}"),
        format!("deep.side=y{}", digit % 5),
        format!("tags=B{user}"),
        format!("tags=a{digit} tags=b{user}"),
        format!("sent=s{user}"),
        "sent=twice*".to_owned(),
        "host=rare-host".to_owned(),
        "host=rare*".to_owned(),
        format!("n<{}", user * 3),
        format!("user IN (u{user}, u{}, \"u{}\")", user + 1, user / 2),
        format!("TERM(10.1.2.3) user=u{user}"),
        "größe".to_owned(),
        "absent".to_owned(),
        "user=*".to_owned(),
        "sourcetype=odd".to_owned(),
    ];
    conditions[random.below(conditions.len() as u64) as usize].clone()
}

fn search(random: &mut Random) -> String {
    let (one, two, three) = (condition(random), condition(random), condition(random));
    let filter = match random.below(7) {
        0 | 1 => one,
        2 => format!("{one} {two}"),
        3 => format!("{one} OR {two}"),
        4 => format!("({one} OR {two}) NOT {three}"),
        5 => format!("{one} NOT ({two} {three})"),
        _ => format!("NOT {one} {two}"),
    };
    let user = random.below(3_000);
    let rest = match random.below(8) {
        0 => "stats count by sourcetype, host | sort sourcetype, host".to_owned(),
        1 => "head 7 | table _raw".to_owned(),
        2 => "tail 7 | table _raw".to_owned(),
        3 => format!("where user=\"u{user}\" OR code=\"{user}\" | table _time, _raw"),
        4 => "regex _raw=\"Seldom[1-5]\" | table _raw".to_owned(),
        5 => "timechart span=20m count by sourcetype".to_owned(),
        _ => "table _time, _raw, user, code, level, whole, sent, k, host".to_owned(),
    };
    format!("search index=main {filter} | {rest}")
}

fn answer(job: &Job) -> String {
    format!("{:?}", job.page(0, ROWS).rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_searches_that_read_all_rows() {
    let seed = 20_261_130;
    let mut random = Random(seed);
    let events: Vec<SpecEvent> = (0..ROWS).map(|at| event(at, &mut random)).collect();
    let bucket = bucket(&events);
    let (plain, filtered) = (over(&bucket, 0).await, over(&bucket, 64 << 20).await);
    let mut skipped = 0;
    for round in 0..150 {
        let search = search(&mut random);
        let expected = done(&plain, &search).await;
        // The first search may be the one before filters, the second makes them, and the third uses them.
        for _ in 0..3 {
            let job = done(&filtered, &search).await;
            assert_eq!(answer(&job), answer(&expected), "seed {seed}, round {round}: {search}");
            skipped += expected.counts().events_scanned.saturating_sub(job.counts().events_scanned);
        }
        assert_eq!(expected.counts().granules_considered, 0, "{search}");
    }
    assert!(skipped > 400_000, "{skipped} rows were skipped");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_third_search_for_rare_words_reads_few_rows() {
    let mut random = Random(7);
    let events: Vec<SpecEvent> = (0..ROWS).map(|at| event(at, &mut random)).collect();
    let service = over(&bucket(&events), 64 << 20).await;
    for search in ["n=4711", "n=17 seldom3"] {
        let job = done(&service, &format!("search index=main {search} | table n")).await;
        assert!(job.page(0, 10).rows.len() < 2, "{search}");
    }
    let job = done(&service, "search index=main n=4712 | table n").await;
    assert_eq!(job.page(0, 10).rows.len(), 1);
    let counts = job.counts();
    // The batch of 5,500 rows has 6 granules, that of 3,000 rows 3; the 500 others have no filters.
    assert_eq!(counts.granules_considered, 9, "{counts:?}");
    assert!(counts.granules_read <= 4, "{counts:?}");
    assert!(counts.events_scanned <= 4 * 1_024 + 500, "{counts:?}");
    assert_eq!(counts.events_matched, 1);
    // The words of a bare term are those of the text, whatever made the filters.
    let word = done(&service, "search index=main nowhere | stats count").await.counts();
    assert!(word.events_scanned <= 2 * 1_024 + 500, "{word:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_of_texts_alone_are_not_asked_for_values_beside_names() {
    let mut random = Random(7);
    let mut events: Vec<SpecEvent> = (0..ROWS).map(|at| event(at, &mut random)).collect();
    // The value is a part of a word of the text.
    let raw = "n=100 code:987654x".to_owned();
    events[100] = SpecEvent { raw, sourcetype: "odd".to_owned(), ..log_event(100) };
    let service = over(&bucket(&events), 64 << 20).await;
    for word in ["seldom3", "seldom4"] {
        done(&service, &format!("search index=main {word} | table n")).await;
    }
    let counts = done(&service, "search index=main nowhere | table n").await.counts();
    assert_eq!(counts.granules_considered, 9, "{counts:?}");
    let search = "search index=main code=987654 OR host=elsewhere | table n";
    assert_eq!(done(&service, search).await.page(0, 10).rows.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_for_frequent_words_make_no_filters() {
    let mut random = Random(7);
    let events: Vec<SpecEvent> = (0..ROWS).map(|at| event(at, &mut random)).collect();
    let service = over(&bucket(&events), 64 << 20).await;
    for search in ["alpha", "user=*", "sourcetype=odd", "NOT alpha", "u1*"] {
        for _ in 0..3 {
            let search = format!("search index=main {search} | stats count");
            let counts = done(&service, &search).await.counts();
            assert_eq!(
                (counts.granules_considered, counts.events_scanned),
                (0, ROWS as u64),
                "{search}"
            );
        }
    }
}

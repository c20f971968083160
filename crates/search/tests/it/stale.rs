//! Columns of fields after rules have changed: those of the other source types are still used.

use std::sync::Arc;

use bucket::{FieldExtractor, FieldSource, OriginRules, WriteOptions};
use catalog::Commit;
use conf::{Layer, Layers};
use karst_search::SearchService;
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{BucketEntry, EventTime, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::support::{Fields, done, open, put_with, service};

const ROWS: usize = 3_000;

/// Writes into columns what is not in the texts, so that values tell where they come from.
struct Marked(Fields);
struct MarkedRules(Arc<dyn FieldExtractor>);

impl FieldSource for Marked {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(MarkedRules(self.0.extractor(sourcetype, source, host)))
    }
}

impl FieldExtractor for MarkedRules {
    fn fingerprint(&self) -> u64 {
        self.0.fingerprint()
    }
    fn origin_rules(&self) -> Option<OriginRules> {
        self.0.origin_rules()
    }
    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        self.0.extract(raw, &mut |name, value| match name {
            "user" => emit(name, &format!("column-{value}")),
            _ => emit(name, value),
        })
    }
}

const BEFORE: &str = "[web]\nEXTRACT-u = by (?<user>\\w+)\nEXTRACT-o = only (?<of_web>\\w+)\n\
                      [app]\nEXTRACT-u = by (?<user>\\w+)\n[source::/s/a]\nEXTRACT-n = no (?<n>\\d+)\n";

fn knowledge(props: &str) -> Arc<Knowledge> {
    Arc::new(Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props)))
}

fn event(at: usize) -> SpecEvent {
    SpecEvent {
        index: IndexName::new("main").unwrap(),
        time: EventTime(1_700_000_000_000_000 + at as i64 * 1_000_000),
        index_time: EventTime(1_700_000_000_000_000),
        raw: format!("done by u{} only w{at} no {at}", at % 5),
        host: "h".to_owned(),
        source: if at.is_multiple_of(2) { "/s/a" } else { "/s/b" }.to_owned(),
        sourcetype: if at.is_multiple_of(3) { "app" } else { "web" }.to_owned(),
        fields: Vec::new(),
    }
}

struct Filled {
    store: Arc<dyn ObjectStore>,
    entry: BucketEntry,
}

impl Filled {
    /// A bucket that was written with the first rules.
    async fn new() -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let options =
            WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
        let events: Vec<SpecEvent> = (0..ROWS).map(event).collect();
        let fields = Marked(Fields(knowledge(BEFORE)));
        let entry = put_with(&store, &events, &fields, &options).await;
        Self { store, entry }
    }

    /// A service over it with the rules of today.
    async fn with(&self, props: &str) -> SearchService {
        self.with_knowledge(&knowledge(props)).await
    }

    async fn with_knowledge(&self, knowledge: &Arc<Knowledge>) -> SearchService {
        // Each has a catalog of its own: an entry cannot be added twice.
        let own: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let catalog = open(&own).await;
        let add = vec![self.entry.clone()];
        catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
        let names = vec![IndexName::new("main").unwrap()];
        service(catalog, Vec::new(), Arc::clone(&self.store), knowledge, names)
    }
}

async fn table(service: &SearchService, search: &str) -> String {
    let job = done(service, search).await;
    let rows = job.page(0, 100).rows;
    let row = |row: &Vec<_>| row.iter().map(|value| format!("{value:?}")).collect::<String>();
    rows.iter().map(row).collect::<Vec<_>>().join(" ")
}

/// How many events of both source types have a value of the column, and how many one of the text.
async fn of_columns_and_texts(service: &SearchService) -> [String; 2] {
    let found = async |sourcetype: &str| {
        let search = format!(
            "search sourcetype={sourcetype} | eval from=if(match(user, \"^column-\"), \"column\", \"text\") \
             | stats count by from"
        );
        table(service, &search).await
    };
    [found("web").await, found("app").await]
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_source_types_whose_rules_are_the_same_are_used() {
    let bucket = Filled::new().await;
    let same = of_columns_and_texts(&bucket.with(BEFORE).await).await;
    assert!(
        same.iter().all(|found| found.contains("column") && !found.contains("text")),
        "{same:?}"
    );
    // A rule of one of two source types, and a stanza of a source that no event has.
    let changed = BEFORE.replace("[app]\n", "[app]\nEXTRACT-w = only (?<word>\\w+)\n");
    let other = format!("{changed}[source::/elsewhere]\nEXTRACT-z = (?<z>z)\n");
    for props in [&changed, &other] {
        let service = bucket.with(props).await;
        let [web, app] = of_columns_and_texts(&service).await;
        assert!(web.contains("column") && !web.contains("text"), "{web}");
        assert!(app.contains("text") && !app.contains("column"), "{app}");
        // Rows of both in one batch; a field that only today's rules have; one that has no column.
        let both = "search index=main | stats count(word) AS words count(of_web) AS webs dc(user) AS users";
        let both = table(&service, both).await;
        assert!(both.contains("1000") && both.contains("2000") && both.contains("10"), "{both}");
        // Filters: by the term index, by a column, by an extracted field.
        for (search, expected) in [
            ("user=u1", "200"),
            ("user=column-u1", "400"),
            ("user=u1 OR user=column-u1", "600"),
            ("word=w3", "1"),
            ("of_web=w3", "0"),
            ("of_web=w4", "1"),
            ("n=4", "1"),
            ("n=5", "0"),
            ("user=nobody", "0"),
        ] {
            let count = table(&service, &format!("search {search} | stats count")).await;
            assert_eq!(count, format!("Some(One({expected:?}))"), "{search}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_column_is_used_if_other_rules_of_sources_apply() {
    let bucket = Filled::new().await;
    let changes = [
        format!("{BEFORE}[source::/s/b]\nEXTRACT-z = done (?<z>by)\n"),
        format!("{BEFORE}[host::h]\nKV_MODE = none\n"),
        BEFORE.replace("[source::/s/a]\nEXTRACT-n = no", "[source::/s/a]\nEXTRACT-n = only"),
        BEFORE.replace("[source::/s/a]", "[source::/s/c]"),
    ];
    for props in &changes {
        let found = of_columns_and_texts(&bucket.with(props).await).await;
        let of_texts = |found: &String| found.contains("text") && !found.contains("column");
        assert!(found.iter().all(of_texts), "{props}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_rules_may_give_fields_several_values() {
    let bucket = Filled::new().await;
    let props = BEFORE.replace("[app]\n", "[app]\nREPORT-any = any\n")
        + "REPORT-d = digits\nFIELDALIAS-d = digits AS numbers\nFIELDALIAS-n = numbers AS again\n";
    let transforms = "[digits]\nREGEX = (\\d+)\nFORMAT = digits::$1\nMV_ADD = true\n\
                      [any]\nREGEX = (n)\\S* w?(\\d+)\nFORMAT = of_$1::$2\nMV_ADD = true\n";
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props).with(
        Layer::SystemLocal,
        "transforms",
        transforms,
    );
    let service = bucket.with_knowledge(&Arc::new(Knowledge::new(layers))).await;
    let row = |count: &str, events: &str| format!("Some(One({count:?}))Some(One({events:?}))");
    for field in ["digits", "numbers", "again"] {
        let search = format!(
            "search index=main | eval c=coalesce(mvcount({field}), 0) | stats count by c | sort c"
        );
        let expected = format!("{} {}", row("0", "1500"), row("3", "1500"));
        assert_eq!(table(&service, &search).await, expected, "{field}");
    }
    // The names of a rule of one source type come from its events.
    let search =
        "search index=main | eval c=coalesce(mvcount(of_n), 0) | stats count by c | sort c";
    assert_eq!(table(&service, search).await, format!("{} {}", row("0", "2000"), row("2", "1000")));
}

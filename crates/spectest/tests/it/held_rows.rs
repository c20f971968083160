//! Commands that hold all rows in memory get the fields that they and later commands read, and no others. The
//! results are the same as with all fields. Tested with random events.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use karst_spectest::{Memory, World};
use parking_lot::Mutex;
use plan::{
    OutputColumn, PlanContext, PlanOf, Session, SessionSettings, Subsearches, Watch,
    execute_watched, plan_search,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const WORLDS: u64 = 10;
const EVENTS: usize = 80;

/// Commands that hold all rows, each with the commands after it.
const CHAINS: &[(&str, &str)] = &[
    ("transaction user maxspan=20s", "stats count sum(duration) max(eventcount)"),
    ("transaction user path", "table user path duration"),
    ("transaction user endswith=eval(size>40)", "timechart span=30s avg(duration)"),
    ("transaction user", "stats sum(linecount) by user"),
    ("join user [search * | head 5 | fields user size]", "stats count sum(size) by path user"),
    (
        "join type=left user [search * | stats max(size) as most by user]",
        "eval more=most-size | where more>3 | sort - more n | table n user more",
    ),
    ("append [search * | head 3]", "stats count dc(user) first(n) by path"),
    ("append [search * | head 3]", "dedup user | table user path"),
    ("selfjoin user", "stats count by path"),
    ("kmeans size", "stats count by CLUSTERNUM"),
    ("transaction user mvlist=t mvraw=t", "table user size duration"),
    (
        "join usetime=true earlier=true user [search * | fields user size]",
        "stats count sum(size) by user",
    ),
    (
        "join overwrite=false user [search * | head 5 | fields user size]",
        "stats sum(size) by path user",
    ),
    ("selfjoin user", "bin size span=10 | stats count by size"),
    ("selfjoin user", "eventstats max(size) as most by path | table n path most"),
    ("selfjoin user", "rename path as way | stats count by way user"),
    ("selfjoin user", "fields - path | stats count by user"),
    ("selfjoin user", "head (size>1) | stats count"),
    ("append [search * | head 3]", "chart count over path by user"),
    ("append [search * | head 3]", "rare path"),
    ("append [search * | head 3]", "eval {user}=size | stats sum(ann) sum(bob) by path"),
    ("append [search * | head 3]", "dedup us* pat* | table user path"),
];

/// Commands that read all fields, or replace the fields themselves, each with the commands after it. The same
/// fields are held whether commands after them declare what they read or not.
const CLOSED: &[(&str, &str)] = &[
    ("contingency path user", "table *"),
    ("correlate path user size", "table *"),
    ("associate supcnt=1 improv=0.1 path user", "stats count"),
    ("arules sup=1 conf=0.1 path user", "stats count"),
    ("cofilter user path", "table *"),
    ("join [search * | head 5 | fields user path size]", "stats count sum(size)"),
];

fn events(seed: u64) -> String {
    let mut random = StdRng::seed_from_u64(seed);
    let mut text = "# At random.\nrows\n  n host user path size\n".to_owned();
    for n in 0..EVENTS {
        let mut of = |values: &[&'static str]| values[random.random_range(0..values.len())];
        let (host, user) = (of(&["h1", "h2"]), of(&["ann", "bob", "cid", "-"]));
        let (path, size) = (of(&["/x", "/y", "/z", "-"]), of(&["1", "7", "12", "41", "48"]));
        writeln!(text, "  {n} {host} {user} {path} {size}").expect("text");
    }
    text + "search *\nexpect\n  n\n  1\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn results_do_not_depend_on_the_fields_that_are_held() {
    for seed in 0..WORLDS {
        let world = World::of(&events(seed), &Memory::Whole).await.expect("a world");
        for (holding, rest) in CHAINS.iter().chain(CLOSED) {
            let few = format!("search * | {holding} | {rest}");
            let (few, stages) = run(&few, world.context()).await;
            // It is not declared what `noop` reads, so all fields are held.
            let all = format!("search * | noop | {holding} | noop | {rest}");
            let (all, of_all) = run(&all, world.context()).await;
            assert_eq!(few, all, "seed {seed}: {holding} | {rest}");
            assert!(!few.is_empty(), "{holding} | {rest}");
            let fields = [stages, of_all].map(|stages| stages[0].len());
            let is_closed = CLOSED.contains(&(*holding, *rest));
            assert!(fields[0] < fields[1] || is_closed, "{holding}: {fields:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_nothing_reads_are_not_held() {
    let world = World::of(&events(0), &Memory::Whole).await.expect("a world");
    let cases: &[(&str, &[&str])] = &[
        ("transaction user maxspan=10m | stats count", &["_time", "user"]),
        ("contingency path user", &["_time", "path", "user"]),
        (
            "eval long=path.path | join user [search * | head 1] | stats count by path",
            &["_time", "path", "user"],
        ),
        ("append [search * | head 1] | top user", &["_time", "user"]),
    ];
    for (search, expected) in cases {
        let (_, stages) = run(&format!("search * | {search}"), world.context()).await;
        let mut held = stages[0].clone();
        held.sort_unstable();
        assert_eq!(held, *expected, "{search}");
    }
    let all = [
        // The lines of the text are counted.
        "transaction user | stats sum(linecount)",
        // Words are searched in the text.
        "transaction user startswith=\"ann\" | stats count",
        "append [search * | head 1] | search ann | stats count",
        "append [search * | head 1] | where searchmatch(\"ann\") | stats count",
        "append [search * | head 1]",
    ];
    for search in all {
        let (_, stages) = run(&format!("search * | {search}"), world.context()).await;
        let held = &stages[0];
        assert!(held.iter().any(|name| name == "_raw"), "{search}: {held:?}");
    }
}

/// Runs a search; returns its rows, and the fields of each of its stages.
pub(crate) async fn run(text: &str, context: &PlanContext) -> (String, Vec<Vec<String>>) {
    let settings = SessionSettings { partitions: 1, ..SessionSettings::default() };
    let session = Session::new(&settings, Vec::new()).expect("a session");
    let planned = plan_search(text, context, Subsearches::Run(&session)).await;
    let planned = planned.unwrap_or_else(|error| panic!("{text}: {error}"));
    let stages = Stages::default();
    let mut rows = String::new();
    let mut add = |_: &[OutputColumn], batch: RecordBatch| {
        write!(rows, "{batch:?}").expect("text");
        ControlFlow::Continue(())
    };
    let ended = execute_watched(&planned, &session, Some(&stages), &mut add).await;
    ended.unwrap_or_else(|error| panic!("{text}: {error}"));
    (rows, stages.0.into_inner())
}

/// The fields of each stage.
#[derive(Debug, Default)]
struct Stages(Mutex<Vec<Vec<String>>>);

impl Watch for Stages {
    fn runs(&self, plan: Arc<dyn ExecutionPlan>, _: PlanOf<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = plan.schema();
        let fields = schema.fields().iter().map(|field| field.name().clone());
        self.0.lock().push(fields.collect());
        Ok(plan)
    }
}

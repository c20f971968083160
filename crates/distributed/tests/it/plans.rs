//! A worker plans the searches of users like the search head: in another process, with other events.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::physical_plan::displayable;
use futures::future::BoxFuture;
use karst_distributed::cut;
use plan::{EventSource, Session, SessionSettings, Subsearches, plan_search};
use spectest::{MemorySource, SpecEvent, Topology, World, corpus};

use crate::events::{EVENTS, Share, is_events};

/// Set in the process that plays a worker.
const WORKER: &str = "KARST_TEST_WORKER";

/// A part of the events, with the planning information that the search head has about all of them.
#[derive(Debug)]
struct Part(fn(usize) -> bool);

impl Topology for Part {
    fn name(&self) -> String {
        "a part of the events".to_owned()
    }

    fn load<'a>(
        &'a self,
        events: &'a [SpecEvent],
        knowledge: &'a Arc<knowledge::Knowledge>,
    ) -> BoxFuture<'a, Result<Arc<dyn EventSource>, String>> {
        Box::pin(async move {
            let source = |events: Vec<SpecEvent>| -> Arc<dyn EventSource> {
                Arc::new(MemorySource::new(vec![vec![events]], knowledge))
            };
            let all = source(events.to_vec());
            let own = events.iter().enumerate().filter(|(at, _)| self.0(*at));
            let own = source(own.map(|(_, event)| event.clone()).collect());
            Ok(Arc::new(Share { all, own }) as Arc<dyn EventSource>)
        })
    }
}

fn session() -> Result<Session, plan::Error> {
    let settings = SessionSettings { partitions: 4, batch_rows: 4, ..SessionSettings::default() };
    Session::new(&settings, Vec::new())
}

/// A description of the map parts of a search: how they are combined, their columns and operators.
async fn fingerprint(text: &str, head: &World, world: &World) -> String {
    let session = session().expect("a session");
    let planned = match plan_search(text, head.context(), Subsearches::Run(&session)).await {
        Ok(planned) => planned,
        Err(error) => return format!("error: {error}"),
    };
    // A worker gets the text in which subsearches are replaced by their results.
    let again = plan_search(&planned.normalized, world.context(), Subsearches::Skip).await;
    let again = match again {
        Ok(planned) => planned,
        Err(error) => return format!("error in the text for workers: {error}"),
    };
    let plan = match again.physical_plan(&session).await {
        Ok(plan) => plan,
        Err(error) => return format!("error: {error}"),
    };
    let mut parts = Vec::new();
    let cut = cut(&plan, &is_events, &mut |cut| {
        let operators = displayable(cut.map.as_ref()).indent(false).to_string();
        // The operators below depend on where this process has its events.
        let operators: Vec<&str> =
            operators.lines().take_while(|line| !line.contains(EVENTS)).collect();
        parts.push(format!("{}\n{}\n{}", cut.gather, cut.map.schema(), operators.join("\n")));
        Ok(cut.map)
    });
    match cut {
        Ok(_) => parts.join("\n"),
        Err(error) => format!("error: {error}"),
    }
}

async fn fingerprints(own: fn(usize) -> bool) -> Vec<(String, String)> {
    let directory = Path::new("../spectest/corpus");
    let events = directory.join("world.spec");
    let head = World::read(&events, &Part(|_| true)).await.expect("a world");
    let world = World::read(&events, &Part(own)).await.expect("a world");
    let mut found = Vec::new();
    for search in corpus(directory).expect("the corpus can be read") {
        let place = search.place.clone();
        found.push((place, fingerprint(&search.text, &head, &world).await.replace('\n', "\u{1e}")));
    }
    found
}

/// Run by the test below in a process of its own.
#[tokio::test(flavor = "multi_thread")]
async fn prints_the_plans_of_a_worker() {
    if std::env::var_os(WORKER).is_none() {
        return;
    }
    for (place, plan) in fingerprints(|at| at % 3 == 1).await {
        println!("\u{1f}{place}\u{1f}{plan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_planned_alike_in_two_processes() {
    let program = std::env::current_exe().expect("the program of this test");
    let worker = Command::new(program)
        .args(["--exact", "plans::prints_the_plans_of_a_worker", "--nocapture"])
        .env(WORKER, "1")
        .output()
        .expect("the worker runs");
    let text = String::from_utf8(worker.stdout).expect("text");
    let theirs: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.split_once('\u{1f}')?.1.split_once('\u{1f}')).collect();
    let ours = fingerprints(|_| true).await;
    assert!(ours.len() > 700 && ours.len() == theirs.len(), "{} plans", theirs.len());
    let mut faults = Vec::new();
    let mut parts = 0;
    for ((place, here), (_, there)) in ours.iter().zip(theirs) {
        parts += usize::from(!here.is_empty() && !here.starts_with("error"));
        if here != there {
            let lines = |plan: &str| plan.replace('\u{1e}', "\n  ");
            faults.push(format!("{place}\n  {}\nworker:\n  {}", lines(here), lines(there)));
        }
    }
    println!("{parts} of {} searches have a part for workers", ours.len());
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n\n"));
    assert!(parts > 400, "only {parts} searches have a part for workers");
}

//! Parses, plans and runs every search of the corpus.

use std::path::Path;

use karst_spectest::{Memory, World, corpus};

/// Searches that must fail: a part of the search, and a part of the error.
const REFUSED: &[(&str, &str)] = &[
    ("delete", "buckets are immutable"),
    ("loadjob savedsearch=", "there is no job"),
    ("loadjob 1700000000.1", "there is no job"),
    ("require", "there are no results where the search requires some"),
    // Only the server can run programs.
    ("lookup dnslookup", "the program dnslookup does not exist"),
    ("erex section", "contains one of the examples"),
    ("predict", "needs at least 3 values"),
    ("x11", "has fewer than two periods"),
];

fn is_right(search: &str, error: &str) -> bool {
    REFUSED.iter().any(|(part, said)| search.contains(part) && error.contains(said))
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_of_people_run() {
    let searches = corpus(Path::new("corpus")).expect("the corpus can be read");
    assert!(searches.len() > 700, "only {} searches", searches.len());
    let world = World::read(Path::new("corpus/world.spec"), &Memory::Whole).await.expect("a world");
    let mut failures = Vec::new();
    for search in &searches {
        if let Err(error) = world.run(&search.text).await
            && !is_right(&search.text, &error)
        {
            failures.push(format!("{}\n{error}", search.place));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} searches fail:\n\n{}",
        failures.len(),
        searches.len(),
        failures.join("\n\n")
    );
}

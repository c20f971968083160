//! Every spec file over events in memory, and the place of every command.

use std::path::Path;
use std::sync::Arc;

use karst_spectest::{Memory, Topology, check_places, run_directory};

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_however_events_are_split() {
    let specs = Path::new("specs");
    let topologies: Vec<Arc<dyn Topology>> =
        vec![Arc::new(Memory::Whole), Arc::new(Memory::Pieces(1)), Arc::new(Memory::Pieces(2))];
    let report = run_directory(specs, &topologies).await.expect("spec files are well-formed");
    assert!(report.failures.is_empty(), "\n{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_where_they_say() {
    if let Err(faults) = check_places(Path::new("specs")).await {
        panic!("\n{faults}");
    }
}

//! Runs each decoder with a few thousand inputs, the same in each run.

use karst_fuzzing::run::{Until, throw};
use karst_fuzzing::targets::ALL;

/// Number of inputs for a target; lower for targets that write files, compile all rules or parse a text
/// several times.
fn count(name: &str) -> u64 {
    match name {
        "app" | "bucket" | "pages" => 600,
        "search" => 1_000,
        "conf" => 40,
        _ => 4_000,
    }
}

#[test]
fn no_decoder_panics_over_mutated_bytes() {
    for target in ALL {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has seeds", target.name);
        let report = throw(target, 1, Until::Inputs(count(target.name)));
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
    }
}

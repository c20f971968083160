//! `cargo run -p karst-fuzzing --example decoders -- --seconds 60 [--seed N] [--target NAME]`: runs each
//! decoder in turn with mutated inputs, for the given total time, and fails with a report of the failures.

use std::process::ExitCode;
use std::time::Duration;

use karst_fuzzing::run::{Until, keep_panics_quiet, throw};
use karst_fuzzing::targets::ALL;

fn main() -> ExitCode {
    let (mut seconds, mut seed, mut only) = (60u64, 1u64, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let understood = match name.as_str() {
            "--seconds" => value.parse().map(|value| seconds = value).is_ok(),
            "--seed" => value.parse().map(|value| seed = value).is_ok(),
            "--target" => {
                only = Some(value);
                true
            }
            _ => false,
        };
        if !understood {
            eprintln!("usage: fuzz [--seconds N] [--seed N] [--target NAME]");
            return ExitCode::from(2);
        }
    }
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let targets: Vec<_> = ALL.iter().filter(|target| wanted(target.name)).collect();
    if targets.is_empty() {
        let names: Vec<_> = ALL.iter().map(|target| target.name).collect();
        eprintln!("no such target; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    keep_panics_quiet();
    let each = Duration::from_secs(seconds).div_f64(targets.len() as f64);
    let mut failed = false;
    println!("{:<12} {:>10} {:>12} {:>9}", "target", "inputs", "slowest", "failures");
    for target in targets {
        let report = throw(target, seed, Until::Time(each));
        let (count, slowest) = (report.inputs, format!("{:.1?}", report.slowest));
        println!("{:<12} {count:>10} {slowest:>12} {:>9}", target.name, report.failures.len());
        for failure in &report.failures {
            failed = true;
            println!("  {}\n  input: {}", failure.what, failure.input);
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

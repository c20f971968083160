//! `make simulate`: runs seeds for SIMULATE_SECONDS (60), on all processors, starting at SIMULATE_FIRST
//! (default: the current time), and stops at the first violation. SIMULATE_SEED runs one seed and prints
//! the last SIMULATE_LINES (400) lines of its trace. SIMULATE_MUTANT has a deliberate defect, by its name in
//! `Mutant`, with the faults that reveal it, as in the tests.
#![allow(clippy::disallowed_methods)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use karst_simulation::{Config, Kinds, Mutant, run};
use parking_lot::Mutex;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The deliberate defect that is asked for.
fn mutant() -> Result<Option<Mutant>, String> {
    let Ok(name) = std::env::var("SIMULATE_MUTANT") else { return Ok(None) };
    let found = Mutant::ALL.into_iter().find(|mutant| format!("{mutant:?}") == name);
    found.map(Some).ok_or_else(|| {
        format!("SIMULATE_MUTANT={name} is no deliberate defect; there are {:?}", Mutant::ALL)
    })
}

fn config(seed: u64, mutant: Option<Mutant>) -> Config {
    match mutant {
        Some(mutant) => Config::of(seed, mutant.faults()).with(mutant),
        None => Config::of(seed, Kinds::ALL),
    }
}

fn main() -> ExitCode {
    let mutant = match mutant() {
        Ok(mutant) => mutant,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(seed) = number("SIMULATE_SEED") {
        let mut config = config(seed, mutant);
        if let Some(lines) = number("SIMULATE_LINES") {
            config.lines = usize::try_from(lines).unwrap_or(usize::MAX);
        }
        let report = run(config);
        println!("{report}\nhash {:016x}, {} lines", report.hash, report.lines);
        return if report.violation.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let seconds = number("SIMULATE_SECONDS").unwrap_or(60);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let first = number("SIMULATE_FIRST").unwrap_or(now.map_or(0, |now| now.as_secs()));
    let (next, until) = (AtomicU64::new(first), Instant::now() + Duration::from_secs(seconds));
    let failure = Mutex::new(None);
    let (events, searches) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while Instant::now() < until && failure.lock().is_none() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let report = run(config(seed, mutant));
                    events.fetch_add(report.acknowledged, Ordering::Relaxed);
                    searches.fetch_add(report.searches.0, Ordering::Relaxed);
                    if report.violation.is_some() {
                        failure.lock().get_or_insert(report);
                    }
                }
            });
        }
    });
    let seeds = next.load(Ordering::Relaxed) - first;
    let (events, searches) = (events.load(Ordering::Relaxed), searches.load(Ordering::Relaxed));
    println!(
        "{seeds} seeds from {first} on: {events} events acknowledged, {searches} complete searches"
    );
    match failure.into_inner() {
        Some(report) => {
            println!("{report}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

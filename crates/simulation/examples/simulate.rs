//! `make simulate`: runs seeds for SIMULATE_SECONDS (60), on all processors, starting at SIMULATE_FIRST
//! (default: the current time), and stops at the first violation. SIMULATE_SEED runs one seed and prints
//! the last SIMULATE_LINES (400) lines of its trace.
#![allow(clippy::disallowed_methods)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use karst_simulation::{Config, Kinds, run};
use parking_lot::Mutex;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn main() -> ExitCode {
    if let Some(seed) = number("SIMULATE_SEED") {
        let mut config = Config::of(seed, Kinds::ALL);
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
                    let report = run(Config::of(seed, Kinds::ALL));
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

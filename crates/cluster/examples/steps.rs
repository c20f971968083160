//! Measures one step of the state machines of the leading control plane with 100 processes:
//! `cargo run -p karst-cluster --example steps`.
//!
//! The number of buckets is no input of a step, so the time does not depend on it.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use karst_cluster::{Limits, Owned, Present, Restarts, Searches, Seen, Takeovers, Wave};
use model::IndexerId;
use uuid::Uuid;

const PROCESSES: u128 = 100;
/// Number of hot sets of each indexer.
const SETS: usize = 4;
/// Number of steps; one per second of the simulated time.
const STEPS: u64 = 1_000;
/// Maximum time of one step.
const BAR: Duration = Duration::from_millis(100);

fn main() {
    println!("{PROCESSES} processes, {STEPS} steps");
    print("takeovers, all indexers answer", takeovers(0));
    print("takeovers, half of the indexers are lost", takeovers(PROCESSES / 2));
    print("rolling restart, with its guard", restart());
}

fn print(name: &str, mut taken: Vec<Duration>) {
    taken.sort_unstable();
    let (median, slowest) = (taken[taken.len() / 2], taken[taken.len() - 1]);
    println!("{name:<42} median {median:>9.2?}  slowest {slowest:>9.2?}  bar {BAR:.0?}");
}

fn indexers(numbers: Range<u128>) -> impl Iterator<Item = IndexerId> {
    numbers.map(|number| IndexerId(Uuid::from_u128(number)))
}

/// Returns the times of steps while this many indexers with journals do not answer.
fn takeovers(lost: u128) -> Vec<Duration> {
    let own = |indexer| std::iter::repeat_n(Owned { indexer, owner: indexer }, SETS);
    let seen = Seen {
        registered: indexers(0..PROCESSES).collect(),
        answered: indexers(lost..PROCESSES).collect(),
        unrecovered: indexers(0..lost).collect(),
        sets: indexers(0..PROCESSES).flat_map(own).collect(),
        ..Seen::default()
    };
    let mut takeovers = Takeovers::new(Duration::from_secs(60));
    let step = |second| {
        let began = Instant::now();
        black_box(takeovers.step(Duration::from_secs(second), black_box(&seen)));
        began.elapsed()
    };
    (0..STEPS).map(step).collect()
}

/// Returns the times of steps of rolling restarts, one after the other, ten processes at a time. Each process
/// has run a search since the step before.
fn restart() -> Vec<Duration> {
    let names: Vec<String> = indexers(0..PROCESSES).map(|one| one.to_string()).collect();
    let mut present = Present {
        started: names.iter().map(|name| (name.clone(), "0".to_owned())).collect(),
        answered: names.iter().cloned().collect(),
        searches: names.iter().map(|name| (name.clone(), Searches::default())).collect(),
    };
    let limits = Limits { incomplete: 0, slowdown: 2 };
    let mut restarts = Restarts::new(10, Duration::from_secs(600), limits);
    let mut wave = Wave::new(names.clone(), None);
    let mut taken = Vec::new();
    for second in 0..STEPS {
        let now = Duration::from_secs(second);
        for searches in present.searches.values_mut() {
            searches.times.add(Duration::from_millis(10));
        }
        // Those that were told ten steps ago are back.
        if second % 10 == 9 {
            for name in wave.told.keys() {
                present.started.insert(name.clone(), second.to_string());
            }
        }
        if wave.is_over() {
            wave = Wave::new(names.clone(), None);
        }
        let began = Instant::now();
        restarts.observe(now, &present);
        wave = black_box(restarts.step(now, &wave, &present));
        taken.push(began.elapsed());
        assert_eq!(wave.halted, None);
    }
    taken
}

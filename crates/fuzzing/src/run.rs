//! Runs a target with inputs and measures time and memory.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::mutate::Mutator;
use crate::targets::Target;

/// Maximum time for one input.
pub const MAX_TIME: Duration = Duration::from_secs(2);
/// Attempts with a slow input, because other processes may have delayed the first one.
const TRIES: usize = 3;
/// Maximum memory for a batch of inputs, in addition to that held before.
pub const MAX_MEMORY: usize = 256 << 20;
/// Number of inputs between checks of the memory.
const BATCH: u64 = 64;
/// Number of failures after which a target is stopped.
const MAX_FAILURES: usize = 5;

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// A number of inputs; time is not checked, because other work may share the machine.
    Inputs(u64),
    /// A duration; slow inputs are failures.
    Time(Duration),
}

/// A failure caused by an input.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The target's name.
    pub target: &'static str,
    /// The description of the failure.
    pub what: String,
    /// The input in escaped form.
    pub input: String,
}

/// The result of a run of a target.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Number of inputs.
    pub inputs: u64,
    /// The longest time for an input.
    pub slowest: Duration,
    /// The failures.
    pub failures: Vec<Failure>,
}

thread_local! {
    /// Message and place of the last panic of this thread.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Suppresses the output of panics, which are reported with their input instead.
pub fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with_borrow_mut(|last| *last = panic.to_string());
    }));
}

/// Runs a target with mutated seeds.
pub fn throw(target: &Target, seed: u64, until: Until) -> Report {
    let mut mutator = Mutator::new(seed, (target.seeds)(), target.words);
    let mut report = Report::default();
    let begin = Instant::now();
    let mut before = memory("VmRSS:");
    let goes_on = |report: &Report| match until {
        Until::Inputs(count) => report.inputs < count,
        Until::Time(time) => begin.elapsed() < time,
    };
    while goes_on(&report) && report.failures.len() < MAX_FAILURES {
        let input = mutator.input();
        let failed = one(target, &input, &mut report, matches!(until, Until::Time(_)));
        report.failures.extend(failed);
        report.inputs += 1;
        if report.inputs.is_multiple_of(BATCH) {
            if let (Some(held), Some(peak)) = (before, memory("VmHWM:"))
                && peak.saturating_sub(held) > MAX_MEMORY
                && matches!(until, Until::Time(_))
            {
                let what = format!("one of {BATCH} inputs took {} MiB", (peak - held) >> 20);
                let input = shown(&input);
                report.failures.push(Failure { target: target.name, what, input });
            }
            reset_peak();
            before = memory("VmRSS:");
        }
    }
    report
}

fn one(target: &Target, input: &[u8], report: &mut Report, timed: bool) -> Option<Failure> {
    let once = || {
        let begin = Instant::now();
        let thrown = catch_unwind(AssertUnwindSafe(|| (target.decode)(input)));
        (thrown, begin.elapsed())
    };
    let (mut thrown, mut took) = once();
    for _ in 1..TRIES {
        if !timed || thrown.is_err() || took <= MAX_TIME {
            break;
        }
        let again;
        (thrown, again) = once();
        took = took.min(again);
    }
    report.slowest = report.slowest.max(took);
    let what = if thrown.is_err() {
        PANIC.with_borrow(Clone::clone)
    } else if timed && took > MAX_TIME {
        format!("took {took:?}")
    } else {
        return None;
    };
    Some(Failure { target: target.name, what, input: shown(input) })
}

/// Formats an input so that it can be copied into a test.
fn shown(input: &[u8]) -> String {
    const MOST: usize = 4_000;
    let text = input[..input.len().min(MOST)].escape_ascii().to_string();
    if input.len() > MOST { format!("{text} ... ({} bytes)", input.len()) } else { text }
}

/// The value of a line of `/proc/self/status` in bytes; `None` on other systems than Linux.
fn memory(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kib| kib << 10)
}

/// Resets the peak memory to the current use.
fn reset_peak() {
    // Without a reset, peaks accumulate; the first failure is still reported.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

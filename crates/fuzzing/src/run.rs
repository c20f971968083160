//! Throws inputs at a target and watches what they cost.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::mutate::Mutator;
use crate::targets::Target;

/// Longest time for one input.
pub const MAX_TIME: Duration = Duration::from_secs(2);
/// How often a slow input is tried: other work may have had the processor meanwhile.
const TRIES: usize = 3;
/// Most memory for a batch of inputs, beyond what is held before.
pub const MAX_MEMORY: usize = 256 << 20;
/// Inputs after which memory is looked at.
const BATCH: u64 = 64;
/// Failures of a target after which there is enough to mend.
const MAX_FAILURES: usize = 5;

/// How long to throw.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// So many inputs, where time does not count: other work may share the machine.
    Inputs(u64),
    /// A time; slow inputs are failures.
    Time(Duration),
}

/// What an input did that it must not.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The target's name.
    pub target: &'static str,
    /// What happened.
    pub what: String,
    /// The input, readable.
    pub input: String,
}

/// What throwing at a target showed.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Inputs thrown.
    pub inputs: u64,
    /// The slowest of them.
    pub slowest: Duration,
    /// What went wrong.
    pub failures: Vec<Failure>,
}

thread_local! {
    /// What the last panic of this thread said, and where.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics from being printed with a backtrace; they are told with their input.
pub fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with_borrow_mut(|last| *last = panic.to_string());
    }));
}

/// Throws mutated seeds at a target.
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

/// An input so that it can be put into a test.
fn shown(input: &[u8]) -> String {
    const MOST: usize = 4_000;
    let text = input[..input.len().min(MOST)].escape_ascii().to_string();
    if input.len() > MOST { format!("{text} ... ({} bytes)", input.len()) } else { text }
}

/// A line of `/proc/self/status` in bytes; `None` elsewhere than on Linux.
fn memory(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kib| kib << 10)
}

/// Makes the peak of memory that of now.
fn reset_peak() {
    // Where it cannot be reset, peaks add up and the first failure tells.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

//! Any sequence of writing, rotating, packing, stopping and crashing, against a list of what was
//! written.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use inputs::monitor::Monitor;
use proptest::prelude::*;

use crate::monitor::Setup;

const LOGS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    /// Whole lines, of that length.
    Append(usize, usize, usize),
    /// The beginning of a line; the rest comes with the next lines.
    Begin(usize),
    Rotate(usize),
    CopyTruncate(usize),
    /// Packs the oldest file that is not packed.
    Pack(usize),
    /// Deletes the oldest file, once it was looked at.
    Delete(usize),
    Look,
    Restart,
    /// Forgets the checkpoints of the last look.
    Crash,
}

fn step(partial: bool) -> impl Strategy<Value = Step> {
    let log = 0..LOGS;
    let begin = log.clone().prop_map(move |log| match partial {
        true => Step::Begin(log),
        false => Step::Pack(log),
    });
    prop_oneof![
        6 => (log.clone(), 1_usize..6, 5_usize..200).prop_map(|(a, b, c)| Step::Append(a, b, c)),
        2 => begin,
        2 => log.clone().prop_map(Step::Rotate),
        2 => log.clone().prop_map(Step::CopyTruncate),
        1 => log.prop_map(Step::Delete),
        4 => Just(Step::Look),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
    ]
}

struct World {
    setup: Setup,
    monitor: Option<Monitor>,
    /// Files of each log, the current one first.
    files: Vec<Vec<String>>,
    /// The begun line of each log.
    begun: Vec<String>,
    written: Vec<String>,
    next: usize,
    crashed: bool,
}

impl World {
    fn new(partial: bool) -> Self {
        let idle = if partial { Duration::from_secs(3600) } else { Duration::ZERO };
        let setup = Setup::new(idle);
        let monitor = Some(setup.directory());
        let files = vec![Vec::new(); LOGS];
        let begun = vec![String::new(); LOGS];
        Self { setup, monitor, files, begun, written: Vec::new(), next: 0, crashed: false }
    }

    fn current(&mut self, log: usize) -> String {
        let name = format!("app{log}.log");
        if self.files[log].first() != Some(&name) {
            self.files[log].insert(0, name.clone());
        }
        name
    }

    fn finish_line(&mut self, log: usize) {
        if !self.begun[log].is_empty() {
            let line = std::mem::take(&mut self.begun[log]);
            let name = self.current(log);
            self.setup.append(&name, "!\n");
            self.written.push(line + "!");
        }
    }

    /// Moves everything that is behind the current file one number up.
    fn shift(&mut self, log: usize) {
        let current = format!("app{log}.log");
        let mut shifted = Vec::new();
        for name in self.files[log].clone().iter().rev().filter(|name| **name != current) {
            let (number, ending) = match name.strip_suffix(".gz") {
                Some(plain) => (plain, ".gz"),
                None => (name.as_str(), ""),
            };
            let number: usize = number.rsplit('.').next().unwrap().parse().unwrap();
            let to = format!("{current}.{}{ending}", number + 1);
            self.setup.rename(name, &to);
            shifted.insert(0, to);
        }
        self.files[log] = shifted;
    }

    async fn look(&mut self) {
        let Some(monitor) = &mut self.monitor else { return };
        for _ in 0..3 {
            self.setup.poll(monitor).await;
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Append(log, lines, length) => {
                self.finish_line(log);
                let name = self.current(log);
                for _ in 0..lines {
                    self.next += 1;
                    let line = format!("{log}-{:06}-{}", self.next, "x".repeat(length));
                    self.setup.append(&name, &format!("{line}\n"));
                    self.written.push(line);
                }
            }
            Step::Begin(log) if self.begun[log].is_empty() => {
                let name = self.current(log);
                self.next += 1;
                self.begun[log] = format!("{log}-{:06}-begun", self.next);
                self.setup.append(&name, &self.begun[log].clone());
            }
            Step::Begin(_) => {}
            Step::Rotate(log) => self.rotate(log, false),
            Step::CopyTruncate(log) => self.rotate(log, true),
            Step::Pack(log) => {
                let plain = |name: &&mut String| name.contains(".log.") && !name.ends_with(".gz");
                if let Some(name) = self.files[log].iter_mut().rev().find(plain) {
                    self.setup.gzip(name);
                    name.push_str(".gz");
                }
            }
            Step::Delete(log) => {
                self.look().await;
                if self.files[log].len() > 1
                    && let Some(name) = self.files[log].pop()
                {
                    fs::remove_file(self.setup.logs.path().join(name)).unwrap();
                }
            }
            Step::Look => self.look().await,
            Step::Restart => {
                self.look().await;
                self.monitor = Some(self.setup.directory());
            }
            Step::Crash => {
                let checkpoints = self.setup.state.path().join("monitor");
                let before = fs::read(&checkpoints).unwrap();
                self.look().await;
                self.monitor = None;
                fs::write(&checkpoints, before).unwrap();
                self.monitor = Some(self.setup.directory());
                self.crashed = true;
            }
        }
    }

    fn rotate(&mut self, log: usize, copy: bool) {
        self.finish_line(log);
        let current = format!("app{log}.log");
        if self.files[log].first() != Some(&current) {
            return;
        }
        self.shift(log);
        let first = format!("{current}.1");
        if copy {
            let path = |name: &str| self.setup.logs.path().join(name);
            fs::copy(path(&current), path(&first)).unwrap();
            fs::write(path(&current), "").unwrap();
            self.files[log].insert(0, first);
            self.files[log].insert(0, current);
        } else {
            self.setup.rename(&current, &first);
            self.files[log].insert(0, first);
        }
    }
}

fn counts(lines: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line.as_str()).or_default() += 1;
    }
    counts
}

async fn check(steps: Vec<Step>, partial: bool) {
    let mut world = World::new(partial);
    for step in &steps {
        world.take(step.clone()).await;
    }
    for log in 0..LOGS {
        world.finish_line(log);
    }
    world.look().await;
    let taken = world.setup.recorder.lines();
    let (taken, written) = (counts(&taken), counts(&world.written));
    if world.crashed {
        let taken: Vec<_> = taken.keys().collect();
        assert_eq!(taken, written.keys().collect::<Vec<_>>(), "{steps:?}");
    } else {
        assert_eq!(taken, written, "{steps:?}");
    }
}

fn run(steps: Vec<Step>, partial: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(check(steps, partial));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn lines_arrive_once_through_rotation_and_packing(
        steps in proptest::collection::vec(step(false), 1..40)
    ) {
        run(steps, false);
    }

    #[test]
    fn lines_arrive_whole_through_rotation_and_truncation(
        steps in proptest::collection::vec(step(true), 1..40)
    ) {
        run(steps, true);
    }
}

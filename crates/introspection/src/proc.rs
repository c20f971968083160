//! Metrics of the machine and of this process from Linux's `/proc`. Missing values are omitted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Clock ticks per second in `/proc`: a constant of Linux's interface to programs.
const TICKS: f64 = 100.0;

/// `/proc`, or its replacement in tests.
#[derive(Debug, Clone)]
pub struct Proc(PathBuf);

impl Default for Proc {
    fn default() -> Self {
        Self(PathBuf::from("/proc"))
    }
}

/// Time of all processors since the machine was started, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cpu {
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) idle: f64,
    pub(crate) iowait: f64,
}

impl Cpu {
    pub(crate) fn all(&self) -> f64 {
        self.user + self.system + self.idle + self.iowait
    }
}

/// The machine at one time; counters are since its start.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Machine {
    pub(crate) cpu: Cpu,
    pub(crate) cpus: usize,
    pub(crate) forks: u64,
    pub(crate) runnable: u64,
    /// The average over one minute.
    pub(crate) load: f64,
    /// Bytes.
    pub(crate) memory: u64,
    pub(crate) memory_used: u64,
    pub(crate) swap: u64,
    pub(crate) swap_used: u64,
    /// Kilobytes written from memory to disks, and pages swapped out.
    pub(crate) paged_out: u64,
    pub(crate) swapped_out: u64,
}

/// This process at one time; counters are since its start.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Process {
    pub(crate) pid: u64,
    pub(crate) parent: u64,
    pub(crate) threads: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) memory: u64,
    pub(crate) page_faults: u64,
    pub(crate) files: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    /// Seconds since its start.
    pub(crate) elapsed: f64,
}

/// A file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) point: String,
    pub(crate) kind: String,
}

impl Proc {
    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.0.join(path)).ok()
    }

    /// The load average over one minute.
    pub(crate) fn load(&self) -> Option<f64> {
        self.read("loadavg")?.split_whitespace().next()?.parse().ok()
    }

    pub(crate) fn machine(&self) -> Option<Machine> {
        let stat = self.read("stat")?;
        let value = |name: &str| {
            let line = stat.lines().find(|line| line.split(' ').next() == Some(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let ticks: Vec<f64> = stat
            .lines()
            .find(|line| line.starts_with("cpu "))?
            .split_whitespace()
            .skip(1)
            .filter_map(|number| number.parse().ok())
            .collect();
        let at = |place: usize| ticks.get(place).copied().unwrap_or(0.0);
        // user nice system idle iowait irq softirq steal
        let cpu = Cpu {
            user: at(0) + at(1),
            system: at(2) + at(5) + at(6) + at(7),
            idle: at(3),
            iowait: at(4),
        };
        let numbered = |line: &&str| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let memory = values(&self.read("meminfo").unwrap_or_default(), ':');
        let bytes = |name: &str| memory.get(name).copied().unwrap_or(0) << 10;
        let pages = values(&self.read("vmstat").unwrap_or_default(), ' ');
        let total = bytes("MemTotal");
        Some(Machine {
            cpu,
            cpus: stat.lines().filter(numbered).count().max(1),
            forks: value("processes").unwrap_or(0),
            runnable: value("procs_running").unwrap_or(0),
            load: self.load().unwrap_or(0.0),
            memory: total,
            memory_used: total.saturating_sub(bytes("MemAvailable")),
            swap: bytes("SwapTotal"),
            swap_used: bytes("SwapTotal").saturating_sub(bytes("SwapFree")),
            paged_out: pages.get("pgpgout").copied().unwrap_or(0),
            swapped_out: pages.get("pswpout").copied().unwrap_or(0),
        })
    }

    pub(crate) fn process(&self) -> Option<Process> {
        let stat = self.read("self/stat")?;
        let pid = stat.split(' ').next()?.parse().ok()?;
        // The name of the program, in parentheses, may contain blanks.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |at: usize| fields.get(at - 3).and_then(|text| text.parse::<f64>().ok());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let count = |at: usize| field(at).map_or(0, |value| value as u64);
        let status = values(&self.read("self/status").unwrap_or_default(), ':');
        let io = values(&self.read("self/io").unwrap_or_default(), ':');
        let of = |from: &BTreeMap<String, u64>, name: &str| from.get(name).copied().unwrap_or(0);
        let uptime = self.read("uptime").unwrap_or_default();
        let uptime = uptime.split(' ').next().and_then(|text| text.parse::<f64>().ok());
        let started = field(22).unwrap_or(0.0) / TICKS;
        let files = fs::read_dir(self.0.join("self/fd")).map_or(0, Iterator::count);
        Some(Process {
            pid,
            parent: count(4),
            threads: count(20),
            cpu_seconds: (field(14).unwrap_or(0.0) + field(15).unwrap_or(0.0)) / TICKS,
            memory: of(&status, "VmRSS") << 10,
            page_faults: count(12),
            files: files as u64,
            read_bytes: of(&io, "read_bytes"),
            written_bytes: of(&io, "write_bytes"),
            elapsed: uptime.map_or(0.0, |uptime| (uptime - started).max(0.0)),
        })
    }

    /// CPU seconds of the threads with each name.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn threads(&self) -> BTreeMap<String, f64> {
        let mut seconds = BTreeMap::new();
        let Ok(tasks) = fs::read_dir(self.0.join("self/task")) else { return seconds };
        for task in tasks.flatten() {
            let read = |file: &str| fs::read_to_string(task.path().join(file)).ok();
            let worked = read("schedstat")
                .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
                .map(|nanos| nanos as f64 / 1e9);
            if let (Some(name), Some(worked)) = (read("comm"), worked) {
                *seconds.entry(name.trim().to_owned()).or_default() += worked;
            }
        }
        seconds
    }

    /// The file system of a directory.
    pub(crate) fn mount(&self, directory: &Path) -> Option<Mount> {
        let mounts = self.read("self/mountinfo")?;
        let parsed = mounts.lines().filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = left.split(' ').nth(4)?.replace("\\040", " ");
            Some(Mount { point, kind: right.split(' ').next()?.to_owned() })
        });
        let above = parsed.filter(|mount| directory.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.len())
    }
}

/// Parses lines of a name, a separator and a number.
fn values(text: &str, separator: char) -> BTreeMap<String, u64> {
    let value = |line: &str| {
        let (name, rest) = line.split_once(separator)?;
        Some((name.to_owned(), rest.split_whitespace().next()?.parse().ok()?))
    };
    text.lines().filter_map(value).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    /// A `/proc` with these files.
    pub(crate) fn proc(files: &[(&str, &str)]) -> (tempfile::TempDir, Proc) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let proc = Proc(dir.path().to_owned());
        (dir, proc)
    }

    #[test]
    fn the_machine_is_read() {
        let (_dir, proc) = proc(&[
            (
                "stat",
                "cpu  10 5 3 80 2 1 1 0 0 0\ncpu0 1 1\ncpu1 1 1\nprocesses 77\nprocs_running 3\n",
            ),
            (
                "meminfo",
                "MemTotal:  2048 kB\nMemAvailable: 1024 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
            ),
            ("vmstat", "pgpgout 9\npswpout 1\n"),
            ("loadavg", "0.50 0.4 0.3 1/2 3\n"),
        ]);
        let machine = proc.machine().unwrap();
        let cpu = Cpu { user: 15.0, system: 5.0, idle: 80.0, iowait: 2.0 };
        assert_eq!((machine.cpu, machine.cpus, machine.forks, machine.runnable), (cpu, 2, 77, 3));
        assert_eq!((machine.memory, machine.memory_used), (2 << 20, 1 << 20));
        assert_eq!((machine.paged_out, machine.swapped_out, machine.load), (9, 1, 0.5));
    }

    #[test]
    fn the_process_its_threads_and_its_disk_are_read() {
        let stat = "42 (a (b) c) S 7 0 0 0 0 0 0 0 11 0 150 50 0 0 0 0 5 0 1000 0 0";
        let (_dir, proc) = proc(&[
            ("self/stat", stat),
            ("self/status", "VmRSS:\t  100 kB\n"),
            ("self/io", "read_bytes: 5\nwrite_bytes: 6\n"),
            ("uptime", "20.00 5.00\n"),
            ("self/fd/0", ""),
            ("self/task/1/comm", "parsing-0\n"),
            ("self/task/1/schedstat", "1500000000 1 2\n"),
            (
                "self/mountinfo",
                "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /data rw - xfs /dev/b rw\n",
            ),
        ]);
        let process = proc.process().unwrap();
        assert_eq!((process.pid, process.parent, process.threads, process.files), (42, 7, 5, 1));
        assert_eq!((process.cpu_seconds, process.elapsed, process.memory), (2.0, 10.0, 100 << 10));
        assert_eq!((process.page_faults, process.read_bytes, process.written_bytes), (11, 5, 6));
        assert_eq!(proc.threads(), BTreeMap::from([("parsing-0".to_owned(), 1.5)]));
        let mount = proc.mount(Path::new("/data/karst")).unwrap();
        assert_eq!((mount.point.as_str(), mount.kind.as_str()), ("/data", "xfs"));
    }

    #[test]
    fn this_machine_is_read_or_nothing_is() {
        let proc = Proc::default();
        if let Some(machine) = proc.machine() {
            assert!(machine.cpu.all() > 0.0 && machine.memory > 0, "{machine:?}");
            assert!(proc.process().unwrap().memory > 0);
        }
    }
}

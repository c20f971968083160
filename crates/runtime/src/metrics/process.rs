//! The `process_*` metrics that every Prometheus client library provides.

use std::fmt::{Display, Write};
use std::fs;

/// Clock ticks per second in `/proc`: fixed in the Linux user-space interface, independent of the kernel's
/// own tick rate.
const TICKS: f64 = 100.0;

/// Appends the metrics of this process; values that the system does not report are left out.
pub(super) fn append(text: &mut String) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain blanks.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let field = |at: usize| fields.get(at - 3).and_then(|value| value.parse::<f64>().ok());
    let cpu = field(14).zip(field(15)).map(|(user, system)| (user + system) / TICKS);
    put(text, "process_cpu_seconds_total", "counter", "User and system CPU time.", cpu);
    let started = boot().zip(field(22)).map(|(boot, ticks)| boot + ticks / TICKS);
    put(
        text,
        "process_start_time_seconds",
        "gauge",
        "Start time of the process, epoch seconds.",
        started,
    );
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kb = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
        Some(kb << 10)
    };
    put(text, "process_resident_memory_bytes", "gauge", "Memory in use.", bytes("VmRSS:"));
    put(text, "process_virtual_memory_bytes", "gauge", "Address space in use.", bytes("VmSize:"));
    put(text, "process_threads", "gauge", "Threads.", field(20));
    let open = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
    put(text, "process_open_fds", "gauge", "Open file descriptors.", open);
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let limit = limit.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    put(text, "process_max_fds", "gauge", "Maximum number of open file descriptors.", limit);
}

/// Returns the boot time of the system in epoch seconds.
fn boot() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn put(text: &mut String, name: &str, kind: &str, help: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_has_memory_files_and_a_start() {
        let mut text = String::new();
        append(&mut text);
        let value = |name: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
            line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok()).unwrap_or(-1.0)
        };
        assert!(value("process_resident_memory_bytes") > 1e5, "{text}");
        assert!(value("process_open_fds") >= 3.0, "{text}");
        assert!(value("process_start_time_seconds") > 1.6e9, "{text}");
        assert!(value("process_cpu_seconds_total") >= 0.0, "{text}");
        assert!(value("process_max_fds") > 0.0, "{text}");
    }
}

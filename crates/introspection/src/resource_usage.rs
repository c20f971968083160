//! resource_usage.log: the machine, this process, its running searches.

use model::EventTime;
use serde_json::{Map, Number, Value, json};

use crate::line::{mb, written};
use crate::proc::{Machine, Process};
use crate::{Log, OwnEvent, Proc};

/// Maximum number of running searches with an event of their own.
const MAX_SEARCHES: usize = 100;

/// A running search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunningSearch {
    /// Its ID.
    pub sid: String,
    /// Its user.
    pub user: String,
    /// The app in which it was started.
    pub app: String,
    /// Its display name, or an empty text.
    pub label: String,
    /// Seconds since its start.
    pub elapsed: f64,
    /// Bytes of memory reserved for sorting and grouping.
    pub memory: u64,
}

/// Writes the log. Percentages and rates are averages since the previous events.
#[derive(Debug, Default)]
pub struct ResourceUsage {
    proc: Proc,
    before: Option<(EventTime, Machine, Process)>,
}

impl ResourceUsage {
    /// A log without previous values.
    #[must_use]
    pub fn new(proc: Proc) -> Self {
        Self { proc, before: None }
    }

    /// The current events. `searches` are sorted by age, oldest first.
    pub fn events(&mut self, time: EventTime, searches: &[RunningSearch]) -> Vec<OwnEvent> {
        let (Some(machine), Some(process)) = (self.proc.machine(), self.proc.process()) else {
            return Vec::new();
        };
        // The first values are averages since the start of the machine and the process.
        let since = (EventTime(i64::MIN), Machine::default(), Process::default());
        let (at, machine_before, process_before) = self.before.as_ref().unwrap_or(&since);
        let seconds = time.seconds() - at.seconds();
        let is_first = self.before.is_none();
        let elapsed = if is_first { process.elapsed } else { seconds }.max(0.001);
        let mut events =
            vec![event(time, "Hostwide", hostwide(&machine, machine_before, seconds, is_first))];
        let own = per_process(&process, process_before, elapsed, &machine);
        events.push(event(time, "PerProcess", own));
        for search in searches.iter().take(MAX_SEARCHES) {
            events.push(event(time, "PerProcess", of_search(search, process.pid)));
        }
        self.before = Some((time, machine, process));
        events
    }
}

/// An event of a log in JSON format.
pub(crate) fn event(time: EventTime, component: &str, data: Value) -> OwnEvent {
    let log = match component {
        "Hostwide" | "PerProcess" => Log::ResourceUsage,
        _ => Log::DiskObjects,
    };
    let text = json!({
        "datetime": written(time), "log_level": "INFO", "component": component, "data": data,
    });
    OwnEvent { log, time, text: text.to_string(), points: None }
}

/// A number rounded to three decimals.
pub(crate) fn rounded(value: f64) -> Value {
    Number::from_f64((value * 1e3).round() / 1e3).map_or(Value::Null, Value::Number)
}

#[allow(clippy::cast_precision_loss)]
fn hostwide(now: &Machine, before: &Machine, seconds: f64, is_first: bool) -> Value {
    let all = (now.cpu.all() - before.cpu.all()).max(1.0);
    let percent = |now: f64, before: f64| rounded(((now - before) / all * 100.0).max(0.0));
    let mut data = Map::new();
    let mut put = |name: &str, value: Value| data.insert(name.to_owned(), value);
    put("mem", rounded(mb(now.memory)));
    put("mem_used", rounded(mb(now.memory_used)));
    put("swap", rounded(mb(now.swap)));
    put("swap_used", rounded(mb(now.swap_used)));
    put("cpu_user_pct", percent(now.cpu.user, before.cpu.user));
    put("cpu_system_pct", percent(now.cpu.system, before.cpu.system));
    put("cpu_idle_pct", percent(now.cpu.idle, before.cpu.idle));
    put("cpu_iowait_pct", percent(now.cpu.iowait, before.cpu.iowait));
    put("cpu_count", json!(now.cpus));
    put("virtual_cpu_count", json!(now.cpus));
    put("normalized_load_avg_1min", rounded(now.load / now.cpus as f64));
    put("runnable_process_count", json!(now.runnable));
    if !is_first {
        let rate =
            |now: u64, before: u64| rounded(now.saturating_sub(before) as f64 / seconds.max(0.001));
        put("forks", rate(now.forks, before.forks));
        put("pg_paged_out", rate(now.paged_out, before.paged_out));
        put("pg_swapped_out", rate(now.swapped_out, before.swapped_out));
    }
    Value::Object(data)
}

#[allow(clippy::cast_precision_loss)]
fn per_process(now: &Process, before: &Process, elapsed: f64, machine: &Machine) -> Value {
    let cpu = (now.cpu_seconds - before.cpu_seconds).max(0.0) / elapsed * 100.0;
    let more = |now: u64, before: u64| now.saturating_sub(before);
    let memory = now.memory as f64 / machine.memory.max(1) as f64 * 100.0;
    json!({
        "pid": now.pid,
        "ppid": now.parent,
        "process": "splunkd",
        "process_type": "splunkd_server",
        "args": "karst server",
        "t_count": now.threads,
        "fd_used": now.files,
        "mem_used": rounded(mb(now.memory)),
        "pct_memory": rounded(memory),
        "pct_cpu": rounded(cpu),
        "normalized_pct_cpu": rounded(cpu / machine.cpus as f64),
        "page_faults": rounded(more(now.page_faults, before.page_faults) as f64 / elapsed),
        "read_mb": rounded(mb(more(now.read_bytes, before.read_bytes))),
        "written_mb": rounded(mb(more(now.written_bytes, before.written_bytes))),
        "elapsed": rounded(now.elapsed),
    })
}

fn of_search(search: &RunningSearch, pid: u64) -> Value {
    json!({
        "pid": pid,
        "process": "splunkd",
        "process_type": "search",
        "elapsed": rounded(search.elapsed),
        "mem_used": rounded(mb(search.memory)),
        "search_props": {
            "sid": search.sid,
            "user": search.user,
            "app": search.app,
            "label": search.label,
            "type": "ad-hoc",
            "mode": "historical",
            "role": "head",
        },
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::proc::tests::proc;

    fn files(user: u32, ticks: u32) -> [(&'static str, String); 6] {
        [
            ("stat", format!("cpu  {user} 0 0 100 0 0 0 0\ncpu0 1\ncpu1 1\nprocesses 10\n")),
            ("meminfo", "MemTotal: 4096 kB\nMemAvailable: 1024 kB\n".to_owned()),
            ("loadavg", "1.0 1 1 1/1 1\n".to_owned()),
            ("self/stat", format!("42 (karst) S 1 0 0 0 0 0 0 0 0 0 {ticks} 0 0 0 0 0 3 0 0 0 0")),
            ("self/status", "VmRSS: 1024 kB\n".to_owned()),
            ("uptime", "100.0 1\n".to_owned()),
        ]
    }

    #[test]
    fn percentages_are_of_the_time_between_two_events() {
        let first = files(100, 100);
        let (dir, proc) = proc(&first.each_ref().map(|(name, text)| (*name, text.as_str())));
        let mut log = ResourceUsage::new(proc);
        log.events(EventTime::from_seconds(1_000.0), &[]);
        for (name, text) in files(200, 600) {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let search = RunningSearch {
            sid: "1.2".to_owned(),
            user: "ann".to_owned(),
            ..RunningSearch::default()
        };
        let events = log.events(EventTime::from_seconds(1_010.0), &[search]);
        assert!(events.iter().all(|event| event.log == Log::ResourceUsage));
        let parsed: Vec<Value> =
            events.iter().map(|event| serde_json::from_str(&event.text).unwrap()).collect();
        assert_eq!(parsed[0]["component"], "Hostwide");
        assert_eq!(parsed[0]["datetime"], "01-01-1970 00:16:50.000 +0000");
        assert_eq!(
            (&parsed[0]["data"]["cpu_user_pct"], &parsed[0]["data"]["mem_used"]),
            (&json!(100.0), &json!(3.0))
        );
        assert_eq!(parsed[0]["data"]["normalized_load_avg_1min"], 0.5);
        assert_eq!(parsed[1]["data"]["pct_cpu"], 50.0);
        assert_eq!(parsed[1]["data"]["normalized_pct_cpu"], 25.0);
        assert_eq!(parsed[1]["data"]["pct_memory"], 25.0);
        assert_eq!(parsed[2]["data"]["search_props"]["user"], "ann");
    }
}

//! The latest observations of the machine and of the process, for `/services/server/status`.

use introspection::{Log, OwnEvent};
use parking_lot::Mutex;
use serde_json::{Map, Value};

/// Keeps the last events of each log that observes.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    resources: Mutex<Vec<OwnEvent>>,
    disks: Mutex<Vec<OwnEvent>>,
}

impl Observed {
    /// Records the collected events of the logs that were due.
    pub(super) fn note(&self, events: &[OwnEvent]) {
        let logs = [(Log::ResourceUsage, &self.resources), (Log::DiskObjects, &self.disks)];
        for (log, kept) in logs {
            let of_log: Vec<OwnEvent> =
                events.iter().filter(|event| event.log == log).cloned().collect();
            if !of_log.is_empty() {
                *kept.lock() = of_log;
            }
        }
    }
}

impl api::Observations for Observed {
    fn of(&self, component: &str) -> Vec<Map<String, Value>> {
        let mut found = Vec::new();
        for kept in [&self.resources, &self.disks] {
            for event in kept.lock().iter() {
                let Ok(mut told) = serde_json::from_str::<Value>(&event.text) else { continue };
                if told["component"] != component {
                    continue;
                }
                if let Value::Object(data) = told["data"].take() {
                    found.push(data);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use api::Observations;
    use model::EventTime;

    use super::*;

    #[test]
    fn the_last_events_of_each_log_are_kept() {
        let event = |log, component: &str, value: u32| OwnEvent {
            log,
            time: EventTime(0),
            text: format!("{{\"component\":\"{component}\",\"data\":{{\"value\":{value}}}}}"),
            points: None,
        };
        let observed = Observed::default();
        assert!(observed.of("Hostwide").is_empty(), "nothing was observed yet");
        let resources = |value| event(Log::ResourceUsage, "Hostwide", value);
        observed.note(&[resources(1), event(Log::DiskObjects, "Partitions", 2)]);
        observed.note(&[resources(3)]);
        let values = |component| {
            let found = observed.of(component);
            found.iter().map(|data| data["value"].as_u64()).collect::<Vec<_>>()
        };
        assert_eq!((values("Hostwide"), values("Partitions")), (vec![Some(3)], vec![Some(2)]));
    }
}

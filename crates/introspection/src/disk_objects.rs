//! disk_objects.log: the file system of the data directory, and the indexes.

use std::path::Path;

use model::EventTime;
use serde_json::json;

use crate::line::mb;
use crate::resource_usage::{event, rounded};
use crate::{OwnEvent, Proc};

/// An index in object storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredIndex {
    /// Its name.
    pub name: String,
    /// Number of buckets.
    pub buckets: u64,
    /// Size of the buckets in bytes.
    pub bytes: u64,
    /// Number of events.
    pub events: u64,
    /// Bytes of the text of their events.
    pub raw_bytes: u64,
    /// Time of the earliest event; `None` if there are no events.
    pub first: Option<EventTime>,
    /// Time of the latest event.
    pub last: Option<EventTime>,
    /// Number of hot buckets of this process.
    pub hot: u64,
}

/// The events of the log. Indexes are shared by all processes, so that only one of them reports them.
#[must_use]
pub fn disk_objects(
    time: EventTime,
    proc: &Proc,
    data: &Path,
    indexes: &[StoredIndex],
) -> Vec<OwnEvent> {
    let mut events = Vec::with_capacity(indexes.len() + 1);
    if let Ok(stat) = rustix::fs::statvfs(data) {
        let mount = proc.mount(data).unwrap_or_default();
        let data = json!({
            "mount_point": mount.point,
            "fs_type": mount.kind,
            "capacity": rounded(mb(stat.f_blocks.saturating_mul(stat.f_frsize))),
            "available": rounded(mb(stat.f_bavail.saturating_mul(stat.f_frsize))),
            "free": rounded(mb(stat.f_bfree.saturating_mul(stat.f_frsize))),
        });
        events.push(event(time, "Partitions", data));
    }
    events.extend(indexes.iter().map(|index| event(time, "Indexes", of_index(index))));
    events
}

fn of_index(index: &StoredIndex) -> serde_json::Value {
    let seconds = |time: Option<EventTime>| time.map_or(0, |time| time.0.div_euclid(1_000_000));
    json!({
        "name": index.name,
        "total_size": rounded(mb(index.bytes)),
        "total_event_count": index.events,
        "total_bucket_count": index.buckets,
        "total_raw_size": rounded(mb(index.raw_bytes)),
        "bucket_dirs": { "home": {
            "hot_bucket_count": index.hot,
            "warm_bucket_count": index.buckets,
            "event_count": index.events,
            "event_min_time": seconds(index.first),
            "event_max_time": seconds(index.last),
            "size": rounded(mb(index.bytes)),
        } },
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Log;

    #[test]
    fn the_disk_and_each_index_have_an_event() {
        let index = StoredIndex {
            name: "main".to_owned(),
            buckets: 2,
            bytes: 3 << 20,
            events: 40,
            raw_bytes: 9 << 20,
            first: Some(EventTime::from_seconds(100.0)),
            last: Some(EventTime::from_seconds(200.0)),
            hot: 1,
        };
        let proc = Proc::default();
        let events = disk_objects(EventTime(0), &proc, Path::new("/"), &[index]);
        assert!(events.iter().all(|event| event.log == Log::DiskObjects));
        let parsed: Vec<Value> =
            events.iter().map(|event| serde_json::from_str(&event.text).unwrap()).collect();
        assert_eq!(parsed[0]["component"], "Partitions");
        assert!(parsed[0]["data"]["capacity"].as_f64() >= parsed[0]["data"]["available"].as_f64());
        assert_eq!(parsed[1]["data"]["total_size"], 3.0);
        assert_eq!(parsed[1]["data"]["bucket_dirs"]["home"]["event_max_time"], 200);
    }
}

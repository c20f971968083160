//! The clock of the database.
//!
//! The database orders its writes and files by time, and ends permanently if a time is before those that it
//! has recorded. But the clock of a machine may be set back, and that of another machine may be slow. So the
//! database gets a clock that is never behind the recorded times: the clock of the machine, plus its lag.
//! These times only order writes and determine the age of files; nothing else reads them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use slatedb::Db;
use slatedb::admin::Admin;
use slatedb_common::clock::{DefaultSystemClock, SystemClock, SystemClockTicker};

use crate::adapter::Adapter;
use crate::codec;
use crate::error::{Error, Result, opened};

/// Minimum lag of the clock that is logged.
const NOTABLE: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    /// The clock of the machine. Once created, it does not follow changes of the system time.
    machine: DefaultSystemClock,
    /// How far this clock is ahead of that of the machine, in milliseconds. It only grows.
    ahead: AtomicU64,
}

impl Ticks {
    /// Returns how far this clock is ahead of that of the machine.
    pub(crate) fn ahead(&self) -> Duration {
        Duration::from_millis(self.ahead.load(Ordering::SeqCst))
    }

    /// Advances this clock to a time in milliseconds, if it has not reached it.
    pub(crate) fn go_on_from(&self, recorded: i64) {
        let behind = recorded.saturating_sub(self.machine.now().timestamp_millis());
        // A negative value means that this clock is already past it.
        if let Ok(behind) = u64::try_from(behind) {
            self.ahead.fetch_max(behind, Ordering::SeqCst);
        }
    }

    /// Advances this clock to the times that the files of a database have recorded, before it is opened.
    pub(crate) async fn go_on_from_files(&self, store: Arc<Adapter>, path: &str) -> Result<()> {
        let recorded = Box::pin(opened(path, recorded(store, path.to_owned()))).await?;
        if let Some(recorded) = recorded {
            self.go_on_from(recorded);
        }
        Ok(())
    }

    /// Whether this clock is notably behind a time in milliseconds.
    pub(crate) fn is_far_behind(&self, recorded: i64) -> bool {
        let behind = recorded.saturating_sub(self.now().timestamp_millis());
        u64::try_from(behind).is_ok_and(|behind| Duration::from_millis(behind) >= NOTABLE)
    }

    /// Logs that the clock of the machine is behind, if the lag is large.
    pub(crate) fn report(&self, path: &str) {
        let behind = self.ahead();
        if behind >= NOTABLE {
            tracing::warn!(
                path,
                seconds = behind.as_secs(),
                "the clock of this machine is behind the last write of the catalog, or that of the machine \
                 that wrote it was ahead: check the clock; the catalog goes on from its last write"
            );
        }
    }
}

impl SystemClock for Ticks {
    fn now(&self) -> DateTime<Utc> {
        self.machine.now() + self.ahead()
    }

    fn sleep<'a>(&'a self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        self.machine.sleep(duration)
    }

    fn ticker<'a>(&'a self, duration: Duration) -> SystemClockTicker<'a> {
        SystemClockTicker::new(self, duration)
    }
}

/// Returns when an open database was last written, in milliseconds. This time may only be in a write-ahead
/// file. Packing does not change the number of the last write, so it has an entry of its own.
pub(crate) async fn last_write(database: &Db, path: &str) -> Result<Option<i64>> {
    let mut latest: Option<i64> = None;
    for key in [codec::NUMBER, codec::PACKING] {
        let last = database.get_key_value(key).await;
        let last = match last.map_err(|error| Error::from_database(path, "read", &error)) {
            // It only matters after packing by a process whose clock was ahead.
            Err(Error::Corrupt { .. }) if key == codec::PACKING => None,
            last => last?,
        };
        latest = latest.max(last.map(|last| last.create_ts));
    }
    Ok(latest)
}

/// Returns the latest time in the manifest, and in the names of the files and compactions that the database
/// knows.
async fn recorded(
    store: Arc<Adapter>,
    path: String,
) -> std::result::Result<Option<i64>, slatedb::Error> {
    let admin = Admin::builder(path, store).build();
    let Some(manifest) = admin.read_manifest(None).await? else { return Ok(None) };
    // If they cannot be read, the code that uses them will report it.
    let compactions = admin.read_compactions(None).await.ok().flatten();
    let mut latest = manifest.last_l0_clock_tick();
    let mut note = |milliseconds: u64| {
        latest = latest.max(i64::try_from(milliseconds).unwrap_or(i64::MIN));
    };
    for file in manifest.all_sst_views() {
        note(file.sst.id.value().timestamp_ms());
    }
    let compacted = [manifest.last_compacted_l0_sst_view_id(), manifest.last_compacted_l0_sst_id()];
    for id in compacted.into_iter().flatten() {
        note(id.timestamp_ms());
    }
    if let Some(compactions) = &compactions {
        for compaction in compactions.recent_compactions() {
            note(compaction.id().timestamp_ms());
            for file in compaction.output_ssts() {
                note(file.id.value().timestamp_ms());
            }
        }
    }
    Ok(Some(latest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_never_behind_what_was_recorded_and_never_goes_back() {
        let ticks = Ticks::default();
        let before = ticks.now().timestamp_millis();
        ticks.go_on_from(before - 1_000_000);
        ticks.go_on_from(i64::MIN);
        assert_eq!(ticks.ahead(), Duration::ZERO);
        ticks.go_on_from(before + 1_000_000);
        assert!(ticks.now().timestamp_millis() >= before + 1_000_000);
        assert!(!ticks.is_far_behind(before + 1_000_000));
        assert!(ticks.is_far_behind(before + 2_000_000));
        ticks.go_on_from(before);
        assert!(ticks.now().timestamp_millis() >= before + 1_000_000);
    }
}

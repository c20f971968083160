//! Settings of the catalog: how often it sends requests to the store, and what that costs.
//!
//! S3 bills requests (about 5 USD per million PUT or LIST, 0.4 USD per million GET), so an idle
//! catalog must send almost no requests. The database polls because other processes could write;
//! here there is one writer, and fencing is detected at the next commit anyway, so polling is slow.
//!
//! Measured with a counting store and the defaults: an idle catalog makes about 75 GETs and 4 LISTs
//! an hour, which is less than 0.05 USD a month. A commit is one PUT (plus about 4 requests every
//! 256 commits), opening is about 40 requests. On a directory a commit takes 4 to 30 ms, two fsyncs. Not
//! measured: packing is one PUT for each `packs_together` packs, and at least two for list and log.

use std::time::Duration;

use conf::Type;

use crate::Error;

conf::settings! {
    /// Settings of the catalog.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["general"] {
            /// Memory for bucket summaries: hosts, sources, source types and fields with their counts.
            /// Searches over more buckets read the summaries from object storage each time.
            "catalogSummaryCacheMB" => pub summary_bytes: usize = "256", Type::megabytes(0);
        }
        fixed {
            /// How often an idle writer checks whether it was fenced or compaction made progress. Commits
            /// detect fencing at once. Each check is 2 GETs: 24 an hour at the default of 5 minutes.
            pub poll_interval: Duration = Duration::from_secs(300);
            /// How often compaction is considered. About 6 GETs each: 360 an hour, 0.10 USD a month on S3.
            /// Between two of them at most 64 times `fold_commits` writes are taken, the next ones wait.
            pub compaction_interval: Duration = Duration::from_secs(60);
            /// How often unused files are collected. 4 LISTs and about 15 GETs each, at the default of 1
            /// hour. A longer interval keeps more garbage.
            pub cleanup_interval: Duration = Duration::from_secs(3600);
            /// Minimum age of unused files before they are deleted. A process that was suspended longer
            /// than this and resumes could read deleted files; it is fenced by then.
            pub cleanup_age: Duration = Duration::from_secs(86_400);
            /// Number of writes, of one or more commits each, after which the write-ahead files are
            /// compacted into one sorted file (three requests). Opening reads each later write-ahead file;
            /// one request each.
            pub fold_commits: u32 = 256;
            /// Number of logged writes, and of headers that they have changed, after which the headers are
            /// packed again; in a large catalog, a 32nd of its buckets if that is more. Opening reads one
            /// entry for each of these writes. 0: packs are neither written nor read, but the log is written
            /// all the same, and grows.
            pub pack_changes: usize = 16_384;
            /// Number of packs that are written in one request: about 1 MB, so that commits do not wait long
            /// behind it.
            pub packs_together: usize = 24;
            /// Largest document (user, token, index definition) in bytes.
            pub document_bytes: usize = 1 << 20;
            /// Deadline of a document change: after it, the caller gets an error that the change is still
            /// pending.
            pub document_deadline: Duration = Duration::from_secs(20);
            /// Maximum number of changes that are written together.
            pub group_commits: usize = 1_000;
            /// Maximum number of changes that wait to be written; further callers wait for a place.
            pub waiting_commits: usize = 10_000;
            /// Bytes of the last writes that are kept for followers. One that lacks more is sent the whole
            /// state.
            pub feed_bytes: usize = 64 << 20;
            /// Deadline of a follower's request to the leader, with its repetitions. A leader whose store is
            /// away answers late.
            pub leader_deadline: Duration = Duration::from_secs(60);
            /// Deadline of a follower's request for summaries. The objects of buckets have them, too.
            pub summaries_deadline: Duration = Duration::from_secs(2);
            /// Deadline of each of the repetitions.
            pub leader_attempt: Duration = Duration::from_secs(20);
            /// Pauses between repetitions: the first and the longest.
            pub leader_retry: (Duration, Duration) =
                (Duration::from_millis(50), Duration::from_millis(500));
            /// Interval at which a commit that the store does not accept is reported in the log. The commit
            /// is retried until the store is available.
            pub slow_commit: Duration = Duration::from_secs(10);
        }
    }
}

impl Settings {
    /// Checks the relations between settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the first invalid combination.
    pub fn validate(&self) -> Result<(), Error> {
        let fail = |what: &str, reason: &str| {
            Err(Error::Invalid {
                path: String::new(),
                what: what.to_owned(),
                reason: reason.to_owned(),
            })
        };
        let second = Duration::from_secs(1);
        for (name, interval) in [
            ("poll_interval", self.poll_interval),
            ("compaction_interval", self.compaction_interval),
            ("cleanup_interval", self.cleanup_interval),
            ("slow_commit", self.slow_commit),
        ] {
            if interval < second {
                return fail(name, "it must be at least 1 second");
            }
        }
        if self.cleanup_age < self.poll_interval * 2 {
            return fail("cleanup_age", "it must be at least twice poll_interval");
        }
        for (name, number) in
            [("group_commits", self.group_commits), ("waiting_commits", self.waiting_commits)]
        {
            if !(1..=1_000_000).contains(&number) {
                return fail(name, "it must be 1 to 1,000,000");
            }
        }
        if self.fold_commits == 0 || self.fold_commits > 4000 {
            return fail("fold_commits", "it must be 1 to 4000");
        }
        Ok(())
    }

    /// The settings of the database. Each commit triggers its own write to the store.
    pub(crate) fn database(&self) -> slatedb::Settings {
        use slatedb::config::{
            CompactionWorkerOptions, CompactorOptions, GarbageCollectorDirectoryOptions,
            GarbageCollectorOptions, GarbageCollectorScheduleOptions,
        };
        let directory = Some(GarbageCollectorDirectoryOptions {
            interval: Some(self.cleanup_interval),
            min_age: self.cleanup_age,
            dry_run: false,
        });
        let worker = CompactionWorkerOptions {
            max_concurrent_compactions: 1,
            compactions_poll_interval: self.compaction_interval,
            max_subcompactions: 1,
            ..CompactionWorkerOptions::default()
        };
        slatedb::Settings {
            flush_interval: None,
            manifest_poll_interval: self.poll_interval,
            l0_sst_size_bytes: 16 << 20,
            max_unflushed_bytes: 256 << 20,
            // These files are read only on opening, so there may be many between two compactions.
            l0_max_ssts: 64,
            l0_max_ssts_per_key: 64,
            compactor_options: Some(CompactorOptions {
                poll_interval: self.compaction_interval,
                max_concurrent_compactions: 1,
                worker: Some(worker),
                // An idle compactor sends no requests here; a running one should not wait long.
                commit_compacted_interval: Duration::from_secs(5),
                ..CompactorOptions::default()
            }),
            garbage_collector_options: Some(GarbageCollectorOptions {
                manifest_options: directory,
                wal_options: directory,
                // Deleting fences is never safe against a writer that was suspended.
                wal_fence_options: None,
                compacted_options: directory,
                compactions_options: directory,
                // Clones of the database are not used.
                detach_options: None::<GarbageCollectorScheduleOptions>,
                ..GarbageCollectorOptions::default()
            }),
            ..slatedb::Settings::default()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_for_the_catalog_and_the_database() {
        Settings::default().validate().unwrap();
        Settings::default().database().validate().unwrap();
    }

    #[test]
    fn relations_are_checked() {
        let settings = Settings { cleanup_age: Duration::from_secs(5), ..Settings::default() };
        let error = settings.validate().unwrap_err().to_string();
        assert!(error.contains("cleanup_age"), "{error}");
    }
}

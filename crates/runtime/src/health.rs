//! The current health problems of the process: named conditions that any component sets and clears.
//!
//! A condition is set as long as it is true. `/readyz`, `/services/server/health`,
//! `/services/messages` and the metric `karst_health` read them; this registry keeps no history.
//! What a condition means for requests is its [`Severity`], not its name, so that a component can
//! add one without changing routes.
//!
//! ```
//! use karst_runtime::health::{self, Health, Severity};
//! let health = Health::default();
//! health.set(health::DISK_FULL, Severity::Error, "3 MB are free on /var/lib/karst");
//! assert!(!health.is_ready());
//! health.clear(health::DISK_FULL);
//! assert!(health.is_ready());
//! ```
//!
//! Guarantees: a condition is logged once when it begins and once when it ends; handles are cheap to clone
//! and share one state; setting never blocks. A condition has two texts: its `text` is for administrators;
//! its [`summary`](Condition::summary) is public, and names no machine, process or file.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::EventTime;
use tokio::sync::watch;

use crate::metrics as names;
use crate::{Clock, SystemClock};

/// The process has not finished its start.
pub const STARTING: &str = "starting";
/// The process is stopping.
pub const STOPPING: &str = "stopping";
/// Another server has taken the catalog.
pub const FENCED: &str = "fenced";
/// The database of the catalog has ended in this process.
pub const CATALOG_ENDED: &str = "catalog_ended";
/// Another server runs with the identity of this one.
pub const SUPERSEDED: &str = "superseded";
/// The data directory, the directory of the journal or a segment of the journal was removed or replaced.
pub const DATA_DIRECTORY_LOST: &str = "data_directory_lost";
/// The file system of the data directory may have been mounted again.
pub const DATA_DIRECTORY_REMOUNTED: &str = "data_directory_remounted";
/// Events are refused.
pub const INTAKE_STOPPED: &str = "intake_stopped";
/// A file system of the data directory, the journal or the spool is full.
pub const DISK_FULL: &str = "disk_full";
/// Uploads of buckets to object storage fail.
pub const UPLOADS_FAILING: &str = "uploads_failing";
/// Buckets that are due cannot be frozen.
pub const BUCKETS_NOT_FROZEN: &str = "buckets_not_frozen";
/// Acknowledged events could not be stored in a bucket and are in files (rejected events).
pub const EVENTS_SET_ASIDE: &str = "events_set_aside";
/// Records of the audit trail are missing or altered.
pub const AUDIT_TRAIL: &str = "audit_trail";
/// The audit trail cannot be written.
pub const AUDIT_UNWRITABLE: &str = "audit_unwritable";
/// Something stored is damaged or missing.
pub const DAMAGED: &str = "damaged";
/// The file system of the cache is full.
pub const CACHE_FULL: &str = "cache_full";
/// The server's own log cannot be written.
pub const LOG_UNWRITABLE: &str = "log_unwritable";
/// Inputs cannot be opened, for example because their checkpoints cannot be written or their port is taken.
pub const INPUTS_NOT_RUNNING: &str = "inputs_not_running";
/// An installed app cannot be copied to this process.
pub const APPS_NOT_COPIED: &str = "apps_not_copied";
/// The journal of this process is at too few other indexers.
pub const TOO_FEW_COPIES: &str = "too_few_copies";
/// Another process answers at the address that other processes have of this one.
pub const WRONG_ADDRESS: &str = "wrong_address";
/// Another process of the cluster does not answer.
pub const PROCESS_DOWN: &str = "process_down";
/// A disk of another process of the cluster is full.
pub const PROCESS_DISK_FULL: &str = "process_disk_full";
/// The indexers that answer are too few for the copies of journals.
pub const REPLICATION_UNMET: &str = "replication_unmet";
/// The cluster has no leading control plane.
pub const NOT_LED: &str = "not_led";
/// A standby cannot take over: its object store does not have the catalog that it follows.
pub const CANNOT_LEAD: &str = "cannot_lead";
/// This process leads, and object storage does not accept its writes of the catalog.
pub const CATALOG_NOT_COMMITTING: &str = "catalog_not_committing";
/// No control plane sends the catalog to this process.
pub const CATALOG_NOT_FOLLOWED: &str = "catalog_not_followed";
/// The certificate expires soon, or is not valid for TLS.
pub const CERTIFICATE: &str = "certificate";

/// The severity of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Needs attention; requests are served (yellow).
    Warning,
    /// The server is not ready: `/readyz` answers 503 (red).
    Error,
    /// Like an error, and inputs and writes are refused with the text (red).
    Fatal,
}

impl Severity {
    /// Returns the machine-readable name: `warning`, `error` or `fatal`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }
}

/// A current health problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// One of the names above, or a component-specific one: lower case and `_`.
    pub name: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The problem and what helps, for users who may see the health of the server, and for its log.
    pub text: Arc<str>,
    /// The time since which it holds.
    pub since: EventTime,
}

impl Condition {
    /// Returns the kind of the problem without locations and names; shown without a login too.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        match self.name {
            STARTING => "the server is starting",
            STOPPING => "the server is shutting down",
            FENCED => "the catalog has been taken over by another server",
            CATALOG_ENDED => "the catalog cannot be written until this process starts again",
            SUPERSEDED => {
                "another server runs with the id of this one: a data directory was copied, and one of both \
                 servers has to be stopped"
            }
            DATA_DIRECTORY_LOST => {
                "no events are accepted: the data directory, or the journal in it, was removed or replaced"
            }
            DATA_DIRECTORY_REMOUNTED => {
                "the file system of the data directory was mounted again: the server has to be restarted"
            }
            INTAKE_STOPPED => "no events are accepted until the disk has free space",
            DISK_FULL => "a file system has no free space",
            UPLOADS_FAILING => "buckets cannot be uploaded to object storage",
            BUCKETS_NOT_FROZEN => "buckets that are past their retention cannot be frozen",
            EVENTS_SET_ASIDE => "events could not be kept in a bucket",
            AUDIT_TRAIL => "the audit trail has been modified or damaged",
            AUDIT_UNWRITABLE => "the audit trail cannot be written",
            DAMAGED => "stored data is damaged or missing",
            CACHE_FULL => "the file system of the cache has no free space",
            LOG_UNWRITABLE => "the log of the server cannot be written",
            INPUTS_NOT_RUNNING => "inputs cannot be opened, and do not run",
            APPS_NOT_COPIED => "an installed app cannot be copied",
            TOO_FEW_COPIES => "too few other indexers can have copies of the journal",
            WRONG_ADDRESS => "other processes do not reach this one at its address",
            PROCESS_DOWN => "another process of the cluster does not answer",
            PROCESS_DISK_FULL => "a disk of another process of the cluster is full",
            REPLICATION_UNMET => "too few indexers answer for the copies of journals",
            NOT_LED => "no control plane of the cluster leads",
            CANNOT_LEAD => "this standby cannot take over",
            CATALOG_NOT_COMMITTING => "object storage does not accept changes of the catalog",
            CATALOG_NOT_FOLLOWED => "no control plane gives the catalog to this process",
            CERTIFICATE => "the certificate needs to be renewed",
            // Only conditions with a reviewed public text have one.
            _ => "see the log of the server",
        }
    }
}

type Conditions = BTreeMap<&'static str, Condition>;

/// A handle to the conditions of this process; clones share them.
#[derive(Debug, Clone)]
pub struct Health {
    conditions: Arc<watch::Sender<Conditions>>,
    clock: Arc<dyn Clock>,
}

impl Default for Health {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl Health {
    /// Creates a registry without conditions.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { conditions: Arc::new(watch::Sender::new(Conditions::new())), clock }
    }

    /// Sets the condition, or changes its text.
    pub fn set(&self, name: &'static str, severity: Severity, text: impl Into<Arc<str>>) {
        let text = text.into();
        let since = self.clock.now();
        let mut began = false;
        self.conditions.send_if_modified(|conditions| {
            let before = conditions.get(name);
            began = before.is_none_or(|before| before.severity != severity);
            if before.is_some_and(|before| before.severity == severity && before.text == text) {
                return false;
            }
            let since = before.map_or(since, |before| before.since);
            let text = Arc::clone(&text);
            conditions.insert(name, Condition { name, severity, text, since });
            true
        });
        if !began {
            return;
        }
        metrics::gauge!(names::HEALTH, "condition" => name).set(1.0);
        match severity {
            Severity::Warning => tracing::warn!(condition = name, "{text}"),
            Severity::Error | Severity::Fatal => tracing::error!(condition = name, "{text}"),
        }
    }

    /// Clears the condition; a no-op if it is not set.
    pub fn clear(&self, name: &'static str) {
        if self.conditions.send_if_modified(|conditions| conditions.remove(name).is_some()) {
            metrics::gauge!(names::HEALTH, "condition" => name).set(0.0);
            tracing::info!(condition = name, "the condition has ended");
        }
    }

    /// Returns the current conditions, the most severe first.
    #[must_use]
    pub fn conditions(&self) -> Vec<Condition> {
        let mut all: Vec<Condition> = self.conditions.borrow().values().cloned().collect();
        all.sort_by_key(|condition| std::cmp::Reverse(condition.severity));
        all
    }

    /// Returns the texts of the conditions which say that a disk of this process is full, for the other
    /// processes of its cluster.
    #[must_use]
    pub fn full_disks(&self) -> Vec<String> {
        let conditions = self.conditions.borrow();
        let full = [DISK_FULL, CACHE_FULL].into_iter().filter_map(|name| conditions.get(name));
        full.map(|condition| condition.text.to_string()).collect()
    }

    /// Returns the highest severity of the current conditions.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.conditions.borrow().values().map(|condition| condition.severity).max()
    }

    /// Whether the server is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.worst().is_none_or(|worst| worst < Severity::Error)
    }

    /// Returns the fatal condition, if any. Cheap enough for every request.
    #[must_use]
    pub fn fatal(&self) -> Option<Condition> {
        let conditions = self.conditions.borrow();
        conditions.values().find(|condition| condition.severity == Severity::Fatal).cloned()
    }

    /// Waits for a fatal condition.
    pub async fn turns_fatal(&self) -> Condition {
        let is_fatal = |condition: &&Condition| condition.severity == Severity::Fatal;
        let mut seen = self.conditions.subscribe();
        let held = seen.wait_for(|conditions| conditions.values().any(|one| is_fatal(&one))).await;
        // The sender lives in self, so waiting cannot fail.
        match held.ok().and_then(|conditions| conditions.values().find(is_fatal).cloned()) {
            Some(condition) => condition,
            None => std::future::pending().await,
        }
    }

    /// Waits until the condition is set.
    pub async fn begins(&self, name: &'static str) -> Condition {
        let mut seen = self.conditions.subscribe();
        let held = seen.wait_for(|conditions| conditions.contains_key(name)).await;
        // The sender lives in self, so waiting cannot fail.
        let found = held.ok().and_then(|conditions| conditions.get(name).cloned());
        match found {
            Some(condition) => condition,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ManualClock;

    #[test]
    fn only_errors_make_it_unready_and_the_gravest_comes_first() {
        let health = Health::default();
        health.set("slow", Severity::Warning, "slow");
        assert!(health.is_ready());
        health.set(DISK_FULL, Severity::Error, "full");
        let names: Vec<_> = health.conditions().iter().map(|condition| condition.name).collect();
        assert_eq!((names, health.is_ready()), (vec![DISK_FULL, "slow"], false));
        assert_eq!(health.fatal(), None);
        health.clear(DISK_FULL);
        assert!(health.is_ready());
    }

    #[test]
    fn a_new_text_keeps_the_time_since_when() {
        let clock = Arc::new(ManualClock::new(EventTime(5)));
        let health = Health::new(Arc::clone(&clock) as Arc<dyn Clock>);
        health.set(DISK_FULL, Severity::Error, "9 MB are free");
        clock.advance(Duration::from_secs(1));
        health.set(DISK_FULL, Severity::Error, "8 MB are free");
        let condition = &health.conditions()[0];
        assert_eq!((&*condition.text, condition.since), ("8 MB are free", EventTime(5)));
    }

    #[test]
    fn full_disks_are_those_of_the_data_and_of_the_cache() {
        let health = Health::default();
        assert_eq!(health.full_disks(), Vec::<String>::new());
        health.set(CACHE_FULL, Severity::Warning, "/cache: 1 byte is free");
        health.set(DISK_FULL, Severity::Warning, "/data: 2 bytes are free");
        health.set(TOO_FEW_COPIES, Severity::Warning, "none");
        assert_eq!(health.full_disks(), ["/data: 2 bytes are free", "/cache: 1 byte is free"]);
        health.clear(DISK_FULL);
        assert_eq!(health.full_disks(), ["/cache: 1 byte is free"]);
    }

    #[test]
    fn what_anybody_may_hear_of_a_condition_is_its_kind() {
        let health = Health::default();
        health.set(FENCED, Severity::Fatal, "taken over by pid 7 on host h");
        health.set("new", Severity::Warning, "/secret/path");
        let told: Vec<_> = health.conditions().iter().map(Condition::summary).collect();
        let fenced = "the catalog has been taken over by another server";
        assert_eq!(told, [fenced, "see the log of the server"]);
    }

    #[tokio::test]
    async fn only_what_is_fatal_ends_what_waits_for_it() {
        let health = Health::default();
        let waiting = tokio::spawn({
            let health = health.clone();
            async move { health.turns_fatal().await }
        });
        health.set(DISK_FULL, Severity::Error, "full");
        health.set(FENCED, Severity::Fatal, "taken over");
        assert_eq!(waiting.await.unwrap().name, FENCED);
    }

    #[tokio::test]
    async fn a_condition_can_be_waited_for() {
        let health = Health::default();
        let waiting = tokio::spawn({
            let health = health.clone();
            async move { health.begins(FENCED).await }
        });
        health.set(FENCED, Severity::Fatal, "taken over");
        assert_eq!(&*waiting.await.unwrap().text, "taken over");
        assert!(health.fatal().is_some());
    }
}

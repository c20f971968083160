//! The status of the forwarder: a file that is written every second, for `list` and for administrators.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inputs::monitor::{FileStatus, MonitorStatus};
use parking_lot::Mutex;
use runtime::Shutdown;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Interval between writes of the file.
const EVERY: Duration = Duration::from_secs(1);

/// The status of an indexer in an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// `host:port`.
    pub address: String,
    /// The name that it reports.
    pub name: String,
    /// Whether there is a connection.
    pub connected: bool,
    /// Whether it is the target of the next batch.
    pub target: bool,
    /// Number of unacknowledged batches assigned to it.
    pub waiting_batches: u64,
    /// Bytes of text that it has acknowledged since the start.
    pub acknowledged_bytes: u64,
    /// Number of batches that it has acknowledged since the start, by the level (`ackLevel`) that it reports:
    /// `local`, `replicated`, `remote`, or `unknown`.
    #[serde(default)]
    pub ack_levels: BTreeMap<String, u64>,
    /// Why the last connection ended; `None` while it is connected.
    pub last_error: Option<String>,
}

/// Batches that indexers have refused permanently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetterStatus {
    /// Number of batches in the directory.
    pub batches: u64,
    /// The directory.
    pub directory: String,
    /// Why the last one was refused.
    pub last_reason: Option<String>,
}

/// The status of one output: a group, for one pipeline set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputStatus {
    /// Name of the group and number of the set.
    pub name: String,
    /// The ID of its sequence of batch numbers.
    pub channel: Uuid,
    /// Size of the queue on disk in bytes.
    pub queue_bytes: u64,
    /// Maximum size of the queue on disk in bytes.
    pub queue_capacity: u64,
    /// Number of segment files.
    pub queue_segments: u64,
    /// Number of the next batch.
    pub next_sequence: u64,
    /// Every batch below this number is acknowledged.
    pub acknowledged_below: u64,
    /// Batches that waited until their indexer was back, and were resent to it.
    pub resent_batches: u64,
    /// Batches that were sent to another indexer because theirs did not come back.
    pub reassigned_batches: u64,
    /// Batches that indexers have refused permanently.
    #[serde(default)]
    pub dead_letters: DeadLetterStatus,
    /// Its indexers.
    pub servers: Vec<ServerStatus>,
}

/// The status of a followed file or a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputStatus {
    /// Path or address.
    pub name: String,
    /// Its state.
    pub state: String,
    /// Number of bytes read.
    pub position: u64,
    /// Total number of bytes, if known.
    pub size: u64,
}

/// The effect of a rule since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleStatus {
    /// Events sent to the `nullQueue`.
    pub dropped_events: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

/// Events routed to some groups since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteStatus {
    /// Number of routed events.
    pub routed_events: u64,
    /// Their bytes.
    pub routed_bytes: u64,
}

/// The status of the deployment client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentStatus {
    /// The configured deployment server.
    pub server: String,
    /// The name of the forwarder at the server.
    pub client_name: String,
    /// Time of the server's last answer, in seconds of Unix time; 0 if there was none since the start.
    pub last_phone_home: u64,
    /// Why the last call failed.
    pub last_error: Option<String>,
    /// Checksums of the installed apps, by name.
    pub apps: BTreeMap<String, String>,
    /// Why versions of apps are not installed, by app.
    pub failed: BTreeMap<String, String>,
}

/// The status of the indexer discovery of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryStatus {
    /// The processes that are asked.
    pub managers: Vec<String>,
    /// The indexers in use.
    pub indexers: Vec<String>,
    /// Time of the last answer with indexers, in seconds of Unix time; 0 if there was none since the start.
    pub last_answer: u64,
    /// Why the last request brought no indexers.
    pub last_error: Option<String>,
}

/// The whole status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The process ID.
    pub pid: u32,
    /// By name.
    pub outputs: BTreeMap<String, OutputStatus>,
    /// Files and listeners.
    pub inputs: Vec<InputStatus>,
    /// Rules that drop events, by the name of their stanza.
    #[serde(default)]
    pub rules: BTreeMap<String, RuleStatus>,
    /// Routed events, by the names of the groups.
    #[serde(default)]
    pub routes: BTreeMap<String, RouteStatus>,
    /// The deployment client, if there is a deployment server.
    #[serde(default)]
    pub deployment: Option<DeploymentStatus>,
    /// Indexer discovery, by group.
    #[serde(default)]
    pub discovery: BTreeMap<String, DiscoveryStatus>,
}

/// The place where the parts of the forwarder publish their status.
#[derive(Debug, Clone, Default)]
pub struct StatusBoard(Arc<Mutex<Status>>);

impl StatusBoard {
    pub(crate) fn put(&self, output: OutputStatus) {
        let mut status = self.0.lock();
        status.outputs.insert(output.name.clone(), output);
    }

    /// Removes the status of an agent that has ended.
    pub(crate) fn clear(&self) {
        let mut status = self.0.lock();
        *status = Status { deployment: status.deployment.take(), ..Status::default() };
    }

    pub(crate) fn put_deployment(&self, deployment: Option<DeploymentStatus>) {
        self.0.lock().deployment = deployment;
    }

    pub(crate) fn discovery(&self, group: &str) -> Option<DiscoveryStatus> {
        self.0.lock().discovery.get(group).cloned()
    }

    pub(crate) fn put_discovery(&self, group: &str, discovery: DiscoveryStatus) {
        self.0.lock().discovery.insert(group.to_owned(), discovery);
    }

    pub(crate) fn put_inputs(&self, inputs: Vec<InputStatus>) {
        self.0.lock().inputs = inputs;
    }

    pub(crate) fn put_rules(
        &self,
        (rules, routes): (BTreeMap<String, RuleStatus>, BTreeMap<String, RouteStatus>),
    ) {
        let mut status = self.0.lock();
        (status.rules, status.routes) = (rules, routes);
    }

    /// The current status.
    #[must_use]
    pub fn get(&self) -> Status {
        let mut status = self.0.lock().clone();
        status.pid = std::process::id();
        status
    }

    /// Writes the file every second until the signal to stop.
    pub(crate) async fn keep_writing(self, data: PathBuf, shutdown: Shutdown) {
        loop {
            let go_on = shutdown.sleep(EVERY).await;
            if let Err(error) = write(&data, &self.get()) {
                tracing::debug!(%error, "the status file is not written");
            }
            if !go_on {
                return;
            }
        }
    }
}

fn path(data: &Path) -> PathBuf {
    data.join("status.json")
}

fn write(data: &Path, status: &Status) -> std::io::Result<()> {
    let draft = data.join("status.next");
    fs::write(&draft, serde_json::to_vec_pretty(status)?)?;
    fs::rename(draft, path(data))
}

/// The status of the followed files of a monitor.
pub(crate) fn of_files(files: &MonitorStatus) -> Vec<InputStatus> {
    let status = |file: FileStatus| InputStatus {
        name: file.path.display().to_string(),
        state: file.described(),
        position: file.position,
        size: file.size,
    };
    files.files().into_iter().map(status).collect()
}

/// Reads the status that the forwarder of a data directory has last written.
///
/// # Errors
/// If the file does not exist or is invalid.
pub fn read(data: &Path) -> std::io::Result<Status> {
    Ok(serde_json::from_slice(&fs::read(path(data))?)?)
}

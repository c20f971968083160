//! What the forwarder is doing: a file that is written every second, for `list` and for people.

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

/// How often the file is written.
const EVERY: Duration = Duration::from_secs(1);

/// An indexer as an output sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// `host:port`.
    pub address: String,
    /// What it calls itself.
    pub name: String,
    /// Whether there is a connection.
    pub connected: bool,
    /// Whether the next batch goes there.
    pub target: bool,
    /// Batches that belong to it and are not acknowledged.
    pub waiting_batches: u64,
    /// Text it has acknowledged since the start.
    pub acknowledged_bytes: u64,
    /// Why the last connection ended, while there is none.
    pub last_error: Option<String>,
}

/// One output: a group, for one pipeline set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputStatus {
    /// Group and set.
    pub name: String,
    /// Its sequence of batch numbers.
    pub channel: Uuid,
    /// Bytes of the queue on disk.
    pub queue_bytes: u64,
    /// Bytes it may have.
    pub queue_capacity: u64,
    /// Files it has.
    pub queue_segments: u64,
    /// Number of the next batch.
    pub next_sequence: u64,
    /// Every batch below is acknowledged.
    pub acknowledged_below: u64,
    /// Batches that waited for an indexer to come back, and were sent to it again.
    pub resent_batches: u64,
    /// Batches that went elsewhere because their indexer did not come back.
    pub reassigned_batches: u64,
    /// Its indexers.
    pub servers: Vec<ServerStatus>,
}

/// A followed file or a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputStatus {
    /// Path or address.
    pub name: String,
    /// What it is up to.
    pub state: String,
    /// Bytes that are taken.
    pub position: u64,
    /// Bytes there are, where that can be known.
    pub size: u64,
}

/// What a rule has done since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleStatus {
    /// Events it sent to the `nullQueue`.
    pub dropped_events: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

/// What rules have routed since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteStatus {
    /// Events that rules sent there.
    pub routed_events: u64,
    /// Their bytes.
    pub routed_bytes: u64,
}

/// What the deployment client does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentStatus {
    /// The deployment server, as it is configured.
    pub server: String,
    /// The name that the server knows the forwarder by.
    pub client_name: String,
    /// When the server last answered, in seconds of Unix time; 0: not since the start.
    pub last_phone_home: u64,
    /// Why the last call failed.
    pub last_error: Option<String>,
    /// Checksums of the apps that are in force, by name.
    pub apps: BTreeMap<String, String>,
    /// Why versions of apps are not in force, by app.
    pub failed: BTreeMap<String, String>,
}

/// Everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The process.
    pub pid: u32,
    /// By name.
    pub outputs: BTreeMap<String, OutputStatus>,
    /// Files and listeners.
    pub inputs: Vec<InputStatus>,
    /// Rules that drop events, by the name of their stanza.
    #[serde(default)]
    pub rules: BTreeMap<String, RuleStatus>,
    /// Where rules route events, by the names of the groups.
    #[serde(default)]
    pub routes: BTreeMap<String, RouteStatus>,
    /// The deployment client, if there is a deployment server.
    #[serde(default)]
    pub deployment: Option<DeploymentStatus>,
}

/// Where the parts put what they are doing.
#[derive(Debug, Clone, Default)]
pub struct StatusBoard(Arc<Mutex<Status>>);

impl StatusBoard {
    pub(crate) fn put(&self, output: OutputStatus) {
        let mut status = self.0.lock();
        status.outputs.insert(output.name.clone(), output);
    }

    /// Forgets what an agent has said that has ended.
    pub(crate) fn clear(&self) {
        let mut status = self.0.lock();
        *status = Status { deployment: status.deployment.take(), ..Status::default() };
    }

    pub(crate) fn put_deployment(&self, deployment: Option<DeploymentStatus>) {
        self.0.lock().deployment = deployment;
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

    /// What is known now.
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

/// The followed files of a monitor.
pub(crate) fn of_files(files: &MonitorStatus) -> Vec<InputStatus> {
    let status = |file: FileStatus| InputStatus {
        name: file.path.display().to_string(),
        state: file.state.as_str().to_owned(),
        position: file.position,
        size: file.size,
    };
    files.files().into_iter().map(status).collect()
}

/// What the forwarder over a data directory was doing a second ago.
///
/// # Errors
/// There is no such file, or it is not one.
pub fn read(data: &Path) -> std::io::Result<Status> {
    Ok(serde_json::from_slice(&fs::read(path(data))?)?)
}

//! The server that holds the lease of a catalog.

use serde::{Deserialize, Serialize};

/// A server, as described in its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The installation ID, for display: the same at every start on a data directory, and in a copy
    /// of it.
    pub instance: String,
    /// Identifies the process; new at every start.
    pub nonce: String,
    /// The lock of the process on its data directory, if its kind guarantees that only one process
    /// can hold it.
    pub lock: Option<String>,
    /// The machine.
    pub host: String,
    /// Its process ID.
    pub pid: u32,
    /// Its start time, for display.
    pub started: String,
    /// Its management address.
    pub management: String,
    /// Its data directory.
    pub data: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, pid, started, management, data, .. } = self;
        write!(f, "pid {pid} on {host}, since {started}, management {management}, data {data}")
    }
}

//! The sandbox of programs: the files and the network that they may use, of what the user of the server may
//! use (docs/decisions/0056).
//!
//! Guarantees: on Linux with Landlock, a program and its child processes read the directories of the system,
//! their app, and the code of apps beside it; they write into the directory of the run only; they cannot read
//! the memory, the environment or the command line of the server, nor signal it (from Linux 6.12). Settings
//! grant more. Not here: limits of memory, time and output (`program`).

use crate::settings::{Sandbox, Settings};

#[cfg(target_os = "linux")]
mod landlocked;
#[cfg(target_os = "linux")]
mod paths;

#[cfg(target_os = "linux")]
use landlocked::gap;
#[cfg(target_os = "linux")]
pub(crate) use landlocked::spawn;

impl Settings {
    /// Whether programs are restricted, if the kernel can do so.
    pub(crate) fn is_restricted(&self) -> bool {
        cfg!(target_os = "linux") && self.sandbox != Sandbox::Off
    }

    /// Why programs are not restricted, or not completely; `None` if they are.
    #[must_use]
    pub fn unrestricted(&self) -> Option<String> {
        match self.sandbox {
            Sandbox::Off => Some("sandbox = off in limits.conf [scripts]".to_owned()),
            Sandbox::Auto | Sandbox::Required => gap(self.sandbox_network),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn gap(_network: bool) -> Option<String> {
    Some("only Linux has Landlock".to_owned())
}

/// Starts a program without restrictions.
#[cfg(not(target_os = "linux"))]
pub(crate) fn spawn(
    mut command: tokio::process::Command,
    _file: &std::path::Path,
    _scratch: &std::path::Path,
    _settings: &Settings,
) -> std::io::Result<tokio::process::Child> {
    command.spawn()
}

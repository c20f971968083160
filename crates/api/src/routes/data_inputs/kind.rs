//! The kinds of inputs: their paths, their parameters, and the meaning of their names.

use std::path::{Path, PathBuf};

use apps::Settings;

use crate::ApiState;
use crate::error::RestError;
use crate::params::{Params, is_true};

/// Parameters of requests, which are not settings.
const REQUEST_PARAMETERS: [&str; 12] = [
    "name",
    "output_mode",
    "count",
    "offset",
    "search",
    "sort_key",
    "sort_dir",
    "sort_mode",
    "f",
    "check-index",
    "check-path",
    "summarize",
];

/// The parameters of every kind, with their settings.
const COMMON: [(&str, &str); 6] = [
    ("disabled", "disabled"),
    ("host", "host"),
    ("index", "index"),
    ("rename-source", "source"),
    ("source", "source"),
    ("sourcetype", "sourcetype"),
];

const OF_FILES: &[(&str, &str)] = &[
    ("blacklist", "blacklist"),
    ("crc-salt", "crcSalt"),
    ("crcSalt", "crcSalt"),
    ("followSymlink", "followSymlink"),
    ("followTail", "followTail"),
    ("host_regex", "host_regex"),
    ("host_segment", "host_segment"),
    ("ignore-older-than", "ignoreOlderThan"),
    ("ignoreOlderThan", "ignoreOlderThan"),
    ("initCrcLength", "initCrcLength"),
    ("move_policy", "move_policy"),
    ("recursive", "recursive"),
    ("time-before-close", "time_before_close"),
    ("time_before_close", "time_before_close"),
    ("whitelist", "whitelist"),
];

const OF_PORTS: &[(&str, &str)] = &[
    ("connection_host", "connection_host"),
    ("maxSockets", "maxSockets"),
    ("no_appending_timestamp", "no_appending_timestamp"),
    ("no_priority_stripping", "no_priority_stripping"),
    ("queue", "queue"),
    ("rawTcpDoneTimeout", "rawTcpDoneTimeout"),
    ("restrictToHost", "restrictToHost"),
    ("SSL", "SSL"),
];

/// The meaning of an input's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// A path, perhaps with wildcards.
    Path,
    /// A program with its arguments.
    Command,
    /// A port.
    Port,
}

/// A kind of inputs.
#[derive(Debug)]
pub(super) struct Kind {
    /// Its path below `data/inputs`.
    pub(super) path: &'static str,
    /// The prefix of the names of its stanzas.
    scheme: &'static str,
    /// The capability for changing its inputs.
    pub(super) capability: &'static str,
    pub(super) one: &'static str,
    pub(super) many: &'static str,
    /// The parameters in addition to [`COMMON`].
    takes: &'static [(&'static str, &'static str)],
    name: Name,
}

pub(super) const MONITOR: Kind = Kind {
    path: "monitor",
    scheme: "monitor",
    capability: "edit_monitor",
    one: "a monitored file or directory",
    many: "monitored files and directories",
    takes: OF_FILES,
    name: Name::Path,
};
pub(super) const BATCH: Kind = Kind {
    path: "batch",
    scheme: "batch",
    one: "a directory whose files are indexed and deleted",
    many: "directories whose files are indexed and deleted",
    ..MONITOR
};
pub(super) const FIFO: Kind = Kind {
    path: "fifo",
    scheme: "fifo",
    one: "a named pipe",
    many: "named pipes",
    takes: &[],
    ..MONITOR
};
pub(super) const SCRIPT: Kind = Kind {
    path: "script",
    scheme: "script",
    capability: "edit_scripted",
    one: "a program whose output is indexed",
    many: "programs whose output is indexed",
    takes: &[("interval", "interval"), ("passAuth", "passAuth")],
    name: Name::Command,
};
pub(super) const TCP: Kind = Kind {
    path: "tcp/raw",
    scheme: "tcp",
    capability: "edit_tcp",
    one: "a TCP port",
    many: "TCP ports",
    takes: OF_PORTS,
    name: Name::Port,
};
pub(super) const FORWARDERS: Kind = Kind {
    path: "tcp/cooked",
    scheme: "splunktcp",
    capability: "edit_splunktcp",
    one: "a port for forwarders",
    many: "ports for forwarders",
    ..TCP
};
pub(super) const UDP: Kind = Kind {
    path: "udp",
    scheme: "udp",
    capability: "edit_udp",
    one: "a UDP port",
    many: "UDP ports",
    ..TCP
};

/// All kinds whose inputs are stanzas.
pub(super) const KINDS: [&Kind; 7] = [&MONITOR, &BATCH, &FIFO, &SCRIPT, &TCP, &FORWARDERS, &UDP];

impl Kind {
    /// The settings that it takes, each once.
    pub(super) fn setting_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = COMMON.iter().chain(self.takes).map(|(_, name)| *name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the name of a stanza's input; `None` if the stanza is of another kind.
    pub(super) fn name_of<'s>(&self, stanza: &'s str) -> Option<&'s str> {
        let name = stanza.strip_prefix(self.scheme)?.strip_prefix("://")?;
        // `tcp://:9514`: the name is the port.
        Some(if self.name == Name::Port { name.trim_start_matches(':') } else { name })
    }

    /// The stanza of a new input.
    pub(super) fn stanza_of(&self, name: &str) -> String {
        format!("{}://{name}", self.scheme)
    }

    /// The settings of a request.
    ///
    /// # Errors
    /// A parameter that the kind does not take, or an empty index.
    pub(super) fn settings(&self, params: &Params) -> Result<Settings, RestError> {
        let mut settings = Settings::new();
        for (parameter, value) in params.iter() {
            let ignored = REQUEST_PARAMETERS.contains(&parameter);
            if ignored || parameter.starts_with("eai:") {
                continue;
            }
            let mut taken = COMMON.iter().chain(self.takes);
            let Some((_, key)) = taken.find(|(known, _)| *known == parameter) else {
                let text = format!("Argument \"{parameter}\" is not supported by this handler.");
                return Err(RestError::invalid(text));
            };
            if *key == "SSL" {
                if is_true(value) {
                    let text = "SSL: inputs with TLS are not created over REST; write \
                                [tcp-ssl://<port>], or [splunktcp-ssl://<port>] for forwarders, \
                                into inputs.conf";
                    return Err(RestError::invalid(text));
                }
                continue;
            }
            let value = match *key {
                "disabled" => u8::from(is_true(value)).to_string(),
                "index" if value == "default" => "main".to_owned(),
                _ => value.to_owned(),
            };
            settings.retain(|(known, _)| known != key);
            settings.push(((*key).to_owned(), value));
        }
        Ok(settings)
    }

    /// Returns the name of a new input, and its additional settings.
    ///
    /// # Errors
    /// If the kind cannot have the name, or the name is not permitted.
    pub(super) fn name_of_new(
        &self,
        state: &ApiState,
        params: &Params,
        settings: &mut Settings,
    ) -> Result<String, RestError> {
        let given = params.required("name")?.trim();
        if self.path == "batch" && !settings.iter().any(|(key, _)| key == "move_policy") {
            settings.push(("move_policy".to_owned(), "sinkhole".to_owned()));
        }
        match self.name {
            Name::Port => port_name(given, settings),
            Name::Command => {
                check_program(state, given)?;
                Ok(given.to_owned())
            }
            Name::Path => {
                check_path(state, Path::new(given))?;
                if params.flag("check-path") && !Path::new(given).exists() {
                    let text = format!("\"{given}\" does not exist (check-path)");
                    return Err(RestError::invalid(text));
                }
                Ok(given.to_owned())
            }
        }
    }
}

/// `9514`, or `web-1:9514` where the input is restricted to a host.
fn port_name(given: &str, settings: &Settings) -> Result<String, RestError> {
    let only = settings.iter().find(|(key, value)| key == "restrictToHost" && !value.is_empty());
    let is_port = given.parse::<u16>().is_ok_and(|port| port > 0);
    let is_address = given.parse::<std::net::SocketAddr>().is_ok_and(|at| at.port() > 0);
    match only {
        Some((_, host)) if is_port => Ok(format!("{host}:{given}")),
        None if is_port || is_address => Ok(given.to_owned()),
        Some((_, host)) if is_address => Err(RestError::invalid(format!(
            "name: an input at an address of this machine, such as \"{given}\", cannot be restricted to a \
             sender: give the port alone with restrictToHost={host}, or leave out restrictToHost"
        ))),
        _ => Err(RestError::invalid(format!(
            "name: expected a port from 1 to 65535, or an address of this machine and a port, not \
             \"{given}\"; the host that may send is restrictToHost"
        ))),
    }
}

/// Checks that a path is a file that may be read over REST.
///
/// # Errors
/// If the path is relative, or leads to the server's own files, which include keys and passwords.
pub(super) fn check_path(state: &ApiState, path: &Path) -> Result<(), RestError> {
    if !path.is_absolute() {
        let text = format!("\"{}\": expected an absolute path", path.display());
        return Err(RestError::invalid(text));
    }
    let is_wild = |part: &std::ffi::OsStr| {
        let text = part.to_string_lossy();
        text.contains('*') || text.contains("...")
    };
    let fixed: PathBuf = path.iter().take_while(|part| !is_wild(part)).collect();
    let (fixed, home) = (resolved(&fixed), resolved(&state.info.home));
    if fixed.starts_with(&home) || home.starts_with(&fixed) {
        let text = format!(
            "\"{}\" is in the directory of the server itself, {}; choose files outside of it",
            path.display(),
            home.display()
        );
        return Err(RestError::invalid(text));
    }
    // Its cache, journal or object store on another disk.
    if let Some(own) = state.inputs.own_directories().holding(&fixed) {
        let text = format!(
            "\"{}\" is in a directory of the server itself, {}; choose files outside of it",
            path.display(),
            own.display()
        );
        return Err(RestError::invalid(text));
    }
    Ok(())
}

/// Refuses programs that administrators of the machine have not put where apps have theirs.
fn check_program(state: &ApiState, command: &str) -> Result<(), RestError> {
    let Some(directory) = state.apps.directory() else {
        let text = "scripts are files of apps, and the server has no directory of apps: start it with \
                    --conf-dir";
        return Err(RestError::invalid(text));
    };
    let directory = resolved(directory);
    let program = PathBuf::from(command.split_whitespace().next().unwrap_or_default());
    let refused = |reason: &str| {
        Err(RestError::invalid(format!(
            "\"{}\" {reason}; name the absolute path of a program in {dir}/apps/<app>/bin or \
             {dir}/bin/scripts",
            program.display(),
            dir = directory.display()
        )))
    };
    if !program.is_absolute() {
        return refused("is not an absolute path");
    }
    if !program.is_file() {
        return refused("is not a file");
    }
    let below = resolved(&program);
    let Ok(below) = below.strip_prefix(&directory) else {
        return refused("is outside the allowed directories");
    };
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    match parts[..] {
        ["apps", _, "bin", _, ..] | ["bin", "scripts", _, ..] => Ok(()),
        _ => refused("is outside the allowed directories"),
    }
}

/// A path without links and dots, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(found) = there.canonicalize() {
            return missing.into_iter().rev().fold(found, |path, part| path.join(part));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                there = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

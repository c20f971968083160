//! Reads `inputs.conf`: parses and checks the stanzas, and runs the inputs.
//!
//! Used both by the indexer, over its pipeline, and by the forwarder, over its queue. Inputs over HTTP
//! (`[http://...]`) are left to the program, which receives their tokens as they are written.

mod files;
mod home;
mod network;
mod opening;
mod run;
mod running;
mod skipped;
mod ssl;
mod stanza;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use conf::{Effective, Place, Reader, Stanza};
use model::IndexName;

use crate::exec::ScriptInput;
use crate::fifo::FifoInput;
use crate::monitor::{MonitorSettings, MonitorStatus, MonitorTarget};
use crate::s3::SqsInput;
use crate::tcp::TcpInput;
use crate::udp::UdpInput;
use crate::{Error, HostNames, OwnDirectories, RemoteHost};

pub use opening::PAUSE;
pub use run::{Bound, bind, start, start_bound};
pub use running::{
    Base, Change, ForwarderListener, InputDependencies, Listening, Protocol, RunningInputs,
    ServeForwarders,
};
pub use skipped::Skipped;
pub use ssl::{TlsFile, TlsSettings};
use stanza::Keys;

/// A token of `[http://<name>]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpToken {
    /// The name in the stanza.
    pub name: String,
    /// The secret.
    pub token: String,
    /// The default index of events.
    pub index: IndexName,
    /// Indexes events may go to; empty: all.
    pub indexes: Vec<IndexName>,
    /// Sourcetype of events that name none.
    pub sourcetype: Option<String>,
    /// Source of events that name none.
    pub source: Option<String>,
    /// Host of events that name none.
    pub host: Option<String>,
    /// Whether acknowledgement is enabled: senders can ask whether their events are safe.
    pub use_ack: bool,
    /// Whether the token may be sent as a query parameter; `None`: as before.
    pub query_string_auth: Option<bool>,
    /// Whether everything is refused.
    pub disabled: bool,
}

/// The settings of a port for forwarders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwarderPort {
    /// Whether connections are encrypted.
    pub tls: bool,
    /// The only host that may connect; `None`: all.
    pub only_from: Option<RemoteHost>,
}

/// Everything an `inputs.conf` switches on.
#[derive(Debug, Clone, Default)]
pub struct Configured {
    /// Files to follow, and to take in once.
    pub monitor: Vec<MonitorTarget>,
    /// Settings of the monitor.
    pub monitor_settings: MonitorSettings,
    /// Programs whose output is taken in.
    pub scripts: Vec<ScriptInput>,
    /// Named pipes.
    pub fifos: Vec<FifoInput>,
    /// TCP listeners.
    pub tcp: Vec<(SocketAddr, TcpInput)>,
    /// UDP listeners.
    pub udp: Vec<(SocketAddr, UdpInput)>,
    /// Ports for forwarders, for the program to serve.
    pub forwarders: Vec<(SocketAddr, ForwarderPort)>,
    /// Queues that tell of new S3 objects.
    pub sqs: Vec<SqsInput>,
    /// Tokens of the HTTP event collector, for the program to keep.
    pub http: Vec<HttpToken>,
    /// Names of senders, for all inputs that want them.
    pub names: HostNames,
    /// Warnings about stanzas of unsupported inputs, with alternatives.
    pub warnings: Vec<String>,
    /// Indexes that inputs of the administrator name, each with the place of a stanza that does.
    own_indexes: BTreeMap<IndexName, Place>,
    /// Indexes that only inputs of apps name, each with the place of a stanza that does.
    app_indexes: BTreeMap<IndexName, Place>,
    /// Ports that apps listen at.
    app_ports: BTreeSet<SocketAddr>,
}

impl Configured {
    /// Reads an `inputs.conf`; `host` is the name of this machine.
    ///
    /// # Errors
    /// All mistakes, each with file, stanza and key.
    pub fn read(conf: &Effective, host: &str) -> Result<Self, Vec<Error>> {
        Self::read_tolerating(conf, host, &|_| false)
    }

    /// As [`Configured::read`], but invalid inputs of apps are left out, with a warning. `of_app` tells
    /// whether a place belongs to an app.
    ///
    /// # Errors
    /// If there are other mistakes; the errors name file, stanza and key.
    pub fn read_tolerating(
        conf: &Effective,
        host: &str,
        of_app: &dyn Fn(&Place) -> bool,
    ) -> Result<Self, Vec<Error>> {
        let mut configured = Self::default();
        let mut errors = Vec::new();
        let host: Arc<str> = host.into();
        for stanza in &conf.stanzas {
            let mut keys = Keys::new(conf, stanza);
            let mut one = Self { names: configured.names.clone(), ..Self::default() };
            if !keys.get(&crate::settings::DISABLED) || stanza.name.starts_with("http://") {
                one.add(&mut keys, &host);
            }
            if !of_app(&stanza.place) {
                for index in one.indexes().into_keys() {
                    configured.own_indexes.entry(index).or_insert_with(|| stanza.place.clone());
                }
                errors.append(&mut keys.errors);
            } else if !keys.errors.is_empty() {
                let ignored = keys
                    .errors
                    .iter()
                    .map(|error| format!("{error}; the input [{}] is ignored", stanza.name));
                configured.warnings.extend(ignored);
                continue;
            } else {
                let indexes = one.indexes().into_keys().map(|index| (index, stanza.place.clone()));
                configured.app_indexes.extend(indexes);
                configured.app_ports.extend(one.addresses());
            }
            configured.append(one);
        }
        let own = &configured.own_indexes;
        configured.app_indexes.retain(|index, _| !own.contains_key(index));
        if errors.is_empty() { Ok(configured) } else { Err(errors) }
    }

    fn append(&mut self, other: Self) {
        self.monitor.extend(other.monitor);
        self.scripts.extend(other.scripts);
        self.fifos.extend(other.fifos);
        self.tcp.extend(other.tcp);
        self.udp.extend(other.udp);
        self.forwarders.extend(other.forwarders);
        self.sqs.extend(other.sqs);
        self.http.extend(other.http);
        self.warnings.extend(other.warnings);
    }

    /// The stanza's place, if only apps have inputs for an index: their inputs can be left out.
    #[must_use]
    pub fn index_of_apps(&self, index: &IndexName) -> Option<&Place> {
        self.app_indexes.get(index)
    }

    /// The stanza's place, if an input that is not an app's is for an index.
    #[must_use]
    pub fn index_of_system(&self, index: &IndexName) -> Option<&Place> {
        self.own_indexes.get(index)
    }

    /// The addresses that are listened at.
    fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let tcp = self.tcp.iter().map(|(address, _)| *address);
        let udp = self.udp.iter().map(|(address, _)| *address);
        tcp.chain(udp).chain(self.forwarders.iter().map(|(address, _)| *address))
    }

    /// Leaves out the inputs for an index.
    pub fn leave_out(&mut self, index: &IndexName) {
        self.monitor.retain(|one| one.index != *index);
        self.scripts.retain(|one| one.index != *index);
        self.fifos.retain(|one| one.index != *index);
        self.tcp.retain(|(_, one)| one.index != *index);
        self.udp.retain(|(_, one)| one.index != *index);
        self.sqs.retain(|one| one.index != *index);
        self.http.retain(|one| one.index != *index && !one.indexes.contains(index));
    }

    fn add(&mut self, keys: &mut Keys<'_>, host: &Arc<str>) {
        let Some((kind, rest)) = split(keys.name()) else { return };
        let path = match WITH_PATHS.contains(&kind).then(|| keys.path(rest)) {
            Some(Err(reason)) => {
                let (name, place) = (keys.name(), keys.place());
                self.warnings.push(format!("{place}: [{name}]: {reason}; the stanza is skipped"));
                return;
            }
            Some(Ok(path)) => path,
            None => rest.to_owned(),
        };
        let rest = path.as_str();
        match kind {
            "monitor" => self.monitor.extend(files::monitor(keys, rest, host)),
            "batch" => self.monitor.extend(files::batch(keys, rest, host)),
            "script" => self.scripts.extend(files::script(keys, rest, host)),
            "fifo" => self.fifos.push(files::fifo(keys, rest, host)),
            "tcp" => self.tcp.extend(network::tcp(keys, (rest, false), host, &self.names)),
            "tcp-ssl" => {
                ssl::refuse_restriction(keys);
                self.warnings.extend(ssl::warnings(keys, false));
                self.tcp.extend(network::tcp(keys, (rest, true), host, &self.names));
            }
            "udp" => self.udp.extend(network::udp(keys, rest, host, &self.names)),
            "http" => {
                if let Some(place) = keys.empty(&crate::settings::TOKEN) {
                    let name = keys.name();
                    self.warnings.push(format!(
                        "{place}: [{name}] token: it is empty, so the stanza is not an input; set a secret, \
                         such as a new GUID, or remove the stanza"
                    ));
                }
                self.http.extend(network::http(keys, rest));
            }
            "splunktcp" => self.forwarders.extend(network::forwarders(keys, rest, false)),
            "splunktcp-ssl" => {
                self.warnings.extend(ssl::warnings(keys, true));
                self.forwarders.extend(network::forwarders(keys, rest, true));
            }
            "aws_sqs_based_s3" | "aws_sqs_s3" => {
                self.sqs.extend(files::sqs(keys, rest, host));
            }
            other => {
                let name = keys.name();
                let place = keys.place();
                let text = format!(
                    "{place}: [{name}]: there is no input \"{other}\"; the stanza is skipped"
                );
                self.warnings.push(text);
            }
        }
    }

    /// All indexes that events may go to, each with where that is said; for the program to check.
    #[must_use]
    pub fn indexes(&self) -> BTreeMap<IndexName, &'static str> {
        let mut all = BTreeMap::new();
        let mut note = |index: &IndexName, what| {
            all.entry(index.clone()).or_insert(what);
        };
        self.monitor.iter().for_each(|one| note(&one.index, "a file input"));
        self.scripts.iter().for_each(|one| note(&one.index, "a script input"));
        self.fifos.iter().for_each(|one| note(&one.index, "a fifo input"));
        self.tcp.iter().for_each(|(_, one)| note(&one.index, "a tcp input"));
        self.udp.iter().for_each(|(_, one)| note(&one.index, "a udp input"));
        self.sqs.iter().for_each(|one| note(&one.index, "an S3 input"));
        for token in &self.http {
            note(&token.index, "an http token");
            token.indexes.iter().for_each(|index| note(index, "an http token"));
        }
        all
    }
}

/// Whether a stanza disables its input.
#[must_use]
pub fn is_disabled(stanza: &Stanza) -> bool {
    let disabled = crate::settings::DISABLED;
    let entry = stanza.get(disabled.name());
    entry.and_then(|entry| disabled.value(&entry.value)) == Some(true)
}

/// The groups of outputs that an input is routed to (`_TCP_ROUTING`); empty where nothing is said.
#[must_use]
pub fn routing<'a>(conf: &'a Effective, stanza: &'a str) -> &'a str {
    Reader::new(conf, stanza).text(&crate::settings::TCP_ROUTING).unwrap_or_default()
}

/// Inputs whose names are paths.
const WITH_PATHS: [&str; 4] = ["monitor", "batch", "script", "fifo"];

/// Inputs that Splunk writes with one colon: `[tcp-ssl:<port>]`.
const WITH_ONE_COLON: [&str; 2] = ["tcp-ssl", "splunktcp-ssl"];

/// Splits `kind://rest` or `kind:rest`; `None` for stanzas such as `[default]` and `[http]`, which are not
/// inputs.
fn split(name: &str) -> Option<(&str, &str)> {
    let one_colon = || name.split_once(':').filter(|(kind, _)| WITH_ONE_COLON.contains(kind));
    name.split_once("://").or_else(one_colon)
}

/// The parts that running inputs need.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Folder for checkpoints; of this process alone.
    pub state: PathBuf,
    /// `AWS_*` variables as the process got them.
    pub aws: BTreeMap<String, String>,
    /// Receives the status of the followed files.
    pub files: MonitorStatus,
    /// Directories of the program, which are not monitored.
    pub own: OwnDirectories,
}

#[cfg(test)]
mod tests;

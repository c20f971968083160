//! The running inputs, and changes of them at run time.
//!
//! A change is prepared first: the stanza is read and its port is bound, so that the caller receives the
//! errors. Then the caller makes it durable, and it is applied: units with changed settings are restarted,
//! all others are not touched. A port stays bound and its connections continue if only settings change; they
//! end with the input.
//!
//! ```text
//! change() -> prepare(conf, stanza) -> (caller: durable) -> apply()
//! ```
//!
//! If another process has made the change durable, it is applied without a stanza, and the caller receives
//! the inputs that are skipped.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conf::Effective;
use futures::future::join_all;
use runtime::Shutdown;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use super::opening::{MONITORED, NotRunning, beside_sockets};
use super::run::{Bound, listener, udp_port};
use super::skipped::Skipped;
use super::units::{COMMAND_LINE, CheckIndex, Said, Unit, Wanted, Wants, Work};
use super::{Configured, ForwarderPort, Parts};
use crate::monitor::{Monitor, MonitorSettings, MonitorTarget};
use crate::s3::SqsInput;
use crate::tcp::{Signals, serve_port};
use crate::tls::Handshake;
use crate::udp::UdpPort;
use crate::{Error, HostNames, OwnDirectories, Sink};

/// Time-out of stopping an input, which waits until its sent events are acknowledged.
const STOP: Duration = Duration::from_secs(25);

/// The dependencies of the inputs on the program.
pub struct InputDependencies {
    /// The name of this machine.
    pub host: Arc<str>,
    /// Settings of the monitor.
    pub monitor: MonitorSettings,
    /// The directory of checkpoints, the credentials, and the status of files.
    pub parts: Parts,
    /// The destination of events.
    pub sink: Arc<dyn Sink>,
    /// Says why events cannot go to an index, if they cannot.
    pub check_index: Arc<CheckIndex>,
}

impl fmt::Debug for InputDependencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputDependencies").field("host", &self.host).finish_non_exhaustive()
    }
}

/// The configuration and the connections for the inputs of one run of the program.
pub struct Base {
    /// Inputs that always run: those of the command line.
    pub always: Configured,
    /// Serves a port for forwarders.
    pub forwarders: ServeForwarders,
    /// The handshake of inputs with TLS; `None`: they refuse connections.
    pub tls: Option<Handshake>,
    /// The signal to stop.
    pub shutdown: Shutdown,
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").field("always", &self.always).finish_non_exhaustive()
    }
}

/// Serves a port for forwarders until its signals.
pub type ServeForwarders = Arc<dyn Fn(ForwarderListener) + Send + Sync>;

/// A port for forwarders.
#[derive(Debug)]
pub struct ForwarderListener {
    /// The port.
    pub listener: Arc<TcpListener>,
    /// The hosts that may connect, and how: a connection uses the first port setting that matches.
    pub ports: Vec<ForwarderPort>,
    /// When it ends.
    pub signals: Signals,
}

/// The running inputs. Clones are handles to the same.
#[derive(Debug, Clone)]
pub struct RunningInputs {
    inner: Arc<Inner>,
}

struct Inner {
    dependencies: InputDependencies,
    names: HostNames,
    state: Arc<Mutex<State>>,
    not_running: NotRunning,
    /// Whether the sink's notes about files have been taken over.
    has_notes: Arc<AtomicBool>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningInputs").field("of", &self.dependencies).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    /// `None` before the start and after the stop.
    base: Option<Base>,
    units: BTreeMap<Unit, Running>,
}

/// A unit that runs.
struct Running {
    said: Said,
    socket: Option<Socket>,
    signals: Signals,
    /// Whether inputs over TCP use TLS.
    tls: bool,
}

#[derive(Clone)]
enum Socket {
    Tcp(Arc<TcpListener>),
    Udp(Arc<UdpPort>),
}

impl Socket {
    fn local(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Udp(socket) => socket.local_addr().ok(),
        }
    }

    fn address(&self) -> String {
        let (scheme, address) = match self {
            Self::Tcp(listener) => ("tcp", listener.local_addr()),
            Self::Udp(socket) => ("udp", socket.local_addr()),
        };
        address.map_or_else(|_| scheme.to_owned(), |address| format!("{scheme}://{address}"))
    }
}

impl RunningInputs {
    /// Inputs that do not run yet.
    #[must_use]
    pub fn new(dependencies: InputDependencies) -> Self {
        let inner = Inner {
            dependencies,
            names: HostNames::default(),
            state: Arc::default(),
            not_running: NotRunning::default(),
            has_notes: Arc::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the inputs that cannot be opened, and those of [`Self::name_skipped`], with the reasons;
    /// `None` if there are none. They are tried again.
    #[must_use]
    pub fn not_running(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.inner.not_running.text()
    }

    /// Names inputs that do not run, and that the caller tries again every [`super::PAUSE`], in
    /// [`Self::not_running`], in place of those that were named before.
    pub fn name_skipped<'a>(&self, skipped: impl Iterator<Item = &'a Skipped>) {
        self.inner.not_running.name_skipped(skipped);
    }

    /// Whether [`Self::name_skipped`] has named inputs that the caller has to try again.
    #[must_use]
    pub fn has_skipped(&self) -> bool {
        self.inner.not_running.has_skipped()
    }

    /// Directories of the program, which inputs leave out.
    #[must_use]
    pub fn own_directories(&self) -> &OwnDirectories {
        &self.inner.dependencies.parts.own
    }

    /// Starts the inputs of a configuration, on the ports that are already bound. Invalid inputs are left
    /// out, with a warning. Returns the addresses that are listened on, with their purposes.
    pub async fn start(
        &self,
        base: Base,
        conf: &Effective,
        bound: Bound,
    ) -> Vec<(&'static str, String)> {
        let mut state = Arc::clone(&self.inner.state).lock_owned().await;
        let (inner, shutdown) = (Arc::clone(&self.inner), base.shutdown.clone());
        base.shutdown.spawn(async move {
            shutdown.stopped().await;
            inner.stop().await;
        });
        let wants = self.inner.wants(&base, conf);
        state.base = Some(base);
        for mistake in wants.errors.iter().filter(|mistake| !mistake.off) {
            tracing::warn!("{}", Skipped::new(&mistake.stanza, &mistake.error));
        }
        let mut sockets = BTreeMap::new();
        for (address, port) in bound.tcp {
            sockets.insert(Unit::Tcp(address), Socket::Tcp(Arc::new(port)));
        }
        for (address, port) in bound.udp {
            sockets.insert(Unit::Udp(address), Socket::Udp(Arc::new(port)));
        }
        for (address, port) in bound.forwarders {
            sockets.insert(Unit::Forwarders(address), Socket::Tcp(Arc::new(port)));
        }
        for (stanza, error) in bind_missing(&state, &wants.units, &mut sockets).await {
            tracing::warn!("{}", Skipped::new(&stanza, &error));
        }
        let (inner, wanted, skipped) = (Arc::clone(&self.inner), wants.units, Vec::new());
        let mut change = Change { inner, state, wanted, sockets, skipped };
        change.bring_about().await;
        let listens = change.state.units.iter().filter_map(|(unit, running)| {
            let what = if matches!(unit, Unit::Forwarders(_)) { "forwarders" } else { "input" };
            Some((what, running.socket.as_ref()?.address()))
        });
        listens.collect()
    }

    /// Begins a change; concurrent changes wait until it is finished.
    ///
    /// # Errors
    /// [`Error::Closed`] before the start and after the stop.
    pub async fn change(&self) -> Result<Change, Error> {
        let state = Arc::clone(&self.inner.state).lock_owned().await;
        if state.base.as_ref().is_none_or(|base| base.shutdown.is_stopped()) {
            return Err(Error::Closed);
        }
        let (wanted, sockets) = (BTreeMap::new(), BTreeMap::new());
        let inner = Arc::clone(&self.inner);
        Ok(Change { inner, state, wanted, sockets, skipped: Vec::new() })
    }
}

/// A port that an input listens at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listening {
    /// The protocol of the port.
    pub protocol: Protocol,
    /// The address of the port.
    pub address: SocketAddr,
    /// The stanza of the input; `None` for one of the command line.
    pub stanza: Option<String>,
    /// The index that the stanza names.
    pub index: Option<String>,
    /// The source type that the stanza names.
    pub sourcetype: Option<String>,
}

/// The protocol of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Text over TCP.
    Tcp {
        /// Whether connections are encrypted.
        tls: bool,
    },
    /// Text over UDP.
    Udp,
    /// Batches of forwarders.
    Forwarders {
        /// Whether connections are encrypted.
        tls: bool,
    },
}

impl RunningInputs {
    /// Returns the ports that are listened on, one entry for each stanza. Waits while a change is in
    /// progress.
    pub async fn listening(&self) -> Vec<Listening> {
        let state = self.inner.state.lock().await;
        let mut all = Vec::new();
        for (unit, running) in &state.units {
            let Some(address) = running.socket.as_ref().and_then(Socket::local) else { continue };
            for (stanza, settings) in &running.said {
                let setting = |name: &str| {
                    let found = settings.iter().find(|(key, _)| key == name);
                    found.map(|(_, value)| value.clone())
                };
                let protocol = match unit {
                    Unit::Tcp(_) => Protocol::Tcp { tls: running.tls },
                    Unit::Udp(_) => Protocol::Udp,
                    Unit::Forwarders(_) => {
                        Protocol::Forwarders { tls: stanza.starts_with("splunktcp-ssl:") }
                    }
                    Unit::Monitor | Unit::Stanza(_) => continue,
                };
                all.push(Listening {
                    protocol,
                    address,
                    stanza: (stanza != COMMAND_LINE).then(|| stanza.clone()),
                    index: setting(crate::settings::INDEX.name()),
                    sourcetype: setting(crate::settings::SOURCETYPE.name()),
                });
            }
        }
        all
    }
}

/// A change of the running inputs. If it is dropped before it is applied, nothing changes.
pub struct Change {
    inner: Arc<Inner>,
    state: OwnedMutexGuard<State>,
    wanted: BTreeMap<Unit, Wanted>,
    sockets: BTreeMap<Unit, Socket>,
    skipped: Vec<Skipped>,
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change").field("units", &self.wanted.keys()).finish_non_exhaustive()
    }
}

impl Change {
    /// Reads a configuration, and binds the ports that it needs in addition.
    ///
    /// # Errors
    /// If the stanza is invalid. Invalid other stanzas stay stopped.
    pub async fn prepare(&mut self, conf: &Effective, stanza: &str) -> Result<(), Error> {
        let Some(base) = &self.state.base else { return Err(Error::Closed) };
        let Wants { units, errors } = self.inner.wants(base, conf);
        self.skipped.clear();
        for mistake in errors {
            if mistake.concerns(stanza) {
                return Err(mistake.error);
            }
            if !mistake.off {
                self.skipped.push(Skipped::new(&mistake.stanza, &mistake.error));
            }
        }
        for (name, error) in bind_missing(&self.state, &units, &mut self.sockets).await {
            if name == stanza {
                return Err(error);
            }
            self.skipped.push(Skipped::new(&name, &error));
        }
        self.wanted = units;
        Ok(())
    }

    /// Reads a configuration, and prepares only the end of inputs that it does not have any more, or that it
    /// disables. Nothing else begins or changes, except in a unit with several inputs, such as all monitored
    /// files: it changes as a whole.
    ///
    /// # Errors
    /// [`Error::Closed`] before the start and after the stop.
    pub fn prepare_end(&mut self, conf: &Effective) -> Result<(), Error> {
        let Some(base) = &self.state.base else { return Err(Error::Closed) };
        let mut units = self.inner.wants(base, conf).units;
        units.retain(|unit, wanted| {
            let Some(running) = self.state.units.get(unit) else { return false };
            let goes_on = |stanza: &String| wanted.said.iter().any(|(other, _)| other == stanza);
            let going_on = running.said.iter().filter(|(stanza, _)| goes_on(stanza)).count();
            if going_on == running.said.len() {
                wanted.said.clone_from(&running.said);
            }
            // If none of them goes on, a new input has their port.
            going_on > 0
        });
        self.wanted = units;
        Ok(())
    }

    /// Returns the enabled inputs of the prepared configuration that will not run.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Stops and starts the units that differ from the prepared configuration.
    pub async fn apply(mut self) {
        self.bring_about().await;
    }

    async fn bring_about(&mut self) {
        let mut kept = BTreeMap::new();
        let wanted = &self.wanted;
        let changed = |unit: &Unit, running: &Running| {
            wanted.get(unit).is_none_or(|wanted| wanted.said != running.said)
        };
        let ended: Vec<Unit> = self
            .state
            .units
            .iter()
            .filter(|(unit, one)| changed(unit, one))
            .map(|(unit, _)| unit.clone())
            .collect();
        let mut ends = Vec::new();
        for unit in ended {
            let Some(running) = self.state.units.remove(&unit) else { continue };
            let goes_on = self.wanted.contains_key(&unit);
            if let (true, Some(socket)) = (goes_on, running.socket.clone()) {
                self.sockets.insert(unit.clone(), socket);
                kept.insert(unit, running.signals.connections.clone());
            }
            ends.push(running.end(goes_on));
        }
        join_all(ends).await;
        for (unit, wanted) in std::mem::take(&mut self.wanted) {
            if self.state.units.contains_key(&unit) {
                continue;
            }
            let socket = self.sockets.remove(&unit);
            let connections = kept.remove(&unit);
            self.begin(unit, wanted, socket, connections);
        }
    }

    fn begin(
        &mut self,
        unit: Unit,
        wanted: Wanted,
        socket: Option<Socket>,
        connections: Option<Shutdown>,
    ) {
        let Some(base) = &self.state.base else { return };
        let connections = connections.unwrap_or_else(|| base.shutdown.part());
        let signals = Signals { accepting: connections.part(), connections };
        let accepting = &signals.accepting;
        let dependencies = &self.inner.dependencies;
        let sink = Arc::clone(&dependencies.sink);
        let tls = wanted.work.is_tcp_with_tls();
        match (wanted.work, &socket) {
            (Work::Tcp(inputs), Some(Socket::Tcp(listener))) => {
                let (listener, handshake) = (Arc::clone(listener), base.tls.clone());
                accepting.spawn(serve_port(listener, inputs, sink, handshake, signals.clone()));
            }
            (Work::Udp(input), Some(Socket::Udp(socket))) => {
                let port = input.serve_port(Arc::clone(socket), sink, accepting.clone());
                accepting.spawn(port);
            }
            (Work::Forwarders(ports), Some(Socket::Tcp(listener))) => {
                let (listener, signals) = (Arc::clone(listener), signals.clone());
                (base.forwarders)(ForwarderListener { listener, ports, signals });
            }
            // Its port could not be bound, which has been said.
            (Work::Tcp(_) | Work::Udp(_) | Work::Forwarders(_), _) => return,
            (Work::Monitor(targets), _) => self.inner.begin_monitor(targets, accepting),
            (Work::Script(script), _) => drop(accepting.spawn(script.run(sink, accepting.clone()))),
            (Work::Fifo(fifo), _) => drop(accepting.spawn(fifo.run(sink, accepting.clone()))),
            (Work::Sqs(queue), _) => {
                let stanza = wanted.said.first().map_or("", |(stanza, _)| stanza.as_str());
                self.inner.begin_queue(stanza, queue, accepting);
            }
        }
        self.state.units.insert(unit, Running { said: wanted.said, socket, signals, tls });
    }
}

impl Running {
    /// Stops the unit; also closes its connections, unless its port continues.
    async fn end(self, goes_on: bool) {
        let Signals { accepting, connections } = self.signals;
        let mut ended = accepting.finish(STOP).await;
        if !goes_on {
            ended = ended.and(connections.finish(STOP).await);
        }
        if let Err(error) = ended {
            tracing::warn!(%error, "an input has not ended in time");
        }
    }
}

impl Inner {
    fn wants(&self, base: &Base, conf: &Effective) -> Wants {
        let InputDependencies { host, check_index, .. } = &self.dependencies;
        Wants::of(conf, &base.always, host, &self.names, &**check_index)
    }

    /// Follows files, as soon as their checkpoints can be opened.
    fn begin_monitor(&self, targets: Vec<MonitorTarget>, until: &Shutdown) {
        let InputDependencies { monitor, parts, sink, .. } = &self.dependencies;
        parts.files.clear();
        let (settings, book) = (*monitor, parts.state.join("monitor"));
        let (files, own) = (parts.files.clone(), parts.own.clone());
        let (has_notes, sink) = (Arc::clone(&self.has_notes), Arc::clone(sink));
        let opening = self.not_running.opening(MONITORED, until);
        let shutdown = until.clone();
        until.spawn(async move {
            let open = Arc::new(move || Monitor::new(targets.clone(), &book, settings));
            let open = || beside_sockets(Arc::clone(&open));
            let Some(monitor) = opening.until_open(open).await else { return };
            // A later monitor has newer checkpoints than the notes.
            let takes_notes = !has_notes.swap(true, Ordering::Relaxed);
            let monitor = monitor.with_status(files).without(own).with_notes(takes_notes);
            Box::pin(monitor.run(sink, shutdown)).await;
        });
    }

    /// Reads a queue, as soon as the list of what was read can be opened.
    fn begin_queue(&self, stanza: &str, queue: SqsInput, until: &Shutdown) {
        let InputDependencies { parts, sink, .. } = &self.dependencies;
        let taken = parts.state.join(format!("sqs-{}", queue.file_name()));
        let (aws, sink, shutdown) = (parts.aws.clone(), Arc::clone(sink), until.clone());
        // Several stanzas may name one queue.
        let opening = self.not_running.opening(format!("[{stanza}]"), until);
        until.spawn(async move {
            let open = || {
                let (queue, taken, aws) = (queue.clone(), taken.clone(), aws.clone());
                async move { queue.open(&taken, &aws).await }
            };
            let Some(reader) = opening.until_open(open).await else { return };
            Box::pin(reader.run(sink, shutdown)).await;
        });
    }

    /// Ends everything.
    async fn stop(&self) {
        let mut state = self.state.lock().await;
        state.base = None;
        let units = std::mem::take(&mut state.units);
        join_all(units.into_values().map(|unit| unit.end(false))).await;
    }
}

/// Binds the ports of units that do not run yet. Returns the failures by stanza.
async fn bind_missing(
    state: &State,
    wanted: &BTreeMap<Unit, Wanted>,
    sockets: &mut BTreeMap<Unit, Socket>,
) -> Vec<(String, Error)> {
    let mut failed = Vec::new();
    for (unit, wanted) in wanted {
        if state.units.contains_key(unit) || sockets.contains_key(unit) {
            continue;
        }
        let bound = match unit {
            Unit::Tcp(address) | Unit::Forwarders(address) => {
                listener(*address).await.map(|port| Socket::Tcp(Arc::new(port)))
            }
            Unit::Udp(address) => {
                // The input sets the size of its receive buffer when it starts.
                udp_port(*address, 0).await.map(|port| Socket::Udp(Arc::new(port)))
            }
            Unit::Monitor | Unit::Stanza(_) => continue,
        };
        match bound {
            Ok(socket) => drop(sockets.insert(unit.clone(), socket)),
            Err(error) => {
                let stanzas = wanted.said.iter().map(|(stanza, _)| stanza.clone());
                failed.extend(stanzas.map(|stanza| (stanza, error.clone())));
            }
        }
    }
    failed
}

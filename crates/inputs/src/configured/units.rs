//! The units of an `inputs.conf`. A unit is the part that can be started and stopped alone: a port, a
//! program, a pipe, a queue, or all monitored files together.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use conf::Effective;
use model::{ErrorKind, IndexName};

use super::stanza::Keys;
use super::{Configured, ForwarderPort};
use crate::exec::ScriptInput;
use crate::fifo::FifoInput;
use crate::monitor::MonitorTarget;
use crate::s3::SqsInput;
use crate::tcp::TcpInput;
use crate::udp::UdpInput;
use crate::{Error, HostNames, RemoteHost, settings};

/// The identity of a unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// All monitored files: they share their checkpoints.
    Monitor,
    Tcp(SocketAddr),
    Udp(SocketAddr),
    Forwarders(SocketAddr),
    /// The only input of a stanza.
    Stanza(String),
}

/// The stanzas of a unit with their settings: a unit is started anew if they change.
pub(super) type Said = Vec<(String, Vec<(String, String)>)>;

/// The task of a unit.
#[derive(Debug, Clone)]
pub(super) enum Work {
    Monitor(Vec<MonitorTarget>),
    Tcp(Vec<TcpInput>),
    Udp(UdpInput),
    Forwarders(Vec<ForwarderPort>),
    Script(ScriptInput),
    Fifo(FifoInput),
    Sqs(SqsInput),
}

impl Work {
    /// Whether one of its connections is encrypted.
    fn uses_tls(&self) -> bool {
        self.is_tcp_with_tls()
            || matches!(self, Self::Forwarders(ports) if ports.iter().any(|port| port.tls))
    }

    /// Whether it takes text over TCP with TLS.
    pub(super) fn is_tcp_with_tls(&self) -> bool {
        matches!(self, Self::Tcp(inputs) if inputs.iter().any(|input| input.tls))
    }
}

/// A unit that is to run.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) said: Said,
    pub(super) work: Work,
}

/// All units of a configuration, and its mistakes by stanza.
#[derive(Debug, Default)]
pub(super) struct Wants {
    pub(super) units: BTreeMap<Unit, Wanted>,
    pub(super) errors: Vec<Mistake>,
}

/// An invalid stanza, with the reason.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) stanza: String,
    /// Whether the input is disabled.
    pub(super) off: bool,
    /// Other stanzas with the same port, which are affected, too.
    pub(super) others: Vec<String>,
    pub(super) error: Error,
}

impl Mistake {
    pub(super) fn concerns(&self, stanza: &str) -> bool {
        self.stanza == stanza || self.others.iter().any(|other| other == stanza)
    }
}

/// Says why an index cannot be written to.
pub(super) type CheckIndex = dyn Fn(&IndexName) -> Result<(), String> + Send + Sync;

/// Name of the inputs of the command line among the stanzas.
pub(super) const COMMAND_LINE: &str = "the command line";

impl Wants {
    /// Returns the units of a configuration, in addition to those that always run.
    pub(super) fn of(
        conf: &Effective,
        always: &Configured,
        host: &Arc<str>,
        names: &HostNames,
        check_index: &CheckIndex,
    ) -> Self {
        let mut wants = Self::default();
        wants.add((COMMAND_LINE.to_owned(), Vec::new()), always.clone());
        for stanza in &conf.stanzas {
            let mut keys = Keys::new(conf, stanza);
            let mut one = Configured { names: names.clone(), ..Configured::default() };
            let off = keys.get(&settings::DISABLED);
            one.add(&mut keys, host);
            let mut errors = std::mem::take(&mut keys.errors);
            for index in one.indexes().keys() {
                let refused = |reason: String| Error::Refused {
                    kind: ErrorKind::Invalid,
                    reason: reason.into(),
                };
                errors.extend(check_index(index).map_err(refused).err());
            }
            if !errors.is_empty() || off {
                let mistake = |error| {
                    let (stanza, others) = (stanza.name.clone(), Vec::new());
                    Mistake { stanza, off, others, error }
                };
                wants.errors.extend(errors.into_iter().map(mistake));
                continue;
            }
            let complete = conf.complete(&stanza.name).into_iter();
            let settings = complete.map(|entry| (entry.key.clone(), entry.value.clone()));
            wants.add((stanza.name.clone(), settings.collect()), one);
        }
        wants
    }

    fn add(&mut self, said: (String, Vec<(String, String)>), one: Configured) {
        let stanza = said.0.clone();
        if !one.monitor.is_empty() {
            let unit = self
                .units
                .entry(Unit::Monitor)
                .or_insert_with(|| Wanted { said: Said::new(), work: Work::Monitor(Vec::new()) });
            if let Work::Monitor(targets) = &mut unit.work {
                targets.extend(one.monitor);
            }
            unit.said.push(said.clone());
        }
        for (address, input) in one.tcp {
            let only = input.only_from.clone();
            let work = Work::Tcp(vec![input]);
            self.listen(Unit::Tcp(address), &said, only.as_ref(), work);
        }
        for (address, input) in one.udp {
            self.listen(Unit::Udp(address), &said, None, Work::Udp(input));
        }
        for (address, port) in one.forwarders {
            let only = port.only_from.clone();
            let work = Work::Forwarders(vec![port]);
            self.listen(Unit::Forwarders(address), &said, only.as_ref(), work);
        }
        let scripts = one.scripts.into_iter().map(Work::Script);
        let fifos = one.fifos.into_iter().map(Work::Fifo);
        let queues = one.sqs.into_iter().map(Work::Sqs);
        for work in scripts.chain(fifos).chain(queues) {
            let wanted = Wanted { said: vec![said.clone()], work };
            self.units.insert(Unit::Stanza(stanza.clone()), wanted);
        }
    }

    /// Adds an input that listens on an address. Inputs restricted to different hosts share the address.
    fn listen(
        &mut self,
        unit: Unit,
        said: &(String, Vec<(String, String)>),
        only: Option<&RemoteHost>,
        work: Work,
    ) {
        let uses_tls = work.uses_tls();
        let Some(known) = self.units.get_mut(&unit) else {
            self.units.insert(unit, Wanted { said: vec![said.clone()], work });
            return;
        };
        let shared = match (&mut known.work, work) {
            (Work::Tcp(known), Work::Tcp(more)) => {
                let apart = known.iter().all(|one| {
                    differ(one.only_from.as_ref(), only) && more.iter().all(|m| m.tls == one.tls)
                });
                if apart {
                    known.extend(more);
                }
                apart
            }
            (Work::Forwarders(known), Work::Forwarders(more)) => {
                let apart = known.iter().all(|one| {
                    differ(one.only_from.as_ref(), only) && more.iter().all(|m| m.tls == one.tls)
                });
                if apart {
                    known.extend(more);
                }
                apart
            }
            _ => false,
        };
        if shared {
            known.said.push(said.clone());
            return;
        }
        let other = known.said.first().map_or_else(String::new, |(name, _)| name.clone());
        let help = if known.work.uses_tls() == uses_tls {
            "; use another, or restrict each to a host (restrictToHost)"
        } else {
            ", and only one of them uses TLS; use another, or TLS for both, each restricted to a host \
             (restrictToHost)"
        };
        let reason = format!("[{}]: its port is that of [{other}]{help}", said.0);
        let error = Error::Refused { kind: ErrorKind::Invalid, reason: reason.into() };
        let others = known.said.iter().map(|(stanza, _)| stanza.clone()).collect();
        self.errors.push(Mistake { stanza: said.0.clone(), off: false, others, error });
    }
}

/// Whether two inputs are for different hosts.
fn differ(one: Option<&RemoteHost>, other: Option<&RemoteHost>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

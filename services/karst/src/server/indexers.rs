//! The indexers of the cluster, which read buckets for searches of this process.

use std::collections::HashMap;
use std::fmt;

use catalog::Catalog;
use distributed::Channel;
use jiff::Timestamp;
use model::EventTime;
use parking_lot::Mutex;
use peers::Registration;
use search::{Worker, Workers};
use transport::Transport;

/// See the module.
pub(crate) struct Indexers {
    catalog: Catalog,
    transport: Transport,
    /// The identity of this process.
    own: String,
    /// The site of this process, if stored buckets are to be read by indexers in the same site.
    site: Option<String>,
    /// The connections so far, by address.
    channels: Mutex<HashMap<String, Channel>>,
}

impl fmt::Debug for Indexers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexers").field("own", &self.own).finish_non_exhaustive()
    }
}

impl Indexers {
    pub(crate) fn new(
        catalog: Catalog,
        transport: Transport,
        (own, site): (String, Option<String>),
    ) -> Self {
        Self { catalog, transport, own, site, channels: Mutex::default() }
    }

    /// Returns the connection to an address; `None`, with a warning, if the address is invalid.
    fn channel(&self, name: &str, address: &str) -> Option<Channel> {
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(address) {
            return Some(channel.clone());
        }
        match self.transport.channel(address) {
            Ok(channel) => {
                channels.insert(address.to_owned(), channel.clone());
                Some(channel)
            }
            Err(error) => {
                tracing::warn!(%error, indexer = name, "an indexer cannot be asked for parts of searches");
                None
            }
        }
    }
}

impl Workers for Indexers {
    fn now(&self) -> Vec<Worker> {
        let all = Registration::all(&self.catalog.snapshot());
        let indexers = all.into_iter().filter(|(_, known)| known.is_indexer());
        let worker = |(id, known): (String, Registration)| {
            let channel = match id == self.own {
                true => None,
                false => Some(self.channel(&known.name, &known.address)?),
            };
            let is_near = self.site.as_ref().is_none_or(|site| known.site == *site);
            let Registration { started, name, cold, .. } = known;
            let began = started.parse::<Timestamp>().ok().filter(|_| cold);
            let cold_since = began.map(|began| EventTime(began.as_microsecond()));
            Some(Worker { id, started, name, channel, is_near, cold_since })
        };
        indexers.filter_map(worker).collect()
    }
}

//! The connected forwarders, and counts of the data that each has sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use foldhash::HashMap;
use inputs::Input;
use parking_lot::Mutex;
use protocol::Hello;
use uuid::Uuid;

/// The status of a connected forwarder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwarderStatus {
    /// The number of its connection since the start of this process.
    pub connection: u64,
    /// The address from which it connects.
    pub peer: SocketAddr,
    /// The name of its machine.
    pub host: String,
    /// Its program version.
    pub version: String,
    /// Its identity.
    pub guid: String,
    /// Bytes of text that were received over this connection, before any of it is cut or dropped.
    pub bytes: u64,
    /// Number of events that the forwarder itself has separated.
    pub events: u64,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Forwarders {
    next: AtomicU64,
    open: Arc<Mutex<HashMap<u64, Arc<Open>>>>,
}

#[derive(Debug)]
struct Open {
    about: ForwarderStatus,
    bytes: AtomicU64,
    events: AtomicU64,
}

/// One connection, which is listed until this value is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    all: Arc<Mutex<HashMap<u64, Arc<Open>>>>,
    open: Arc<Open>,
}

impl Forwarders {
    /// Adds a connection to the list.
    pub(crate) fn open(&self, peer: SocketAddr, hello: &Hello) -> Counted {
        let connection = self.next.fetch_add(1, Relaxed);
        let about = ForwarderStatus {
            connection,
            peer,
            host: hello.host.clone(),
            version: hello.build.clone(),
            guid: Uuid::from_slice(&hello.forwarder).unwrap_or_default().to_string(),
            bytes: 0,
            events: 0,
        };
        let open = Arc::new(Open { about, bytes: AtomicU64::new(0), events: AtomicU64::new(0) });
        self.open.lock().insert(connection, Arc::clone(&open));
        Counted { all: Arc::clone(&self.open), open }
    }

    /// Returns the forwarders that are connected now.
    pub(crate) fn status(&self) -> Vec<ForwarderStatus> {
        let open = self.open.lock();
        let status = |open: &Arc<Open>| ForwarderStatus {
            bytes: open.bytes.load(Relaxed),
            events: open.events.load(Relaxed),
            ..open.about.clone()
        };
        open.values().map(status).collect()
    }
}

impl Counted {
    /// Adds the bytes and events of a batch.
    pub(crate) fn count(&self, input: &Input) {
        let (bytes, events) = match input {
            Input::Raw { bytes, .. } => (bytes.len(), 0),
            Input::Events { events, .. } => (events.text.len(), events.len()),
        };
        self.open.bytes.fetch_add(bytes as u64, Relaxed);
        self.open.events.fetch_add(events as u64, Relaxed);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.all.lock().remove(&self.open.about.connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_listed_while_it_lasts() {
        let forwarders = Forwarders::default();
        let hello = Hello { host: "web-1".to_owned(), build: "1.2".to_owned(), ..Hello::default() };
        let counted = forwarders.open(([10, 0, 0, 9], 40_000).into(), &hello);
        let listed = forwarders.status();
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].host.as_str(), listed[0].version.as_str()), ("web-1", "1.2"));
        drop(counted);
        assert!(forwarders.status().is_empty());
    }
}

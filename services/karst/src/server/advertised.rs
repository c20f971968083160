//! Checks whether this process answers at the address that it gives to the others. If another process has the
//! address in `--cluster-advertise`, the others consider this one lost: searches do not find its hot events,
//! and another indexer recovers its events, again and again.
//!
//! The result is only a warning: this process may just be replacing the other one. Without an answer nothing
//! is known: the address may be reachable from other machines only.

use std::time::Duration;

use catalog::{Catalog, Snapshot};
use peers::Registration;
use runtime::health::{self, Severity};
use runtime::{Health, Shutdown};
use transport::Transport;

/// Interval between checks of the address.
const LOOK: Duration = Duration::from_secs(10);
/// The time for the connection and for the answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Sets the condition while another process answers at the address of the process with this identity.
pub(crate) async fn watch(
    (transport, catalog): (Transport, Catalog),
    (own, address): (String, String),
    conditions: Health,
    shutdown: Shutdown,
) {
    loop {
        let answered = tokio::select! {
            () = shutdown.stopped() => return,
            answered = answers_at(&transport, &address) => answered,
        };
        match answered {
            Some(other) if other != own => {
                let text = conflict_message(&catalog.snapshot(), &address, &other);
                conditions.set(health::WRONG_ADDRESS, Severity::Warning, text);
            }
            Some(_) => conditions.clear(health::WRONG_ADDRESS),
            None => {}
        }
        if !shutdown.sleep(LOOK).await {
            return;
        }
    }
}

/// The identity of the process at an address; `None` if it does not answer or does not tell.
async fn answers_at(transport: &Transport, address: &str) -> Option<String> {
    let channel = transport.channel(address).ok()?;
    peers::identity_at(channel, ANSWER).await.ok().filter(|id| !id.is_empty())
}

fn conflict_message(snapshot: &Snapshot, address: &str, other: &str) -> String {
    let known = Registration::of(snapshot, other);
    let name = known.map(|known| format!(" ({})", known.name)).unwrap_or_default();
    format!(
        "another process answers at the address that the cluster has of this one: at {address} is \
         {other}{name}; searches do not find the hot events of this process, and another indexer recovers \
         its events; give each process an address of its own (--cluster-advertise, KARST_CLUSTER_ADVERTISE)"
    )
}

//! Which indexer is at which address: the list of a group's indexers, and what each one says of itself.
//!
//! Batches that may have reached an indexer are bound to its identity, which it says in Welcome; its address
//! may be that of another one later. Then they wait, as those of an indexer that is away, until it is found
//! at some address. Indexers that stop in order say Goodbye, which frees what they have not taken.

use std::time::Instant;

use uuid::Uuid;

use super::{Peer, Sender};
use crate::outputs::Server;

impl Sender {
    /// The place of an indexer at an address; without those that were there before.
    pub(super) fn peer_of(&self, address: &str) -> Option<usize> {
        self.peers.iter().position(|peer| !peer.is_former && peer.address == address)
    }

    /// The indexer that may have batches of before the start: the one with this identity, or one of which
    /// only the address is known. One that is not listed (it may be stopped, and the list may be old) is
    /// waited for like others that are away. `None` if it is no longer configured.
    pub(super) fn bound_to(&mut self, address: &str, id: Option<Uuid>) -> Option<usize> {
        let is_it = |peer: &Peer| match peer.is_former && peer.address == address {
            true => peer.id == id,
            false => id.is_some() && peer.id.or(peer.listed_id) == id,
        };
        let known = self.peers.iter().position(is_it);
        let at = match known.or_else(|| self.peer_of(address)) {
            Some(at) if known.is_some() || id.is_none() || self.peers[at].id.is_none() => at,
            // The address has been that of several.
            Some(at) => self.add_former(at, id),
            None if self.parts.group.discovery.is_none() => return None,
            None => {
                let (address, tls) = (address.to_owned(), self.parts.group.tls.clone());
                let server = Server { address, tls, id: None };
                self.add(&server, false).unwrap_or_else(|| {
                    self.place(Peer { is_former: true, ..Peer::at(&server, None) }, false)
                })
            }
        };
        let peer = &mut self.peers[at];
        peer.id = peer.id.or(id);
        Some(at)
    }

    /// Adds an indexer. Failures are logged.
    fn add(&mut self, server: &Server, is_listed: bool) -> Option<usize> {
        match Peer::new(server, self.trust.as_ref()) {
            Ok(peer) => Some(self.place(peer, is_listed)),
            Err(error) => {
                tracing::warn!(
                    output = self.parts.name, address = server.address, %error,
                    "an indexer cannot be used"
                );
                None
            }
        }
    }

    /// Adds one that was at the address of another one, and whose batches wait for it.
    fn add_former(&mut self, at: usize, id: Option<Uuid>) -> usize {
        let peer = &self.peers[at];
        let server = Server { address: peer.address.clone(), tls: None, id: None };
        let former = Peer {
            id,
            is_former: true,
            name: peer.name.clone(),
            last_error: Some("another indexer is at its address".to_owned()),
            ..Peer::at(&server, None)
        };
        self.place(former, false)
    }

    /// Puts an indexer in the place of one that is no longer listed and has no batches, or at the end.
    fn place(&mut self, peer: Peer, is_listed: bool) -> usize {
        let unused = |at: &usize| {
            !self.balancer.is_listed(*at)
                && self.peers[*at].batches == 0
                && self.run.is_none_or(|(server, _)| server != *at)
                && !self.links.values().any(|server| server == at)
        };
        let at = (0..self.peers.len()).find(unused).unwrap_or(self.peers.len());
        if at == self.peers.len() {
            self.peers.push(peer);
        } else {
            self.peers[at] = peer;
        }
        self.balancer.put(at, is_listed);
        at
    }

    /// Takes over a list of indexers. One that is not in it gets no further batches; those that it may have
    /// stay assigned to it.
    pub(super) fn follow(&mut self, servers: &[Server]) {
        for (at, peer) in self.peers.iter_mut().enumerate() {
            let is_it = |server: &&Server| !peer.is_former && server.address == peer.address;
            let listed = servers.iter().find(is_it);
            peer.listed_id = listed.and_then(|server| server.id);
            self.balancer.list(at, listed.is_some());
        }
        for server in servers {
            if self.peer_of(&server.address).is_none() {
                self.add(server, true);
            }
        }
    }

    /// Notes which indexer answers at an address. Batches that another one may have, which was there before,
    /// stay assigned to that one. Those of this one that wait for it elsewhere come here.
    pub(super) fn recognize(&mut self, server: usize, id: Option<Uuid>) {
        let Some(id) = id else { return };
        let before = self.peers[server].id.replace(id);
        if before.is_some_and(|before| before != id) {
            self.set_apart(server, before);
        }
        let waits = |at: &usize| {
            let peer = &self.peers[*at];
            *at != server && peer.id == Some(id) && peer.batches > 0 && !self.balancer.is_up(*at)
        };
        let elsewhere: Vec<usize> = (0..self.peers.len()).filter(waits).collect();
        for at in elsewhere {
            tracing::info!(
                output = self.parts.name,
                before = self.peers[at].address,
                now = self.peers[server].address,
                "an indexer is back at another address"
            );
            self.hand_over(at, server);
        }
    }

    /// Gives the batches of an indexer whose connection has ended to another connection to the same one. An
    /// indexer that moves may be connected at its new address before the loss of the old connection is
    /// noticed, and does not say its identity again.
    pub(super) fn find_again(&mut self, from: usize) {
        let Some(id) = self.peers[from].id.filter(|_| self.peers[from].batches > 0) else { return };
        let is_it =
            |at: &usize| *at != from && self.peers[*at].id == Some(id) && self.balancer.is_up(*at);
        let Some(to) = (0..self.peers.len()).find(is_it) else { return };
        tracing::info!(
            output = self.parts.name,
            before = self.peers[from].address,
            now = self.peers[to].address,
            "an indexer is connected at another address, too: it gets its batches there"
        );
        let flights = self.flights.iter().filter(|(_, flight)| flight.server == from);
        let sequences = flights.map(|(sequence, _)| *sequence).collect();
        self.hand_over(from, to);
        self.resend(sequences);
    }

    fn set_apart(&mut self, server: usize, before: Option<Uuid>) {
        if self.run.is_some_and(|(of, _)| of == server) {
            // Its numbers are bound to the other one.
            self.run = None;
        }
        let peer = &self.peers[server];
        if peer.batches == 0 {
            return;
        }
        tracing::warn!(
            output = self.parts.name,
            address = peer.address,
            batches = peer.batches,
            "another indexer is at the address: batches that the former one may have wait for it \
             (deadIndexerTimeout)"
        );
        let away_since = peer.away_since;
        let former = self.add_former(server, before);
        self.peers[former].away_since = away_since.or_else(|| Some(Instant::now()));
        self.hand_over(server, former);
    }

    /// Assigns the batches of an indexer to another entry of the same one.
    fn hand_over(&mut self, from: usize, to: usize) {
        for flight in self.flights.values_mut().filter(|flight| flight.server == from) {
            (flight.server, flight.sent, flight.again) = (to, None, None);
        }
        let peer = &mut self.peers[from];
        let (batches, bytes) = (std::mem::take(&mut peer.batches), std::mem::take(&mut peer.bytes));
        self.peers[to].batches += batches;
        self.peers[to].bytes += bytes;
    }

    /// The indexers to connect to because the list says that one is there for which batches wait.
    pub(super) fn awaited(&self) -> Vec<usize> {
        let waits = |(at, peer): &(usize, &Peer)| peer.batches > 0 && !self.balancer.is_up(*at);
        let peers = || self.peers.iter().enumerate();
        let absent: Vec<Uuid> = peers().filter(waits).filter_map(|(_, peer)| peer.id).collect();
        if absent.is_empty() {
            return Vec::new();
        }
        let is_there = |(_, peer): &(usize, &Peer)| {
            !peer.is_former && peer.listed_id.is_some_and(|id| absent.contains(&id))
        };
        peers().filter(is_there).map(|(at, _)| at).collect()
    }

    /// Frees the batches that an indexer which stops has not taken: those without an answer, or refused as
    /// not taken, that were sent only over this connection. Others stay assigned to it.
    pub(super) fn goodbye(&mut self, server: usize, link: u64) {
        let (mut batches, mut bytes) = (0, 0);
        let free =
            self.flights.extract_if(.., |_, flight| flight.server == server && !flight.is_doubtful);
        for (sequence, flight) in free {
            batches += 1;
            bytes += u64::from(flight.place.header.content_len);
            self.loose.insert(sequence, flight.place);
        }
        let peer = &mut self.peers[server];
        peer.batches -= batches;
        peer.bytes = peer.bytes.saturating_sub(bytes);
        tracing::info!(
            output = self.parts.name,
            address = peer.address,
            batches,
            kept = peer.batches,
            "the indexer stops: batches that it has not taken are free for others"
        );
        self.is_down(server, link, "it stops");
    }
}

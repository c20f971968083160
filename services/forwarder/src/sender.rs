//! The sender of one output (a group, for one pipeline set): sends batches from the disk queue to the
//! current target indexer until each batch is acknowledged.
//!
//! A batch that may have reached an indexer stays assigned to it: if the connection breaks, the batch waits
//! until that indexer is back, known by its identity, and reports which batches it has; meanwhile, newer
//! batches go to others. Only after `deadIndexerTimeout` is the batch sent to another indexer. This is logged
//! and counted, because the dead indexer may have stored it. The assignment is written to disk before a batch
//! is sent (`ledger`). Left to `identity`: which indexer is where.

mod identity;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::{AckLevel, Hello, Reason, Sequences};
use runtime::{Shutdown, metrics as names};
use rustls::ClientConfig;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::Error;
use crate::balance::Balancer;
use crate::dead_letters::DeadLetters;
use crate::discovery::Servers;
use crate::indexer_rules::IndexerRules;
use crate::ledger::Ledger;
use crate::link::{self, LinkParts, News, Order, Report};
use crate::outputs::{Group, Server};
use crate::queue::{Cursor, DiskQueue, Found, Place};
use crate::status::{OutputStatus, ServerStatus, StatusBoard};
use crate::tls::{self, Tls};

/// Number of batch numbers bound to an indexer at once, with one fsync.
const RUN: u64 = 256;
/// Interval of checks that depend on time.
const TICK: Duration = Duration::from_millis(100);
/// Pause before a refused batch is resent.
const BUSY: Duration = Duration::from_secs(1);
/// Interval between writes of acknowledgements.
const SAVE: Duration = Duration::from_millis(250);
/// Time limit for outstanding acknowledgements at a stop.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Maximum number of batches in flight per indexer, whatever their size.
const MOST: usize = 4096;

/// A batch assigned to an indexer.
#[derive(Debug)]
struct Flight {
    server: usize,
    place: Place,
    /// The number of the link to which it was given.
    sent: Option<u64>,
    /// The time at which it is resent after a refusal.
    again: Option<Instant>,
    /// Whether the indexer may have it through another connection, or has refused it after it was taken.
    is_doubtful: bool,
}

/// An indexer, with the connection to it.
#[derive(Debug)]
struct Peer {
    address: String,
    /// Its identity; `None` until it has been connected.
    id: Option<Uuid>,
    /// The identity of the indexer at the address, by the list.
    listed_id: Option<Uuid>,
    /// Whether it only waits for its batches: another one is at its address, or it cannot be used.
    is_former: bool,
    tls: Option<Tls>,
    link: Option<(u64, mpsc::UnboundedSender<Order>)>,
    /// Number of the batches assigned to it, and their bytes.
    batches: usize,
    bytes: u64,
    /// Start of its absence.
    away_since: Option<Instant>,
    /// Start of the idle time of its connection.
    idle_since: Option<Instant>,
    name: String,
    last_error: Option<String>,
    acknowledged: u64,
    /// Number of the acknowledged batches by the level of their acknowledgement.
    by_level: BTreeMap<AckLevel, u64>,
}

/// The parts of a sender.
#[derive(Debug)]
pub(crate) struct SenderParts {
    pub(crate) group: Arc<Group>,
    /// The indexers, and their changes.
    pub(crate) servers: Servers,
    pub(crate) queue: Arc<DiskQueue>,
    /// The queue's directory.
    pub(crate) directory: PathBuf,
    /// Name in metrics and messages.
    pub(crate) name: String,
    pub(crate) hello: Hello,
    pub(crate) rules: Arc<IndexerRules>,
    pub(crate) board: StatusBoard,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sender {
    parts: SenderParts,
    /// The encryption of connections to indexers that are asked for.
    trust: Option<Arc<ClientConfig>>,
    ledger: Ledger,
    balancer: Balancer,
    peers: Vec<Peer>,
    flights: BTreeMap<u64, Flight>,
    /// Batches whose indexer was given up.
    loose: BTreeMap<u64, Place>,
    cursor: Cursor,
    /// Batches below this number may have been assigned to an indexer before the start.
    bound_below: u64,
    /// The indexer with the current run of numbers, and the end of the run.
    run: Option<(usize, u64)>,
    news: (mpsc::Sender<Report>, mpsc::Receiver<Report>),
    next_link: u64,
    links: BTreeMap<u64, usize>,
    saved: Instant,
    unsaved: bool,
    resent: u64,
    reassigned: u64,
    dead_letters: DeadLetters,
}

impl Peer {
    /// `trust` is the encryption of the group, if its indexers are asked for.
    fn new(server: &Server, trust: Option<&Arc<ClientConfig>>) -> Result<Self, Error> {
        let tls = match trust {
            Some(trust) => tls::with(server, trust)?,
            None => tls::prepare(server)?,
        };
        Ok(Self::at(server, tls))
    }

    fn at(server: &Server, tls: Option<Tls>) -> Self {
        Self {
            address: server.address.clone(),
            id: None,
            listed_id: server.id,
            is_former: false,
            tls,
            link: None,
            batches: 0,
            bytes: 0,
            away_since: Some(Instant::now()),
            idle_since: None,
            name: String::new(),
            last_error: None,
            acknowledged: 0,
            by_level: BTreeMap::new(),
        }
    }
}

impl Sender {
    /// Reads the state needed after a restart.
    ///
    /// # Errors
    /// If the ledger or the trusted certificates cannot be read.
    pub(crate) fn new(parts: SenderParts) -> Result<Self, Error> {
        let ledger = Ledger::open(&parts.directory, parts.queue.channel())?;
        let now = Instant::now();
        let seed = runtime::random::uuid().as_u64_pair().0;
        let group = &parts.group;
        let listed = Arc::clone(&parts.servers.borrow());
        let trust = match (&group.discovery, &group.tls) {
            (Some(_), Some(settings)) => Some(tls::trust(settings, &group.name)?),
            _ => None,
        };
        // Those that are asked for are added one by one: a name of one of them does not prevent the start.
        let named = if group.discovery.is_some() { &[][..] } else { &*listed };
        let peers = named.iter().map(|server| Peer::new(server, None));
        let peers = peers.collect::<Result<Vec<_>, _>>()?;
        let balancer = Balancer::new(peers.len(), group.lb_frequency, group.lb_volume, seed, now);
        let from = ledger.acked().below().max(parts.queue.first());
        let cursor = parts.queue.cursor(from);
        let bound_below = ledger.bound_below();
        let dead_letters = DeadLetters::new(parts.directory.join("dead-letters"));
        let mut sender = Self {
            parts,
            trust,
            ledger,
            balancer,
            peers,
            flights: BTreeMap::new(),
            loose: BTreeMap::new(),
            cursor,
            bound_below,
            run: None,
            news: mpsc::channel(1024),
            next_link: 0,
            links: BTreeMap::new(),
            saved: now,
            unsaved: false,
            resent: 0,
            reassigned: 0,
            dead_letters,
        };
        sender.follow(&listed);
        Ok(sender)
    }

    /// Works until the signal to stop; unacknowledged batches stay in the queue.
    pub(crate) async fn run(mut self, shutdown: Shutdown) {
        let mut durable = self.parts.queue.durable();
        let mut servers = self.parts.servers.clone();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.read_bound();
        let mut stop: Option<Instant> = None;
        loop {
            if stop.is_none() {
                self.fill();
            }
            tokio::select! {
                Some((link, news)) = self.news.1.recv() => {
                    self.take(link, news);
                    while let Ok((link, news)) = self.news.1.try_recv() {
                        self.take(link, news);
                    }
                }
                Ok(()) = durable.changed(), if stop.is_none() => {}
                Ok(()) = servers.changed(), if stop.is_none() => {
                    let listed = Arc::clone(&servers.borrow_and_update());
                    self.follow(&listed);
                }
                _ = tick.tick() => self.tick(Instant::now()),
                () = shutdown.stopped(), if stop.is_none() => {
                    stop = Some(Instant::now() + LAST_WORDS);
                }
            }
            let under_way = || self.flights.values().any(|flight| flight.sent.is_some());
            if stop.is_some_and(|end| Instant::now() >= end || !under_way()) {
                break;
            }
        }
        self.save();
    }

    /// Assigns batches after a restart to the indexers that may have them.
    fn read_bound(&mut self) {
        while self.cursor.position() < self.bound_below {
            match self.cursor.advance() {
                Found::End => return,
                Found::Lost { upto, error } => self.lost(upto, &error),
                Found::Record(place) => {
                    let sequence = place.header.sequence;
                    if self.ledger.acked().contains(sequence) || self.is_note(&place) {
                        continue;
                    }
                    let owner = self.ledger.owner(sequence);
                    let owner = owner.map(|(address, id)| (address.to_owned(), id));
                    match owner.map(|(owner, id)| (self.bound_to(&owner, id), owner)) {
                        Some((Some(server), _)) => self.adopt(sequence, place, server, true),
                        Some((None, owner)) => {
                            tracing::warn!(
                                output = self.parts.name,
                                indexer = owner,
                                sequence,
                                "a batch that an indexer may have is sent to another one: the indexer \
                                 is no longer in outputs.conf"
                            );
                            self.loose.insert(sequence, place);
                        }
                        None => drop(self.loose.insert(sequence, place)),
                    }
                }
            }
        }
    }

    /// Acknowledges notes even without an indexer, so that they do not pile up before the first waiting
    /// batch.
    fn skip_notes(&mut self) {
        while self.balancer.target().is_none() && self.loose.is_empty() {
            match self.cursor.advance() {
                Found::End => return,
                Found::Lost { upto, error } => self.lost(upto, &error),
                Found::Record(place) => {
                    let sequence = place.header.sequence;
                    if !self.ledger.acked().contains(sequence) && !self.is_note(&place) {
                        self.loose.insert(sequence, place);
                    }
                }
            }
        }
    }

    /// Whether a record is only a note of a position in a source: there is nothing to be sent.
    fn is_note(&mut self, place: &Place) -> bool {
        let is_note = place.header.content_len == 0;
        if is_note {
            self.ledger.ack(place.header.sequence);
            self.unsaved = true;
        }
        is_note
    }

    fn adopt(&mut self, sequence: u64, place: Place, server: usize, is_doubtful: bool) {
        let peer = &mut self.peers[server];
        peer.batches += 1;
        peer.bytes += u64::from(place.header.content_len);
        let flight = Flight { server, place, sent: None, again: None, is_doubtful };
        self.flights.insert(sequence, flight);
    }

    /// Gives batches to the target as long as its window has space.
    fn fill(&mut self) {
        let window = 3 * self.parts.group.max_queue_size as u64;
        while let Some(target) = self.balancer.target() {
            let peer = &self.peers[target];
            if peer.bytes >= window || peer.batches >= MOST {
                return;
            }
            let (place, is_new) = match self.loose.pop_first() {
                Some((_, place)) => (place, false),
                None => match self.cursor.advance() {
                    Found::Record(place) => (place, true),
                    Found::End => return,
                    Found::Lost { upto, error } => {
                        self.lost(upto, &error);
                        continue;
                    }
                },
            };
            let sequence = place.header.sequence;
            if self.ledger.acked().contains(sequence) || self.is_note(&place) {
                continue;
            }
            if let Err(error) = self.bind(target, sequence, is_new) {
                tracing::error!(%error, "batches wait until their target can be recorded");
                self.loose.insert(sequence, place);
                return;
            }
            self.balancer.sent(place.header.plain_len);
            self.adopt(sequence, place, target, false);
            self.send(sequence);
            let now = Instant::now();
            // The volume may have ended the turn of the target.
            if let Some(server) = self.balancer.poll(now) {
                self.connect(server);
            }
        }
    }

    fn bind(&mut self, target: usize, sequence: u64, is_new: bool) -> Result<(), Error> {
        let peer = &self.peers[target];
        let (address, id) = (peer.address.clone(), peer.id);
        if !is_new {
            return self.ledger.bind((&address, id), sequence, sequence + 1);
        }
        if self.run.is_some_and(|(server, end)| server == target && sequence < end) {
            return Ok(());
        }
        self.ledger.bind((&address, id), sequence, sequence + RUN)?;
        self.run = Some((target, sequence + RUN));
        Ok(())
    }

    /// Gives a batch to its indexer's link, if it is connected.
    fn send(&mut self, sequence: u64) {
        let settled = self.ledger.acked().below();
        let Some(flight) = self.flights.get_mut(&sequence) else { return };
        if !self.balancer.is_up(flight.server) {
            return;
        }
        let Some((link, orders)) = &self.peers[flight.server].link else { return };
        let order = Order { place: flight.place.clone(), settled };
        if orders.send(order).is_ok() {
            flight.sent = Some(*link);
            flight.again = None;
        }
    }

    fn lost(&self, upto: u64, error: &Error) {
        tracing::error!(
            %error, output = self.parts.name, upto,
            "a part of the queue cannot be read: its events are lost"
        );
        metrics::counter!(names::FORWARDER_DAMAGED).increment(1);
    }

    fn connect(&mut self, server: usize) {
        self.next_link += 1;
        let number = self.next_link;
        let peer = &mut self.peers[server];
        let (orders, received) = mpsc::unbounded_channel();
        peer.link = Some((number, orders));
        peer.idle_since = None;
        self.links.insert(number, server);
        let hello = Hello {
            settled: self.ledger.acked().below(),
            parsing_rules: Some(self.parts.rules.checksum()),
            ..self.parts.hello.clone()
        };
        let parts = LinkParts {
            number,
            address: peer.address.clone(),
            tls: peer.tls.clone(),
            group: Arc::clone(&self.parts.group),
            hello,
            rules: Arc::clone(&self.parts.rules),
            news: self.news.0.clone(),
        };
        runtime::detached(link::run(parts, received));
    }

    fn take(&mut self, link: u64, news: News) {
        let Some(server) = self.links.get(&link).copied() else { return };
        let is_current =
            self.peers[server].link.as_ref().is_some_and(|(number, _)| *number == link);
        match news {
            News::Up { safe, indexer, id } if is_current => {
                self.recognize(server, id);
                self.is_up(server, &safe, indexer);
            }
            News::Goodbye if is_current => self.goodbye(server, link),
            News::Up { .. } | News::Goodbye => {}
            News::Safe(batches) => {
                for (sequence, level) in batches {
                    self.acknowledged(sequence, server, level);
                }
            }
            News::Refused { sequence, why, reason } => {
                self.refused(sequence, why, &reason);
            }
            News::Unreadable { sequence, reason } => {
                let name = &self.parts.name;
                tracing::error!(
                    output = name,
                    sequence,
                    reason,
                    "a batch cannot be read: it is lost"
                );
                metrics::counter!(names::FORWARDER_DAMAGED).increment(1);
                self.acknowledged(sequence, server, AckLevel::Unknown);
            }
            News::Down(reason) => {
                self.links.remove(&link);
                if is_current {
                    self.is_down(server, link, &reason);
                    self.find_again(server);
                }
            }
        }
    }

    fn is_up(&mut self, server: usize, safe: &Sequences, indexer: String) {
        let now = Instant::now();
        self.balancer.up(server, now);
        let peer = &mut self.peers[server];
        tracing::info!(output = self.parts.name, address = peer.address, indexer, "connected");
        peer.name = indexer;
        peer.away_since = None;
        peer.last_error = None;
        let mut mine = Vec::new();
        let mut has = Vec::new();
        for (sequence, flight) in &self.flights {
            match safe.contains(*sequence) {
                true => has.push(*sequence),
                false if flight.server == server => mine.push(*sequence),
                false => {}
            }
        }
        has.extend(self.loose.keys().filter(|sequence| safe.contains(**sequence)));
        for sequence in has {
            self.acknowledged(sequence, server, AckLevel::Unknown);
        }
        self.resend(mine);
    }

    /// Sends batches that the indexer may have.
    fn resend(&mut self, sequences: Vec<u64>) {
        self.resent += sequences.len() as u64;
        metrics::counter!(names::FORWARDER_RESENT).increment(sequences.len() as u64);
        for sequence in sequences {
            self.send(sequence);
        }
    }

    fn is_down(&mut self, server: usize, link: u64, reason: &str) {
        let now = Instant::now();
        let peer = &mut self.peers[server];
        peer.link = None;
        for flight in self.flights.values_mut().filter(|flight| flight.sent == Some(link)) {
            flight.sent = None;
            flight.is_doubtful = true;
        }
        if reason == "closed" {
            self.balancer.closed(server);
            return;
        }
        if peer.last_error.as_deref() != Some(reason) {
            tracing::warn!(
                output = self.parts.name,
                address = peer.address,
                reason,
                "disconnected"
            );
        }
        self.parts.rules.failed(&peer.address, reason, now);
        peer.last_error = Some(reason.to_owned());
        peer.away_since.get_or_insert(now);
        self.balancer.down(server, now);
    }

    fn acknowledged(&mut self, sequence: u64, server: usize, level: AckLevel) {
        let Some(plain) = self.settled(sequence) else { return };
        let peer = &mut self.peers[server];
        peer.acknowledged += plain;
        *peer.by_level.entry(level).or_default() += 1;
        metrics::counter!(names::FORWARDER_BATCHES).increment(1);
        metrics::counter!(names::FORWARDER_BYTES).increment(plain);
    }

    /// Takes a batch from the queue; returns its bytes of text if it was assigned to an indexer.
    fn settled(&mut self, sequence: u64) -> Option<u64> {
        self.ledger.ack(sequence);
        self.unsaved = true;
        self.loose.remove(&sequence);
        let flight = self.flights.remove(&sequence)?;
        let (plain, packed) = (flight.place.header.plain_len, flight.place.header.content_len);
        let peer = &mut self.peers[flight.server];
        peer.batches -= 1;
        peer.bytes = peer.bytes.saturating_sub(u64::from(packed));
        Some(plain)
    }

    fn refused(&mut self, sequence: u64, why: Reason, reason: &str) {
        if why != Reason::Invalid {
            tracing::debug!(output = self.parts.name, sequence, reason, "the indexer is busy");
            if let Some(flight) = self.flights.get_mut(&sequence) {
                flight.again = Some(Instant::now() + BUSY);
                flight.is_doubtful |= why != Reason::NotTaken;
            }
            return;
        }
        let Some(flight) = self.flights.get(&sequence) else { return };
        match self.dead_letters.keep(&flight.place, reason) {
            Ok(path) => {
                tracing::error!(
                    output = self.parts.name, sequence, reason, path = %path.display(),
                    "the indexer refuses a batch permanently; it is kept as a dead letter"
                );
                metrics::counter!(names::FORWARDER_DEAD_LETTERS).increment(1);
                self.settled(sequence);
            }
            Err(error) => {
                tracing::error!(%error, sequence, reason, "a refused batch cannot be put aside");
                if let Some(flight) = self.flights.get_mut(&sequence) {
                    flight.again = Some(Instant::now() + BUSY * 30);
                }
            }
        }
    }

    fn tick(&mut self, now: Instant) {
        self.skip_notes();
        if let Some(server) = self.balancer.poll(now) {
            self.connect(server);
        }
        let awaited = self.awaited();
        for server in 0..self.peers.len() {
            // Batches assigned to an indexer are a reason to reconnect to it.
            let peer = &self.peers[server];
            let is_needed = awaited.contains(&server) || (peer.batches > 0 && !peer.is_former);
            if is_needed && self.balancer.may_connect(server, now) {
                self.connect(server);
            }
            self.close_if_idle(server, now);
        }
        let again: BTreeSet<u64> = self
            .flights
            .iter()
            .filter(|(_, flight)| flight.again.is_some_and(|again| again <= now))
            .map(|(sequence, _)| *sequence)
            .collect();
        again.into_iter().for_each(|sequence| self.send(sequence));
        self.give_up_dead(now);
        if now.duration_since(self.saved) >= SAVE {
            self.save();
            self.parts.queue.release(self.ledger.acked().below());
            self.saved = now;
            self.report(now);
        }
    }

    fn close_if_idle(&mut self, server: usize, now: Instant) {
        let needed = self.balancer.target() == Some(server)
            || self.peers[server].batches > 0
            || !self.balancer.is_up(server);
        let peer = &mut self.peers[server];
        if needed {
            peer.idle_since = None;
            return;
        }
        let since = *peer.idle_since.get_or_insert(now);
        if now.duration_since(since) >= self.parts.group.lb_frequency {
            // The link ends when its orders are dropped.
            if let Some((_, orders)) = peer.link.take() {
                drop(orders);
                peer.idle_since = None;
                self.balancer.closed(server);
            }
        }
    }

    fn give_up_dead(&mut self, now: Instant) {
        let limit = self.parts.group.dead_indexer_timeout;
        for (server, peer) in self.peers.iter_mut().enumerate() {
            let dead = peer.away_since.is_some_and(|since| now.duration_since(since) >= limit);
            if !dead || peer.batches == 0 {
                continue;
            }
            let count = peer.batches as u64;
            tracing::warn!(
                output = self.parts.name, indexer = peer.address, batches = count, after = ?limit,
                "batches of an indexer that does not return are sent to others; if it kept them, they \
                 appear twice when it returns (deadIndexerTimeout)"
            );
            metrics::counter!(names::FORWARDER_REASSIGNED).increment(count);
            self.reassigned += count;
            (peer.batches, peer.bytes) = (0, 0);
            for (sequence, flight) in
                self.flights.extract_if(.., |_, flight| flight.server == server)
            {
                self.loose.insert(sequence, flight.place);
            }
        }
    }

    fn save(&mut self) {
        if !std::mem::take(&mut self.unsaved) {
            return;
        }
        if let Err(error) = self.ledger.save() {
            tracing::warn!(%error, "acknowledgements are not recorded; after a restart, the indexers are asked again");
        }
    }

    fn report(&mut self, now: Instant) {
        let dead_letters = self.dead_letters.status(now);
        let queue = self.parts.queue.status();
        #[allow(clippy::cast_precision_loss)]
        metrics::gauge!(names::FORWARDER_QUEUE_BYTES, "queue" => self.parts.name.clone())
            .set(queue.bytes as f64);
        let target = self.balancer.target();
        let shown = |(server, peer): &(usize, &Peer)| {
            let is_used = peer.batches > 0 || self.balancer.is_up(*server);
            is_used || self.balancer.is_listed(*server)
        };
        let peers = self.peers.iter().enumerate().filter(shown);
        let servers = peers.map(|(server, peer)| ServerStatus {
            address: peer.address.clone(),
            name: peer.name.clone(),
            connected: self.balancer.is_up(server),
            target: target == Some(server),
            waiting_batches: peer.batches as u64,
            acknowledged_bytes: peer.acknowledged,
            ack_levels: peer.by_level.iter().map(|(level, n)| (named(*level), *n)).collect(),
            last_error: peer.last_error.clone(),
        });
        self.parts.board.put(OutputStatus {
            name: self.parts.name.clone(),
            channel: self.parts.queue.channel(),
            queue_bytes: queue.bytes,
            queue_capacity: queue.capacity,
            queue_segments: queue.segments as u64,
            next_sequence: queue.next,
            acknowledged_below: self.ledger.acked().below(),
            resent_batches: self.resent,
            reassigned_batches: self.reassigned,
            dead_letters,
            servers: servers.collect(),
        });
    }
}

/// A level as in `ackLevel` of indexes.conf.
fn named(level: AckLevel) -> String {
    let name = match level {
        AckLevel::Unknown => "unknown",
        AckLevel::Local => "local",
        AckLevel::Replicated => "replicated",
        AckLevel::Remote => "remote",
    };
    name.to_owned()
}

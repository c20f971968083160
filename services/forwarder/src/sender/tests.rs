//! Batches stay with the indexer that may have them, wherever it is, and are free if it has not taken them.
//!
//! The sender is driven by reports of its links. The links themselves do not run: nothing is awaited after
//! the queue is filled.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use bytes::Bytes;
use conf::{Layer, Layers};
use knowledge::Knowledge;
use protocol::Compression;
use tokio::sync::{oneshot, watch};

use super::*;
use crate::indexer_rules::Compiler;
use crate::outputs::Outputs;
use crate::queue::{self, Entry};

const ONE: &str = "127.0.0.1:1";
const TWO: &str = "127.0.0.1:2";
const A: Uuid = Uuid::from_u128(0xa);
const B: Uuid = Uuid::from_u128(0xb);

struct Harness {
    sender: Sender,
    list: watch::Sender<Arc<[Server]>>,
}

fn layers(more: &str) -> Layers {
    let outputs = format!(
        "[tcpout]\ndefaultGroup = g\n[tcpout:g]\nindexerDiscovery = d\ntoken = t\ndeadIndexerTimeout = 60\n{more}\n\
         [indexer_discovery:d]\nmanager_uri = m:1\n"
    );
    Layers::builtin().with(Layer::SystemLocal, "outputs", &outputs)
}

fn group(more: &str) -> Arc<Group> {
    let outputs = Outputs::read(&layers(more).effective("outputs")).unwrap();
    Arc::clone(&outputs.groups[0])
}

fn servers(group: &Group, listed: &[(&str, Option<Uuid>)]) -> Arc<[Server]> {
    let server = |(address, id): &(&str, Option<Uuid>)| Server {
        address: (*address).to_owned(),
        tls: group.tls.clone(),
        id: *id,
    };
    listed.iter().map(server).collect()
}

/// A queue with batches.
async fn queue_of(directory: &Path, batches: usize) -> Arc<DiskQueue> {
    let settings = queue::Settings {
        directory: directory.to_owned(),
        max_size: 1 << 20,
        segment_size: 1 << 20,
        memory: 1 << 20,
        drop_after: None,
        name: "g-0".into(),
    };
    let queue = DiskQueue::open(settings).unwrap();
    for number in 0..batches {
        let content = Bytes::from(format!("batch {number}"));
        let plain_len = content.len() as u64;
        let (compression, note) = (Compression::None, Bytes::new());
        let entry = Entry { compression, plain_len, content, note };
        let (done, taken) = oneshot::channel();
        let wait = Duration::from_secs(30);
        queue.push(entry, wait, move |taken| done.send(taken).unwrap()).await.unwrap();
        assert!(taken.await.unwrap());
    }
    Arc::new(queue)
}

fn sender(
    queue: &Arc<DiskQueue>,
    directory: &Path,
    (more, listed): (&str, &[(&str, Option<Uuid>)]),
) -> Result<Harness, Error> {
    let group = group(more);
    let list = watch::channel(servers(&group, listed)).0;
    let compiler = Arc::new(Compiler::new(Arc::new(Knowledge::new(layers(more)))));
    let parts = SenderParts {
        servers: list.subscribe(),
        queue: Arc::clone(queue),
        directory: directory.to_owned(),
        name: "g-0".to_owned(),
        hello: Hello::default(),
        rules: Arc::new(IndexerRules::open(compiler, &group.name, directory)),
        board: StatusBoard::default(),
        group,
    };
    let mut sender = Sender::new(parts)?;
    sender.read_bound();
    Ok(Harness { sender, list })
}

impl Harness {
    fn link(&self, address: &str) -> u64 {
        let server = self.sender.peer_of(address).unwrap();
        self.sender.peers[server].link.as_ref().unwrap().0
    }

    fn says(&mut self, address: &str, news: News) {
        let link = self.link(address);
        self.sender.take(link, news);
    }

    /// An indexer answers at an address, and has these batches. The sender then gives it batches.
    fn answers(&mut self, address: &str, id: Uuid, safe: &[u64]) {
        let server = self.sender.peer_of(address).unwrap();
        if self.sender.peers[server].link.is_none() {
            self.sender.connect(server);
        }
        let mut has = Sequences::default();
        safe.iter().for_each(|sequence| has.insert(*sequence));
        self.says(address, News::Up { safe: has, indexer: id.to_string(), id: Some(id) });
        self.sender.fill();
    }

    /// The batches that are given to an indexer at an address.
    fn given(&self, address: &str) -> Vec<u64> {
        let is_given = |flight: &Flight| {
            flight.sent.is_some() && self.sender.peers[flight.server].address == address
        };
        let flights = self.sender.flights.iter();
        flights.filter(|(_, flight)| is_given(flight)).map(|(sequence, _)| *sequence).collect()
    }

    /// The batches that wait for an indexer with an identity.
    fn waiting_for(&self, id: Uuid) -> Vec<u64> {
        let waits = |flight: &Flight| {
            flight.sent.is_none() && self.sender.peers[flight.server].id == Some(id)
        };
        let flights = self.sender.flights.iter();
        flights.filter(|(_, flight)| waits(flight)).map(|(sequence, _)| *sequence).collect()
    }

    fn loose(&self) -> Vec<u64> {
        self.sender.loose.keys().copied().collect()
    }
}

fn broken() -> News {
    News::Down("broken".to_owned())
}

#[tokio::test]
async fn another_indexer_at_the_address_does_not_get_the_batches_that_the_former_one_may_have() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 3).await;
    let listed = [(ONE, None), (TWO, None)];
    let mut all = sender(&queue, folder.path(), ("", &listed)).unwrap();
    all.answers(ONE, A, &[]);
    assert_eq!(all.given(ONE), [0, 1, 2]);
    assert_eq!(all.sender.ledger.owner(1), Some((ONE, Some(A))));
    all.says(ONE, broken());
    all.answers(ONE, B, &[]);
    assert_eq!((all.given(ONE), all.waiting_for(A)), (vec![], vec![0, 1, 2]));
    assert!(all.sender.run.is_none(), "further numbers are bound to the other one");
    // The indexer is found at its new address, and has one of them.
    all.answers(TWO, A, &[1]);
    assert_eq!((all.given(TWO), all.waiting_for(A)), (vec![0, 2], vec![]));
    assert!(all.sender.ledger.acked().contains(1));
    assert_eq!(all.sender.reassigned, 0);
}

#[tokio::test]
async fn batches_of_an_indexer_whose_address_another_one_has_go_to_others_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 2).await;
    let mut all = sender(&queue, folder.path(), ("", &[(ONE, None)])).unwrap();
    all.answers(ONE, A, &[]);
    all.says(ONE, broken());
    all.answers(ONE, B, &[]);
    all.sender.tick(Instant::now() + Duration::from_secs(30));
    assert_eq!(all.waiting_for(A), [0, 1]);
    all.sender.tick(Instant::now() + Duration::from_secs(61));
    assert_eq!((all.loose(), all.sender.reassigned), (vec![0, 1], 2));
    all.sender.fill();
    assert_eq!(all.given(ONE), [0, 1]);
    assert_eq!(all.sender.ledger.owner(1), Some((ONE, Some(B))));
}

#[tokio::test]
async fn after_a_restart_batches_are_bound_to_the_identity_of_their_indexer() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 2).await;
    let mut all = sender(&queue, folder.path(), ("", &[(ONE, None)])).unwrap();
    all.answers(ONE, A, &[]);
    drop(all);
    // The list knows where it is now, and another one has its address.
    let listed = [(ONE, Some(B)), (TWO, Some(A))];
    let mut all = sender(&queue, folder.path(), ("", &listed)).unwrap();
    all.answers(ONE, B, &[]);
    assert_eq!((all.given(ONE), all.waiting_for(A)), (vec![], vec![0, 1]));
    all.sender.tick(Instant::now());
    all.answers(TWO, A, &[]);
    assert_eq!(all.given(TWO), [0, 1]);
}

#[tokio::test]
async fn the_list_leads_to_an_indexer_for_which_batches_wait() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 1).await;
    let mut all = sender(&queue, folder.path(), ("", &[(ONE, Some(A))])).unwrap();
    all.answers(ONE, A, &[]);
    all.says(ONE, broken());
    let moved = servers(&all.sender.parts.group, &[(TWO, Some(A)), ("127.0.0.1:3", Some(B))]);
    all.list.send_replace(Arc::clone(&moved));
    all.sender.follow(&moved);
    assert_eq!(all.sender.awaited(), [all.sender.peer_of(TWO).unwrap()]);
    all.answers(TWO, A, &[]);
    assert_eq!((all.given(TWO), all.sender.awaited()), (vec![0], vec![]));
}

#[tokio::test]
async fn batches_follow_an_indexer_whose_old_connection_ends_after_the_new_one_is_up() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 3).await;
    let listed = [(ONE, None), (TWO, None)];
    let mut all = sender(&queue, folder.path(), ("", &listed)).unwrap();
    all.answers(ONE, A, &[]);
    all.answers(TWO, A, &[1]);
    assert_eq!((all.given(ONE), all.given(TWO)), (vec![0, 2], vec![]));
    all.says(ONE, broken());
    assert_eq!((all.given(ONE), all.given(TWO)), (vec![], vec![0, 2]));
    assert_eq!((all.sender.resent, all.sender.reassigned), (2, 0));
    // It may have got them over the old connection.
    all.says(TWO, News::Goodbye);
    assert_eq!((all.loose(), all.waiting_for(A)), (vec![], vec![0, 2]));
}

#[tokio::test]
async fn a_stop_in_order_frees_the_batches_that_were_certainly_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 4).await;
    let listed = [(ONE, None), (TWO, None)];
    let mut all = sender(&queue, folder.path(), ("", &listed)).unwrap();
    all.answers(ONE, A, &[]);
    all.says(ONE, News::Safe(vec![(0, AckLevel::Remote)]));
    let refused = |sequence, why| News::Refused { sequence, why, reason: String::new() };
    all.says(ONE, refused(1, Reason::Busy));
    all.says(ONE, refused(1, Reason::NotTaken));
    all.says(ONE, refused(3, Reason::NotTaken));
    let link = all.link(ONE);
    all.says(ONE, News::Goodbye);
    // It may have a part of the batch that it was busy with.
    assert_eq!((all.loose(), all.waiting_for(A)), (vec![2, 3], vec![1]));
    all.sender.take(link, broken());
    all.answers(TWO, B, &[]);
    assert_eq!((all.given(TWO), all.sender.reassigned), (vec![2, 3], 0));
    assert_eq!(all.sender.ledger.owner(2), Some((TWO, Some(B))));
}

#[tokio::test]
async fn the_status_of_an_indexer_has_the_levels_of_its_acknowledgements() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 4).await;
    let mut all = sender(&queue, folder.path(), ("", &[(ONE, None)])).unwrap();
    all.answers(ONE, A, &[]);
    let levels = [AckLevel::Local, AckLevel::Remote, AckLevel::Local];
    all.says(ONE, News::Safe((0..).zip(levels).collect()));
    // A second acknowledgement of a batch does not count.
    all.says(ONE, News::Safe(vec![(0, AckLevel::Remote)]));
    all.says(ONE, News::Safe(vec![(3, AckLevel::Unknown)]));
    all.sender.report(Instant::now());
    let status = all.sender.parts.board.get();
    let outputs: Vec<_> = status.outputs.into_values().collect();
    let found: Vec<_> = outputs[0].servers[0].ack_levels.iter().map(|(k, v)| (&**k, *v)).collect();
    assert_eq!(found, [("local", 2), ("remote", 1), ("unknown", 1)]);
}

#[tokio::test]
async fn batches_that_were_sent_over_an_earlier_connection_are_not_free_after_a_goodbye() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 2).await;
    let mut all = sender(&queue, folder.path(), ("", &[(ONE, None)])).unwrap();
    all.answers(ONE, A, &[]);
    all.says(ONE, broken());
    // The indexer may still be busy with those that it has got before.
    all.answers(ONE, A, &[]);
    assert_eq!(all.given(ONE), [0, 1]);
    all.says(ONE, News::Goodbye);
    assert_eq!((all.loose(), all.waiting_for(A)), (vec![], vec![0, 1]));
}

#[tokio::test]
async fn certificates_have_to_be_there_at_the_start_and_a_wrong_name_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue_of(folder.path(), 0).await;
    let none = sender(&queue, folder.path(), ("sslRootCAPath = /not/there.pem", &[]));
    assert!(none.err().unwrap().to_string().contains("/not/there.pem"));
    let listed = [("not a name:1", None), (ONE, None)];
    let all = sender(&queue, folder.path(), ("useSSL = true", &listed)).unwrap();
    let addresses: Vec<_> = all.sender.peers.iter().map(|peer| peer.address.as_str()).collect();
    assert_eq!(addresses, [ONE]);
}

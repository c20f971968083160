//! Numbered inputs: kept once, however often they are sent and whatever happens in between; as a
//! whole or not at all.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conf::{Layer, Layers};
use futures::{SinkExt, StreamExt};
use ingest::forwarded::{Doors, RulesLimit, converse};
use inputs::{BatchId, CutEvents, Input, MissingTime, OriginRef, StreamKey};
use knowledge::Knowledge;
use model::{ErrorKind, IndexName, IndexerId};
use prost::Message;
use protocol::{
    Batch, Content, Goodbye, Hello, Origin, Ping, Pong, Text, ToForwarder, ToIndexer,
    content_body::Body, to_forwarder, to_indexer,
};
use runtime::Shutdown;
use testkit::TestDir;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio_util::codec::{Framed, LengthDelimitedCodec};
use uuid::Uuid;

use crate::setup::{Setup, cut, settings, start};

const WAIT: Duration = Duration::from_secs(60);
const CHANNEL: Uuid = Uuid::from_u128(7);

fn id(sequence: u64, settled: u64) -> BatchId {
    BatchId { channel: CHANNEL, sequence, settled }
}

impl Setup {
    /// Delivers an input; the number of events that were kept of it.
    async fn deliver(&self, sequence: u64, input: Input) -> u64 {
        let outcome = self.ingest.deliver(id(sequence, 0), input, WAIT).await.unwrap();
        outcome.wait().await.unwrap().events
    }
}

/// Events for two indexes: two records in the journal.
fn for_two_indexes() -> Input {
    let mut events = CutEvents::new(MissingTime::Now);
    for (index, text) in [("main", "a"), ("other", "b"), ("main", "c")] {
        let index = IndexName::new(index).unwrap();
        let origin = OriginRef { index: &index, host: "h", source: "s", sourcetype: Some("t") };
        assert!(events.push(origin, None, text.as_bytes()));
    }
    Input::Events { stream: StreamKey("s".into()), events }
}

#[tokio::test]
async fn a_batch_that_is_sent_again_is_acknowledged_and_not_kept_again() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    assert_eq!(setup.deliver(5, cut(&["a", "b"])).await, 2);
    assert_eq!(setup.deliver(5, cut(&["a", "b"])).await, 0);
    assert_eq!(setup.deliver(6, cut(&["c"])).await, 1);
    assert_eq!(setup.texts().await, ["a", "b", "c"]);
}

#[tokio::test]
async fn a_batch_is_known_after_a_restart_and_after_its_journal_is_gone() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.deliver(1, cut(&["a"])).await;
    drop(setup);
    let setup = start(data.path(), settings()).await;
    assert_eq!(setup.deliver(1, cut(&["a"])).await, 0);
    setup.deliver(3, cut(&["b"])).await;
    setup.ingest.roll_all(None).await.unwrap();
    assert_eq!(setup.ingest.status().journal_bytes, 0);
    drop(setup);
    let setup = start(data.path(), settings()).await;
    for (sequence, kept) in [(1, 0), (2, 1), (3, 0)] {
        assert_eq!(setup.deliver(sequence, cut(&["c"])).await, kept, "{sequence}");
    }
    assert_eq!(setup.texts().await, ["a", "b", "c"]);
    assert_eq!(setup.ingest.delivered(CHANNEL).ranges(), [(1, 4)]);
}

#[tokio::test]
async fn what_the_sender_has_settled_needs_no_memory() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    for sequence in (0..100).step_by(2) {
        let outcome = setup.ingest.deliver(id(sequence, sequence), cut(&["x"]), WAIT).await;
        outcome.unwrap().wait().await.unwrap();
    }
    let safe = setup.ingest.delivered(CHANNEL);
    assert_eq!((safe.below(), safe.ranges()), (99, &[][..]));
}

#[tokio::test]
async fn a_batch_whose_note_is_missing_in_the_journal_was_never_there() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    assert_eq!(setup.deliver(1, for_two_indexes()).await, 3);
    drop(setup);
    let journal = data.path().join("journal/0");
    let segments = fs::read_dir(journal).unwrap().map(|entry| entry.unwrap().path());
    let segment = segments.max().unwrap();
    let length = fs::metadata(&segment).unwrap().len();
    fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(length - 1).unwrap();
    let setup = start(data.path(), settings()).await;
    assert_eq!(setup.texts().await, Vec::<String>::new());
    assert_eq!(setup.deliver(1, for_two_indexes()).await, 3);
    drop(setup);
    let setup = start(data.path(), settings()).await;
    let mut texts = setup.texts().await;
    texts.sort();
    assert_eq!(texts, ["a", "b", "c"]);
    assert_eq!(setup.deliver(1, for_two_indexes()).await, 0);
}

#[tokio::test]
async fn a_batch_of_many_records_is_one() {
    let data = TestDir::new();
    let small = ingest::Settings { batch_size: 1000, ..settings() };
    let setup = start(data.path(), small.clone()).await;
    let text: String = (0..500).map(|number| format!("line {number:05}\n")).collect();
    let input = || crate::setup::raw("access_common", text.as_bytes());
    assert_eq!(setup.deliver(1, input()).await, 500);
    drop(setup);
    let setup = start(data.path(), small).await;
    assert_eq!(setup.deliver(1, input()).await, 0);
    assert_eq!(setup.texts().await.len(), 500);
}

type Client = Framed<DuplexStream, LengthDelimitedCodec>;

/// A connection to a setup, greeted.
async fn connect(setup: &Setup, token: &str) -> (Client, Option<to_forwarder::Kind>) {
    greet(setup, Hello { token: token.to_owned(), ..Hello::default() }).await
}

async fn greet(setup: &Setup, hello: Hello) -> (Client, Option<to_forwarder::Kind>) {
    greet_at(setup, doors(), hello).await
}

async fn greet_at(
    setup: &Setup,
    doors: Doors,
    hello: Hello,
) -> (Client, Option<to_forwarder::Kind>) {
    greet_until(setup, doors, hello, Shutdown::new()).await
}

async fn greet_until(
    setup: &Setup,
    doors: Doors,
    hello: Hello,
    shutdown: Shutdown,
) -> (Client, Option<to_forwarder::Kind>) {
    let (client, server) = tokio::io::duplex(1 << 20);
    let ingest = Arc::clone(&setup.ingest);
    tokio::spawn(converse(ingest, doors, server, peer(), shutdown));
    let mut client = Framed::new(client, LengthDelimitedCodec::new());
    let hello = Hello {
        version: protocol::VERSION,
        channel: Bytes::copy_from_slice(CHANNEL.as_bytes()),
        ..hello
    };
    say(&mut client, to_indexer::Kind::Hello(hello)).await;
    let answer = hear(&mut client).await;
    (client, answer)
}

fn doors() -> Doors {
    Doors {
        indexer: IndexerId(Uuid::nil()),
        name: "indexer".into(),
        token: Some("secret".into()),
        has_index: Arc::new(|index| index.as_str() == "main"),
        max_frame: 1 << 20,
        rules: RulesLimit::default(),
    }
}

fn peer() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

async fn say(client: &mut Client, kind: to_indexer::Kind) {
    let bytes = Bytes::from(ToIndexer { kind: Some(kind) }.encode_to_vec());
    client.send(bytes).await.unwrap();
}

async fn hear(client: &mut Client) -> Option<to_forwarder::Kind> {
    let frame = client.next().await?.unwrap();
    ToForwarder::decode(frame.freeze()).unwrap().kind
}

fn batch(sequence: u64, index: &str, text: &str) -> to_indexer::Kind {
    let origin = Origin {
        index: index.to_owned(),
        sourcetype: Some("access_common".into()),
        ..Origin::default()
    };
    let text = Text {
        origin: Some(origin),
        bytes: Bytes::copy_from_slice(text.as_bytes()),
        modified: None,
    };
    let content = Content { stream: "s".to_owned(), body: Some(Body::Text(text)) };
    let (compression, plain_len, content) = protocol::pack(&content, Some(1));
    let compression = compression.into();
    to_indexer::Kind::Batch(Batch { sequence, settled: 0, compression, plain_len, content })
}

#[tokio::test]
async fn a_forwarder_gets_receipts_and_learns_what_is_safe_when_it_comes_back() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let (mut client, welcome) = connect(&setup, "secret").await;
    assert!(
        matches!(welcome, Some(to_forwarder::Kind::Welcome(welcome)) if welcome.ranges.is_empty())
    );
    say(&mut client, batch(4, "main", "one\ntwo\n")).await;
    let Some(to_forwarder::Kind::Receipt(receipt)) = hear(&mut client).await else { panic!() };
    assert_eq!(receipt.sequences, [4]);
    assert_eq!(receipt.levels, [i32::from(protocol::AckLevel::Local)]);
    drop(client);
    let (mut client, welcome) = connect(&setup, "secret").await;
    let Some(to_forwarder::Kind::Welcome(welcome)) = welcome else { panic!() };
    assert_eq!((welcome.below, welcome.ranges), (0, vec![4, 5]));
    say(&mut client, batch(4, "main", "one\ntwo\n")).await;
    let Some(to_forwarder::Kind::Receipt(receipt)) = hear(&mut client).await else { panic!() };
    assert_eq!(receipt.sequences, [4]);
    assert_eq!(setup.texts().await, ["one", "two"]);
}

#[tokio::test]
async fn an_indexer_that_stops_says_goodbye_when_everything_that_it_took_has_its_receipt() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let shutdown = Shutdown::new();
    let hello = Hello { token: "secret".to_owned(), ..Hello::default() };
    let (mut client, _) = greet_until(&setup, doors(), hello, shutdown.clone()).await;
    let goodbye = to_forwarder::Kind::Goodbye(Goodbye {});
    say(&mut client, batch(1, "main", "one\n")).await;
    let Some(to_forwarder::Kind::Receipt(receipt)) = hear(&mut client).await else { panic!() };
    assert_eq!(receipt.sequences, [1]);
    // Whether it is read before the signal is open.
    say(&mut client, batch(2, "main", "two\n")).await;
    shutdown.stop();
    let mut last = hear(&mut client).await;
    let is_taken = last != Some(goodbye.clone());
    if is_taken {
        let Some(to_forwarder::Kind::Receipt(receipt)) = last else { panic!() };
        assert_eq!(receipt.sequences, [2]);
        last = hear(&mut client).await;
    }
    assert_eq!(last, Some(goodbye));
    say(&mut client, batch(3, "main", "three\n")).await;
    assert_eq!(hear(&mut client).await, None);
    drop(client);
    let stored: &[&str] = if is_taken { &["one", "two"] } else { &["one"] };
    assert_eq!(setup.texts().await, stored);
}

#[tokio::test]
async fn a_forwarder_learns_the_parsing_rules_and_their_changes() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let hello = || Hello {
        token: "secret".to_owned(),
        parsing_rules: Some(Bytes::new()),
        ..Hello::default()
    };
    let (mut client, welcome) = greet(&setup, hello()).await;
    let Some(to_forwarder::Kind::Welcome(welcome)) = welcome else { panic!() };
    let first = welcome.parsing_rules.unwrap();
    assert!(first.stanzas.is_empty() && !first.checksum.is_empty());
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", "[a]\nMAX_EVENTS = 9");
    setup.ingest.set_rules(&Arc::new(Knowledge::new(layers))).await.unwrap();
    say(&mut client, to_indexer::Kind::Ping(Ping {})).await;
    assert_eq!(hear(&mut client).await, Some(to_forwarder::Kind::Pong(Pong {})));
    let Some(to_forwarder::Kind::Rules(second)) = hear(&mut client).await else { panic!() };
    assert_eq!(second.stanzas[0].name, "a");
    assert_ne!(first.checksum, second.checksum);
    let known = Hello { parsing_rules: Some(second.checksum.clone()), ..hello() };
    let (_, welcome) = greet(&setup, known).await;
    let Some(to_forwarder::Kind::Welcome(welcome)) = welcome else { panic!() };
    let again = welcome.parsing_rules.unwrap();
    assert!(again.stanzas.is_empty() && again.checksum == second.checksum);
    // A forwarder of the version before.
    let (_, welcome) = connect(&setup, "secret").await;
    assert!(
        matches!(welcome, Some(to_forwarder::Kind::Welcome(old)) if old.parsing_rules.is_none())
    );
}

#[tokio::test]
async fn large_parsing_rules_follow_and_nothing_waits_for_their_turn() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let props = format!("[a]\nFIELD_NAMES = {}\n", "x".repeat(100_000));
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props);
    setup.ingest.set_rules(&Arc::new(Knowledge::new(layers))).await.unwrap();
    let no_turns = Doors { rules: RulesLimit::of(0), ..doors() };
    for (doors, is_sent) in [(no_turns, false), (doors(), true)] {
        let token = "secret".to_owned();
        let hello = Hello { token, parsing_rules: Some(Bytes::new()), ..Hello::default() };
        let (mut client, welcome) = greet_at(&setup, doors, hello).await;
        let Some(to_forwarder::Kind::Welcome(welcome)) = welcome else { panic!() };
        let first = welcome.parsing_rules.unwrap();
        assert!(first.stanzas.is_empty() && first.size > 100_000);
        if is_sent {
            let Some(to_forwarder::Kind::Rules(rules)) = hear(&mut client).await else { panic!() };
            assert_eq!((rules.checksum, rules.stanzas.len()), (first.checksum, 1));
        }
        say(&mut client, to_indexer::Kind::Ping(Ping {})).await;
        assert_eq!(hear(&mut client).await, Some(to_forwarder::Kind::Pong(Pong {})));
    }
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_a_reason() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let (mut client, _) = connect(&setup, "secret").await;
    say(&mut client, batch(1, "nowhere", "x\n")).await;
    let Some(to_forwarder::Kind::Refusal(refusal)) = hear(&mut client).await else { panic!() };
    assert_eq!((refusal.sequence, refusal.reason), (1, i32::from(protocol::Reason::Invalid)));
    assert!(refusal.text.contains("there is no index \"nowhere\""), "{}", refusal.text);
    let (_, answer) = connect(&setup, "wrong").await;
    assert_eq!(answer, None);
}

#[tokio::test]
async fn a_batch_that_does_not_get_into_the_pipeline_is_certainly_not_taken() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let (mut client, _) = connect(&setup, "secret").await;
    assert!(setup.ingest.drain(WAIT).await);
    say(&mut client, batch(1, "main", "x\n")).await;
    let Some(to_forwarder::Kind::Refusal(refusal)) = hear(&mut client).await else { panic!() };
    assert_eq!((refusal.sequence, refusal.reason), (1, i32::from(protocol::Reason::NotTaken)));
}

#[tokio::test]
async fn a_forwarder_of_splunk_is_named_as_such() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let ingest = Arc::clone(&setup.ingest);
    let conversation = tokio::spawn(converse(ingest, doors(), server, peer(), Shutdown::new()));
    client.write_all(b"--splunk-cooked-mode-v3--\0\0\0\0").await.unwrap();
    let reason = conversation.await.unwrap().unwrap_err();
    assert!(reason.contains("protocol of Splunk's forwarders"), "{reason}");
}

#[tokio::test]
async fn the_same_batch_twice_at_a_time_is_kept_once() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let deliver = || setup.ingest.deliver(id(1, 0), cut(&["a"]), WAIT);
    let (first, second) = (deliver().await.unwrap(), deliver().await);
    first.wait().await.unwrap();
    match second {
        Ok(known) => assert_eq!(known.wait().await.unwrap().events, 0),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
    }
    assert_eq!(setup.texts().await, ["a"]);
}

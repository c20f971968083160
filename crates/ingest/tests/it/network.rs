//! Events over TCP and UDP, and HEC bodies through the whole path.

use std::time::Duration;

use inputs::hec::{HecDefaults, decode_events, decode_raw};
use inputs::tcp::{Framing, TcpInput};
use inputs::udp::UdpInput;
use inputs::{EventLimits, SinkExt, StreamKey};
use runtime::Shutdown;
use testkit::{TestDir, wait_until};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::setup::{Setup, main_index, settings, start};

#[tokio::test]
async fn syslog_over_tcp_arrives_with_the_host_of_its_header() {
    let (_data, setup) = running().await;
    let mut socket = connect(&setup, TcpInput::new(main_index(), Framing::Syslog)).await;
    let text = b"<34>Oct 11 22:14:15 gw su: a\n30 <34>Oct 11 22:14:16 fw su: b\nc";
    socket.write_all(text).await.unwrap();
    drop(socket);
    assert!(arrive(&setup, 2).await, "{:?}", setup.texts().await);
    let hosts = hosts(&setup);
    assert!(hosts.contains(&"gw".to_owned()) && hosts.contains(&"fw".to_owned()), "{hosts:?}");
}

#[tokio::test]
async fn lines_over_tcp_are_complete_when_the_connection_is_silent() {
    let (_data, setup) = running().await;
    let mut input = TcpInput::new(main_index(), Framing::Lines);
    input.idle = Duration::from_millis(50);
    input.sourcetype = Some("syslog".into());
    let mut socket = connect(&setup, input).await;
    socket.write_all(b"one\ntwo without end").await.unwrap();
    assert!(arrive(&setup, 2).await, "{:?}", setup.texts().await);
}

#[tokio::test]
async fn a_datagram_is_an_event() {
    let (_data, setup) = running().await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let input = UdpInput::new(main_index());
    tokio::spawn(input.serve(socket, setup.sink(), Shutdown::new()));
    let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for text in ["<13>Oct 11 22:14:15 web01 app: a\nb", "no header"] {
        sender.send_to(text.as_bytes(), address).await.unwrap();
    }
    assert!(arrive(&setup, 2).await, "{:?}", setup.texts().await);
    assert!(hosts(&setup).contains(&"127.0.0.1".to_owned()));
}

#[tokio::test]
async fn hec_bodies_become_events_at_their_time() {
    let (_data, setup) = running().await;
    let defaults = HecDefaults {
        index: main_index(),
        host: "peer".into(),
        source: "http:test".into(),
        sourcetype: None,
        time: None,
        extract_time: false,
        limits: EventLimits::default(),
    };
    let stream = || StreamKey("hec".into());
    let body = br#"{"event":"late","time":1700000001.5}{"event":{"a":1},"time":"1700000000"}"#;
    let input = decode_events(body, &defaults, &|_| true, stream()).unwrap();
    assert_eq!(setup.ingest.submit(input).await.unwrap().events, 2);
    let input = decode_raw("x\ny".into(), &defaults, stream()).unwrap();
    setup.ingest.submit(input).await.unwrap();
    let rows = setup.rows().await;
    assert_eq!((rows[0].0, rows[0].2.as_str()), (1_700_000_000_000_000, r#"{"a":1}"#));
    assert_eq!(rows[1].0, 1_700_000_001_500_000);
}

async fn running() -> (TestDir, Setup) {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    (data, setup)
}

async fn connect(setup: &Setup, input: TcpInput) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(input.serve(listener, setup.sink(), Shutdown::new()));
    TcpStream::connect(address).await.unwrap()
}

async fn arrive(setup: &Setup, count: usize) -> bool {
    let arrived = || async { setup.texts().await.len() >= count };
    wait_until(arrived, Duration::from_secs(20)).await
}

fn hosts(setup: &Setup) -> Vec<String> {
    let hot = setup.ingest.hot().snapshot(&[main_index()], &model::TimeRange::ALL);
    let batches = hot.iter().flat_map(|bucket| &bucket.batches);
    let mut hosts = Vec::new();
    for batch in batches {
        let column = arrow::array::AsArray::as_any_dictionary(batch.column(3));
        let values = arrow::array::AsArray::as_string::<i32>(column.values());
        hosts.extend(values.iter().flatten().map(str::to_owned));
    }
    hosts
}

//! What the sinks promise: everything arrives, acks are checked, the pace is kept.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use loadgen::Stream;
use loadgen::load::{Generated, Load};
use loadgen::pace::{Pace, batch_size};
use loadgen::sinks::Report;
use loadgen::sinks::body::{Form, Framing, Header};
use loadgen::sinks::hec::{AckOptions, Hec};
use loadgen::sinks::tcp::Tcp;
use parking_lot::Mutex;
use serde_json::{Value, json};

const STREAM: Stream =
    Stream { seed: 3, events: 2_000, start: 1_763_672_400_000_000, span: 60_000_000, hosts: 20 };

fn load() -> Generated {
    Generated::new(STREAM, "loadgen", 20_000)
}

/// A collector that acknowledges a request when it is asked for the second time, refuses every
/// `busy_each`-th with 503, and never acknowledges the id `never`.
#[derive(Default)]
struct Collector {
    busy_each: usize,
    never: Option<u64>,
    requests: usize,
    bodies: Vec<String>,
    /// Next id and how often each open id was asked for, by channel.
    channels: HashMap<String, (u64, BTreeMap<u64, usize>)>,
}

type Shared = Arc<Mutex<Collector>>;

fn channel(headers: &HeaderMap) -> String {
    headers.get("x-splunk-request-channel").unwrap().to_str().unwrap().to_owned()
}

async fn take(State(state): State<Shared>, headers: HeaderMap, body: String) -> Response {
    let mut collector = state.lock();
    collector.requests += 1;
    let each = collector.busy_each;
    if each > 0 && collector.requests.is_multiple_of(each) {
        return (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")]).into_response();
    }
    collector.bodies.push(body);
    let (next, open) = collector.channels.entry(channel(&headers)).or_default();
    let id = *next;
    *next += 1;
    open.insert(id, 0);
    Json(json!({"text": "Success", "code": 0, "ackId": id})).into_response()
}

async fn acks(State(state): State<Shared>, headers: HeaderMap, body: String) -> Json<Value> {
    let asked: Value = serde_json::from_str(&body).unwrap();
    let mut collector = state.lock();
    let never = collector.never;
    let (_, open) = collector.channels.get_mut(&channel(&headers)).unwrap();
    let mut answer = serde_json::Map::new();
    for id in asked["acks"].as_array().unwrap() {
        let id = id.as_u64().unwrap();
        let times = open.get_mut(&id).unwrap();
        *times += 1;
        answer.insert(id.to_string(), (*times > 1 && never != Some(id)).into());
    }
    Json(json!({ "acks": answer }))
}

fn send(collector: Collector) -> (Report, Shared) {
    let state: Shared = Arc::new(Mutex::new(collector));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let report = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/services/collector/event", post(take))
            .route("/services/collector/ack", post(acks))
            .with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let millis = Duration::from_millis;
        let hec = Hec {
            url,
            token: "t".to_owned(),
            connections: 3,
            raw: false,
            gzip: false,
            insecure: false,
            sourcetype: None,
            index: None,
            acks: Some(AckOptions { poll: millis(2), open: 4, patience: millis(300) }),
            patience: Duration::ZERO,
        };
        hec.run(Arc::new(load()), Arc::new(Pace::unlimited())).await.unwrap()
    });
    (report, state)
}

#[test]
fn every_request_is_acknowledged_and_timed() {
    let (report, state) = send(Collector::default());
    let answers = report.answers.unwrap();
    assert_eq!((report.events, answers.unacknowledged), (2_000, 0));
    assert_eq!(answers.requests, load().batches());
    let acknowledged = answers.acknowledged.unwrap();
    assert_eq!(acknowledged.count as u64, answers.requests);
    assert!(acknowledged.p50 >= answers.taken.unwrap().p50);
    assert!(acknowledged.p99 <= acknowledged.max);
    assert_eq!(state.lock().channels.len(), 3, "a channel per connection");
}

#[test]
fn a_busy_server_gets_the_same_request_again() {
    let (report, state) = send(Collector { busy_each: 3, ..Collector::default() });
    let answers = report.answers.unwrap();
    assert_eq!((report.events, answers.unacknowledged), (2_000, 0));
    assert!(answers.busy >= answers.requests / 3);
    let bodies = &state.lock().bodies;
    let events: usize = bodies.iter().map(|body| body.lines().count()).sum();
    assert_eq!(events, 2_000, "a refused request was not counted as sent");
}

#[test]
fn what_is_never_acknowledged_is_counted_and_given_up() {
    let (report, _) = send(Collector { never: Some(1), ..Collector::default() });
    let lost = report.answers.unwrap().unacknowledged;
    assert!(lost > 0);
    assert_eq!(report.events + lost, 2_000);
}

#[test]
fn tcp_deals_batches_out_to_connections_and_waits_for_the_end() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (mut socket, _) = listener.accept().unwrap();
                std::thread::spawn(move || {
                    let mut text = String::new();
                    socket.read_to_string(&mut text).unwrap();
                    text
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    let tcp = Tcp { address, connections: 3, form: Form::Lines };
    let report = tcp.run(&load(), &Pace::unlimited()).unwrap();
    let texts = server.join().unwrap();
    assert!(texts.iter().all(|text| !text.is_empty()));
    let mut ids: Vec<u64> = texts
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| line.split(" id=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=2_000).collect::<Vec<u64>>());
    assert_eq!(report.events, 2_000);
    assert_eq!(report.bytes, texts.iter().map(|text| text.len() as u64).sum::<u64>());
}

#[test]
fn octet_counts_are_the_lengths_of_the_messages() {
    let form = Form::Syslog { framing: Framing::OctetCount, header: Header::Rfc5424 };
    let mut out = Vec::new();
    let contents = form.write(&load(), 0, &mut out);
    let mut rest = std::str::from_utf8(&out).unwrap();
    let mut messages = 0;
    while !rest.is_empty() {
        let (length, behind) = rest.split_once(' ').unwrap();
        let (message, behind) = behind.split_at(length.parse().unwrap());
        assert!(message.starts_with("<134>1 2025-11-20T21:00:0"), "{message}");
        messages += 1;
        rest = behind;
    }
    assert_eq!(messages, contents.events);
}

#[test]
fn a_paced_run_takes_as_long_as_its_rate_says() {
    let pace = Pace::new(Some(1e6), None);
    assert_eq!(pace.place(100_000), Some(Duration::ZERO));
    let wait = pace.place(100_000).unwrap();
    assert!((90..=100).contains(&wait.as_millis()), "{wait:?}");
    let wait = pace.place(1).unwrap();
    assert!((190..=200).contains(&wait.as_millis()), "{wait:?}");
}

#[test]
fn a_run_of_no_length_sends_nothing() {
    assert_eq!(Pace::new(None, Some(Duration::ZERO)).place(1), None);
    assert_eq!(Pace::new(Some(10.0), Some(Duration::from_secs(1))).place(20), Some(Duration::ZERO));
}

#[test]
fn batches_of_a_slow_run_are_small() {
    assert_eq!(batch_size(1_000_000, None), 1_000_000);
    assert_eq!(batch_size(1_000_000, Some(1e9)), 1_000_000);
    assert_eq!(batch_size(1_000_000, Some(20_000.0)), 1_000);
}

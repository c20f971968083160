//! Two processes that connect to each other, or fail to.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use runtime::{Clock, Shutdown, SystemClock};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::service::Routes;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::*;
use crate::credentials::tests::{made_at, with_expired};

/// A server without services: clients that connect get the answer that the method is not implemented.
struct Server {
    address: String,
    shutdown: Shutdown,
}

impl Server {
    async fn start(transport: &Transport) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shutdown = Shutdown::new();
        let (transport, until) = (transport.clone(), shutdown.clone());
        shutdown.spawn(async move {
            transport.serve(listener, Routes::default(), &until).await.unwrap();
        });
        Self { address, shutdown }
    }

    async fn ask(&self, transport: &Transport) -> Status {
        ask(transport, &self.address).await
    }

    async fn stop(self) {
        self.shutdown.finish(Duration::from_secs(30)).await.unwrap();
    }
}

async fn ask(transport: &Transport, address: &str) -> Status {
    let mut grpc = Grpc::new(transport.channel(address).unwrap());
    if let Err(error) = grpc.ready().await {
        return Status::from_error(error.into());
    }
    let path = PathAndQuery::from_static("/karst.test.Test/Ask");
    let codec = ProstCodec::<(), ()>::default();
    grpc.unary(Request::new(()), path, codec).await.unwrap_err()
}

fn reached(status: &Status) -> bool {
    status.code() == Code::Unimplemented
}

fn refusal(status: &Status) -> String {
    Error::refusal(status).unwrap_or_else(|| panic!("{status:?} is not a refusal"))
}

/// Settings with long timeouts, for busy machines.
fn patient() -> Settings {
    let long = Duration::from_secs(30);
    Settings { connect: long, silence: long, handshake: long, ..Settings::default() }
}

fn cluster() -> (TempDir, Transport) {
    let dir = tempfile::tempdir().unwrap();
    let credentials = made_at(dir.path(), SystemClock.now());
    (dir, Transport::new(&credentials, patient()).unwrap())
}

#[tokio::test]
async fn processes_of_a_cluster_reach_each_other() {
    let (dir, transport) = cluster();
    let server = Server::start(&transport).await;
    let copy = Credentials::open(dir.path(), &SystemClock).unwrap();
    let other = Transport::new(&copy, patient()).unwrap();
    assert!(reached(&server.ask(&other).await));
    server.stop().await;
    let plain = Transport::plain(patient());
    let server = Server::start(&plain).await;
    assert!(reached(&server.ask(&plain).await));
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_secret_is_refused_by_either_side() {
    let (dir, transport) = cluster();
    std::fs::write(dir.path().join("secret"), "another secret of 16 or more characters").unwrap();
    let wrong = Credentials::open(dir.path(), &SystemClock).unwrap();
    let wrong = Transport::new(&wrong, patient()).unwrap();
    let server = Server::start(&transport).await;
    let text = refusal(&server.ask(&wrong).await);
    assert!(text.contains("the cluster's secret is wrong"), "{text}");
    // Other connections still work.
    assert!(reached(&server.ask(&transport).await));
    server.stop().await;
}

#[tokio::test]
async fn another_cluster_is_refused() {
    let ((dir, transport), (_other, stranger)) = (cluster(), cluster());
    let server = Server::start(&transport).await;
    let text = refusal(&server.ask(&stranger).await);
    assert!(text.contains("not one of this cluster's CA"), "{text}");
    // Other ports of Karst have different certificates.
    assert!(text.contains("the address is not a cluster address"), "{text}");
    // The same CA, but another ID.
    let id = format!("{{\"id\": \"{}\"}}", runtime::random::uuid());
    std::fs::write(dir.path().join("cluster.json"), id).unwrap();
    let other = Credentials::open(dir.path(), &SystemClock).unwrap();
    let other = Transport::new(&other, patient()).unwrap();
    let text = refusal(&server.ask(&other).await);
    assert!(text.contains("a process of another cluster"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn one_release_before_and_after_understand_each_other_and_no_others() {
    let (_dir, transport) = cluster();
    let speaks = |versions| Transport { versions, ..transport.clone() };
    let server = Server::start(&speaks(3..=4)).await;
    for versions in [3..=3, 2..=3, 4..=5, 3..=4] {
        assert!(reached(&server.ask(&speaks(versions)).await));
    }
    for versions in [1..=2, 5..=6] {
        let text = refusal(&server.ask(&speaks(versions)).await);
        assert!(text.contains("its release speaks versions 3 to 4"), "{text}");
    }
    server.stop().await;
}

#[tokio::test]
async fn without_credentials_nobody_gets_in() {
    let (_dir, transport) = cluster();
    let server = Server::start(&transport).await;
    let plain = Transport::plain(patient());
    let text = refusal(&server.ask(&plain).await);
    assert!(text.contains("it requires TLS: start this process with"), "{text}");
    // TLS without a certificate.
    let tls = transport.tls.as_ref().unwrap();
    let mut config = tls.connector.config().as_ref().clone();
    config.client_auth_cert_resolver = Arc::new(NoCertificate);
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let bare = Transport { tls: Some(Tls { connector, ..tls.clone() }), ..transport.clone() };
    let text = refusal(&server.ask(&bare).await);
    assert!(text.contains("it requires a certificate of the cluster"), "{text}");
    server.stop().await;
    let server = Server::start(&plain).await;
    let text = refusal(&server.ask(&transport).await);
    assert!(text.contains("it answers without TLS"), "{text}");
    server.stop().await;
}

#[derive(Debug)]
struct NoCertificate;

impl rustls::client::ResolvesClientCert for NoCertificate {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn an_expired_certificate_is_named_on_either_side() {
    let dir = tempfile::tempdir().unwrap();
    let (good, expired) = with_expired(dir.path(), SystemClock.now());
    let good = Transport::new(&good, patient()).unwrap();
    let expired = Transport::new(&expired, patient()).unwrap();
    let server = Server::start(&expired).await;
    let text = refusal(&server.ask(&good).await);
    assert!(text.contains("the certificate has expired (of the other process)"), "{text}");
    server.stop().await;
    let server = Server::start(&good).await;
    let text = refusal(&server.ask(&expired).await);
    assert!(text.contains("the certificate of this process has expired"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn garbage_closes_its_own_connection_only() {
    let (_dir, transport) = cluster();
    for transport in [transport, Transport::plain(patient())] {
        let server = Server::start(&transport).await;
        for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 4096], &[0x16, 3, 1, 0xff, 0xff]] {
            let mut stream = TcpStream::connect(&server.address).await.unwrap();
            // The connection may be closed before all bytes are written.
            let _ = stream.write_all(garbage).await;
            let _ = stream.shutdown().await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            assert!(answer.len() < 100, "{answer:?}");
        }
        assert!(reached(&server.ask(&transport).await));
        server.stop().await;
    }
}

#[tokio::test]
async fn connections_and_their_handshakes_are_limited() {
    let (_dir, mut transport) = cluster();
    transport.settings.connections = 2;
    transport.settings.handshake = Duration::from_millis(200);
    let server = Server::start(&transport).await;
    let silent = [
        TcpStream::connect(&server.address).await.unwrap(),
        TcpStream::connect(&server.address).await.unwrap(),
    ];
    // The connections are closed, and new clients are accepted.
    for mut stream in silent {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
    }
    let patient = Transport { settings: patient(), ..transport.clone() };
    while !reached(&server.ask(&patient).await) {}
    server.stop().await;
}

#[tokio::test]
async fn a_process_that_is_away_or_silent_is_reported_in_time() {
    let (_dir, mut transport) = cluster();
    transport.settings.connect = Duration::from_millis(300);
    // It accepts connections and sends nothing, like a stopped process.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let status = ask(&transport, &address).await;
    assert_eq!(Error::refusal(&status), None);
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    drop(listener);
    assert_eq!(ask(&transport, &address).await.code(), Code::Unavailable);
}

#[test]
fn addresses_are_hosts_with_ports() {
    let transport = Transport::plain(Settings::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _context = runtime.enter();
    for address in ["localhost:9100", "http://a.example:1/", "https://10.1.2.3:65535", "[::1]:9"] {
        assert!(transport.channel(address).is_ok(), "{address}");
    }
    for address in ["", "localhost", ":9100", "a:0", "a:70000", "a b:1", "a/b:1", "me@a:1"] {
        let error = transport.channel(address).unwrap_err();
        assert!(matches!(error, Error::Address { .. }), "{address}: {error}");
    }
}

#[tokio::test]
async fn other_machines_need_credentials() {
    let plain = Transport::plain(patient());
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = plain.serve(listener, Routes::default(), &Shutdown::new()).await.unwrap_err();
    assert!(error.to_string().contains("listen only on 127.0.0.1"), "{error}");
    let status = ask(&plain, "192.0.2.1:9100").await;
    assert!(format!("{status:?}").contains("connect only within one machine"), "{status:?}");
}

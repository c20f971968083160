//! A forwarder phones home and asks for indexers: signed requests, and what the lists then show.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use deployment::{
    Answer, DISCOVERY_VERSION, DiscoveredIndexers, DiscoveryRequest, DownloadRequest, Key, Limits,
    PROOF_HEADER, PhoneHome, TIME_HEADER, VERSION, checksum, unpack,
};
use peers::Registration;
use serde_json::json;
use tower::ServiceExt;

use super::server::{DEPLOYMENT_KEY, Server};

async fn send(server: &Server, request: Request<Body>) -> (StatusCode, String, Vec<u8>) {
    let Ok(answer) = crate::rest_router(server.state.clone()).oneshot(request).await;
    let proof = answer.headers().get(PROOF_HEADER).map(|value| value.to_str().unwrap().to_owned());
    let status = answer.status();
    let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (status, proof.unwrap_or_default(), body.to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarder_phones_home_gets_its_app_and_is_listed() {
    let server = Server::with_admin().await;
    let key = Key::of(DEPLOYMENT_KEY).unwrap();
    let now = u64::try_from(server.state.clock.now().0 / 1_000_000).unwrap();
    let message = PhoneHome {
        version: VERSION,
        time: now,
        nonce: "one".to_owned(),
        guid: "g-1".to_owned(),
        client_name: "web".to_owned(),
        hostname: "host".to_owned(),
        utsname: "linux-x86_64".to_owned(),
        build: "1".to_owned(),
        ..PhoneHome::default()
    };
    let (body, proof) = message.signed(&key).unwrap();
    let request = Request::post("/services/broker/phonehome").header(PROOF_HEADER, &proof);
    let (status, proof, body) = send(&server, request.body(body.into()).unwrap()).await;
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&body));
    let answer = Answer::verified(&body, &proof, "one", &key).unwrap();
    let [app] = &answer.apps[..] else { panic!("{answer:?}") };
    let sum = app.checksum.clone().unwrap();

    let download = DownloadRequest { app: app.name.clone(), checksum: sum.clone(), time: now };
    let path = format!("/services/streams/deployment?name={}&checksum={sum}", app.name);
    let request = Request::get(path)
        .header(PROOF_HEADER, download.sign(&key))
        .header(TIME_HEADER, now.to_string());
    let (status, _, archive) = send(&server, request.body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::OK);
    let files = unpack(&archive[..], Limits { bytes: app.bytes, files: app.files }).unwrap();
    assert_eq!(checksum(&files), sum);

    let path = "/services/deployment/server/clients";
    let listed = server.get("admin", &format!("{path}?output_mode=json")).await.json();
    let content = &listed["entry"][0]["content"];
    assert_eq!(content["clientName"], "web");
    assert_eq!(content["applications"]["base"]["action"], "Install");
    let gone = server.send("admin", axum::http::Method::DELETE, &format!("{path}/g-1"), "").await;
    assert_eq!(gone.status, StatusCode::OK, "{gone:?}");
    let listed = server.get("admin", &format!("{path}?output_mode=json")).await.json();
    assert_eq!(listed["entry"].as_array().map(Vec::len), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarder_gets_the_indexers_that_receive_and_are_not_about_to_leave() {
    let server = Server::with_admin().await;
    let catalog = &server.state.catalog;
    for (id, role, ports) in [
        ("a", "indexer", json!([{ "address": "a:9997", "tls": true }])),
        ("b", "indexer", json!([{ "address": "b:9997", "tls": false }])),
        ("c", "indexer", json!([])),
        ("d", "search-head", json!([{ "address": "d:9997", "tls": false }])),
    ] {
        let registration = json!({
            "name": id, "address": format!("{id}:9887"), "roles": [role], "management": "",
            "version": "", "started": "then", "site": "site1", "forwarders": ports,
        });
        let registration: Registration = serde_json::from_value(registration).unwrap();
        registration.write(catalog, id).await.unwrap();
    }
    let key = Key::of(DEPLOYMENT_KEY).unwrap();
    let time = u64::try_from(server.state.clock.now().0 / 1_000_000).unwrap();
    let (nonce, guid) = ("one".to_owned(), "g-1".to_owned());
    let message = DiscoveryRequest { version: DISCOVERY_VERSION, time, nonce, guid };
    let listed = async || {
        let (body, proof) = message.signed(&key).unwrap();
        let request = Request::post("/services/indexer_discovery").header(PROOF_HEADER, &proof);
        let (status, proof, body) = send(&server, request.body(body.into()).unwrap()).await;
        assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&body));
        let answer = DiscoveredIndexers::verified(&body, &proof, "one", &key).unwrap();
        let address = |indexer: deployment::ReceivingIndexer| {
            let mark = if indexer.answers { "" } else { " silent" };
            format!("{}{mark}", indexer.ports[0].address)
        };
        let mut addresses: Vec<String> = answer.indexers.into_iter().map(address).collect();
        addresses.sort();
        addresses
    };
    assert_eq!(listed().await, ["a:9997", "b:9997"]);
    // It may be slow, and is not left out: the others would get its load, and become slow, too.
    server.state.discovery.report_silent(vec!["b".to_owned()]);
    assert_eq!(listed().await, ["a:9997", "b:9997 silent"]);
    let leaving = json!({ "by": "admin", "started": "then", "force": false });
    catalog.put_document("leaving", "b", leaving).await.unwrap();
    assert_eq!(listed().await, ["a:9997"]);
    assert!(peers::close_to_forwarders(catalog, "a", "then").await.unwrap());
    assert_eq!(listed().await, [""; 0]);
}

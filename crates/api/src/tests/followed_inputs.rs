//! Inputs that another process of the cluster changes: objects change without a request to this process.

use std::net::UdpSocket;

use apps::{NOBODY, Namespace};

use super::server::Server;
use crate::FollowedInputs;

/// A port that is free, and the stanza of an input at it.
fn free_port() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let stanza = format!("udp://{}", socket.local_addr().unwrap());
    (socket, stanza)
}

fn setting(key: &str, value: &str) -> Vec<(String, String)> {
    vec![(key.to_owned(), value.to_owned())]
}

/// The source types of the ports that inputs listen at.
async fn sourcetypes(server: &Server) -> Vec<String> {
    let listening = server.state.inputs.listening().await;
    listening.into_iter().map(|one| one.sourcetype.unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_of_another_process_begin_change_and_end_with_its_last_change() {
    let server = Server::start().await;
    let (apps, of_search) = (&server.state.apps, Namespace::new(NOBODY, "search"));
    let mut followed = FollowedInputs::default();
    assert!(followed.is_behind(&server.state), "the inputs of the start have not been compared");
    followed.catch_up(&server.state).await;
    assert!(!followed.is_behind(&server.state));
    let (port, stanza) = free_port();
    drop(port);
    apps.create("inputs", &stanza, &of_search, setting("sourcetype", "first")).await.unwrap();
    followed.end(&server.state).await;
    assert!(sourcetypes(&server).await.is_empty(), "inputs begin after index-time rules");
    followed.catch_up(&server.state).await;
    assert_eq!(sourcetypes(&server).await, ["first"]);
    for sourcetype in ["second", "third"] {
        let settings = setting("sourcetype", sourcetype);
        apps.update("inputs", &stanza, &of_search, &settings).await.unwrap();
    }
    followed.end(&server.state).await;
    assert_eq!(sourcetypes(&server).await, ["first"]);
    followed.catch_up(&server.state).await;
    assert_eq!(sourcetypes(&server).await, ["third"]);
    for (disabled, ports) in [("1", 0), ("0", 1)] {
        let settings = setting("disabled", disabled);
        apps.update("inputs", &stanza, &of_search, &settings).await.unwrap();
        followed.catch_up(&server.state).await;
        assert_eq!(sourcetypes(&server).await.len(), ports, "disabled = {disabled}");
    }
    // An input that was created over REST at this process goes on.
    let (port, own) = free_port();
    drop(port);
    let form = [("name", own.trim_start_matches("udp://")), ("sourcetype", "own")];
    let answer = server.post("admin", "/services/data/inputs/udp", &form).await;
    assert!(answer.status.is_success(), "{answer:?}");
    apps.remove("inputs", &stanza, &of_search).await.unwrap();
    followed.end(&server.state).await;
    assert_eq!(sourcetypes(&server).await, ["own"], "inputs end before index-time rules");
    followed.catch_up(&server.state).await;
    assert_eq!(sourcetypes(&server).await, ["own"]);
    // Created at this process and removed at another one: the settings are those that were followed last.
    let (port, brief) = free_port();
    drop(port);
    let form = [("name", brief.trim_start_matches("udp://")), ("sourcetype", "brief")];
    let answer = server.post("admin", "/services/data/inputs/udp", &form).await;
    assert!(answer.status.is_success(), "{answer:?}");
    assert_eq!(sourcetypes(&server).await.len(), 2);
    apps.remove("inputs", &brief, &of_search).await.unwrap();
    followed.end(&server.state).await;
    assert_eq!(sourcetypes(&server).await, ["own"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_whose_port_is_taken_here_is_named_and_begins_once_it_is_free() {
    let server = Server::start().await;
    let (apps, of_search) = (&server.state.apps, Namespace::new(NOBODY, "search"));
    let mut followed = FollowedInputs::default();
    let not_running = server.state.inputs.not_running();
    let (taken, stanza) = free_port();
    apps.create("inputs", &stanza, &of_search, setting("sourcetype", "taken")).await.unwrap();
    let (port, other) = free_port();
    drop(port);
    apps.create("inputs", &other, &of_search, setting("sourcetype", "other")).await.unwrap();
    followed.catch_up(&server.state).await;
    assert_eq!(sourcetypes(&server).await, ["other"]);
    assert!(followed.is_behind(&server.state));
    let text = not_running.borrow().as_deref().unwrap_or_default().to_owned();
    assert!(text.contains(&format!("[{stanza}]: cannot listen on {stanza}")), "{text}");
    drop(taken);
    followed.catch_up(&server.state).await;
    assert_eq!(sourcetypes(&server).await.len(), 2);
    assert!(!followed.is_behind(&server.state));
    assert!(not_running.borrow().is_none());
    // At this process, a request that does not refuse a port in use leaves the input to be tried again.
    let (taken, stanza) = free_port();
    let form = [("name", stanza.as_str()), ("sourcetype", "left")];
    let path = "/servicesNS/nobody/search/configs/conf-inputs";
    let answer = server.post("admin", path, &form).await;
    assert!(answer.status.is_success(), "{answer:?}");
    assert!(followed.is_behind(&server.state) && not_running.borrow().is_some());
    drop(taken);
    followed.catch_up(&server.state).await;
    assert_eq!(sourcetypes(&server).await.len(), 3);
    assert!(!followed.is_behind(&server.state) && not_running.borrow().is_none());
}

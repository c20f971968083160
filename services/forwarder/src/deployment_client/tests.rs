//! Forwarders with their own directories, and a deployment server behind a small HTTP server.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use conf::Layers;
use deployment::{DeploymentServer, Parts};
use runtime::{Shutdown, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::{Forwarder, Options};

const KEY: &str = "[deployment]\npass4SymmKey = secret\n";
const OUTPUTS: &str = "[tcpout]\ndefaultGroup = a\n[tcpout:a]\nserver = 127.0.0.1:1\n";

/// A deployment server at a port, which assigns all apps to every forwarder.
struct Server {
    root: tempfile::TempDir,
    server: Arc<DeploymentServer>,
    port: u16,
    /// If set, only half of each archive is sent.
    cuts: Arc<AtomicBool>,
    serving: Shutdown,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.stop();
    }
}

fn now() -> u64 {
    u64::try_from(SystemClock.now().0 / 1_000_000).unwrap()
}

impl Server {
    async fn start(key: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let parts = Parts {
            conf_dir: Some(root.path().join("conf")),
            layers: Layers::builtin(),
            work: root.path().join("work"),
            token: Some(key.to_owned()),
            server_name: "ds".to_owned(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let one = Self {
            server: Arc::new(DeploymentServer::new(parts)),
            port: listener.local_addr().unwrap().port(),
            cuts: Arc::default(),
            serving: Shutdown::new(),
            root,
        };
        one.write(
            "system/local/serverclass.conf",
            "[serverClass:all]\nwhitelist.0 = *\n[serverClass:all:app:*]\n",
        );
        fs::create_dir_all(one.root.path().join("conf/deployment-apps")).unwrap();
        one.server.reload(1).unwrap();
        let (server, cuts, until) =
            (Arc::clone(&one.server), Arc::clone(&one.cuts), one.serving.clone());
        one.serving.spawn(async move {
            loop {
                tokio::select! {
                    () = until.stopped() => return,
                    accepted = listener.accept() => {
                        let (socket, _) = accepted.unwrap();
                        serve(socket, &server, cuts.load(Ordering::Relaxed)).await;
                    }
                }
            }
        });
        one
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join("conf").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file of an app and reloads the server; without text, removes the app.
    fn app(&self, app: &str, file: &str, text: &str) {
        let folder = format!("deployment-apps/{app}");
        if text.is_empty() {
            fs::remove_dir_all(self.root.path().join("conf").join(folder)).unwrap();
        } else {
            self.write(&format!("{folder}/default/{file}.conf"), text);
        }
        self.server.reload(1).unwrap();
    }

    /// The results that the only forwarder has reported for its apps.
    fn results(&self) -> BTreeMap<String, (&'static str, Option<String>)> {
        let [client] = &self.server.clients()[..] else { panic!("one forwarder") };
        let result = |app: &deployment::ClientApp| (app.result(), app.failed.clone());
        client.apps.iter().map(|(name, app)| (name.clone(), result(app))).collect()
    }
}

/// Answers a request.
async fn serve(mut socket: TcpStream, server: &DeploymentServer, cuts: bool) {
    let mut request = Vec::new();
    let (head, body) = loop {
        let mut piece = [0; 4_096];
        let count = socket.read(&mut piece).await.unwrap();
        request.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = field(head, "content-length").and_then(|one| one.parse().ok());
            let start = head.len() + 4;
            if request.len() >= start + length.unwrap_or(0) {
                break (head.to_owned(), request[start..].to_vec());
            }
        }
        assert!(count > 0, "an incomplete request: {text}");
    };
    let path = head.split(' ').nth(1).unwrap();
    let proof = field(&head, PROOF_HEADER).unwrap_or_default();
    let answer = match path.split_once('?') {
        None => server.phone_home(&body, &proof, None, now()),
        Some((_, query)) => {
            let value = |name: &str| {
                let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).unwrap()
            };
            let time = field(&head, TIME_HEADER).unwrap().parse().unwrap();
            let (app, checksum) = (value("name"), value("checksum"));
            let request = DownloadRequest { app, checksum, time };
            let download = server.download(&request, &proof, now());
            download.map(|download| (fs::read(download.path).unwrap(), String::new()))
        }
    };
    let (status, mut body, proof) = match answer {
        Ok((body, proof)) => (200, body, proof),
        Err(error) => {
            let json =
                serde_json::json!({"messages": [{"type": "FATAL", "text": error.to_string()}]});
            (403, json.to_string().into_bytes(), String::new())
        }
    };
    if cuts && path.contains('?') {
        body.truncate(body.len() / 2);
    }
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{PROOF_HEADER}: {proof}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&body).await.unwrap();
}

fn field(head: &str, name: &str) -> Option<String> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned())
}

/// The directories of a forwarder.
struct Place {
    root: tempfile::TempDir,
    rest: Shutdown,
}

impl Place {
    fn new(server: &Server, files: &[(&str, &str)]) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap(), rest: Shutdown::new() };
        let client = format!(
            "[deployment-client]\nclientName = web-1\nphoneHomeIntervalInSecs = 1\n\
             [target-broker:deploymentServer]\ntargetUri = http://127.0.0.1:{}\n",
            server.port
        );
        let all = [("server", KEY), ("deploymentclient", &client)];
        for (file, text) in all.iter().chain(files) {
            place.write(file, text);
        }
        place
    }

    fn write(&self, file: &str, text: &str) {
        let folder = self.root.path().join("conf/system/local");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{file}.conf")), text).unwrap();
    }

    async fn start(&self) -> Forwarder {
        let options = Options {
            data: self.root.path().join("data"),
            host: "host".to_owned(),
            aws: BTreeMap::new(),
            conf_dir: self.root.path().join("conf"),
            pipelines: Some(1),
        };
        Forwarder::start(options, Arc::new(SystemClock), &self.rest).await.unwrap()
    }

    /// The stanza of a file input in a directory of its own.
    fn input(&self, name: &str) -> String {
        format!("[monitor://{}]\nindex = main\n", self.root.path().join(name).display())
    }
}

/// Asks once, and reloads if something has changed.
async fn step(forwarder: &mut Forwarder) -> Option<Change> {
    let change = forwarder.call().await;
    if change.is_some() {
        forwarder.reload().await.unwrap();
    }
    change
}

fn deployment(forwarder: &Forwarder) -> DeploymentStatus {
    forwarder.status().deployment.unwrap()
}

fn installed(forwarder: &Forwarder) -> Vec<String> {
    deployment(forwarder).apps.into_keys().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_come_change_and_go() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[("outputs", OUTPUTS)]);
    let mut forwarder = place.start().await;
    assert_eq!(step(&mut forwarder).await, None);
    server.app("web", "inputs", &place.input("one"));
    server.app("base", "inputs", &place.input("two"));
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert_eq!(step(&mut forwarder).await, None);
    assert_eq!(installed(&forwarder), ["base", "web"]);
    assert!(server.results().values().all(|(result, _)| *result == "Ok"), "{:?}", server.results());
    let before = deployment(&forwarder).apps["web"].clone();
    server.app("web", "inputs", &place.input("three"));
    server.app("base", "inputs", "");
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert_eq!(installed(&forwarder), ["web"]);
    assert_ne!(deployment(&forwarder).apps["web"], before);
    let data = place.root.path().join("data");
    let deployed = deployed_apps(&data);
    let text = fs::read_to_string(deployed["web"].join("apps/web/default/inputs.conf")).unwrap();
    assert_eq!(text, place.input("three"));
    assert_eq!(fs::read_dir(data.join("deployment/versions")).unwrap().count(), 1);
    // The server is unavailable and the process restarts: the apps are still installed.
    forwarder.stop().await;
    drop(server);
    let mut forwarder = place.start().await;
    assert_eq!(step(&mut forwarder).await, None);
    let status = deployment(&forwarder);
    assert!(status.last_error.is_some() && status.last_phone_home == 0, "{status:?}");
    let data = place.root.path().join("data");
    assert_eq!(deployed_apps(&data).into_keys().collect::<Vec<_>>(), ["web"]);
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_whose_configuration_does_not_hold_is_refused_and_the_server_hears_why() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[("outputs", OUTPUTS)]);
    let mut forwarder = place.start().await;
    server.app("good", "inputs", &place.input("one"));
    server.app("bad", "inputs", &place.input("two"));
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    let before = deployment(&forwarder).apps["bad"].clone();
    server.app("bad", "inputs", "[monitor:///var/log]\nindex\n");
    server.app("good", "inputs", &place.input("three"));
    // The valid app is installed nevertheless.
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert_eq!(step(&mut forwarder).await, None);
    assert_eq!(deployment(&forwarder).apps["bad"], before);
    let (result, reason) = server.results()["bad"].clone();
    let reason = reason.unwrap();
    assert_eq!(result, "Fail");
    assert!(reason.starts_with("default/inputs.conf:2: expected \"key = value\""), "{reason}");
    assert!(deployment(&forwarder).failed["bad"].contains("inputs.conf:2"));
    server.app("bad", "inputs", &place.input("four"));
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert_eq!(step(&mut forwarder).await, None);
    assert_eq!(server.results()["bad"], ("Ok", None));
    assert!(deployment(&forwarder).failed.is_empty());
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarder_without_outputs_waits_for_an_app_that_has_them() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[]);
    let mut forwarder = place.start().await;
    server.app("inputs", "inputs", &place.input("one"));
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert!(forwarder.status().outputs.is_empty());
    server.app("outputs", "outputs", OUTPUTS);
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    // Invalid outputs are refused, and so is the removal of their app, which leaves no outputs.
    server.app("outputs", "outputs", &OUTPUTS.replace("127.0.0.1:1", "nowhere"));
    assert_eq!(step(&mut forwarder).await, None);
    let failed = deployment(&forwarder).failed;
    assert!(failed["outputs"].contains("expected host:port"), "{failed:?}");
    assert_eq!(installed(&forwarder), ["inputs", "outputs"]);
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_that_hold_only_together_are_put_in_force_together() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[("outputs", "[tcpout]\ndefaultGroup = other\n")]);
    let mut forwarder = place.start().await;
    server.app("a", "outputs", "[tcpout:one]\nserver = h:1\n");
    assert_eq!(step(&mut forwarder).await, None);
    assert!(deployment(&forwarder).failed["a"].contains("[tcpout:other]"));
    server.app("a", "outputs", "[tcpout:one]\nserver = h:2\n");
    server.app("b", "outputs", "[tcpout:other]\nserver = h:1\n");
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert_eq!(installed(&forwarder), ["a", "b"]);
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_takes_the_deployment_server_away_is_refused() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[("outputs", OUTPUTS)]);
    let mut forwarder = place.start().await;
    server.app("off", "inputs", &place.input("one"));
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    // Configuration by the administrator has precedence over apps: the removal is valid only without it.
    let client =
        fs::read_to_string(place.root.path().join("conf/system/local/deploymentclient.conf"));
    server.app("ds", "deploymentclient", &client.unwrap());
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    fs::remove_file(place.root.path().join("conf/system/local/deploymentclient.conf")).unwrap();
    server.app("ds", "deploymentclient", "");
    assert_eq!(step(&mut forwarder).await, None);
    assert_eq!(installed(&forwarder), ["ds", "off"]);
    assert!(deployment(&forwarder).failed["ds"].contains("lose its deployment server"));
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_the_key_changes_nothing() {
    let server = Server::start("another secret").await;
    server.app("evil", "inputs", "[script://./bin/evil]\n");
    let place = Place::new(&server, &[("outputs", OUTPUTS)]);
    let mut forwarder = place.start().await;
    assert_eq!(step(&mut forwarder).await, None);
    let error = deployment(&forwarder).last_error.unwrap();
    assert!(
        error.contains("403: the request is not signed with the deployment server's key"),
        "{error}"
    );
    assert!(installed(&forwarder).is_empty());
    forwarder.stop().await;
    place.write("server", "");
    let mut forwarder = place.start().await;
    assert_eq!(forwarder.call().await, None);
    assert!(deployment(&forwarder).last_error.unwrap().contains("there is no key"));
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_that_breaks_is_tried_again() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[("outputs", OUTPUTS)]);
    let mut forwarder = place.start().await;
    server.app("web", "inputs", &place.input("one"));
    server.cuts.store(true, Ordering::Relaxed);
    assert_eq!(step(&mut forwarder).await, None);
    assert!(installed(&forwarder).is_empty());
    server.cuts.store(false, Ordering::Relaxed);
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert_eq!(installed(&forwarder), ["web"]);
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_larger_than_the_limit_is_refused() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[("outputs", OUTPUTS)]);
    let path = place.root.path().join("conf/system/local/deploymentclient.conf");
    let client = fs::read_to_string(&path).unwrap();
    let client = client.replace("[deployment-client]", "[deployment-client]\nmaxAppSize = 10");
    place.write("deploymentclient", &client);
    let mut forwarder = place.start().await;
    server.app("large", "inputs", &place.input("one"));
    assert_eq!(step(&mut forwarder).await, None);
    assert!(deployment(&forwarder).failed["large"].contains("more than maxAppSize (10)"));
    forwarder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_start_gives_way_to_the_apps_before() {
    let server = Server::start("secret").await;
    let place = Place::new(&server, &[("outputs", OUTPUTS)]);
    let mut forwarder = place.start().await;
    server.app("web", "inputs", &place.input("one"));
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    let before = deployment(&forwarder).apps["web"].clone();
    // The configuration is valid, but a file blocks the directory of the queue.
    let queues = place.root.path().join("data/queue");
    fs::create_dir_all(&queues).unwrap();
    fs::write(queues.join("blocked"), "").unwrap();
    server.app("web", "outputs", "[tcpout:blocked]\nserver = h:1\n");
    assert_eq!(step(&mut forwarder).await, Some(Change::Reload));
    assert_eq!(step(&mut forwarder).await, None);
    assert_eq!(deployment(&forwarder).apps["web"], before);
    let (result, reason) = server.results()["web"].clone();
    assert_eq!(result, "Fail");
    assert!(reason.unwrap().contains("queue/blocked"));
    forwarder.stop().await;
}

#[test]
fn pauses_differ_by_a_tenth_at_most() {
    let minute = Duration::from_secs(60);
    for (dice, seconds) in [(0, 54), (100, 60), (200, 66), (201, 54)] {
        assert_eq!(jittered(minute, dice).as_secs(), seconds);
    }
}

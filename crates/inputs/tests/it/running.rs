//! Inputs that are started, changed and ended while others run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use conf::{Effective, Layer, Layers};
use inputs::OwnDirectories;
use inputs::configured::{
    Base, Bound, Configured, InputDependencies, Parts, Protocol, RunningInputs,
};
use inputs::monitor::{MonitorSettings, MonitorStatus};
use runtime::Shutdown;
use testkit::{TestDir, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::sink::Recorder;

const PATIENCE: Duration = Duration::from_secs(60);

fn effective(text: &str) -> Effective {
    Layers::builtin().with(Layer::AppLocal("a".to_owned()), "inputs", text).effective("inputs")
}

/// A port that was free a moment ago.
async fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

async fn running(folder: &TestDir, recorder: &Arc<Recorder>, shutdown: &Shutdown) -> RunningInputs {
    let running = RunningInputs::new(InputDependencies {
        host: "me".into(),
        monitor: MonitorSettings::default(),
        parts: Parts {
            state: folder.path().join("inputs"),
            aws: BTreeMap::new(),
            files: MonitorStatus::default(),
            own: OwnDirectories::default(),
        },
        sink: recorder.sink(),
        check_index: Arc::new(|index| match index.as_str() {
            "main" => Ok(()),
            other => Err(format!("there is no index \"{other}\"")),
        }),
    });
    let base = Base {
        always: Configured::default(),
        forwarders: Arc::new(drop),
        tls: None,
        shutdown: shutdown.clone(),
    };
    running.start(base, &effective(""), Bound::default()).await;
    running
}

async fn apply(running: &RunningInputs, text: &str, stanza: &str) -> Result<(), String> {
    let mut change = running.change().await.map_err(|error| error.to_string())?;
    change.prepare(&effective(text), stanza).await.map_err(|error| error.to_string())?;
    change.apply().await;
    Ok(())
}

async fn arrived(recorder: &Recorder, line: &str) -> bool {
    let there = || async { recorder.lines().iter().any(|known| known.contains(line)) };
    wait_until(there, PATIENCE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_and_its_connections_go_on_while_settings_change_and_end_with_the_input() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let shutdown = Shutdown::new();
    let running = running(&folder, &recorder, &shutdown).await;
    let port = port().await;
    let stanza = format!("tcp://127.0.0.1:{port}");
    let said = |more: &str| format!("[{stanza}]\n{more}\n");
    apply(&running, &said(""), &stanza).await.unwrap();
    let mut old = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    old.write_all(b"one\n").await.unwrap();
    assert!(arrived(&recorder, "one").await);
    apply(&running, &said("sourcetype = changed"), &stanza).await.unwrap();
    let mut new = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    new.write_all(b"two\n").await.unwrap();
    old.write_all(b"three\n").await.unwrap();
    assert!(arrived(&recorder, "two").await && arrived(&recorder, "three").await);
    let changed = |origin: &inputs::InputMeta| origin.sourcetype.as_deref() == Some("changed");
    assert!(recorder.origins().iter().any(|origin| changed(origin)));
    let listening = running.listening().await;
    let [one] = listening.as_slice() else { panic!("{listening:?}") };
    assert_eq!((one.protocol, one.address.port()), (Protocol::Tcp { tls: false }, port));
    assert_eq!((one.stanza.as_ref(), one.sourcetype.as_deref()), (Some(&stanza), Some("changed")));
    apply(&running, "", &stanza).await.unwrap();
    assert_eq!(running.listening().await, []);
    let mut rest = Vec::new();
    for socket in [&mut old, &mut new] {
        let read = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut rest)).await;
        assert_eq!(read.unwrap().unwrap_or_default(), 0);
    }
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    shutdown.finish(PATIENCE).await.unwrap();
    assert!(running.change().await.is_err(), "nothing changes after the stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_on_at_their_checkpoints_when_others_are_followed_too() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let shutdown = Shutdown::new();
    let running = running(&folder, &recorder, &shutdown).await;
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("a.log"), "a1\n").unwrap();
    std::fs::write(file("b.log"), "b1\n").unwrap();
    let stanza = |name: &str| format!("monitor://{}", file(name).display());
    let (a, b) = (stanza("a.log"), stanza("b.log"));
    apply(&running, &format!("[{a}]\ninitCrcLength = 256\n"), &a).await.unwrap();
    assert!(arrived(&recorder, "a1").await);
    apply(&running, &format!("[{a}]\n[{b}]\n"), &b).await.unwrap();
    std::fs::write(file("a.log"), "a1\na2\n").unwrap();
    assert!(arrived(&recorder, "a2").await && arrived(&recorder, "b1").await);
    let lines = recorder.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("a1")).count(), 1, "{lines:?}");
    shutdown.finish(PATIENCE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_whose_checkpoints_cannot_be_opened_are_followed_once_they_can() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let shutdown = Shutdown::new();
    let running = running(&folder, &recorder, &shutdown).await;
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("a.log"), "a1\n").unwrap();
    // The directory of the checkpoints cannot be created.
    std::fs::write(file("inputs"), "").unwrap();
    let stanza = format!("monitor://{}", file("a.log").display());
    apply(&running, &format!("[{stanza}]\n"), &stanza).await.unwrap();
    let mut text = running.not_running();
    let told = tokio::time::timeout(PATIENCE, text.wait_for(Option::is_some)).await;
    let told = told.unwrap().unwrap().clone().unwrap();
    assert!(told.contains("the monitored files: cannot use the checkpoints"), "{told}");
    std::fs::remove_file(file("inputs")).unwrap();
    assert!(arrived(&recorder, "a1").await);
    assert!(running.not_running().borrow().is_none());
    shutdown.finish(PATIENCE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn stanzas_of_one_queue_that_cannot_be_read_are_named_apart() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let shutdown = Shutdown::new();
    let running = running(&folder, &recorder, &shutdown).await;
    // The directory of the checkpoints cannot be created.
    std::fs::write(folder.path().join("inputs"), "").unwrap();
    let stanzas = ["aws_sqs_based_s3://a", "aws_sqs_based_s3://b"];
    let settings = "sqs_queue_url = http://q/1/x\ns3_file_decoder = CloudTrail\n";
    let text: String = stanzas.iter().map(|one| format!("[{one}]\n{settings}")).collect();
    for stanza in stanzas {
        apply(&running, &text, stanza).await.unwrap();
    }
    let mut text = running.not_running();
    let are_named = |text: &Option<Arc<str>>| {
        text.as_ref().is_some_and(|text| {
            stanzas.iter().all(|stanza| text.contains(&format!("[{stanza}]: cannot")))
        })
    };
    tokio::time::timeout(PATIENCE, text.wait_for(are_named)).await.unwrap().unwrap();
    shutdown.finish(PATIENCE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_are_gone_end_before_others_begin_or_change() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let shutdown = Shutdown::new();
    let running = running(&folder, &recorder, &shutdown).await;
    let (gone, off, kept) = (port().await, port().await, port().await);
    let stanza = |port: u16| format!("tcp://127.0.0.1:{port}");
    let before = format!("[{}]\n[{}]\n[{}]\n", stanza(gone), stanza(off), stanza(kept));
    apply(&running, &before, "").await.unwrap();
    assert_eq!(running.listening().await.len(), 3);
    let new = port().await;
    // The port of the one that is gone is that of another input.
    let after = format!(
        "[{}]\ndisabled = 1\n[{}]\nsourcetype = changed\n[{}]\n[tcp-ssl://127.0.0.1:{gone}]\n",
        stanza(off),
        stanza(kept),
        stanza(new)
    );
    let mut change = running.change().await.unwrap();
    change.prepare_end(&effective(&after)).unwrap();
    change.apply().await;
    let listening = running.listening().await;
    let [one] = listening.as_slice() else { panic!("{listening:?}") };
    assert_eq!((one.address.port(), one.sourcetype.as_deref()), (kept, None));
    apply(&running, &after, "").await.unwrap();
    let all = running.listening().await;
    let found = all.iter().map(|one| {
        let tls = one.protocol == Protocol::Tcp { tls: true };
        (one.address.port(), (tls, one.sourcetype.as_deref()))
    });
    let expected = [(kept, (false, Some("changed"))), (new, (false, None)), (gone, (true, None))];
    assert_eq!(found.collect::<BTreeMap<_, _>>(), BTreeMap::from(expected));
    shutdown.finish(PATIENCE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_and_changes_nothing() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let shutdown = Shutdown::new();
    let running = running(&folder, &recorder, &shutdown).await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let used = format!("tcp://{}", taken.local_addr().unwrap());
    for (stanza, settings, told) in [
        (used.as_str(), "", "cannot listen on"),
        ("tcp://127.0.0.1:1", "index = other", "there is no index \"other\""),
        ("tcp://127.0.0.1:1", "connection_host = x\ndisabled = 1", "connection_host = x"),
        ("udp://web:1:2", "", "after ://"),
    ] {
        let told_now = apply(&running, &format!("[{stanza}]\n{settings}\n"), stanza).await;
        assert!(told_now.as_ref().is_err_and(|error| error.contains(told)), "{told_now:?}");
    }
    let mut change = running.change().await.unwrap();
    change.prepare(&effective(&format!("[{used}]\n")), "").await.unwrap();
    let [skipped] = change.skipped() else { panic!("{:?}", change.skipped()) };
    assert_eq!(skipped.stanza, used);
    let text = skipped.to_string();
    assert!(text.ends_with(&format!("; the input [{used}] is skipped")), "{text}");
    drop((change, taken));
    let mut change = running.change().await.unwrap();
    change.prepare(&effective(&format!("[{used}]\n")), "").await.unwrap();
    assert!(change.skipped().is_empty(), "{:?}", change.skipped());
    drop(change);
    let port = port().await;
    let (one, other) = (format!("tcp://one:{port}"), format!("tcp://other:{port}"));
    let both = format!("[{one}]\n[{other}]\n");
    apply(&running, &both, &other).await.unwrap();
    let open = format!("tcp://{port}");
    let told = apply(&running, &format!("{both}[{open}]\n"), &open).await.unwrap_err();
    assert!(told.contains("its port is that of"), "{told}");
    let secure = format!("tcp-ssl://other:{port}");
    let told = apply(&running, &format!("[{one}]\n[{secure}]\n"), &secure).await.unwrap_err();
    assert!(told.contains("only one of them uses TLS"), "{told}");
    shutdown.finish(PATIENCE).await.unwrap();
}

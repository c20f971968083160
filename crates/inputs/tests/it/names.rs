//! Hosts of events by the names of their senders, over real sockets.

use std::time::Duration;

use inputs::HostNames;
use inputs::tcp::{Framing, TcpInput};
use inputs::udp::UdpInput;
use model::IndexName;
use runtime::Shutdown;
use testkit::{TestDir, wait_until};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::sink::Recorder;

const PATIENCE: Duration = Duration::from_secs(20);

fn names(folder: &TestDir) -> HostNames {
    let hosts = folder.path().join("hosts");
    std::fs::write(&hosts, "127.0.0.1 tester.example.com tester\n").unwrap();
    HostNames::of_files(hosts, folder.path().join("resolv.conf"))
}

fn index() -> IndexName {
    IndexName::new("main").unwrap()
}

#[tokio::test]
async fn all_events_of_a_connection_have_the_name_of_its_sender() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut input = TcpInput::new(index(), Framing::Lines);
    input.names = Some(names(&folder));
    tokio::spawn(input.serve(listener, recorder.sink(), Shutdown::new()));
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(b"one\ntwo\n").await.unwrap();
    let arrived = || async { recorder.lines().len() == 2 };
    assert!(wait_until(arrived, PATIENCE).await);
    let hosts: Vec<_> = recorder.origins().iter().map(|origin| origin.host.clone()).collect();
    assert_eq!(hosts, ["tester.example.com".into()]);
}

#[tokio::test]
async fn datagrams_have_the_address_until_the_name_is_known_and_headers_count_first() {
    let (folder, recorder) = (TestDir::new(), Recorder::new(Duration::from_secs(1)));
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let input = UdpInput { names: Some(names(&folder)), ..UdpInput::new(index()) };
    tokio::spawn(input.serve(socket, recorder.sink(), Shutdown::new()));
    let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    sender.send_to(b"<13>Oct 11 22:14:15 web01 app: a", address).await.unwrap();
    let named = || async {
        sender.send_to(b"no header", address).await.unwrap();
        recorder.origins().iter().any(|origin| &*origin.host == "tester.example.com")
    };
    assert!(wait_until(named, PATIENCE).await);
    let hosts: Vec<_> = recorder.origins().iter().map(|origin| origin.host.clone()).collect();
    assert_eq!(&*hosts[0], "web01");
    assert!(
        hosts
            .iter()
            .all(|host| { ["web01", "127.0.0.1", "tester.example.com"].contains(&&**host) })
    );
}

//! The inputs of an app that is disabled and enabled.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::Arc;

use apps::{Applied, NOBODY, Namespace};
use futures::future::BoxFuture;
use inputs::configured::RunningInputs;
use knowledge::Knowledge;
use parking_lot::Mutex;

use super::server::Server;
use crate::routes::data_inputs::ending::without_inputs_of;

/// Records with each change of the rules whether the rule of the app is in force, and the number of ports
/// that inputs listen on.
#[derive(Debug)]
struct Order {
    inputs: RunningInputs,
    seen: Mutex<Vec<(bool, usize)>>,
}

impl Applied for Order {
    fn apply<'a>(&'a self, rules: &'a Arc<Knowledge>, _: &'a [conf::Warning]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let has_rule = rules.parsing_rules("st", "", "").truncate == Some(7);
            let ports = self.inputs.listening().await.len();
            self.seen.lock().push((has_rule, ports));
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_of_an_app_end_before_its_rules_do_and_begin_after_them() {
    let server = Server::start().await;
    let (apps, inputs) = (&server.state.apps, server.state.inputs.clone());
    apps.create_app("shop", &[]).await.unwrap();
    let of_app = Namespace::new(NOBODY, "shop");
    let setting = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    apps.create("props", "st", &of_app, setting("TRUNCATE", "7")).await.unwrap();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    apps.create("inputs", &format!("udp://{free}"), &of_app, setting("index", "main"))
        .await
        .unwrap();
    crate::follow_inputs(&server.state).await;
    assert_eq!(inputs.listening().await.len(), 1);
    let order = Arc::new(Order { inputs: inputs.clone(), seen: Mutex::default() });
    apps.tell(Arc::clone(&order) as Arc<dyn Applied>);
    for (action, ports) in [("disable", 0), ("enable", 1)] {
        let path = format!("/services/apps/local/shop/{action}");
        let answer = server.post("admin", &path, &[]).await;
        assert!(answer.status.is_success(), "{answer:?}");
        assert_eq!(inputs.listening().await.len(), ports, "{action}");
    }
    let install = "/servicesNS/nobody/shop/configs/conf-app/install";
    for (state, ports) in [("disabled", 0), ("enabled", 1)] {
        let disabled = if ports == 0 { "1" } else { "0" };
        let settings = [("disabled", disabled), ("state", state)];
        let answer = server.post("admin", install, &settings).await;
        assert!(answer.status.is_success(), "{answer:?}");
        assert_eq!(inputs.listening().await.len(), ports, "{state}");
    }
    let in_order = [(false, 0), (true, 0)];
    assert_eq!(*order.seen.lock(), [in_order, in_order].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_change_begins_inputs_of_an_app_that_ends_and_a_fault_in_its_change_does() {
    let server = Server::start().await;
    let (state, inputs) = (server.state.clone(), server.state.inputs.clone());
    state.apps.create_app("shop", &[]).await.unwrap();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (stanza, index) = (format!("udp://{free}"), vec![("index".to_owned(), "main".to_owned())]);
    let of_shop = Namespace::new(NOBODY, "shop");
    state.apps.create("inputs", &stanza, &of_shop, index).await.unwrap();
    crate::follow_inputs(&state).await;
    assert_eq!(inputs.listening().await.len(), 1);
    let shop = BTreeSet::from(["shop".to_owned()]);
    let during = without_inputs_of(&state, shop.clone(), async {
        crate::follow_inputs(&state).await;
        let path = format!("/servicesNS/nobody/shop/data/inputs/udp/{free}");
        let answer = server.post("admin", &path, &[("sourcetype", "other")]).await;
        assert_eq!(answer.status.as_u16(), 503, "{answer:?}");
        inputs.listening().await.len()
    });
    assert_eq!(during.await, 0);
    assert_eq!(inputs.listening().await.len(), 1);
    let fault = async { std::future::ready(None::<()>).await.expect("a fault") };
    let failing = async move { without_inputs_of(&state, shop, fault).await };
    assert!(runtime::detached(failing).await.is_err());
    assert_eq!(inputs.listening().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inputs_of_an_app_go_on_if_it_cannot_be_changed() {
    let server = Server::start().await;
    let (apps, inputs) = (&server.state.apps, server.state.inputs.clone());
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let of_search = Namespace::new(NOBODY, "search");
    let index = vec![("index".to_owned(), "main".to_owned())];
    apps.create("inputs", &format!("udp://{free}"), &of_search, index).await.unwrap();
    crate::follow_inputs(&server.state).await;
    let answer = server.post("admin", "/services/apps/local/search/disable", &[]).await;
    assert!(!answer.status.is_success(), "{answer:?}");
    assert_eq!(inputs.listening().await.len(), 1);
}

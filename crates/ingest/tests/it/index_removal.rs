//! The removal of an index while other processes may have hot events of it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use ingest::{IndexCatalog, OtherHot};
use inputs::{CutEvents, Input, InputMeta, MissingTime, SinkExt, StreamKey};
use knowledge::Knowledge;
use model::{ErrorKind, IndexName};
use parking_lot::Mutex;
use runtime::Shutdown;
use testkit::{TestDir, wait_until};

use crate::setup::{meta, settings, start};

const LONG: Duration = Duration::from_secs(30);

/// What the other processes have.
#[derive(Debug)]
struct Others(Mutex<Result<(), String>>);

impl OtherHot for Others {
    fn without<'a>(&'a self, _: &'a IndexName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.0.lock().clone() })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_a_removed_index_is_free_once_no_process_has_hot_events_of_it() {
    let (data, shutdown) = (TestDir::new(), Shutdown::new());
    let setup = start(data.path(), settings()).await;
    let others = Arc::new(Others(Mutex::new(Err("indexer idx2 does not answer".to_owned()))));
    let loaded = IndexCatalog::load((*setup.catalog).clone(), &Knowledge::builtin()).await;
    let beside = Arc::clone(&others) as Arc<dyn OtherHot>;
    let indexes = Arc::new(loaded.unwrap().beside(Some(beside)));
    let name = IndexName::new("other").unwrap();
    assert!(indexes.create(name.clone()).await.unwrap());
    assert!(!indexes.create(name.clone()).await.unwrap(), "it exists");
    setup.ingest.submit(event(&name)).await.unwrap();
    assert_eq!(setup.texts().await, ["an event"]);

    let removal = {
        let (indexes, name, shutdown) = (Arc::clone(&indexes), name.clone(), shutdown.clone());
        let ingest = Arc::clone(&setup.ingest);
        tokio::spawn(async move { indexes.remove(&name, &ingest, &shutdown).await })
    };
    let is_emptied = || async { indexes.emptied(&setup.ingest) == [name.clone()] };
    assert!(wait_until(is_emptied, LONG).await, "its hot events are stored");
    assert!(indexes.get(&name).is_none() && indexes.check_takes(&name).is_err());
    let refused = indexes.create(name.clone()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    let expected = "the index \"other\" is still being removed: indexer idx2 does not answer";
    assert_eq!(refused.to_string(), expected);
    assert!(!removal.is_finished());

    *others.0.lock() = Ok(());
    removal.await.unwrap().unwrap();
    assert!(indexes.create(name.clone()).await.unwrap(), "the name is free");
    assert!(setup.texts().await.is_empty() && indexes.emptied(&setup.ingest).is_empty());
    shutdown.finish(LONG).await.unwrap();
    setup.stop().await;
}

fn event(index: &IndexName) -> Input {
    let mut events = CutEvents::new(MissingTime::Now);
    let meta = InputMeta { index: index.clone(), ..meta(Some("test")) };
    assert!(events.push(meta.by_ref(), None, b"an event"));
    Input::Events { stream: StreamKey("test".into()), events }
}

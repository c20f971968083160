//! The same on a real S3 server, where copies, conditions and uploads in parts are the server's.

use ingest::{Settings, Thaw};
use inputs::SinkExt;
use model::TimeRange;
use runtime::store::Options;
use testkit::{S3Server, TestDir};

use crate::merging::{merging, objects};
use crate::setup::{dated, main_index, now, start_configured};

const INDEXES: &str =
    "[main]\nfrozenTimePeriodInSecs = 3600\ncoldToFrozenDir = archive\nackLevel = remote\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buckets_are_uploaded_in_parts_joined_archived_and_brought_back() {
    let Some(server) = S3Server::start().await else { return };
    let options = Options { variables: server.variables(), ..Options::default() };
    let store = runtime::store::open(&server.url("life"), &options).unwrap().store;
    let data = TestDir::new();
    let mut settings = Settings {
        multipart_threshold: 1,
        remote_ack_interval: std::time::Duration::ZERO,
        ..merging()
    };
    settings.lifecycle.merge_delete_grace = std::time::Duration::ZERO;
    let catalog = std::sync::Arc::clone(&store);
    let setup = start_configured(data.path(), settings, store, catalog, INDEXES).await;
    for hours in [2, 0, 0, 0, 0] {
        let text = format!("{hours} hours ago");
        setup.ingest.submit(dated(&[(now() - hours * 3600 - 60, &text)])).await.unwrap();
        setup.ingest.roll_all(None).await.unwrap();
    }
    assert_eq!(objects(&setup).await, 5);
    setup.ingest.rotate().await.unwrap();
    setup.ingest.rotate().await.unwrap();
    assert_eq!((setup.catalog.snapshot().len(), objects(&setup).await), (1, 1));
    assert_eq!(setup.texts().await, ["0 hours ago"; 4]);
    let wanted = Thaw { index: main_index(), range: TimeRange::ALL, from: None };
    assert_eq!(setup.ingest.thaw(&wanted).await.unwrap().buckets, 1);
    assert_eq!(setup.texts().await[0], "2 hours ago");
}

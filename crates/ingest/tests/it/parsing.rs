//! What bytes become.

use std::sync::Arc;

use ingest::Settings;
use inputs::{CutEvents, Input, MissingTime, SinkExt, StreamKey};
use testkit::TestDir;

use crate::setup::{Setup, main_index, meta, raw, seconds, settings, start};

#[tokio::test]
async fn lines_get_the_times_they_show() {
    let (_data, setup) = running().await;
    let text = "2024-01-02 03:04:05,678 INFO a\nno time here\n2024-01-02 03:04:06 b\n";
    assert_eq!(setup.raw("syslog", text).await, 3);
    let rows = setup.rows().await;
    let times: Vec<_> = rows.iter().map(|row| seconds(row.0)).collect();
    assert_eq!(times, [1_704_164_645.678, 1_704_164_645.678, 1_704_164_646.0]);
}

#[tokio::test]
async fn a_line_cut_between_inputs_is_one_event() {
    let (_data, setup) = running().await;
    let origin = Arc::new(meta(Some("syslog")));
    let push = |bytes: &'static [u8], end| Input::Raw {
        origin: Arc::clone(&origin),
        stream: StreamKey("one".into()),
        bytes: bytes.into(),
        modified: None,
        end,
    };
    let receipt = setup.ingest.submit(push(b"first\nsec", false)).await.unwrap();
    assert_eq!((receipt.events, receipt.pending), (1, 3));
    let receipt = setup.ingest.submit(push(b"ond\nthird", false)).await.unwrap();
    assert_eq!((receipt.events, receipt.pending), (1, 5));
    let receipt = setup.ingest.submit(push(b"", true)).await.unwrap();
    assert_eq!((receipt.events, receipt.pending), (1, 0));
    assert_eq!(setup.texts().await, ["first", "second", "third"]);
}

#[tokio::test]
async fn lines_without_a_time_belong_to_the_event_before() {
    let (_data, setup) = running().await;
    let text = "2024-01-02 03:04:05 ERROR boom\njava.lang.Error: x\n  at A.b(C.java:1)\n\
                2024-01-02 03:04:06 INFO fine\n";
    assert_eq!(setup.raw("multi_line_unknown", text).await, 2);
    let texts = setup.texts().await;
    assert!(texts[0].ends_with("\njava.lang.Error: x\n  at A.b(C.java:1)"), "{texts:?}");
}

#[tokio::test]
async fn a_hundred_megabytes_without_a_line_feed_become_one_cut_event() {
    let (_data, setup) = running().await;
    let mut text = vec![b'x'; 100 << 20];
    text.extend_from_slice(b"\nnext\n");
    let receipt = setup.ingest.submit(raw("syslog", &text)).await.unwrap();
    assert_eq!((receipt.events, receipt.bytes), (2, 10_004));
}

#[tokio::test]
async fn bytes_that_are_not_utf8_stay_visible() {
    let (_data, setup) = running().await;
    setup.ingest.submit(raw("syslog", b"caf\xe9 au lait\nplain\n")).await.unwrap();
    assert_eq!(setup.texts().await, ["caf\\xE9 au lait", "plain"]);
}

#[tokio::test]
async fn events_far_from_now_do_not_stretch_the_bucket_of_the_others() {
    let (_data, setup) = running().await;
    let now = setup.events(&["now"]).await;
    let text = "1999-01-02 03:04:05 long ago\n";
    assert_eq!(now.events + setup.raw("syslog", text).await, 2);
    let hot = setup.ingest.status().hot;
    let quarantined: Vec<_> = hot.iter().map(|bucket| bucket.stream.lane.is_quarantine()).collect();
    assert_eq!(quarantined, [false, true]);
    assert_eq!(setup.texts().await.len(), 2);
}

#[tokio::test]
async fn a_million_fields_are_kept_with_their_event_where_the_limits_allow_them() {
    let data = TestDir::new();
    let wide = Settings { max_event_fields: 1_000_000, max_event_size: 64 << 20, ..settings() };
    let setup = start(data.path(), wide).await;
    let mut events = CutEvents::new(MissingTime::Now);
    assert!(events.push(meta(Some("test")).by_ref(), None, b"wide"));
    for i in 0..1_000_000 {
        events.push_field(format!("field{i}").into(), "v");
    }
    let input = Input::Events { stream: StreamKey("wide".into()), events };
    assert_eq!(setup.ingest.submit(input).await.unwrap().events, 1);
    let hot = setup.ingest.hot().snapshot(&[main_index()], &model::TimeRange::ALL);
    let fields = arrow::array::AsArray::as_string::<i32>(hot[0].batches[0].column(6));
    assert!(fields.value(0).ends_with(r#""field999999":"v"}"#));
}

#[tokio::test]
async fn the_order_of_a_source_is_kept_over_many_batches() {
    let data = TestDir::new();
    let setup = start(data.path(), Settings { batch_size: 512, ..settings() }).await;
    let text: String =
        (0..20_000).map(|i| format!("2026-01-02 03:04:05 number {i:05}\n")).collect();
    assert_eq!(setup.raw("syslog", &text).await, 20_000);
    let texts = setup.texts().await;
    assert!(texts.is_sorted() && texts.len() == 20_000);
}

async fn running() -> (TestDir, Setup) {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    (data, setup)
}

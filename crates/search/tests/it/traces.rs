//! Traces of searches whose buckets are read by other processes.

use std::collections::HashMap;
use std::time::Duration;

use karst_search::JobRequest;
use runtime::trace::{QueueSettings, Sampler, SpanData, Spans, TraceContext, Tracer};
use testkit::wait_until;

use crate::parts::{SEARCHES, World, run, settings, traced_world};

fn tracer() -> (Tracer, Spans) {
    Tracer::new(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)), &QueueSettings::default())
}

/// A search head and its workers, with the spans of both.
async fn traced() -> (World, Spans, Spans) {
    let ((of_head, head), (of_workers, workers)) = (tracer(), tracer());
    (traced_world(30_000, settings(), of_head, of_workers).await, head, workers)
}

fn named<'a>(spans: &'a [SpanData], name: &str) -> Vec<&'a SpanData> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn attribute(span: &SpanData, name: &str) -> String {
    let mut of_name = span.attributes.iter().filter(|one| one.key.as_str() == name);
    let value = of_name.next().map(|one| one.value.to_string());
    assert!(of_name.next().is_none(), "{name} is there twice: {span:?}");
    value.unwrap_or_default()
}

/// Spans so far: those of workers end when they notice that nobody listens any more.
async fn until(spans: &mut Spans, name: &str, count: usize) -> Vec<SpanData> {
    let mut found = Vec::new();
    let is_enough = || {
        found.extend(spans.now());
        let is_enough = named(&found, name).len() >= count;
        async move { is_enough }
    };
    let has_come = wait_until(is_enough, Duration::from_secs(20)).await;
    assert!(has_come, "{count} spans {name} in {found:?}");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_one_trace_over_all_workers() {
    let (world, mut of_head, mut of_workers) = traced().await;
    let job = run(&world.head, SEARCHES[0]).await;
    let head = until(&mut of_head, "search", 1).await;
    let parts = named(&head, "search.part");
    assert!(!parts.is_empty(), "{head:?}");
    let workers = until(&mut of_workers, "search.part.run", parts.len()).await;
    let all: HashMap<_, _> =
        head.iter().chain(&workers).map(|span| (span.span_context.span_id(), span)).collect();
    let parent = |span: &SpanData| all.get(&span.parent_span_id).map(|span| span.name.to_string());

    let trace = job.trace_id().unwrap();
    assert!(all.values().all(|span| span.span_context.trace_id().to_string() == trace));
    let [root] = named(&head, "search")[..] else { panic!("{head:?}") };
    assert_eq!(parent(root), None);
    for name in ["search.plan", "search.queue", "search.execute", "search.finish"] {
        let [span] = named(&head, name)[..] else { panic!("{name} in {head:?}") };
        assert_eq!(parent(span).as_deref(), Some("search"), "{name}");
    }
    for part in &parts {
        assert_eq!(parent(part).as_deref(), Some("search.execute"));
        assert_eq!(attribute(part, "karst.outcome"), "done");
        assert_eq!(attribute(part, "karst.attempts"), "1");
    }
    let runs = named(&workers, "search.part.run");
    assert_eq!(runs.len(), parts.len());
    for run in runs {
        assert!(run.parent_span_is_remote);
        let asked = all[&run.parent_span_id];
        assert_eq!(asked.name, "search.part");
        for name in ["karst.buckets", "karst.rows", "karst.outcome"] {
            assert_eq!(attribute(run, name), attribute(asked, name), "{name}");
        }
    }
    assert_eq!(attribute(root, "karst.sid"), job.sid());
    assert_eq!(attribute(root, "karst.search.text"), SEARCHES[0]);
    assert_eq!(attribute(root, "karst.rows"), job.result_count().to_string());
    assert_eq!(attribute(root, "karst.events.scanned"), job.counts().events_scanned.to_string());
    assert_eq!(attribute(root, "karst.outcome"), "done");
    assert_eq!(attribute(root, "karst.incomplete"), "false");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_runs_elsewhere_in_the_end_says_who_has_failed() {
    let (world, mut of_head, _workers) = traced().await;
    for runner in &world.cluster.runners {
        *runner.refuses.lock() = Some("its apps differ".to_owned());
    }
    run(&world.head, SEARCHES[0]).await;
    let head = until(&mut of_head, "search", 1).await;
    let parts = named(&head, "search.part");
    assert!(!parts.is_empty());
    for part in parts {
        assert_eq!(attribute(part, "karst.outcome"), "here");
        assert_eq!(part.events.len().to_string(), attribute(part, "karst.attempts"));
        assert!(part.events.iter().all(|event| event.name == "attempt failed"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_goes_on_with_the_trace_of_who_asks_for_it() {
    let (world, mut of_head, mut of_workers) = traced().await;
    let asked = |flags: &str| {
        let text = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
        let trace = TraceContext::of_headers(|name| (name == "traceparent").then_some(&*text));
        JobRequest { trace, ..JobRequest::new(SEARCHES[0], "me") }
    };
    let unsampled = world.head.dispatch(asked("00")).await.unwrap();
    unsampled.finished().await.unwrap();
    assert_eq!(unsampled.trace_id(), None);
    let sampled = world.head.dispatch(asked("01")).await.unwrap();
    sampled.finished().await.unwrap();
    assert_eq!(sampled.trace_id().as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
    let head = until(&mut of_head, "search", 1).await;
    let [root] = named(&head, "search")[..] else { panic!("{head:?}") };
    assert_eq!(root.parent_span_id.to_string(), "b7ad6b7169203331");
    let parts = named(&head, "search.part").len();
    let workers = until(&mut of_workers, "search.part.run", parts).await;
    assert_eq!(named(&workers, "search.part.run").len(), parts, "none of the other search");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_fails_says_why_in_its_span() {
    let (world, mut of_head, _workers) = traced().await;
    let refused = world.head.dispatch(JobRequest::new("search index=main | nonsense", "me")).await;
    assert!(refused.is_err());
    let head = of_head.now();
    let [root] = named(&head, "search")[..] else { panic!("{head:?}") };
    assert_eq!(attribute(root, "karst.outcome"), "failed");
    assert!(format!("{:?}", root.status).contains("nonsense"), "{:?}", root.status);
}

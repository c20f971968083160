//! The job inspector: phases, operators, reads by tier and what they cost.

use karst_search::{Inspection, OperatorReport, Settings};

use crate::support::{done, filled, log_event};

const ROWS: usize = 20_000;

fn find<'a>(plans: &'a [OperatorReport], name: &str) -> Option<&'a OperatorReport> {
    plans.iter().find_map(
        |plan| {
            if plan.name == name { Some(plan) } else { find(&plan.inputs, name) }
        },
    )
}

fn seconds(inspection: &Inspection, phase: &str) -> f64 {
    inspection.phases.iter().find(|found| found.name == phase).map_or(0.0, |found| found.seconds)
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_counted_for_the_search_that_made_them() {
    let events: Vec<_> = (0..ROWS).map(log_event).collect();
    let settings = Settings { s3_price_get_per_1000: 2.0, ..Settings::default() };
    let (service, cache) = filled(&events, 4, settings).await;
    let search = "search alpha | stats count by user";
    let cold = done(&service, search).await.inspect();
    assert!(cold.reads.store.bytes > 0 && cold.reads.store_requests >= 4, "{:?}", cold.reads);
    assert!((cold.dollars - cold.reads.store_requests as f64 * 0.002).abs() < 1e-9);
    let warm = done(&service, search).await.inspect();
    assert_eq!((warm.reads.store_requests, warm.dollars), (0, 0.0));
    assert!(warm.reads.dram.bytes > 0);
    let both = cache.stats();
    assert_eq!(both.store_bytes, cold.reads.store.bytes);
    assert_eq!(both.dram_bytes, cold.reads.dram.bytes + warm.reads.dram.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn phases_and_operators_say_where_the_time_went() {
    let events: Vec<_> = (0..ROWS).map(log_event).collect();
    let (service, _) = filled(&events, 4, Settings::default()).await;
    let search = "search alpha ms>100 | rex \"user=(?<who>\\w+)\" | stats count by who";
    let job = done(&service, search).await;
    let inspection = job.inspect();
    for phase in ["plan", "queue", "prune", "open", "terms", "decode", "filter", "aggregate"] {
        assert!(seconds(&inspection, phase) > 0.0, "{phase}: {:?}", inspection.phases);
    }
    let filter = inspection.phases.iter().find(|phase| phase.name == "filter").unwrap();
    assert_eq!(filter.rows_out, Some(job.counts().events_matched));
    assert_eq!(filter.rows_in, Some(job.counts().events_scanned));
    let scan = find(&inspection.plans, "BucketScanExec").unwrap();
    assert_eq!(scan.rows, Some(job.counts().events_matched as usize));
    assert!(scan.detail.contains("buckets=4"), "{}", scan.detail);
    assert!(find(&inspection.plans, "AggregateExec").is_some_and(|found| found.seconds > 0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_without_reading_is_said() {
    let events: Vec<_> = (0..ROWS).map(log_event).collect();
    let (service, _) = filled(&events, 4, Settings::default()).await;
    let summaries = done(&service, "search * | stats count by host").await.inspect();
    assert_eq!(summaries.answered_from, ["answered from summaries: 4 of 4 buckets"]);
    assert_eq!(summaries.reads.store_requests, 0);
    let terms = done(&service, "search alpha | stats count").await.inspect();
    let said = terms.answered_from.join(" ");
    assert!(said.starts_with("answered from the term index:"), "{said}");
    assert_eq!(terms.scan.pruned_by, ["alpha"]);
}

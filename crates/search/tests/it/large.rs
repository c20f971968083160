//! Results of many rows: read slice by slice, and handed over so by exports.

use std::collections::BTreeMap;

use karst_search::{JobRequest, Page, Settings, Value};
use karst_spectest::SpecEvent;

use crate::support::{filled, log_event};

const ROWS: usize = 7_000;

/// Events of which only the oldest, which is found last, has the field `late`.
fn events() -> Vec<SpecEvent> {
    let mut events: Vec<SpecEvent> = (0..ROWS).map(log_event).collect();
    events[0].raw.push_str(" late=yes");
    events
}

/// What rows have, by name.
fn named(page: &Page) -> Vec<BTreeMap<String, Value>> {
    let row = |row: &Vec<Option<Value>>| {
        let cells = page.fields.iter().zip(row);
        cells.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect()
    };
    page.rows.iter().map(row).collect()
}

fn request(search: &str) -> JobRequest {
    JobRequest { max_count: Some(ROWS), ..JobRequest::new(search, "me") }
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_of_a_result_are_its_rows_and_stay_when_the_job_is_gone() {
    let (service, _cache) = filled(&events(), 2, Settings::default()).await;
    for search in ["index=main", "index=main | table n user", "index=main | stats count by n"] {
        let job = service.dispatch(request(search)).await.unwrap();
        job.finished().await.unwrap();
        let whole = job.page(0, usize::MAX);
        let rows = job.rows(0, usize::MAX);
        service.cancel(job.sid());
        drop(job);
        assert!(rows.are_many() && rows.len() == ROWS, "{search}");
        assert_eq!(rows.fields(), whole.fields, "{search}");
        let pages: Vec<Page> = rows.slices().map(|slice| slice.page()).collect();
        assert!(pages.iter().all(|page| page.rows.len() <= 1_000), "{search}");
        let sliced: Vec<_> = pages.iter().flat_map(named).collect();
        assert_eq!(sliced, named(&whole), "{search}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_hands_over_a_thousand_rows_at_a_time() {
    let (service, _cache) = filled(&events(), 1, Settings::default()).await;
    let job = service.dispatch(request("index=main")).await.unwrap();
    job.finished().await.unwrap();
    let mut export = service.export(request("index=main")).await.unwrap();
    let mut rows = Vec::new();
    while let Some(page) = export.next().await {
        let page = page.unwrap();
        assert!(page.rows.len() <= 1_000);
        assert!(page.rows.iter().all(|row| row.len() == page.fields.len()));
        rows.extend(named(&page));
    }
    assert_eq!(rows, named(&job.page(0, usize::MAX)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_summary_of_many_events_counts_them_all() {
    let (service, _cache) = filled(&events(), 2, Settings::default()).await;
    let job = service.dispatch(request("index=main")).await.unwrap();
    job.finished().await.unwrap();
    let (count, fields) = job.field_summary(2, None);
    assert_eq!((count, fields["n"].count, fields["n"].distinct_count), (ROWS, 7_000, ROWS));
    assert_eq!((fields["late"].count, fields["late"].nulls), (1, 6_999));
    let hosts: Vec<_> =
        fields["host"].modes.iter().map(|mode| (&*mode.value, mode.count)).collect();
    assert_eq!(hosts, [("host0", 2_334), ("host1", 2_333)]);
}

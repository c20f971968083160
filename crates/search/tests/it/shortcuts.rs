//! What a search need not read: rows that the term index counts, rows that are too old for the newest N.

use std::sync::Arc;

use bucket::WriteOptions;
use catalog::Commit;
use karst_search::{Job, JobRequest, SearchService, Settings};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{EventTime, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::support::{Uncounted, hot, open, put, service, service_with};

/// No more than are read by one partition: how much is read does not depend on the number of processors.
const ROWS: usize = 10_000;
const BUCKETS: usize = 4;

fn event(at: usize) -> SpecEvent {
    // Every word in upper case at times, inside other words, several times in a row, beyond ASCII.
    let words = ["alpha", "Beta", "beta-9", "alphabet", "x=alpha", "ÄRGER", "ärger"];
    let word = |step: usize| words[(at * 7 + step * at / 3) % words.len()];
    let rare = if at.is_multiple_of(701) { "seldom" } else { "" };
    SpecEvent {
        index: IndexName::new("main").unwrap(),
        time: EventTime(1_700_000_000_000_000 + at as i64 * 1_000_000),
        index_time: EventTime(1_700_000_000_000_000 + at as i64),
        raw: format!("n={at} {} {} {} {rare}", word(1), word(2), word(3)),
        host: format!("host{}", at % 3),
        source: "s".to_owned(),
        sourcetype: if at < ROWS / 2 { "one" } else { "two" }.to_owned(),
        fields: Vec::new(),
    }
}

/// Four buckets, one after the other in time, of granules of 64 rows.
async fn filled() -> SearchService {
    filled_within(plan::Limits::default()).await
}

async fn filled_within(limits: plan::Limits) -> SearchService {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    let options = WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
    let events: Vec<SpecEvent> = (0..ROWS).map(event).collect();
    let mut add = Vec::new();
    for part in events.chunks(ROWS / BUCKETS) {
        add.push(put(&store, part, &knowledge, &options).await);
    }
    let catalog = open(&store).await;
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let names = vec![IndexName::new("main").unwrap()];
    // With one pipeline, aggregations have one step, and nothing is counted by summaries.
    let settings =
        Settings { batch_search_max_pipeline: Some(2), plan: limits, ..Settings::default() };
    let objects = Arc::new(Uncounted(store));
    service_with(catalog, Vec::new(), objects, &knowledge, names, settings)
}

async fn done(service: &SearchService, search: &str, status_buckets: usize) -> Arc<Job> {
    let request = JobRequest {
        earliest: Some("1700000100.5".to_owned()),
        latest: Some("1700009000.5".to_owned()),
        status_buckets,
        ..JobRequest::new(search, "me")
    };
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    job
}

fn only_value(job: &Job) -> String {
    let page = job.page(0, 10);
    page.rows.iter().flatten().map(|value| format!("{value:?}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_the_same_whether_rows_are_read_or_not() {
    let service = filled().await;
    let searches = [
        "*",
        "alpha",
        "ALPHA",
        "beta",
        "9",
        "ärger",
        "seldom",
        "nothing",
        "sourcetype=two alpha",
        "host=host1 alpha",
        "sourcetype=t* beta",
    ];
    let mut counted = 0;
    for search in searches {
        let short = done(&service, &format!("search {search} | stats count"), 0).await;
        let timed = done(&service, &format!("search {search} | stats count"), 300).await;
        // A regex that every event matches has to be tested on each.
        let read = format!("search {search} | regex _raw=\"n=\" | stats count");
        let read = done(&service, &read, 300).await;
        assert_eq!(only_value(&short), only_value(&read), "{search}");
        assert_eq!(only_value(&timed), only_value(&read), "{search}");
        assert_eq!(read.counts().granules_counted, 0);
        counted += short.counts().granules_counted;
        let events = |job: &Job| job.timeline().unwrap().bins().map(|(_, n)| n).sum::<u64>();
        assert_eq!(events(&timed), timed.counts().events_matched, "{search}");
        assert_eq!(short.counts().events_matched, timed.counts().events_matched, "{search}");
    }
    assert!(counted > 500, "{counted} granules counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_a_chart_reads_again_are_counted_once() {
    // Fewer than the rows of all hosts, more than those of one host and OTHER.
    let service = filled_within(plan::Limits { stage_rows: 2_000, ..Default::default() }).await;
    let charts = ["span=1h limit=1 avg(n)", "span=10s limit=1 count", "span=10s limit=1 avg(n)"];
    for search in ["*", "alpha", "host=host1 OR sourcetype=two"] {
        let all = done(&service, &format!("search {search} | stats count"), 0).await;
        let events = all.counts().events_matched;
        assert!(events > 1_000, "{search}: {events}");
        for chart in charts {
            let text = format!("search {search} | timechart {chart} by host");
            let short = done(&service, &text, 0).await;
            assert_eq!(short.counts().events_matched, events, "{text}");
            let timed = done(&service, &text, 300).await;
            assert_eq!(timed.counts().events_matched, events, "{text}");
            let bins = timed.timeline().unwrap().bins().map(|(_, n)| n).sum::<u64>();
            assert_eq!(bins, events, "{text}");
        }
    }
    // A chart in another search takes nothing back that the outer search has counted.
    let chart = "search alpha | timechart span=1h limit=1 avg(n) by host";
    let text = format!("search * | stats count | append [{chart}]");
    let job = done(&service, &text, 0).await;
    assert!(job.counts().events_matched >= 8_900, "{:?}", job.counts());
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_every_event_reads_only_granules_on_the_borders_of_the_range() {
    let service = filled().await;
    let job = done(&service, "search * | stats count", 0).await;
    assert_eq!(job.counts().granules_read, 2);
    assert_eq!(job.counts().events_matched, 8_900);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_events_are_found_without_reading_the_older_ones() {
    let service = filled().await;
    let job = done(&service, "search alpha | head 5", 0).await;
    let all = done(&service, "search alpha", 0).await;
    assert_eq!(job.page(0, 5).rows, all.page(0, 5).rows);
    assert!(job.counts().events_scanned < 1_000, "{:?}", job.counts());
    assert!(all.counts().events_scanned >= 8_000, "{:?}", all.counts());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_do_not_become_columns_are_not_read() {
    let service = filled().await;
    let job = done(&service, "search alpha | table n | transpose 5", 0).await;
    let few = done(&service, "search alpha | head 5 | table n | transpose 5", 0).await;
    assert_eq!(job.page(0, 5).rows, few.page(0, 5).rows);
    assert!(job.counts().events_scanned < 1_000, "{:?}", job.counts());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_behind_other_commands_ends_their_input() {
    let service = filled().await;
    // The same search, and one of which every row is looked at.
    let searches = [
        (
            "search alpha | streamstats count as at | eval x=at | head 5 | table n, x",
            "search alpha | streamstats count as at | where at<6 | table n, at",
        ),
        (
            "search alpha | accum n as total | head 5 | table n, total",
            "search alpha | accum n as total | where true() | head 5 | table n, total",
        ),
        ("search alpha | sort - _time | head 5 | table n", "search alpha | table n"),
        ("search alpha | sort 700 - _time | table n | head 5", "search alpha | table n"),
        (
            "| multisearch [search alpha] [search beta] | head 5 | table n",
            "| multisearch [search alpha] [search beta] | table n",
        ),
        (
            "search alpha | table n | append [search seldom | table n] | head 5",
            "search alpha | table n",
        ),
        ("search alpha | dedup host | head 3 | table n", "search alpha | dedup host | table n"),
        (
            "search alpha | dedup 2 host sourcetype | eval x=n | head 5 | table x",
            "search alpha | dedup 2 host sourcetype | table n",
        ),
        (
            "search alpha | dedup host consecutive=t | head 5 | table n",
            "search alpha | dedup host consecutive=t | table n",
        ),
        (
            "search alpha | dedup n keepevents=t | head 5 | table n",
            "search alpha | dedup n keepevents=t | table n",
        ),
        ("search alpha | head (n>0) | head 5 | table n", "search alpha | where n>0 | table n"),
    ];
    for (search, whole) in searches {
        let job = done(&service, search, 0).await;
        let all = done(&service, whole, 0).await;
        assert_eq!(job.page(0, 10).rows, all.page(0, 5).rows, "{search}");
        assert!(job.counts().events_scanned < 4_000, "{search}: {:?}", job.counts());
        assert!(all.counts().events_scanned >= 8_000, "{whole}: {:?}", all.counts());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_rows_of_mvexpand_are_those_of_the_first_events() {
    let service = filled().await;
    // So few events are handed from one partition to others before they are expanded: all of them are read.
    let all = "search alpha | eval m=mvappend(n,host) | mvexpand m";
    let first = done(&service, &format!("{all} | head 5 | table m"), 0).await;
    let all = done(&service, &format!("{all} | table m"), 0).await;
    assert_eq!(first.page(0, 10).rows, all.page(0, 5).rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_fails_ends_the_input() {
    let service = filled().await;
    let job = done(&service, "search alpha | head (n>8900) keeplast=t | table n", 0).await;
    let all = done(&service, "search alpha | eval m=n+0 | where m>8900 | table n", 0).await;
    let (found, expected) = (job.page(0, 200).rows, all.page(0, 200).rows);
    assert!(expected.len() > 10 && found.len() == expected.len() + 1, "{found:?}");
    assert_eq!(found[..expected.len()], expected[..]);
    assert!(job.counts().events_scanned < 4_000, "{:?}", job.counts());
    assert!(all.counts().events_scanned >= 8_000, "{:?}", all.counts());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_repeat_a_value_are_not_put_in_order() {
    let service = filled().await;
    for search in ["dedup sourcetype", "dedup 3 host, source", "dedup host sortby n"] {
        let job = done(&service, &format!("search alpha | {search} | table n"), 0).await;
        let before = format!("search alpha | streamstats count | {search} | table n");
        let all = done(&service, &before, 0).await;
        assert_eq!(job.page(0, 20).rows, all.page(0, 20).rows, "{search}");
        assert_eq!(job.counts().events_matched, all.counts().events_matched, "{search}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_behind_map_does_not_end_the_searches_that_it_runs() {
    let service = filled().await;
    let both = "| multisearch [search alpha] [search beta]";
    let search = format!("| makeresults count=2 | map search=\"{both}\" | head 5 | table n");
    let job = done(&service, &search, 0).await;
    let all = done(&service, &format!("{both} | table n"), 0).await;
    assert_eq!(job.page(0, 10).rows, all.page(0, 5).rows);
    // Fields are columns if any row of any run has them.
    assert!(job.counts().events_scanned >= 8_000, "{:?}", job.counts());
}

#[tokio::test(flavor = "multi_thread")]
async fn hot_rows_that_are_too_old_are_left_out_but_counted() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    // They have arrived in no order of time.
    let events: Vec<SpecEvent> = (0..ROWS).map(|at| event(at * 7_919 % ROWS)).collect();
    let buckets = events.chunks(500).map(hot).collect();
    let names = vec![IndexName::new("main").unwrap()];
    let service = service(open(&store).await, buckets, store, &knowledge, names);
    let all = done(&service, "search alpha | table n", 300).await;
    let sorted = "search alpha | sort 5 - _time, n | table n";
    for search in ["search alpha | head 5 | table n", sorted] {
        let newest = done(&service, search, 300).await;
        assert_eq!(newest.page(0, 5).rows, all.page(0, 5).rows, "{search}");
    }
    let sorted = done(&service, sorted, 300).await;
    assert_eq!(sorted.counts().events_matched, all.counts().events_matched);
    let events = |job: &Job| job.timeline().unwrap().bins().map(|(_, n)| n).sum::<u64>();
    assert_eq!(events(&sorted), events(&all));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_events_are_right_too() {
    let service = filled().await;
    let all = done(&service, "search alpha | reverse | table n", 0).await;
    assert!(all.counts().events_scanned >= 8_000, "{:?}", all.counts());
    let commands = [
        "reverse | head 5",
        "tail 5",
        "sort 0 _time | head 5",
        "sort 5 _time",
        "head 100000 | reverse | head 5",
    ];
    for (at, command) in commands.into_iter().enumerate() {
        let job = done(&service, &format!("search alpha | {command} | table n"), 0).await;
        assert_eq!(job.page(0, 10).rows, all.page(0, 5).rows, "{command}");
        let scanned = job.counts().events_scanned;
        // The last one first keeps the newest events.
        assert_eq!(scanned < 1_000, at < 4, "{command}: {:?}", job.counts());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_events_of_equal_times_are_in_order() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    let options = WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
    // A hundred events have the same time. The buckets overlap, and the last one is hot.
    let events = (0..ROWS).map(|at| SpecEvent {
        time: EventTime(1_700_000_000_000_000 + at as i64 % 4_999 / 100 * 1_000_000),
        ..event(at)
    });
    let events: Vec<SpecEvent> = events.collect();
    let (stored, fresh) = events.split_at(ROWS - 2_000);
    let mut add = Vec::new();
    for part in stored.chunks(2_000) {
        add.push(put(&store, part, &knowledge, &options).await);
    }
    let catalog = open(&store).await;
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let names = vec![IndexName::new("main").unwrap()];
    let hot = fresh.chunks(500).map(hot).collect();
    let service = service(catalog, hot, store, &knowledge, names);
    let found = async |search: &str| {
        let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
        job.finished().await.unwrap();
        job.page(0, ROWS).rows
    };
    let all = found("search * | reverse | table n").await;
    assert_eq!(all.len(), ROWS);
    for count in [1, 90, 250, 3_000] {
        let of_reverse = found(&format!("search * | reverse | head {count} | table n")).await;
        assert_eq!(of_reverse, all[..count], "{count}");
        assert_eq!(found(&format!("search * | tail {count} | table n")).await, of_reverse);
        // `sort` keeps the order of events with the same time, which is newest first.
        let sorted = found(&format!("search * | sort 0 _time | head {count} | table n")).await;
        let whole = found("search * | sort 0 _time | table n").await;
        assert_eq!(sorted, whole[..count], "{count}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_by_names_are_the_same_whether_the_catalog_knows_them_or_not() {
    let service = filled().await;
    let by =
        ["", "by host", "by sourcetype", "by host, index", "by host, sourcetype", "by source, n"];
    for by in by {
        let whole = |search: &str| JobRequest::new(search, "me");
        let known = service.dispatch(whole(&format!("search * | stats count {by}"))).await.unwrap();
        let read = format!("search * | regex _raw=\"n=\" | stats count {by}");
        let read = service.dispatch(whole(&read)).await.unwrap();
        known.finished().await.unwrap();
        read.finished().await.unwrap();
        assert_eq!(known.page(0, 20).rows, read.page(0, 20).rows, "{by}");
        assert_eq!(known.counts().events_matched, ROWS as u64);
        assert_eq!(known.counts().buckets_counted > 0, by != "by source, n", "{by}");
        assert_eq!(read.counts().buckets_counted, 0);
    }
    let job = done(&service, "search sourcetype=two | stats count by host", 0).await;
    // The second of these lies in the range as a whole, the other one does not.
    assert_eq!((job.counts().buckets_counted, job.counts().buckets_searched), (1, 2));
    assert_eq!(job.counts().events_matched, 4_001);
}

#[tokio::test(flavor = "multi_thread")]
async fn which_fields_occur_is_known_without_reading_the_events() {
    let service = filled().await;
    let commands = [
        "foreach n* x* [eval seen_<<FIELD>>=1] | head 20 | table n, x, seen_*",
        "fillnull value=none | head 20 | table *",
        "stats count(*) as *",
        "stats count count(eval(n>5)) as many",
    ];
    for command in commands {
        let whole = |search: &str| JobRequest::new(search, "me");
        let known = service.dispatch(whole(&format!("search * | {command}"))).await.unwrap();
        let read = format!("search * | regex _raw=\"n=\" | {command}");
        let read = service.dispatch(whole(&read)).await.unwrap();
        known.finished().await.unwrap();
        read.finished().await.unwrap();
        let (known_page, read_page) = (known.page(0, 20), read.page(0, 20));
        assert_eq!(known_page.fields, read_page.fields, "{command}");
        assert_eq!(known_page.rows, read_page.rows, "{command}");
        assert_eq!(read.counts().buckets_counted, 0, "{command}");
    }
    let foreach = "search * | foreach n* x* [eval seen_<<FIELD>>=1]";
    let searches = [
        // What comes after the count reads each event once at most.
        (format!("{foreach} | head 20"), ROWS as u64),
        (format!("{foreach} | regex _raw=\"n=\" | stats sum(seen_n)"), ROWS as u64),
    ];
    for (search, most) in searches {
        let job = service.dispatch(JobRequest::new(&search, "me")).await.unwrap();
        job.finished().await.unwrap();
        assert_eq!(job.counts().buckets_counted, BUCKETS as u64, "{search}");
        let scanned = job.counts().events_scanned;
        assert!(scanned > 0 && scanned <= most, "{search}: {scanned}");
        // What was counted is not counted again with what is read.
        assert!(job.counts().events_matched <= scanned, "{search}: {:?}", job.counts());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_read_twice_are_counted_once() {
    let service = filled().await;
    // Bins depend on the first and the last event, or on the least and the greatest number.
    for search in ["search * | timechart count", "search * | bin n bins=7 | stats count by n"] {
        let request = JobRequest { status_buckets: 300, ..JobRequest::new(search, "me") };
        let job = service.dispatch(request).await.unwrap();
        job.finished().await.unwrap();
        assert_eq!(job.counts().events_matched, ROWS as u64, "{search}");
        let timeline = job.timeline().unwrap();
        let shown: Vec<u64> = timeline.bins().map(|(_, events)| events).collect();
        assert_eq!(shown.iter().sum::<u64>(), ROWS as u64, "{search}");
        // 10,000 seconds: with ten of them each, there would be too many bins.
        assert_eq!((shown.len(), timeline.span_seconds()), (167, 60), "{search}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeline_of_events_is_that_of_the_events_that_commands_leave() {
    let service = filled().await;
    let shown = |job: &Job| job.timeline().unwrap().bins().map(|(_, n)| n).sum::<u64>();
    let all = done(&service, "search alpha", 300).await;
    assert_eq!(shown(&all), all.event_count());
    let commands =
        ["dedup host", "head 5", "streamstats count AS m | where m%7=1", "dedup host | eval m=1"];
    for command in commands {
        let job = done(&service, &format!("search alpha | {command}"), 300).await;
        assert_eq!(shown(&job), job.event_count(), "{command}");
        assert!((1..all.event_count()).contains(&shown(&job)), "{command}");
    }
    let none = done(&service, "search alpha | streamstats count AS m | where m<0", 300).await;
    assert_eq!((shown(&none), none.event_count()), (0, 0));
    // Where not all events are kept, those that match are shown.
    let request = JobRequest {
        max_count: Some(100),
        status_buckets: 300,
        ..JobRequest::new("search *", "me")
    };
    let cut = service.dispatch(request).await.unwrap();
    cut.finished().await.unwrap();
    assert_eq!((shown(&cut), cut.result_count()), (ROWS as u64, 100));
}

//! Quotas, windows of time and search filters of roles hold in searches, exports and SQL.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use jiff::tz::TimeZone;
use search::{JobRequest, SqlRequest, SqlRows};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::server::Server;

async fn sql(server: &Server, user: &str, query: &str) -> String {
    let body = serde_json::json!({"query": query}).to_string();
    server.send(user, Method::POST, "/api/v1/sql", &body).await.text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_filter_holds_wherever_events_are_read() {
    let server = Server::start().await;
    server.role("held", &[("srchIndexesAllowed", "*"), ("srchFilter", "host=h_open")]).await;
    let searches = [
        "search index=*",
        "search index=open OR index=closed | table _raw",
        "search word_closed index=closed",
        "search index=open | append [search index=closed]",
        "search index=open | map search=\"search index=closed\"",
        "| tstats count where index=* by host index",
        "| makeresults | append [| tstats values(host) where index=closed]",
        "| metadata type=hosts index=*",
        "| walklex type=term index=closed",
        "| typeahead prefix=w count=9 index=closed",
        "| eventcount summarize=false index=*",
    ];
    for search in searches {
        let told = server.search("held", search).await;
        let rows = told.text.replace(search, "");
        let open = rows.contains("word_closed") || rows.contains("h_closed");
        assert!(!open, "{search}: {told:?}");
    }
    let told = server.search("held", "search index=*").await;
    assert!(told.text.contains("word_open"), "{told:?}");
    let rows = sql(&server, "held", "SELECT host, _raw FROM closed").await;
    assert!(!rows.contains("word_closed"), "{rows}");
    let rows = sql(&server, "held", "SELECT host, _raw FROM open").await;
    assert!(rows.contains("word_open"), "{rows}");
    let count = sql(&server, "held", "SELECT count(*) AS c FROM closed").await;
    assert!(count.contains("\"c\":0"), "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_filter_hides_the_numbers_of_what_it_hides() {
    let server = Server::start().await;
    server.role("held", &[("srchIndexesAllowed", "*"), ("srchFilter", "host=h_open")]).await;
    let index = "/services/data/indexes/closed?output_mode=json";
    for (user, is_hidden) in [("held", true), ("user", false), ("admin", false)] {
        let shown = server.get(user, index).await.json();
        let content = &shown["entry"][0]["content"];
        for key in ["totalEventCount", "totalRawBytes", "totalStoredBytes", "minTime", "maxTime"] {
            assert_eq!(content[key].is_null(), is_hidden, "{user} {key}: {content}");
        }
        let extended = "/services/data/indexes-extended/closed?output_mode=json";
        let shown = server.get(user, extended).await.json();
        let content = &shown["entry"][0]["content"];
        for key in ["total_event_count", "total_size", "total_bucket_count", "bucket_dirs"] {
            assert_eq!(content[key].is_null(), is_hidden, "{user} {key}: {content}");
        }
        let explained = server.get(user, "/api/v1/explain?search=index%3Dclosed").await.json();
        assert_eq!(explained["estimate"].is_null(), is_hidden, "{user}: {explained}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_filter_hides_how_many_events_were_read() {
    let server = Server::start().await;
    let role = [("srchIndexesAllowed", "*"), ("srchFilter", "NOT word_closed")];
    server.role("held", &role).await;
    // Were they counted, the counts would tell which words are in hidden events.
    for (user, is_hidden) in [("held", true), ("admin", false)] {
        let sid = server.job(user, "search index=closed NOT word_none | table _raw").await;
        let path = format!("/services/search/jobs/{sid}");
        let shown = server.get(user, &format!("{path}?output_mode=json")).await.json();
        let scanned = &shown["entry"][0]["content"]["scanCount"];
        assert_eq!(*scanned == 0, is_hidden, "{user}: {shown}");
        let inspector = server.get(user, &format!("{path}/inspector")).await.json();
        let inspection = &inspector["inspection"];
        assert_eq!(inspection["scan"]["events_scanned"] == 0, is_hidden, "{user}: {inspection}");
        let phases = inspection["phases"].as_array().unwrap();
        let filter = phases.iter().find(|phase| phase["name"] == "filter").unwrap();
        assert_eq!(filter["rows_in"] == 0, is_hidden, "{user}: {filter}");
        let told = server.search(user, "| history | table scan_count").await.json();
        let rows = told["results"].as_array().unwrap();
        assert!(!rows.is_empty(), "{user}: {told}");
        let hides = rows.iter().all(|row| row["scan_count"] == "0");
        assert_eq!(hides, is_hidden, "{user}: {told}");
    }
}

/// Replaces times by whether there is one.
fn without_times(shown: &mut Value) {
    match shown {
        Value::Array(list) => list.iter_mut().for_each(without_times),
        Value::Object(fields) => {
            fields.remove("run_duration");
            for (name, value) in fields {
                if name == "seconds" || name == "duration_secs" {
                    *value = json!(value.as_f64() != Some(0.0));
                } else {
                    without_times(value);
                }
            }
        }
        _ => {}
    }
}

/// Everything that is shown about a search for a word, besides its text and the times that depend on the
/// machine.
async fn shown_about(server: &Server, user: &str, word: &str) -> Value {
    let sid = server.job(user, &format!("search index=open {word}*")).await;
    let path = format!("/services/search/jobs/{sid}");
    let inspector = server.get(user, &format!("{path}/inspector")).await.json();
    let entry = server.get(user, &format!("{path}?output_mode=json")).await.json();
    let status = server.post(user, "/api/v1/jobs/status", &[("sid", sid.as_str())]).await.json();
    let numbers = |content: &Value| {
        let names = ["scanCount", "eventCount", "doneProgress", "searchTotalBucketsCount"];
        let names = names.into_iter().chain(["searchTotalEliminatedBucketsCount", "performance"]);
        names.map(|name| content[name].clone()).collect::<Vec<_>>()
    };
    let log = server.get(user, &format!("{path}/search.log")).await.text;
    let phases = log.lines().filter_map(|line| line.split_once("phase="));
    let phases = phases.map(|(_, phase)| phase);
    let read = phases.filter(|phase| !phase.starts_with("plan ") && !phase.starts_with("queue "));
    let explain = format!("/api/v1/explain?search=index%3Dopen+{word}*");
    let explained = server.get(user, &explain).await.text.replace(word, "word");
    let mut shown = json!({
        "inspection": inspector["inspection"],
        "entry": numbers(&entry["entry"][0]["content"]),
        "status": numbers(&status["jobs"][0]["content"]),
        "cost": status["jobs"][0]["cost"],
        "log": read.collect::<Vec<_>>(),
        "explain": explained,
    });
    without_times(&mut shown);
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_filter_hides_whether_a_word_is_in_hidden_events() {
    let server = Server::start().await;
    server.role("held", &[("srchIndexesAllowed", "*"), ("srchFilter", "host=h_open")]).await;
    let path = "/services/receivers/simple?index=open&sourcetype=st&host=h_hidden";
    let sent = server.send("admin", Method::POST, path, "bobsecret n=2").await;
    assert!(sent.status.is_success(), "{sent:?}");
    let roll = "/services/data/indexes/open/roll-hot-buckets";
    let rolled = server.post("admin", roll, &[]).await;
    assert!(rolled.status.is_success(), "{rolled:?}");
    for (user, is_hidden) in [("held", true), ("admin", false)] {
        let hidden = shown_about(&server, user, "bobsecret").await;
        let nowhere = shown_about(&server, user, "zzzzzzzzz").await;
        assert_eq!(hidden == nowhere, is_hidden, "{user}: {hidden}\n{nowhere}");
    }
    for explain in ["EXPLAIN", "EXPLAIN ANALYZE"] {
        let query = format!("{explain} SELECT count(*) FROM open");
        let told = sql(&server, "held", &query).await;
        assert!(told.contains("srchFilter"), "{told}");
        let told = sql(&server, "user", &query).await;
        assert!(!told.contains("srchFilter") && told.contains("plan"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_a_role_disallows_is_closed_whatever_other_roles_allow() {
    let server = Server::start().await;
    let held = [
        ("srchIndexesAllowed", "*"),
        ("srchIndexesDisallowed", "clos*"),
        ("srchIndexesDefault", "*"),
    ];
    server.role("held", &held).await;
    let importing = [("imported_roles", "held"), ("srchIndexesAllowed", "*,closed")];
    server.role("importing", &importing).await;
    let searches = [
        "search index=closed",
        "search index=*",
        "search word_*",
        "search index=open | append [search index=closed]",
        "search index=open | map search=\"search index=closed\"",
        "| tstats count where index=* by host index",
        "| tstats count where index=closed by host",
        "| metadata type=hosts index=*",
        "| metadata type=hosts index=closed",
        "| eventcount summarize=false index=*",
        "| dbinspect index=*",
        "| rest /services/data/indexes | table title",
    ];
    let names = ["word_closed", "h_closed", "\"closed\""];
    for user in ["held", "importing"] {
        for search in searches {
            let told = server.search(user, search).await;
            let rows = told.text.replace(search, "");
            assert!(!names.iter().any(|name| rows.contains(name)), "{user} {search}: {told:?}");
        }
        let told = server.search(user, "search word_*").await;
        assert!(told.text.contains("word_open"), "{user}: {told:?}");
        let rows = sql(&server, user, "SELECT _raw FROM closed").await;
        assert!(!rows.contains("word_closed"), "{user}: {rows}");
        let closed = server.get(user, "/services/data/indexes/closed").await;
        assert_eq!(closed.status, StatusCode::NOT_FOUND, "{user}: {closed:?}");
    }
    // An administrator inherits the setting of `user`, and can take it back.
    let role = "/services/authorization/roles/user";
    for disallowed in ["closed", ""] {
        let form = [("srchIndexesDisallowed", disallowed)];
        let changed = server.post("admin", role, &form).await;
        assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
        let told = server.search("admin", "search index=closed").await;
        assert_eq!(told.text.contains("word_closed"), disallowed.is_empty(), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_filter_is_about_stored_source_types_whatever_users_call_them() {
    let server = Server::start().await;
    for (role, filter) in [("only", "sourcetype=shown"), ("without", "NOT sourcetype=st")] {
        server.role(role, &[("srchIndexesAllowed", "*"), ("srchFilter", filter)]).await;
        let path = format!("/servicesNS/{role}/search/configs/conf-props");
        let made = server.post(role, &path, &[("name", "st"), ("rename", "shown")]).await;
        assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
        for search in [
            "search index=*",
            "search index=closed sourcetype=shown | table _raw host",
            "| tstats count where index=* by host sourcetype",
        ] {
            let told = server.search(role, search).await;
            let rows = told.text.replace(search, "");
            assert!(told.status.is_success(), "{search}: {told:?}");
            let hidden = ["word_open", "word_closed", "h_open", "h_closed"];
            assert!(!hidden.iter().any(|text| rows.contains(text)), "{search}: {told:?}");
        }
        let rows = sql(&server, role, "SELECT _raw FROM closed").await;
        assert!(!rows.contains("word_closed"), "{rows}");
    }
    // What an administrator renames stays hidden under both names, whatever users call it.
    let filters = [("named", "NOT sourcetype=payroll"), ("unequal", "sourcetype!=payroll")];
    for (role, filter) in filters {
        server.role(role, &[("srchIndexesAllowed", "*"), ("srchFilter", filter)]).await;
    }
    server.role("asking", &[("srchIndexesAllowed", "*"), ("srchFilter", "sourcetype=st")]).await;
    let form = [("name", "st"), ("rename", "payroll")];
    let made = server.post("admin", "/servicesNS/nobody/search/configs/conf-props", &form).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    for (role, _) in filters {
        for is_called_otherwise in [false, true] {
            if is_called_otherwise {
                let path = format!("/servicesNS/{role}/search/configs/conf-props");
                let form = [("name", "st"), ("rename", "other")];
                let made = server.post(role, &path, &form).await;
                assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
            }
            let told = server.search(role, "search index=*").await;
            assert!(told.status.is_success() && !told.text.contains("word_"), "{told:?}");
            let rows = sql(&server, role, "SELECT _raw FROM closed").await;
            assert!(!rows.contains("word_closed"), "{rows}");
        }
    }
    // A filter that asks for a stored name still finds it.
    let told = server.search("asking", "search index=* sourcetype=payroll").await;
    assert!(told.text.contains("word_open"), "{told:?}");
    // The rename holds in the searches of a user without a filter.
    let form = [("name", "st"), ("rename", "shown")];
    server.post("user", "/servicesNS/user/search/configs/conf-props", &form).await;
    let told = server.search("user", "search index=* sourcetype=shown").await;
    assert!(told.text.contains("word_open"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_users_could_bend_is_refused() {
    let server = Server::start().await;
    let path = "/services/authorization/roles/nothing";
    for filter in ["user=ann", "host=a | stats count", "[search index=x]"] {
        let told = server.post("admin", path, &[("srchFilter", filter)]).await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{filter}: {told:?}");
    }
    let told = server.post("admin", path, &[("rtSrchJobsQuota", "6")]).await;
    assert!(told.status == StatusCode::BAD_REQUEST && told.text.contains("real-time"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_time_cuts_and_says_so() {
    let server = Server::start().await;
    server.role("recent", &[("srchIndexesAllowed", "open"), ("srchTimeWin", "3600")]).await;
    let path = "/services/receivers/simple?index=open&host=old";
    let then = jiff::Timestamp::now() - jiff::Span::new().hours(240);
    let event = format!("{} word_old", then.strftime("%Y-%m-%dT%H:%M:%SZ"));
    let sent = server.send("admin", Method::POST, path, &event).await;
    assert!(sent.status.is_success(), "{sent:?}");
    let all = server.search("admin", "search index=open").await;
    assert!(all.text.contains("word_old"), "{all:?}");
    for search in [
        "search index=open",
        "search index=open earliest=0",
        "| tstats count where index=open by host",
    ] {
        let told = server.search("recent", search).await;
        assert!(!told.text.contains("old\""), "{search}: {told:?}");
        assert!(told.text.contains("srchTimeWin"), "{search}: {told:?}");
    }
    let rows = sql(&server, "recent", "SELECT host FROM open").await;
    assert!(!rows.contains("old"), "{rows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_of_time_do_not_move_with_now() {
    let server = Server::start().await;
    let open = ("srchIndexesAllowed", "open");
    server.role("short", &[open, ("srchTimeWin", "3600")]).await;
    server.role("recent", &[open, ("srchTimeEarliest", "3600")]).await;
    let then = jiff::Timestamp::now() - jiff::Span::new().hours(240);
    let event = format!("{} word_old", then.strftime("%Y-%m-%dT%H:%M:%SZ"));
    let path = "/services/receivers/simple?index=open&host=old";
    let sent = server.send("admin", Method::POST, path, &event).await;
    assert!(sent.status.is_success(), "{sent:?}");
    // Half an hour after the old event.
    let now = (then.as_second() + 1_800).to_string();
    for (user, is_old, is_new) in
        [("admin", true, true), ("short", true, false), ("recent", false, true)]
    {
        let form = [
            ("search", "search index=open | table _raw"),
            ("now", now.as_str()),
            ("exec_mode", "oneshot"),
        ];
        let told = server.post(user, "/services/search/jobs", &form).await;
        let found = (told.text.contains("word_old"), told.text.contains("word_open"));
        assert_eq!(found, (is_old, is_new), "{user}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_generated_rows_than_the_limit_are_the_fault_of_the_search() {
    let server = Server::start().await;
    let refused = server.search("user", "| makeresults count=1000001").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    assert!(refused.text.contains("at most 1000000 rows"), "{refused:?}");
    assert!(!refused.text.contains("generated_rows"), "no setting has the name: {refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_bins_than_the_limit_are_the_fault_of_the_search() {
    let server = Server::start().await;
    let times = "| makeresults count=2 | streamstats count | eval _time=count*100000000";
    let search = format!("{times} | timechart span=1s count");
    let refused = server.search("user", &search).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    assert!(refused.text.contains("use a longer span"), "{refused:?}");
}

/// A query that waits with most of its rows until somebody reads them.
fn waiting_query(server: &Server, user: &str) -> SqlRequest {
    SqlRequest {
        query: "SELECT * FROM generate_series(1, 100000)".to_owned(),
        earliest: None,
        latest: None,
        timezone: TimeZone::UTC,
        app: "search".to_owned(),
        rights: Arc::new(server.state.authority.of(user)),
        rows: SqlRows::All,
        trace: Default::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_and_sql_count_in_the_quota_of_a_role() {
    let server = Server::start().await;
    let quota = [("srchIndexesAllowed", "open"), ("cumulativeSrchJobsQuota", "2")];
    server.role("crowd", &quota).await;
    let query = waiting_query(&server, "crowd");
    let first = server.state.search.sql_stream(query.clone()).await.unwrap();
    let many = "| makeresults count=100000 | streamstats count";
    let request = JobRequest::of(many, &query.rights);
    let second = server.state.search.export(request).await.unwrap();
    let export = "/services/search/jobs/export?search=%7C+makeresults";
    let refused =
        [server.search("crowd", "search index=open").await, server.get("crowd", export).await];
    for refused in refused {
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
        assert!(refused.text.contains("role crowd: 2 searches"), "{refused:?}");
        assert!(refused.text.contains("cumulativeSrchJobsQuota"), "{refused:?}");
    }
    assert!(server.state.search.sql_stream(query).await.is_err());
    drop((first, second));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_of_jobs_refuses_one_more() {
    let server = Server::start().await;
    server.role("busy", &[("srchIndexesAllowed", "open"), ("srchJobsQuota", "1")]).await;
    let query = waiting_query(&server, "busy");
    let running = server.state.search.sql_stream(query.clone()).await.unwrap();
    let refused = server.search("busy", "search index=open").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    assert!(refused.text.contains("srchJobsQuota"), "{refused:?}");
    assert!(server.state.search.sql_stream(query).await.is_err());
    let other = server.search("user", "search index=open").await;
    assert!(other.status.is_success(), "{other:?}");
    drop(running);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_requests_of_a_search_wait_for_no_other_search() {
    let server = Server::start().await;
    let sid = server.job("admin", "| makeresults").await;
    let key = server.state.accounts.local_session("admin");
    for path in [
        "/services/search/jobs/export?search=%7C+makeresults".to_owned(),
        "/services/search/v2/jobs/export?search=%7C+makeresults".to_owned(),
        "/servicesNS/-/search/search/jobs/export?search=%7C+makeresults".to_owned(),
        format!("/services/search/v2/jobs/{sid}/results?search=stats+count"),
        "/services/server/cost".to_owned(),
    ] {
        let request = Request::get(&path)
            .header(header::AUTHORIZATION, format!("Splunk {key}"))
            .extension(crate::WithinSearch)
            .body(Body::empty())
            .unwrap();
        let Ok(answer) = crate::rest_router(server.state.clone()).oneshot(request).await;
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {text}");
        assert!(text.contains("a request of a search cannot"), "{path}: {text}");
    }
    let volume = "/services/server/cost?raw_gb_per_day=1&output_mode=json";
    assert!(server.get("admin", volume).await.status.is_success());
}

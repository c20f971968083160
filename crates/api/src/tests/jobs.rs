//! Jobs: whoever may not search starts none, and nobody reads what somebody else found.

use axum::http::{Method, StatusCode};

use super::server::Server;

const SAVED: &str = "/servicesNS/nobody/search/saved/searches";

#[tokio::test(flavor = "multi_thread")]
async fn dispatch_and_further_searches_need_search() {
    let server = Server::start().await;
    let form = [("name", "all"), ("search", "search index=open")];
    assert!(server.post("admin", SAVED, &form).await.status.is_success());
    let path = format!("{SAVED}/all/dispatch");
    assert_eq!(server.post("nos", &path, &[]).await.status, StatusCode::FORBIDDEN);
    let own = server.post("nos", "/services/saved/searches", &form).await;
    assert_eq!(own.status, StatusCode::FORBIDDEN);
    let sid = server.job("user", "| makeresults").await;
    let mute = [("name", "mute"), ("srchIndexesAllowed", "*")];
    let made = server.post("admin", "/services/authorization/roles", &mute).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let roles = [("roles", "mute")];
    let changed = server.post("admin", "/services/authentication/users/user", &roles).await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    let path = format!("/services/search/jobs/{sid}/results?search=%7C%20eval%20a%3D1");
    let told = server.get("user", &path).await;
    assert_eq!(told.status, StatusCode::FORBIDDEN, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_and_its_inspector_name_the_apps_by_which_it_was_planned() {
    let server = Server::start().await;
    let sid = server.job("admin", "| makeresults").await;
    let bundle = server.state.apps.checksum().unwrap();
    let path = format!("/services/search/jobs/{sid}");
    let named = [
        (String::new(), format!("\"bundleVersion\":\"{bundle}\"")),
        ("/inspector".to_owned(), format!("\"bundle_version\":\"{bundle}\"")),
        ("/search.log".to_owned(), format!("bundle_version={bundle}")),
    ];
    for (below, text) in named {
        let told = server.get("admin", &format!("{path}{below}?output_mode=json")).await;
        assert!(told.text.contains(&text), "{below}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_by_an_earlier_bundle_sees_its_apps_and_needs_all_objects() {
    let server = Server::start().await;
    let install = async |definition: &str| {
        let text = format!("[of_bundle]\ndefinition = \"{definition}\"\n");
        let file = |path: &str, text: &str| apps::PackedFile {
            path: path.into(),
            bytes: text.as_bytes().to_vec(),
            executable: false,
        };
        let files = vec![
            file("default/macros.conf", &text),
            file("metadata/default.meta", "[]\nexport = system\n"),
        ];
        let package =
            apps::Package { app: "bundled".to_owned(), files, kept: Vec::new(), links: Vec::new() };
        server.state.apps.install(package, true, "admin").await.unwrap();
        server.state.apps.checksum().unwrap()
    };
    let earlier = install("before").await;
    install("now").await;
    let search = "| makeresults | eval v=`of_bundle` | table v";
    let form = [("search", search), ("exec_mode", "oneshot"), ("bundle", earlier.as_str())];
    for path in ["/services/search/jobs", "/services/search/jobs/export"] {
        let found = server.post("admin", path, &form).await;
        assert!(found.text.contains(r#""v":"before""#), "{path}: {found:?}");
        let found = server.post("admin", path, &form[..2]).await;
        assert!(found.text.contains(r#""v":"now""#), "{path}: {found:?}");
        let refused = server.post("user", path, &form).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}: {refused:?}");
        assert!(refused.text.contains("admin_all_objects"), "{path}: {refused:?}");
    }
    let form = [("search", search), ("exec_mode", "blocking"), ("bundle", earlier.as_str())];
    let made = server.post("admin", "/services/search/jobs", &form).await.json();
    let path = format!("/services/search/jobs/{}?output_mode=json", made["sid"].as_str().unwrap());
    let shown = server.get("admin", &path).await;
    assert!(shown.text.contains(&format!("\"bundleVersion\":\"{earlier}\"")), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_search_may_leave_out_the_pipe() {
    let server = Server::start().await;
    let sid = server.job("admin", "| makeresults count=3 | eval a=1").await;
    let written = [
        "stats count",
        "%7C stats count",
        "search a=1 %7C stats count",
        "a=1 %7C stats count",
        "```c``` stats count",
        "```c``` %7C stats count",
        "```c``````d```%7C stats count",
        "```c``` a=1 %7C stats count",
    ];
    for commands in written {
        let further = commands.replace(' ', "%20").replace('`', "%60");
        let path = format!("/services/search/jobs/{sid}/results?output_mode=json&search={further}");
        let told = server.get("admin", &path).await;
        assert!(told.text.contains(r#""count":"3""#), "{commands}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_command_without_a_pipe_runs_over_rest_and_is_searched_for_in_saved_searches() {
    let server = Server::start().await;
    let ran = server.search("admin", "makeresults count=2 | stats count").await;
    assert!(ran.text.contains(r#""count":"2""#), "{ran:?}");
    // A mistake in the command is no word to search for.
    let wrong = server.search("admin", "stats cout(x)").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{wrong:?}");
    for (name, search, runs) in [
        ("rows", "makeresults count=2", "search makeresults count=2"),
        ("terms", "search(word_open OR none)", "search(word_open OR none)"),
    ] {
        let made = server.post("admin", SAVED, &[("name", name), ("search", search)]).await;
        assert!(made.status.is_success(), "{made:?}");
        let job = server.post("admin", &format!("{SAVED}/{name}/dispatch"), &[]).await.json();
        let sid = job["sid"].as_str().unwrap();
        let path = format!("/services/search/jobs/{sid}?output_mode=json");
        let told = server.get("admin", &path).await.json();
        assert_eq!(told["entry"][0]["content"]["search"], runs);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_others_are_closed_to_power_users() {
    let server = Server::start().await;
    server.role("watcher", &[("srchIndexesAllowed", "open"), ("imported_roles", "")]).await;
    let power = power();
    let form = [("name", "lpow"), ("srchIndexesAllowed", "open"), ("capabilities", power.as_str())];
    let made = server.post("admin", "/services/authorization/roles", &form).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    server.user("lpow", "lpow").await;
    let sid = server.job("admin", "search index=closed").await;
    for user in ["lpow", "watcher", "power"] {
        let loaded = server.search(user, &format!("| loadjob {sid}")).await;
        assert!(!loaded.text.contains("word_closed"), "{user}: {loaded:?}");
        for below in ["results", "events", "results_preview", "summary", "search.log"] {
            let path = format!("/services/search/jobs/{sid}/{below}?output_mode=json");
            let told = server.get(user, &path).await;
            assert_eq!(told.status, StatusCode::NOT_FOUND, "{path} by {user}: {told:?}");
        }
    }
    let loaded = server.search("admin", &format!("| loadjob {sid}")).await;
    assert!(loaded.text.contains("word_closed"), "{loaded:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_an_index_that_was_closed_meanwhile_are_closed_too() {
    let server = Server::start().await;
    server.role("watcher", &[("srchIndexesAllowed", "open,closed")]).await;
    let sid = server.job("watcher", "search index=closed").await;
    let path = "/services/authorization/roles/watcher";
    let narrowed = server.post("admin", path, &[("srchIndexesAllowed", "open")]).await;
    assert_eq!(narrowed.status, StatusCode::OK, "{narrowed:?}");
    let told = server.get("watcher", &format!("/services/search/jobs/{sid}/results")).await;
    assert_eq!(told.status, StatusCode::NOT_FOUND, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_job_answers_after_its_process_has_lost_it() {
    let server = Server::start().await;
    let sid = server.job("user", "search index=open").await;
    let path = format!("/services/search/jobs/{sid}");
    let control = async |user: &str, action: &str, ttl: &str| {
        let form = [("action", action), ("ttl", ttl)];
        server.post(user, &format!("{path}/control"), &form).await
    };
    let saved = control("user", "save", "").await;
    assert_eq!(saved.status, StatusCode::OK, "{saved:?}");
    let below = [
        "/results?output_mode=json",
        "/results?output_mode=csv",
        "/results?output_mode=xml",
        "/results?output_mode=json&count=1&offset=1",
        "/results?output_mode=json&search=%7C%20stats%20count%20by%20host",
        "/results_preview?output_mode=json",
        "/events?output_mode=json",
        "/summary?output_mode=json",
        "/timeline?output_mode=json",
    ];
    let mut before = Vec::new();
    for part in below {
        before.push(server.get("user", &format!("{path}{part}")).await.text);
    }
    assert!(server.state.search.cancel(&sid));
    for (part, before) in below.iter().zip(before) {
        let now = server.get("user", &format!("{path}{part}")).await;
        assert_eq!((now.status, now.text), (StatusCode::OK, before), "{part}");
        let other = server.get("power", &format!("{path}{part}")).await;
        assert_eq!(other.status, StatusCode::NOT_FOUND, "{part}");
    }
    let inspected = server.get("user", &format!("{path}/inspector")).await;
    assert!(inspected.text.contains(r#""plans":[{"#), "{inspected:?}");
    for (user, is_listed) in [("user", true), ("power", false), ("admin", true)] {
        let list = server.get(user, "/services/search/jobs?output_mode=json").await;
        assert_eq!(list.text.contains(&sid), is_listed, "{user}: {list:?}");
        let loaded = server.search(user, &format!("| loadjob {sid}")).await;
        assert_eq!(loaded.text.contains("word_open"), is_listed, "{user}: {loaded:?}");
    }
    let shown = async || server.get("user", &format!("{path}?output_mode=json")).await.text;
    assert!(shown().await.contains(r#""isSaved":true"#), "{}", shown().await);
    assert_eq!(control("user", "setttl", "77").await.status, StatusCode::OK);
    assert!(shown().await.contains(r#""ttl":77"#), "{}", shown().await);
    assert_eq!(control("user", "touch", "").await.status, StatusCode::OK);
    assert_eq!(control("user", "unsave", "").await.status, StatusCode::OK);
    let unsaved = shown().await;
    assert!(
        unsaved.contains(r#""isSaved":false"#) && unsaved.contains(r#""ttl":600"#),
        "{unsaved}"
    );
    assert_eq!(control("power", "cancel", "").await.status, StatusCode::NOT_FOUND);
    assert_eq!(server.send("user", Method::DELETE, &path, "").await.status, StatusCode::OK);
    assert_eq!(server.get("user", &path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_read_by_the_roles_that_its_owner_opens_it_to() {
    let server = Server::start().await;
    server.role("narrow", &[("srchIndexesAllowed", "open")]).await;
    let sid = server.job("user", "search index=open").await;
    let path = format!("/services/search/jobs/{sid}");
    let share = async |user: &str, roles: &str| {
        let form = [("sharing", "global"), ("owner", "user"), ("perms.read", roles)];
        server.post(user, &format!("{path}/acl"), &form).await.status
    };
    let control = async |user: &str, action: &str| {
        let form = [("action", action)];
        server.post(user, &format!("{path}/control"), &form).await.status
    };
    let reads = async |user: &str| {
        server.get(user, &format!("{path}/results?output_mode=json")).await.status
    };
    assert_eq!(share("power", "*").await, StatusCode::NOT_FOUND);
    assert_eq!(share("user", "power").await, StatusCode::OK);
    assert_eq!(reads("power").await, StatusCode::OK);
    let loaded = server.search("power", &format!("| loadjob {sid}")).await;
    assert!(loaded.text.contains("word_open"), "{loaded:?}");
    let list = server.get("power", "/services/search/jobs?output_mode=json").await;
    assert!(!list.text.contains(&sid), "{list:?}");
    assert_eq!(control("power", "cancel").await, StatusCode::FORBIDDEN);
    assert_eq!(share("power", "*").await, StatusCode::FORBIDDEN);
    assert_eq!(reads("nos").await, StatusCode::NOT_FOUND);
    // All users, but nobody sees rows of indexes that are closed to them.
    assert_eq!(share("user", "*").await, StatusCode::OK);
    assert_eq!(reads("narrow").await, StatusCode::NOT_FOUND);
    assert_eq!(control("user", "save").await, StatusCode::OK);
    assert!(server.state.search.cancel(&sid));
    assert_eq!(reads("power").await, StatusCode::OK);
    assert_eq!(share("user", "").await, StatusCode::OK);
    assert_eq!(reads("power").await, StatusCode::NOT_FOUND);
    assert_eq!(reads("user").await, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn saved_results_are_held_to_the_quota_of_the_roles_and_to_the_indexes_open_now() {
    let server = Server::start().await;
    server.role("watcher", &[("srchIndexesAllowed", "open,closed")]).await;
    let sid = server.job("watcher", "search index=closed").await;
    let path = format!("/services/search/jobs/{sid}/control");
    let saved = server.post("watcher", &path, &[("action", "save")]).await;
    assert_eq!(saved.status, StatusCode::OK, "{saved:?}");
    assert!(server.state.search.cancel(&sid));
    let role = "/services/authorization/roles/watcher";
    let narrowed = server.post("admin", role, &[("srchIndexesAllowed", "open")]).await;
    assert_eq!(narrowed.status, StatusCode::OK, "{narrowed:?}");
    let told = server.get("watcher", &format!("/services/search/jobs/{sid}/results")).await;
    assert_eq!(told.status, StatusCode::NOT_FOUND, "{told:?}");
    // A megabyte of texts that cannot be packed.
    let quota = server.post("admin", role, &[("srchDiskQuota", "1")]).await;
    assert_eq!(quota.status, StatusCode::OK, "{quota:?}");
    let large = "| makeresults count=40000 | eval a=sha512(random().\"-\".random())";
    let sid = server.job("watcher", large).await;
    let path = format!("/services/search/jobs/{sid}");
    let refused = server.post("watcher", &format!("{path}/control"), &[("action", "save")]).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    assert!(refused.text.contains("srchDiskQuota"), "{refused:?}");
    let kept = server.get("watcher", &format!("{path}?output_mode=json")).await;
    assert!(kept.text.contains("at the search head that ran it only"), "{kept:?}");
    let bytes = &kept.json()["entry"][0]["content"]["diskUsage"];
    assert!(bytes.as_u64().is_some_and(|bytes| bytes > 1 << 20), "{kept:?}");
    let refused = server.search("watcher", "search index=open").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    assert!(refused.text.contains("1 MB") && refused.text.contains("diskUsage"), "{refused:?}");
}

fn power() -> String {
    [access::capabilities::USER, access::capabilities::POWER].concat().join(",")
}

/// The rows of a search with more parameters.
async fn found(server: &Server, search: &str, more: &[(&str, &str)]) -> String {
    let mut form = vec![("search", search), ("exec_mode", "oneshot")];
    form.extend(more);
    let told = server.post("admin", "/services/search/jobs", &form).await;
    assert_eq!(told.status, StatusCode::OK, "{told:?}");
    told.text
}

#[tokio::test(flavor = "multi_thread")]
async fn index_times_of_a_request_bound_all_of_its_searches() {
    let server = Server::start().await;
    let searches = [
        "search index=open | stats count AS n",
        "| tstats count AS n where index=open",
        "| makeresults | append [search index=open] | stats count(_raw) AS n",
        "search index=closed OR (index=open latest=now) | search index=open | stats count AS n",
        "search index=open | search latest=+1h | stats count AS n",
    ];
    for search in searches {
        let ranges: [(&[(&str, &str)], &str); 4] = [
            (&[("index_earliest", "-1h"), ("index_latest", "+1h")], "1"),
            (&[("index_latest", "-1d")], "0"),
            (&[("index_earliest", "+1d")], "0"),
            // `index_earliest` refers to `now`.
            (&[("index_earliest", "-1d"), ("now", "+3d")], "0"),
        ];
        for (range, count) in ranges {
            let told = found(&server, search, range).await;
            let expected = format!(r#""n":"{count}""#);
            assert!(told.contains(&expected), "{search} {range:?}: {told}");
        }
    }
    let own = "search index=open _index_latest=+1h | stats count AS n";
    let told = found(&server, own, &[("index_latest", "-1d")]).await;
    assert!(told.contains(r#""n":"1""#), "{told}");
    // Rows without `_indextime`, also where branches have times.
    for rows in [
        "| makeresults | search earliest=0 | stats count AS n",
        "| makeresults | eval a=1 | search (a=1 earliest=-1h) OR b=2 | stats count AS n",
        "search index=open | table _time host | search (host=h* earliest=0) OR b=2 | stats count AS n",
    ] {
        let told = found(&server, rows, &[("index_latest", "+1d")]).await;
        assert!(told.contains(r#""n":"1""#), "{rows}: {told}");
    }
    let saved = [("name", "all"), ("search", searches[0]), ("dispatch.index_latest", "-1d")];
    assert!(server.post("admin", SAVED, &saved).await.status.is_success());
    let ranges: [(&[(&str, &str)], &str); 2] = [(&[], "0"), (&[("index_latest", "+1h")], "1")];
    for search in ["| savedsearch all", "| from savedsearch:all", "| makeresults | map all"] {
        for (range, count) in ranges {
            let told = found(&server, search, range).await;
            assert!(told.contains(&format!(r#""n":"{count}""#)), "{search} {range:?}: {told}");
        }
    }
    let path = format!("{SAVED}/all/dispatch");
    for (form, count) in [(Vec::new(), "0"), (vec![("dispatch.index_latest", "+1h")], "1")] {
        let told = server.post("admin", &path, &form).await.json();
        let sid = told["sid"].as_str().unwrap_or_else(|| panic!("{told}"));
        let load = format!("| loadjob {sid}");
        let told = found(&server, &load, &[]).await;
        assert!(told.contains(&format!(r#""n":"{count}""#)), "{form:?}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_summary_are_those_of_the_range_of_the_request() {
    let server = Server::start().await;
    let then = jiff::Timestamp::now() - jiff::Span::new().hours(240);
    let event = format!("{} word_old old=1", then.strftime("%Y-%m-%dT%H:%M:%S.123456Z"));
    let path = "/services/receivers/simple?index=open&host=h_old";
    let sent = server.send("admin", Method::POST, path, &event).await;
    assert!(sent.status.is_success(), "{sent:?}");
    let sid = server.job("admin", "search index=open").await;
    let job = format!("/services/search/jobs/{sid}");
    let (start, end) = (then.as_second(), then.as_second() + 1);
    let day = then.strftime("%d.%m.%Y").to_string();
    for (query, is_old, is_new) in [
        (String::new(), true, true),
        ("&earliest_time=0".to_owned(), true, true),
        ("&earliest_time=-1h".to_owned(), false, true),
        ("&latest_time=-1h".to_owned(), true, false),
        (format!("&earliest_time={start}&latest_time={end}"), true, false),
        (format!("&latest_time={start}"), false, false),
        (format!("&earliest_time={day}&time_format=%25d.%25m.%25Y&latest_time=-1d"), true, false),
        // The offset is that of the selected events.
        ("&earliest_time=-1h&offset=1".to_owned(), false, false),
        ("&latest_time=-1h&search=table%20_raw".to_owned(), true, false),
    ] {
        let told = server.get("admin", &format!("{job}/events?output_mode=json{query}")).await;
        let found = (told.text.contains("word_old"), told.text.contains("word_open"));
        assert_eq!(found, (is_old, is_new), "{query}: {told:?}");
    }
    // Among texts, `_time` has times and numbers, too.
    for time in ["_time", "\"7\""] {
        let mixed = "search index=open | eval _time=if(like(_raw, \"%old%\"), ";
        let sid = server.job("admin", &format!("{mixed}{time}, \"never\")")).await;
        for query in ["", "&search=table%20_raw"] {
            let events = format!("/services/search/jobs/{sid}/events?output_mode=json");
            let path = format!("{events}&earliest_time=0&latest_time=now{query}");
            let told = server.get("admin", &path).await;
            let found = (told.text.contains("word_old"), told.text.contains("word_open"));
            assert_eq!(found, (true, false), "{time} {query}: {told:?}");
        }
    }
    for (query, events, fields) in [
        ("earliest_time=-1h", 1, "host,index,n"),
        ("f=n,old", 2, "n,old"),
        ("f=n&f=old&min_freq=0.6", 2, ""),
        ("f=host&min_freq=1", 2, "host"),
    ] {
        let path = format!("{job}/summary?output_mode=json&{query}");
        let told = server.get("admin", &path).await.json();
        assert_eq!(told["event_count"], events, "{query}: {told}");
        let names = told["fields"].as_object().unwrap().keys();
        let names = names.map(String::as_str).filter(|name| "host index n old".contains(name));
        assert_eq!(names.collect::<Vec<_>>().join(","), fields, "{query}: {told}");
    }
    let named = "| makeresults | eval \"x(a,b)\"=1, \"b)\"=2 | table \"x(a,b)\" \"b)\"";
    let named = format!("/services/search/jobs/{}", server.job("admin", named).await);
    for (wanted, both) in [("x(a,b)", false), ("b),x(a,b)", false), ("b)&f=x(a,b)", true)] {
        let path = format!("{named}/results?output_mode=json&f={wanted}");
        let told = server.get("admin", &path).await;
        let has = |cell: &str| told.text.contains(cell);
        let found = (has("\"x(a,b)\":\"1\""), has("\"b)\":\"2\""));
        assert_eq!(found.0 && found.1, both, "{wanted}: {told:?}");
        assert!(found.0 || found.1, "{wanted}: {told:?}");
    }
    for below in ["events", "results", "results_preview"] {
        let path = format!("{job}/{below}?output_mode=json&f=_time&output_time_format=t%25s.%256N");
        let told = server.get("admin", &path).await;
        let written = format!("\"_time\":\"t{start}.123456\"");
        assert!(told.text.contains(&written), "{below}: {told:?}");
    }
    let search = "search=search+index%3Dopen&output_mode=csv&output_time_format=t%25s.%256N";
    let told = server.get("admin", &format!("/services/search/jobs/export?{search}")).await;
    assert!(told.text.contains(&format!("t{start}.123456")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_as_raw_text_has_the_texts_of_events_and_all_cells_of_other_rows() {
    let server = Server::start().await;
    let events = "search+index%3Dopen";
    let export = async |search: String| {
        let path = format!("/services/search/jobs/export?output_mode=raw&search={search}");
        server.get("admin", &path).await.text
    };
    let texts = export(events.to_owned()).await;
    assert!(texts.contains("word_open"), "{texts}");
    assert_eq!(texts, export(format!("{events}+%7C+table+_raw")).await);
    assert_eq!(texts, export(format!("{events}+%7C+fields+n")).await);
    let made = "%7C+makeresults+%7C+eval+other%3D%22one%22";
    let rows = export(format!("{events}+%7C+append+%5B{made}%5D")).await;
    assert!(rows.starts_with(&texts) && rows.contains("one"), "{rows}");
    let without = export(format!("{events}+%7C+fields+-+_raw")).await;
    assert!(without.contains('\t') && !without.contains("word_open"), "{without}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_over_all_time_has_times_of_the_calendar() {
    let server = Server::start().await;
    let sid = server.job("admin", "search index=open").await;
    let path = format!("/services/search/jobs/{sid}?output_mode=json");
    let told = server.get("admin", &path).await.json();
    let content = &told["entry"][0]["content"];
    assert_eq!(content["searchEarliestTime"], 0.0, "{content}");
    let latest = content["searchLatestTime"].as_f64().unwrap();
    assert!((1e9..1e11).contains(&latest), "{latest}");
    assert_eq!(content["earliestTime"], "", "{content}");
    assert_eq!(content["indexEarliestTime"], 0.0, "{content}");
    assert_eq!(content["indexLatestTime"], 0.0, "{content}");
    let form = [
        ("search", "search index=open"),
        ("exec_mode", "blocking"),
        ("now", "1800000000"),
        ("earliest_time", "+1d"),
        ("index_earliest", "-1h"),
        ("index_latest", "now"),
    ];
    let told = server.post("admin", "/services/search/jobs", &form).await.json();
    let sid = told["sid"].as_str().unwrap_or_else(|| panic!("{told}"));
    let path = format!("/services/search/jobs/{sid}?output_mode=json");
    let told = server.get("admin", &path).await.json();
    let content = &told["entry"][0]["content"];
    for (name, time) in [
        ("searchEarliestTime", 1_800_086_400.0),
        ("searchLatestTime", 1_800_086_400.0),
        ("indexEarliestTime", 1_799_996_400.0),
        ("indexLatestTime", 1_800_000_000.0),
    ] {
        assert_eq!(content[name], time, "{name}: {content}");
    }
}

//! Permissions of shared objects hold in searches as they do in REST, and secrets stay hidden.

use std::sync::Arc;

use apps::{NOBODY, Namespace};
use axum::http::{Method, StatusCode};

use super::server::Server;

const SHARED: &str = "/servicesNS/nobody/search";

async fn made(server: &Server, path: &str, form: &[(&str, &str)]) {
    let answer = server.post("admin", &format!("{SHARED}/{path}"), form).await;
    assert!(answer.status.is_success(), "{path}: {answer:?}");
}

/// Makes an object the administrators' alone.
async fn close(server: &Server, path: &str) {
    let acl =
        [("sharing", "app"), ("owner", "admin"), ("perms.read", "admin"), ("perms.write", "admin")];
    made(server, &format!("{path}/acl"), &acl).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_show_no_secrets_to_those_who_may_not_change_them() {
    let server = Server::start().await;
    let paths = [
        "/services/configs/conf-inputs?output_mode=json&count=0",
        "/services/configs/conf-inputs/http%3A%2F%2Fconftok?output_mode=json",
        "/services/properties/inputs/http%3A%2F%2Fconftok/token",
        "/services/properties/inputs/http%3A%2F%2Fconftok?output_mode=json",
        "/services/properties/inputs/splunktcp%3A%2F%2F9997?output_mode=json",
        "/services/data/inputs/all?output_mode=json&count=0",
        "/services/data/inputs/tcp/cooked?output_mode=json&count=0",
    ];
    for path in paths {
        for user in ["nos", "user", "power"] {
            let answer = server.get(user, path).await;
            assert!(!answer.text.contains("-secret"), "{path} by {user}: {}", answer.text);
        }
        let answer = server.get("admin", path).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
    }
    let own = server.get("admin", paths[2]).await;
    assert!(own.text.contains("8f0c-secret"), "{own:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_limit_applies_to_the_next_search_until_it_is_reset() {
    let server = Server::start().await;
    let path = "/services/configs/conf-limits/stats";
    let search =
        "| makeresults count=3 | stats list(_time) AS t | eval n=\"n\".mvcount(t) | fields n";
    for (limit, listed) in [("2", "\"n2\""), ("", "\"n3\"")] {
        let answer = server.post("admin", path, &[("list_maxsize", limit)]).await;
        assert!(answer.status.is_success(), "{answer:?}");
        let told = server.search("admin", search).await;
        assert!(told.text.contains(listed), "{listed}: {told:?}");
    }
    let refused = server.post("power", path, &[("list_maxsize", "2")]).await;
    assert!(!refused.status.is_success(), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_were_stored_as_objects_have_no_effect_and_can_be_removed() {
    let server = Server::start().await;
    let homes = [Namespace::new(NOBODY, "search"), Namespace::new("admin", "search")];
    for (home, maximum) in homes.iter().zip(["1", "x"]) {
        let settings = vec![("list_maxsize".to_owned(), maximum.to_owned())];
        server.state.apps.create("limits", "stats", home, settings).await.unwrap();
    }
    let listed =
        "| makeresults count=3 | stats list(_time) AS t | eval n=\"n\".mvcount(t) | fields n";
    let told = server.search("admin", listed).await;
    assert!(told.text.contains("\"n3\""), "{told:?}");

    let shared = format!("{SHARED}/configs/conf-limits");
    for path in [shared.as_str(), "/services/configs/conf-limits"] {
        let one = format!("{path}/stats?output_mode=json");
        let answer = server.post("admin", &format!("{path}/stats"), &[("list_maxsize", "2")]).await;
        assert!(answer.text.contains("\"list_maxsize\":\"2\""), "{answer:?}");
        let answer = server.get("admin", &one).await;
        assert!(answer.text.contains("\"list_maxsize\":\"2\""), "{answer:?}");
        let all = server.get("admin", &format!("{path}?output_mode=json&count=0")).await;
        assert_eq!(all.text.matches("\"list_maxsize\":\"2\"").count(), 1, "{all:?}");
        let told = server.search("admin", listed).await;
        assert!(told.text.contains("\"n2\""), "{told:?}");
        // It removes the stored setting and the object of the namespace.
        for status in [StatusCode::OK, StatusCode::NOT_FOUND] {
            let answer = server.send("admin", Method::DELETE, &one, "").await;
            assert_eq!(answer.status, status, "{answer:?}");
        }
    }
    assert!(server.state.apps.private("limits").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_refused_as_long_as_another_limit_is_invalid() {
    let server = Server::start().await;
    let path = format!("{SHARED}/configs/conf-limits");
    let default = server.post("admin", &path, &[("name", "default"), ("ttl", "9")]).await;
    assert_eq!(default.status, StatusCode::BAD_REQUEST, "{default:?}");
    // Earlier versions stored it.
    let settings = vec![("ttl".to_owned(), "soon".to_owned())];
    let system = Namespace::new(NOBODY, apps::SYSTEM);
    server.state.apps.create("limits", "default", &system, settings).await.unwrap();
    let search = format!("{path}/search");
    let refused = server.post("admin", &search, &[("max_count", "9")]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    assert!(refused.text.contains("another setting is invalid"), "{refused:?}");
    assert!(refused.text.contains("ttl = soon"), "{refused:?}");
    // Its own stanza precedes it, also in the change itself.
    let changes: [&[(&str, &str)]; 2] = [&[("max_count", "9"), ("ttl", "8")], &[("ttl", "")]];
    for settings in changes {
        let changed = server.post("admin", &search, settings).await;
        assert!(changed.status.is_success(), "{changed:?}");
    }
    let default = format!("{path}/default?output_mode=json");
    for status in [StatusCode::OK, StatusCode::NOT_FOUND] {
        let removed = server.send("admin", Method::DELETE, &default, "").await;
        assert_eq!(removed.status, status, "{removed:?}");
    }
    let changed = server.post("admin", &search, &[("max_count", "7")]).await;
    assert!(changed.status.is_success(), "{changed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_not_an_indexer_neither_changes_inputs_nor_starts_them() {
    let mut server = Server::start().await;
    let intake = crate::Intake { is_indexer: false, ..(*server.state.intake).clone() };
    server.state.intake = Arc::new(intake);
    let confs = format!("{SHARED}/configs/conf-inputs");
    let properties = format!("{SHARED}/properties/inputs");
    let stanza = "splunktcp:%2F%2F9997";
    let requests: [(String, &[(&str, &str)]); 6] = [
        (confs.clone(), &[("name", "udp://50518"), ("index", "main")]),
        (format!("{confs}/{stanza}"), &[("disabled", "0")]),
        (format!("{confs}/{stanza}/enable"), &[]),
        (properties.clone(), &[("__stanza", "udp://50518")]),
        (format!("{properties}/{stanza}/disabled"), &[("value", "0")]),
        ("/services/data/inputs/udp".to_owned(), &[("name", "50518")]),
    ];
    for (path, form) in requests {
        let refused = server.post("admin", &path, form).await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {refused:?}");
        assert!(refused.text.contains("role indexer"), "{path}: {refused:?}");
    }
    // An indexer has made it; neither a change of a token nor a reload starts it here.
    let input = vec![("index".to_owned(), "main".to_owned())];
    let home = Namespace::new(NOBODY, "search");
    server.state.apps.create("inputs", "udp://50518", &home, input).await.unwrap();
    let changes: [(String, &[(&str, &str)]); 3] = [
        (confs.clone(), &[("name", "http://shop"), ("index", "main")]),
        (format!("{confs}/http:%2F%2Fshop"), &[("disabled", "1")]),
        (format!("{confs}/_reload"), &[]),
    ];
    for (path, form) in changes {
        let changed = server.post("admin", &path, form).await;
        assert!(changed.status.is_success(), "{path}: {changed:?}");
    }
    let listening = server.state.inputs.listening().await;
    assert!(listening.is_empty(), "{listening:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_hold_in_searches() {
    let server = Server::start().await;
    made(
        &server,
        "data/lookup-table-files",
        &[("name", "priv.csv"), ("contents", "k,v\na,hidden\n")],
    )
    .await;
    close(&server, "data/lookup-table-files/priv.csv").await;
    made(&server, "data/transforms/lookups", &[("name", "privlk"), ("filename", "priv.csv")]).await;
    close(&server, "data/transforms/lookups/privlk").await;
    made(&server, "storage/collections/config", &[("name", "privkv")]).await;
    close(&server, "storage/collections/config/privkv").await;
    let kv = [
        ("name", "kvlk"),
        ("external_type", "kvstore"),
        ("collection", "privkv"),
        ("fields_list", "k,v"),
    ];
    made(&server, "data/transforms/lookups", &kv).await;
    made(&server, "data/macros", &[("name", "privmac"), ("definition", "eval v=\"hidden\"")]).await;
    close(&server, "data/macros/privmac").await;
    made(
        &server,
        "saved/searches",
        &[("name", "privss"), ("search", "| makeresults | eval v=\"hidden\"")],
    )
    .await;
    close(&server, "saved/searches/privss").await;
    let filled = server
        .search("admin", "| makeresults | eval k=\"a\", v=\"hidden\" | outputlookup kvlk")
        .await;
    assert!(filled.status.is_success(), "{filled:?}");
    let searches = [
        "| inputlookup privlk",
        "| inputlookup priv.csv",
        "| inputcsv priv.csv",
        "| inputlookup kvlk",
        "| makeresults | eval k=\"a\" | lookup privlk k OUTPUT v",
        "| makeresults | eval k=\"a\" | lookup priv.csv k OUTPUT v",
        "| makeresults | eval k=\"a\", v=lookup(\"privlk\", json_object(\"k\", k), json_array(\"v\"))",
        "| makeresults | append [| inputlookup privlk]",
        "| makeresults | `privmac`",
        "| savedsearch privss",
        "| from savedsearch:\"privss\"",
        "| from lookup:\"privlk\"",
    ];
    for search in searches {
        let told = server.search("admin", search).await;
        assert!(told.text.contains("hidden"), "{search} by admin: {told:?}");
        let told = server.search("user", search).await;
        let rows = told.text.replace(search, "");
        assert!(!rows.contains("\"hidden"), "{search} by user: {told:?}");
    }
    for write in ["kvlk", "priv.csv", "privlk"] {
        let search = format!("| makeresults | eval k=\"x\" | outputlookup {write}");
        let told = server.search("user", &search).await;
        assert!(!told.status.is_success(), "{search} by user: {told:?}");
    }
    let kept = server.search("admin", "| inputlookup kvlk").await;
    assert!(kept.text.contains("hidden"), "{kept:?}");
    // A new file of a user who may not write in the app is the user's own.
    let own = "| makeresults | eval k=\"x\" | outputlookup new_own.csv";
    let told = server.search("user", own).await;
    assert!(told.status.is_success(), "{told:?}");
    for (name, path) in [("user", "/servicesNS/user/search"), ("admin", SHARED)] {
        let path = format!("{path}/data/lookup-table-files/new_own.csv");
        let is_there = server.get(name, &path).await.status.is_success();
        assert_eq!(is_there, name == "user", "{path}");
    }
    let rest = server.get("user", &format!("{SHARED}/data/lookup-table-files/priv.csv")).await;
    assert_eq!(rest.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_field_replaces_records_with_other_keys() {
    let server = Server::start().await;
    made(&server, "storage/collections/config", &[("name", "seenkv")]).await;
    let kv = [
        ("name", "seen"),
        ("external_type", "kvstore"),
        ("collection", "seenkv"),
        ("fields_list", "host,state"),
    ];
    made(&server, "data/transforms/lookups", &kv).await;
    // The first has a random key, as those of earlier versions have.
    for (state, options) in [("state-one", ""), ("state-two", "key_field=host")] {
        let search = format!(
            "| makeresults | eval host=\"web1\", state=\"{state}\" | table host state \
             | outputlookup append=true {options} seen"
        );
        let told = server.search("admin", &search).await;
        assert!(told.status.is_success(), "{search}: {told:?}");
    }
    let told = server.search("admin", "| inputlookup seen").await;
    assert!(told.text.contains("state-two"), "{told:?}");
    assert!(!told.text.contains("state-one"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_share_writes_lookup_files() {
    let server = Server::start().await;
    let told =
        server.search("power", "| makeresults | eval k=\"x\" | outputlookup shared.csv").await;
    assert!(told.status.is_success(), "{told:?}");
    let told = server.search("user", "| inputlookup shared.csv").await;
    assert!(told.text.contains("\"x\""), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_share_writes_own_lookup_files() {
    let server = Server::start().await;
    for (command, file) in [("outputlookup own.csv", "own.csv"), ("outputcsv kept", "kept.csv")] {
        for value in ["first", "second"] {
            let search = format!("| makeresults | eval k=\"{value}\" | {command}");
            let told = server.search("user", &search).await;
            assert!(told.status.is_success(), "{command}: {told:?}");
            let read = format!("| inputlookup {file}");
            let told = server.search("user", &read).await;
            assert!(told.text.contains(&format!("\"{value}\"")), "{command}: {told:?}");
            let told = server.search("power", &read).await;
            assert!(!told.text.contains(&format!("\"{value}\"")), "{command}: {told:?}");
        }
    }
    // A shared file stays as it is, also beside an own one.
    for file in ["shared.csv", "own.csv"] {
        let search = format!("| makeresults | eval k=\"shared\" | outputlookup {file}");
        let told = server.search("power", &search).await;
        assert!(told.status.is_success(), "{told:?}");
        let search = format!("| makeresults | eval k=\"third\" | outputlookup {file}");
        let told = server.search("user", &search).await;
        assert_eq!(told.status.is_success(), file == "own.csv", "{file}: {told:?}");
        let told = server.search("power", &format!("| inputlookup {file}")).await;
        assert!(told.text.contains("\"shared\""), "{file}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_lookup_file_is_written_beside_a_shared_one_that_may_be_changed() {
    let server = Server::start().await;
    let write = async |user: &str, value: &str, options: &str| {
        let search =
            format!("| makeresults | eval k=\"{value}\" | outputlookup {options} mine.csv");
        let told = server.search(user, &search).await;
        assert!(told.status.is_success(), "{search} by {user}: {told:?}");
    };
    write("user", "own", "").await;
    write("power", "shared", "").await;
    let acl = [("sharing", "app"), ("perms.read", "*"), ("perms.write", "*")];
    made(&server, "data/lookup-table-files/mine.csv/acl", &acl).await;
    write("user", "more", "append=true").await;
    for (user, has, lacks) in [("user", ["own", "more"], "shared"), ("power", ["shared"; 2], "own")]
    {
        let told = server.search(user, "| inputlookup mine.csv | fields k").await;
        let all = has.iter().all(|value| told.text.contains(&format!("\"{value}\"")));
        assert!(all && !told.text.contains(&format!("\"{lacks}\"")), "{user}: {told:?}");
    }
    // A user who may write in the app has no file of their own: the shared one is written.
    write("power", "last", "append=true").await;
    let told = server.search("admin", "| inputlookup mine.csv | fields k").await;
    assert!(told.text.contains("\"shared\"") && told.text.contains("\"last\""), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_tells_who_may_add_shared_objects_to_it() {
    let server = Server::start().await;
    for (user, writes) in [("user", false), ("power", true), ("admin", true)] {
        let answer = server.get(user, "/services/apps/local/search?output_mode=json").await;
        let told = format!("\"can_write\":{writes}");
        assert!(answer.text.contains(&told), "{user}: {answer:?}");
    }
}

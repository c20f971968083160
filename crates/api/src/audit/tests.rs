//! Tests that every route and every search has an audit record.

use std::fs;
use std::path::Path;

use axum::body::Body;
use axum::http::{Method, Request, header};

use super::actions::{Action, Class, of};
use crate::tests::openapi::registered;

/// A path that the route takes.
fn example(route: &str) -> String {
    let parts = route.split('/').map(|part| match part {
        "{action}" => "enable",
        open if open.starts_with('{') => "one",
        literal => literal,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn action(method: &str, route: &str) -> Action {
    let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
    of(&method, Some(route), &example(route))
}

#[test]
fn every_operation_that_is_no_get_has_a_record_with_a_name() {
    let operations = registered();
    let writes: Vec<_> = operations.iter().filter(|(_, method)| *method != "GET").collect();
    assert!(writes.len() > 80, "only {} operations were found", writes.len());
    for (route, method) in writes {
        let action = action(method.as_str(), route);
        let named = action.name.chars().all(|c| c.is_ascii_lowercase() || "_ ".contains(c));
        assert!(action.class != Class::Read, "{method} {route} has no record");
        assert!(named && !action.name.starts_with('_'), "{method} {route}: {}", action.name);
    }
}

#[test]
fn actions_are_a_verb_and_what_is_acted_on() {
    let name = |method, route| action(method, route).name;
    assert_eq!(name("post", "/services/authentication/users"), "create_user");
    assert_eq!(name("post", "/services/authentication/users/{name}"), "edit_user");
    assert_eq!(name("delete", "/services/authorization/roles/{name}"), "remove_role");
    assert_eq!(name("post", "/services/data/indexes/{name}/roll-hot-buckets"), "roll_index");
    assert_eq!(name("post", "/services/data/indexes/{name}/thaw"), "thaw_index");
    assert_eq!(name("post", "/services/data/inputs/http/{name}/{action}"), "enable_token_http");
    assert_eq!(name("post", "/services/new-things/{name}"), "edit_new_things");
    assert_eq!(action("post", "/services/saved/searches/{name}/dispatch").class, Class::Search);
    assert_eq!(action("post", "/services/properties/{file}/{name}/{key}").object, "one/one/one");
}

#[test]
fn who_reads_secrets_is_recorded_and_other_reads_are_not() {
    let class = |route, path| of(&Method::GET, Some(route), path).class;
    let conf = "/services/configs/{file}";
    assert_eq!(class("/services/storage/passwords", "/services/storage/passwords"), Class::Secret);
    assert_eq!(class(conf, "/services/configs/conf-inputs"), Class::Secret);
    assert_eq!(class(conf, "/services/configs/conf-props"), Class::Read);
    let package = "/services/apps/local/{name}/package";
    assert_eq!(class(package, "/services/apps/local/shop/package"), Class::Secret);
    assert_eq!(class("/services/apps/local/{name}", "/services/apps/local/shop"), Class::Read);
    assert_eq!(class("/services/server/info", "/services/server/info"), Class::Read);
    assert_eq!(class("/healthz", "/healthz"), Class::Read);
}

#[test]
fn requests_that_reload_files_are_recorded_as_changes_also_with_get() {
    let list = "/services/configs/{file}/{name}";
    for (method, route, path, name) in [
        (Method::GET, list, "/services/configs/conf-inputs/_reload", "reload_conf"),
        (Method::POST, list, "/services/configs/conf-props/_reload", "reload_conf"),
        (Method::GET, "/services/apps/local/{name}", "/services/apps/local/_reload", "reload_app"),
        (Method::GET, "/services/debug/refresh", "/services/debug/refresh", "refresh"),
    ] {
        let action = of(&method, Some(route), path);
        assert_eq!((action.name.as_str(), action.class), (name, Class::Change), "{method} {path}");
    }
}

/// The Rust files below a folder, except tests and the one that starts searches.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.ends_with("src/tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if !path.ends_with("audit/searches.rs") && !path.ends_with("audit/tests.rs") {
            let text = fs::read_to_string(&path).expect("the file can be read");
            found.push((path.display().to_string(), text));
        }
    }
}

#[test]
fn searches_are_started_where_they_are_recorded_and_nowhere_else() {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    for (path, text) in files {
        for start in [".search.dispatch(", ".search.export(", ".search.sql(", ".search.sql_stream("]
        {
            assert!(!text.contains(start), "{path} starts a search without a record: {start}");
        }
    }
}

#[tokio::test]
async fn refusals_are_json_if_the_form_the_url_or_the_headers_ask_for_it() {
    let kind = async |uri: &str, form: &'static str, accepts: &str| {
        let request = Request::post(uri).header(header::ACCEPT, accepts);
        let request = request.body(Body::from(form)).expect("a request");
        let refused = super::refused(request, &::audit::Error::Closed).await;
        assert_eq!(refused.status(), 503);
        let kind = refused.headers()[header::CONTENT_TYPE].to_str().expect("a content type");
        kind.split(';').next().unwrap_or_default().to_owned()
    };
    let path = "/services/data/indexes";
    assert_eq!(kind(path, "name=a", "*/*").await, "text/xml");
    assert_eq!(kind(path, "name=a&output_mode=json", "*/*").await, "application/json");
    assert_eq!(kind(&format!("{path}?output_mode=json"), "", "*/*").await, "application/json");
    assert_eq!(kind(path, "", "application/json").await, "application/json");
    assert_eq!(kind("/api/v1/sql", "", "*/*").await, "application/json");
}

//! Every path and method, and every guarded command, by every built-in role and by one without
//! capabilities: what the table does not give, the service does not give either.

use axum::http::StatusCode;
use plan::rights::guarded;

use super::server::Server;
use crate::rights::Need;
use crate::routing::METHODS;

/// The callers, by user name.
const USERS: [&str; 5] = ["admin", "power", "user", "can_delete", "nos"];

/// A search with each guarded command, as short as its syntax allows.
const SEARCHES: &[(&str, &str)] = &[
    ("apply", "| makeresults | apply a"),
    ("collect", "| makeresults | collect index=open"),
    ("dbinspect", "| dbinspect index=open"),
    ("delete", "search index=open | delete"),
    ("eventcount", "| eventcount index=open"),
    ("fit", "| makeresults | fit StandardScaler a"),
    ("inputcsv", "| inputcsv a.csv"),
    ("inputlookup", "| inputlookup a.csv"),
    ("mcatalog", "| mcatalog values(metric_name) where index=open"),
    ("mcollect", "| makeresults | eval metric_name=\"m\", _value=1 | mcollect index=open"),
    ("metadata", "| metadata type=hosts index=open"),
    ("metasearch", "| metasearch index=open"),
    (
        "meventcollect",
        "| makeresults | eval metric_name=\"m\", _value=1 | meventcollect index=open",
    ),
    ("mpreview", "| mpreview index=open"),
    ("outputcsv", "| makeresults | outputcsv a.csv"),
    ("outputlookup", "| makeresults | outputlookup a.csv"),
    ("script", "| makeresults | script a"),
    ("sendalert", "| makeresults | sendalert a"),
    ("sendemail", "| makeresults | sendemail to=\"a@b.c\""),
    ("tscollect", "| makeresults | tscollect namespace=open"),
    ("typeahead", "| typeahead prefix=a count=1 index=open"),
    ("walklex", "| walklex type=term index=open"),
];

fn has(server: &Server, user: &str, capability: Option<&str>) -> bool {
    let rights = server.state.authority.of(user);
    capability.is_none_or(|capability| rights.may(capability))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_answers_each_role_as_the_table_says() {
    let server = Server::start().await;
    for (path, operations) in crate::routes::all().into_paths() {
        let needs = operations.map(|operation| operation.map(|operation| operation.need));
        let open = needs.contains(&Some(Need::Open));
        for (method, need) in METHODS.into_iter().zip(needs) {
            // Segments that no object has.
            let place = path.replace('{', "none_").replace('}', "");
            if !open {
                let status = server.send("", method.clone(), &place, "").await.status;
                assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path} by nobody");
            }
            for user in USERS {
                let status = server.send(user, method.clone(), &place, "").await.status;
                let told = format!("{method} {path} by {user}: {status}");
                let Some(need) = need else {
                    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{told}");
                    continue;
                };
                if !has(&server, user, need.capability()) {
                    assert_eq!(status, StatusCode::FORBIDDEN, "{told}");
                } else if matches!(need, Need::May(_)) {
                    assert_ne!(status, StatusCode::FORBIDDEN, "{told}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_guarded_command_answers_each_role_as_the_table_says() {
    let server = Server::start().await;
    assert_eq!(SEARCHES.len(), guarded().len(), "a guarded command has no search here");
    for (name, right) in guarded() {
        let (_, search) = SEARCHES.iter().find(|(command, _)| *command == name).unwrap();
        for user in USERS {
            let answer = server.search(user, search).await;
            let may = has(&server, user, Some("search")) && has(&server, user, right.capability);
            let told = format!("{search} by {user}: {answer:?}");
            let forbidden = answer.status == StatusCode::FORBIDDEN;
            if !may {
                assert!(forbidden, "{told}");
            } else if !right.writes {
                assert!(!forbidden, "{told}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_never_writes() {
    let server = Server::start().await;
    let sid = server.job("admin", "search index=open").await;
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    for (name, _) in guarded().into_iter().filter(|(_, right)| right.writes) {
        let (_, search) = SEARCHES.iter().find(|(command, _)| *command == name).unwrap();
        let further = encoded(&format!("| {}", search.rsplit_once("| ").unwrap().1));
        let mut paths: Vec<String> = ["results", "events", "results_preview"]
            .iter()
            .map(|below| format!("/services/search/jobs/{sid}/{below}?search={further}"))
            .collect();
        paths.push(format!("/services/search/jobs/export?search={}", encoded(search)));
        for path in paths {
            let answer = server.get("admin", &path).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}: {answer:?}");
        }
    }
    let nested = encoded("| append [| makeresults | outputlookup nested.csv]");
    let path = format!("/services/search/jobs/{sid}/results?search={nested}");
    server.get("admin", &path).await;
    let there = server.search("admin", "| inputlookup nested.csv").await;
    assert!(!there.text.contains("_time"), "{there:?}");
}

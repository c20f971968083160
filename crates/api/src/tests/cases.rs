//! Every route is requested as a client would, and with an invalid request.
//!
//! The requests stand beside the handlers, in `cases()` of each file of `routes/`. They run in order against
//! a server of their own.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use serde_json::Value;

use super::server::Server;
use crate::rest::canonical;
use crate::routing::METHODS;

/// A request and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    user: &'static str,
    /// Method and path, such as `GET /services?count=1`. `$name` stands for a value that was kept.
    request: String,
    /// A form, or any other body.
    body: String,
    status: u16,
    /// Part of the answer; empty for an answer whose body does not matter.
    text: String,
    /// A name, and the JSON pointer of the value in the answer that is kept under it.
    keeps: Option<(&'static str, &'static str)>,
}

/// A request by `admin`, and its answer. `text` is a part of the answer, as JSON if there is a choice.
pub(crate) fn case(request: &str, body: &str, status: u16, text: &str) -> Case {
    let (request, body, text) = (request.to_owned(), body.to_owned(), text.to_owned());
    Case { user: "admin", request, body, status, text, keeps: None }
}

impl Case {
    /// The same by somebody else; nobody, if the name is empty.
    pub(crate) fn by(self, user: &'static str) -> Self {
        Self { user, ..self }
    }

    /// Keeps a value of the answer for the requests that follow.
    pub(crate) fn keeping(self, name: &'static str, pointer: &'static str) -> Self {
        Self { keeps: Some((name, pointer)), ..self }
    }

    fn method(&self) -> Method {
        let method = self.request.split(' ').next().unwrap();
        Method::from_bytes(method.as_bytes()).unwrap()
    }

    /// The path of the request as routes write it.
    fn path(&self) -> String {
        let target = self.request.split_once(' ').unwrap().1;
        canonical(target.split('?').next().unwrap()).1
    }
}

/// The cases of a collection and its members, whose form is that of a new object. `other` changes it.
pub(crate) fn object_cases(path: &str, form: &str, other: &str) -> Vec<Case> {
    let named = |rest: &str| format!("{path}/one{rest}");
    let at = |method: &str, rest: &str| format!("{method} {}", named(rest));
    let (all, absent) = (format!("GET {path}"), "Could not find object");
    vec![
        case(&format!("POST {path}"), &format!("name=one&{form}"), 201, "\"name\":\"one\""),
        case(&format!("POST {path}"), form, 400, "the required parameter \\\"name\\\" is missing"),
        case(&format!("POST {path}"), &format!("name=one&{form}"), 409, "exist"),
        case(&format!("{all}?count=0"), "", 200, "\"name\":\"one\""),
        case(&format!("{all}?sort_mode=size"), "", 400, "unknown sort_mode"),
        case(&format!("{all}?count=x"), "", 400, "must be a whole number"),
        case(&format!("{all}?search=zzzz"), "", 200, "\"total\":0"),
        case(&at("GET", ""), "", 200, "\"name\":\"one\""),
        case(&format!("GET {path}/two"), "", 404, absent),
        case(&at("POST", ""), other, 200, "\"name\":\"one\""),
        case(&format!("POST {path}/two"), other, 404, absent),
    ]
}

/// The cases of the removal of the object that [`object_cases`] makes.
pub(crate) fn removal_cases(path: &str, status_of_none: u16) -> Vec<Case> {
    let absent = "Could not find object";
    vec![
        case(&format!("DELETE {path}/one"), "", 200, "\"entry\":"),
        case(&format!("DELETE {path}/one"), "", status_of_none, absent),
    ]
}

async fn run(server: &Server, file: &str, cases: &[Case]) -> Vec<String> {
    let mut kept: BTreeMap<&str, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in cases {
        let filled = |text: &str| {
            kept.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("${name}"), value)
            })
        };
        let request = filled(&case.request);
        let path = request.split_once(' ').unwrap().1;
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = match path.contains("output_mode=") {
            true => path.to_owned(),
            false => format!("{path}{separator}output_mode=json"),
        };
        let answer = server.send(case.user, case.method(), &path, &filled(&case.body)).await;
        if answer.status.as_u16() != case.status || !answer.text.contains(&case.text) {
            let text: String = answer.text.chars().take(300).collect();
            let (expected, part) = (case.status, &case.text);
            let status = answer.status.as_u16();
            wrong.push(format!("{file}: {request}: {status} {text}\n    not {expected} {part}"));
        }
        if let Some((name, pointer)) = case.keeps {
            let json: Value = serde_json::from_str(&answer.text).unwrap_or_default();
            let value = json.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            kept.insert(name, value.to_owned());
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_answered_as_its_case_says() {
    let mut wrong = Vec::new();
    for (file, cases) in crate::routes::cases() {
        wrong.extend(run(&Server::with_admin().await, file, &cases).await);
    }
    assert!(wrong.is_empty(), "{} answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// The declared path that the router would choose: the one with most literal segments.
fn route<'p>(paths: &'p [String], path: &str) -> Option<&'p str> {
    let fits = |pattern: &&String| {
        let mut both = pattern.split('/').zip(path.split('/'));
        let (declared, asked) = (pattern.split('/').count(), path.split('/').count());
        let takes_rest = pattern.rsplit('/').next().is_some_and(|last| last.starts_with("{*"));
        (declared == asked || (takes_rest && declared < asked))
            && both.all(|(part, asked)| part.starts_with('{') || part == asked)
    };
    let literal = |pattern: &&String| pattern.split('/').filter(|p| !p.starts_with('{')).count();
    paths.iter().filter(fits).max_by_key(literal).map(String::as_str)
}

/// Operations that take nothing that could be invalid.
const WITHOUT_INPUT: [(&str, Method); 6] = [
    ("/healthz", Method::GET),
    ("/readyz", Method::GET),
    ("/saml/logout", Method::POST),
    ("/services/auth/logout", Method::POST),
    ("/services/auth/providers", Method::GET),
    ("/services/server/control/restart", Method::POST),
];
/// Operations that only answer where a provider or a cluster is set up, which `tests/clients` have, or that
/// are signed (`tests/deployment.rs`).
const ELSEWHERE: [&str; 16] = [
    "/saml/acs",
    "/saml/finish",
    "/saml/login",
    "/saml/logout",
    "/saml/spmetadata",
    "/services/broker/phonehome",
    "/services/cluster/manager/control/control/cancel_restart",
    "/services/cluster/manager/control/control/remove_peers",
    "/services/cluster/manager/control/control/restart",
    "/services/cluster/peer/control/control/decommission",
    "/services/auth/oidc/callback",
    "/services/auth/oidc/login",
    "/services/deployment/server/clients/{name}",
    "/services/indexer_discovery",
    "/services/search/distributed/peers/{name}",
    "/services/streams/deployment",
];

#[test]
fn every_operation_has_a_case_with_its_answer_and_one_with_an_invalid_request() {
    let declared = crate::routes::all().into_paths();
    let paths: Vec<String> = declared.iter().map(|(path, _)| path.clone()).collect();
    let (mut right, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for case in crate::routes::cases().into_iter().flat_map(|(_, cases)| cases) {
        let path = case.path();
        let found = route(&paths, &path);
        let found = found.unwrap_or_else(|| panic!("no route takes {path}")).to_owned();
        let seen = if case.status < 400 { &mut right } else { &mut wrong };
        seen.insert((found, case.method().to_string()));
    }
    let mut missing = Vec::new();
    for (path, operations) in declared {
        for (method, _) in METHODS.iter().zip(operations).filter(|(_, one)| one.is_some()) {
            let operation = (path.clone(), method.to_string());
            let needs_right = !ELSEWHERE.contains(&path.as_str());
            if needs_right && !right.contains(&operation) {
                missing.push(format!("{method} {path}: its answer"));
            }
            let needs_wrong = !WITHOUT_INPUT.contains(&(path.as_str(), method.clone()));
            if needs_wrong && !wrong.contains(&operation) {
                missing.push(format!("{method} {path}: an invalid request"));
            }
        }
    }
    assert!(missing.is_empty(), "add to cases() beside the handler:\n{}", missing.join("\n"));
}

#[test]
fn every_file_with_routes_is_listed() {
    let listed: BTreeSet<&str> = crate::routes::cases().into_iter().map(|(file, _)| file).collect();
    for entry in std::fs::read_dir("src/routes").unwrap().map(Result::unwrap) {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let declares = text.contains("fn routes() -> Routes");
        assert!(!declares || listed.contains(name), "add {name} to routes! in routes.rs");
    }
}

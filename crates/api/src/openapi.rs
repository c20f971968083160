//! `schemas/rest/openapi.yaml` names every path and method of the management API, and no others.
//!
//! The router tells nobody what it holds, so the calls that make it are read as text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Path and method.
pub(crate) type Operation = (String, &'static str);

const METHODS: [&str; 5] = ["delete", "get", "patch", "post", "put"];
/// What `objects` makes of a path, by the name of the function.
const OBJECTS: [(&str, &[&str]); 3] = [
    ("collection", &["get", "post"]),
    ("member", &["delete", "get", "post"]),
    ("action", &["get", "post"]),
];
/// Services of other ports, which have other descriptions.
const ELSEWHERE: [&str; 5] = ["elastic", "flight", "hec", "openapi.rs", "otlp.rs"];

/// The text of every file that may add to the router.
fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            _ if ELSEWHERE.contains(&name.as_str()) => {}
            true => sources(&path, texts),
            false => texts.push(fs::read_to_string(&path).expect("the file can be read")),
        }
    }
}

/// The arguments of a call, up to the parenthesis that ends it.
fn arguments(text: &str) -> &str {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

pub(crate) fn registered() -> BTreeSet<Operation> {
    let mut texts = Vec::new();
    sources(Path::new("src"), &mut texts);
    let mut found = BTreeSet::new();
    for call in texts.iter().flat_map(|text| text.split(".route(").skip(1)) {
        let call = arguments(call);
        let mut quoted = call.split('"');
        let path = quoted.nth(1).unwrap_or_else(|| panic!("no path in {call}"));
        let handlers = quoted.next().unwrap_or_default();
        let calls = |name: &str| {
            let call = format!("{name}(");
            let mut places = handlers.match_indices(&call).map(|(at, _)| at);
            places.any(|at| !handlers[..at].ends_with(char::is_alphanumeric))
        };
        let own = METHODS.into_iter().filter(|method| calls(method));
        let objects = OBJECTS.iter().filter(|(name, _)| calls(name));
        let methods = own.chain(objects.flat_map(|(_, methods)| methods.iter().copied()));
        let before = found.len();
        found.extend(methods.map(|method| (path.to_owned(), method)));
        assert!(found.len() > before, "no method of {path}, or it is registered twice");
    }
    found
}

/// What stands below `paths:`: paths two blanks deep, methods four.
fn described() -> BTreeSet<Operation> {
    let text = fs::read_to_string("../../schemas/rest/openapi.yaml").expect("the page is there");
    let below = text.lines().skip_while(|line| *line != "paths:").skip(1);
    let mut path = String::new();
    let mut found = BTreeSet::new();
    for line in below.take_while(|line| line.starts_with(' ')) {
        let Some(key) = line.trim_start().strip_suffix(':') else { continue };
        match line.len() - line.trim_start().len() {
            2 => path = key.trim_matches('\'').to_owned(),
            4 => {
                let method = METHODS.into_iter().find(|method| *method == key);
                found.extend(method.map(|method| (path.clone(), method)));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_page_has_every_path_and_method_of_the_router_and_no_others() {
    let (registered, described) = (registered(), described());
    assert!(registered.len() > 200, "only {} operations were found", registered.len());
    let missing: Vec<_> = registered.difference(&described).collect();
    let unknown: Vec<_> = described.difference(&registered).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not in schemas/rest/openapi.yaml: {missing:#?}\nnot in the router: {unknown:#?}"
    );
}

#[test]
fn the_table_of_rights_has_every_path_and_method_of_the_router_and_no_others() {
    use crate::Need;
    let mut ruled = BTreeSet::new();
    for (path, get, post, delete) in crate::RULES {
        for (method, need) in [("get", get), ("post", post), ("delete", delete)] {
            if *need != Need::Absent {
                ruled.insert(((*path).to_owned(), method));
            }
        }
    }
    let registered = registered();
    let missing: Vec<_> = registered.difference(&ruled).collect();
    let unknown: Vec<_> = ruled.difference(&registered).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "nobody may ask, as rights.rs has no rule: {missing:#?}\nnot in the router: {unknown:#?}"
    );
}

#[test]
fn the_page_for_readers_has_every_path_too() {
    let text = fs::read_to_string("../../docs/rest.md").expect("the page is there");
    let told = |(path, _): &Operation| text.contains(&format!("| `{path}` |"));
    let missing: Vec<_> = registered().into_iter().filter(|operation| !told(operation)).collect();
    assert!(missing.is_empty(), "not in docs/rest.md: {missing:#?}");
}

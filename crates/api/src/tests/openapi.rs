//! `schemas/rest/openapi.yaml` and `docs/rest.md` have every path and method of the management API, and no
//! others. `KARST_BLESS=1` adds what is missing, beside the path that resembles it most.
//!
//! Texts may say more than the declaration of a route, which they begin with.

use std::fs;

use axum::http::Method;

use crate::rights::Need;
use crate::routing::{METHODS, Operation, Operations};

const SCHEMA: &str = "../../schemas/rest/openapi.yaml";
const PAGE: &str = "../../docs/rest.md";

/// A path and a method.
pub(crate) fn registered() -> Vec<(String, Method)> {
    let paths = crate::routes::all().into_paths().into_iter();
    let operations = paths.flat_map(|(path, operations)| {
        let declared = METHODS.into_iter().zip(operations).filter(|(_, one)| one.is_some());
        declared.map(move |(method, _)| (path.clone(), method)).collect::<Vec<_>>()
    });
    operations.collect()
}

fn bless() -> bool {
    std::env::var_os("KARST_BLESS").is_some()
}

/// A path of the schema, with its lines.
struct Described {
    path: String,
    /// The first of its lines, and the one after the last.
    lines: (usize, usize),
}

/// Returns the lines below `paths:`: paths are indented by two blanks, methods by four.
fn described(lines: &[String]) -> Vec<Described> {
    let start = lines.iter().position(|line| line == "paths:").unwrap() + 1;
    let mut found: Vec<Described> = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(start) {
        let deep = line.len() - line.trim_start().len();
        if deep == 0 {
            break;
        }
        if deep == 2 {
            let path = line.trim().trim_end_matches(':').trim_matches('\'').to_owned();
            found.push(Described { path, lines: (at, at + 1) });
        } else if let Some(last) = found.last_mut() {
            last.lines.1 = at + 1;
        }
    }
    found
}

/// The operation of a path's lines, by the line of the method.
fn operation(lines: &[String], (from, to): (usize, usize), method: &Method) -> Option<usize> {
    let key = format!("    {}:", method.as_str().to_lowercase());
    (from..to).find(|at| lines[*at] == key)
}

fn summary(lines: &[String], at: usize) -> String {
    let below = lines[at + 1..].iter().take_while(|line| line.starts_with("      "));
    let text = below.filter_map(|line| line.strip_prefix("      summary: ")).next();
    let text = text.unwrap_or_default();
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    quoted.map_or_else(|| text.to_owned(), |text| text.replace("''", "'"))
}

/// The lines of an operation as they are added.
fn written(path: &str, method: &Method, operation: &Operation) -> Vec<String> {
    let name = method.as_str().to_lowercase();
    let words = path.split(['/', '-', '.', '_', ':', '{', '}']).skip(2);
    let id: String = words
        .filter(|word| !word.is_empty())
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect();
    let text = operation.summary.replace('\'', "''");
    let mut lines = vec![
        format!("    {name}:"),
        format!("      operationId: {name}{id}"),
        format!("      summary: '{text}'"),
    ];
    if let Some(capability) = operation.need.capability() {
        lines.push(format!("      x-capability: {capability}"));
    }
    lines.push("      responses:".to_owned());
    let answer = |status: &str, name: &str| {
        format!("        '{status}': {{$ref: '#/components/responses/{name}'}}")
    };
    lines.push("        '200': {description: Success.}".to_owned());
    lines.push(answer("400", "BadRequest"));
    if operation.need != Need::Open {
        lines.push(answer("401", "Unauthorized"));
    }
    if operation.need.capability().is_some() {
        lines.push(answer("403", "Forbidden"));
    }
    if path.contains('{') {
        lines.push(answer("404", "NotFound"));
    }
    lines
}

/// Returns the length of the common prefix of two paths.
fn resemblance(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Adds a path, or an operation of one that is there.
fn add(lines: &mut Vec<String>, path: &str, method: &Method, operation: &Operation) {
    let known = described(lines);
    let mut new = written(path, method, operation);
    let at = match known.iter().find(|one| one.path == path) {
        Some(one) => one.lines.1,
        None => {
            let open = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let parameters = open.map(|name| {
                format!(
                    "      - {{name: {name}, in: path, required: true, schema: {{type: string}}}}"
                )
            });
            let parameters: Vec<String> = parameters.collect();
            if !parameters.is_empty() {
                new.splice(0..0, ["    parameters:".to_owned()].into_iter().chain(parameters));
            }
            new.insert(0, format!("  {path}:"));
            let best = known.iter().max_by_key(|one| resemblance(&one.path, path));
            best.map_or(lines.len(), |one| one.lines.1)
        }
    };
    lines.splice(at..at, new);
}

#[test]
fn routes_that_need_nothing_are_those_before_the_session() {
    let open = |(_, operations): &(String, Operations)| {
        operations.iter().flatten().all(|operation| operation.need == Need::Open)
    };
    let before = crate::routes::open()
        .merge(crate::routes::login())
        .merge(crate::routes::keyed())
        .into_paths();
    assert!(before.iter().all(open));
    assert!(!crate::routes::guarded().into_paths().iter().any(open));
}

#[test]
fn the_schema_has_every_path_and_method_of_the_router_and_no_others() {
    let text = fs::read_to_string(SCHEMA).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    let declared = crate::routes::all().into_paths();
    for (path, operations) in &declared {
        for (method, operation_of) in METHODS.iter().zip(operations) {
            let known = described(&lines).into_iter().find(|one| one.path == *path);
            let found = known.and_then(|one| operation(&lines, one.lines, method));
            match (operation_of, found) {
                (Some(operation), None) if bless() => add(&mut lines, path, method, operation),
                (Some(_), None) => wrong.push(format!("{method} {path} is missing")),
                (None, Some(_)) => wrong.push(format!("{method} {path} is not in the router")),
                (Some(operation), Some(at)) => {
                    let told = summary(&lines, at);
                    if !told.starts_with(&operation.summary) {
                        let declared = &operation.summary;
                        wrong.push(format!("{method} {path}: \"{told}\", not \"{declared}\""));
                    }
                    count += 1;
                }
                (None, None) => {}
            }
        }
    }
    let known = described(&lines);
    let unknown = known.iter().filter(|one| declared.iter().all(|(path, _)| *path != one.path));
    wrong.extend(unknown.map(|one| format!("{} is not in the router", one.path)));
    if bless() {
        fs::write(SCHEMA, lines.join("\n") + "\n").unwrap();
    }
    assert!(count > 200, "only {count} operations were found");
    assert!(wrong.is_empty(), "{SCHEMA}:\n{}", wrong.join("\n"));
}

/// The row of a path as it is added.
fn row(path: &str, operations: &Operations) -> String {
    let declared = METHODS.iter().zip(operations).filter_map(|(m, one)| Some((m, one.as_ref()?)));
    let (mut methods, mut texts, mut capabilities) = (Vec::new(), Vec::new(), Vec::new());
    for (method, operation) in declared {
        methods.push(method.as_str());
        texts.push(operation.summary.clone());
        let capability = operation.need.capability().map(|name| format!("`{name}`"));
        capabilities.extend(capability.filter(|name| !capabilities.contains(name)));
    }
    let (methods, texts) = (methods.join(", "), texts.join("; "));
    format!("| `{path}` | {methods} | {texts} | {} |", capabilities.join(", "))
}

#[test]
fn the_page_for_readers_has_every_path_too() {
    let text = fs::read_to_string(PAGE).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut missing = Vec::new();
    for (path, operations) in crate::routes::all().into_paths() {
        let begins = |line: &String, path: &str| line.starts_with(&format!("| `{path}` |"));
        if lines.iter().any(|line| begins(line, &path)) {
            continue;
        }
        let told = |line: &String| line.strip_prefix("| `/").map(|rest| format!("/{rest}"));
        let near = |line: &String| told(line).map_or(0, |known| resemblance(&known, &path));
        let best = (0..lines.len()).max_by_key(|at| near(&lines[*at])).unwrap_or_default();
        lines.insert(best + 1, row(&path, &operations));
        missing.push(path);
    }
    if bless() {
        fs::write(PAGE, lines.join("\n") + "\n").unwrap();
        return;
    }
    assert!(missing.is_empty(), "not in docs/rest.md: {missing:#?}");
}

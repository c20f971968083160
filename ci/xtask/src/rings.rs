//! Modules of a crate or a program that use each other in a ring: none of them can be read, tested or moved
//! alone.
//!
//! A module is a file or folder directly below `src`. Names that `lib.rs` exports again count as uses of
//! the module that they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::arrows::read;
use crate::tidy::walk;

#[derive(Debug, Deserialize)]
struct Rules {
    /// The modules in rings of a crate or, as `services/<name>`, of a program; what is there today may only
    /// shrink.
    rings: BTreeMap<String, usize>,
}

/// Uses by module.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Crates and programs with more modules in rings than `ci/arrows.toml` lists.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let rules: Rules = read(&root.join("ci/arrows.toml"))?;
    let mut problems = Vec::new();
    for (place, path) in places(root)? {
        let name = place.strip_prefix("crates/").unwrap_or(&place);
        let inside = in_rings(&uses(&path.join("src"))?);
        let most = rules.rings.get(name).copied().unwrap_or(0);
        let count = inside.len();
        let list = inside.into_iter().collect::<Vec<_>>().join(", ");
        if count > most {
            problems.push(format!(
                "{place}: {count} modules use each other in rings, at most {most} \
                 ([rings] in ci/arrows.toml): {list}"
            ));
        } else if count < most {
            problems.push(format!(
                "{place}: {count} modules use each other in rings; write {count}, not {most}, \
                 into [rings] of ci/arrows.toml"
            ));
        }
    }
    Ok(problems)
}

/// The crates and programs, each as `crates/<name>` or `services/<name>` with its path.
fn places(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for folder in ["crates", "services"] {
        for entry in fs::read_dir(root.join(folder)).context(folder)? {
            let entry = entry?;
            let place = format!("{folder}/{}", entry.file_name().to_string_lossy());
            found.push((place, entry.path()));
        }
    }
    Ok(found)
}

fn uses(source: &Path) -> Result<Uses> {
    let mut files = Vec::new();
    walk(source, &mut files)?;
    let exported = match fs::read_to_string(source.join("lib.rs")) {
        Ok(text) => exports(&text),
        Err(_) => BTreeMap::new(),
    };
    let mut texts: Vec<(String, String)> = Vec::new();
    for path in files {
        let inner = path.strip_prefix(source).unwrap_or(&path);
        let first = inner.components().next().map(|part| part.as_os_str().to_string_lossy());
        let module = first.unwrap_or_default().trim_end_matches(".rs").to_owned();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_test = stem == "tests" || stem.ends_with("_tests") || is_in_tests(inner);
        if !matches!(module.as_str(), "lib" | "main") && !is_test {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            texts.push((module, text));
        }
    }
    let modules: BTreeSet<String> = texts.iter().map(|(module, _)| module.clone()).collect();
    let mut uses = Uses::new();
    for (module, text) in &texts {
        let used = uses.entry(module.clone()).or_default();
        for name in names_of_crate(text) {
            let target = exported.get(&name).unwrap_or(&name);
            if target != module && modules.contains(target) {
                used.insert(target.clone());
            }
        }
    }
    Ok(uses)
}

fn is_in_tests(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
}

/// Names that `lib.rs` exports again, with the module that they are from.
fn exports(text: &str) -> BTreeMap<String, String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line.trim(), " "])
        .collect();
    let mut found = BTreeMap::new();
    for statement in code.split(';') {
        let Some(at) = statement.find("use ") else { continue };
        let path = statement[at + 4..].trim().trim_start_matches("crate::");
        let Some((module, names)) = path.split_once("::") else { continue };
        for name in names.split(|c: char| !c.is_alphanumeric() && c != '_') {
            found.insert(name.to_owned(), module.to_owned());
        }
    }
    found.remove("");
    found
}

/// The first names behind `crate::` in code outside of the file's tests.
fn names_of_crate(text: &str) -> BTreeSet<String> {
    let code: String = without_tests(text)
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line.trim(), " "])
        .collect();
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let list = match rest.strip_prefix('{') {
            Some(list) => first_names(list),
            None => vec![rest],
        };
        for item in list {
            let end = item.find(|c: char| !c.is_alphanumeric() && c != '_');
            found.insert(item[..end.unwrap_or(item.len())].to_owned());
        }
    }
    found
}

/// A file up to its module of tests.
fn without_tests(text: &str) -> &str {
    let is_module = |at: &usize| {
        let mut lines = text[*at..].lines().skip(1);
        lines.find(|line| !line.starts_with("#[")).is_some_and(|line| line.starts_with("mod "))
    };
    let end = text.match_indices("\n#[cfg(test)]\n").map(|(at, _)| at + 1).find(is_module);
    &text[..end.unwrap_or(text.len())]
}

/// The items of a list in braces, up to its end; nested lists belong to their item.
fn first_names(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(list[start..at].trim());
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

/// The modules that can be reached from themselves.
fn in_rings(uses: &Uses) -> BTreeSet<String> {
    let reaches_itself = |module: &String| {
        let mut seen = BTreeSet::new();
        let mut ahead: Vec<&String> = uses.get(module).into_iter().flatten().collect();
        while let Some(next) = ahead.pop() {
            if seen.insert(next) {
                ahead.extend(uses.get(next).into_iter().flatten());
            }
        }
        seen.contains(module)
    };
    uses.keys().filter(|module| reaches_itself(module)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_crate_has_more_modules_in_rings_than_listed() {
        let problems = problems(&crate::root()).expect("the sources can be read");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn programs_are_looked_at_as_crates_are() {
        let places = places(&crate::root()).expect("the folders can be read");
        for expected in ["crates/plan", "services/karst", "services/forwarder"] {
            assert!(places.iter().any(|(place, _)| place == expected), "{expected}");
        }
    }

    #[test]
    fn uses_are_found_in_lists_and_through_exports() {
        let text = "use crate::{Error, a::{B, C}, d};\nfn x() { crate::e::f() }\n// crate::no\n\
                    #[cfg(test)]\n#[allow(x)]\nmod tests { use crate::g; }";
        let names: Vec<String> = names_of_crate(text).into_iter().collect();
        assert_eq!(names, ["Error", "a", "d", "e"]);
        let exported = exports(
            "// because use x::Error;\nmod error;\npub use error::{Error, Kind};\npub(crate) use a::b::C;",
        );
        assert_eq!(exported.get("Error").map(String::as_str), Some("error"));
        assert_eq!(exported.get("C").map(String::as_str), Some("a"));
    }

    #[test]
    fn a_ring_is_what_leads_back() {
        let uses = |pairs: &[(&str, &str)]| {
            let mut all = Uses::new();
            for (from, to) in pairs {
                all.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            }
            in_rings(&all).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(uses(&[("a", "b"), ("b", "c")]), Vec::<String>::new());
        assert_eq!(uses(&[("a", "b"), ("b", "c"), ("c", "b")]), ["b", "c"]);
    }
}

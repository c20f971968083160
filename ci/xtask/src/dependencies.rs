//! Packages: dependencies that one declares and does not use, lists that one is missing in, and licences
//! that are not accepted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use crate::arrows::read;
use crate::tidy::walk;

/// Licences under which Karst may be distributed with a package.
const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages whose library has another name.
const LIBRARIES: [(&str, &str); 1] = [("md-5", "md5")];

#[derive(Debug, Deserialize)]
struct Manifest {
    package: Named,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
    #[serde(default, rename = "dev-dependencies")]
    dev_dependencies: BTreeMap<String, toml::Value>,
}

#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

/// Dependencies that are declared and not used.
pub(crate) fn unused(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for folder in members(root)? {
        let manifest: Manifest = read(&folder.join("Cargo.toml"))?;
        // It is there for the features of its dependencies.
        if manifest.package.name == "karst-unify" {
            continue;
        }
        let texts = |parts: &[&str]| -> Result<Vec<String>> {
            let mut files = Vec::new();
            parts.iter().try_for_each(|part| walk(&folder.join(part), &mut files))?;
            files.extend([folder.join("build.rs")].into_iter().filter(|path| path.exists()));
            Ok(files.iter().map(fs::read_to_string).collect::<Result<_, _>>()?)
        };
        let (own, all) =
            (texts(&["src"])?, texts(&["src", "tests", "examples", "benches", "fuzz_targets"])?);
        let kinds = [(&manifest.dependencies, own), (&manifest.dev_dependencies, all)];
        for (declared, texts) in kinds {
            for name in declared.keys() {
                let library = LIBRARIES.iter().find(|(package, _)| package == name);
                let library = library.map_or(name.as_str(), |(_, library)| library);
                let library = library.replace('-', "_");
                if !texts.iter().any(|text| names(text, &library)) {
                    let package = &manifest.package.name;
                    problems.push(format!("{package} declares {name} and does not use it"));
                }
            }
        }
    }
    Ok(problems)
}

/// Whether a source names a library: at the beginning of a path, or to use it whole.
fn names(text: &str, library: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(library).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + library.len()..]);
        let is_inner = before.ends_with(is_word)
            || (before.ends_with("::") && before[..before.len() - 2].ends_with(is_word));
        let is_whole = before.ends_with("use ") && !after.starts_with(is_word);
        !is_inner && (after.starts_with("::") || is_whole)
    })
}

#[derive(Debug, Deserialize)]
struct Workspace {
    workspace: Shared,
}

#[derive(Debug, Deserialize)]
struct Shared {
    dependencies: BTreeMap<String, toml::Value>,
}

/// What has to be said of a package or a dependency elsewhere, too.
pub(crate) fn unlisted(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let map = fs::read_to_string(root.join("docs/ARCHITECTURE.md"))?;
    for folder in members(root)? {
        let place = folder.strip_prefix(root).unwrap_or(&folder).display().to_string();
        let manifest: toml::Table = read(&folder.join("Cargo.toml"))?;
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if lints.and_then(toml::Value::as_bool) != Some(true) {
            problems.push(format!("{place}: [lints] workspace = true is missing"));
        }
        if place.starts_with("crates/") && !map.contains(&format!("`{place}`")) {
            problems.push(format!("{place} is missing in the code map of docs/ARCHITECTURE.md"));
        }
    }
    let workspace: Workspace = read(&root.join("Cargo.toml"))?;
    let unify = fs::read_to_string(root.join("ci/unify/Cargo.toml"))?;
    for (name, value) in workspace.workspace.dependencies {
        if value.get("path").is_none()
            && !unify.contains(&format!("\n{name}.workspace = true"))
            && !unify.contains(&format!("\n{name} = {{ workspace = true"))
        {
            problems.push(format!("{name} is missing in ci/unify/Cargo.toml"));
        }
    }
    Ok(problems)
}

/// Packages of the workspace.
fn members(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["crates", "services", "loadtest", "ci"] {
        for entry in fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())? {
            let path = entry?.path();
            if path.join("Cargo.toml").exists() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

/// Packages with a licence that is not accepted, or without one.
pub(crate) fn licences(root: &Path) -> Result<Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Not offline: a build downloads what its platform needs, this asks for the packages of all.
    let asked = ["metadata", "--format-version", "1", "--locked"];
    let done = Command::new(cargo).args(asked).current_dir(root).output();
    let done = done.context("cannot run cargo metadata")?;
    ensure!(done.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&done.stderr));
    let metadata: Metadata = serde_json::from_slice(&done.stdout).context("cargo metadata")?;
    let external = metadata.packages.into_iter().filter(|package| package.source.is_some());
    Ok(external.filter_map(|package| licence_problem(&package)).collect())
}

fn licence_problem(package: &Package) -> Option<String> {
    let Package { name, version, license, .. } = package;
    let Some(text) = license else { return Some(format!("{name} {version} names no licence")) };
    let expression = match Expression::parse_mode(text, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => return Some(format!("{name} {version}: licence {text}: {}", error.reason)),
    };
    let is_accepted = expression.evaluate(|part| {
        let id = part.license.id();
        id.is_some_and(|id| LICENCES.contains(&id.name))
    });
    (!is_accepted).then(|| format!("{name} {version}: the licence {text} is not accepted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_dependency_is_used() {
        let problems = unused(&crate::root()).expect("the manifests can be read");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn a_library_is_named_where_a_path_begins_with_it() {
        for text in ["uuid::Uuid", "(::uuid::Uuid)", "use uuid as id;", "use uuid;"] {
            assert!(names(text, "uuid"), "{text}");
        }
        for text in ["random::uuid()", "random::uuid::x", "my_uuid::x", "uuids::x", "use uuids;"] {
            assert!(!names(text, "uuid"), "{text}");
        }
    }

    #[test]
    fn packages_and_dependencies_are_listed_where_they_have_to_be() {
        let problems = unlisted(&crate::root()).expect("the manifests can be read");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn every_package_has_an_accepted_licence() {
        let problems = licences(&crate::root()).expect("cargo lists the packages");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn one_accepted_alternative_is_enough() {
        let problem = |text: &str| {
            licence_problem(&Package {
                name: "x".to_owned(),
                version: "1.0.0".to_owned(),
                license: Some(text.to_owned()),
                source: None,
            })
        };
        for text in ["MIT/Apache-2.0", "MIT OR LGPL-2.1-or-later", "(MIT OR GPL-3.0) AND ISC"] {
            assert_eq!(problem(text), None);
        }
        for text in ["GPL-3.0", "MIT AND LGPL-2.1-or-later", "mine"] {
            assert!(problem(text).is_some(), "{text}");
        }
    }
}

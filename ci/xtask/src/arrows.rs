//! Which crate uses which, held against `ci/arrows.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Rules {
    levels: BTreeMap<String, Vec<String>>,
    /// What programs may use.
    programs: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
}

impl Rules {
    /// The crates that a package uses and must not.
    fn broken(&self, package: &str, manifest: &Manifest, allowed: &[String]) -> Vec<String> {
        let used = manifest.dependencies.keys().filter(|used| self.levels.contains_key(*used));
        let broken = used.filter(|used| !allowed.contains(used));
        broken.map(|used| format!("{package} must not use {used} (ci/arrows.toml)")).collect()
    }
}

/// Arrows that are not allowed, and crates that are not listed.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let rules: Rules = read(&root.join("ci/arrows.toml"))?;
    let mut problems = Vec::new();
    for entry in fs::read_dir(root.join("crates")).context("crates/")? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Crates for development may use anything: nothing uses them.
        if matches!(name.as_str(), "testkit" | "spectest" | "fuzzing") {
            continue;
        }
        let manifest: Manifest = read(&entry.path().join("Cargo.toml"))?;
        let Some(allowed) = rules.levels.get(&name) else {
            problems.push(format!("crates/{name} is not listed in ci/arrows.toml"));
            continue;
        };
        problems.extend(rules.broken(&format!("crates/{name}"), &manifest, allowed));
    }
    for (name, allowed) in &rules.programs {
        let manifest: Manifest = read(&root.join(name).join("Cargo.toml"))?;
        problems.extend(rules.broken(name, &manifest, allowed));
    }
    Ok(problems)
}

pub(crate) fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrow_between_crates_is_an_allowed_one() {
        let problems = problems(&crate::root()).expect("the manifests can be read");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

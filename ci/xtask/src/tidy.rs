//! What every Rust file has to look like, as far as a program can tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Rules {
    tidy: Tidy,
}

#[derive(Debug, Deserialize)]
struct Tidy {
    max_lines: usize,
    max_columns: usize,
    longer: BTreeMap<String, usize>,
    /// Lines that a crate may have, where an edit of any of its files compiles all of them.
    crates: BTreeMap<String, usize>,
}

/// Names that tell a reader nothing.
const VAGUE: [&str; 6] = ["utils", "util", "common", "helpers", "misc", "manager"];

/// Files without a first sentence, too long, too wide, or vaguely named; crates that are too large.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let rules: Rules = crate::arrows::read(&root.join("ci/arrows.toml"))?;
    let mut files = Vec::new();
    for folder in ["crates", "services", "loadtest", "ci", "fuzz"] {
        walk(&root.join(folder), &mut files)?;
    }
    let mut problems = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        check(&name, &text, &rules.tidy, &mut problems);
    }
    problems.extend(large_crates(root, &rules.tidy.crates)?);
    Ok(problems)
}

/// Crates with more lines than they may have.
fn large_crates(root: &Path, allowed: &BTreeMap<String, usize>) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (name, most) in allowed {
        let mut files = Vec::new();
        walk(&root.join("crates").join(name).join("src"), &mut files)?;
        let mut lines = 0;
        for path in files {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            lines += text.lines().count();
        }
        if lines > *most {
            problems.push(format!(
                "crates/{name}: {lines} lines, at most {most} ([tidy.crates] in ci/arrows.toml)"
            ));
        }
    }
    Ok(problems)
}

fn check(name: &str, text: &str, tidy: &Tidy, problems: &mut Vec<String>) {
    if !text.starts_with("//!") {
        problems.push(format!("{name}: does not open with a module doc (//!)"));
    }
    let lines = text.lines().count();
    let most = tidy.longer.get(name).copied().unwrap_or(tidy.max_lines);
    if lines > most {
        problems.push(format!("{name}: {lines} lines, at most {most} (ci/arrows.toml)"));
    }
    for (number, line) in text.lines().enumerate() {
        // A literal or a link cannot always be broken.
        let unbreakable = line.contains('"') || line.contains("http");
        if line.chars().count() > tidy.max_columns && !unbreakable {
            problems.push(format!("{name}:{}: more than {} columns", number + 1, tidy.max_columns));
        }
    }
    for trait_line in traits_with_attribute(text) {
        problems.push(format!(
            "{name}:{trait_line}: async_trait on a trait of ours; return BoxFuture (docs/decisions/0042-boxed-futures.md)"
        ));
    }
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if VAGUE.contains(&stem.as_str()) {
        problems.push(format!("{name}: \"{stem}\" says nothing; name what is in it"));
    }
}

/// The numbers of lines that declare a trait with `async_trait`.
fn traits_with_attribute(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut has_attribute = false;
    for (number, line) in text.lines().map(str::trim_start).enumerate() {
        if line.starts_with("#[") {
            has_attribute |= line.ends_with("async_trait]");
            continue;
        }
        let mut words = line.split(' ').skip_while(|word| word.starts_with("pub"));
        if has_attribute && words.next() == Some("trait") {
            found.push(number + 1);
        }
        has_attribute = false;
    }
    found
}

/// Metrics that are declared and that nothing records.
#[cfg(test)]
fn unrecorded_metrics(root: &Path) -> Result<Vec<String>> {
    let declarations = root.join("crates/runtime/src/metrics.rs");
    let text = fs::read_to_string(&declarations)?;
    let declared = text.lines().filter_map(|line| {
        let (name, rest) = line.trim().split_once(' ')?;
        ["Counter ", "Gauge ", "Histogram "]
            .iter()
            .any(|kind| rest.starts_with(kind))
            .then_some(name)
    });
    let mut files = Vec::new();
    for folder in ["crates", "services"] {
        walk(&root.join(folder), &mut files)?;
    }
    // Beginning at zero is not recording.
    let births = root.join("crates/runtime/src/metrics/births.rs");
    files.retain(|path| *path != declarations && *path != births);
    let texts: Result<Vec<String>, _> = files.iter().map(fs::read_to_string).collect();
    let texts = texts?;
    let is_recorded = |name: &&str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // The version is recorded where metrics begin.
        text.contains(&format!("!({name},"))
            || texts.iter().any(|text| text.split(|c| !is_word(c)).any(|word| word == *name))
    };
    let unrecorded = declared.filter(|name| !is_recorded(name));
    Ok(unrecorded.map(str::to_owned).collect())
}

pub(crate) fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "node_modules" {
            walk(&path, files)?;
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_metric_is_recorded() {
        let unrecorded = unrecorded_metrics(&crate::root()).expect("the sources can be read");
        assert!(unrecorded.is_empty(), "declared in runtime::metrics only: {unrecorded:?}");
    }

    #[test]
    fn traits_of_ours_do_not_use_async_trait() {
        let text =
            "#[async_trait]\n#[deny(x)]\npub(crate) trait A {}\n#[async_trait]\nimpl A for B {}\n";
        assert_eq!(traits_with_attribute(text), [3]);
    }

    #[test]
    fn a_crate_with_more_lines_than_allowed_is_reported() {
        let reported = |most: usize| {
            let allowed = BTreeMap::from([("plan".to_owned(), most)]);
            large_crates(&crate::root(), &allowed).expect("the sources can be read").len()
        };
        assert_eq!((reported(1), reported(usize::MAX)), (1, 0));
    }

    #[test]
    fn every_rust_file_is_tidy() {
        let problems = problems(&crate::root()).expect("the sources can be read");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

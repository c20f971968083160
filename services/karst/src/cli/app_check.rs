//! `karst app check`: which parts of the dashboards of apps the console shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use apps::simple_xml::{self, Level, Report};
use serde_json::json;

use super::printable::printable;
use crate::config::AppCheckOptions;

/// Bytes of a view; larger files are reported as not readable.
const MAX_BYTES: u64 = 8 << 20;

struct View {
    path: PathBuf,
    report: Report,
}

pub(crate) fn check(options: &AppCheckOptions) -> Result<ExitCode> {
    let mut paths = BTreeSet::new();
    for from in &options.from {
        if from.is_file() {
            paths.insert(from.clone());
        } else {
            views(from, &mut paths)?;
        }
    }
    if paths.is_empty() {
        let from = options.from.iter().map(|from| from.display().to_string());
        let from = from.collect::<Vec<_>>().join(", ");
        bail!("there are no views (data/ui/views/*.xml) below {from}");
    }
    let mut all = Vec::with_capacity(paths.len());
    for path in paths {
        all.push(View { report: read(&path)?, path });
    }
    let mut out = std::io::stdout().lock();
    if options.json {
        for View { path, report } in &all {
            writeln!(out, "{}", json!({"path": path, "report": report}))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    out.write_all(shown(&all, options)?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the report as text for a terminal.
fn shown(all: &[View], options: &AppCheckOptions) -> Result<String> {
    let mut out = Vec::new();
    if !options.totals {
        for view in all {
            details(&mut out, view, options.ignored)?;
        }
    }
    totals(&mut out, all)?;
    Ok(printable(&String::from_utf8_lossy(&out)))
}

fn read(path: &Path) -> Result<Report> {
    let fail = || format!("cannot read {}", path.display());
    if fs::metadata(path).with_context(fail)?.len() > MAX_BYTES {
        bail!("{} has more than {} MiB", path.display(), MAX_BYTES >> 20);
    }
    let bytes = fs::read(path).with_context(fail)?;
    Ok(simple_xml::report(&String::from_utf8_lossy(&bytes)))
}

/// The views of apps below a directory. Links are not followed.
fn views(directory: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    let mut waiting = vec![directory.to_owned()];
    while let Some(folder) = waiting.pop() {
        let entries = fs::read_dir(&folder);
        for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file()
                && path.extension().is_some_and(|suffix| suffix == "xml")
                && folder.ends_with("data/ui/views")
            {
                found.insert(path);
            }
        }
    }
    Ok(())
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Full | Level::Ignored => "full",
        Level::Part => "in part",
        Level::None => "not shown",
    }
}

/// Prints a view with the parts that are not shown; equal findings are printed once.
fn details(out: &mut impl Write, view: &View, ignored: bool) -> Result<()> {
    let View { path, report } = view;
    writeln!(out, "{:<9}  {}", word(report.level), path.display())?;
    if let Some(error) = &report.error {
        writeln!(out, "           {error}")?;
    }
    let mut seen = BTreeSet::new();
    for finding in &report.findings {
        if (finding.level > Level::Ignored || ignored) && seen.insert(finding.to_string()) {
            let kind = if finding.level == Level::Ignored { "ignored: " } else { "" };
            writeln!(out, "           line {}: {kind}{finding}", finding.line)?;
        }
    }
    Ok(())
}

fn totals(out: &mut impl Write, all: &[View]) -> Result<()> {
    let levels = [Level::Full, Level::Part, Level::None];
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let is_dashboard = |view: &&View| {
        let studio = view.report.findings.iter().any(|finding| finding.note == "studio");
        matches!(view.report.root.as_str(), "dashboard" | "form") && !studio
    };
    let dashboards: Vec<&View> = all.iter().filter(is_dashboard).collect();
    let views: Vec<&View> = all.iter().collect();
    for (what, some) in [("views", &views), ("Simple XML dashboards", &dashboards)] {
        writeln!(out, "{what}: {}", some.len())?;
        for level in levels {
            let count = some.iter().filter(|view| word(view.report.level) == word(level)).count();
            writeln!(out, "  {:<9}  {count:>6}  {:5.1} %", word(level), share(count, some.len()))?;
        }
    }
    let mut elements: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (name, level) in dashboards.iter().flat_map(|view| &view.report.elements) {
        let at = levels.iter().position(|known| word(*known) == word(*level)).unwrap_or_default();
        elements.entry(name).or_default()[at] += 1;
    }
    let sum = |at: usize| elements.values().map(|counts| counts[at]).sum::<usize>();
    let whole = sum(0) + sum(1) + sum(2);
    writeln!(out, "elements of the dashboards: {whole}")?;
    for (at, level) in levels.iter().enumerate() {
        writeln!(out, "  {:<9}  {:>6}  {:5.1} %", word(*level), sum(at), share(sum(at), whole))?;
    }
    for (name, [full, part, none]) in &elements {
        writeln!(
            out,
            "  {name:<9}  {:>6}  full {full}, in part {part}, not shown {none}",
            full + part + none
        )?;
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for view in all {
        let lost = view.report.findings.iter().filter(|finding| finding.level > Level::Ignored);
        for note in lost.map(simple_xml::Finding::text).collect::<BTreeSet<_>>() {
            *reasons.entry(note).or_default() += 1;
        }
    }
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, views)| std::cmp::Reverse(*views));
    if !reasons.is_empty() {
        writeln!(out, "reasons, by views")?;
    }
    for (reason, views) in reasons {
        writeln!(out, "  {views:>6}  {reason}")?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_shown_without_control_characters() {
        let (path, report) = ("views/a\u{1b}[31m.xml".into(), simple_xml::report("<dashboard/>"));
        let options =
            AppCheckOptions { from: Vec::new(), totals: false, ignored: false, json: false };
        let text = shown(&[View { path, report }], &options).unwrap();
        assert!(text.contains("  views/a\u{fffd}[31m.xml\n"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

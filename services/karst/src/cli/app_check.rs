//! `karst app check`: which parts of the dashboards of apps the console shows, and which searches of apps can
//! run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use apps::SearchCheck;
use apps::simple_xml::{self, Level, Report};
use serde_json::json;

use super::printable::printable;
use crate::app_searches;
use crate::config::AppCheckOptions;

/// The folder of views, below a layer of an app.
const VIEWS: &str = "data/ui/views";
/// Bytes of a view; larger files are reported as not readable.
const MAX_BYTES: u64 = 8 << 20;

/// Settings from which an app is recognized: those with searches, and with what searches use.
const CONFS: [&str; 4] = ["savedsearches.conf", "eventtypes.conf", "macros.conf", "commands.conf"];

struct View {
    path: PathBuf,
    report: Report,
}

/// The searches of the app in a directory.
struct App {
    path: PathBuf,
    searches: SearchCheck,
}

/// The files of views and the directories of apps below the places that are given.
#[derive(Debug, Default)]
struct Places {
    views: BTreeSet<PathBuf>,
    apps: BTreeSet<PathBuf>,
}

pub(crate) fn check(options: &AppCheckOptions) -> Result<ExitCode> {
    let mut places = Places::default();
    for from in &options.from {
        if from.is_file() {
            places.views.insert(from.clone());
        } else {
            find(from, &mut places)?;
        }
    }
    if places.views.is_empty() && places.apps.is_empty() {
        let from = options.from.iter().map(|from| from.display().to_string());
        let from = from.collect::<Vec<_>>().join(", ");
        bail!("there are no views (data/ui/views/*.xml) below {from}");
    }
    let apps = checked(&places.apps)?;
    let mut all = Vec::with_capacity(places.views.len());
    for path in places.views {
        all.push(View { report: read(&path)?, path });
    }
    let mut out = std::io::stdout().lock();
    if options.json {
        for View { path, report } in &all {
            writeln!(out, "{}", json!({"path": path, "report": report}))?;
        }
        for App { path, searches } in &apps {
            writeln!(out, "{}", json!({"app": path, "searches": searches}))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    out.write_all(shown(&all, &apps, options)?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the report as text for a terminal.
fn shown(all: &[View], apps: &[App], options: &AppCheckOptions) -> Result<String> {
    let mut out = Vec::new();
    if !options.totals {
        for view in all {
            details(&mut out, view, options.ignored)?;
        }
    }
    if !all.is_empty() {
        totals(&mut out, all)?;
    }
    searches(&mut out, apps)?;
    Ok(printable(&String::from_utf8_lossy(&out)))
}

/// Checks the searches of apps. An app uses what it and the other ones define and share.
fn checked(directories: &BTreeSet<PathBuf>) -> Result<Vec<App>> {
    let layers = app_searches::definitions(directories.iter().map(PathBuf::as_path))?;
    let mut apps = Vec::new();
    for path in directories {
        let found = app_searches::in_directory(path)?;
        if !found.is_empty() {
            let searches = app_searches::check_in(&layers, &app_searches::name_of(path), &found);
            apps.push(App { path: path.clone(), searches });
        }
    }
    Ok(apps)
}

/// Prints the searches of all apps together: how many can run, and what the others lack.
fn searches(out: &mut impl Write, apps: &[App]) -> Result<()> {
    let checks = apps.iter().map(|app| (app_searches::name_of(&app.path), &app.searches));
    let all = app_searches::merged(checks);
    if let Some(text) = app_searches::summary(&all) {
        writeln!(out, "searches: {text}")?;
    }
    for line in app_searches::lines("", &all) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Report> {
    let fail = || format!("cannot read {}", path.display());
    if fs::metadata(path).with_context(fail)?.len() > MAX_BYTES {
        bail!("{} has more than {} MiB", path.display(), MAX_BYTES >> 20);
    }
    let bytes = fs::read(path).with_context(fail)?;
    Ok(simple_xml::report(&String::from_utf8_lossy(&bytes)))
}

/// Finds views and apps below a directory. Links are not followed.
fn find(directory: &Path, places: &mut Places) -> Result<()> {
    let mut waiting = vec![directory.to_owned()];
    while let Some(folder) = waiting.pop() {
        let entries = fs::read_dir(&folder);
        for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() {
                places.apps.extend(app_of(&path).map(Path::to_owned));
                let is_xml = path.extension().is_some_and(|suffix| suffix == "xml");
                if is_xml && folder.ends_with(VIEWS) {
                    places.views.insert(path);
                }
            }
        }
    }
    Ok(())
}

/// The directory of the app to which a file with searches, or with what they use, belongs.
fn app_of(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    let is_conf = CONFS.iter().any(|conf| path.ends_with(conf));
    let layer = match folder.ends_with(VIEWS) {
        true => folder.ancestors().nth(Path::new(VIEWS).components().count())?,
        false => Some(folder).filter(|_| is_conf)?,
    };
    let is_layer = layer.ends_with("default") || layer.ends_with("local");
    layer.parent().filter(|_| is_layer)
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
        let text = shown(&[View { path, report }], &[], &options).unwrap();
        assert!(text.contains("  views/a\u{fffd}[31m.xml\n"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn searches_of_apps_use_what_other_apps_share() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            (
                "a/default/savedsearches.conf",
                "[s]\nsearch = index=x `ours` `theirs` `nobodys(1)`\n",
            ),
            ("a/default/data/ui/views/v.xml", "<form><query>| nothing</query></form>"),
            ("b/local/macros.conf", "[theirs]\ndefinition = y=1\n"),
            ("b/metadata/local.meta", "[macros]\nexport = system\n"),
            ("a/default/macros.conf", "[ours]\ndefinition = z=1\n"),
            ("a/bin/savedsearches.conf", "[s]\nsearch = no\n"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut places = Places::default();
        find(folder.path(), &mut places).unwrap();
        let names = places.apps.iter().map(|app| app_searches::name_of(app));
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
        let mut out = Vec::new();
        searches(&mut out, &checked(&places.apps).unwrap()).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "searches: 2, 2 of them cannot run: nothing defines 1 macro and 1 command that they use"
        );
        let command = "  missing   command nothing: 1 search, first a/default/data/ui/views/v.xml:1; installed app";
        let missing = "  missing   macro nobodys(1): 1 search, first a/default/savedsearches.conf:2; installed app";
        assert!(lines[1].starts_with(command) && lines[2].starts_with(missing), "{text}");
    }
}

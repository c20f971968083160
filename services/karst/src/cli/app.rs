//! `karst app install`: installs an app or add-on into the configuration directory, and reports
//! which parts are used.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use apps::{Install, Installed, Remark};
use conf::Layers;
use knowledge::Knowledge;

use super::app_check;
use crate::config::{AppOptions, AppWhat};
use crate::mistakes;

pub(crate) fn app(options: AppOptions) -> Result<ExitCode> {
    let options = match options.what {
        AppWhat::Check(options) => return app_check::check(&options),
        AppWhat::Install(options) => options,
    };
    let to = options.conf_dir.unwrap_or_else(|| PathBuf::from("conf"));
    let install = Install { from: options.from, to: to.clone(), update: options.update };
    let registry = crate::settings::registry();
    let report = apps::install(&install, &registry).context("the app was not installed")?;
    let ignored = ignored(&to, &report.app)?;
    let mut out = std::io::stdout().lock();
    let (app, files) = (&report.app, report.files);
    writeln!(out, "{app}: {files} files in {}", to.join("apps").join(app).display())?;
    for (conf, stanzas) in &report.used {
        writeln!(out, "  used      {conf}.conf: {stanzas} stanzas")?;
    }
    for text in &ignored {
        writeln!(out, "  ignored   {text}")?;
    }
    for (text, places) in by_weight(&report.remarks) {
        let others = match places.len() {
            1 => String::new(),
            several => format!(" ({several} times, here first)"),
        };
        writeln!(out, "  not used  {}: {text}{others}", places[0])?;
    }
    sums(&mut out, &report, ignored.len())?;
    writeln!(out, "the next start of the server reads it")?;
    Ok(ExitCode::SUCCESS)
}

/// What the app adds, and how much of it does not count.
fn sums(out: &mut impl Write, report: &Installed, ignored: usize) -> Result<()> {
    writeln!(out, "in sum")?;
    let mut line = |what: &str, text: &str| writeln!(out, "  {what:<16}{text}");
    for gain in &report.gains {
        line(gain.what, &gain.text)?;
    }
    let is_setting = |remark: &&Remark| remark.place.contains(".conf:");
    let settings = report.remarks.iter().filter(is_setting).count();
    let in_views = report.remarks.iter().filter(|remark| remark.place.contains(".xml:")).count();
    let rest = report.remarks.len() - settings - in_views;
    if ignored > 0 {
        let text =
            format!("{ignored}, because they are wrong: `karst btool check --app {}`", report.app);
        line("ignored", &text)?;
    }
    if settings + rest > 0 {
        line("not used", &format!("{settings} settings, {rest} files"))?;
    }
    Ok(())
}

/// Remarks of one text together, the most frequent first.
fn by_weight(remarks: &[Remark]) -> Vec<(&str, Vec<&str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for remark in remarks {
        let at = *known.entry(&remark.text).or_insert(all.len());
        if at == all.len() {
            all.push((&remark.text, Vec::new()));
        }
        all[at].1.push(&remark.place);
    }
    all.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    all
}

/// What is wrong in an app: the server and its searches work without it. Other apps are not read, but for the
/// names of stanzas that the app mentions and does not have: installing one among hundreds takes no longer.
fn ignored(directory: &Path, app: &str) -> Result<Vec<String>> {
    let mut layers = Layers::read_app(directory, app)?;
    let tolerated = crate::settings::registry().tolerate_apps(&mut layers);
    let mut found = mistakes::ignored(&Knowledge::new(layers), &tolerated);
    found.retain(|mistake| mistake.app.as_deref() == Some(app));
    let mut names: HashMap<&'static str, HashSet<String>> = HashMap::new();
    for conf in found.iter().filter_map(|mistake| Some(mistake.missing.as_ref()?.0)) {
        if !names.contains_key(conf) {
            names.insert(conf, Layers::stanza_names(directory, conf)?);
        }
    }
    let is_elsewhere = |(conf, name): &(&'static str, String)| {
        names.get(conf).is_some_and(|names| names.contains(name))
    };
    found.retain(|mistake| !mistake.missing.as_ref().is_some_and(is_elsewhere));
    Ok(found.into_iter().map(|mistake| mistake.text).collect())
}

//! `karst app install`: installs an app or add-on into the configuration directory, and reports
//! which parts are used.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use apps::{Install, Remark};
use conf::Layers;
use knowledge::Knowledge;

use crate::config::{AppOptions, AppWhat};

pub(crate) fn app(options: AppOptions) -> Result<ExitCode> {
    let AppWhat::Install(options) = options.what;
    let to = options.conf_dir.unwrap_or_else(|| PathBuf::from("conf"));
    let install = Install { from: options.from, to: to.clone(), update: options.update };
    let report = apps::install(&install, &crate::settings::registry())
        .context("the app was not installed")?;
    let mut out = std::io::stdout().lock();
    let (app, files) = (&report.app, report.files);
    writeln!(out, "{app}: {files} files in {}", to.join("apps").join(app).display())?;
    for (conf, stanzas) in &report.used {
        writeln!(out, "  used      {conf}.conf: {stanzas} stanzas")?;
    }
    for error in ignored(&to, app)? {
        writeln!(out, "  ignored   {error}")?;
    }
    for (text, places) in by_weight(&report.remarks) {
        let others = match places.len() {
            1 => String::new(),
            several => format!(" ({several} times, here first)"),
        };
        writeln!(out, "  not used  {}: {text}{others}", places[0])?;
    }
    writeln!(out, "the next start of the server reads it")?;
    Ok(ExitCode::SUCCESS)
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

/// Settings of an app that are wrong: the server and its searches work without them.
fn ignored(directory: &Path, app: &str) -> Result<Vec<String>> {
    let mut layers = Layers::read(directory)?;
    let invalid = crate::settings::registry().tolerate_apps(&mut layers);
    let knowledge = Knowledge::new(layers);
    let own = format!("apps/{app}/");
    let invalid = invalid.iter().map(ToString::to_string);
    let errors = invalid.chain(knowledge.app_errors().map(ToString::to_string));
    Ok(errors.filter(|error| error.contains(&own)).collect())
}

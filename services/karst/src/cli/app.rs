//! `karst app install`: installs an app or add-on into the configuration directory, and reports
//! which parts are used.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use apps::Install;
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
    for remark in &report.remarks {
        writeln!(out, "  not used  {}: {}", remark.place, remark.text)?;
    }
    // Invalid settings would prevent the next start of the server, so they are reported here.
    let wrong = errors(&to, app)?;
    for error in &wrong {
        writeln!(out, "  wrong     {error}")?;
    }
    writeln!(out, "the next start of the server reads it")?;
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Errors in the settings of an app.
fn errors(directory: &Path, app: &str) -> Result<Vec<String>> {
    let knowledge = Knowledge::new(Layers::read(directory)?);
    let own = format!("apps/{app}/");
    let errors = knowledge.errors().iter().map(ToString::to_string);
    Ok(errors.filter(|error| error.contains(&own)).collect())
}

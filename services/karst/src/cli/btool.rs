//! `karst btool`: prints the effective configuration with the file of each value, and its errors; `check`
//! prints what is wrong in all files.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use conf::Layers;
use knowledge::Knowledge;

use crate::config::BtoolOptions;
use crate::mistakes::{self, Weight};
use crate::settings;

/// In place of the name of a file.
const CHECK: &str = "check";

pub(crate) fn btool(options: BtoolOptions) -> Result<ExitCode> {
    let layers = match &options.conf_dir {
        Some(directory) => {
            let place = directory.display();
            anyhow::ensure!(directory.is_dir(), "--conf-dir {place}: there is no such directory");
            Layers::read(directory)?
        }
        None => Layers::read(Path::new("conf"))?,
    };
    if options.conf == CHECK {
        return check(layers, options.app.as_deref());
    }
    anyhow::ensure!(options.app.is_none(), "--app belongs to `karst btool check`");
    let effective = layers.effective(&options.conf);
    let registry = settings::registry();
    if effective.stanzas.is_empty() && !registry.confs().contains(&options.conf.as_str()) {
        let nearest = conf::nearest_name(registry.confs().into_iter(), &options.conf);
        if let Some(nearest) = nearest {
            bail!("there is no {}.conf; did you mean {nearest}?", options.conf);
        }
        eprintln!("no file {}.conf has a stanza", options.conf);
    }
    let mut out = std::io::stdout().lock();
    for stanza in &effective.stanzas {
        if options.stanza.as_deref().is_some_and(|wanted| wanted != stanza.name) {
            continue;
        }
        writeln!(out, "[{}]", stanza.name)?;
        for entry in effective.complete(&stanza.name) {
            writeln!(out, "{:<48} {} = {}", entry.place.to_string(), entry.key, entry.value)?;
        }
        writeln!(out)?;
    }
    drop(out);
    let knowledge = Knowledge::new(layers);
    let errors: Vec<String> = knowledge.errors().iter().map(ToString::to_string).collect();
    let layers = knowledge.layers();
    let stanzas = layers.stanzas(&options.conf);
    let invalid = stanzas.flat_map(|(_, stanza)| registry.invalid(&options.conf, stanza));
    // What knowledge compiles has been checked by it, in more detail.
    let is_told = |place: &str| errors.iter().any(|error| error.starts_with(place));
    let invalid = invalid
        .filter(|one| one.place.as_ref().is_none_or(|place| !is_told(&format!("{place}:"))))
        .map(|invalid| match invalid.place.as_ref().is_some_and(|place| layers.is_of_app(place)) {
            true => format!("warning: {invalid}; the setting is ignored"),
            false => format!("error: {invalid}"),
        });
    let unknown = registry.warnings(layers);
    let warnings = unknown.iter().chain(knowledge.warnings());
    let warnings = warnings.map(|warning| format!("warning: {warning}"));
    let file = format!("/{}.conf:", options.conf);
    let ignored: Vec<String> = knowledge.app_errors().map(ToString::to_string).collect();
    let errors = errors.iter().map(|error| match ignored.contains(error) {
        true => format!("warning: {error}; the setting is ignored"),
        false => format!("error: {error}"),
    });
    for trouble in errors.chain(invalid).chain(warnings).filter(|trouble| trouble.contains(&file)) {
        eprintln!("{trouble}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what is wrong, one line each; fails if something prevents the start of the server.
fn check(layers: Layers, app: Option<&str>) -> Result<ExitCode> {
    if let Some(app) = app.filter(|app| !layers.apps().contains(*app)) {
        let apps: Vec<String> = layers.apps().into_iter().collect();
        bail!("there is no app \"{app}\"; the apps are {}", apps.join(", "));
    }
    let mut found = mistakes::all(layers, &settings::registry());
    found.retain(|mistake| app.is_none_or(|app| mistake.app.as_deref() == Some(app)));
    let mut out = std::io::stdout().lock();
    for mistake in &found {
        writeln!(out, "{:<8} {}", mistake.weight, mistake.text.replace('\n', " "))?;
    }
    let count = |weight| found.iter().filter(|mistake| mistake.weight == weight).count();
    let errors = count(Weight::Error);
    writeln!(
        out,
        "{errors} errors, {} ignored, {} notes",
        count(Weight::Ignored),
        count(Weight::Note)
    )?;
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

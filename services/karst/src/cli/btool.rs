//! `karst btool`: prints the effective configuration with the file of each value, and its errors.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use knowledge::Knowledge;
use knowledge::layers::Layers;

use crate::config::BtoolOptions;

pub(crate) fn btool(options: BtoolOptions) -> Result<ExitCode> {
    let layers = match &options.conf_dir {
        Some(directory) => Layers::read(directory)?,
        None => Layers::read(Path::new("conf"))?,
    };
    let mut out = std::io::stdout().lock();
    let effective = layers.effective(&options.conf);
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
    let errors = knowledge.errors().iter().map(|error| format!("error: {error}"));
    let warnings = knowledge.warnings().iter().map(|warning| format!("warning: {warning}"));
    let file = format!("/{}.conf:", options.conf);
    for trouble in errors.chain(warnings).filter(|trouble| trouble.contains(&file)) {
        eprintln!("{trouble}");
    }
    Ok(ExitCode::SUCCESS)
}

//! `karst spl`: checks and explains searches, without a server.

mod check;
mod explain;
mod json;
mod report;
mod sources;
mod xml;
mod yaml;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use conf::{Layer, Layers};
use knowledge::Knowledge;

use crate::config::{SplOptions, SplWhat};

pub(crate) async fn spl(options: SplOptions) -> Result<ExitCode> {
    match options.what {
        SplWhat::Check(options) => check::check(&options),
        SplWhat::Explain(options) => explain::explain(&options).await,
    }
}

/// Reads the configuration of a directory: layers, one app, or plain files.
fn configuration(directory: Option<&Path>) -> Result<Knowledge> {
    let Some(directory) = directory else { return Ok(Knowledge::builtin()) };
    anyhow::ensure!(directory.is_dir(), "{} is not a directory", directory.display());
    let mut layers = Layers::read(directory)?;
    let app = "app".to_owned();
    let places = [
        ("", Layer::AppLocal(app.clone())),
        ("local", Layer::AppLocal(app.clone())),
        ("default", Layer::AppDefault(app)),
    ];
    for (folder, layer) in places {
        let path = directory.join(folder).join("macros.conf");
        if path.is_file() {
            let text = std::fs::read(&path);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            layers = layers.with(layer, "macros", &String::from_utf8_lossy(&text));
        }
    }
    Ok(Knowledge::new(layers))
}

//! `karst spl`: checks and explains searches, without a server.

mod check;
mod explain;
mod report;

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

/// The files of an app that searches depend on before they are parsed.
const READ: [&str; 2] = ["commands", "macros"];

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
        for conf in READ {
            let path = directory.join(folder).join(format!("{conf}.conf"));
            if path.is_file() {
                let text = std::fs::read(&path);
                let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                layers = layers.with(layer.clone(), conf, &String::from_utf8_lossy(&text));
            }
        }
    }
    Ok(Knowledge::new(layers))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_and_macros_of_an_app_are_known() {
        let app = tempfile::tempdir().unwrap();
        let files = [
            ("default/commands.conf", "[shipped]\nfilename = a.py\n"),
            ("default/macros.conf", "[m]\ndefinition = x\n"),
            ("local/commands.conf", "[own]\n"),
        ];
        for (path, text) in files {
            let path = app.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = configuration(Some(app.path())).unwrap();
        let names: Vec<String> = found.custom_command_names().into_iter().collect();
        assert_eq!(names, ["own", "shipped"]);
        assert!(found.conf("macros").stanza("m").is_some());
    }
}

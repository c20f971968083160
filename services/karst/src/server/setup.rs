//! The configuration, read and validated before the start changes anything.

use std::path::Path;
use std::sync::Arc;

use ::inputs::configured::Configured;
use access::{AuthenticationSettings, Console};
use anyhow::Result;
use conf::{Layers, Warning};
use knowledge::Knowledge;

use super::{assemble, inputs};
use crate::config::ServerOptions;

/// The parsed configuration of `--conf-dir`.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// The files without those of apps whose files disable them.
    pub(crate) layers: Layers,
    /// The rules of all files: an app may be enabled over REST.
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) authentication: AuthenticationSettings,
    pub(crate) search: search::Settings,
    /// Settings of apps that are ignored, and why.
    pub(crate) ignored: Vec<Warning>,
}

impl Setup {
    /// Reads the files, and the inputs of files and command line. Mistakes in apps are ignored, with a
    /// warning.
    ///
    /// # Errors
    /// If the directory is missing, or a setting in `system/local` or a flag is invalid.
    pub(crate) fn read(options: &ServerOptions) -> Result<(Self, Configured)> {
        let console = assemble::console_address(options);
        let setup = Self::of_files(options.conf_dir.as_deref(), &console)?;
        let inputs = inputs::configured(options, &setup.layers)?;
        Ok((setup, inputs))
    }

    /// Reads the files of a configuration directory. Mistakes in apps are ignored.
    ///
    /// # Errors
    /// If the directory is missing, or a setting in `system/local` is invalid.
    pub(crate) fn of_files(conf_dir: Option<&Path>, console: &Console) -> Result<Self> {
        let mut layers = match conf_dir {
            Some(directory) => {
                anyhow::ensure!(
                    directory.is_dir(),
                    "--conf-dir {} (KARST_CONF_DIR): there is no such directory; create it, or leave out the \
                     option to use the built-in configuration",
                    directory.display()
                );
                Layers::read(directory)?
            }
            None => Layers::builtin(),
        };
        let ignored = crate::settings::registry().tolerate_apps(&mut layers);
        let knowledge = Knowledge::new(layers.clone());
        let errors: Vec<String> = knowledge.fatal_errors().map(ToString::to_string).collect();
        anyhow::ensure!(errors.is_empty(), "the configuration is invalid:\n{}", errors.join("\n"));
        let layers = layers.without_disabled();
        let authentication = |layers: &Layers| AuthenticationSettings::read(layers, console);
        let authentication = tolerating(&layers, "authentication.conf", authentication)?;
        let search = tolerating(&layers, "limits.conf", search::Settings::of)?;
        let knowledge = Arc::new(knowledge);
        Ok(Self { layers, knowledge, authentication, search, ignored })
    }

    /// Logs warnings about the files, once the log is set up.
    pub(crate) fn warn(&self) {
        let settings = crate::settings::registry().warnings(&self.layers);
        let warnings = self.ignored.iter().chain(&settings);
        for warning in warnings.chain(self.knowledge.warnings()) {
            tracing::warn!("{warning}");
        }
        for error in self.knowledge.app_errors() {
            tracing::warn!("{error}; the setting is ignored");
        }
    }
}

/// Reads settings; without those of apps if only apps have mistakes.
fn tolerating<T, E>(
    layers: &Layers,
    file: &str,
    read: impl Fn(&Layers) -> Result<T, E>,
) -> Result<T, E>
where
    E: std::fmt::Display,
{
    let error = match read(layers) {
        Ok(settings) => return Ok(settings),
        Err(error) => error,
    };
    match read(&layers.without_apps()) {
        Ok(settings) => {
            eprintln!("warning: {error}; what apps say in {file} is ignored");
            Ok(settings)
        }
        Err(_) => Err(error),
    }
}

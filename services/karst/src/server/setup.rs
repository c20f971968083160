//! The configuration, read and validated before the start changes anything.

use std::sync::Arc;

use ::inputs::configured::Configured;
use access::AuthenticationSettings;
use anyhow::Result;
use conf::Layers;
use knowledge::Knowledge;

use super::{assemble, inputs};
use crate::config::ServerOptions;

/// The parsed configuration of `--conf-dir`.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) layers: Layers,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) authentication: AuthenticationSettings,
    pub(crate) search: search::Settings,
}

impl Setup {
    /// Reads the files, and the inputs of files and command line.
    ///
    /// # Errors
    /// If something in them is invalid.
    pub(crate) fn read(options: &ServerOptions) -> Result<(Self, Configured)> {
        let layers = match &options.conf_dir {
            Some(directory) => Layers::read(directory)?,
            None => Layers::builtin(),
        };
        let knowledge = Knowledge::new(layers.clone());
        let errors: Vec<String> = knowledge.errors().iter().map(ToString::to_string).collect();
        anyhow::ensure!(errors.is_empty(), "the configuration is invalid:\n{}", errors.join("\n"));
        let inputs = inputs::configured(options, &knowledge)?;
        let console = assemble::console_address(options);
        let authentication = AuthenticationSettings::read(&layers, &console)?;
        let search = search::Settings::of(&layers)?;
        let knowledge = Arc::new(knowledge);
        Ok((Self { layers, knowledge, authentication, search }, inputs))
    }

    /// Logs warnings about the files, once the log is set up.
    pub(crate) fn warn(&self) {
        let settings = crate::settings::registry().warnings(&self.layers);
        for warning in settings.iter().chain(self.knowledge.warnings()) {
            tracing::warn!("{warning}");
        }
    }
}

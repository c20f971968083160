//! The configuration, read and checked: what a start knows before it touches anything.

use std::sync::Arc;

use ::inputs::configured::Configured;
use anyhow::Result;
use knowledge::Knowledge;
use knowledge::layers::Layers;

use super::inputs;
use crate::config::ServerOptions;

/// The files of `--conf-dir` and what they mean.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) layers: Layers,
    pub(crate) knowledge: Arc<Knowledge>,
}

impl Setup {
    /// Reads the files, and the inputs that they and the command line name.
    ///
    /// # Errors
    /// Something in them is not valid.
    pub(crate) fn read(options: &ServerOptions) -> Result<(Self, Configured)> {
        let layers = match &options.conf_dir {
            Some(directory) => Layers::read(directory)?,
            None => Layers::builtin(),
        };
        let knowledge = Knowledge::new(layers.clone());
        let errors: Vec<String> = knowledge.errors().iter().map(ToString::to_string).collect();
        anyhow::ensure!(errors.is_empty(), "the configuration is invalid:\n{}", errors.join("\n"));
        let inputs = inputs::configured(options, &knowledge)?;
        Ok((Self { layers, knowledge: Arc::new(knowledge) }, inputs))
    }

    /// What is suspicious in the files; once there is a log.
    pub(crate) fn warn(&self) {
        for warning in self.knowledge.warnings() {
            tracing::warn!("{warning}");
        }
    }
}

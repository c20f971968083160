//! Whether anybody still waits for a search: what functions ask that look at many values for each row.
//!
//! A search is cancelled between two batches by its tasks. A function that takes seconds for one batch asks
//! by itself; what it asks is among the options of the session it runs in.

use std::any::Any;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::config_err;
use datafusion::error::{DataFusionError, Result};
use tables::Stop;

/// Ends the functions of who runs with this configuration.
pub fn put(stop: Stop, config: &mut ConfigOptions) {
    config.extensions.insert(InConfig(stop));
}

/// What ends the functions of who runs with this configuration.
pub fn stop_of(config: &ConfigOptions) -> Stop {
    config.extensions.get::<InConfig>().map(|found| found.0.clone()).unwrap_or_default()
}

/// The error of work that was stopped, as the engine passes it on.
pub fn stopped(error: tables::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[derive(Debug, Clone, Default)]
struct InConfig(Stop);

impl ConfigExtension for InConfig {
    const PREFIX: &'static str = "karst_stop";
}

impl ExtensionOptions for InConfig {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _: &str) -> Result<()> {
        config_err!("{key} cannot be set")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

//! Whether anybody still waits for a search: what functions ask that look at many values for each row.
//!
//! A search is cancelled between two batches by its tasks. A function that takes seconds for one batch asks
//! by itself; what it asks is among the options of the session it runs in.

use datafusion::common::config::ConfigOptions;
use datafusion::error::DataFusionError;
use tables::Stop;

use crate::carried::{self, Carried};

impl Carried for Stop {
    const PREFIX: &'static str = "karst_stop";
}

/// Ends the functions of who runs with this configuration.
pub fn put(stop: Stop, config: &mut ConfigOptions) {
    carried::put(stop, config);
}

/// What ends the functions of who runs with this configuration.
pub fn stop_of(config: &ConfigOptions) -> Stop {
    carried::get::<Stop>(config).cloned().unwrap_or_default()
}

/// The error of work that was stopped, as the engine passes it on.
pub fn stopped(error: tables::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

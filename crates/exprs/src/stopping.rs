//! Cancellation of functions that process many values per row.
//!
//! The engine cancels a search only between two batches. A function that takes seconds for one batch checks
//! for cancellation itself; the check is stored in the options of the session in which the function runs.

use datafusion::common::config::ConfigOptions;
use datafusion::error::DataFusionError;
use tables::Stop;

use crate::carried::{self, Carried};

impl Carried for Stop {
    const PREFIX: &'static str = "karst_stop";
}

/// Puts a cancellation check into a configuration.
pub fn put(stop: Stop, config: &mut ConfigOptions) {
    carried::put(stop, config);
}

/// Returns the cancellation check of a configuration.
pub fn stop_of(config: &ConfigOptions) -> Stop {
    carried::get::<Stop>(config).cloned().unwrap_or_default()
}

/// Wraps the error of cancelled work for the engine.
pub fn stopped(error: tables::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

//! Values that functions and rules find in the options of their session: the options are the only part of the
//! session that the engine passes to all of them.

use std::any::Any;
use std::fmt::Debug;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::config_err;
use datafusion::error::Result;

/// A value that is carried among the options of a session.
pub trait Carried: Debug + Clone + Send + Sync + 'static {
    /// The prefix of the option.
    const PREFIX: &'static str;
}

/// Stores a value among the options.
pub fn put<T: Carried>(value: T, config: &mut ConfigOptions) {
    config.extensions.insert(Carrier(value));
}

/// Returns the value stored among the options.
pub fn get<T: Carried>(config: &ConfigOptions) -> Option<&T> {
    config.extensions.get::<Carrier<T>>().map(|carrier| &carrier.0)
}

#[derive(Debug, Clone)]
struct Carrier<T>(T);

impl<T: Carried> ConfigExtension for Carrier<T> {
    const PREFIX: &'static str = T::PREFIX;
}

impl<T: Carried> ExtensionOptions for Carrier<T> {
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

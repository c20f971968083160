//! Disabled apps, as the files and objects in force say it ([`conf::Layers::without_disabled`]).

use std::collections::BTreeSet;

use super::{AppFiles, Apps};
use crate::{Error, SEARCH};

/// The setting that disables an app.
const DISABLED: &str = "install.disabled";

impl Apps {
    /// Returns the disabled apps.
    #[must_use]
    pub fn disabled(&self) -> BTreeSet<String> {
        self.inner.state.read().layers.disabled().clone()
    }

    /// Refuses an app in which nothing has an effect.
    pub(super) fn check_enabled(&self, app: &str) -> Result<(), Error> {
        match self.inner.state.read().layers.disabled().contains(app) {
            true => Err(Error::Invalid(format!("the app {app} is disabled: enable it first"))),
            false => Ok(()),
        }
    }
}

impl AppFiles {
    /// Whether an app is disabled.
    pub(crate) fn is_disabled(&self, app: &str) -> bool {
        self.layers.disabled().contains(app)
    }
}

/// Refuses to disable the app that every installation has.
pub(super) fn check_change(app: &str, settings: &[(String, String)]) -> Result<(), Error> {
    let disables =
        |(key, value): &(String, String)| key == DISABLED && conf::boolean(value) == Some(true);
    match app == SEARCH && settings.iter().any(disables) {
        true => Err(Error::Invalid(format!("the app {SEARCH} cannot be disabled"))),
        false => Ok(()),
    }
}

//! Settings of the server that can be changed while it runs. A document of the catalog.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use catalog::Catalog;
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "settings";
const NAME: &str = "server";

/// What is changed; the rest of the server's settings stands in files and on the command line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Changed {
    /// `sessionTimeout`, as it was given: `1h`, `30m`, `90`.
    pub(crate) session_timeout: String,
}

/// The settings in force.
#[derive(Debug)]
pub struct ServerSettings {
    catalog: Catalog,
    changed: Mutex<Changed>,
}

impl ServerSettings {
    /// Reads the settings from the catalog; what is not there is as in `defaults`.
    ///
    /// # Errors
    /// If the catalog holds some that cannot be read.
    pub fn load(catalog: Catalog, defaults: &crate::Settings) -> Result<Self, Error> {
        let seconds = defaults.session_timeout.as_secs();
        let default = match seconds {
            seconds if seconds % 3_600 == 0 => format!("{}h", seconds / 3_600),
            seconds => format!("{seconds}s"),
        };
        let changed = match catalog.snapshot().document(KIND, NAME) {
            Some(json) => serde_json::from_value(json.as_ref().clone())
                .map_err(|error| Error::document(KIND, NAME, &error))?,
            None => Changed { session_timeout: default },
        };
        Ok(Self { catalog, changed: Mutex::new(changed) })
    }

    pub(crate) fn now(&self) -> Changed {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) async fn put(&self, changed: Changed) -> Result<(), Error> {
        let document =
            serde_json::to_value(&changed).map_err(|error| Error::document(KIND, NAME, &error))?;
        self.catalog.put_document(KIND, NAME, document).await?;
        *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = changed;
        Ok(())
    }

    /// How long a session lives without requests.
    #[must_use]
    pub fn session_timeout(&self) -> Option<Duration> {
        access::time_span(&self.now().session_timeout)
    }
}

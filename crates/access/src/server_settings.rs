//! Settings of the server that can be changed at run time: the session timeout. A document of the catalog.

use std::time::Duration;

use catalog::{Catalog, Followed, Snapshot};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::{Error, time_span};

const KIND: &str = "settings";
const NAME: &str = "server";

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Changed {
    /// `sessionTimeout`, as it was given: `1h`, `30m`, `90`.
    session_timeout: String,
}

/// The settings in force.
#[derive(Debug)]
pub struct ServerSettings {
    catalog: Catalog,
    changed: Mutex<Changed>,
}

impl Followed for ServerSettings {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut changed = self.changed.lock();
        let read = Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
        if let Some(read) = read {
            *changed = read;
        }
        Ok(())
    }
}

impl ServerSettings {
    /// Reads the settings from the catalog; `session_timeout` applies if none is stored.
    ///
    /// # Errors
    /// [`Error::Document`] if the stored ones cannot be read.
    pub fn load(catalog: Catalog, session_timeout: Duration) -> Result<Self, Error> {
        let seconds = session_timeout.as_secs();
        let default = match seconds {
            seconds if seconds % 3_600 == 0 => format!("{}h", seconds / 3_600),
            seconds => format!("{seconds}s"),
        };
        let read = Self::read(&catalog.snapshot())?;
        let changed = read.unwrap_or(Changed { session_timeout: default });
        Ok(Self { catalog, changed: Mutex::new(changed) })
    }

    fn read(snapshot: &Snapshot) -> Result<Option<Changed>, Error> {
        let document = snapshot.document(KIND, NAME);
        let changed = document.map(|json| serde_json::from_value(json.as_ref().clone()));
        changed.transpose().map_err(|error| Error::document(KIND, NAME, &error))
    }

    /// `sessionTimeout`, as it was given.
    #[must_use]
    pub fn session_timeout_text(&self) -> String {
        self.changed.lock().session_timeout.clone()
    }

    /// Changes `sessionTimeout`. Returns the new timeout.
    ///
    /// # Errors
    /// [`Error::TimeSpan`] if it is not a time span, or the catalog cannot be written.
    pub async fn set_session_timeout(&self, text: &str) -> Result<Duration, Error> {
        let timeout = time_span(text)
            .ok_or_else(|| Error::TimeSpan { name: "sessionTimeout", value: text.to_owned() })?;
        let changed = Changed { session_timeout: text.to_owned() };
        let document =
            serde_json::to_value(&changed).map_err(|error| Error::document(KIND, NAME, &error))?;
        self.catalog.put_document(KIND, NAME, document).await?;
        *self.changed.lock() = changed;
        Ok(timeout)
    }

    /// Returns the idle time-out of a session; `None` if the stored value is not a time span.
    #[must_use]
    pub fn session_timeout(&self) -> Option<Duration> {
        time_span(&self.session_timeout_text())
    }
}

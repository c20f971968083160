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
        duration(&self.now().session_timeout)
    }
}

/// A time span as Splunk writes it: `90`, `90s`, `30m`, `1h`, `2d`; none if it is something else or
/// nothing.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => 86_400,
        _ => return None,
    };
    let seconds = digits.trim().parse::<u64>().ok()?.checked_mul(unit)?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_have_a_number_and_a_unit() {
        let seconds = |text| duration(text).map(|span| span.as_secs());
        assert_eq!(
            ["90", "5m", "42h", "2 days"].map(seconds),
            [90, 300, 151_200, 172_800].map(Some)
        );
        assert_eq!(["", "h", "1y", "-1h", "0"].map(seconds), [None; 5]);
    }
}

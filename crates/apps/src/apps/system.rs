//! Settings of the system that are stored beside its files. They belong to no app and no user.
//!
//! Guarantees: a stored setting takes precedence over those of all files (`Layer::SystemStored`). Leaves to
//! others: whether a setting may be stored, and its value.

use super::Apps;
use crate::objects::{KIND, Stored, check_name, document};
use crate::{Error, NOBODY, SYSTEM, Settings, Sharing};

impl Apps {
    /// Returns the stored settings of a stanza of the system.
    #[must_use]
    pub fn stored_in_system(&self, conf: &str, stanza: &str) -> Settings {
        let state = self.inner.state.read();
        let stored = state.objects.get(&document(NOBODY, SYSTEM, conf, stanza));
        stored.map(|stored| stored.settings.clone()).unwrap_or_default()
    }

    /// Stores settings of a stanza of the system; the other stored ones are kept. An empty value removes a
    /// stored setting, so that the value of the files or the default applies.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings that the configuration does not hold with, or if the catalog cannot be
    /// written.
    pub async fn store_in_system(
        &self,
        conf: &str,
        stanza: &str,
        changes: &[(String, String)],
    ) -> Result<(), Error> {
        check_name("an object", stanza)?;
        check_name("a file", conf)?;
        let _writing = self.inner.writing.lock().await;
        let mut settings = self.stored_in_system(conf, stanza);
        settings.retain(|(key, _)| changes.iter().all(|(changed, _)| changed != key));
        settings.extend(changes.iter().filter(|(_, value)| !value.is_empty()).cloned());
        if !settings.is_empty() {
            let stored = Stored {
                conf: conf.to_owned(),
                name: stanza.to_owned(),
                app: SYSTEM.to_owned(),
                owner: NOBODY.to_owned(),
                sharing: Sharing::Global,
                settings,
            };
            return self.put(None, stored).await;
        }
        let name = document(NOBODY, SYSTEM, conf, stanza);
        let is_known = self.inner.state.read().objects.contains_key(&name);
        if is_known {
            self.inner.catalog.delete_document(KIND, &name).await?;
            self.change(|objects| drop(objects.remove(&name))).await;
        }
        Ok(())
    }
}

//! Settings of the system that are stored beside its files. They belong to no app and no user.
//!
//! Guarantees: a stored setting takes precedence over those of all files (`Layer::SystemStored`). Each
//! setting is a document of its own, so that processes whose view of the catalog lags change different
//! settings of a stanza without losing one. Not guaranteed for the first change of a stanza that is stored as
//! one document: a process whose view still has it stores its values again, also those that another process
//! has changed meanwhile. Leaves to others: whether a setting may be stored, and its value.

use std::collections::BTreeMap;

use conf::Layers;

use super::{Apps, damaged};
use crate::objects::{KIND, Stored, check_name, document, with_objects};
use crate::{Error, NOBODY, SYSTEM, Settings, Sharing};

/// The documents to write, by name, and those to delete.
type Changed = BTreeMap<String, Option<Stored>>;

impl Apps {
    /// Returns the stored settings of a stanza of the system.
    #[must_use]
    pub fn stored_in_system(&self, conf: &str, stanza: &str) -> Settings {
        let state = self.inner.state.read();
        let of_stanza = |stored: &&Stored| {
            let is_shared = stored.sharing != Sharing::User && stored.app == SYSTEM;
            is_shared && stored.conf == conf && stored.name == stanza
        };
        let mut settings = Settings::new();
        for (key, value) in state.objects.values().filter(of_stanza).flat_map(|one| &one.settings) {
            if settings.iter().all(|(known, _)| known != key) {
                settings.push((key.clone(), value.clone()));
            }
        }
        settings
    }

    /// Stores settings of a stanza of the system in one atomic change; the other stored ones are kept. An
    /// empty value removes a stored setting, so that the value of the files or the default applies.
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
        for (key, _) in changes {
            check_name("a setting", key)?;
        }
        let _writing = self.inner.writing.lock().await;
        let changed = self.changed_system(conf, stanza, changes);
        let mut documents = Vec::new();
        for (name, stored) in &changed {
            let json = match stored {
                Some(stored) => {
                    self.check(name, stored)?;
                    let json = serde_json::to_value(stored);
                    Some(json.map_err(|error| damaged(name, &error))?)
                }
                None => None,
            };
            documents.push((KIND.to_owned(), name.clone(), json));
        }
        if documents.is_empty() {
            return Ok(());
        }
        self.inner.catalog.change_documents_in_time(documents).await?;
        self.change(|objects| apply(objects, changed)).await;
        Ok(())
    }

    /// Returns the layers of the server's settings ([`Layers::of_server`]) as they would be with changes of
    /// stored settings.
    #[must_use]
    pub fn system_with(&self, conf: &str, stanza: &str, changes: &[(String, String)]) -> Layers {
        let changed = self.changed_system(conf, stanza, changes);
        let state = self.inner.state.read();
        let mut objects = (*state.objects).clone();
        apply(&mut objects, changed);
        with_objects(&state.files.layers, objects.values()).without_disabled().of_server()
    }

    fn changed_system(&self, conf: &str, stanza: &str, changes: &[(String, String)]) -> Changed {
        let whole = document(NOBODY, SYSTEM, conf, stanza);
        // An earlier version, or a client of `nobody/system`, stored the stanza as one document. A condition
        // that the catalog still has it does not hold back a second process: for the catalog, a document that
        // is to be deleted and is not there means that this change was made before.
        let old = self.inner.state.read().objects.get(&whole).cloned();
        let mut settings = changes.to_vec();
        for (key, value) in old.iter().flat_map(|old| &old.settings) {
            if settings.iter().all(|(changed, _)| changed != key) {
                settings.push((key.clone(), value.clone()));
            }
        }
        let mut changed = Changed::new();
        if old.is_some() {
            changed.insert(whole.clone(), None);
        }
        for (key, value) in settings {
            let stored = Stored {
                conf: conf.to_owned(),
                name: stanza.to_owned(),
                app: SYSTEM.to_owned(),
                owner: NOBODY.to_owned(),
                sharing: Sharing::Global,
                settings: vec![(key.clone(), value)],
                is_whole: false,
            };
            let is_set = stored.settings.iter().all(|(_, value)| !value.is_empty());
            changed.insert(format!("{whole}/{key}"), is_set.then_some(stored));
        }
        changed
    }
}

fn apply(objects: &mut BTreeMap<String, Stored>, changed: Changed) {
    for (name, stored) in changed {
        match stored {
            Some(stored) => drop(objects.insert(name, stored)),
            None => drop(objects.remove(&name)),
        }
    }
}

//! Removal of single settings of objects that were made at run time.
//!
//! Guarantees: the sharing of a stanza that a user has set is kept as long as files have the stanza. Leaves
//! to others: hiding a setting of files, which an empty value does.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Apps;
use crate::objects::KIND;
use crate::{ConfObject, Error, Namespace, SYSTEM};

impl Apps {
    /// Removes a setting of an object that was made at run time; the value of the files applies again. The
    /// object is removed with its last setting. A setting of files is kept.
    ///
    /// # Errors
    /// [`Error::NotFound`], or if the catalog cannot be written.
    pub async fn unset(
        &self,
        conf: &str,
        name: &str,
        namespace: &Namespace,
        key: &str,
    ) -> Result<(), Error> {
        let _writing = self.inner.writing.lock().await;
        let object = self.get(conf, name, namespace)?;
        let (Some(document), mut stored) = self.stored_of(&object) else { return Ok(()) };
        let in_files = self.settings_in_files(&object);
        // An empty value has no effect, except that it hides one of the files.
        let is_in_files = |key: &String| in_files.as_ref().is_some_and(|keys| keys.contains(key));
        stored
            .settings
            .retain(|(known, value)| known != key && (!value.is_empty() || is_in_files(known)));
        if !stored.settings.is_empty() || (stored.is_whole && in_files.is_some()) {
            return self.put(Some(document), stored).await;
        }
        self.inner.catalog.delete_document(KIND, &document).await?;
        self.change(|objects| drop(objects.remove(&document))).await;
        Ok(())
    }

    /// The keys of an object's stanza in the files of its app; `None` if they do not have the stanza.
    fn settings_in_files(&self, object: &ConfObject) -> Option<BTreeSet<String>> {
        let files = Arc::clone(&self.inner.state.read().files);
        let mut keys = None;
        for (layer, stanza) in files.layers.stanzas(&object.conf) {
            if stanza.name == object.name && layer.app().unwrap_or(SYSTEM) == object.app {
                let known = stanza.entries.iter().map(|entry| entry.key.clone());
                keys.get_or_insert_with(BTreeSet::new).extend(known);
            }
        }
        keys
    }
}

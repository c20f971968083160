//! Changes of the owner, the sharing and the app of objects.
//!
//! Guarantees: an object never replaces another one. Leaves to others: permissions, which are not kept here.

use super::Apps;
use crate::objects::Stored;
use crate::{Error, Namespace, Sharing};

impl Apps {
    /// Changes who owns and who sees an object.
    ///
    /// # Errors
    /// As [`Self::update`], and [`Error::Taken`].
    pub async fn share(
        &self,
        conf: &str,
        name: &str,
        namespace: &Namespace,
        owner: &str,
        sharing: Sharing,
    ) -> Result<(), Error> {
        let _writing = self.inner.writing.lock().await;
        let object = self.get(conf, name, namespace)?;
        let (old, mut stored) = self.stored_of(&object);
        owner.clone_into(&mut stored.owner);
        stored.sharing = sharing;
        // What a user has made private is only a part of the stanza when it is shared.
        stored.is_whole = object.sharing != Sharing::User;
        self.check_free(old.as_deref(), &stored)?;
        self.put(old, stored).await
    }

    /// Moves an object to another app.
    ///
    /// # Errors
    /// As [`Self::update`], and [`Error::Taken`].
    pub async fn relocate(
        &self,
        conf: &str,
        name: &str,
        namespace: &Namespace,
        app: &str,
    ) -> Result<(), Error> {
        self.check_enabled(app)?;
        let _writing = self.inner.writing.lock().await;
        let object = self.get(conf, name, namespace)?;
        let (old, mut stored) = self.stored_of(&object);
        app.clone_into(&mut stored.app);
        self.check_free(old.as_deref(), &stored)?;
        self.put(old, stored).await
    }

    /// Refuses an object where another one is. `old`: its document until now.
    fn check_free(&self, old: Option<&str>, stored: &Stored) -> Result<(), Error> {
        let document = stored.document();
        if old == Some(document.as_str())
            || !self.inner.state.read().objects.contains_key(&document)
        {
            return Ok(());
        }
        let Stored { conf, name, app, owner, .. } = stored;
        let other = match stored.sharing {
            Sharing::User => format!("one of the user \"{owner}\""),
            Sharing::App | Sharing::Global => "a shared one".to_owned(),
        };
        Err(Error::Taken(format!(
            "{conf}.conf [{name}] cannot be moved: the app \"{app}\" has {other} already; remove one of \
             them, or add the settings to the other"
        )))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tests::{memory, open, settings};

    #[tokio::test]
    async fn an_object_is_not_shared_or_moved_in_place_of_another_one() {
        let (apps, _) = open(&memory(), None).await;
        apps.create_app("other", &[]).await.unwrap();
        let (all, ann) = (Namespace::default(), Namespace::new("ann", "search"));
        let there = Namespace::new("ann", "other");
        apps.create("props", "web", &all, settings(&[("EVAL-a", "1")])).await.unwrap();
        apps.create("props", "web", &ann, settings(&[("EVAL-b", "2")])).await.unwrap();
        apps.create("props", "web", &there, settings(&[("EVAL-c", "3")])).await.unwrap();
        let refused = [
            apps.share("props", "web", &ann, "ann", Sharing::App).await,
            apps.share("props", "web", &all, "ann", Sharing::User).await,
            apps.relocate("props", "web", &ann, "other").await,
        ];
        for answer in refused {
            let is_named = matches!(&answer, Err(Error::Taken(text)) if text.contains("[web]"));
            assert!(is_named, "{answer:?}");
        }
        for (namespace, key) in [(&all, "EVAL-a"), (&ann, "EVAL-b"), (&there, "EVAL-c")] {
            assert!(apps.get("props", "web", namespace).unwrap().get(key).is_some(), "{key}");
        }
        // Where it is already, nothing is in its place.
        apps.share("props", "web", &all, "ann", Sharing::Global).await.unwrap();
        apps.remove("props", "web", &all).await.unwrap();
        apps.share("props", "web", &ann, "ann", Sharing::App).await.unwrap();
        assert_eq!(apps.get("props", "web", &all).unwrap().get("EVAL-b"), Some("2"));
    }
}

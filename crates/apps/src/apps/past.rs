//! Apps as they were: the installed apps of an earlier bundle, under the configuration files and the objects
//! of today.
//!
//! Guarantees: what is planned by a bundle reads the settings, lookup files and programs of its apps,
//! whatever is in force meanwhile. Writes of lookups and collections go where they always go.

use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use tokio::sync::{Mutex, Notify};

use super::{Apps, FileRules, Files, Inner, State};
use crate::Error;
use crate::blocking::blocking_apart;
use crate::installed::{InstalledApps, checksum_of};
use crate::views::Views;

/// Bundles that stay in memory, those that were used last: their rules take as much as those in force.
const IN_MEMORY: usize = 2;

impl Apps {
    /// Returns the apps of a bundle ([`Self::checksum`]), also of the one in force. They stay as they are
    /// when other apps are installed, with the objects of now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bundle is not kept, with those that are. If its files cannot be read.
    pub async fn at(&self, bundle: &str) -> Result<Self, Error> {
        let installed = self.installed()?;
        let mut past = self.inner.past.lock().await;
        let base = self.base();
        past.retain(|one| Arc::ptr_eq(&one.base().rules, &base.rules));
        let known = past.iter().position(|one| one.earlier_bundle() == Some(bundle));
        let found = match known.map(|position| past.remove(position)) {
            Some(known) if known.keeps_files(installed) => known,
            _ => self.opened_at(installed, bundle, base).await?,
        };
        found.take_objects_of(self);
        past.insert(0, found.clone());
        past.truncate(IN_MEMORY);
        Ok(found)
    }

    /// Returns the version of these apps if they are those of one bundle ([`Self::at`]); `None` for the
    /// apps in force.
    pub(crate) fn earlier_bundle(&self) -> Option<&str> {
        self.inner.bundle.as_deref()
    }

    /// Notes which installed apps are in force, so that searches can be planned by them later. To be called
    /// before and after a change. A failure is logged.
    pub(crate) async fn note_bundle(&self) {
        let Ok(installed) = self.installed() else { return };
        if let Err(error) = installed.note_bundle().await {
            tracing::warn!(%error, "no search can be planned by these apps once others are in force");
        }
    }

    async fn opened_at(
        &self,
        installed: &InstalledApps,
        bundle: &str,
        base: FileRules,
    ) -> Result<Self, Error> {
        let in_force = self.inner.state.read().clone();
        let state = if checksum_of(&in_force.files.installed) == bundle {
            in_force
        } else {
            let directories = installed.copy_bundle(bundle).await?;
            let (directory, tolerate) = (self.inner.directory.clone(), self.inner.tolerate);
            let (of, objects) = (base.clone(), in_force.objects);
            let read = move || {
                let files = Files::new(&of, directory.as_deref(), directories, tolerate)?;
                Ok(State::new(files, objects))
            };
            blocking_apart(read).await?
        };
        let rules = Arc::clone(&state.rules.all);
        let inner = Inner {
            catalog: self.inner.catalog.clone(),
            directory: self.inner.directory.clone(),
            base: RwLock::new(base),
            shared: self.inner.shared,
            state: RwLock::new(state),
            writing: Mutex::default(),
            installed: self.inner.installed.clone(),
            tolerate: self.inner.tolerate,
            reloading: Mutex::default(),
            exporting: Arc::default(),
            in_force: Mutex::new(rules),
            changed: Notify::new(),
            applied: OnceLock::new(),
            views: Views::default(),
            lookups: Arc::clone(&self.inner.lookups),
            collections: Arc::clone(&self.inner.collections),
            bundle: Some(bundle.to_owned()),
            past: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether the copies of all apps are on the local disk, where they stay for another hour then.
    fn keeps_files(&self, installed: &InstalledApps) -> bool {
        let files = Arc::clone(&self.inner.state.read().files);
        // Before the check: they may be about to be removed.
        installed.keep_copies(&files.installed);
        files.installed.values().all(|directory| directory.is_dir())
    }

    /// Applies the objects that the apps in force have now.
    fn take_objects_of(&self, in_force: &Self) {
        let objects = Arc::clone(&in_force.inner.state.read().objects);
        let mut state = self.inner.state.write();
        if objects != state.objects {
            *state = state.with((*objects).clone());
        }
    }
}

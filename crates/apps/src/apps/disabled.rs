//! Disabled apps, as the files and objects in force say it ([`conf::Layers::without_disabled`]).

use std::collections::{BTreeMap, BTreeSet};

use super::{APP, AppFiles, Apps};
use crate::objects::{Stored, with_objects};
use crate::rules::STATE;
use crate::{Error, NOBODY, Namespace, SEARCH, Sharing};

/// The setting that disables an app.
const DISABLED: &str = "install.disabled";

/// A change of an object.
#[derive(Debug, Clone, Copy)]
pub enum ObjectChange<'a> {
    /// It is created with these settings.
    Create(&'a [(String, String)]),
    /// These settings change.
    Update(&'a [(String, String)]),
    /// It gets another owner and sharing.
    Share(&'a str, Sharing),
    /// It is moved to another app.
    Move(&'a str),
    /// It is removed.
    Remove,
}

impl ObjectChange<'_> {
    /// The object after the change; `None` if it is removed.
    fn of(self, mut stored: Stored) -> Option<Stored> {
        match self {
            Self::Create(settings) | Self::Update(settings) => stored.set(settings),
            Self::Share(owner, sharing) => {
                owner.clone_into(&mut stored.owner);
                stored.sharing = sharing;
            }
            Self::Move(app) => app.clone_into(&mut stored.app),
            Self::Remove => return None,
        }
        Some(stored)
    }
}

impl Apps {
    /// Returns the enabled apps that a change of a stanza of `app.conf` disables, by all layers of the file.
    #[must_use]
    pub fn ended_by(
        &self,
        name: &str,
        namespace: &Namespace,
        change: ObjectChange<'_>,
    ) -> BTreeSet<String> {
        if (APP, name) != STATE {
            return BTreeSet::new();
        }
        let (old, before) = match (change, self.get(APP, name, namespace)) {
            (ObjectChange::Create(_), _) => (None, created(name, namespace)),
            (_, Ok(object)) => self.stored_of(&object),
            (_, Err(_)) => return BTreeSet::new(),
        };
        let after = change.of(before);
        let document = after.as_ref().map(Stored::document).unwrap_or_default();
        let state = self.inner.state.read().clone();
        let of_file = state.objects.iter().filter(|(_, stored)| stored.conf == APP);
        let mut objects: BTreeMap<&str, &Stored> =
            of_file.map(|(path, stored)| (path.as_str(), stored)).collect();
        if let Some(old) = &old {
            objects.remove(old.as_str());
        }
        if let Some(after) = &after {
            objects.insert(&document, after);
        }
        let layers = with_objects(&state.files.layers, objects.into_values()).without_disabled();
        layers.disabled() - state.layers.disabled()
    }

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

/// A new stanza of `app.conf` without settings.
fn created(name: &str, namespace: &Namespace) -> Stored {
    Stored {
        conf: APP.to_owned(),
        name: name.to_owned(),
        app: namespace.app.clone(),
        owner: namespace.owner.clone(),
        sharing: if namespace.owner == NOBODY { Sharing::App } else { Sharing::User },
        settings: Vec::new(),
        is_whole: false,
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

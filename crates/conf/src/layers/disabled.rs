//! Disabled apps: `state = disabled` or `disabled = true` in `[install]` of `app.conf`.
//!
//! Guarantees: of a disabled app, only its `app.conf` and its `indexes.conf` are left: an index has data,
//! whose retention and searches do not end with the app, and other inputs may send events to it. The app
//! `search` cannot be disabled. Leaves to others: when the setting is read again, and the other files of an
//! app.

use std::collections::BTreeSet;

use super::{Effective, Layer, Layers};
use crate::file::Stanza;
use crate::values::boolean;

/// The file with the properties of an app, and its stanza.
const APP: &str = "app";
const INSTALL: &str = "install";
/// The files of a disabled app that stay in force.
const KEPT: [&str; 2] = [APP, "indexes"];
/// The app that every installation has.
const SEARCH: &str = "search";

impl Layers {
    /// Removes the files, objects and data models of disabled apps, except for their `app.conf` and
    /// `indexes.conf`.
    #[must_use]
    pub fn without_disabled(mut self) -> Self {
        self.disabled = self.said_disabled();
        let disabled = &self.disabled;
        if disabled.is_empty() {
            return self;
        }
        let is_left_out = |app: Option<&str>| app.is_some_and(|app| disabled.contains(app));
        let is_kept = |conf: &str| KEPT.contains(&conf);
        self.files.retain(|file| is_kept(&file.conf) || !is_left_out(file.layer.app()));
        self.models.retain(|(app, _, _)| !disabled.contains(app));
        self.others.0.retain(|path, _| !is_left_out(app_of(path)));
        self
    }

    /// The apps whose files [`Self::without_disabled`] has removed.
    #[must_use]
    pub fn disabled(&self) -> &BTreeSet<String> {
        &self.disabled
    }

    /// The effective settings of a file without those of some apps, as if the apps were disabled.
    #[must_use]
    pub fn effective_without(&self, conf: &str, apps: &BTreeSet<String>) -> Effective {
        let is_left_out = |layer: &Layer| layer.app().is_some_and(|app| apps.contains(app));
        let files = self.files.iter();
        Self::merged(conf, files.filter(|file| file.conf == conf && !is_left_out(&file.layer)))
    }

    /// Returns the apps that are disabled by their highest layer that says so.
    fn said_disabled(&self) -> BTreeSet<String> {
        let (mut decided, mut disabled) = (BTreeSet::new(), BTreeSet::new());
        for (layer, stanza) in self.stanzas(APP) {
            let (Some(app), false) = (layer.app(), matches!(layer, Layer::User(..))) else {
                continue;
            };
            let said = if stanza.name == INSTALL { is_disabled(stanza) } else { None };
            let Some(is_off) = said.filter(|_| app != SEARCH) else { continue };
            if decided.insert(app.to_owned()) && is_off {
                disabled.insert(app.to_owned());
            }
        }
        disabled
    }
}

/// The app of a file, by its path in the directory.
fn app_of(path: &str) -> Option<&str> {
    path.strip_prefix("apps/")?.split('/').next()
}

/// Whether a stanza `[install]` disables its app; `None` if it does not say it.
fn is_disabled(stanza: &Stanza) -> Option<bool> {
    let said = |key| stanza.get(key).and_then(|entry| boolean(&entry.value));
    said("disabled").or_else(|| said("state").map(|is_enabled| !is_enabled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(name: &str, install: &str) -> Layers {
        Layers::builtin()
            .with(Layer::AppDefault(name.to_owned()), "app", &format!("[install]\n{install}\n"))
            .with(Layer::AppDefault(name.to_owned()), "macros", "[m]\ndefinition = x\n")
            .with(Layer::AppStored(name.to_owned()), "indexes", "[i]\nmaxDataSize = 7\n")
            .with(Layer::User("ann".to_owned(), name.to_owned()), "macros", "[n]\nargs = a\n")
            .with_model(name, "M", "{}")
            .with_form(&format!("apps/{name}/local/a.form"), "x")
    }

    #[test]
    fn of_a_disabled_app_only_its_properties_and_indexes_are_left() {
        for install in ["state = disabled", "disabled = 1", "disabled = true\nstate = enabled"] {
            let layers = app("a", install).without_disabled();
            assert_eq!(layers.disabled().iter().collect::<Vec<_>>(), ["a"], "{install}");
            let macros = layers.effective("macros");
            assert!(macros.stanza("m").is_none() && macros.stanza("n").is_none(), "{install}");
            assert!(layers.models().next().is_none() && layers.files().forms().next().is_none());
            assert!(layers.effective("app").stanza("install").is_some());
            assert!(layers.effective("indexes").stanza("i").is_some(), "{install}");
        }
    }

    #[test]
    fn settings_are_read_without_those_of_an_app() {
        let layers = app("a", "").with(Layer::SystemLocal, "macros", "[s]\ndefinition = y\n");
        let without = layers.effective_without("macros", &BTreeSet::from(["a".to_owned()]));
        assert!(without.stanza("s").is_some() && without.stanza("m").is_none());
        assert!(layers.effective_without("macros", &BTreeSet::new()).stanza("m").is_some());
    }

    #[test]
    fn the_highest_layer_that_says_it_decides_and_search_is_never_disabled() {
        for (name, install) in [("a", "state = enabled"), ("a", ""), ("search", "disabled = 1")] {
            let layers = app(name, install).without_disabled();
            assert!(layers.disabled().is_empty(), "{name} {install}");
            assert!(layers.effective("macros").stanza("m").is_some());
        }
        let stored = Layer::AppStored("a".to_owned());
        let enabled = app("a", "state = disabled").with(stored, "app", "[install]\ndisabled = 0");
        assert!(enabled.without_disabled().disabled().is_empty());
    }
}

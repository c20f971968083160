//! The data models that searches see: files below `data/models` of apps, and objects made at run time.
//!
//! Guarantees: an object hides the file of its app and name; a disabled model is not seen. Leaves to others:
//! what the JSON means (`knowledge`).

use std::collections::{BTreeMap, HashSet};

use super::{Layer, LayerFile, Layers};
use crate::values::boolean;

/// The file of the objects, and the setting that has the JSON of a model.
const CONF: &str = "datamodels";
const DEFINITION: &str = "eai:data";
/// What stands for the app of objects of the system.
const SYSTEM: &str = "system";

/// What the stanzas of a model say, highest first.
#[derive(Default)]
struct Said {
    json: Option<String>,
    disabled: Option<bool>,
}

impl Layers {
    /// The data models in a view of an app, those of the app first: app, name, JSON. `files`: the visible
    /// files in the order of the view.
    pub(super) fn models_in_view(
        &self,
        app: &str,
        files: &[(u8, LayerFile)],
    ) -> Vec<(String, String, String)> {
        let mut said: BTreeMap<(String, String), Said> = BTreeMap::new();
        let of_models = files.iter().map(|(_, file)| file).filter(|file| is_of_models(file));
        for LayerFile { layer, file, .. } in of_models {
            let of = layer.app().unwrap_or(SYSTEM);
            for stanza in &file.stanzas {
                let of_model = said.entry((of.to_owned(), stanza.name.clone())).or_default();
                let value = |key| stanza.get(key).map(|entry| entry.value.as_str());
                if of_model.json.is_none() {
                    of_model.json = value(DEFINITION).map(str::to_owned);
                }
                of_model.disabled =
                    of_model.disabled.or_else(|| value("disabled").and_then(boolean));
            }
        }
        // Models of `local` stay before those of `default`.
        let mut models = self.models.clone();
        models.retain(|(of, name, _)| {
            let hides = |one: &Said| one.json.is_some() || one.disabled == Some(true);
            let is_hidden = said.get(&(of.clone(), name.clone())).is_some_and(hides);
            !is_hidden && (of == app || self.metadata.shows(of, CONF, name))
        });
        for ((of, name), Said { json, disabled }) in said {
            if let (Some(json), false) = (json, disabled == Some(true)) {
                models.push((of, name, json));
            }
        }
        let class = |of: &str| match of {
            of if of == app => 0_u8,
            SYSTEM => 2,
            _ => 1,
        };
        models.sort_by(|a, b| class(&a.0).cmp(&class(&b.0)).then_with(|| b.0.cmp(&a.0)));
        models
    }
}

/// The data models that only their owners see: app, name, JSON.
pub(super) fn private(files: &[LayerFile]) -> HashSet<(&str, &str, &str)> {
    let mut found = HashSet::new();
    for LayerFile { layer, file, .. } in files.iter().filter(|file| is_of_models(file)) {
        let Layer::User(_, app) = layer else { continue };
        for stanza in &file.stanzas {
            if let Some(json) = stanza.get(DEFINITION) {
                found.insert((app.as_str(), stanza.name.as_str(), json.value.as_str()));
            }
        }
    }
    found
}

fn is_of_models(file: &LayerFile) -> bool {
    file.conf == CONF
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(layers: &Layers, user: &str, app: &str) -> Vec<String> {
        let view = layers.view(user, app);
        view.models().map(|(app, name, json)| format!("{app} {name} {json}")).collect()
    }

    fn stored(app: &str) -> Layer {
        Layer::AppStored(app.to_owned())
    }

    #[test]
    fn objects_are_models_and_hide_the_files_of_their_app() {
        let own = Layer::User("ann".to_owned(), "a".to_owned());
        let layers = Layers::default()
            .with_model("a", "M", "{file}")
            .with_model("a", "N", "{file}")
            .with_model("b", "M", "{file b}")
            .with(stored("a"), CONF, "[M]\neai:data = {stored}\n[N]\nacceleration = 1\n")
            .with(own, CONF, "[P]\neai:data = {private}\n");
        assert_eq!(
            seen(&layers, "ann", "a"),
            ["a N {file}", "a M {stored}", "a P {private}", "b M {file b}"]
        );
        assert_eq!(seen(&layers, "bob", "b")[0], "b M {file b}");
        assert!(!seen(&layers, "bob", "a").contains(&"a P {private}".to_owned()));
    }

    #[test]
    fn disabled_unexported_and_hidden_models_are_not_seen() {
        let text = "[M]\neai:data = {}\n[N]\neai:data = {}\ndisabled = 1\n[F]\ndisabled = 1\n";
        let own = Layer::User("ann".to_owned(), "a".to_owned());
        let layers = Layers::default()
            .with_model("a", "F", "{}")
            .with(stored("a"), CONF, text)
            .with(own, CONF, "[P]\neai:data = {}\n")
            .exporting("a", CONF, "M", false);
        assert_eq!(seen(&layers, "bob", "a"), ["a M {}"]);
        assert!(seen(&layers, "bob", "b").is_empty());
        let shared = layers.clone().exporting("a", CONF, "M", true);
        assert_eq!(seen(&shared, "bob", "b"), ["a M {}"]);
        let left = layers.view("ann", "a").without(|_, conf, _| conf == CONF);
        assert_eq!(left.models().map(|(_, name, _)| name).collect::<Vec<_>>(), ["P"]);
    }
}

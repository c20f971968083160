//! Data models of apps: the files `data/models/*.json` as objects beside those made at run time.
//!
//! Guarantees: an object made at run time has precedence over the file of its app and name. The JSON of the
//! files is kept once, in the layers. Leaves to others: which models searches see (`conf`), and what they
//! mean (`knowledge`).

use std::collections::BTreeMap;
use std::sync::Arc;

use conf::{ConfFile, Layer, Layers, Place, Stanza};

use crate::objects::check_name;

/// The file of the objects, without `.conf`.
pub(crate) const MODELS: &str = "datamodels";

/// Adds the data models in files to the layers as objects, without their JSON. Names that no object can have
/// are left out.
pub(crate) fn with_names(layers: Layers) -> Layers {
    let mut by_app: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (app, name, _) in layers.models() {
        if check_name("a data model", name).is_ok() {
            by_app.entry(app.to_owned()).or_default().push(name.to_owned());
        }
    }
    by_app.into_iter().fold(layers, |layers, (app, names)| {
        let folder: Arc<str> = format!("apps/{app}/data/models").into();
        let stanza = |name| Stanza {
            name,
            place: Place { file: Arc::clone(&folder), line: 1 },
            entries: Vec::new(),
        };
        let stanzas = names.into_iter().map(stanza).collect();
        let file = ConfFile { file: Arc::clone(&folder), stanzas, warnings: Vec::new() };
        layers.with_file(Layer::AppDefault(app), MODELS, file)
    })
}

/// The JSON of a data model in the files of an app.
pub(crate) fn text<'l>(layers: &'l Layers, app: &str, name: &str) -> Option<&'l str> {
    let mut models = layers.models();
    models.find(|(of, known, _)| *of == app && *known == name).map(|(_, _, json)| json)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::tests::{memory, open, settings};
    use crate::{Apps, Error, NOBODY, Namespace, Sharing, TEXT};

    const FILES: [(&str, &str); 5] = [
        ("default/data/models/Web.json", r#"{"objects": [], "description": "default"}"#),
        ("local/data/models/Web.json", r#"{"objects": [], "description": "local"}"#),
        ("default/data/models/Mail.json", r#"{"objects": []}"#),
        ("default/datamodels.conf", "[Web]\nacceleration = 1\n"),
        ("metadata/default.meta", "[]\nexport = none\n[models/Mail]\nexport = system\n"),
    ];

    fn shop() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in FILES {
            let path = directory.path().join("apps/shop").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        directory
    }

    fn names(apps: &Apps, app: &str) -> Vec<String> {
        let all = apps.list(super::MODELS, &Namespace::new(NOBODY, app));
        all.into_iter().map(|object| object.name).collect()
    }

    #[tokio::test]
    async fn models_in_files_are_objects_with_their_json_that_others_hide() {
        let (store, directory) = (memory(), shop());
        let (apps, _) = open(&store, Some(directory.path())).await;
        let shared = Namespace::new(NOBODY, "shop");
        assert_eq!(names(&apps, "shop"), ["Mail", "Web"]);
        assert_eq!(names(&apps, "search"), ["Mail"]);
        let mail = apps.get(super::MODELS, "Mail", &shared).unwrap();
        assert_eq!((mail.app.as_str(), mail.sharing), ("shop", Sharing::Global));
        assert!(!mail.removable);
        let web = || apps.get(super::MODELS, "Web", &shared).unwrap();
        assert!(web().get(TEXT).unwrap().contains("local"));
        assert_eq!((web().get("acceleration"), web().sharing), (Some("1"), Sharing::App));

        // Settings alone leave the file in force; JSON hides it.
        let seen = || apps.view(&shared).data_model("Web").unwrap().description;
        apps.update(super::MODELS, "Web", &shared, &settings(&[("acceleration", "0")]))
            .await
            .unwrap();
        assert_eq!(web().get("acceleration"), Some("0"));
        assert!(web().get(TEXT).unwrap().contains("local"));
        assert_eq!(seen(), "local");
        let json = r#"{"objects": [], "description": "changed"}"#;
        apps.update(super::MODELS, "Web", &shared, &settings(&[(TEXT, json)])).await.unwrap();
        assert_eq!((web().get(TEXT), seen().as_str()), (Some(json), "changed"));
        assert!(web().removable);
        apps.remove(super::MODELS, "Web", &shared).await.unwrap();
        assert_eq!((web().get("acceleration"), seen().as_str()), (Some("1"), "local"));
        let removed = apps.remove(super::MODELS, "Web", &shared).await;
        assert!(matches!(removed, Err(Error::Builtin(_))), "{removed:?}");
    }
}

//! What other apps see of a stanza that is in an app's files and is changed at run time.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use catalog::Followed;
use serde_json::json;

use crate::objects::KIND;
use crate::tests::{memory, open, settings};
use crate::{Apps, Error, NOBODY, Namespace, Sharing};

/// Writes a file of an app.
fn write(root: &Path, path: &str, text: &str) {
    let path = root.join("apps").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A setting as the app search sees it.
fn elsewhere(apps: &Apps, conf: &str, stanza: &str, key: &str) -> Option<String> {
    let view = apps.view(&Namespace::new("ann", "search"));
    view.conf(conf).get(stanza, key).map(|entry| entry.value.clone())
}

#[tokio::test]
async fn a_setting_made_at_run_time_leaves_the_exported_ones_of_its_stanza_as_they_are() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "fresh/default/props.conf", "[ux]\nEVAL-a = 1\n");
    write(root.path(), "fresh/default/macros.conf", "[m]\ndefinition = a\n");
    write(root.path(), "fresh/metadata/default.meta", "[]\nexport = system\n");
    let (apps, _) = open(&memory(), Some(root.path())).await;
    let (all, ann) = (Namespace::new(NOBODY, "fresh"), Namespace::new("ann", "fresh"));
    for conf in ["props", "macros"] {
        let name = if conf == "props" { "ux" } else { "m" };
        let made = apps.create(conf, name, &all, settings(&[("EVAL-b", "2")])).await;
        assert!(matches!(made, Err(Error::Exists(_))), "{made:?}");
    }
    apps.update("props", "ux", &all, &settings(&[("EVAL-b", "2")])).await.unwrap();
    let value = |key: &str| elsewhere(&apps, "props", "ux", key);
    assert_eq!((value("EVAL-a").as_deref(), value("EVAL-b").as_deref()), (Some("1"), Some("2")));
    // A setting that only its owner saw is shared with its app, not with others.
    apps.create("props", "ux", &ann, settings(&[("EVAL-c", "3")])).await.unwrap();
    apps.unset("props", "ux", &all, "EVAL-b").await.unwrap();
    assert!(!apps.get("props", "ux", &all).unwrap().removable);
    apps.share("props", "ux", &ann, "ann", Sharing::App).await.unwrap();
    assert_eq!((value("EVAL-a").as_deref(), value("EVAL-c")), (Some("1"), None));
    apps.update("props", "ux", &all, &settings(&[("EVAL-a", "9")])).await.unwrap();
    assert_eq!((value("EVAL-a").as_deref(), value("EVAL-c")), (Some("9"), None));
    apps.unset("props", "ux", &all, "EVAL-a").await.unwrap();
    assert_eq!((value("EVAL-a").as_deref(), value("EVAL-c")), (Some("1"), None));
    // The sharing of the stanza that a user sets applies to all of it.
    apps.share("props", "ux", &all, "ann", Sharing::App).await.unwrap();
    assert_eq!((value("EVAL-a"), value("EVAL-c")), (None, None));
    apps.unset("props", "ux", &all, "EVAL-c").await.unwrap();
    assert_eq!(value("EVAL-a"), None);
    apps.share("props", "ux", &all, "ann", Sharing::Global).await.unwrap();
    assert_eq!(value("EVAL-a").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_change_of_a_stanza_of_an_app_without_metadata_is_seen_by_other_apps() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "plain/default/macros.conf", "[m]\ndefinition = a\ndescription = d\n");
    let (apps, _) = open(&memory(), Some(root.path())).await;
    let all = Namespace::new(NOBODY, "plain");
    apps.update("macros", "m", &all, &settings(&[("definition", "b")])).await.unwrap();
    assert_eq!(elsewhere(&apps, "macros", "m", "definition").as_deref(), Some("b"));
    apps.unset("macros", "m", &all, "definition").await.unwrap();
    assert_eq!(elsewhere(&apps, "macros", "m", "definition").as_deref(), Some("a"));
}

#[tokio::test]
async fn a_restriction_that_an_earlier_version_stored_without_settings_is_kept() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "fresh/default/props.conf", "[ux]\nEVAL-a = 1\n");
    write(root.path(), "fresh/metadata/default.meta", "[]\nexport = system\n");
    let store = memory();
    let (apps, catalog) = open(&store, Some(root.path())).await;
    let document = json!({
        "conf": "props", "name": "ux", "app": "fresh", "owner": "ann", "sharing": Sharing::App,
        "settings": [],
    });
    catalog.put_document(KIND, "nobody/fresh/props/ux", document).await.unwrap();
    let value = || elsewhere(&apps, "props", "ux", "EVAL-a");
    assert_eq!(value().as_deref(), Some("1"));
    Followed::reload(&apps).unwrap();
    assert_eq!(value(), None);
    let all = Namespace::new(NOBODY, "fresh");
    apps.update("props", "ux", &all, &settings(&[("EVAL-b", "2")])).await.unwrap();
    assert_eq!(value(), None);
    apps.unset("props", "ux", &all, "EVAL-b").await.unwrap();
    assert_eq!(value(), None);
}

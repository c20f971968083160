//! Comparison of two configurations: which files differ.

use std::collections::{BTreeMap, BTreeSet};

use super::Layers;
use crate::file::ConfFile;

impl Layers {
    /// The files that differ from those of other layers, by their names, including those that only one of
    /// them has. A comment counts only if it moves a setting to another line. The metadata of an app are one
    /// name.
    #[must_use]
    pub fn changed_files(&self, other: &Self) -> BTreeSet<String> {
        let mut changed = BTreeSet::new();
        differing(&self.confs_by_name(), &other.confs_by_name(), |name| {
            changed.insert((*name).to_owned());
        });
        differing(&self.others.0, &other.others.0, |name| {
            changed.insert(name.clone());
        });
        differing(&self.models_by_name(), &other.models_by_name(), |(app, name)| {
            changed.insert(format!("apps/{app}/data/models/{name}.json"));
        });
        let apps = self.directories.symmetric_difference(&other.directories);
        changed.extend(apps.map(|app| format!("apps/{app}")));
        let apps = self.metadata.changed_apps(&other.metadata);
        changed.extend(apps.into_iter().map(|app| format!("apps/{app}/metadata")));
        changed
    }

    fn confs_by_name(&self) -> BTreeMap<&str, &ConfFile> {
        self.files.iter().map(|file| (&*file.file.file, &file.file)).collect()
    }

    fn models_by_name(&self) -> BTreeMap<(&str, &str), &str> {
        self.models().map(|(app, name, json)| ((app, name), json)).collect()
    }
}

/// Calls `found` with each key whose value differs or is missing in one of the maps.
fn differing<K: Ord, V: PartialEq>(
    new: &BTreeMap<K, V>,
    old: &BTreeMap<K, V>,
    mut found: impl FnMut(&K),
) {
    for (key, value) in new {
        if old.get(key) != Some(value) {
            found(key);
        }
    }
    old.keys().filter(|key| !new.contains_key(*key)).for_each(found);
}

#[cfg(test)]
mod tests {
    use crate::Layer;

    use super::*;

    #[test]
    fn files_that_differ_are_named_whatever_their_kind() {
        let (app, local) = (Layer::AppLocal("a".to_owned()), Layer::SystemLocal);
        let before = Layers::builtin()
            .with(app.clone(), "props", "[x]\nTRUNCATE = 1\n")
            .with(local.clone(), "macros", "[m]\ndefinition = x\n")
            .with_metadata("a", "[]\nexport = none\n")
            .with_form("apps/a/local/datetime.xml", "<datetime/>")
            .with_model("a", "M", "{}");
        assert!(before.changed_files(&before.clone()).is_empty());
        let same = before.clone().with(local, "tags", "");
        let tags = "system/local/tags.conf".to_owned();
        assert_eq!(same.changed_files(&before), BTreeSet::from([tags]));
        let after = Layers::builtin()
            .with(app, "props", "[x]\nTRUNCATE = 2\n")
            .with_metadata("a", "[]\nexport = system\n")
            .with_form("apps/a/local/datetime.xml", "<datetime></datetime>")
            .with_model("a", "M", "{\"modelName\": \"M\"}");
        let expected = [
            "apps/a/data/models/M.json",
            "apps/a/local/datetime.xml",
            "apps/a/local/props.conf",
            "apps/a/metadata",
            "system/local/macros.conf",
        ];
        let expected = BTreeSet::from(expected.map(str::to_owned));
        assert_eq!(after.changed_files(&before), expected);
        assert_eq!(before.changed_files(&after), expected);
    }
}

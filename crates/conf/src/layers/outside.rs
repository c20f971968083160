//! Files of a configuration directory that are in no layer, and therefore not read: those outside of
//! `system/local` and `apps/*/{default,local}`, as far as they are in a folder where such files are put by
//! mistake.

use std::path::Path;

use super::{Layers, list};
use crate::file::{Place, Warning};

/// The folders in which such files are looked for, besides those of apps. `system/default` may be a copy of
/// Splunk's, and `users` has private objects.
const FOLDERS: [&str; 5] = ["", "apps", "default", "local", "system"];
/// The text of the warnings.
const NOT_READ: &str = "the file is not read: move it to system/local of the configuration \
                        directory, or to default or local of an app (apps/<app>)";

/// Returns the paths of the files of a directory that are in no layer, without those of apps.
pub(super) fn files(directory: &Path) -> Vec<String> {
    FOLDERS.iter().flat_map(|folder| files_in(&directory.join(folder))).collect()
}

/// Returns the paths of the files of an app that are beside `default` and `local`.
pub(super) fn files_of_app(directory: &Path, app: &str) -> Vec<String> {
    files_in(&directory.join("apps").join(app))
}

/// Returns the paths of the `.conf` files in a folder. A folder that cannot be listed has none.
fn files_in(folder: &Path) -> Vec<String> {
    let names = list(folder).unwrap_or_default().into_iter();
    let paths = names.filter(|name| name.ends_with(".conf")).map(|name| folder.join(name));
    paths.filter(|path| path.is_file()).map(|path| path.display().to_string()).collect()
}

impl Layers {
    /// A warning for each file that is in no layer.
    pub(crate) fn outside_warnings(&self) -> impl Iterator<Item = Warning> {
        self.outside.values().flatten().map(|path| Warning {
            place: Place { file: path.as_str().into(), line: 1 },
            text: NOT_READ.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;
    use crate::Registry;

    /// Writes a stanza to each of these files.
    fn write(root: &Path, paths: &[&str]) {
        for path in paths {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "[x]\n").unwrap();
        }
    }

    /// Returns the files that warnings say are not read, without the directory.
    fn not_read(layers: &Layers, root: &Path) -> Vec<String> {
        let warnings = Registry::new(&[]).warnings(&layers.view("me", "a"));
        let of_files = warnings.iter().filter(|one| one.text.contains("not read: move it"));
        let below = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
        of_files.map(|warning| below(Path::new(&*warning.place.file))).collect()
    }

    #[test]
    fn files_outside_of_the_layers_have_a_warning() {
        let root = tempfile::tempdir().unwrap();
        let paths = [
            "indexes.conf",
            "local/authorize.conf",
            "system/props.conf",
            "system/local/props.conf",
            "system/default/props.conf",
            "apps/inputs.conf",
            "apps/a/indexes.conf",
            "apps/a/local/props.conf",
            "notes.txt",
        ];
        write(root.path(), &paths);
        let layers = Layers::read(root.path()).unwrap();
        let outside =
            ["indexes.conf", "apps/inputs.conf", "local/authorize.conf", "system/props.conf"];
        let found = not_read(&layers, root.path());
        assert_eq!(found, [outside.as_slice(), &["apps/a/indexes.conf"]].concat());
    }

    #[test]
    fn a_replaced_app_has_the_warnings_of_its_new_files() {
        let root = tempfile::tempdir().unwrap();
        let (old, new) = (root.path().join("old"), root.path().join("new"));
        write(&old, &["apps/a/indexes.conf", "apps/b/indexes.conf"]);
        write(&new, &["apps/a/default/app.conf", "apps/c/inputs.conf"]);
        let directories = ["a", "c"].map(|app| (app.to_owned(), new.clone())).into();
        let layers = Layers::read(&old).unwrap().with_apps(&directories, |_| true).unwrap();
        let found = not_read(&layers, root.path());
        assert_eq!(found, ["old/apps/b/indexes.conf", "new/apps/c/inputs.conf"]);
    }
}

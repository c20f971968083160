//! Files of a configuration directory that are in no layer, and therefore not read.

use std::path::Path;

use super::{Layers, list};
use crate::file::{Place, Warning};

/// The folders in which such files are looked for. `system/default` may be a copy of Splunk's.
const FOLDERS: [&str; 4] = ["", "default", "local", "system"];
/// The text of the warnings.
const NOT_READ: &str = "the file is not read: move it to system/local of the configuration \
                        directory, or to default or local of an app (apps/<app>)";

/// Returns the paths of the `.conf` files outside of `system/local` and `apps/*/{default,local}`, of those
/// folders in which they are put by mistake. A folder that cannot be listed has none.
pub(super) fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let folder = directory.join(folder);
        for name in list(&folder).unwrap_or_default() {
            let path = folder.join(&name);
            if name.ends_with(".conf") && path.is_file() {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

impl Layers {
    /// A warning for each file of the directory that is in no layer.
    pub(crate) fn outside_warnings(&self) -> impl Iterator<Item = Warning> {
        self.outside.iter().map(|path| Warning {
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

    #[test]
    fn files_outside_of_the_layers_have_a_warning() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "indexes.conf",
            "local/authorize.conf",
            "system/props.conf",
            "system/local/props.conf",
            "system/default/props.conf",
            "apps/a/local/props.conf",
            "notes.txt",
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "[x]\n").unwrap();
        }
        let layers = Layers::read(root.path()).unwrap();
        let warnings = Registry::new(&[]).warnings(&layers.view("me", "a"));
        let found: Vec<_> = warnings
            .iter()
            .filter(|warning| warning.text.contains("not read: move it"))
            .map(|warning| Path::new(&*warning.place.file).strip_prefix(root.path()).unwrap())
            .collect();
        let expected = ["indexes.conf", "local/authorize.conf", "system/props.conf"];
        assert_eq!(found, expected.map(Path::new));
    }
}

//! Files of an app that a setting names: `DATETIME_CONFIG = /etc/apps/x/extra/datetime.xml`.
//!
//! Guarantees: only `.xml` files below the app are read. Files in `local` and `default` are read in any case.

use std::fs;
use std::path::{Component, Path};

use super::{Layers, path_in_directory};
use crate::error::Error;

/// The file, without `.conf`, and the setting whose value is a path.
const NAMING: (&str, &str) = ("props", "DATETIME_CONFIG");

impl Layers {
    /// Reads the files of an app that its settings, or those read before, name. A file that does not exist is
    /// left to the reader of the setting, which has the place of the mistake.
    pub(super) fn read_named_files(&mut self, directory: &Path, app: &str) -> Result<(), Error> {
        let folder = format!("apps/{app}/");
        for name in self.named_paths(&folder) {
            let path = directory.join(&name);
            if !path.is_file() || self.others.0.contains_key(&name) {
                continue;
            }
            let bytes = fs::read(&path).map_err(|source| Error { path, source })?;
            self.others.0.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
        Ok(())
    }

    /// Returns the paths in a folder of the directory that settings name.
    fn named_paths(&self, folder: &str) -> Vec<String> {
        let (conf, key) = NAMING;
        let files = self.files.iter().filter(|file| file.conf == conf);
        let entries = files.flat_map(|file| &file.file.stanzas).flat_map(|stanza| &stanza.entries);
        let paths =
            entries.filter(|entry| entry.key == key).map(|entry| path_in_directory(&entry.value));
        paths.filter(|path| is_xml_below(path, folder)).map(str::to_owned).collect()
    }
}

fn is_xml_below(path: &str, folder: &str) -> bool {
    let stays_below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    stays_below && path.starts_with(folder) && path.ends_with(".xml")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_that_settings_name_are_read_from_anywhere_in_the_app() {
        let root = tempfile::tempdir().unwrap();
        let app = root.path().join("apps/x");
        fs::create_dir_all(app.join("default")).unwrap();
        fs::create_dir_all(app.join("extra/deep")).unwrap();
        for (path, text) in
            [("extra/deep/times.xml", "a"), ("extra/other.xml", "b"), ("extra/times.txt", "c")]
        {
            fs::write(app.join(path), text).unwrap();
        }
        fs::write(root.path().join("outside.xml"), "d").unwrap();
        let props = "[a]\nDATETIME_CONFIG = /etc/apps/x/extra/deep/times.xml\n\
                     [b]\nDATETIME_CONFIG = /etc/apps/x/extra/times.txt\n\
                     [c]\nDATETIME_CONFIG = /etc/apps/x/../../outside.xml\n\
                     [d]\nDATETIME_CONFIG = /etc/apps/x/extra/none.xml\n";
        fs::write(app.join("default/props.conf"), props).unwrap();
        let read = Layers::read(root.path()).unwrap();
        let files = read.files();
        assert_eq!(files.get("/etc/apps/x/extra/deep/times.xml"), Some("a"));
        let unread =
            ["apps/x/extra/other.xml", "apps/x/extra/times.txt", "apps/x/../../outside.xml"];
        assert!(unread.iter().all(|path| files.get(path).is_none()));
        let directories = [("x".to_owned(), root.path().to_owned())].into();
        let replaced = Layers::builtin().with_apps(&directories, |_| true).unwrap();
        assert_eq!(replaced.files().get("$SPLUNK_HOME/etc/apps/x/extra/deep/times.xml"), Some("a"));
    }
}

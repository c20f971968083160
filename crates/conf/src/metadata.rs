//! The permissions of an app's objects in `metadata/default.meta` and `metadata/local.meta`: roles that
//! read and change them (`access`), and whether other apps see them (`export`).
//!
//! A stanza names an object (`[macros/errors]`, a setting of props as `[props/web/EXTRACT-a]`), all objects
//! of a file (`[macros]`, `[lookups]`) or all of the app (`[]`). An invalid value denies access, with a
//! warning. Not here: the roles of users (`access`).

use std::collections::{BTreeMap, BTreeSet};

use crate::file::{ConfFile, Entry, Warning};

/// Roles with read and write permission; `None` if not specified. `*` means all roles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// Roles that may read.
    pub read: Option<Vec<String>>,
    /// Roles that may write.
    pub write: Option<Vec<String>>,
}

impl Access {
    /// Denies everything, except to administrators.
    fn closed() -> Self {
        Self { read: Some(Vec::new()), write: Some(Vec::new()) }
    }

    /// Parses `read : [ *, power ], write : [ admin ]`.
    fn parse(text: &str) -> Option<Self> {
        let mut access = Self::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (kind, after) = rest.split_once(':')?;
            let (names, after) = after.trim_start().strip_prefix('[')?.split_once(']')?;
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            let names = Some(names.map(str::to_owned).collect());
            match kind.trim() {
                "read" => access.read = names,
                "write" => access.write = names,
                _ => return None,
            }
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None if after.is_empty() => after,
                None => return None,
            };
        }
        Some(access)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Said {
    export: Option<bool>,
    access: Option<Access>,
}

/// The metadata of all apps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metadata {
    /// By app and by object: `macros/errors`, `macros`, or the empty text for the whole app.
    apps: BTreeMap<String, BTreeMap<String, Said>>,
    /// The apps that have metadata files.
    with_files: BTreeSet<String>,
    warnings: Vec<Warning>,
}

impl Metadata {
    /// Removes the metadata of an app.
    pub(crate) fn remove(&mut self, app: &str) {
        self.apps.remove(app);
        self.with_files.remove(app);
    }

    /// Returns the apps whose metadata differ from those of another reading.
    pub(crate) fn changed_apps(&self, other: &Self) -> BTreeSet<String> {
        let all = self.apps.keys().chain(other.apps.keys());
        all.filter(|app| self.apps.get(*app) != other.apps.get(*app)).cloned().collect()
    }

    /// Adds a file; values that an earlier file has set are kept.
    pub(crate) fn read(&mut self, app: &str, file: &ConfFile) {
        self.warnings.extend(file.warnings.iter().cloned());
        self.with_files.insert(app.to_owned());
        let known = self.apps.entry(app.to_owned()).or_default();
        for stanza in &file.stanzas {
            let said = known.entry(object(&stanza.name)).or_default();
            if let (None, Some(entry)) = (said.export, stanza.get("export")) {
                said.export = Some(entry.value == "system");
                if !matches!(entry.value.as_str(), "system" | "none" | "") {
                    self.warnings.push(wrong(entry, "not exported", "`system` or `none`"));
                }
            }
            if let (None, Some(entry)) = (&said.access, stanza.get("access")) {
                let access = Access::parse(&entry.value);
                if access.is_none() {
                    let form = "`read : [ role, ... ], write : [ role, ... ]`, `*` for everybody";
                    self.warnings.push(wrong(entry, "open to administrators only", form));
                }
                said.access = Some(access.unwrap_or_else(Access::closed));
            }
        }
    }

    /// Sets whether other apps see a stanza of an app.
    pub(crate) fn export(&mut self, app: &str, conf: &str, stanza: &str, shown: bool) {
        let known = self.apps.entry(app.to_owned()).or_insert_with(|| {
            // An app without metadata exports everything, which must remain true for its other stanzas.
            BTreeMap::from([(String::new(), Said { export: Some(true), access: None })])
        });
        known.entry(format!("{conf}/{stanza}")).or_default().export = Some(shown);
    }

    /// Whether other apps see a stanza; true if the app does not specify it.
    pub(crate) fn shows(&self, app: &str, conf: &str, stanza: &str) -> bool {
        let whole = [format!("{conf}/{stanza}"), conf.to_owned(), String::new()];
        self.exported(app, &whole)
    }

    /// Whether the metadata files of an app export a stanza explicitly.
    pub(crate) fn exports(&self, app: &str, conf: &str, stanza: &str) -> bool {
        self.with_files.contains(app) && self.shows(app, conf, stanza)
    }

    /// Whether other apps see a setting of a stanza, as set by a stanza `[props/web/EXTRACT-a]`.
    pub(crate) fn shows_setting(&self, app: &str, conf: &str, stanza: &str, key: &str) -> bool {
        let stanza = format!("{conf}/{stanza}");
        let names = [format!("{stanza}/{key}"), stanza, conf.to_owned(), String::new()];
        self.exported(app, &names)
    }

    fn exported(&self, app: &str, names: &[String]) -> bool {
        let Some(known) = self.apps.get(app) else { return true };
        let said = |name: &String| known.get(name).and_then(|said| said.export);
        names.iter().find_map(said).unwrap_or(false)
    }

    /// The permissions by `app`, `app/file` and `app/file/object`.
    pub(crate) fn access(&self) -> BTreeMap<String, Access> {
        let mut found = BTreeMap::new();
        for (app, objects) in &self.apps {
            for (name, said) in objects {
                let place = if name.is_empty() { app.clone() } else { format!("{app}/{name}") };
                found.extend(said.access.clone().map(|access| (place, access)));
            }
        }
        found
    }

    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// The object that a stanza names, with the names of our files.
fn object(stanza: &str) -> String {
    let name = if stanza == "default" { "" } else { stanza.trim_matches('/') };
    let name = decoded(name);
    match name.split_once('/') {
        Some(("models" | "datamodel", model)) => format!("datamodels/{model}"),
        None if matches!(name.as_str(), "models" | "datamodel") => "datamodels".to_owned(),
        _ => name,
    }
}

/// Decodes `%2F` and similar escapes in a name.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|_| *first == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn wrong(entry: &Entry, done: &str, form: &str) -> Warning {
    let text = format!(
        "{} = {} is not understood, the objects are {done}; write {form}",
        entry.key, entry.value
    );
    Warning { place: entry.place.clone(), text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn metadata(text: &str) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.read("a", &ConfFile::parse("apps/a/metadata/default.meta", text));
        metadata
    }

    #[test]
    fn access_is_said_of_objects_files_and_apps() {
        let found = metadata(
            "[]\naccess = read : [ * ], write : [ admin ]\n[macros]\naccess=read:[power,admin]\n\
             [props/source%3A%3A%2Fvar/EXTRACT-a%20b]\naccess = write : [ ]\n",
        );
        let access = found.access();
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let whole = Access { read: names(&["*"]), write: names(&["admin"]) };
        assert_eq!(access["a"], whole);
        assert_eq!(access["a/macros"].read, names(&["power", "admin"]));
        assert_eq!(access["a/props/source::/var/EXTRACT-a b"].write, names(&[]));
        assert!(found.warnings().is_empty());
    }

    #[test]
    fn what_is_not_understood_is_closed_and_named() {
        let found = metadata("[macros]\naccess = read : *\n[views]\nexport = all\n");
        assert_eq!(found.access()["a/macros"], Access::closed());
        assert!(!found.shows("a", "views", "v"));
        let warnings: Vec<String> = found.warnings().iter().map(ToString::to_string).collect();
        assert!(warnings[0].starts_with("apps/a/metadata/default.meta:2: access = read : *"));
        assert!(warnings[0].contains("write `read : [ role"), "{}", warnings[0]);
        assert!(warnings[1].contains("default.meta:4: export = all"), "{}", warnings[1]);
    }

    #[test]
    fn the_nearest_word_says_what_is_exported() {
        let found = metadata(
            "[]\nexport = system\n[props]\nexport = none\n[props/web/EXTRACT-a]\nexport = system\n",
        );
        assert!(found.shows("a", "macros", "m") && !found.shows("a", "props", "web"));
        assert!(found.shows_setting("a", "props", "web", "EXTRACT-a"));
        assert!(!found.shows_setting("a", "props", "web", "EXTRACT-b"));
        assert!(found.shows("another", "macros", "m") && found.exports("a", "macros", "m"));
        let mut silent = Metadata::default();
        silent.export("b", "macros", "m", false);
        assert!(silent.shows("b", "macros", "n") && !silent.exports("b", "macros", "n"));
    }
}

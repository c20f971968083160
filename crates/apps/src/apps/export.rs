//! An app as a package: its files, with the objects and lookups that were shared at run time.
//!
//! Guarantees: secrets are left out and named; a package of the same content has the same bytes. Leaves to
//! others: objects of users, passwords and the records of collections, which are not part of an app.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conf::{Access, ConfFile, Entry, Place, Stanza};

use super::Apps;
use super::reload::blocking;
use crate::install::Remark;
use crate::objects::Stored;
use crate::package::{check_app_name, of_directory, too_large};
use crate::pages::{KINDS, TEXT};
use crate::{Error, NOBODY, Package, PackedFile, Settings, Sharing, redaction};

/// The file with the permissions of what was shared at run time.
const METADATA: &str = "metadata/local.meta";
/// The file whose settings are exported one by one.
const PROPS: &str = "props";
/// Bytes at the begin of a file that are searched for a private key.
const HEAD: usize = 64 << 10;

/// An app as a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The app.
    pub package: Package,
    /// The parts that are left out: secrets, and values that no file can have.
    pub left_out: Vec<Remark>,
}

impl Apps {
    /// Packs an app: its files, and what was shared in it at run time, below `local`. `access` returns the
    /// permissions of a shared object ([`crate::ConfObject::place`]).
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`] for an app without content or a too large one, or if a file or
    /// object storage cannot be read.
    pub async fn export(
        &self,
        app: &str,
        access: impl Fn(&str) -> Access + Send,
    ) -> Result<Export, Error> {
        if !self.apps().iter().any(|known| known.name == app) {
            return Err(Error::NotFound(app.to_owned()));
        }
        check_app_name(app)?;
        let root = self.directory_of(app).map(|directory| directory.join("apps").join(app));
        let files = match root.filter(|root| root.is_dir()) {
            Some(root) => blocking(move || of_directory(&root)).await?,
            None => Vec::new(),
        };
        let lookups = self.shared_lookups(app).await?;
        let objects: Vec<Stored> = {
            let state = self.inner.state.read();
            let own = state.objects.values().filter(|stored| stored.app == app);
            own.filter(|stored| stored.sharing != Sharing::User).cloned().collect()
        };
        let mut content = Content::of(files);
        for stored in &objects {
            content.add(stored, &access(&stored.document()));
        }
        for (name, bytes) in lookups {
            let roles = access(&format!("{NOBODY}/{app}/lookups/{name}"));
            let settings = vec![("access".to_owned(), written(&roles))];
            content.metadata.push((format!("lookups/{}", encoded(&name)), settings));
            content.put(Path::new("lookups").join(&name), bytes.to_vec());
        }
        content.write_metadata();
        content.leave_secrets_out();
        content.packed(app)
    }
}

/// The files of a package, by path.
struct Content {
    files: BTreeMap<PathBuf, PackedFile>,
    /// Stanzas for the file of permissions.
    metadata: Vec<(String, Settings)>,
    left_out: Vec<Remark>,
}

impl Content {
    fn of(files: Vec<PackedFile>) -> Self {
        let files = files.into_iter().map(|file| (file.path.clone(), file)).collect();
        Self { files, metadata: Vec::new(), left_out: Vec::new() }
    }

    fn put(&mut self, path: PathBuf, bytes: Vec<u8>) {
        self.files.insert(path.clone(), PackedFile { path, bytes, executable: false });
    }

    fn leave_out(&mut self, place: String, text: &str) {
        self.left_out.push(Remark { place, text: text.to_owned() });
    }

    /// A file of settings; an empty one if it is missing.
    fn conf(&self, path: &str) -> ConfFile {
        let file = self.files.get(Path::new(path));
        let text = file.map(|file| String::from_utf8_lossy(&file.bytes)).unwrap_or_default();
        ConfFile::parse(path, &text)
    }

    /// Adds an object that was shared at run time.
    fn add(&mut self, stored: &Stored, access: &Access) {
        let (conf, name) = (stored.conf.as_str(), stored.name.as_str());
        let is_page = KINDS.contains(&conf);
        if !is_file_name(conf) || (is_page && !is_file_name(name)) {
            return self.leave_out(format!("{conf}: [{name}]"), "no file can have this name");
        }
        let in_files = if conf == PROPS { self.keys_in_files(conf, name) } else { None };
        self.describe(stored, access, in_files.as_ref());
        if is_page {
            if let Some((_, text)) = stored.settings.iter().find(|(key, _)| key == TEXT) {
                let path = format!("local/data/ui/{conf}/{name}.xml");
                self.put(path.into(), text.clone().into_bytes());
            }
            return;
        }
        let path = format!("local/{conf}.conf");
        let mut file = self.conf(&path);
        let mut settings = stored.settings.clone();
        settings.retain(|(key, value)| {
            let is_kept = is_readable(name, key, value);
            if !is_kept {
                self.leave_out(format!("{path}: [{name}] {key}"), "no file can have this value");
            }
            is_kept
        });
        set(&mut file, name, settings);
        self.put(path.into(), file.to_string().into_bytes());
    }

    /// Adds the permissions of an object. `in_files`: the settings of its stanza in files, whose sharing is
    /// not that of the object unless a user has set it for the whole stanza.
    fn describe(&mut self, stored: &Stored, access: &Access, in_files: Option<&BTreeSet<String>>) {
        let kind = if stored.conf == "datamodels" { "models" } else { stored.conf.as_str() };
        let place = format!("{kind}/{}", encoded(&stored.name));
        let export = if stored.sharing == Sharing::Global { "system" } else { "none" };
        let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let export = setting("export", export);
        let rights = [setting("access", &written(access)), setting("owner", &stored.owner)];
        match in_files.filter(|_| !stored.is_whole) {
            None => {
                let all = std::iter::once(export).chain(rights).collect();
                self.metadata.push((place, all));
            }
            Some(known) => {
                for (key, _) in stored.settings.iter().filter(|(key, _)| !known.contains(key)) {
                    let of_key = format!("{place}/{}", encoded(key));
                    self.metadata.push((of_key, vec![export.clone()]));
                }
                self.metadata.push((place, rights.into()));
            }
        }
    }

    /// The keys of a stanza in the files of the app; `None` if they do not have it.
    fn keys_in_files(&self, conf: &str, name: &str) -> Option<BTreeSet<String>> {
        let mut keys = None;
        for folder in ["default", "local"] {
            let file = self.conf(&format!("{folder}/{conf}.conf"));
            if let Some(stanza) = file.stanza(name) {
                let own = stanza.entries.iter().map(|entry| entry.key.clone());
                keys.get_or_insert_with(BTreeSet::new).extend(own);
            }
        }
        keys
    }

    fn write_metadata(&mut self) {
        if self.metadata.is_empty() {
            return;
        }
        let mut file = self.conf(METADATA);
        if !self.files.keys().any(|path| path.starts_with("metadata")) {
            // Without metadata, everything is shown to other apps, which remains so for all other objects.
            set(&mut file, "", vec![("export".to_owned(), "system".to_owned())]);
        }
        for (place, settings) in std::mem::take(&mut self.metadata) {
            set(&mut file, &place, settings);
        }
        self.put(METADATA.into(), file.to_string().into_bytes());
    }

    /// Removes secret settings and files with private keys.
    fn leave_secrets_out(&mut self) {
        let paths: Vec<PathBuf> = self.files.keys().cloned().collect();
        for path in paths {
            let Some(file) = self.files.get_mut(&path) else { continue };
            let shown = path.display().to_string();
            let head = file.bytes.get(..HEAD).unwrap_or(&file.bytes);
            let head = String::from_utf8_lossy(head);
            let is_key =
                |line: &str| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY");
            if head.lines().any(is_key) {
                self.files.remove(&path);
                self.leave_out(shown, "a private key");
                continue;
            }
            let is_setting = path.starts_with("default") || path.starts_with("local");
            let conf = shown.rsplit('/').next().and_then(|name| name.strip_suffix(".conf"));
            let Some(conf) = conf.filter(|_| is_setting) else { continue };
            let mut read = ConfFile::parse(&shown, &String::from_utf8_lossy(&file.bytes));
            let mut secrets = Vec::new();
            for stanza in &mut read.stanzas {
                stanza.entries.retain(|Entry { key, value, .. }| {
                    let is_secret = redaction::is_left_out(conf, key, value);
                    if is_secret {
                        secrets.push(format!("{shown}: [{}] {key}", stanza.name));
                    }
                    !is_secret
                });
            }
            if secrets.is_empty() {
                continue;
            }
            file.bytes = read.to_string().into_bytes();
            for place in secrets {
                self.leave_out(place, "a secret");
            }
        }
    }

    fn packed(self, app: &str) -> Result<Export, Error> {
        if self.files.is_empty() {
            let text = format!("the app {app} has no files and no shared objects");
            return Err(Error::Invalid(text));
        }
        let files: Vec<PackedFile> = self.files.into_values().collect();
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        if bytes as u64 > crate::package::MAX_BYTES {
            return Err(too_large(Path::new(app)));
        }
        let package = Package { app: app.to_owned(), files, links: Vec::new() };
        Ok(Export { package, left_out: self.left_out })
    }
}

/// Sets settings of a stanza.
fn set(file: &mut ConfFile, name: &str, settings: Settings) {
    let place = Place { file: Arc::clone(&file.file), line: 1 };
    let at = file.stanzas.iter().position(|stanza| stanza.name == name);
    let at = at.unwrap_or_else(|| {
        let (name, place) = (name.to_owned(), place.clone());
        file.stanzas.push(Stanza { name, place, entries: Vec::new() });
        file.stanzas.len() - 1
    });
    let entries = &mut file.stanzas[at].entries;
    for (key, value) in settings {
        entries.retain(|entry| entry.key != key);
        entries.push(Entry { key, value, place: place.clone() });
    }
}

/// Whether a file can have a setting: a value that ends in a backslash would continue in the next line.
fn is_readable(stanza: &str, key: &str, value: &str) -> bool {
    let mut file = ConfFile::parse("", "");
    set(&mut file, stanza, vec![(key.to_owned(), value.to_owned())]);
    set(&mut file, "next", vec![("key".to_owned(), "value".to_owned())]);
    let read = ConfFile::parse("", &file.to_string());
    read.stanza(stanza).and_then(|one| one.get(key)).is_some_and(|entry| entry.value == value)
        && read.stanza("next").is_some()
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Permissions in the form of metadata.
fn written(access: &Access) -> String {
    let list = |roles: Option<&[String]>| roles.unwrap_or_default().join(", ");
    let (read, write) = (list(access.read.as_deref()), list(access.write.as_deref()));
    format!("read : [ {read} ], write : [ {write} ]")
}

/// A name as a part of a stanza of metadata, percent-encoded.
fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Namespace;
    use crate::tests::{memory, open, settings};

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join("apps/shop").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn everybody(_: &str) -> Access {
        Access { read: Some(vec!["*".to_owned()]), write: Some(vec!["admin".to_owned()]) }
    }

    fn text(export: &Export, path: &str) -> Option<String> {
        let file = export.package.files.iter().find(|file| file.path == Path::new(path))?;
        Some(String::from_utf8(file.bytes.clone()).unwrap())
    }

    #[tokio::test]
    async fn a_package_has_the_files_and_what_was_shared_at_run_time_without_secrets() {
        let root = tempfile::tempdir().unwrap();
        let macros = "# Ours\n[m]\ndefinition = a\n";
        write(root.path(), "default/macros.conf", macros);
        write(root.path(), "default/props.conf", "[st]\nEXTRACT-token = (?<token>x)\n");
        write(root.path(), "local/inputs.conf", "[http://a]\ntoken = 4711\nindex = main\n");
        write(root.path(), "auth/key.pem", "-----BEGIN RSA PRIVATE KEY-----\nMII\n");
        let (apps, _) = open(&memory(), Some(root.path())).await;
        let (all, ann) = (Namespace::new(NOBODY, "shop"), Namespace::new("ann", "shop"));
        let two_lines = settings(&[("definition", "a |\nb"), ("bad", "x\\")]);
        apps.create("macros", "of all", &all, two_lines).await.unwrap();
        apps.share("macros", "of all", &all, "ann", Sharing::Global).await.unwrap();
        apps.create("macros", "private", &ann, settings(&[("definition", "z")])).await.unwrap();
        apps.update("props", "st", &all, &settings(&[("EVAL-b", "2")])).await.unwrap();
        apps.create("views", "v", &all, settings(&[(TEXT, "<form/>")])).await.unwrap();
        apps.write_lookup("a.csv", &all, "a\n1\n".into()).await.unwrap();
        let export = apps.export("shop", everybody).await.unwrap();
        let paths: Vec<&str> =
            export.package.files.iter().map(|file| file.path.to_str().unwrap()).collect();
        let expected = [
            "default/macros.conf",
            "default/props.conf",
            "local/data/ui/views/v.xml",
            "local/inputs.conf",
            "local/macros.conf",
            "local/props.conf",
            "lookups/a.csv",
            "metadata/local.meta",
        ];
        assert_eq!(paths, expected);
        assert_eq!(text(&export, "default/macros.conf").unwrap(), macros);
        let local = text(&export, "local/macros.conf").unwrap();
        assert_eq!(local, "[of all]\ndefinition = a |\\\nb\n\n");
        assert_eq!(text(&export, "local/inputs.conf").unwrap(), "[http://a]\nindex = main\n\n");
        let metadata = text(&export, "metadata/local.meta").unwrap();
        let shared = "[macros/of%20all]\nexport = system\naccess = read : [ * ], write : [ admin ]\nowner = ann\n";
        assert!(metadata.starts_with("[]\nexport = system\n"), "{metadata}");
        assert!(metadata.contains(shared), "{metadata}");
        assert!(metadata.contains("[props/st/EVAL-b]\nexport = system\n"), "{metadata}");
        assert!(!metadata.contains("private"), "{metadata}");
        let left_out: Vec<&str> = export.left_out.iter().map(|one| one.place.as_str()).collect();
        let secrets = [
            "local/macros.conf: [of all] bad",
            "auth/key.pem",
            "local/inputs.conf: [http://a] token",
        ];
        assert_eq!(left_out, secrets);
        let again = apps.export("shop", everybody).await.unwrap();
        assert_eq!(again.package.pack().unwrap(), export.package.pack().unwrap());
        assert!(matches!(apps.export("none", everybody).await, Err(Error::NotFound(_))));
    }
}

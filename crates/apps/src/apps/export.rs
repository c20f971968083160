//! An app as a package: its files, with the objects and lookups that were shared at run time.
//!
//! Guarantees: the parts that are left out, such as secrets, are named; a package of the same content has the
//! same bytes; one app at a time is in memory. Leaves to others: objects of users, passwords and the records
//! of collections, which are not part of an app; the kinds of files (`exported_files`); secrets in settings
//! (`conf_changes`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use bytes::Bytes;
use conf::Access;
use tokio::sync::OwnedMutexGuard;

use super::Apps;
use crate::blocking::blocking;
use crate::conf_changes::{SECRET, changed, is_readable, is_readable_stanza};
use crate::conf_lines::{Meaning, lines};
use crate::digest::sha256_of;
use crate::exported_files::{Found, exported_files, secret_file, unknown};
use crate::install::Remark;
use crate::models::MODELS;
use crate::objects::Stored;
use crate::package::{Limits, check_app_name};
use crate::pages::{KINDS, TEXT};
use crate::redaction::{has_secret, is_left_out};
use crate::{Error, NOBODY, Package, PackedFile, Settings, Sharing};

/// The file with the permissions of what was shared at run time.
const METADATA: &str = "metadata/local.meta";
/// The file whose settings are exported one by one.
const PROPS: &str = "props";
/// Time that an export waits for another one.
const WAIT: Duration = Duration::from_secs(10);

/// An app as a package.
#[derive(Debug)]
pub struct Export {
    /// The app.
    pub package: Package,
    /// The parts that are left out: secrets, values that no file can have, files of unknown kinds, and
    /// objects that the caller may not read.
    pub left_out: Vec<Remark>,
    /// Differs if the package or the parts that are left out differ.
    pub digest: String,
    /// To be held as long as the package, packed or not, is in memory, but no longer than others can wait.
    pub turn: ExportTurn,
}

/// The turn of one export; others wait until it is dropped.
#[derive(Debug)]
pub struct ExportTurn {
    _held: OwnedMutexGuard<()>,
}

impl Apps {
    /// Packs an app: its files, and what was shared in it at run time, below `local`. `access` returns the
    /// permissions of a shared object by its owner and its place ([`crate::ConfObject::place`]), and `None`
    /// if the caller may not read it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`] for an app without content or a too large one, [`Error::Busy`]
    /// while another app is exported, or if a file or object storage cannot be read.
    pub async fn export(
        &self,
        app: &str,
        access: impl Fn(&str, &str) -> Option<Access> + Send + 'static,
    ) -> Result<Export, Error> {
        if !self.apps().iter().any(|known| known.name == app) {
            return Err(Error::NotFound(app.to_owned()));
        }
        check_app_name(app)?;
        let turn = self.export_turn().await?;
        let mut limits = Limits::of(app);
        let (mut allowed, mut hidden) = (Vec::new(), BTreeMap::<String, usize>::new());
        for (name, object) in self.shared_lookups(app).await? {
            match access(NOBODY, &format!("{NOBODY}/{app}/lookups/{name}")) {
                Some(roles) => allowed.push((name, roles, object)),
                None => *hidden.entry("lookups".to_owned()).or_default() += 1,
            }
        }
        let mut lookups = Vec::with_capacity(allowed.len());
        for (name, roles, object) in allowed {
            if let Some(bytes) = self.stored_lookup(&object, &mut limits).await? {
                lookups.push((name, roles, bytes));
            }
        }
        let own = self.clone();
        let app = app.to_owned();
        blocking(move || {
            let found = own.files_of_app(&app, &mut limits)?;
            let mut content = Content::of(found, hidden);
            for stored in own.shared_objects(&app) {
                match access(&stored.owner, &stored.document()) {
                    Some(roles) => content.add(&stored, &roles),
                    None => *content.hidden.entry(stored.conf).or_default() += 1,
                }
            }
            for (name, roles, bytes) in lookups {
                content.add_lookup(&name, &roles, bytes);
            }
            content.change_settings();
            content.write_metadata();
            content.export(app, turn)
        })
        .await
    }

    /// Waits for the end of another export.
    async fn export_turn(&self) -> Result<ExportTurn, Error> {
        let held = Arc::clone(&self.inner.exporting).lock_owned();
        match tokio::time::timeout(WAIT, held).await {
            Ok(held) => Ok(ExportTurn { _held: held }),
            Err(_) => {
                let text = "another app is being exported: one at a time is packed and sent; try again later";
                Err(Error::Busy(text.to_owned()))
            }
        }
    }

    /// The shared objects of an app that are not in its files.
    fn shared_objects(&self, app: &str) -> Vec<Stored> {
        let state = self.inner.state.read();
        let own = state.objects.values().filter(|stored| stored.app == app);
        own.filter(|stored| stored.sharing != Sharing::User).cloned().collect()
    }

    /// Reads the files of an app; none for one that was created at run time.
    fn files_of_app(&self, app: &str, limits: &mut Limits) -> Result<Found, Error> {
        let is_in_files = {
            let files = Arc::clone(&self.inner.state.read().files);
            files.installed.contains_key(app) || files.layers.apps().contains(app)
        };
        let Some(root) = self.directory_of(app) else { return Ok(Found::default()) };
        let root = root.join("apps").join(app);
        let kind = match fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => return exported_files(&root, limits),
            Ok(_) => io::ErrorKind::NotADirectory,
            Err(error) => error.kind(),
        };
        if kind == io::ErrorKind::NotFound && !is_in_files {
            return Ok(Found::default());
        }
        // A package without them would not be the app.
        let text = format!("the files of the app {app} cannot be read on this server: {kind}");
        let source = io::Error::new(kind, text);
        Err(Error::File { action: "read", path: root.display().to_string(), source })
    }
}

/// The files of a package, by path.
struct Content {
    files: BTreeMap<PathBuf, PackedFile>,
    /// The settings of objects, by the path of their file.
    settings: BTreeMap<PathBuf, Vec<(String, Settings)>>,
    /// Stanzas for the file of permissions.
    metadata: Vec<(String, Settings)>,
    /// The keys of the stanzas of `props.conf` in the files of the app.
    props: HashMap<String, BTreeSet<String>>,
    /// The number of objects that the caller may not read, by the name of their file.
    hidden: BTreeMap<String, usize>,
    left_out: Vec<Remark>,
}

impl Content {
    fn of(found: Found, hidden: BTreeMap<String, usize>) -> Self {
        let files = found.files.into_iter().map(|file| (file.path.clone(), file));
        let files: BTreeMap<PathBuf, PackedFile> = files.collect();
        let (settings, metadata, props) = (BTreeMap::new(), Vec::new(), keys_of_props(&files));
        Self { files, settings, metadata, props, hidden, left_out: found.left_out }
    }

    /// Adds a file, unless it is not of a known kind or has a secret.
    fn put(&mut self, path: PathBuf, bytes: Vec<u8>) -> bool {
        if let Some(why) = unknown(&path, false).or_else(|| secret_file(&path, &bytes)) {
            self.leave_out(path.display().to_string(), why);
            return false;
        }
        self.files.insert(path.clone(), PackedFile { path, bytes, executable: false });
        true
    }

    fn leave_out(&mut self, place: String, text: &str) {
        self.left_out.push(Remark { place, text: text.to_owned() });
    }

    /// Adds an object that was shared at run time.
    fn add(&mut self, stored: &Stored, access: &Access) {
        let (conf, name) = (stored.conf.as_str(), stored.name.as_str());
        let is_page = KINDS.contains(&conf);
        let text = stored.settings.iter().find(|(key, _)| key == TEXT).map(|(_, text)| text);
        let model = text.filter(|_| conf == MODELS);
        let is_file = is_page || model.is_some();
        if has_secret(name) {
            return self.leave_out(format!("{conf}.conf"), "a stanza with a secret in its name");
        }
        if !is_file_name(conf) || !is_readable_stanza(name) || (is_file && !is_file_name(name)) {
            return self.leave_out(format!("{conf}: [{name}]"), "no file can have this name");
        }
        if is_page {
            let path = PathBuf::from(format!("local/data/ui/{conf}/{name}.xml"));
            if text.is_none_or(|text| self.put(path, text.clone().into_bytes())) {
                self.describe(stored, access);
            }
            return;
        }
        if let Some(json) = model {
            let path = PathBuf::from(format!("local/data/models/{name}.json"));
            if !self.put(path, json.clone().into_bytes()) {
                return;
            }
        }
        self.describe(stored, access);
        let path = format!("local/{conf}.conf");
        let mut settings = stored.settings.clone();
        settings.retain(|(key, _)| model.is_none() || key != TEXT);
        settings.retain(|(key, value)| {
            let why = if is_left_out(conf, key, value) {
                SECRET
            } else if is_readable(key, value) {
                return true;
            } else {
                "no file can have this value"
            };
            self.leave_out(format!("{path}: [{name}] {key}"), why);
            false
        });
        if model.is_none() || !settings.is_empty() {
            self.settings.entry(path.into()).or_default().push((name.to_owned(), settings));
        }
    }

    /// Adds a lookup file that was shared at run time.
    fn add_lookup(&mut self, name: &str, access: &Access, bytes: Bytes) {
        if self.put(Path::new("lookups").join(name), bytes.into()) {
            let settings = vec![("access".to_owned(), written(access))];
            self.metadata.push((format!("lookups/{}", encoded(name)), settings));
        }
    }

    /// Adds the permissions of an object. The sharing of a stanza of `props.conf` in files is not that of the
    /// object, unless a user has set it for the whole stanza.
    fn describe(&mut self, stored: &Stored, access: &Access) {
        let kind = if stored.conf == MODELS { "models" } else { stored.conf.as_str() };
        let place = format!("{kind}/{}", encoded(&stored.name));
        let export = if stored.sharing == Sharing::Global { "system" } else { "none" };
        let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let export = setting("export", export);
        let rights = [setting("access", &written(access)), setting("owner", &stored.owner)];
        let is_part = stored.conf == PROPS && !stored.is_whole;
        match self.props.get(&stored.name).filter(|_| is_part) {
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

    /// Adds the settings of objects to files, and removes secrets from files of settings.
    fn change_settings(&mut self) {
        let mut added = std::mem::take(&mut self.settings);
        let in_files = self.files.keys().filter(|path| conf_of(path).is_some());
        let paths: BTreeSet<PathBuf> = in_files.chain(added.keys()).cloned().collect();
        for path in paths {
            let added = added.remove(&path).unwrap_or_default();
            let conf = conf_of(&path).unwrap_or_default().to_owned();
            self.change(path, Some(&conf), &added);
        }
    }

    fn write_metadata(&mut self) {
        if self.metadata.is_empty() {
            return;
        }
        let mut added = std::mem::take(&mut self.metadata);
        if !self.files.keys().any(|path| path.starts_with("metadata")) {
            // Without metadata, everything is shown to other apps, which remains so for all other objects.
            let settings = vec![("export".to_owned(), "system".to_owned())];
            added.insert(0, (String::new(), settings));
        }
        self.change(METADATA.into(), None, &added);
    }

    fn change(&mut self, path: PathBuf, conf: Option<&str>, added: &[(String, Settings)]) {
        let (before, executable) = match self.files.remove(&path) {
            Some(file) => (file.bytes, file.executable),
            None => (Vec::new(), false),
        };
        let shown = path.display().to_string();
        let (changed, is_replaced) = {
            let text = String::from_utf8_lossy(&before);
            (changed(&shown, conf, &text, added), matches!(text, Cow::Owned(_)))
        };
        self.left_out.extend(changed.left_out);
        let bytes = if changed.is_changed { changed.text.into_bytes() } else { before };
        if changed.is_changed && is_replaced {
            self.leave_out(shown, "bytes that are not UTF-8; the file is written anew");
        }
        self.files.insert(path.clone(), PackedFile { path, bytes, executable });
    }

    fn export(mut self, app: String, turn: ExportTurn) -> Result<Export, Error> {
        for (conf, number) in std::mem::take(&mut self.hidden) {
            self.leave_out(conf, &format!("objects that you may not read: {number}"));
        }
        if self.files.is_empty() {
            let text = format!("the app {app} has no files and no shared objects");
            return Err(Error::Invalid(text));
        }
        let files: Vec<PackedFile> = self.files.into_values().collect();
        let mut limits = Limits::of(&app);
        for file in &files {
            limits.take_file()?;
            limits.take_bytes(file.bytes.len() as u64)?;
        }
        let mut left_out = self.left_out;
        left_out.sort_by(|one, other| one.place.cmp(&other.place));
        let of_files = files.iter().flat_map(|file| {
            let mode: &[u8] = if file.executable { b"x" } else { b"" };
            [file.path.as_os_str().as_encoded_bytes(), mode, file.bytes.as_slice()]
        });
        let of_others =
            left_out.iter().flat_map(|remark| [remark.place.as_bytes(), remark.text.as_bytes()]);
        let digest = sha256_of(of_files.chain(of_others));
        let package = Package { app, files, kept: Vec::new(), links: Vec::new() };
        Ok(Export { package, left_out, digest, turn })
    }
}

/// The name of a file of settings, without `.conf`; `None` for other files.
fn conf_of(path: &Path) -> Option<&str> {
    let is_setting = path.starts_with("default") || path.starts_with("local");
    let conf = path.file_name()?.to_str()?.strip_suffix(".conf")?;
    is_setting.then_some(conf)
}

/// The keys of the stanzas of `props.conf`, in `default` and in `local`.
fn keys_of_props(files: &BTreeMap<PathBuf, PackedFile>) -> HashMap<String, BTreeSet<String>> {
    let mut keys: HashMap<String, BTreeSet<String>> = HashMap::new();
    for folder in ["default", "local"] {
        let path = format!("{folder}/{PROPS}.conf");
        let Some(file) = files.get(Path::new(&path)) else { continue };
        let text = String::from_utf8_lossy(&file.bytes);
        let mut stanza = "default";
        for line in lines(&text) {
            match line.meaning() {
                Meaning::Stanza(name, _) => {
                    stanza = name;
                    keys.entry(name.to_owned()).or_default();
                }
                Meaning::Setting(key, _) => {
                    keys.entry(stanza.to_owned()).or_default().insert(key.to_owned());
                }
                Meaning::Comment(_) | Meaning::Unknown => {}
            }
        }
    }
    keys
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
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn everybody(_: &str, _: &str) -> Option<Access> {
        Some(Access { read: Some(vec!["*".to_owned()]), write: Some(vec!["admin".to_owned()]) })
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
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n";
        write(root.path(), "bin/cert.txt", key);
        write(root.path(), "local/inputs.conf.bak", "[http://a]\ntoken = 4711\n");
        let (apps, _) = open(&memory(), Some(root.path())).await;
        let (all, ann) = (Namespace::new(NOBODY, "shop"), Namespace::new("ann", "shop"));
        let two_lines = settings(&[("definition", "a |\nb"), ("bad", "x\\")]);
        apps.create("macros", "of all", &all, two_lines).await.unwrap();
        apps.share("macros", "of all", &all, "ann", Sharing::Global).await.unwrap();
        apps.create("macros", "private", &ann, settings(&[("definition", "z")])).await.unwrap();
        apps.update("props", "st", &all, &settings(&[("EVAL-b", "2")])).await.unwrap();
        apps.create("views", "v", &all, settings(&[(TEXT, "<form/>")])).await.unwrap();
        let model = settings(&[(TEXT, "{\n}"), ("acceleration", "0")]);
        apps.create("datamodels", "dm", &all, model).await.unwrap();
        apps.write_lookup("a.csv", &all, "a\n1\n".into()).await.unwrap();
        let export = apps.export("shop", everybody).await.unwrap();
        let paths: Vec<&str> =
            export.package.files.iter().map(|file| file.path.to_str().unwrap()).collect();
        let expected = [
            "default/macros.conf",
            "default/props.conf",
            "local/data/models/dm.json",
            "local/data/ui/views/v.xml",
            "local/datamodels.conf",
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
        let models = text(&export, "local/datamodels.conf").unwrap();
        assert_eq!(models, "[dm]\nacceleration = 0\n\n");
        assert_eq!(text(&export, "local/data/models/dm.json").unwrap(), "{\n}");
        assert_eq!(text(&export, "local/inputs.conf").unwrap(), "[http://a]\nindex = main\n");
        let metadata = text(&export, "metadata/local.meta").unwrap();
        let shared = "[macros/of%20all]\nexport = system\naccess = read : [ * ], write : [ admin ]\nowner = ann\n";
        assert!(metadata.starts_with("[]\nexport = system\n"), "{metadata}");
        assert!(metadata.contains(shared), "{metadata}");
        assert!(metadata.contains("[props/st/EVAL-b]\nexport = system\n"), "{metadata}");
        assert!(!metadata.contains("private"), "{metadata}");
        let left_out: Vec<&str> = export.left_out.iter().map(|one| one.place.as_str()).collect();
        let secrets = [
            "bin/cert.txt",
            "local/inputs.conf.bak",
            "local/inputs.conf: [http://a] token",
            "local/macros.conf: [of all] bad",
        ];
        assert_eq!(left_out, secrets);
        let Export { package, digest, turn, .. } = export;
        drop(turn);
        let again = apps.export("shop", everybody).await.unwrap();
        assert_eq!(again.package.pack().unwrap(), package.pack().unwrap());
        assert_eq!(again.package.into_packed().unwrap(), package.into_packed().unwrap());
        assert_eq!(again.digest, digest);
        drop(again.turn);
        apps.update("props", "st", &all, &settings(&[("EVAL-b", "3")])).await.unwrap();
        assert_ne!(apps.export("shop", everybody).await.unwrap().digest, digest);
        assert!(matches!(apps.export("none", everybody).await, Err(Error::NotFound(_))));
    }

    #[tokio::test]
    async fn objects_keep_the_comments_of_files_and_their_secrets_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "local/macros.conf", "# Ours\n[m]\n# first\ndefinition = a\nargs = x\n");
        let (apps, _) = open(&memory(), Some(root.path())).await;
        let all = Namespace::new(NOBODY, "shop");
        apps.update("macros", "m", &all, &settings(&[("definition", "b")])).await.unwrap();
        let next = settings(&[("key", "value"), ("definition", "c")]);
        apps.create("macros", "next", &all, next).await.unwrap();
        let account =
            settings(&[("api_key", "4711"), ("refresh", "$7$q83vEjRWeJCrze8="), ("a", "b")]);
        apps.create("ta_shop_account", "a", &all, account).await.unwrap();
        let export = apps.export("shop", everybody).await.unwrap();
        let macros = "# Ours\n[m]\ndefinition = b\n# first\nargs = x\n\n\
                      [next]\nkey = value\ndefinition = c\n\n";
        assert_eq!(text(&export, "local/macros.conf").unwrap(), macros);
        assert_eq!(text(&export, "local/ta_shop_account.conf").unwrap(), "[a]\na = b\n\n");
        assert_eq!(export.left_out.len(), 2, "{:?}", export.left_out);
    }

    #[tokio::test]
    async fn what_the_caller_may_not_read_is_left_out_and_counted() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "default/app.conf", "[ui]\nlabel = Shop\n");
        let (apps, _) = open(&memory(), Some(root.path())).await;
        let all = Namespace::new(NOBODY, "shop");
        for name in ["open", "closed"] {
            apps.create("macros", name, &all, settings(&[("definition", name)])).await.unwrap();
            apps.write_lookup(&format!("{name}.csv"), &all, "a\n1\n".into()).await.unwrap();
        }
        apps.create("macros", "hers", &all, settings(&[("definition", "b")])).await.unwrap();
        apps.share("macros", "hers", &all, "ann", Sharing::App).await.unwrap();
        let readable = |owner: &str, place: &str| {
            let is_hidden = place.contains("closed") || (place.contains("hers") && owner != "ann");
            if is_hidden { None } else { everybody(owner, place) }
        };
        let export = apps.export("shop", readable).await.unwrap();
        let macros = text(&export, "local/macros.conf").unwrap();
        assert!(macros.contains("[open]\ndefinition = open\n"), "{macros}");
        assert!(macros.contains("[hers]\n") && !macros.contains("closed"), "{macros}");
        assert!(text(&export, "lookups/open.csv").is_some());
        assert!(text(&export, "lookups/closed.csv").is_none());
        assert!(!text(&export, METADATA).unwrap().contains("closed"));
        let left_out: Vec<String> =
            export.left_out.iter().map(|one| format!("{}: {}", one.place, one.text)).collect();
        let expected =
            ["lookups", "macros"].map(|kind| format!("{kind}: objects that you may not read: 1"));
        assert_eq!(left_out, expected);
    }

    #[tokio::test]
    async fn an_app_without_its_files_is_not_exported() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "default/macros.conf", "[m]\ndefinition = a\n");
        let (apps, _) = open(&memory(), Some(root.path())).await;
        let all = Namespace::new(NOBODY, "shop");
        apps.create("macros", "n", &all, settings(&[("definition", "b")])).await.unwrap();
        fs::remove_dir_all(root.path().join("apps/shop")).unwrap();
        let refused = apps.export("shop", everybody).await;
        assert!(matches!(refused, Err(Error::File { .. })), "{refused:?}");
        apps.create_app("made", &settings(&[("ui.label", "Made")])).await.unwrap();
        assert!(apps.export("made", everybody).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_export_at_a_time_is_in_memory() {
        let (apps, _) = open(&memory(), None).await;
        apps.create_app("shop", &settings(&[("ui.label", "Shop")])).await.unwrap();
        let first = apps.export_turn().await.unwrap();
        let refused = apps.export("shop", everybody).await;
        assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
        drop(first);
        assert!(apps.export("shop", everybody).await.is_ok());
    }
}

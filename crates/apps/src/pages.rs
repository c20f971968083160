//! Pages of apps: the files below `data/ui` - views, navigation, prebuilt panels - as objects beside those
//! made at run time.
//!
//! Guarantees: a file below `local` hides the one of its name below `default`; an object made at run time
//! hides both. Texts are kept once, outside of the layers, which are copied for every namespace.
//! Leaves to others: what the XML means (`simple_xml`, the console).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conf::{ConfFile, Layer, Layers, Place, Stanza};

/// The key of an object that holds its text.
pub const TEXT: &str = "eai:data";
/// Kinds of pages: the name of their folder below `data/ui`, and of the objects.
pub(crate) const KINDS: [&str; 3] = ["views", "nav", "panels"];
/// Bytes of one page.
const MAX_PAGE_BYTES: u64 = 8 << 20;
/// Maximum size of all pages together, in bytes: they are in memory.
const MAX_BYTES: u64 = 256 << 20;

/// The texts of the pages in files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pages {
    /// The texts by kind, app and name.
    texts: BTreeMap<(&'static str, String, String), Arc<str>>,
}

impl Pages {
    /// Reads the pages of all apps below a directory, and of those that have a directory of their own, and
    /// adds them to the layers. Unreadable pages are logged and left out: an app must not keep the server
    /// from starting.
    pub(crate) fn read(
        directory: Option<&Path>,
        installed: &BTreeMap<String, PathBuf>,
        layers: Layers,
    ) -> (Self, Layers) {
        let mut pages = Self::default();
        let mut left = MAX_BYTES;
        let mut layers = layers;
        let mut places: BTreeMap<String, &Path> = BTreeMap::new();
        if let Some(directory) = directory {
            let apps = folders(&directory.join("apps")).into_iter();
            places.extend(apps.map(|app| (app, directory)));
        }
        let own = installed.iter().map(|(app, directory)| (app.clone(), directory.as_path()));
        places.extend(own);
        for (app, directory) in places {
            // `local` first: the first text of a name stays.
            for folder in ["local", "default"] {
                for kind in KINDS {
                    let path =
                        directory.join("apps").join(&app).join(folder).join("data/ui").join(kind);
                    let found = files(&path, &mut left);
                    if found.is_empty() {
                        continue;
                    }
                    let layer = match folder {
                        "local" => Layer::AppLocal(app.clone()),
                        _ => Layer::AppDefault(app.clone()),
                    };
                    let file: Arc<str> = format!("apps/{app}/{folder}/data/ui/{kind}").into();
                    let place = Place { file: Arc::clone(&file), line: 1 };
                    let mut stanzas = Vec::with_capacity(found.len());
                    for (name, text) in found {
                        let stanza = Stanza {
                            name: name.clone(),
                            place: place.clone(),
                            entries: Vec::new(),
                        };
                        stanzas.push(stanza);
                        pages.texts.entry((kind, app.clone(), name)).or_insert(text);
                    }
                    let file = ConfFile { file, stanzas, warnings: Vec::new() };
                    layers = layers.with_file(layer, kind, file);
                }
            }
        }
        (pages, layers)
    }

    /// The pages that differ from others, or that only one of them has.
    pub(crate) fn changed<'p>(&'p self, others: &'p Self) -> impl Iterator<Item = String> + 'p {
        let all = self.texts.keys().chain(others.texts.keys());
        let differing = all.filter(move |page| self.texts.get(*page) != others.texts.get(*page));
        differing.map(|(kind, app, name)| format!("apps/{app}/data/ui/{kind}/{name}.xml"))
    }

    /// The text of a page in files.
    pub(crate) fn text(&self, kind: &str, app: &str, name: &str) -> Option<&Arc<str>> {
        let kind = KINDS.into_iter().find(|known| *known == kind)?;
        self.texts.get(&(kind, app.to_owned(), name.to_owned()))
    }
}

/// The names of the folders in a folder, sorted.
fn folders(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let named = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        named.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The `.xml` files of a folder by name, without their suffix.
fn files(folder: &Path, left: &mut u64) -> Vec<(String, Arc<str>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".xml"));
        let Some(name) = name.filter(|name| crate::objects::check_name("a page", name).is_ok())
        else {
            continue;
        };
        // Not `metadata`: a link may lead out of the app.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if !metadata.is_file() {
            continue;
        }
        if metadata.len() > MAX_PAGE_BYTES.min(*left) {
            let most = MAX_PAGE_BYTES.min(*left);
            let (path, bytes) = (path.display(), metadata.len());
            tracing::warn!(%path, bytes, most, "a page of an app is too large to be shown");
            continue;
        }
        match fs::read(&path) {
            Ok(bytes) => {
                *left = left.saturating_sub(bytes.len() as u64);
                let text = String::from_utf8_lossy(&bytes);
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                found.push((name.to_owned(), text.into()));
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read a page of an app");
            }
        }
    }
    found.sort();
    found
}

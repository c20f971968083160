//! The files of an app that may be in its package.
//!
//! Guarantees: files of known kinds only, without copies of settings, hidden files, and files outside of the
//! app; all others are named. Links are followed inside the app only, each directory is read once. Leaves to
//! others: secrets in settings.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::install::Remark;
use crate::package::{Limits, is_executable};
use crate::redaction::{has_encrypted, has_private_key};
use crate::{Error, PackedFile};

/// Suffixes of texts.
const TEXTS: [&str; 17] = [
    "conf", "css", "csv", "example", "form", "htm", "html", "js", "json", "manifest", "md", "meta",
    "py", "sh", "spec", "txt", "xml",
];
/// Suffixes of images and fonts.
const IMAGES: [&str; 14] = [
    "bmp", "eot", "gif", "ico", "jpeg", "jpg", "otf", "png", "svg", "ttf", "webp", "woff", "woff2",
    "cur",
];
/// Suffixes of other lookups.
const LOOKUPS: [&str; 3] = ["csv.gz", "kml", "kmz"];
/// Files without suffix that are known.
const NAMES: [&str; 6] = ["CHANGELOG", "COPYING", "LICENSE", "NOTICE", "README", "VERSION"];
/// Suffixes of files with keys.
const KEYS: [&str; 11] =
    ["cer", "crt", "der", "jks", "kdbx", "key", "keystore", "p12", "pem", "pfx", "ppk"];
/// Parts of the names of copies that editors, updates and administrators make.
const COPIES: [&str; 7] = [".bak", ".old", ".orig", ".save", ".swp", ".tmp", "~"];
/// The suffix of a lookup that is used where the file without it is missing.
const SHIPPED: &str = ".default";

/// The files of a package, and the parts that are left out.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<PackedFile>,
    pub(crate) left_out: Vec<Remark>,
}

/// Reads the files of an app.
pub(crate) fn exported_files(root: &Path, limits: &mut Limits) -> Result<Found, Error> {
    let canonical = fs::canonicalize(root).map_err(|source| failed(root, source))?;
    let mut reading = Reading {
        root: canonical.clone(),
        limits,
        found: Found::default(),
        read: BTreeSet::from([canonical.clone()]),
        directories: vec![(PathBuf::new(), canonical)],
        links: Vec::new(),
    };
    // Links come last, so that a directory is found by its own name.
    loop {
        if let Some((inside, directory)) = reading.directories.pop() {
            reading.directory(&inside, &directory)?;
        } else if let Some((inside, target)) = reading.links.pop() {
            match reading.read.insert(target.clone()) {
                true => reading.directories.push((inside, target)),
                false => reading.leave_out(&inside, "a link to a directory that is in the package"),
            }
        } else {
            break;
        }
    }
    let mut found = reading.found;
    found.files.sort();
    found.left_out.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(found)
}

struct Reading<'l> {
    /// The directory of the app, without links.
    root: PathBuf,
    limits: &'l mut Limits,
    found: Found,
    /// The directories that are read, without links.
    read: BTreeSet<PathBuf>,
    /// Directories, each with its path in the package.
    directories: Vec<(PathBuf, PathBuf)>,
    /// Links to directories.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Reading<'_> {
    fn leave_out(&mut self, inside: &Path, text: &str) {
        let place = inside.display().to_string();
        self.found.left_out.push(Remark { place, text: text.to_owned() });
    }

    fn directory(&mut self, inside: &Path, directory: &Path) -> Result<(), Error> {
        let mut names = Vec::new();
        let entries = match fs::read_dir(directory) {
            Err(error) if is_gone(&error) && *directory != self.root => return Ok(()),
            entries => entries.map_err(|source| failed(directory, source))?,
        };
        for entry in entries {
            names.push(entry.map_err(|source| failed(directory, source))?.file_name());
        }
        names.sort();
        for name in names {
            self.limits.take_file()?;
            let path = directory.join(&name);
            match self.entry(&inside.join(&name), &path) {
                // A program of the app has removed the file meanwhile.
                Err(Error::File { source, .. }) if is_gone(&source) => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Reads one entry of a directory; directories are read later.
    fn entry(&mut self, inside: &Path, path: &Path) -> Result<(), Error> {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name else {
            self.leave_out(inside, "the name is not UTF-8");
            return Ok(());
        };
        if name.starts_with("..") {
            // The parts of a mounted ConfigMap, to which its links lead.
            return Ok(());
        }
        if name.starts_with('.') {
            self.leave_out(inside, "a hidden file");
            return Ok(());
        }
        let is_link =
            fs::symlink_metadata(path).map_err(|source| failed(path, source))?.is_symlink();
        let target = match is_link {
            false => path.to_owned(),
            true => match fs::canonicalize(path) {
                Ok(target) if target.starts_with(&self.root) => target,
                Ok(_) => {
                    self.leave_out(inside, "a link to a file outside of the app");
                    return Ok(());
                }
                Err(_) => {
                    self.leave_out(inside, "a link that leads nowhere");
                    return Ok(());
                }
            },
        };
        let metadata = fs::metadata(&target).map_err(|source| failed(path, source))?;
        let is_directory = metadata.is_dir();
        let without_links = target.strip_prefix(&self.root).unwrap_or(&target);
        let why = unknown(inside, is_directory)
            .or_else(|| of_target(inside, without_links, is_directory));
        if let Some(why) = why {
            self.leave_out(inside, why);
            return Ok(());
        }
        if metadata.is_dir() {
            if is_link {
                self.links.push((inside.to_owned(), target));
            } else if self.read.insert(target.clone()) {
                self.directories.push((inside.to_owned(), target));
            }
            return Ok(());
        }
        // Reading a FIFO or a device may never end.
        if !metadata.is_file() {
            self.leave_out(inside, "not a regular file");
            return Ok(());
        }
        let bytes = self.limits.read(&target)?;
        if let Some(why) = secret_file(inside, &bytes) {
            self.limits.give_back(&bytes);
            self.leave_out(inside, why);
            return Ok(());
        }
        let executable = is_executable(&metadata);
        self.found.files.push(PackedFile { path: inside.to_owned(), bytes, executable });
        Ok(())
    }
}

/// Why a file is not in the package, by its path in the app without links, `target`: under another name, a
/// link would give out what is not packed under its own name.
fn of_target(inside: &Path, target: &Path, is_directory: bool) -> Option<&'static str> {
    let parts: Vec<_> =
        target.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let folders = parts.len().saturating_sub(usize::from(!is_directory));
    // The directories of a mounted ConfigMap stand for the directory that they are in.
    let is_of_mount = |at: usize, name: &str| at < folders && name.starts_with("..");
    let parts = parts.into_iter().enumerate().filter(|(at, name)| !is_of_mount(*at, name));
    let names: Vec<_> = parts.map(|(_, name)| name).collect();
    let (name, folders) = names.split_last()?;
    if names.iter().any(|name| name.starts_with('.') || has_keys(name)) {
        return Some("a link to a hidden file or to keys");
    }
    if folders.iter().any(|folder| is_copy(folder, true)) || is_copy(name, is_directory) {
        return Some("a link to a copy, which may have secrets");
    }
    // Secrets in settings are recognized by the name of the file.
    let own = inside.file_name().map(|own| own.to_string_lossy()).unwrap_or_default();
    let is_of_settings = |name: &str| is_of_conf(&name.to_lowercase());
    let is_renamed = !is_directory && own != *name;
    (is_renamed && (is_of_settings(&own) || is_of_settings(name)))
        .then_some("a link to settings of another name")
}

/// Why a file is not in the package, by its path.
pub(crate) fn unknown(inside: &Path, is_directory: bool) -> Option<&'static str> {
    let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let lower = name.to_lowercase();
    if is_copy(name, is_directory) {
        return Some("a copy, which may have secrets");
    }
    if is_directory {
        return None;
    }
    if has_keys(name) {
        return Some("a certificate or key");
    }
    let lower = match inside.starts_with("lookups") {
        true => lower.strip_suffix(SHIPPED).unwrap_or(&lower),
        false => lower.as_str(),
    };
    let suffix = lower.rsplit_once('.').map(|(_, suffix)| suffix);
    let is_of_settings = ["default", "local"].iter().any(|folder| inside.starts_with(folder));
    match suffix {
        Some("conf") if name.ends_with(".conf") && is_of_settings => None,
        Some("conf") => Some("settings outside of default and local"),
        Some("spec" | "example") if inside.starts_with("README") => None,
        Some("spec" | "example") => Some("a file of an unknown kind"),
        _ if is_of_conf(lower) => Some("a copy of settings, which may have secrets"),
        Some(suffix) if TEXTS.contains(&suffix) || IMAGES.contains(&suffix) => None,
        _ if LOOKUPS.iter().any(|end| lower.ends_with(&format!(".{end}"))) => None,
        None if NAMES.iter().any(|known| known.eq_ignore_ascii_case(lower)) => None,
        // Every browser reads them.
        _ if inside.starts_with("static") || inside.starts_with("appserver/static") => None,
        _ => Some("a file of an unknown kind"),
    }
}

/// Whether the name is that of a copy.
fn is_copy(name: &str, is_directory: bool) -> bool {
    let lower = name.to_lowercase();
    // Splunk's own update makes `default.old.20240101`.
    let is_marked = COPIES.iter().any(|part| {
        lower.ends_with(part) || (part.starts_with('.') && lower.contains(&format!("{part}.")))
    });
    is_marked || (is_directory && (lower.starts_with("default.") || lower.starts_with("local.")))
}

/// Whether the name is that of settings, or of settings with something behind it, such as `inputs.conf.1`.
fn is_of_conf(name: &str) -> bool {
    let mut parts = name.split('.').skip(1).filter_map(|part| part.strip_prefix("conf"));
    parts.any(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether the name is that of a file with certificates or keys.
fn has_keys(name: &str) -> bool {
    let suffix = Path::new(name).extension().and_then(|suffix| suffix.to_str());
    suffix.is_some_and(|suffix| KEYS.iter().any(|known| known.eq_ignore_ascii_case(suffix)))
}

/// Why a file is not in the package, by its content. Settings are left out one by one, but for private keys.
pub(crate) fn secret_file(inside: &Path, bytes: &[u8]) -> Option<&'static str> {
    if has_private_key(bytes) {
        return Some("a private key");
    }
    let suffix = inside.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    if !TEXTS.contains(&suffix.to_lowercase().as_str()) {
        return None;
    }
    // UTF-16, or another kind of file with the suffix of a text: nothing can be recognized in it.
    if bytes.contains(&0) {
        return Some("not a text in UTF-8");
    }
    let is_secret = suffix != "conf" && has_encrypted(&String::from_utf8_lossy(bytes));
    is_secret.then_some("an encrypted secret")
}

impl Limits {
    /// Reads a file, which may grow meanwhile.
    fn read(&mut self, path: &Path) -> Result<Vec<u8>, Error> {
        let file = File::open(path).map_err(|source| failed(path, source))?;
        let mut bytes = Vec::new();
        let read = file.take(self.bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| failed(path, source))?;
        self.take_bytes(bytes.len() as u64)?;
        Ok(bytes)
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::File { action: "read", path: path.display().to_string(), source }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_of_known_kinds_are_packed_and_others_are_named() {
        let packed = [
            "default/app.conf",
            "local/data/ui/views/v.xml",
            "default/data/models/m.json",
            "metadata/local.meta",
            "lookups/a.csv",
            "lookups/a.csv.gz",
            "lookups/a.csv.default",
            "bin/run.py",
            "README/inputs.conf.spec",
            "README/inputs.conf.example",
            "README",
            "app.manifest",
            "appserver/static/app.js.map",
            "static/appIcon.png",
            "appserver/static/webpack.config.js",
        ];
        for path in packed {
            assert_eq!(unknown(Path::new(path), false), None, "{path}");
        }
        let left_out = [
            "local/inputs.conf.bak",
            "local/inputs.conf~",
            "local/passwords.conf.old",
            "local/inputs.conf.20240101",
            "local/inputs.old.conf",
            "samples/inputs.conf",
            "bin/inputs.conf.spec",
            "auth/client.p12",
            "auth/CLIENT.KEY",
            "bin/program",
            "bin/lib.so",
            "appserver/static/client.pem",
        ];
        for path in left_out {
            assert!(unknown(Path::new(path), false).is_some(), "{path}");
        }
        for path in ["default.old.20240101", "local.bak", "default.2024"] {
            assert!(unknown(Path::new(path), true).is_some(), "{path}");
        }
        assert_eq!(unknown(Path::new("appserver/static/lib.d"), true), None);
    }

    #[test]
    fn links_are_followed_inside_the_app_and_nothing_is_read_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("app"), folder.path().join("secret.conf"));
        let data = root.join("..2026_01");
        fs::create_dir_all(data.join("default")).unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(&outside, "[a]\n").unwrap();
        fs::write(data.join("default/app.conf"), "[ui]\n").unwrap();
        fs::write(root.join("bin/a.py"), "pass\n").unwrap();
        fs::write(root.join("bin/.b.py.swp"), "x").unwrap();
        // As in a mounted ConfigMap.
        symlink("..2026_01", root.join("..data")).unwrap();
        symlink("..data/default", root.join("default")).unwrap();
        symlink("bin", root.join("again")).unwrap();
        symlink("..", root.join("bin/up")).unwrap();
        symlink(root.join("bin"), root.join("bin/self")).unwrap();
        fs::create_dir_all(root.join("local")).unwrap();
        symlink(&outside, root.join("local/outputs.conf")).unwrap();
        symlink("nowhere", root.join("local/inputs.conf")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("bin/s.txt")).unwrap();
        let found = exported_files(&root, &mut Limits::of("shop")).unwrap();
        let paths: Vec<&str> = found.files.iter().map(|file| file.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["bin/a.py", "default/app.conf"]);
        let left_out: Vec<&str> = found.left_out.iter().map(|one| one.place.as_str()).collect();
        let expected = [
            "again",
            "bin/.b.py.swp",
            "bin/s.txt",
            "bin/self",
            "bin/up",
            "local/inputs.conf",
            "local/outputs.conf",
        ];
        assert_eq!(left_out, expected);
    }

    #[test]
    fn links_do_not_give_out_what_is_not_packed_under_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let folders = [
            "bin",
            "static",
            "local",
            "README",
            ".git",
            ".hidden/sub",
            "default.old.2024",
            "local/..2026_01",
        ];
        for path in folders {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let files = [
            "local/inputs.conf",
            ".git/config",
            ".hidden/sub/a.txt",
            "default.old.2024/y.xml",
            "bin/a.txt",
            "bin/c.sh.bak",
            "local/..2026_01/web.conf",
        ];
        for path in files {
            fs::write(root.join(path), "[a]\ntoken = 4711\n").unwrap();
        }
        let links = [
            ("bin/b.txt", "../local/inputs.conf"),
            ("README/inputs.conf.example", "../local/inputs.conf"),
            ("local/macros.conf", "inputs.conf"),
            ("local/outputs.conf", "../bin/a.txt"),
            ("bin/c.txt", "../.git/config"),
            ("bin/d.txt", "c.sh.bak"),
            ("bin/y.xml", "../default.old.2024/y.xml"),
            ("static/sub", "../.hidden/sub"),
            // As in a mounted ConfigMap.
            ("local/..data", "..2026_01"),
            ("local/web.conf", "..data/web.conf"),
            ("bin/e.txt", "a.txt"),
        ];
        for (path, target) in links {
            symlink(target, root.join(path)).unwrap();
        }
        let found = exported_files(root, &mut Limits::of("shop")).unwrap();
        let paths: Vec<&str> = found.files.iter().map(|file| file.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["bin/a.txt", "bin/e.txt", "local/inputs.conf", "local/web.conf"]);
    }

    #[test]
    fn an_app_above_the_limit_is_refused_without_reading_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "0123456789").unwrap();
        let mut few = Limits { bytes: 9, ..Limits::of("shop") };
        assert!(matches!(exported_files(folder.path(), &mut few), Err(Error::Invalid(_))));
        let mut none = Limits { files: 0, ..Limits::of("shop") };
        assert!(matches!(exported_files(folder.path(), &mut none), Err(Error::Invalid(_))));
        let mut enough = Limits { bytes: 10, files: 1, ..Limits::of("shop") };
        assert_eq!(exported_files(folder.path(), &mut enough).unwrap().files.len(), 1);
    }
}

//! Installing an app: a directory or a packed one becomes a directory of apps, with a report of what
//! Karst uses of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use conf::{ConfFile, Registry, Stanza};
use flate2::read::GzDecoder;

use crate::Error;
use crate::gains::{Found, Gain};
use crate::simple_xml::{self, Level};

/// Bytes that an app may have unpacked: it is in memory while it is installed.
const MAX_BYTES: u64 = 512 << 20;
/// Files that an app may have.
const MAX_FILES: usize = 100_000;

/// What to install where.
#[derive(Debug, Clone)]
pub struct Install {
    /// A directory, or a `.tgz`, `.tar.gz` or `.spl` file.
    pub from: PathBuf,
    /// The directory of configuration, whose `apps` gets the app.
    pub to: PathBuf,
    /// Whether an app of the same name is replaced; its `local` stays.
    pub update: bool,
}

/// What was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The name of the app.
    pub app: String,
    /// How many files it has.
    pub files: usize,
    /// What is not used, and why.
    pub remarks: Vec<Remark>,
    /// How many stanzas of each file are used.
    pub used: Vec<(String, usize)>,
    /// What it adds, in order of weight.
    pub gains: Vec<Gain>,
}

/// Something of an app that Karst does not use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// File and, where it makes sense, line.
    pub place: String,
    /// What, and why.
    pub text: String,
}

/// Files that mean something to Karst, besides those with registered settings.
const USED: [&str; 9] = [
    "app",
    "collections",
    "datamodels",
    "eventtypes",
    "macros",
    "savedsearches",
    "tags",
    "fields",
    "workflow_actions",
];

/// Why a part of an app is not used.
const UNUSED: [(&str, &str); 6] = [
    ("bin", "of the programs of apps those of commands.conf and of inputs are run"),
    ("default/web.conf", "the web console has no parts of apps"),
    ("default/restmap.conf", "REST endpoints of apps are not served"),
    ("default/alert_actions.conf", "alert actions of apps are not run"),
    ("default/distsearch.conf", "searches are distributed without it"),
    ("default/authorize.conf", "roles of apps are not taken over"),
];
/// Folders whose pages are shown.
const PAGES: [&str; 3] = ["views", "nav", "panels"];

/// The file with inputs.
const INPUTS: &str = "inputs";
/// Kinds of inputs that have no settings of their own.
const PLAIN_INPUTS: [&str; 1] = ["fifo"];

/// Installs an app; `settings` are those that the server knows.
///
/// # Errors
/// [`Error::Invalid`] for what is no app, [`Error::Exists`], or a file that cannot be read or written.
pub fn install(install: &Install, settings: &Registry) -> Result<Installed, Error> {
    let files = match install.from.is_dir() {
        true => of_directory(&install.from)?,
        false => of_archive(&install.from)?,
    };
    let (app, files) = app_of(files, &install.from)?;
    let target = install.to.join("apps").join(&app);
    if target.exists() && !install.update {
        return Err(Error::Exists(app));
    }
    let mut report =
        Installed { app, files: 0, remarks: Vec::new(), used: Vec::new(), gains: Vec::new() };
    let mut found = Found::default();
    for (path, bytes) in &files {
        // What the app's own users have changed stays.
        if install.update && path.starts_with("local") && target.join(path).exists() {
            continue;
        }
        let file = target.join(path);
        let fail =
            |source| Error::File { action: "write", path: file.display().to_string(), source };
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(&file, bytes).map_err(fail)?;
        report.files += 1;
        examine(path, bytes, settings, &mut report, &mut found);
    }
    report.gains = found.gains();
    report.used.sort();
    report.remarks.sort_by(|a, b| a.place.cmp(&b.place));
    report.remarks.dedup();
    Ok(report)
}

type Files = Vec<(PathBuf, Vec<u8>)>;

/// The files of a directory. Links to directories are refused, as they may lead back.
fn of_directory(root: &Path) -> Result<Files, Error> {
    let mut files = Vec::new();
    let mut left = MAX_BYTES;
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        let fail = |path: &Path| {
            let path = path.display().to_string();
            move |source| Error::File { action: "read", path, source }
        };
        for entry in fs::read_dir(&folder).map_err(fail(&folder))? {
            let entry = entry.map_err(fail(&folder))?;
            let path = entry.path();
            if entry.file_type().map_err(fail(&path))?.is_dir() {
                waiting.push(path);
                continue;
            }
            let metadata = fs::metadata(&path).map_err(fail(&path))?;
            // Reading a FIFO or a device may never end.
            if !metadata.is_file() {
                let kind = match metadata.is_dir() {
                    true => "a link to a directory: replace it with a copy",
                    false => "not a regular file: remove it",
                };
                let message = format!("{} is {kind}", path.display());
                return Err(Error::Invalid(message));
            }
            if metadata.len() > left || files.len() >= MAX_FILES {
                return Err(too_large(root));
            }
            left -= metadata.len();
            let bytes = fs::read(&path).map_err(fail(&path))?;
            let inside = path.strip_prefix(root).unwrap_or(&path).to_owned();
            files.push((inside, bytes));
        }
    }
    files.sort();
    Ok(files)
}

fn too_large(path: &Path) -> Error {
    let (path, mib) = (path.display(), MAX_BYTES >> 20);
    Error::Invalid(format!("{path} has more than {mib} MiB or {MAX_FILES} files"))
}

/// The files of an archive.
fn of_archive(path: &Path) -> Result<Files, Error> {
    let fail = |source| Error::File { action: "read", path: path.display().to_string(), source };
    let packed = fs::File::open(path).map_err(fail)?;
    let mut archive = tar::Archive::new(GzDecoder::new(packed).take(MAX_BYTES));
    let mut files: Files = Vec::new();
    let mut left = MAX_BYTES;
    let not_an_app = |error: std::io::Error| {
        let message =
            format!("{} is not a packed app (.tgz, .tar.gz, .spl): {error}", path.display());
        Error::Invalid(message)
    };
    for entry in archive.entries().map_err(not_an_app)? {
        let mut entry = entry.map_err(not_an_app)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let inside = entry.path().map_err(not_an_app)?.into_owned();
        let inside: PathBuf = inside.components().filter(|c| *c != Component::CurDir).collect();
        let sound = inside.components().all(|part| matches!(part, Component::Normal(_)));
        if !sound {
            let message =
                format!("{} has a file outside of it: {}", path.display(), inside.display());
            return Err(Error::Invalid(message));
        }
        let mut bytes = Vec::new();
        // A sparse file has more bytes than the archive.
        entry.by_ref().take(left + 1).read_to_end(&mut bytes).map_err(not_an_app)?;
        if bytes.len() as u64 > left || files.len() >= MAX_FILES {
            return Err(too_large(path));
        }
        left -= bytes.len() as u64;
        files.push((inside, bytes));
    }
    files.sort();
    Ok(files)
}

/// What an app has at least one of.
const PARTS: [&str; 4] = ["default", "local", "lookups", "metadata"];

/// The name of the app, and its files without its directory in front of them.
fn app_of(files: Files, from: &Path) -> Result<(String, Files), Error> {
    if files.iter().any(|(path, _)| PARTS.iter().any(|part| path.starts_with(part))) {
        let name = from.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let ends = [".tar.gz", ".tgz", ".spl"];
        let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        return Ok((name.to_owned(), files));
    }
    let folder_of_app = |path: &Path| {
        let mut parts = path.components().map(|part| part.as_os_str().to_string_lossy());
        let (folder, part) = (parts.next()?, parts.next()?);
        (PARTS.contains(&&*part)).then(|| folder.into_owned())
    };
    let apps: BTreeSet<String> = files.iter().filter_map(|(path, _)| folder_of_app(path)).collect();
    let shown = from.display();
    let mut names = apps.into_iter();
    let Some(name) = names.next() else {
        let message = format!("{shown} is not an app: it has no {}", PARTS.join(", no "));
        return Err(Error::Invalid(message));
    };
    let others: Vec<String> = names.collect();
    if !others.is_empty() {
        let others = others.join(", ");
        let message =
            format!("{shown} has several apps: {name}, {others}; install each of them separately");
        return Err(Error::Invalid(message));
    }
    let inside = |(path, bytes): (PathBuf, Vec<u8>)| {
        path.strip_prefix(&name).ok().map(|path| (path.to_owned(), bytes))
    };
    let files = files.into_iter().filter_map(inside).collect();
    Ok((name, files))
}

/// Whether a file is a page of a kind, which the console shows.
fn is_page(path: &Path, kind: &str) -> bool {
    let folder = path.parent();
    let inside = |layer: &str| folder == Some(&Path::new(layer).join("data/ui").join(kind));
    path.extension().is_some_and(|suffix| suffix == "xml") && (inside("default") || inside("local"))
}

/// Why a file for browsers is not served.
fn unserved(path: &Path) -> Option<&'static str> {
    if path.starts_with("appserver/static") && crate::media_type(path).is_none() {
        return Some("of the files of apps for browsers, images and style sheets are served");
    }
    if path.starts_with("appserver") && !path.starts_with("appserver/static") {
        return Some("pages of apps are not served");
    }
    if path.starts_with("static") && crate::media_type(path).is_none() {
        return Some("of the pictures of an app, those in appserver/static are served");
    }
    let in_pages = path.starts_with("default/data/ui") || path.starts_with("local/data/ui");
    (in_pages && !PAGES.iter().any(|kind| is_page(path, kind)))
        .then_some("of data/ui, views, nav and panels are used")
}

/// Notes what is used of a file and what is not.
fn examine(
    path: &Path,
    bytes: &[u8],
    registry: &Registry,
    report: &mut Installed,
    found: &mut Found,
) {
    let shown = path.display().to_string();
    if let Some((_, why)) = UNUSED.iter().find(|(part, _)| path.starts_with(part)) {
        report.remarks.push(Remark { place: shown, text: (*why).to_owned() });
        return;
    }
    if let Some(text) = unserved(path) {
        report.remarks.push(Remark { place: shown, text: text.to_owned() });
        return;
    }
    if is_page(path, "views") {
        let view = simple_xml::report(&String::from_utf8_lossy(bytes));
        found.view(path, view.level);
        let lost = view.findings.iter().filter(|finding| finding.level > Level::Ignored);
        report.remarks.extend(lost.map(|finding| Remark {
            place: format!("{shown}:{}", finding.line),
            text: finding.text().to_owned(),
        }));
        return;
    }
    let Some(conf) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".conf")) else {
        found.file(path);
        return;
    };
    let file = ConfFile::parse(&shown, &String::from_utf8_lossy(bytes));
    for warning in &file.warnings {
        report
            .remarks
            .push(Remark { place: warning.place.to_string(), text: warning.text.clone() });
    }
    if registry.settings(conf).next().is_none() && !USED.contains(&conf) {
        let text = "this file means nothing to Karst".to_owned();
        report.remarks.push(Remark { place: shown, text });
        return;
    }
    for stanza in &file.stanzas {
        if conf == INPUTS && is_modular(stanza, registry) {
            let text = "modular inputs of apps are not run".to_owned();
            report.remarks.push(Remark { place: stanza.place.to_string(), text });
            found.modular_input(&stanza.name);
            continue;
        }
        for warning in registry.check(conf, stanza) {
            let place = warning.place.to_string();
            report.remarks.push(Remark { place, text: warning.text });
        }
    }
    // Others, such as samples, are not read.
    if path.parent().is_some_and(|folder| folder.ends_with("default") || folder.ends_with("local"))
    {
        found.settings(conf, &file);
    }
    match report.used.iter_mut().find(|(known, _)| known == conf) {
        Some((_, count)) => *count += file.stanzas.len(),
        None => report.used.push((conf.to_owned(), file.stanzas.len())),
    }
}

/// Whether a stanza of `inputs.conf` is an input of a kind that an app defines, such as `snow://cmdb`.
fn is_modular(stanza: &Stanza, registry: &Registry) -> bool {
    let Some((kind, _)) = stanza.name.split_once("://") else { return false };
    let declared =
        |setting: &&conf::Setting| !setting.stanza.is_empty() && setting.is_in(&stanza.name);
    !PLAIN_INPUTS.contains(&kind) && !registry.settings(INPUTS).any(|setting| declared(&setting))
}

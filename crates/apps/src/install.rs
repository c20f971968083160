//! Installs an app: copies a directory or a packed app into a directory of apps, with a report of the parts
//! that Karst uses.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use conf::{ConfFile, Registry, Stanza, Warning};
use knowledge::index_time::without_effect;

use crate::gains::{Found, Gain};
use crate::media_types::media_type;
use crate::python::needing_splunk;
use crate::simple_xml::{self, Level};
use crate::{Error, Package};

/// The source and the target of an installation.
#[derive(Debug, Clone)]
pub struct Install {
    /// A directory, or a `.tgz`, `.tar.gz` or `.spl` file.
    pub from: PathBuf,
    /// The directory of configuration, whose `apps` gets the app.
    pub to: PathBuf,
    /// Whether an app of the same name is replaced; its `local` stays.
    pub update: bool,
}

/// The report of an installed app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The name of the app.
    pub app: String,
    /// Number of files of the app.
    pub files: usize,
    /// The parts that are not used, and why.
    pub remarks: Vec<Remark>,
    /// Number of used stanzas of each file.
    pub used: Vec<(String, usize)>,
    /// The app's definitions by kind, the most important first.
    pub gains: Vec<Gain>,
}

/// Something of an app that Karst does not use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// File and, where it makes sense, line.
    pub place: String,
    /// The part and the reason.
    pub text: String,
}

/// Files that Karst uses, besides those with registered settings.
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
    ("bin", "of the programs of an app, only those of commands.conf and of inputs are run"),
    (
        "default/web.conf",
        "custom endpoints and static pages of apps are not served; their dashboards are shown",
    ),
    ("default/restmap.conf", "REST endpoints of apps are not served"),
    ("default/alert_actions.conf", "alert actions of apps are not run"),
    ("default/distsearch.conf", "searches are distributed without it"),
    ("default/authorize.conf", "roles of apps are not used"),
];
/// Folders whose pages are shown.
const PAGES: [&str; 3] = ["views", "nav", "panels"];

/// Maximum number of remarks about lines of one file that cannot be read: a damaged file may have one for
/// each line.
const UNREADABLE: usize = 100;

/// The file with inputs.
const INPUTS: &str = "inputs";
/// Kinds of inputs that have no settings of their own.
const PLAIN_INPUTS: [&str; 1] = ["fifo"];

/// Files that count only in a directory of configuration: inputs would run in every process, and settings of
/// processes belong to the machine and need a restart.
const OF_PROCESSES: [&str; 7] =
    ["authentication", INPUTS, "limits", "outputs", "restmap", "server", "web"];

/// Whether a file counts in an app that is installed in a running server.
#[must_use]
pub fn counts_installed(conf: &str) -> bool {
    !OF_PROCESSES.contains(&conf)
}

/// The target of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A directory of configuration.
    Directory,
    /// A running server.
    Server,
}

/// Installs an app; `settings` are the registered ones.
///
/// # Errors
/// [`Error::Invalid`] if the source is not an app, [`Error::Exists`], or a file that cannot be read or
/// written.
pub fn install(install: &Install, settings: &Registry) -> Result<Installed, Error> {
    let mut package = Package::read(&install.from)?;
    let target = install.to.join("apps").join(&package.app);
    if target.exists() && !install.update {
        return Err(Error::Exists(package.app));
    }
    // Changes by the app's own users are kept.
    let stays = |path: &Path| install.update && is_local(path) && target.join(path).exists();
    package.files.retain(|file| !stays(&file.path));
    for file in &package.files {
        file.write_below(&target)?;
    }
    Ok(report(&package, Target::Directory, settings))
}

/// Whether a file of an app is its users' own: an update leaves it alone.
pub(crate) fn is_local(path: &Path) -> bool {
    path.starts_with("local") || path == Path::new("metadata/local.meta")
}

/// Reports the parts of an app that Karst uses; `settings` are the registered ones.
#[must_use]
pub fn report(package: &Package, target: Target, settings: &Registry) -> Installed {
    let app = package.app.clone();
    let files = package.files.len();
    let (remarks, used, gains) = (Vec::new(), Vec::new(), Vec::new());
    let mut report = Installed { app, files, remarks, used, gains };
    let mut found = Found::default();
    for file in &package.files {
        let conf = file.path.file_name().and_then(|name| name.to_str()?.strip_suffix(".conf"));
        if target == Target::Server && conf.is_some_and(|conf| !counts_installed(conf)) {
            let text = "this file is used only in apps of the configuration directory (--conf-dir)";
            let place = file.path.display().to_string();
            report.remarks.push(Remark { place, text: text.to_owned() });
            continue;
        }
        examine(&file.path, &file.bytes, settings, &mut report, &mut found);
    }
    let needing = needing_splunk(&package.files);
    for program in found.needing_splunk(&needing) {
        let module = needing.get(&program).map_or("splunk", String::as_str);
        let text = format!(
            "the program of a search command imports the Python module {module}, which is part of Splunk and not \
             of Karst: the command cannot run"
        );
        report.remarks.push(Remark { place: format!("bin/{program}"), text });
    }
    report.remarks.extend(package.left_out());
    report.gains = found.gains();
    report.used.sort();
    report.remarks.sort_by(|a, b| a.place.cmp(&b.place));
    report.remarks.dedup();
    report
}

impl Package {
    /// Returns the files of the archive that are not in the package.
    pub fn left_out(&self) -> impl Iterator<Item = Remark> {
        self.links.iter().map(|link| Remark {
            place: link.display().to_string(),
            text: "a link in an archive is left out: replace it with a copy of the file that it points to"
                .to_owned(),
        })
    }
}

/// Whether a file is a page of a kind, which the console shows.
fn is_page(path: &Path, kind: &str) -> bool {
    let folder = path.parent();
    let inside = |layer: &str| folder == Some(&Path::new(layer).join("data/ui").join(kind));
    path.extension().is_some_and(|suffix| suffix == "xml") && (inside("default") || inside("local"))
}

/// Why a file for browsers is not served.
fn unserved(path: &Path) -> Option<&'static str> {
    if path.starts_with("appserver/static") && media_type(path).is_none() {
        return Some("of an app's files for browsers, only images and style sheets are served");
    }
    if path.starts_with("appserver") && !path.starts_with("appserver/static") {
        return Some("pages of apps are not served");
    }
    if path.starts_with("static") && media_type(path).is_none() {
        return Some("of an app's images, only those in appserver/static are served");
    }
    let in_pages = path.starts_with("default/data/ui") || path.starts_with("local/data/ui");
    (in_pages && !PAGES.iter().any(|kind| is_page(path, kind)))
        .then_some("of data/ui, only views, nav and panels are used")
}

/// The folders of an app whose `.conf` files are read.
const LAYERS: [&str; 2] = ["default", "local"];

/// Adds the used and unused parts of a file to the report.
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
    if !LAYERS.iter().any(|folder| path.parent() == Some(Path::new(folder))) {
        let text = "of .conf files, only those in default and local of the app are read".to_owned();
        report.remarks.push(Remark { place: shown, text });
        return;
    }
    let decoded = String::from_utf8_lossy(bytes);
    if matches!(decoded, Cow::Owned(_)) {
        let text = "the file is not UTF-8; bad bytes were replaced".to_owned();
        // With a line, as a remark without one is about a file that is not used.
        report.remarks.push(Remark { place: format!("{shown}:1"), text });
    }
    let file = ConfFile::parse(&shown, &decoded);
    report.remarks.extend(unreadable(&file.warnings));
    if registry.settings(conf).next().is_none() && !USED.contains(&conf) {
        let text = "this file is not used by Karst".to_owned();
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
        let unused = (conf == "transforms").then(|| without_effect(stanza)).flatten();
        for warning in registry.check_unnamed(conf, stanza).into_iter().chain(unused) {
            let place = warning.place.to_string();
            report.remarks.push(Remark { place, text: warning.text });
        }
    }
    found.settings(conf, &file);
    match report.used.iter_mut().find(|(known, _)| known == conf) {
        Some((_, count)) => *count += file.stanzas.len(),
        None => report.used.push((conf.to_owned(), file.stanzas.len())),
    }
}

/// Returns the remarks about lines of a file that cannot be read; of many, the first ones and a count.
fn unreadable(warnings: &[Warning]) -> impl Iterator<Item = Remark> {
    let (first, others) = warnings.split_at(warnings.len().min(UNREADABLE));
    let first = first.iter().map(|warning| (&warning.place, warning.text.clone()));
    let count = format!("{} further lines cannot be read", others.len());
    let others = others.first().map(|warning| (&warning.place, count));
    first.chain(others).map(|(place, text)| Remark { place: place.to_string(), text })
}

/// Whether a stanza of `inputs.conf` is an input of a kind that an app defines, such as `snow://cmdb`.
fn is_modular(stanza: &Stanza, registry: &Registry) -> bool {
    let Some((kind, _)) = stanza.name.split_once("://") else { return false };
    let declared =
        |setting: &&conf::Setting| !setting.stanza.is_empty() && setting.is_in(&stanza.name);
    !PLAIN_INPUTS.contains(&kind) && !registry.settings(INPUTS).any(|setting| declared(&setting))
}

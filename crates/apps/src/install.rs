//! Installs an app: copies a directory or a packed app into a directory of apps, with a report of the parts
//! that Karst uses.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use conf::{ConfFile, Registry, Stanza, Warning};
use knowledge::index_time::without_effect;

use crate::gains::{Found, Gain};
use crate::media_types::media_type;
use crate::python::unable;
use crate::simple_xml::{self, Level};
use crate::{Error, Package, PackedFile};

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

/// Why a file in `default` or `local` of an app is not used.
const UNUSED: [(&str, &str); 6] = [
    (WEB, "custom endpoints and static pages of apps are not served; their dashboards are shown"),
    ("restmap.conf", "REST endpoints of apps are not served"),
    ("alert_actions.conf", "alert actions of apps are not run"),
    ("distsearch.conf", "searches are distributed without it"),
    ("authorize.conf", "roles of apps are not used"),
    (SETUP, "set-up pages of apps are not shown: write what it sets into files of the app"),
];
/// The stanza with the defaults of the other stanzas.
const DEFAULT: &str = "default";
/// The file with endpoints of the console, and with settings of it.
const WEB: &str = "web.conf";
/// The set-up page of an app.
const SETUP: &str = "setup.xml";
/// The folder with the programs of an app.
const PROGRAMS: &str = "bin";
/// The file that declares the kinds of modular inputs of an app.
const INPUTS_SPEC: &str = "README/inputs.conf.spec";
/// Folders whose pages are shown.
const PAGES: [&str; 3] = ["views", "nav", "panels"];

/// The kinds of files whose content rules and reports read.
const EXAMINED: [&str; 7] = ["conf", "form", "json", "meta", "py", "spec", "xml"];

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

/// Whether the content of a file has a meaning for rules or for reports: settings, views and other objects,
/// and what programs import. Of other files, they need the path only.
pub(crate) fn is_examined(path: &Path) -> bool {
    path.extension().is_some_and(|kind| EXAMINED.iter().any(|known| kind == *known))
}

/// Reports the parts of an app that Karst uses; `settings` are the registered ones.
#[must_use]
pub fn report(package: &Package, target: Target, settings: &Registry) -> Installed {
    let app = package.app.clone();
    let files = package.paths().count();
    let (remarks, used, gains) = (Vec::new(), Vec::new(), Vec::new());
    let mut report = Installed { app, files, remarks, used, gains };
    let mut found = Found::with_modular_inputs(modular_kinds(&package.files, settings));
    for file in &package.files {
        let is_examined = target == Target::Directory || !is_of_processes(file);
        match is_examined {
            true => examine(&file.path, &file.bytes, settings, &mut report, &mut found),
            false => report.remarks.extend(about_processes(file, settings, &mut found)),
        }
    }
    for file in &package.kept {
        debug_assert!(!is_examined(Path::new(&file.path)), "{}", file.path);
        examine(Path::new(&file.path), &[], settings, &mut report, &mut found);
    }
    report.remarks.extend(unused_programs(package, target, &found));
    let unable = unable(&package.files);
    for program in found.unable(&unable) {
        let reason = unable.get(&program).map_or("is missing", String::as_str);
        let text = format!("the program of a search command {reason}; the command cannot run");
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

/// The kinds of modular inputs that an app declares.
fn modular_kinds(files: &[PackedFile], registry: &Registry) -> BTreeSet<String> {
    let spec = files.iter().find(|file| file.path == Path::new(INPUTS_SPEC));
    let text = spec.map(|file| String::from_utf8_lossy(&file.bytes)).unwrap_or_default();
    let stanzas = ConfFile::parse(INPUTS_SPEC, &text).stanzas;
    let names = stanzas.iter().map(|stanza| stanza.name.as_str());
    let names = names.filter(|name| is_other_kind(name, registry));
    names.filter_map(|name| Some(name.split_once("://")?.0.to_owned())).collect()
}

/// Whether a file counts only in a directory of configuration.
fn is_of_processes(file: &PackedFile) -> bool {
    let counts = conf_of(&file.path).is_none_or(counts_installed);
    !counts && is_in_layer(&file.path) && unused(&file.path, &file.bytes).is_none()
}

/// Returns the remarks about a file that counts only in a directory of configuration.
fn about_processes(file: &PackedFile, registry: &Registry, found: &mut Found) -> Vec<Remark> {
    let place = file.path.display().to_string();
    let mut remarks = Vec::new();
    let mut others = 1;
    if conf_of(&file.path) == Some(INPUTS) {
        // Modular inputs do not count there either.
        let inputs = ConfFile::parse(&place, &String::from_utf8_lossy(&file.bytes)).stanzas;
        let is_modular = |stanza: &&Stanza| is_modular(stanza, &found.modular_kinds, registry);
        let modular: Vec<&Stanza> = inputs.iter().filter(is_modular).collect();
        let is_other = |stanza: &&Stanza| stanza.name != DEFAULT && !is_modular(stanza);
        others = inputs.iter().filter(is_other).count();
        remarks.extend(modular.iter().map(|stanza| not_run(stanza)));
        found.modular_inputs.extend(modular.iter().map(|stanza| stanza.name.clone()));
    }
    if others > 0 || remarks.is_empty() {
        let text = "this file is used only in apps of the configuration directory (--conf-dir)";
        remarks.push(Remark { place, text: text.to_owned() });
    }
    remarks
}

/// The remark about a modular input.
fn not_run(stanza: &Stanza) -> Remark {
    let text = "modular inputs of apps are not run".to_owned();
    Remark { place: stanza.place.to_string(), text }
}

/// Returns the remarks about the files in the folder of programs that nothing runs.
fn unused_programs<'a>(
    package: &'a Package,
    target: Target,
    found: &Found,
) -> impl Iterator<Item = Remark> + use<'a> {
    let run = found.programs();
    let text = match target {
        Target::Server => {
            "of the programs of an app, only those of commands.conf and of lookups are run, with the modules \
             that they import"
        }
        Target::Directory => {
            "of the programs of an app, only those of commands.conf, of lookups and of inputs are run, with the \
             modules that they import"
        }
    };
    let programs = package.paths().filter(|path| path.starts_with(PROGRAMS));
    let is_run = move |path: &Path| {
        let name = path.strip_prefix(PROGRAMS).ok().and_then(Path::to_str);
        name.is_some_and(|name| run.contains(name))
    };
    let unused = programs.filter(move |path| !is_run(path));
    unused.map(move |path| Remark { place: path.display().to_string(), text: text.to_owned() })
}

/// The name of a configuration file, without `.conf`.
pub(crate) fn conf_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_suffix(".conf")
}

/// Whether a file is directly in one of the folders whose `.conf` files are read.
fn is_in_layer(path: &Path) -> bool {
    LAYERS.iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

/// Why a file is not used.
fn unused(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    let name = path.file_name().filter(|_| is_in_layer(path))?.to_str()?;
    let (_, why) = UNUSED.iter().find(|(file, _)| *file == name)?;
    // Settings of the console are used.
    let is_endpoint = |stanza: &Stanza| !["settings", DEFAULT].contains(&stanza.name.as_str());
    let has_endpoints = || {
        let file = ConfFile::parse(name, &String::from_utf8_lossy(bytes));
        file.stanzas.iter().any(is_endpoint)
    };
    (name != WEB || has_endpoints()).then_some(*why)
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
    // They depend on the settings.
    if path.starts_with(PROGRAMS) {
        return;
    }
    let shown = path.display().to_string();
    if let Some(why) = unused(path, bytes) {
        report.remarks.push(Remark { place: shown.clone(), text: why.to_owned() });
        match conf_of(path) {
            Some(conf) => {
                found.unused(conf, &ConfFile::parse(&shown, &String::from_utf8_lossy(bytes)));
            }
            None => found.has_set_up_page = true,
        }
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
    let Some(conf) = conf_of(path) else {
        found.file(path);
        return;
    };
    if !is_in_layer(path) {
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
    let mut used = file.stanzas.len();
    for stanza in &file.stanzas {
        if conf == INPUTS && is_modular(stanza, &found.modular_kinds, registry) {
            report.remarks.push(not_run(stanza));
            found.modular_inputs.insert(stanza.name.clone());
            used -= 1;
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
        Some((_, count)) => *count += used,
        // Nothing but modular inputs.
        None if used == 0 && used < file.stanzas.len() => {}
        None => report.used.push((conf.to_owned(), used)),
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

/// Whether a stanza of `inputs.conf` is an input of a kind that an app defines, such as `snow://cmdb`, or has
/// the defaults of one of these `kinds`.
fn is_modular(stanza: &Stanza, kinds: &BTreeSet<String>, registry: &Registry) -> bool {
    let name = &stanza.name;
    (name != DEFAULT && kinds.contains(name)) || is_other_kind(name, registry)
}

/// Whether an input is of a kind that Karst does not have.
fn is_other_kind(name: &str, registry: &Registry) -> bool {
    let Some((kind, _)) = name.split_once("://") else { return false };
    let declared = |setting: &&conf::Setting| !setting.stanza.is_empty() && setting.is_in(name);
    !PLAIN_INPUTS.contains(&kind) && !registry.settings(INPUTS).any(|setting| declared(&setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the report about an app with these files: remarks, and then gains.
    fn told(files: &[(&str, &str)], target: Target) -> Vec<String> {
        const INPUTS: &[conf::Setting] = &[conf::Setting {
            stanza: "script://<program>",
            ..conf::Setting::without_effect("inputs", "index")
        }];
        let file = |(path, text): &(&str, &str)| PackedFile {
            path: path.into(),
            bytes: text.as_bytes().to_vec(),
            executable: false,
        };
        let files = files.iter().map(file).collect();
        let package = Package { app: "ta".to_owned(), files, kept: Vec::new(), links: Vec::new() };
        let settings = Registry::new(&[knowledge::settings::DECLARED, &[INPUTS]]);
        let report = report(&package, target, &settings);
        let remarks = report.remarks.iter().map(|one| format!("{}: {}", one.place, one.text));
        let gains = report.gains.iter().map(|gain| format!("{} {}", gain.what, gain.text));
        remarks.chain(gains).collect()
    }

    #[test]
    fn what_runs_nowhere_is_named_in_both_kinds_of_installation() {
        let files = [
            ("README/inputs.conf.spec", "[snow://<name>]\ntable = <string>\n"),
            ("default/alert_actions.conf", "[page]\nlabel = x\n[mail]\n"),
            ("default/inputs.conf", "[snow]\ninterval = 60\n[snow://a]\ntable = b\n"),
            (
                "default/restmap.conf",
                "[admin:a]\nmembers = one\n[script:one]\nmatch = /one\n[global]\nx = 1\n",
            ),
            ("default/setup.xml", "<setup/>"),
            ("default/web.conf", "[expose:one]\npattern = one\n"),
        ];
        for target in [Target::Server, Target::Directory] {
            let wanted = [
                "default/alert_actions.conf: alert actions of apps are not run",
                "default/inputs.conf:1: modular inputs of apps are not run",
                "default/inputs.conf:3: modular inputs of apps are not run",
                "default/restmap.conf: REST endpoints of apps are not served",
                "default/setup.xml: set-up pages of apps are not shown: write what it sets into files of the app",
                "default/web.conf: custom endpoints and static pages of apps are not served; their dashboards are shown",
                "modular inputs 1, which are not run",
                "alert actions 2, which are not run",
                "REST endpoints 1, which are not served",
                "set-up pages 1, not shown",
            ];
            assert_eq!(told(&files, target), wanted, "{target:?}");
        }
    }

    #[test]
    fn a_file_of_a_process_counts_only_in_a_directory_and_only_in_a_layer() {
        let files = [
            ("default/inputs.conf", "[snow://a]\n[fifo:///a]\n"),
            ("default/web.conf", "[settings]\nmax_upload_size = 7\n"),
            ("inputs.conf", "[fifo:///b]\n"),
        ];
        let of_directory =
            "this file is used only in apps of the configuration directory (--conf-dir)";
        let wanted = [
            format!("default/inputs.conf: {of_directory}"),
            "default/inputs.conf:1: modular inputs of apps are not run".to_owned(),
            format!("default/web.conf: {of_directory}"),
            "inputs.conf: of .conf files, only those in default and local of the app are read"
                .to_owned(),
        ];
        assert_eq!(told(&files, Target::Server)[..4], wanted);
    }

    #[test]
    fn defaults_of_all_inputs_are_no_modular_input_whatever_the_app_declares() {
        let files = [
            ("README/inputs.conf.spec", "[default://<name>]\n"),
            ("default/inputs.conf", "[default]\nindex = a\n"),
        ];
        let wanted = [
            "default/inputs.conf: this file is used only in apps of the configuration directory (--conf-dir)",
            "modular inputs 1, which are not run",
        ];
        assert_eq!(told(&files, Target::Server), wanted);
    }

    #[test]
    fn programs_that_are_run_are_not_reported() {
        let files = [
            ("bin/input.sh", ""),
            ("bin/look.py", ""),
            ("bin/other.py", ""),
            ("bin/run.py", ""),
            ("default/commands.conf", "[run]\n"),
            ("default/inputs.conf", "[script://./bin/input.sh -x]\nindex = a\n"),
            ("default/transforms.conf", "[l]\nexternal_cmd = look.py a b\nfields_list = a, b\n"),
        ];
        let unused = |target| {
            let told = told(&files, target).into_iter();
            let about =
                told.filter_map(|line| Some(line.split_once(": of the programs")?.0.to_owned()));
            about.collect::<Vec<_>>()
        };
        assert_eq!(unused(Target::Server), ["bin/input.sh", "bin/other.py"]);
        assert_eq!(unused(Target::Directory), ["bin/other.py"]);
    }
}

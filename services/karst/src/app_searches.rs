//! The searches of an app, and the macros and commands that they use and nothing defines.
//!
//! Searches are those of `savedsearches.conf`, `eventtypes.conf`, views and panels; `local` takes precedence
//! over `default`. Macros are followed into the definitions of other macros. A search is parsed once, so the
//! time is linear in the size of the searches. Leaves to others: which objects an app sees (`conf`).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use apps::{AppSearch, Missing, NOBODY, SearchCheck};
use conf::{Layer, Layers};
use knowledge::Knowledge;
use plan::Macros;
use spl::{CustomCommands, ParseOptions};

use crate::config::FileKind;
use crate::searches;

/// The folders whose files are read, in the order of precedence.
const LAYERS: [&str; 2] = ["default", "local"];
/// Files with searches in stanzas.
const CONFS: [&str; 2] = ["savedsearches.conf", "eventtypes.conf"];
/// Folders of pages with searches.
const PAGES: [&str; 2] = ["data/ui/views", "data/ui/panels"];
/// Files that define what searches use, and what that is.
const DEFINITIONS: [(&str, &str); 2] = [("macros", MACRO), ("commands", COMMAND)];
/// The kinds of what searches use.
pub(crate) const MACRO: &str = "macro";
pub(crate) const COMMAND: &str = "command";
/// The reasons for a missing macro, in the words of Splunk.
const REASONS: &str = "Reasons include: the macro name is misspelled, you do not have \"read\" permission for \
                       the macro, or the macro has not been shared with this application";

/// Apps that are known to define macros and commands. A `*` stands for the rest of a name.
const KNOWN: [(&str, &str, &str); 14] = [
    (MACRO, "cim_*", "Splunk_SA_CIM (Splunk Common Information Model Add-on)"),
    (MACRO, "drop_dm_object_name", "Splunk_SA_CIM (Splunk Common Information Model Add-on)"),
    (MACRO, "security_content_*", "DA-ESS-ContentUpdate (Splunk ES Content Update)"),
    (MACRO, "dmc_*", "splunk_monitoring_console"),
    (MACRO, "ut_*", "utbox (URL Toolbox)"),
    (COMMAND, "dbxquery", "splunk_app_db_connect (Splunk DB Connect)"),
    (COMMAND, "dbxlookup", "splunk_app_db_connect (Splunk DB Connect)"),
    (COMMAND, "dbxoutput", "splunk_app_db_connect (Splunk DB Connect)"),
    (COMMAND, "dbquery", "dbx (Splunk DB Connect 1)"),
    (COMMAND, "ldapsearch", "SA-ldapsearch (Splunk Supporting Add-on for Active Directory)"),
    (COMMAND, "ldapfilter", "SA-ldapsearch (Splunk Supporting Add-on for Active Directory)"),
    (COMMAND, "ldapfetch", "SA-ldapsearch (Splunk Supporting Add-on for Active Directory)"),
    (COMMAND, "ldapgroup", "SA-ldapsearch (Splunk Supporting Add-on for Active Directory)"),
    (
        COMMAND,
        "ldaptestconnection",
        "SA-ldapsearch (Splunk Supporting Add-on for Active Directory)",
    ),
];

/// Returns the searches in files of an app, by their paths below its directory.
pub(crate) fn of_files<'f>(
    files: impl IntoIterator<Item = (&'f Path, &'f [u8])>,
) -> Vec<AppSearch> {
    let mut found: BTreeMap<(PathBuf, String), Vec<AppSearch>> = BTreeMap::new();
    for (path, bytes) in files {
        let Some((is_local, below, kind)) = placed(path) else { continue };
        let shown = path.display().to_string();
        // Only YAML, which apps do not have, may be invalid.
        let Ok(read) = searches::of(&shown, &String::from_utf8_lossy(bytes), kind, false) else {
            continue;
        };
        let mut of_file: BTreeMap<String, Vec<AppSearch>> = BTreeMap::new();
        for one in read {
            // A page is replaced as a whole, a file of settings by stanza.
            let name = if kind == FileKind::Conf { one.name } else { String::new() };
            let search = AppSearch { place: format!("{shown}:{}", one.line), text: one.text };
            of_file.entry(name).or_default().push(search);
        }
        for (name, read) in of_file {
            match found.entry((below.to_owned(), name)) {
                Entry::Vacant(place) => {
                    place.insert(read);
                }
                Entry::Occupied(mut place) if is_local => {
                    place.insert(read);
                }
                Entry::Occupied(_) => {}
            }
        }
    }
    found.into_values().flatten().collect()
}

/// Whether a file is in `local`, its path below the layer, and its kind; `None` if it has no searches.
fn placed(path: &Path) -> Option<(bool, &Path, FileKind)> {
    let (layer, below) =
        LAYERS.iter().find_map(|layer| Some((*layer, path.strip_prefix(layer).ok()?)))?;
    let is_conf = CONFS.iter().any(|conf| below == Path::new(conf));
    let is_page = below.extension().is_some_and(|suffix| suffix == "xml")
        && PAGES.iter().any(|folder| below.parent() == Some(Path::new(folder)));
    let kind = match (is_conf, is_page) {
        (true, _) => FileKind::Conf,
        (false, true) => FileKind::Xml,
        (false, false) => return None,
    };
    Some((layer == "local", below, kind))
}

/// Reads the searches of the app in a directory.
pub(crate) fn in_directory(app: &Path) -> Result<Vec<AppSearch>> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for layer in LAYERS {
        let mut paths: Vec<PathBuf> =
            CONFS.iter().map(|conf| Path::new(layer).join(conf)).collect();
        for folder in PAGES {
            let folder = Path::new(layer).join(folder);
            let names = match std::fs::read_dir(app.join(&folder)) {
                Ok(names) => names,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(error).with_context(|| cannot_read(&app.join(&folder))),
            };
            for name in names {
                let name = name.with_context(|| cannot_read(&app.join(&folder)))?;
                paths.push(folder.join(name.file_name()));
            }
        }
        for path in paths.into_iter().filter(|path| placed(path).is_some()) {
            if let Some(bytes) = read(&app.join(&path))? {
                files.push((path, bytes));
            }
        }
    }
    Ok(of_files(files.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice()))))
}

/// Reads what the apps in these directories define for searches, and with whom they share it.
pub(crate) fn definitions<'a>(apps: impl IntoIterator<Item = &'a Path>) -> Result<Layers> {
    let mut layers = Layers::builtin();
    for directory in apps {
        let app = name_of(directory);
        for (folder, layer) in
            [("local", Layer::AppLocal(app.clone())), ("default", Layer::AppDefault(app.clone()))]
        {
            for (conf, _) in DEFINITIONS {
                let file = directory.join(folder).join(format!("{conf}.conf"));
                if let Some(bytes) = read(&file)? {
                    layers = layers.with(layer.clone(), conf, &String::from_utf8_lossy(&bytes));
                }
            }
        }
        for meta in ["local.meta", "default.meta"] {
            if let Some(bytes) = read(&directory.join("metadata").join(meta))? {
                layers = layers.with_metadata(&app, &String::from_utf8_lossy(&bytes));
            }
        }
    }
    Ok(layers)
}

/// The name of the app in a directory.
pub(crate) fn name_of(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error).with_context(|| cannot_read(path)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// Checks the searches of an app against what the apps of these layers define and share with it, without the
/// disabled apps.
pub(crate) fn check_in(layers: &Layers, app: &str, searches: &[AppSearch]) -> SearchCheck {
    let seen = layers.clone().without_disabled().view(NOBODY, app);
    check(searches, &Knowledge::new(seen), layers)
}

/// Checks searches against the objects that their app sees. `all` are those of all apps.
pub(crate) fn check(texts: &[AppSearch], seen: &Knowledge, all: &Layers) -> SearchCheck {
    let macros = Macros::of(seen);
    let commands = CustomCommands::of(seen.custom_command_names());
    let options = ParseOptions {
        macros: Some(&macros),
        commands: Some(&commands),
        ..ParseOptions::default()
    };
    let mut unable = 0;
    let mut users: BTreeMap<(&str, String), (usize, &str)> = BTreeMap::new();
    for search in texts {
        let found = spl::undefined(&search.text, &options);
        unable += usize::from(found != spl::Undefined::default());
        let of_macros = found.macros.into_iter().map(|name| (MACRO, name));
        for used in of_macros.chain(found.commands.into_iter().map(|name| (COMMAND, name))) {
            users.entry(used).or_insert((0, search.place.as_str())).0 += 1;
        }
    }
    let mut missing: Vec<Missing> = Vec::with_capacity(users.len());
    for ((what, name), (searches, place)) in users {
        let unshared = defining(all, what, &name);
        let known_app = known_app(what, &name).map(str::to_owned);
        let text = described(what, &name, &unshared, known_app.as_deref());
        let (what, place) = (what.to_owned(), place.to_owned());
        missing.push(Missing { what, name, searches, place, unshared, known_app, text });
    }
    missing.sort_by_key(|one| std::cmp::Reverse(one.searches));
    SearchCheck { searches: texts.len(), unable, missing }
}

/// The apps that define a macro or a command.
fn defining(all: &Layers, what: &str, name: &str) -> Vec<String> {
    let file = DEFINITIONS.iter().find(|(_, defined)| *defined == what);
    let stanzas = file.into_iter().flat_map(|(conf, _)| all.stanzas(conf));
    let named = stanzas.filter(|(_, stanza)| stanza.name == name);
    let apps: BTreeSet<&str> = named.filter_map(|(layer, _)| layer.app()).collect();
    apps.into_iter().map(str::to_owned).collect()
}

/// An app that is known to define a macro or a command.
fn known_app(what: &str, name: &str) -> Option<&'static str> {
    let plain = name.split('(').next().unwrap_or(name);
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(begin) => plain.starts_with(begin),
        None => plain == pattern,
    };
    let known = KNOWN.iter().find(|(kind, pattern, _)| *kind == what && fits(pattern));
    known.map(|(_, _, app)| *app)
}

/// A macro or a command that nothing defines, with the app that is known to do so.
pub(crate) fn named(what: &str, name: &str) -> String {
    match known_app(what, name) {
        Some(app) => format!("{what} {name}, of the app {app}"),
        None => format!("{what} {name}"),
    }
}

/// The error of searches that use a macro or a command, and the apps that define it.
fn described(what: &str, name: &str, unshared: &[String], known_app: Option<&str>) -> String {
    let error = match what {
        MACRO => format!("the search specifies a macro '{name}' that cannot be found. {REASONS}"),
        _ => format!("unknown search command '{name}'"),
    };
    format!("{error}; {}", origin(unshared, known_app))
}

/// A line about the searches of apps; `None` if there are none.
pub(crate) fn summary(check: &SearchCheck) -> Option<String> {
    let SearchCheck { searches, unable, missing } = check;
    if *unable == 0 {
        return (*searches > 0).then(|| searches.to_string());
    }
    let counted = |what: &str| {
        let count = missing.iter().filter(|one| one.what == what).count();
        let ending = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} {what}{ending}"))
    };
    let names: Vec<String> = [MACRO, COMMAND].into_iter().filter_map(counted).collect();
    let names = names.join(" and ");
    Some(format!("{searches}, {unable} of them cannot run: nothing defines {names} that they use"))
}

/// The checks of several apps, by their names, as one. Places begin with the name of the app.
pub(crate) fn merged<'c>(
    checks: impl IntoIterator<Item = (String, &'c SearchCheck)>,
) -> SearchCheck {
    let mut all = SearchCheck::default();
    let mut missing: BTreeMap<(&str, &str), Missing> = BTreeMap::new();
    for (app, check) in checks {
        all.searches += check.searches;
        all.unable += check.unable;
        for one in &check.missing {
            match missing.entry((one.what.as_str(), one.name.as_str())) {
                Entry::Occupied(mut known) => known.get_mut().searches += one.searches,
                Entry::Vacant(place) => {
                    let first = format!("{app}/{}", one.place);
                    place.insert(Missing { place: first, ..one.clone() });
                }
            }
        }
    }
    all.missing = missing.into_values().collect();
    all.missing.sort_by_key(|one| std::cmp::Reverse(one.searches));
    all
}

/// The lines about what searches lack, the most used first. `folder` is the text in front of their places.
pub(crate) fn lines(folder: &str, check: &SearchCheck) -> Vec<String> {
    let line = |one: &Missing| {
        let Missing { what, name, searches, place, unshared, known_app, .. } = one;
        let count =
            if *searches == 1 { "1 search".to_owned() } else { format!("{searches} searches") };
        let origin = origin(unshared, known_app.as_deref());
        format!("missing   {what} {name}: {count}, first {folder}{place}; {origin}")
    };
    let mut lines: Vec<String> = check.missing.iter().map(line).collect();
    if check.missing.iter().any(|one| one.what == MACRO) {
        lines.push(format!("          a search with a missing macro fails. {REASONS}"));
    }
    lines
}

/// The installed apps that define something, and the app that is known to do so.
fn origin(unshared: &[String], known_app: Option<&str>) -> String {
    let mut text = "installed app that defines it: ".to_owned();
    match unshared {
        [] => text.push_str("none"),
        apps => {
            text.push_str(&apps.join(", "));
            text.push_str(", which is disabled or does not share it (export = system in metadata/default.meta)");
        }
    }
    if let Some(app) = known_app {
        text.push_str("; it is part of the app ");
        text.push_str(app);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn write(directory: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn searches_of_local_replace_those_of_default_by_stanza_and_by_page() {
        let app = tempfile::tempdir().unwrap();
        write(
            app.path(),
            &[
                (
                    "default/savedsearches.conf",
                    "[a]\nsearch = old\n[b]\nsearch = kept\n[c]\nx = y\n",
                ),
                ("local/savedsearches.conf", "[a]\nsearch = new\n"),
                ("default/eventtypes.conf", "[e]\nsearch = event\n"),
                ("default/macros.conf", "[m]\ndefinition = no\n"),
                ("default/data/ui/views/v.xml", "<form><query>1</query>\n<query>2</query></form>"),
                ("local/data/ui/views/v.xml", "<form><query>3</query></form>"),
                ("default/data/ui/panels/p.xml", "<panel><query>4</query></panel>"),
                ("default/data/ui/nav/default.xml", "<nav><query>no</query></nav>"),
                ("default/data/other.xml", "<form><query>no</query></form>"),
            ],
        );
        let found = in_directory(app.path()).unwrap();
        let shown = found.iter().map(|one| format!("{} {}", one.place, one.text));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                "default/data/ui/panels/p.xml:1 4",
                "local/data/ui/views/v.xml:1 3",
                "default/eventtypes.conf:2 event",
                "local/savedsearches.conf:2 new",
                "default/savedsearches.conf:4 kept",
            ]
        );
    }

    #[test]
    fn what_nothing_defines_is_counted_by_searches_and_the_most_used_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        write(
            &place("ta"),
            &[
                ("default/commands.conf", "[own]\n"),
                ("default/macros.conf", "[outer]\ndefinition = search `cim_x(1)` `given`\n"),
            ],
        );
        write(
            &place("other"),
            &[
                ("default/macros.conf", "[given]\ndefinition = a=1\n[kept]\ndefinition = b=1\n"),
                ("default/commands.conf", "[closed]\n[open]\n"),
                (
                    "metadata/default.meta",
                    "[]\nexport = none\n[macros/given]\nexport = system\n[commands/open]\nexport = system\n",
                ),
            ],
        );
        let layers = definitions([place("ta").as_path(), place("other").as_path()]).unwrap();
        let search = |(line, text): (usize, &str)| AppSearch {
            place: format!("default/savedsearches.conf:{line}"),
            text: text.to_owned(),
        };
        let texts = [
            (2, "index=a | `outer` | own | open"),
            (4, "index=a `cim_x(1)` `cim_x(1, 2)` | stats count"),
            (6, "`kept` `cim_x(1)` | closed | ldapsearch x"),
            (8, "index=a `given` | stats count"),
        ];
        let found = check_in(&layers, "ta", &texts.map(search));
        assert_eq!((found.searches, found.unable), (4, 3));
        let shown = found.missing.iter().map(|one| {
            let Missing { what, name, searches, place, .. } = one;
            format!("{what} {name} {searches} {place}")
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                "macro cim_x(1) 3 default/savedsearches.conf:2",
                "command closed 1 default/savedsearches.conf:6",
                "command ldapsearch 1 default/savedsearches.conf:6",
                "macro cim_x(2) 1 default/savedsearches.conf:4",
                "macro kept 1 default/savedsearches.conf:6",
            ]
        );
        let text = |at: usize| found.missing[at].text.as_str();
        assert_eq!(
            text(0),
            "the search specifies a macro 'cim_x(1)' that cannot be found. Reasons include: the macro name is \
             misspelled, you do not have \"read\" permission for the macro, or the macro has not been shared \
             with this application; installed app that defines it: none; it is part of the app \
             Splunk_SA_CIM (Splunk Common Information Model Add-on)"
        );
        assert_eq!(
            text(1),
            "unknown search command 'closed'; installed app that defines it: other, which is disabled or does \
             not share it (export = system in metadata/default.meta)"
        );
        assert_eq!(
            summary(&found).as_deref(),
            Some("4, 3 of them cannot run: nothing defines 3 macros and 2 commands that they use")
        );
        let lines = lines("ta/", &found);
        assert_eq!(
            lines[1],
            "missing   command closed: 1 search, first ta/default/savedsearches.conf:6; installed app that defines \
             it: other, which is disabled or does not share it (export = system in metadata/default.meta)"
        );
        assert!(
            lines[5].starts_with("          a search with a missing macro fails. Reasons"),
            "{lines:?}"
        );
        assert!(text(2).contains("SA-ldapsearch") && text(4).contains(": other, "), "{found:?}");
    }
}

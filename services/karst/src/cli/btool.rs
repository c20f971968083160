//! `karst btool`: prints the effective configuration with the file of each value; `check` prints the mistakes
//! in all files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use conf::Layers;
use knowledge::Knowledge;

use super::client::Failure;
use super::plural::counted;
use crate::config::BtoolOptions;
use crate::mistakes::{self, Weight};
use crate::settings;

/// The directory of installed apps, in the data directory of a server.
const INSTALLED: &str = "installed";
/// The word `check`, which is given in place of the name of a file.
const CHECK: &str = "check";
/// Between file and stanza in Splunk's command.
const LIST: &str = "list";

pub(crate) fn btool(options: BtoolOptions) -> Result<ExitCode> {
    let layers = match &options.conf_dir {
        Some(directory) => {
            let place = directory.display();
            anyhow::ensure!(directory.is_dir(), "--conf-dir {place}: there is no such directory");
            Layers::read(directory)?
        }
        None => Layers::read(Path::new("conf"))?,
    };
    let directories = installed(&options.data_dir).unwrap_or_else(|error| {
        eprintln!("warning: the apps that are installed in a server are left out: {error:#}");
        BTreeMap::new()
    });
    let layers = layers.with_apps(&directories, apps::counts_installed)?;
    if options.conf == CHECK {
        if let Some(word) = options.words.first() {
            let text =
                format!("check takes no stanza: leave out {word} (--app NAME shows one app)");
            return Err(Failure::Usage(text).into());
        }
        return check(layers, options.app.as_deref());
    }
    anyhow::ensure!(options.app.is_none(), "--app belongs to `karst btool check`");
    let layers = layers.without_disabled();
    for app in layers.disabled() {
        eprintln!(
            "note: the app {app} is disabled ([install] of app.conf), its settings are left out; if it was enabled \
             over REST, they are in effect"
        );
    }
    let effective = layers.effective(&options.conf);
    let registry = settings::registry();
    if effective.stanzas.is_empty() && !registry.confs().contains(&options.conf.as_str()) {
        let nearest = conf::nearest_name(registry.confs().into_iter(), &options.conf);
        if let Some(nearest) = nearest {
            bail!("there is no {}.conf; did you mean {nearest}?", options.conf);
        }
        bail!("there is no {}.conf: no file has a stanza of it", options.conf);
    }
    let wanted = named_stanza(&options.words)?;
    let names: Vec<&str> = effective.stanzas.iter().map(|stanza| stanza.name.as_str()).collect();
    let wanted_names = chosen(&names, wanted);
    if let Some(name) = wanted.filter(|_| wanted_names.is_empty()) {
        bail!("there is no stanza [{name}] in {}.conf", options.conf);
    }
    let mut out = io::stdout().lock();
    for stanza in &effective.stanzas {
        if !wanted_names.contains(&stanza.name.as_str()) {
            continue;
        }
        writeln!(out, "[{}]", stanza.name)?;
        for entry in effective.complete(&stanza.name) {
            writeln!(out, "{:<48} {} = {}", entry.place.to_string(), entry.key, entry.value)?;
        }
        writeln!(out)?;
    }
    drop(out);
    let knowledge = Knowledge::new(layers);
    let errors: Vec<String> = knowledge.errors().iter().map(ToString::to_string).collect();
    let layers = knowledge.layers();
    let stanzas = layers.stanzas(&options.conf);
    let invalid = stanzas.flat_map(|(_, stanza)| registry.invalid(&options.conf, stanza));
    // Settings that the knowledge compiles have been checked by it, in more detail.
    let is_told = |place: &str| errors.iter().any(|error| error.starts_with(place));
    let invalid = invalid
        .filter(|one| one.place.as_ref().is_none_or(|place| !is_told(&format!("{place}:"))))
        .map(|invalid| match invalid.place.as_ref().is_some_and(|place| layers.is_of_app(place)) {
            true => format!("warning: {invalid}; the setting is ignored"),
            false => format!("error: {invalid}"),
        });
    let unknown = registry.warnings(layers);
    let warnings = unknown.iter().chain(knowledge.warnings());
    let warnings = warnings.map(|warning| format!("warning: {warning}"));
    let file = format!("/{}.conf:", options.conf);
    let ignored: Vec<String> = knowledge.app_errors().map(ToString::to_string).collect();
    let errors = errors.iter().map(|error| match ignored.contains(error) {
        true => format!("warning: {error}; the setting is ignored"),
        false => format!("error: {error}"),
    });
    for trouble in errors.chain(invalid).chain(warnings).filter(|trouble| trouble.contains(&file)) {
        eprintln!("{trouble}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the stanzas to print: the one with this name, otherwise those that begin with it, as in Splunk's
/// command.
fn chosen<'a>(names: &[&'a str], wanted: Option<&str>) -> Vec<&'a str> {
    let wanted = wanted.unwrap_or_default();
    let is_name = names.contains(&wanted);
    let is_chosen = |name: &&str| if is_name { *name == wanted } else { name.starts_with(wanted) };
    names.iter().copied().filter(is_chosen).collect()
}

/// The name of the stanza to print, or its beginning.
fn named_stanza(words: &[String]) -> Result<Option<&str>> {
    match words {
        [] => Ok(None),
        [list] if list == LIST => Ok(None),
        [list, stanza] if list == LIST => Ok(Some(stanza.as_str())),
        [stanza] => Ok(Some(stanza.as_str())),
        [stanza, more, ..] => {
            let text = format!("one stanza can be named, not [{stanza}] and [{more}]");
            Err(Failure::Usage(text).into())
        }
    }
}

/// The directories of the apps that a server has installed in its data directory, which have `apps/<app>`.
/// The server keeps the files of a replaced version for an hour: of several versions, the newest counts.
fn installed(data: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut newest: BTreeMap<String, (SystemTime, PathBuf)> = BTreeMap::new();
    for version in folders(&data.join(INSTALLED))? {
        let modified = fs::metadata(&version).and_then(|metadata| metadata.modified());
        // The server may have removed it meanwhile.
        let Ok(modified) = modified else { continue };
        for app in folders(&version.join("apps"))? {
            let name = app.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let known = newest.get(&name).map(|(known, _)| *known);
            if known.is_none_or(|known| known < modified) {
                newest.insert(name, (modified, version.clone()));
            }
        }
    }
    Ok(newest.into_iter().map(|(app, (_, version))| (app, version)).collect())
}

/// Returns the subdirectories; none if the directory does not exist. Those whose names begin with a dot are
/// incomplete.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", folder.display()));
        }
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Prints the mistakes, one per line; fails if one of them prevents the start of the server.
fn check(layers: Layers, app: Option<&str>) -> Result<ExitCode> {
    if let Some(app) = app.filter(|app| !layers.apps().contains(*app)) {
        let apps: Vec<String> = layers.apps().into_iter().collect();
        if apps.is_empty() {
            bail!("there is no app \"{app}\": neither --conf-dir nor --data-dir has apps");
        }
        bail!("there is no app \"{app}\"; the apps are {}", apps.join(", "));
    }
    let mut found = mistakes::all(layers, &settings::registry());
    found.retain(|mistake| app.is_none_or(|app| mistake.app.as_deref() == Some(app)));
    let mut out = io::stdout().lock();
    for mistake in &found {
        writeln!(out, "{:<8} {}", mistake.weight, mistake.text.replace('\n', " "))?;
    }
    let count = |weight| found.iter().filter(|mistake| mistake.weight == weight).count();
    let errors = count(Weight::Error);
    writeln!(
        out,
        "{}, {} ignored, {}",
        counted(errors, "error"),
        count(Weight::Ignored),
        counted(count(Weight::Note), "note")
    )?;
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_stanza_is_named_with_list_or_without() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let named =
            |text: &str| named_stanza(&words(text)).ok().map(|name| name.map(str::to_owned));
        assert_eq!(named(""), Some(None));
        assert_eq!(named("list"), Some(None));
        assert_eq!(named("web_shop"), Some(Some("web_shop".to_owned())));
        assert_eq!(named("list web_shop"), Some(Some("web_shop".to_owned())));
        assert_eq!(named("list list"), Some(Some("list".to_owned())));
        assert_eq!(named("web_shop other"), None);
    }

    #[test]
    fn a_stanza_is_named_by_its_beginning_unless_it_is_named_whole() {
        let names = ["default", "monitor", "monitor:///var/log", "tcp://1514"];
        assert_eq!(chosen(&names, None), names);
        assert_eq!(chosen(&names, Some("monitor")), ["monitor"]);
        assert_eq!(chosen(&names, Some("mon")), ["monitor", "monitor:///var/log"]);
        assert_eq!(chosen(&names, Some("monitor://")), ["monitor:///var/log"]);
        assert!(chosen(&names, Some("udp")).is_empty());
    }

    #[test]
    fn installed_apps_are_read_in_their_newest_version() {
        let data = tempfile::tempdir().unwrap();
        assert!(installed(data.path()).unwrap().is_empty());
        let version = |name: &str, app: &str, seconds: u64| {
            let folder = data.path().join(INSTALLED).join(name);
            fs::create_dir_all(folder.join("apps").join(app)).unwrap();
            let modified = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::open(&folder).unwrap().set_modified(modified).unwrap();
        };
        version("aa", "ta", 2000);
        version("bb", "ta", 1000);
        version("cc", "other", 1000);
        version(".dd", "ta", 3000);
        let found = installed(data.path()).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|(app, folder)| (app.as_str(), folder.file_name().unwrap().to_str().unwrap()))
            .collect();
        assert_eq!(found, [("other", "cc"), ("ta", "aa")]);
    }
}

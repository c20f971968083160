//! Counts the definitions that an app adds to searches, for the report of its installation.
//!
//! Guarantees: a definition that is in both `default` and `local` is counted once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use conf::{ConfFile, Stanza, boolean};

use crate::simple_xml::Level;

/// Settings of `props.conf` that make fields of events.
const FIELDS: [&str; 4] = ["EXTRACT-", "REPORT-", "FIELDALIAS-", "EVAL-"];
/// Settings of `props.conf` that look up fields.
const AUTOMATIC: &str = "LOOKUP-";
/// Settings that make a stanza of `transforms.conf` a lookup.
const LOOKUP: [&str; 4] = ["filename", "collection", "external_cmd", "external_type"];
/// The stanza with the defaults of the other stanzas.
const DEFAULT: &str = "default";

/// The names of an app's definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    field_rules: BTreeSet<(String, String)>,
    field_stanzas: BTreeSet<String>,
    lookups: BTreeSet<String>,
    automatic_lookups: BTreeSet<(String, String)>,
    event_types: BTreeSet<String>,
    tags: BTreeSet<(String, String)>,
    macros: BTreeSet<String>,
    saved_searches: BTreeSet<String>,
    scheduled: BTreeSet<String>,
    data_models: BTreeSet<String>,
    inputs: BTreeSet<String>,
    disabled_inputs: BTreeSet<String>,
    pub(crate) modular_inputs: BTreeSet<String>,
    /// The kinds of modular inputs that the app declares.
    pub(crate) modular_kinds: BTreeSet<String>,
    alert_actions: BTreeSet<String>,
    endpoints: BTreeSet<String>,
    pub(crate) has_set_up_page: bool,
    /// The programs of lookups.
    lookup_programs: BTreeSet<String>,
    /// The program of each search command.
    commands: BTreeMap<String, String>,
    /// The search commands whose programs cannot run.
    unable: BTreeSet<String>,
    indexes: BTreeSet<String>,
    /// Views by name. `local` comes after `default`, and takes precedence.
    views: BTreeMap<String, Level>,
}

/// Something that an app adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gain {
    /// The kind of definition, such as `fields`.
    pub what: &'static str,
    /// Their number, with remarks.
    pub text: String,
}

impl Found {
    /// Nothing yet of an app that declares these kinds of modular inputs.
    pub(crate) fn with_modular_inputs(modular_kinds: BTreeSet<String>) -> Self {
        Self { modular_kinds, ..Self::default() }
    }

    /// Adds the definitions of a settings file.
    pub(crate) fn settings(&mut self, conf: &str, file: &ConfFile) {
        for stanza in file.stanzas.iter().filter(|stanza| stanza.name != DEFAULT) {
            let name = stanza.name.clone();
            match conf {
                "props" => self.props(stanza),
                "transforms" if LOOKUP.iter().any(|key| stanza.get(key).is_some()) => {
                    self.lookups.insert(name);
                    let command = stanza.get("external_cmd");
                    let program = command.and_then(|entry| entry.value.split_whitespace().next());
                    self.lookup_programs.extend(program.map(str::to_owned));
                }
                "eventtypes" => drop(self.event_types.insert(name)),
                "tags" => {
                    let enabled = stanza.entries.iter().filter(|e| e.value.trim() == "enabled");
                    self.tags.extend(enabled.map(|entry| (name.clone(), entry.key.clone())));
                }
                "macros" => drop(self.macros.insert(name)),
                "savedsearches" => {
                    let scheduled = is(stanza, "enableSched") || is(stanza, "is_scheduled");
                    if scheduled {
                        self.scheduled.insert(name.clone());
                    }
                    self.saved_searches.insert(name);
                }
                "inputs" => {
                    // The settings of `local` are read after those of `default`.
                    if let Some(disabled) = stanza.get("disabled") {
                        match boolean(&disabled.value) {
                            Some(true) => self.disabled_inputs.insert(name.clone()),
                            _ => self.disabled_inputs.remove(&name),
                        };
                    }
                    self.inputs.insert(name);
                }
                "commands" => {
                    let file = stanza.get("filename").map(|entry| entry.value.clone());
                    let program = self.commands.entry(name.clone());
                    let program = program.or_insert_with(|| format!("{name}.py"));
                    if let Some(file) = file {
                        *program = file;
                    }
                }
                "indexes" if !name.starts_with("volume:") => drop(self.indexes.insert(name)),
                _ => {}
            }
        }
    }

    /// Adds the definitions of a settings file that has no effect.
    pub(crate) fn unused(&mut self, conf: &str, file: &ConfFile) {
        let names = file.stanzas.iter().map(|stanza| &stanza.name).filter(|name| *name != DEFAULT);
        match conf {
            "alert_actions" => self.alert_actions.extend(names.cloned()),
            // Such as `script:<name>` and `admin_external:<name>`; `admin:<name>` only groups these.
            "restmap" => {
                let is_endpoint =
                    |name: &&String| name.contains(':') && !name.starts_with("admin:");
                self.endpoints.extend(names.filter(is_endpoint).cloned());
            }
            _ => {}
        }
    }

    /// Returns the paths of the programs that are run, below the folder of programs.
    pub(crate) fn programs(&self) -> BTreeSet<String> {
        let of_inputs = self.inputs.iter().filter_map(|name| name.strip_prefix("script://"));
        let of_inputs = of_inputs.filter_map(|command| {
            let program = command.split_whitespace().next()?;
            program.rsplit_once("bin/").map(|(_, program)| program.to_owned())
        });
        let of_searches = self.commands.values().chain(&self.lookup_programs).cloned();
        of_searches.chain(of_inputs).collect()
    }

    /// Notes the programs that cannot run, and returns those that are of commands. `programs` has the reason
    /// for each.
    pub(crate) fn unable(&mut self, programs: &BTreeMap<String, String>) -> BTreeSet<String> {
        let unable = self.commands.iter().filter(|(_, program)| programs.contains_key(*program));
        let (names, files) = unable.map(|(name, file)| (name.clone(), file.clone())).unzip();
        self.unable = names;
        files
    }

    fn props(&mut self, stanza: &Stanza) {
        for entry in &stanza.entries {
            let setting = (stanza.name.clone(), entry.key.clone());
            if FIELDS.iter().any(|prefix| entry.key.starts_with(prefix)) {
                self.field_rules.insert(setting);
                self.field_stanzas.insert(stanza.name.clone());
            } else if entry.key.starts_with(AUTOMATIC) {
                self.automatic_lookups.insert(setting);
            }
        }
    }

    /// Notes a file that is not one of settings.
    pub(crate) fn file(&mut self, path: &Path) {
        let is_model = path.parent().is_some_and(|folder| folder.ends_with("data/models"))
            && has(path, "json");
        if let (true, Some(name)) = (is_model, path.file_stem()) {
            self.data_models.insert(name.to_string_lossy().into_owned());
        }
    }

    /// Adds a view, and how completely the console shows it. The last view of a name counts.
    pub(crate) fn view(&mut self, path: &Path, level: Level) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.views.insert(name, level);
    }

    /// Returns how many views are shown in full, in part, and not at all.
    fn views_by_level(&self) -> String {
        let count = |level| self.views.values().filter(|known| **known == level).count();
        let mut text = format!(": {} shown in full", count(Level::Full));
        for (level, how) in [(Level::Part, "in part"), (Level::None, "not shown")] {
            if count(level) > 0 {
                text += &format!(", {} {how}", count(level));
            }
        }
        text
    }

    /// Returns the definitions by kind, the most important first.
    pub(crate) fn gains(&self) -> Vec<Gain> {
        let counted = |what, count: usize, more: String| {
            (count > 0).then(|| Gain { what, text: format!("{count}{more}") })
        };
        let plain = |what, count| counted(what, count, String::new());
        let of_stanzas = format!(
            " {} for {} of props.conf",
            noun(self.field_rules.len(), "rule"),
            plural(self.field_stanzas.len(), "stanza")
        );
        let applied = match self.automatic_lookups.len() {
            0 => String::new(),
            count => format!(", applied to events by {} LOOKUP-", plural(count, "setting")),
        };
        let schedules = match self.scheduled.len() {
            0 => String::new(),
            count => {
                format!(", {count} of them with a schedule: schedules and alerts do not run yet")
            }
        };
        let unable = match self.unable.len() {
            0 => String::new(),
            count => format!(
                ", {count} of them cannot run: they are in Python 2, or import modules that only Splunk has"
            ),
        };
        let of_inputs = self.modular_inputs.iter().map(|name| name.split("://").next());
        let declared = self.modular_kinds.iter().map(|kind| Some(kind.as_str()));
        let kinds: BTreeSet<&str> = of_inputs.chain(declared).flatten().collect();
        let inputs = self.inputs.difference(&self.modular_inputs).count();
        let disabled = match self.disabled_inputs.difference(&self.modular_inputs).count() {
            0 => String::new(),
            count => format!(", {count} of them disabled"),
        };
        [
            counted("fields", self.field_rules.len(), of_stanzas),
            counted("lookups", self.lookups.len(), applied),
            plain("event types", self.event_types.len()),
            plain("tags", self.tags.len()),
            plain("macros", self.macros.len()),
            counted("saved searches", self.saved_searches.len(), schedules),
            counted("views", self.views.len(), self.views_by_level()),
            plain("data models", self.data_models.len()),
            counted("inputs", inputs, disabled),
            counted("search commands", self.commands.len(), unable),
            plain("indexes", self.indexes.len()),
            counted("modular inputs", kinds.len(), ", which are not run".to_owned()),
            counted("alert actions", self.alert_actions.len(), ", which are not run".to_owned()),
            counted("REST endpoints", self.endpoints.len(), ", which are not served".to_owned()),
            counted("set-up pages", usize::from(self.has_set_up_page), ", not shown".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// `1 stanza`, `2 stanzas`.
fn plural(count: usize, one: &str) -> String {
    format!("{count} {}", noun(count, one))
}

fn noun(count: usize, one: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{one}s") }
}

fn is(stanza: &Stanza, key: &str) -> bool {
    stanza.get(key).and_then(|entry| boolean(&entry.value)) == Some(true)
}

fn has(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_app_defines_is_counted_once_and_in_order_of_weight() {
        let mut found = Found::default();
        let mut add = |conf: &str, text: &str| found.settings(conf, &ConfFile::parse(conf, text));
        add(
            "props",
            "[a]\nEVAL-x = 1\nREPORT-y = y\nLOOKUP-z = l f\nKV_MODE = none\n[b]\nEXTRACT-c = (?<c>.)\n",
        );
        add("props", "[a]\nEVAL-x = 2\n");
        add("transforms", "[l]\nfilename = l.csv\n[y]\nREGEX = (?<y>.)\n");
        add("tags", "[eventtype=e]\nweb = enabled\nold = disabled\n");
        add("savedsearches", "[s]\nsearch = x\nenableSched = 1\n[t]\nsearch = y\n");
        add("inputs", "[default]\nindex = x\n[monitor:///a]\ndisabled = 1\n[monitor:///b]\n");
        add("inputs", "[monitor:///a]\ndisabled = 0\n[tcp://1]\ndisabled = true\n");
        add("commands", "[c]\nchunked = true\n[d]\nfilename = e.py\n");
        let reason = |program: &str| (program.to_owned(), "is in Python 2".to_owned());
        let programs = ["c.py", "d.py"].map(reason).into_iter().collect();
        assert_eq!(found.unable(&programs).into_iter().collect::<Vec<_>>(), ["c.py"]);
        found.file(Path::new("default/data/models/Web.json"));
        found.file(Path::new("local/data/models/Web.json"));
        found.view(Path::new("default/data/ui/views/a.xml"), Level::None);
        found.view(Path::new("default/data/ui/views/b.xml"), Level::Part);
        found.view(Path::new("local/data/ui/views/a.xml"), Level::Full);
        let gains: Vec<String> =
            found.gains().iter().map(|gain| format!("{}: {}", gain.what, gain.text)).collect();
        assert_eq!(
            gains,
            [
                "fields: 3 rules for 2 stanzas of props.conf",
                "lookups: 1, applied to events by 1 setting LOOKUP-",
                "tags: 1",
                "saved searches: 2, 1 of them with a schedule: schedules and alerts do not run yet",
                "views: 2: 1 shown in full, 1 in part",
                "data models: 1",
                "inputs: 3, 1 of them disabled",
                "search commands: 2, 1 of them cannot run: they are in Python 2, or import modules that only Splunk has",
            ]
        );
    }
}

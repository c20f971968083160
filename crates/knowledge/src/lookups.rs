//! Lookups as `transforms.conf` defines them and `props.conf` applies them: the location of their rows, and
//! the conditions of a match.

use std::collections::HashMap;
use std::path::{Component, Path};

use conf::{Effective, Key, Layer, Place, Reader, Stanza};

use crate::knowledge::Knowledge;
use crate::props::{StanzaMatcher, Values};
use crate::settings::{props, transforms};

/// The location of the rows of a lookup.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LookupPlace {
    /// A CSV file.
    File(String),
    /// A collection of the KV store.
    Collection(String),
    /// An external lookup: a program of an app returns the rows.
    Program(LookupProgram),
}

/// The app of built-in programs.
const SYSTEM: &str = "system";

/// The program of an external lookup (`external_cmd`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LookupProgram {
    /// The app that contains it; `system` for a built-in program.
    pub app: String,
    /// The file name of the program, in the directory `bin` of the app.
    pub file: String,
    /// The arguments of the program.
    pub arguments: Vec<String>,
}

/// How a field of a lookup is compared with the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchType {
    /// The values are equal.
    Exact,
    /// The value of the row is a pattern with `*`.
    Wildcard,
    /// The value of the row is a network that contains the address of the event.
    Cidr,
}

/// The time of the rows of a time-based lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupTime {
    /// The field with the time.
    pub field: String,
    /// The format of the time; epoch seconds if `None`.
    pub format: Option<String>,
    /// Minimum number of seconds by which an event must be later than a row.
    pub min_offset: i64,
    /// Maximum number of seconds by which an event may be later than a row.
    pub max_offset: i64,
}

/// The definition of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupDefinition {
    /// The name of the stanza, or of the file if there is no stanza.
    pub name: String,
    /// The location of its rows.
    pub place: LookupPlace,
    /// Fields with a match type other than exact.
    pub match_types: HashMap<String, MatchType>,
    /// Whether matching is case-sensitive.
    pub case_sensitive: bool,
    /// Maximum number of matching rows per event.
    pub max_matches: usize,
    /// Minimum number of matches; missing ones are filled with `default_match`.
    pub min_matches: usize,
    /// Value of the output fields for missing matches.
    pub default_match: Option<String>,
    /// The time of the rows, for time-based lookups.
    pub time: Option<LookupTime>,
    /// A search filter; rows that do not match are not read.
    pub filter: Option<String>,
    /// The fields of a collection (all if empty), or those of a program in the order of its columns.
    pub fields: Vec<String>,
}

/// A lookup that is applied to events at search time (`LOOKUP-<class>`).
#[derive(Debug, Clone)]
pub struct AutomaticLookup {
    /// The events to which it applies.
    pub matcher: StanzaMatcher,
    /// The arguments of the command `lookup`.
    pub arguments: String,
    /// File and line of the setting.
    pub place: Place,
}

/// Default maximum number of matches per event.
const MAX_MATCHES: usize = 100;
impl LookupDefinition {
    /// Creates the definition of a file without a stanza.
    fn of_file(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            place: LookupPlace::File(name.to_owned()),
            match_types: HashMap::new(),
            case_sensitive: true,
            max_matches: MAX_MATCHES,
            min_matches: 0,
            default_match: None,
            time: None,
            filter: None,
            fields: Vec::new(),
        }
    }
}

impl LookupProgram {
    /// Returns the name of a built-in program.
    #[must_use]
    pub fn built_in(&self) -> Option<&str> {
        (self.app == SYSTEM).then_some(self.file.as_str())
    }
}

impl Knowledge {
    /// Returns the lookup with this name: a stanza of `transforms.conf`, or a file with the name.
    ///
    /// # Errors
    /// A message if the stanza is not a lookup, or if Karst does not support it.
    pub fn lookup(&self, name: &str) -> Result<LookupDefinition, String> {
        let conf = self.transforms();
        let Some(stanza) = conf.stanza(name) else {
            let is_file = [".csv", ".csv.gz"].iter().any(|end| name.ends_with(end));
            return match is_file {
                true => Ok(LookupDefinition::of_file(name)),
                false => Err(format!(
                    "there is no lookup \"{name}\": neither a stanza of transforms.conf nor a file .csv"
                )),
            };
        };
        let own = Effective { conf: conf.conf.clone(), stanzas: vec![stanza.clone()] };
        let keys = Reader::new(&own, name);
        let text = |key: &Key<Option<String>>| keys.text(key).map(str::to_owned);
        let number = |key: &Key<Option<i64>>| keys.get(key).map_err(|error| error.to_string());
        let seconds = |key: &Key<i64>| keys.get(key).map_err(|error| error.to_string());
        let place = match (text(&transforms::FILENAME), text(&transforms::COLLECTION)) {
            (Some(file), _) => LookupPlace::File(file),
            (None, Some(collection)) => LookupPlace::Collection(collection),
            (None, None) => match text(&transforms::EXTERNAL_CMD) {
                Some(command) => LookupPlace::Program(self.program(name, &command)?),
                None if is_of_kv_store(stanza) => LookupPlace::Collection(name.to_owned()),
                None => {
                    let message = "has none of filename, collection and external_cmd";
                    return Err(format!("the stanza [{name}] of transforms.conf {message}"));
                }
            },
        };
        let time = match text(&transforms::TIME_FIELD) {
            None => None,
            Some(field) => Some(LookupTime {
                field,
                format: text(&transforms::TIME_FORMAT)
                    .filter(|format| format != "%s" && format != "%s.%Q"),
                min_offset: seconds(&transforms::MIN_OFFSET)?,
                max_offset: seconds(&transforms::MAX_OFFSET)?,
            }),
        };
        if time.is_some() && matches!(place, LookupPlace::Program(_)) {
            return Err(format!(
                "the stanza [{name}] of transforms.conf has external_cmd and time_field: rows of a program have no \
                 time that is compared; remove time_field"
            ));
        }
        let most = if time.is_some() { 1 } else { MAX_MATCHES };
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        let fields = keys.get(&transforms::FIELDS_LIST).unwrap_or_default();
        if fields.is_empty() && matches!(place, LookupPlace::Program(_)) {
            return Err(format!(
                "the stanza [{name}] of transforms.conf has external_cmd without fields_list: list the fields that \
                 the program reads and fills in"
            ));
        }
        Ok(LookupDefinition {
            name: name.to_owned(),
            place,
            match_types: match_types(name, &text(&transforms::MATCH_TYPE).unwrap_or_default())?,
            case_sensitive: keys.get(&transforms::CASE_SENSITIVE).unwrap_or(true),
            max_matches: number(&transforms::MAX_MATCHES)?.map_or(most, count).max(1),
            min_matches: number(&transforms::MIN_MATCHES)?.map_or(0, count),
            default_match: text(&transforms::DEFAULT_MATCH),
            time,
            filter: text(&transforms::FILTER),
            fields,
        })
    }

    /// Returns the program of an external lookup. Only files of apps may name programs: otherwise a lookup
    /// that a user creates could start an app's program with any arguments.
    fn program(&self, name: &str, command: &str) -> Result<LookupProgram, String> {
        let key = transforms::EXTERNAL_CMD.name();
        let mut stanzas = self.layers().stanzas("transforms");
        let layer = stanzas.find_map(|(layer, stanza)| {
            (stanza.name == name && stanza.get(key).is_some()).then_some(layer)
        });
        let app = match layer {
            Some(Layer::AppLocal(app) | Layer::AppDefault(app)) => app.as_str(),
            Some(Layer::SystemDefault) => SYSTEM,
            _ => {
                return Err(format!(
                    "the lookup \"{name}\" runs a program (external_cmd), which only the transforms.conf of an app, \
                     in default or local, can define: the program is in the directory bin of that app"
                ));
            }
        };
        let mut words = words(command).into_iter();
        let file = words.next().unwrap_or_default();
        let sound = Path::new(&file).components().all(|part| matches!(part, Component::Normal(_)));
        if file.is_empty() || !sound {
            return Err(format!(
                "transforms.conf [{name}] external_cmd = {command}: expected the name of a file in the directory \
                 bin of the app {app}, then its arguments"
            ));
        }
        Ok(LookupProgram { app: app.to_owned(), file, arguments: words.collect() })
    }

    /// Returns the names of all lookups of `transforms.conf`.
    #[must_use]
    pub fn lookup_names(&self) -> Vec<String> {
        let is_lookup = |stanza: &&Stanza| {
            let (file, collection) = (transforms::FILENAME.name(), transforms::COLLECTION.name());
            let keys = [file, collection, transforms::EXTERNAL_CMD.name()];
            keys.iter().any(|key| stanza.get(key).is_some()) || is_of_kv_store(stanza)
        };
        self.transforms()
            .stanzas
            .iter()
            .filter(is_lookup)
            .map(|stanza| stanza.name.clone())
            .collect()
    }

    /// Returns all automatic lookups, in the order in which they are applied.
    #[must_use]
    pub fn automatic_lookups(&self) -> Vec<AutomaticLookup> {
        let mut found = Vec::new();
        for stanza in self.props_stanzas() {
            let values = Values::of(&stanza.stanza);
            for (class, entry) in values.family(&props::LOOKUP) {
                if !entry.value.trim().is_empty() {
                    let lookup = AutomaticLookup {
                        matcher: stanza.matcher.clone(),
                        arguments: entry.value.clone(),
                        place: entry.place.clone(),
                    };
                    found.push((class.to_owned(), lookup));
                }
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.into_iter().map(|(_, lookup)| lookup).collect()
    }
}

/// Returns whether the rows are in a collection. If the stanza does not name one, the collection has the name
/// of the stanza.
fn is_of_kv_store(stanza: &Stanza) -> bool {
    let kind = stanza.get(transforms::EXTERNAL_TYPE.name());
    kind.is_some_and(|entry| entry.value.eq_ignore_ascii_case("kvstore"))
}

/// Splits a command line into words; single or double quotes keep blanks in a word.
fn words(text: &str) -> Vec<String> {
    let (mut found, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => found.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    found.extend(word);
    found
}

/// Parses `WILDCARD(uri), CIDR(network)`.
fn match_types(name: &str, text: &str) -> Result<HashMap<String, MatchType>, String> {
    let mut found = HashMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let bad =
            || format!("[{name}] match_type = {text}: expected WILDCARD(<field>) or CIDR(<field>)");
        let (kind, rest) = part.split_once('(').ok_or_else(bad)?;
        let field = rest.strip_suffix(')').ok_or_else(bad)?.trim();
        let kind = match kind.trim().to_ascii_uppercase().as_str() {
            "WILDCARD" => MatchType::Wildcard,
            "CIDR" => MatchType::Cidr,
            "EXACT" => MatchType::Exact,
            _ => return Err(bad()),
        };
        found.insert(field.to_owned(), kind);
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use conf::Layers;

    fn knowledge(transforms: &str) -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "transforms", transforms))
    }

    #[test]
    fn a_stanza_says_where_rows_are_and_how_they_match() {
        let found = knowledge(
            "[hosts]\nfilename = hosts.csv\nmatch_type = WILDCARD(host), CIDR(net)\n\
             min_matches = 2\ndefault_match = unknown\ncase_sensitive_match = false\n",
        );
        let lookup = found.lookup("hosts").unwrap();
        assert_eq!(lookup.place, LookupPlace::File("hosts.csv".to_owned()));
        assert_eq!(lookup.match_types["host"], MatchType::Wildcard);
        assert_eq!(lookup.match_types["net"], MatchType::Cidr);
        assert_eq!((lookup.min_matches, lookup.max_matches), (2, 100));
        assert!(!lookup.case_sensitive);
        assert_eq!(found.lookup_names(), ["dnslookup", "hosts"]);
    }

    #[test]
    fn a_time_based_lookup_takes_the_newest_row() {
        let found = knowledge("[t]\ncollection = c\ntime_field = at\ntime_format = %F\n");
        let lookup = found.lookup("t").unwrap();
        assert_eq!(lookup.max_matches, 1);
        assert_eq!(lookup.time.unwrap().format.as_deref(), Some("%F"));
    }

    #[test]
    fn a_collection_without_a_name_has_that_of_its_stanza() {
        let found = knowledge("[people]\nexternal_type = kvstore\n[x]\nexternal_type = python\n");
        let place = LookupPlace::Collection("people".to_owned());
        assert_eq!(found.lookup("people").unwrap().place, place);
        assert_eq!(found.lookup_names(), ["dnslookup", "people"]);
        assert!(found.lookup("x").unwrap_err().contains("none of filename"));
    }

    #[test]
    fn what_cannot_be_looked_up_says_why() {
        let found = knowledge(
            "[p]\nexternal_cmd = x.py\n[q]\nREGEX = x\n[r]\nfilename=a\nmatch_type=X(a)\n",
        );
        let error = |name: &str| found.lookup(name).unwrap_err();
        assert!(error("p").contains("which only the transforms.conf of an app"));
        assert!(error("q").contains("none of filename, collection and external_cmd"));
        assert!(error("r").contains("match_type = X(a)"));
        assert!(error("nothing").contains("there is no lookup \"nothing\""));
        assert!(found.lookup("file.csv").is_ok());
    }

    #[test]
    fn a_program_belongs_to_the_app_that_names_it() {
        let text = "[dns]\nexternal_cmd = dns.py host 'a b' \"\"\nfields_list = host, ip\n[out]\n\
                    external_cmd = ../x.py\nfields_list = a\n[bare]\nexternal_cmd = x.py\n";
        let app = Layer::AppDefault("net".to_owned());
        let layers = Layers::builtin().with(app, "transforms", text);
        let found = Knowledge::new(layers.clone());
        let lookup = found.lookup("dns").unwrap();
        let arguments = ["host", "a b", ""].map(str::to_owned).to_vec();
        let program = LookupProgram { app: "net".to_owned(), file: "dns.py".to_owned(), arguments };
        assert_eq!(lookup.place, LookupPlace::Program(program));
        assert_eq!(lookup.fields, ["host", "ip"]);
        let error = |name: &str| found.lookup(name).unwrap_err();
        assert!(error("out").contains("external_cmd = ../x.py: expected the name of a file"));
        assert!(error("bare").contains("external_cmd without fields_list"));
        // A setting of a user must not start the program of the app with other arguments.
        let user = Layer::User("ann".to_owned(), "net".to_owned());
        let own = layers.with(user, "transforms", "[dns]\nexternal_cmd = dns.py -x\n");
        let error = Knowledge::new(own.view("ann", "net")).lookup("dns").unwrap_err();
        assert!(error.contains("which only the transforms.conf of an app"), "{error}");
    }
}

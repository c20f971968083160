//! Lookups as `transforms.conf` defines them and `props.conf` applies them: where the rows are, and when
//! one matches.

use std::collections::HashMap;

use crate::conf::Place;
use crate::knowledge::Knowledge;
use crate::props::{StanzaMatcher, Values};

/// Where the rows of a lookup are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LookupPlace {
    /// A CSV file.
    File(String),
    /// A collection of the KV store.
    Collection(String),
}

/// How a field of a lookup is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchType {
    /// Equal.
    Exact,
    /// The row's value is a pattern with `*`.
    Wildcard,
    /// The row's value is a network that the event's address is in.
    Cidr,
}

/// The time of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupTime {
    /// The field that has it.
    pub field: String,
    /// How it is written; epoch seconds if none.
    pub format: Option<String>,
    /// Seconds that an event must be later than a row, at least.
    pub min_offset: i64,
    /// And at most.
    pub max_offset: i64,
}

/// A lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupDefinition {
    /// The name of the stanza, or of the file where there is none.
    pub name: String,
    /// Where its rows are.
    pub place: LookupPlace,
    /// Fields that are not compared exactly.
    pub match_types: HashMap<String, MatchType>,
    /// Whether case counts.
    pub case_sensitive: bool,
    /// Rows taken per event.
    pub max_matches: usize,
    /// Rows below which `default_match` fills up.
    pub min_matches: usize,
    /// What outputs are where too few rows match.
    pub default_match: Option<String>,
    /// Set for time-based lookups.
    pub time: Option<LookupTime>,
    /// The fields of a collection; all if empty.
    pub fields: Vec<String>,
}

/// A lookup applied to events as they are searched (`LOOKUP-<class>`).
#[derive(Debug, Clone)]
pub struct AutomaticLookup {
    /// Which events.
    pub matcher: StanzaMatcher,
    /// What follows the command `lookup`.
    pub arguments: String,
    /// File and line of the setting.
    pub place: Place,
}

/// Matches taken per event where nothing is said.
const MAX_MATCHES: usize = 100;
const MAX_OFFSET: i64 = 2_000_000_000;

impl LookupDefinition {
    /// A file without a stanza.
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
            fields: Vec::new(),
        }
    }
}

impl Knowledge {
    /// The lookup of a name: a stanza of `transforms.conf`, or a file that is named like one.
    ///
    /// # Errors
    /// A message if the stanza is no lookup, or one that Karst cannot look up.
    pub fn lookup(&self, name: &str) -> Result<LookupDefinition, String> {
        let transforms = self.conf("transforms");
        let Some(stanza) = transforms.stanza(name) else {
            let is_file = [".csv", ".csv.gz"].iter().any(|end| name.ends_with(end));
            return match is_file {
                true => Ok(LookupDefinition::of_file(name)),
                false => Err(format!(
                    "there is no lookup \"{name}\": neither a stanza of transforms.conf nor a file .csv"
                )),
            };
        };
        let text = |key: &str| {
            let entry = stanza.get(key).filter(|entry| !entry.value.is_empty());
            entry.map(|entry| entry.value.clone())
        };
        let number = |key: &str, default: i64| match text(key) {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| format!("[{name}] {key} = {text}: expected a number"))
            }
        };
        let place = match (text("filename"), text("collection")) {
            (Some(file), _) => LookupPlace::File(file),
            (None, Some(collection)) => LookupPlace::Collection(collection),
            (None, None) if text("external_cmd").is_some() => {
                return Err(format!(
                    "the lookup \"{name}\" runs a program, which Karst does not do"
                ));
            }
            (None, None) => {
                let message = "has neither filename nor collection";
                return Err(format!("the stanza [{name}] of transforms.conf {message}"));
            }
        };
        let time = match text("time_field") {
            None => None,
            Some(field) => Some(LookupTime {
                field,
                format: text("time_format").filter(|format| format != "%s" && format != "%s.%Q"),
                min_offset: number("min_offset_secs", 0)?,
                max_offset: number("max_offset_secs", MAX_OFFSET)?,
            }),
        };
        let most = if time.is_some() { 1 } else { MAX_MATCHES };
        let default_match = text("default_match");
        let least = i64::from(default_match.is_some());
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        let case = text("case_sensitive_match");
        let fields = text("fields_list").unwrap_or_default();
        Ok(LookupDefinition {
            name: name.to_owned(),
            place,
            match_types: match_types(name, &text("match_type").unwrap_or_default())?,
            case_sensitive: case.is_none_or(|text| crate::props::boolean(&text).unwrap_or(true)),
            max_matches: count(number("max_matches", i64::try_from(most).unwrap_or(1))?).max(1),
            min_matches: count(number("min_matches", least)?),
            default_match,
            time,
            fields: fields
                .split(',')
                .map(|field| field.trim().to_owned())
                .filter(|field| !field.is_empty())
                .collect(),
        })
    }

    /// The names of all lookups of `transforms.conf`.
    #[must_use]
    pub fn lookup_names(&self) -> Vec<String> {
        let transforms = self.conf("transforms");
        let is_lookup = |stanza: &&crate::conf::Stanza| {
            ["filename", "collection", "external_cmd"].iter().any(|key| stanza.get(key).is_some())
        };
        transforms.stanzas.iter().filter(is_lookup).map(|stanza| stanza.name.clone()).collect()
    }

    /// All automatic lookups, in the order they are applied.
    #[must_use]
    pub fn automatic_lookups(&self) -> Vec<AutomaticLookup> {
        let mut found = Vec::new();
        for stanza in self.props_stanzas() {
            let values = Values::of(&stanza.stanza);
            for (class, entry) in values.family("LOOKUP-") {
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

/// `WILDCARD(uri), CIDR(network)`.
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
    use crate::layers::{Layer, Layers};

    fn knowledge(transforms: &str) -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "transforms", transforms))
    }

    #[test]
    fn a_stanza_says_where_rows_are_and_how_they_match() {
        let found = knowledge(
            "[hosts]\nfilename = hosts.csv\nmatch_type = WILDCARD(host), CIDR(net)\n\
             default_match = unknown\ncase_sensitive_match = false\n",
        );
        let lookup = found.lookup("hosts").unwrap();
        assert_eq!(lookup.place, LookupPlace::File("hosts.csv".to_owned()));
        assert_eq!(lookup.match_types["host"], MatchType::Wildcard);
        assert_eq!(lookup.match_types["net"], MatchType::Cidr);
        assert_eq!((lookup.min_matches, lookup.max_matches), (1, 100));
        assert!(!lookup.case_sensitive);
        assert_eq!(found.lookup_names(), ["hosts"]);
    }

    #[test]
    fn a_time_based_lookup_takes_the_newest_row() {
        let found = knowledge("[t]\ncollection = c\ntime_field = at\ntime_format = %F\n");
        let lookup = found.lookup("t").unwrap();
        assert_eq!(lookup.max_matches, 1);
        assert_eq!(lookup.time.unwrap().format.as_deref(), Some("%F"));
    }

    #[test]
    fn what_cannot_be_looked_up_says_why() {
        let found = knowledge(
            "[p]\nexternal_cmd = x.py\n[q]\nREGEX = x\n[r]\nfilename=a\nmatch_type=X(a)\n",
        );
        let error = |name: &str| found.lookup(name).unwrap_err();
        assert!(error("p").contains("runs a program"));
        assert!(error("q").contains("neither filename nor collection"));
        assert!(error("r").contains("match_type = X(a)"));
        assert!(error("nothing").contains("there is no lookup \"nothing\""));
        assert!(found.lookup("file.csv").is_ok());
    }
}

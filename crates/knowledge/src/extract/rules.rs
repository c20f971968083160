//! The compiled extraction rules of a source type, source and host, and the part of them that given fields
//! need.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use model::columns;

use super::run::Run;
use super::seen::hash;
use super::{Alias, CODE_VERSION, Extraction, ExtractionLimits, FIXED, KvMode, Transform};

/// Number of wanted names above which they are not compared with the path of each JSON value.
const MANY: usize = 32;

/// Compiled rules of one combination of `props.conf` stanzas, created by `Knowledge::field_rules`. A clone
/// shares everything that was compiled.
#[derive(Debug, Clone)]
pub struct FieldRules {
    pub(super) transforms: Arc<[Rule]>,
    pub(super) mode: KvMode,
    pub(super) auto_json: bool,
    pub(super) aliases: Arc<[Alias]>,
    pub(super) limits: ExtractionLimits,
    /// Fields that later rules or aliases read.
    pub(super) kept: Arc<[String]>,
    /// Values of `host`, `source` and `sourcetype`, if a rule or an alias reads them.
    pub(super) metadata: Vec<(String, String)>,
    evals: Arc<[(String, String)]>,
    /// Canonical text of the rules, without `metadata`.
    canonical: Arc<str>,
    fingerprint: u64,
}

/// A transform, with the names that it can produce.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) transform: Transform,
    /// `None` if the names come from the event.
    pub(super) names: Option<Vec<String>>,
}

/// The parts from which [`FieldRules`] are built.
#[derive(Debug, Default)]
pub(crate) struct FieldRulesBuilder {
    pub(crate) transforms: Vec<Transform>,
    pub(crate) mode: KvMode,
    pub(crate) auto_json: bool,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) limits: ExtractionLimits,
    pub(crate) evals: Vec<(String, String)>,
    /// `(field, value)` of the fixed fields; only those that a rule reads are kept.
    pub(crate) metadata: Vec<(String, String)>,
    /// Canonical text of all settings that were used.
    pub(crate) canonical: String,
}

impl FieldRulesBuilder {
    pub(crate) fn build(self) -> FieldRules {
        let sources = self.transforms.iter().filter_map(|transform| transform.source.clone());
        let aliased = self.aliases.iter().flat_map(|a| [a.field.clone(), a.alias.clone()]);
        let mut kept: Vec<String> = sources.clone().chain(aliased).collect();
        kept.sort_unstable();
        kept.dedup();
        let read: BTreeSet<String> =
            sources.chain(self.aliases.iter().map(|alias| alias.field.clone())).collect();
        let metadata: Vec<_> =
            self.metadata.into_iter().filter(|(name, _)| read.contains(name)).collect();
        let mut canonical = format!("karst extraction {CODE_VERSION}\n{}", self.canonical);
        // Before rules read all values of a field, and aliases read `_raw`, these rules gave other fields.
        // Only their fingerprints change; all others stay, and with them the columns of stored buckets,
        // except if aliases read the metadata. Names repeated in a JSON object do not change the fingerprint:
        // nearly all rules read JSON, and few events have such names. Stored columns keep the first value of
        // these.
        if reads_lines(&self.transforms) {
            canonical += "lines\n";
        }
        if self.aliases.iter().any(|alias| alias.field == columns::RAW) {
            canonical += "raw\n";
        }
        let rule = |transform: Transform| Rule { names: transform.names(), transform };
        FieldRules {
            transforms: self.transforms.into_iter().map(rule).collect(),
            mode: self.mode,
            auto_json: self.auto_json,
            aliases: self.aliases.into(),
            limits: self.limits,
            kept: kept.into(),
            fingerprint: fingerprint(&canonical, &metadata),
            metadata,
            evals: self.evals.into(),
            canonical: canonical.into(),
        }
    }
}

fn fingerprint(canonical: &str, metadata: &[(String, String)]) -> u64 {
    let read = metadata.iter().map(|(name, value)| format!("{name}\n{value}\n"));
    hash(&std::iter::once(canonical.to_owned()).chain(read).collect::<String>())
}

/// Returns whether a rule reads a field to which an earlier rule may give several values.
fn reads_lines(transforms: &[Transform]) -> bool {
    let gives = |rule: &Transform, field: &String| {
        rule.add && rule.names().is_none_or(|names| names.contains(field))
    };
    transforms.iter().enumerate().any(|(at, rule)| {
        let field = rule.source.as_ref();
        field.is_some_and(|field| transforms[..at].iter().any(|earlier| gives(earlier, field)))
    })
}

/// The names that a search needs, prepared for one [`FieldRules`].
#[derive(Debug, Clone)]
pub struct Wanted {
    names: BTreeSet<String>,
    /// The wanted names, and those that rules and aliases need to produce them.
    pub(super) needed: Vec<(u64, String)>,
    pub(super) transforms: Vec<bool>,
    pub(super) automatic: bool,
}

impl Wanted {
    /// Returns whether the name is one of the wanted names.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns whether a name must be extracted, either for the search or to produce another field.
    pub(super) fn needs(&self, name: &str) -> bool {
        let hash = hash(name);
        self.needed.iter().any(|(known, text)| *known == hash && text == name)
    }

    /// Returns whether the value at this path may be or contain a needed field. With many needed names the
    /// answer is always true: comparing each of them would take longer than parsing the values.
    pub(super) fn may_need_within(&self, path: &str) -> bool {
        let within = |name: &str| {
            let rest = name.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '{']))
        };
        self.needed.len() > MANY || self.needed.iter().any(|(_, name)| within(name))
    }

    /// Returns whether a needed name is a path inside of the value of this name.
    pub(super) fn needs_below(&self, path: &str) -> bool {
        let below = |name: &str| name.strip_prefix(path).map(|rest| rest.starts_with(['.', '{']));
        self.needed.iter().any(|(_, name)| below(name) == Some(true))
    }
}

impl FieldRules {
    /// Returns rules for events without configuration: only automatic extraction.
    #[must_use]
    pub fn automatic() -> Self {
        FieldRulesBuilder { auto_json: true, ..FieldRulesBuilder::default() }.build()
    }

    /// Returns a number that identifies the rules: it is the same in all processes, and it changes when the
    /// rules would give other fields.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns whether a rule or an alias reads `host`, `source` or `sourcetype`, so that other values of
    /// these need other rules.
    pub(crate) fn reads_metadata(&self) -> bool {
        !self.metadata.is_empty()
    }

    /// Returns the rules for other values of `host`, `source` and `sourcetype`, without compiling them again.
    pub(crate) fn with_metadata(&self, values: &[(&str, &str)]) -> Self {
        let read = values.iter().filter(|(name, _)| self.metadata.iter().any(|(n, _)| n == name));
        let metadata: Vec<_> =
            read.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { fingerprint: fingerprint(&self.canonical, &metadata), metadata, ..self.clone() }
    }

    /// Returns the calculated fields, as name and expression, ordered by name.
    #[must_use]
    pub fn evals(&self) -> &[(String, String)] {
        &self.evals
    }

    /// Passes all fields of an event to the visitor; a multivalue field is passed once per value.
    pub fn extract<'a>(
        &self,
        raw: &'a str,
        sink: &mut dyn FnMut(&str, Cow<'a, str>),
    ) -> Extraction {
        Run::new(self, None, sink).run(raw)
    }

    /// Passes the wanted fields of an event to the visitor, and skips rules that cannot produce them.
    pub fn extract_wanted<'a>(
        &self,
        raw: &'a str,
        wanted: &Wanted,
        sink: &mut dyn FnMut(&str, Cow<'a, str>),
    ) -> Extraction {
        Run::new(self, Some(wanted), sink).run(raw)
    }

    /// Prepares names for [`FieldRules::extract_wanted`] of these rules.
    #[must_use]
    pub fn wanted<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Wanted {
        let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
        let mut needed = names.clone();
        for alias in self.aliases.iter().rev() {
            if needed.contains(&alias.alias) {
                needed.insert(alias.field.clone());
            }
        }
        let mut transforms = vec![false; self.transforms.len()];
        for (at, rule) in self.transforms.iter().enumerate().rev() {
            let produces = match &rule.names {
                None => !needed.is_empty(),
                Some(produced) => produced.iter().any(|name| needed.contains(name)),
            };
            if produces {
                transforms[at] = true;
                needed.extend(rule.transform.source.clone());
            }
        }
        let automatic =
            self.mode != KvMode::None && needed.iter().any(|name| !FIXED.contains(&name.as_str()));
        let needed = needed.into_iter().map(|name| (hash(&name), name)).collect();
        Wanted { names, needed, transforms, automatic }
    }

    /// Returns whether an event can have the field according to these rules.
    #[must_use]
    pub fn may_produce(&self, field: &str) -> bool {
        if FIXED.contains(&field) {
            return false;
        }
        let automatic = match self.mode {
            KvMode::None => false,
            KvMode::Auto | KvMode::AutoEscaped if !self.auto_json => {
                super::kv::clean_key(field) == field
            }
            _ => true,
        };
        automatic
            || self.aliases.iter().any(|alias| alias.alias == field)
            || self.transforms.iter().any(|rule| match &rule.names {
                None => true,
                Some(names) => names.iter().any(|name| name == field),
            })
    }

    /// Returns whether field names can come from events, not only from the rules.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        self.mode != KvMode::None || self.transforms.iter().any(|rule| rule.names.is_none())
    }

    /// Returns the names that rules and aliases mention, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let ruled = self.transforms.iter().filter_map(|rule| rule.names.as_ref()).flatten();
        let aliased = self.aliases.iter().map(|alias| &alias.alias);
        let names: BTreeSet<&str> = ruled.chain(aliased).map(String::as_str).collect();
        names.into_iter().collect()
    }

    /// Iterates over fields with their aliases.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|alias| (alias.field.as_str(), alias.alias.as_str()))
    }

    /// Returns those of the names that may have several values in one event, besides aliases of such
    /// fields. Names with `{}` from JSON arrays, and names repeated in JSON, are multivalue, too.
    #[must_use]
    pub fn multivalue_names(&self) -> Vec<&str> {
        let adding = self.transforms.iter().filter(|rule| rule.transform.add);
        let names: BTreeSet<&str> =
            adding.filter_map(|rule| rule.names.as_ref()).flatten().map(String::as_str).collect();
        names.into_iter().collect()
    }
}

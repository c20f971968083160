//! The complete configuration, compiled once and shared.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use conf::{Effective, Entry, Layers, Place, Setting, Stanza, Warning};
use eval::time::parse_zone;
use jiff::tz::TimeZone;
use model::columns;
use parking_lot::Mutex;

use crate::error::Error;
use crate::extract::{Alias, Aliases, ExtractionLimits, Extractor, FieldRules};
use crate::index_time;
use crate::indexes::{self, IndexSettings};
use crate::origins::OriginRules;
use crate::parsing::ParsingRules;
use crate::props::{Props, PropsStanza, StanzaMatcher, Values, bad_value};
use crate::searching::{self, MultivalueRules};
use crate::settings::indexes::AckLevel;
use crate::settings::props as keys;
use crate::sourcetype::{Recognised, RecognisedBy, Recogniser};

/// Maximum number of cached combinations of stanzas; when it is reached, the cache is emptied.
const CACHED: usize = 10_000;

/// Stands in for the file name of settings that are tried in a preview.
pub const TRIED: &str = "the request";

/// A setting of `props.conf` that applies to events of a source.
#[derive(Debug, Clone)]
pub struct InForce {
    /// Its declaration.
    pub setting: Setting,
    /// Its name; for a family such as `EXTRACT-*`, including the class.
    pub key: String,
    /// Its value as written, or the default if it is not set.
    pub value: String,
    /// The stanza that sets it, with file and line; `None` for a default. For a setting that is tried, the
    /// stanza is empty and the file is [`TRIED`].
    pub from: Option<(String, Place)>,
}

/// A calculated field (`EVAL-*`) and the events it applies to.
#[derive(Debug, Clone)]
pub struct CalculatedField {
    /// The events to which it applies.
    pub matcher: StanzaMatcher,
    /// Name of the field.
    pub field: String,
    /// The text of the expression.
    pub expression: String,
    /// File and line of the setting.
    pub place: Place,
}

/// The compiled configuration; a clone shares everything.
#[derive(Debug, Clone)]
pub struct Knowledge {
    inner: Arc<Inner>,
    /// Settings of `props.conf` that take precedence over all stanzas, for a preview.
    tried: Option<Arc<Tried>>,
}

/// Settings that are tried, with the rules that result from them and the stanzas.
#[derive(Debug)]
struct Tried {
    stanza: Stanza,
    rules: Compiled,
}

/// Compiled rules, by combination of stanzas.
#[derive(Debug, Default)]
struct Compiled {
    parsing: Mutex<HashMap<Vec<usize>, Arc<ParsingRules>>>,
    fields: Mutex<HashMap<FieldsKey, Arc<FieldRules>>>,
    /// What decides which fields may have several values, by source type.
    multivalue: Mutex<HashMap<String, Arc<MultivalueRules>>>,
}

#[derive(Debug)]
struct Inner {
    layers: Layers,
    warnings: Vec<Warning>,
    base: Arc<Base>,
    compiled: Mutex<HashMap<TypeId, Derived>>,
}

/// The part that is compiled from the files [`OF_BASE`]: most of the work, since it parses all patterns.
#[derive(Debug)]
struct Base {
    props: Props,
    transforms: Effective,
    recogniser: Recogniser,
    limits: ExtractionLimits,
    indexes: Vec<IndexSettings>,
    default_ack_level: AckLevel,
    warnings: Vec<Warning>,
    errors: Vec<Error>,
    of_origins: OriginRules,
    /// Names of source types in searches (`rename`), by their stored names.
    renamed: Arc<BTreeMap<String, String>>,
    /// Whether a stanza has index-time rules.
    index_time: bool,
    rules: Compiled,
}

/// The files from which [`Base`] is compiled; `app.conf` says which apps are enabled.
const OF_BASE: [&str; 5] = ["app", "props", "transforms", "limits", "indexes"];

/// The files (named without `.conf`) from which the field rules are compiled.
pub const OF_FIELDS: [&str; 4] = ["app", "props", "transforms", "limits"];

/// A value that another crate has derived from the configuration.
#[derive(Debug, Clone)]
struct Derived {
    /// The files from which it is derived; `None` if it may depend on any file.
    of: Option<&'static [&'static str]>,
    value: Arc<dyn Any + Send + Sync>,
}

/// The stanzas that apply, and the metadata that their rules read. Rules that read metadata are also cached
/// without it, with the values of the event for which they were first compiled.
type FieldsKey = (Vec<usize>, Option<[String; 3]>);

impl Knowledge {
    /// Compiles layers. Never fails: invalid settings are listed by [`Knowledge::errors`], and replaced by
    /// their default or left out; the program decides whether to start with them.
    #[must_use]
    pub fn new(layers: Layers) -> Self {
        let base = Arc::new(Base::new(&layers));
        Self::of(layers, base, HashMap::new())
    }

    fn of(layers: Layers, base: Arc<Base>, compiled: HashMap<TypeId, Derived>) -> Self {
        let warnings = layers.warnings().into_iter().chain(base.warnings.iter().cloned()).collect();
        let inner = Inner { layers, warnings, base, compiled: Mutex::new(compiled) };
        Self { inner: Arc::new(inner), tried: None }
    }

    /// Compiles layers that differ from those of this configuration only in the files `changed` (named
    /// without `.conf`). The parts compiled from other files are reused: after a change of one saved search,
    /// the thousands of patterns of add-ons are not parsed again.
    #[must_use]
    pub fn changed(&self, layers: Layers, changed: &BTreeSet<String>) -> Self {
        let differ = |files: &[&str]| files.iter().any(|file| changed.contains(*file));
        if differ(&OF_BASE) {
            return Self::new(layers);
        }
        let mut compiled = self.inner.compiled.lock().clone();
        compiled.retain(|_, derived| derived.of.is_some_and(|files| !differ(files)));
        Self::of(layers, Arc::clone(&self.inner.base), compiled)
    }

    /// Returns this configuration with settings of `props.conf` that take precedence over all stanzas, for
    /// all events. A setting with an empty value gets its default.
    ///
    /// # Errors
    /// If a setting does not exist or its value is invalid. The file of its place is [`TRIED`].
    pub fn trying(&self, settings: &[(String, String)]) -> Result<Self, Error> {
        let mut entries = Vec::new();
        for (line, (key, value)) in (1..).zip(settings) {
            let place = Place { file: TRIED.into(), line };
            let entry = Entry { key: key.clone(), value: value.clone(), place };
            if !keys::SETTINGS.iter().any(|one| one.has_name("", key) && is_of_events(one)) {
                return Err(bad_value(&entry, "a setting of props.conf that applies to events"));
            }
            entries.push(entry);
        }
        let place = Place { file: TRIED.into(), line: 0 };
        let stanza = Stanza { name: TRIED.to_owned(), place, entries };
        let mut errors = Vec::new();
        let (values, transforms) = (Values::of(&stanza), &self.inner.base.transforms);
        ParsingRules::read(&values, transforms, self.inner.layers.files(), &mut errors);
        let none = [("host", ""), ("source", ""), ("sourcetype", "")];
        searching::field_rules(&values, transforms, self.inner.base.limits, none, &mut errors);
        if !errors.is_empty() {
            return Err(errors.swap_remove(0));
        }
        let tried = Tried { stanza, rules: Compiled::default() };
        Ok(Self { inner: Arc::clone(&self.inner), tried: Some(Arc::new(tried)) })
    }

    fn rules(&self) -> &Compiled {
        self.tried.as_ref().map_or(&self.inner.base.rules, |tried| &tried.rules)
    }

    /// Returns the merged settings of the stanzas, after those that are tried.
    fn values(&self, stanzas: &[usize]) -> Values<'_> {
        let mut values = self.inner.base.props.merged(stanzas);
        if let Some(tried) = &self.tried {
            values.put(&tried.stanza);
        }
        values
    }

    /// Returns the settings of `props.conf` for parsing and reading events, in the order of their
    /// declarations: the values that are set, and the defaults of the others.
    #[must_use]
    pub fn props_in_force(&self, sourcetype: &str, source: &str, host: &str) -> Vec<InForce> {
        let stanzas = self.inner.base.props.matching(sourcetype, source, host);
        let values = self.values(&stanzas);
        let stanza_of = |entry: &Entry| {
            let mut named = stanzas.iter().map(|at| &self.inner.base.props.stanzas[*at].stanza);
            let found =
                named.find(|stanza| stanza.entries.iter().any(|one| std::ptr::eq(one, entry)));
            found.map_or_else(String::new, |stanza| stanza.name.clone())
        };
        let mut all = Vec::new();
        for setting in keys::SETTINGS.iter().filter(|setting| is_of_events(setting)) {
            let written = values.named(setting);
            let is_family = setting.name.ends_with('*');
            if written.is_empty() && !is_family {
                let (key, value) = (setting.name.to_owned(), setting.default.to_owned());
                all.push(InForce { setting: *setting, key, value, from: None });
            }
            for entry in written {
                let (key, value) = (entry.key.clone(), entry.value.clone());
                let from = Some((stanza_of(entry), entry.place.clone()));
                all.push(InForce { setting: *setting, key, value, from });
            }
        }
        all
    }

    /// Returns the layers from which it was compiled.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.inner.layers
    }

    /// Returns the built-in configuration, without any files.
    #[must_use]
    pub fn builtin() -> Self {
        Self::new(Layers::builtin())
    }

    /// Returns the invalid settings, each with file and line. Each is left out or replaced by its default.
    #[must_use]
    pub fn errors(&self) -> &[Error] {
        &self.inner.base.errors
    }

    /// Returns the errors that should prevent a program from starting: those outside of apps.
    pub fn fatal_errors(&self) -> impl Iterator<Item = &Error> {
        self.inner.base.errors.iter().filter(|error| !self.is_of_app(error))
    }

    /// Returns the errors in apps: invalid settings there are ignored.
    pub fn app_errors(&self) -> impl Iterator<Item = &Error> {
        self.inner.base.errors.iter().filter(|error| self.is_of_app(error))
    }

    fn is_of_app(&self, error: &Error) -> bool {
        error.place().is_some_and(|place| self.inner.layers.is_of_app(place))
    }

    /// Returns warnings about settings, each with file and line. `conf::Registry` knows which settings exist.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// Returns the merged settings of a file (named without `.conf`) from all layers, with the place of each
    /// value.
    #[must_use]
    pub fn conf(&self, file: &str) -> Effective {
        self.inner.layers.effective(file)
    }

    /// Returns the names of all files, without `.conf`.
    #[must_use]
    pub fn confs(&self) -> Vec<&str> {
        self.inner.layers.confs()
    }

    /// Returns the `ackLevel` of indexes that are not configured.
    #[must_use]
    pub fn default_ack_level(&self) -> AckLevel {
        self.inner.base.default_ack_level
    }

    /// Returns all configured indexes, ordered by name.
    #[must_use]
    pub fn indexes(&self) -> &[IndexSettings] {
        &self.inner.base.indexes
    }

    /// Returns the rules for cutting a source into events. They are cached: callers may ask per batch.
    #[must_use]
    pub fn parsing_rules(&self, sourcetype: &str, source: &str, host: &str) -> Arc<ParsingRules> {
        let stanzas = self.inner.base.props.matching(sourcetype, source, host);
        let mut cache = self.rules().parsing.lock();
        if let Some(rules) = cache.get(&stanzas) {
            return rules.clone();
        }
        let values = self.values(&stanzas);
        let transforms = &self.inner.base.transforms;
        let rules = Arc::new(ParsingRules::read(
            &values,
            transforms,
            self.inner.layers.files(),
            &mut Vec::new(),
        ));
        bounded(&mut cache).insert(stanzas, rules.clone());
        rules
    }

    /// Returns whether any events have index-time rules.
    #[must_use]
    pub fn has_index_time_rules(&self) -> bool {
        self.inner.base.index_time || self.tried.is_some()
    }

    /// Returns the names of source types in searches (`rename`), by their stored names.
    #[must_use]
    pub fn renamed_sourcetypes(&self) -> &Arc<BTreeMap<String, String>> {
        &self.inner.base.renamed
    }

    /// Returns the rules for extracting the fields of events with this stored source type. They are cached:
    /// callers may ask per batch.
    #[must_use]
    pub fn field_rules(&self, sourcetype: &str, source: &str, host: &str) -> Arc<FieldRules> {
        let sourcetype = self.inner.base.renamed.get(sourcetype).map_or(sourcetype, String::as_str);
        let stanzas = self.inner.base.props.matching(sourcetype, source, host);
        let mut cache = self.rules().fields.lock();
        let general = (stanzas, None);
        let compiled = cache.get(&general).cloned();
        if let Some(rules) = compiled.as_ref().filter(|rules| !rules.reads_metadata()) {
            return rules.clone();
        }
        let owned = [host, source, sourcetype].map(str::to_owned);
        let special = (general.0, Some(owned));
        if let Some(rules) = cache.get(&special) {
            return rules.clone();
        }
        let metadata = [("host", host), ("source", source), ("sourcetype", sourcetype)];
        if let Some(compiled) = compiled {
            // Add-ons have aliases of `host` for most source types: otherwise all patterns would be compiled
            // for each host.
            let rules = Arc::new(compiled.with_metadata(&metadata));
            bounded(&mut cache).insert(special, rules.clone());
            return rules;
        }
        let values = self.values(&special.0);
        let (transforms, limits) = (&self.inner.base.transforms, self.inner.base.limits);
        let errors = &mut Vec::new();
        let rules = Arc::new(searching::field_rules(&values, transforms, limits, metadata, errors));
        bounded(&mut cache).insert((special.0, None), rules.clone());
        rules
    }

    /// Returns what decides which fields may have several values in events with this stored source type,
    /// whatever their source and host.
    #[must_use]
    pub fn multivalue_rules(&self, sourcetype: &str) -> Arc<MultivalueRules> {
        let sourcetype = self.inner.base.renamed.get(sourcetype).map_or(sourcetype, String::as_str);
        let mut cache = self.rules().multivalue.lock();
        if let Some(rules) = cache.get(sourcetype) {
            return Arc::clone(rules);
        }
        let Base { props, transforms, .. } = &*self.inner.base;
        let tried = self.tried.as_ref().map(|tried| (&tried.stanza, true));
        let stanzas = props.possible(sourcetype).chain(tried);
        let rules = Arc::new(searching::multivalue_rules(stanzas, transforms));
        bounded(&mut cache).insert(sourcetype.to_owned(), Arc::clone(&rules));
        rules
    }

    /// Returns the rule of a stanza of `transforms.conf`; `None` if there is no such stanza.
    ///
    /// # Errors
    /// If the stanza is invalid, or does not extract fields.
    #[must_use]
    pub fn extractor(&self, stanza: &str) -> Option<Result<Extractor, String>> {
        let values = Values::of(self.inner.base.transforms.stanza(stanza)?);
        let mut errors = Vec::new();
        let transform = searching::transform(&values, &mut errors);
        Some(match (transform, errors.first()) {
            (Some(transform), None) => Ok(Extractor::of(transform)),
            (_, Some(error)) => Err(error.to_string()),
            (None, None) => Err("it has neither REGEX nor DELIMS".to_owned()),
        })
    }

    /// Returns what is wrong with the `REGEX` of a stanza of `transforms.conf`, even if no rule refers to the
    /// stanza.
    #[must_use]
    pub fn regex_fault(&self, stanza: &str) -> Option<String> {
        let stanza = self.inner.base.transforms.stanza(stanza)?;
        crate::unnamed::fault(stanza).map(|(_, text)| text)
    }

    /// Returns a number that changes whenever the fields of any event of the source type could change,
    /// whatever its source and host. It is stored with columns that are computed from the rules.
    #[must_use]
    pub fn fingerprint(&self, sourcetype: &str) -> u64 {
        self.inner.base.of_origins.joined_with(self.field_rules(sourcetype, "", "").fingerprint())
    }

    /// Returns all calculated fields, in the order of precedence of their stanzas, followed by the aliases of
    /// `_time` and `index`, which extraction does not know because it reads only texts of an event.
    #[must_use]
    pub fn calculated_fields(&self) -> Vec<CalculatedField> {
        let (mut fields, mut aliases) = (Vec::new(), Vec::new());
        for stanza in &self.inner.base.props.stanzas {
            for (field, entry) in Values::of(&stanza.stanza).family(&keys::EVAL) {
                fields.push(CalculatedField {
                    matcher: stanza.matcher.clone(),
                    field: field.to_owned(),
                    expression: entry.value.clone(),
                    place: entry.place.clone(),
                });
            }
            for (_, entry) in Values::of(&stanza.stanza).family(&keys::FIELDALIAS) {
                let calculated = |(field, expression)| CalculatedField {
                    matcher: stanza.matcher.clone(),
                    field,
                    expression,
                    place: entry.place.clone(),
                };
                aliases.extend(calculated_aliases(&entry.value).into_iter().map(calculated));
            }
        }
        fields.append(&mut aliases);
        fields
    }

    /// Returns the time zones that stanzas give their events (`TZ`), in the order of precedence of the
    /// stanzas, without invalid ones.
    #[must_use]
    pub fn time_zones(&self) -> Vec<(StanzaMatcher, TimeZone)> {
        let zone = |stanza: &PropsStanza| {
            let zone = parse_zone(&Values::of(&stanza.stanza).get(&keys::TZ)?.value).ok()?;
            Some((stanza.matcher.clone(), zone))
        };
        self.inner.base.props.stanzas.iter().filter_map(zone).collect()
    }

    /// Returns a value that another crate derives from the configuration: `make` is called once, and its
    /// result is cached as long as the configuration stays the same.
    #[must_use]
    pub fn compiled<T: Send + Sync + 'static>(&self, make: impl FnOnce(&Self) -> T) -> Arc<T> {
        self.compiled_from(None, make)
    }

    /// Like [`Self::compiled`], for a value that depends only on some files (named without `.conf`), such as
    /// parsed expressions: cached as long as these files stay the same.
    #[must_use]
    pub fn compiled_of<T: Send + Sync + 'static>(
        &self,
        files: &'static [&'static str],
        make: impl FnOnce(&Self) -> T,
    ) -> Arc<T> {
        self.compiled_from(Some(files), make)
    }

    fn compiled_from<T: Send + Sync + 'static>(
        &self,
        of: Option<&'static [&'static str]>,
        make: impl FnOnce(&Self) -> T,
    ) -> Arc<T> {
        let known = self.inner.compiled.lock().get(&TypeId::of::<T>()).cloned();
        if let Some(known) = known.and_then(|known| known.value.downcast().ok()) {
            return known;
        }
        let made = Arc::new(make(self));
        let derived = Derived { of, value: made.clone() };
        self.inner.compiled.lock().insert(TypeId::of::<T>(), derived);
        made
    }

    /// Returns `transforms.conf` merged from all layers; it is merged once, since each lookup of a search
    /// reads it.
    #[must_use]
    pub fn transforms(&self) -> &Effective {
        &self.inner.base.transforms
    }

    /// Returns the rules of sources and hosts, which apply to all source types.
    #[must_use]
    pub fn origin_rules(&self) -> &OriginRules {
        &self.inner.base.of_origins
    }

    /// Returns the stanzas of `props.conf`, in the order of precedence.
    pub(crate) fn props_stanzas(&self) -> &[PropsStanza] {
        &self.inner.base.props.stanzas
    }

    /// Determines the source type of a source without one: from a `[source::...]` stanza, else from its
    /// content, else from the name of the file. `sample` is the beginning of the source; a few KiB are
    /// enough.
    #[must_use]
    pub fn sourcetype(&self, source: &str, sample: &str) -> String {
        self.recognise(source, sample).sourcetype
    }

    /// Like [`Self::sourcetype`], and also returns how it was determined.
    #[must_use]
    pub fn recognise(&self, source: &str, sample: &str) -> Recognised {
        let stanzas = self.inner.base.props.matching("", source, "");
        let assigned = stanzas.iter().find_map(|at| {
            let stanza = &self.inner.base.props.stanzas[*at];
            let is_source = matches!(stanza.matcher, StanzaMatcher::Source(_));
            let entry = stanza.stanza.get(keys::SOURCETYPE.name());
            let entry = entry.filter(|entry| is_source && !entry.value.is_empty())?;
            let (name, place) = (stanza.stanza.name.clone(), entry.place.clone());
            let by = RecognisedBy::Stanza { name, place };
            Some(Recognised { sourcetype: entry.value.clone(), by })
        });
        let recogniser = &self.inner.base.recogniser;
        assigned
            .unwrap_or_else(|| recogniser.recognise(source, sample, &self.inner.base.transforms))
    }
}

impl Base {
    fn new(layers: &Layers) -> Self {
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        let conf = layers.effective("props");
        let props = Props::new(&conf, &mut warnings);
        let recogniser = Recogniser::new(&conf, &mut warnings);
        let mut transforms = layers.effective("transforms");
        crate::modular::expand(&mut transforms, &mut errors);
        let limits = ExtractionLimits::read(layers).unwrap_or_else(|invalid| {
            errors.push(invalid.into());
            ExtractionLimits::default()
        });
        let effective = layers.effective("indexes");
        let indexes = indexes::read(&effective, &mut errors);
        let default_ack_level = indexes::default_ack_level(&effective);
        index_time::check_all(&transforms, &mut errors);
        warnings.extend(transforms.stanzas.iter().filter_map(index_time::without_effect));
        let mut of_origins = OriginRules::default();
        let mut index_time = false;
        let mut renamed = BTreeMap::new();
        for stanza in &props.stanzas {
            let values = Values::of(&stanza.stanza);
            let parsing = ParsingRules::read(&values, &transforms, layers.files(), &mut errors);
            index_time |= !parsing.index_time.is_empty();
            let none = [("host", ""), ("source", ""), ("sourcetype", "")];
            let rules = searching::field_rules(&values, &transforms, limits, none, &mut errors);
            let StanzaMatcher::Sourcetype(name) = &stanza.matcher else {
                of_origins.add(stanza, &rules);
                continue;
            };
            let shown = values.get(&keys::RENAME).map(|entry| &entry.value);
            if let Some(shown) = shown.filter(|shown| !shown.is_empty() && *shown != name) {
                renamed.insert(name.clone(), shown.clone());
            }
        }
        warnings.extend(crate::unnamed::warnings(&conf, &transforms, &errors));
        Self {
            props,
            transforms,
            recogniser,
            limits,
            indexes,
            default_ack_level,
            warnings,
            errors,
            of_origins,
            renamed: Arc::new(renamed),
            index_time,
            rules: Compiled::default(),
        }
    }
}

/// Returns the aliases of `_time` and `index` in the value of a setting, with the expression of each.
fn calculated_aliases(text: &str) -> Vec<(String, String)> {
    let Aliases { aliases, .. } = Aliases::parse(text);
    let is_calculated = |one: &Alias| {
        let read = [columns::TIME, columns::INDEX].contains(&one.field.as_str());
        // Quotes in a name would end the name within the expression.
        read && !columns::ALL.contains(&one.alias.as_str()) && !one.alias.contains('\'')
    };
    let expression = |one: &Alias| match one.keep_existing {
        true => format!("coalesce('{}', {})", one.alias, one.field),
        false => one.field.clone(),
    };
    let calculated = aliases.iter().filter(|one| is_calculated(one));
    calculated.map(|one| (one.alias.clone(), expression(one))).collect()
}

/// Returns whether a setting is about events, rather than about its stanza or about sources.
fn is_of_events(setting: &Setting) -> bool {
    let of_stanza = [keys::PRIORITY.name(), keys::DISABLED.name()];
    setting.stanza.starts_with("<source type>") && !of_stanza.contains(&setting.name)
}

fn bounded<K, V>(cache: &mut HashMap<K, V>) -> &mut HashMap<K, V> {
    if cache.len() >= CACHED {
        cache.clear();
    }
    cache
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layer;

    use super::*;

    const PROPS: &str = "[st]\nTRUNCATE = 7\nSEDCMD-a = s/a/b/\n[source::/x/...]\nTRUNCATE = 9\n";

    fn knowledge() -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", PROPS))
    }

    fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_that_are_tried_go_before_all_others_and_leave_no_trace() {
        let knowledge = knowledge();
        let tried =
            owned(&[("TRUNCATE", "5"), ("KV_MODE", "json"), ("EXTRACT-a", "(?<word>\\w+)")]);
        let trying = knowledge.trying(&tried).unwrap();
        let truncate = |of: &Knowledge| of.parsing_rules("st", "/x/a", "h").truncate;
        assert_eq!((truncate(&trying), truncate(&knowledge)), (Some(5), Some(9)));
        let words = |of: &Knowledge| {
            let mut found = Vec::new();
            let rules = of.field_rules("st", "/x/a", "h");
            let _ = rules.extract("some", &mut |name, value| found.push(format!("{name}={value}")));
            found
        };
        assert_eq!(words(&trying), ["word=some"]);
        assert_eq!(words(&knowledge), [""; 0]);
        let unset = knowledge.trying(&owned(&[("TRUNCATE", "")])).unwrap();
        assert_eq!(truncate(&unset), Some(10_000));
    }

    #[test]
    fn a_renamed_source_type_has_the_search_time_settings_of_its_new_name() {
        let props = "[a]\nrename = b\nTRUNCATE = 5\nEXTRACT-x = (?<of_a>\\w+)\n\
                     [b]\nTRUNCATE = 6\nEXTRACT-x = (?<of_b>\\w+)\n[c]\nrename = c\n";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props));
        let mut names = Vec::new();
        let _ = knowledge.field_rules("a", "", "").extract("some", &mut |name, _| {
            names.push(name.to_owned());
        });
        assert_eq!(names, ["of_b"]);
        assert_eq!(knowledge.parsing_rules("a", "", "").truncate, Some(5));
        let renamed: Vec<_> = knowledge.renamed_sourcetypes().iter().collect();
        assert_eq!(renamed, [(&"a".to_owned(), &"b".to_owned())]);
    }

    #[test]
    fn what_is_made_of_a_file_is_kept_until_the_file_changes() {
        struct Macros(usize);
        struct Everything(usize);
        let count = |knowledge: &Knowledge, file| knowledge.conf(file).stanzas.len();
        let macros = |knowledge: &Knowledge| {
            knowledge.compiled_of(&["macros"], |of| Macros(count(of, "macros")))
        };
        let everything =
            |knowledge: &Knowledge| knowledge.compiled(|of| Everything(count(of, "savedsearches")));
        let with = |knowledge: &Knowledge, file: &str, text| {
            let layers = knowledge.layers().clone().with(Layer::SystemLocal, file, text);
            knowledge.changed(layers, &BTreeSet::from([file.to_owned()]))
        };
        let first = knowledge();
        let (made, all, none) = (macros(&first), everything(&first), macros(&first).0);
        let second = with(&first, "savedsearches", "[s]\nsearch = x\n");
        assert!(Arc::ptr_eq(&first.inner.base, &second.inner.base));
        assert!(Arc::ptr_eq(&made, &macros(&second)));
        assert_eq!(everything(&second).0, all.0 + 1);
        let third = with(&second, "macros", "[m]\ndefinition = x\n");
        assert!(Arc::ptr_eq(&first.inner.base, &third.inner.base));
        assert_eq!(macros(&third).0, none + 1);
        let fourth = with(&third, "props", "[other]\nTRUNCATE = 3\n");
        let truncate = |of: &Knowledge| of.parsing_rules("other", "", "").truncate;
        assert_eq!((truncate(&third), truncate(&fourth)), (Some(10_000), Some(3)));
    }

    #[test]
    fn fields_with_several_values_are_those_of_all_sources_and_hosts() {
        let props = "[st]\nREPORT-a = one\n[source::/x/...]\nREPORT-a = two, off\n\
                     [host::h]\nREPORT-b = single\n[other]\nREPORT-c = three, any\n\
                     FIELDALIAS-a = two AS second\n";
        let transform = |name: &str, more: &str| {
            format!("[{name}]\nREGEX = {name}=(\\d)\nFORMAT = {name}::$1\n{more}\n")
        };
        let transforms = ["one", "two", "three"].map(|name| transform(name, "MV_ADD = true"));
        let transforms = transforms.concat()
            + "[any]\nREGEX = (\\w)=(\\d)\nFORMAT = $1::$2\nMV_ADD = true\n"
            + &transform("single", "")
            + &transform("off", "MV_ADD = true\ndisabled = true");
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", props).with(
            Layer::SystemLocal,
            "transforms",
            &transforms,
        );
        let knowledge = Knowledge::new(layers);
        let names = |sourcetype| {
            let rules = knowledge.multivalue_rules(sourcetype);
            rules.names.iter().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names("st"), ["one", "two"]);
        assert_eq!(names("other"), ["three", "two"]);
        assert_eq!(names("none"), ["two"]);
        let all = knowledge.multivalue_rules("other");
        assert_eq!(all.aliases, [("two".to_owned(), "second".to_owned())]);
        assert!(all.dynamic && !knowledge.multivalue_rules("st").dynamic);
        let rules = knowledge.field_rules("st", "/x/a", "h");
        assert_eq!(rules.multivalue_names(), ["two"]);
    }

    #[test]
    fn settings_that_are_tried_must_exist_and_fit() {
        for (key, value, part) in [
            ("TRUNCATE", "x", "TRUNCATE = x: expected"),
            ("TRUNCATED", "1", "a setting of props.conf"),
            ("priority", "1", "a setting of props.conf"),
            ("LINE_BREAKER", "(", "LINE_BREAKER: bad regular expression"),
            ("TRANSFORMS-a", "none", "names [none]"),
            ("TRANSFORMS-a", "one two", "does not define: commas separate names"),
        ] {
            let error = knowledge().trying(&owned(&[(key, value)])).unwrap_err().to_string();
            assert!(error.starts_with(TRIED) && error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_settings_in_force_say_where_they_stand() {
        let knowledge = knowledge().trying(&owned(&[("MAX_EVENTS", "3")])).unwrap();
        let all = knowledge.props_in_force("st", "/x/a", "h");
        let told = |key: &str| {
            let found = all.iter().find(|one| one.key == key).unwrap();
            let from = found.from.as_ref().map(|(stanza, place)| format!("[{stanza}] {place}"));
            (found.value.clone(), from.unwrap_or_default())
        };
        let local = "system/local/props.conf";
        assert_eq!(told("TRUNCATE"), ("9".to_owned(), format!("[source::/x/...] {local}:5")));
        assert_eq!(told("SEDCMD-a"), ("s/a/b/".to_owned(), format!("[st] {local}:3")));
        assert_eq!(told("MAX_EVENTS"), ("3".to_owned(), format!("[] {TRIED}:1")));
        assert_eq!(told("CHARSET").0, "UTF-8");
        assert!(all.iter().all(|one| one.key != "priority" && one.key != "SEDCMD-*"));
    }
}

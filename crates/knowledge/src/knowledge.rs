//! Everything the configuration says, compiled once and shared.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use conf::{Effective, Layers, Warning};
use parking_lot::Mutex;

use crate::error::Error;
use crate::extract::{ExtractionLimits, Extractor, FieldRules};
use crate::index_time;
use crate::indexes::{self, IndexSettings};
use crate::parsing::ParsingRules;
use crate::props::{Props, StanzaMatcher, Values};
use crate::searching;
use crate::settings::indexes::AckLevel;
use crate::settings::props as keys;
use crate::sourcetype::Recogniser;

/// Compiled combinations of stanzas that are kept; one more empties the cache.
const CACHED: usize = 10_000;

/// A calculated field (`EVAL-*`) and the events it applies to.
#[derive(Debug, Clone)]
pub struct CalculatedField {
    /// Which events.
    pub matcher: StanzaMatcher,
    /// Name of the field.
    pub field: String,
    /// The expression's text.
    pub expression: String,
    /// File and line of the setting.
    pub place: conf::Place,
}

/// The configuration, compiled; a clone shares everything.
#[derive(Debug, Clone)]
pub struct Knowledge {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    layers: Layers,
    props: Props,
    transforms: Effective,
    recogniser: Recogniser,
    limits: ExtractionLimits,
    indexes: Vec<IndexSettings>,
    default_ack_level: AckLevel,
    warnings: Vec<Warning>,
    errors: Vec<Error>,
    /// Fingerprint of the rules of sources and hosts, which may meet events of any sourcetype.
    anywhere: u64,
    /// Whether any stanza has rules that run on events as they arrive.
    index_time: bool,
    parsing: Mutex<HashMap<Vec<usize>, Arc<ParsingRules>>>,
    fields: Mutex<HashMap<FieldsKey, Arc<FieldRules>>>,
    compiled: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// The stanzas that apply, and the metadata that their rules read.
type FieldsKey = (Vec<usize>, Option<[String; 3]>);

impl Knowledge {
    /// Compiles layers. Never fails: what is wrong is listed by [`Knowledge::errors`] and replaced by
    /// its default or left out, and a program decides whether to start with that.
    #[must_use]
    pub fn new(layers: Layers) -> Self {
        let mut warnings = layers.warnings();
        let mut errors = Vec::new();
        let conf = layers.effective("props");
        let props = Props::new(&conf, &mut warnings);
        let recogniser = Recogniser::new(&conf, &mut warnings);
        let mut transforms = layers.effective("transforms");
        crate::modular::expand(&mut transforms, &mut errors);
        let limits = ExtractionLimits::read(&layers).unwrap_or_else(|invalid| {
            errors.push(invalid.into());
            ExtractionLimits::default()
        });
        let effective = layers.effective("indexes");
        let indexes = indexes::read(&effective, &mut errors);
        let default_ack_level = indexes::default_ack_level(&effective);
        index_time::check_all(&transforms, &mut errors);
        let mut anywhere = 0_u64;
        let mut index_time = false;
        for stanza in &props.stanzas {
            let values = Values::of(&stanza.stanza);
            let parsing = ParsingRules::read(&values, &transforms, layers.files(), &mut errors);
            index_time |= !parsing.index_time.is_empty();
            let none = [("host", ""), ("source", ""), ("sourcetype", "")];
            let rules = searching::field_rules(&values, &transforms, limits, none, &mut errors);
            if !matches!(stanza.matcher, StanzaMatcher::Sourcetype(_)) {
                anywhere = anywhere.rotate_left(7) ^ rules.fingerprint();
            }
        }
        let inner = Inner {
            layers,
            props,
            transforms,
            recogniser,
            limits,
            indexes,
            default_ack_level,
            warnings,
            errors,
            anywhere,
            index_time,
            parsing: Mutex::new(HashMap::new()),
            fields: Mutex::new(HashMap::new()),
            compiled: Mutex::new(HashMap::new()),
        };
        Self { inner: Arc::new(inner) }
    }

    /// What it was compiled from.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.inner.layers
    }

    /// What is built in, without any file.
    #[must_use]
    pub fn builtin() -> Self {
        Self::new(Layers::builtin())
    }

    /// Settings that are wrong, each with file and line. Each is left out, or its default stands for it.
    #[must_use]
    pub fn errors(&self) -> &[Error] {
        &self.inner.errors
    }

    /// The errors that should keep a program from starting: those that are not an app's.
    pub fn fatal_errors(&self) -> impl Iterator<Item = &Error> {
        self.inner.errors.iter().filter(|error| !self.is_of_app(error))
    }

    /// The errors of apps: what is wrong is ignored.
    pub fn app_errors(&self) -> impl Iterator<Item = &Error> {
        self.inner.errors.iter().filter(|error| self.is_of_app(error))
    }

    fn is_of_app(&self, error: &Error) -> bool {
        error.place().is_some_and(|place| self.inner.layers.is_of_app(place))
    }

    /// What is oddly written, each with file and line. `conf::Registry` knows which settings there are.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// A file (named without `.conf`) as all layers make it, with the place of each value.
    #[must_use]
    pub fn conf(&self, file: &str) -> Effective {
        self.inner.layers.effective(file)
    }

    /// Names of all files, without `.conf`.
    #[must_use]
    pub fn confs(&self) -> Vec<&str> {
        self.inner.layers.confs()
    }

    /// `ackLevel` of indexes that are not configured.
    #[must_use]
    pub fn default_ack_level(&self) -> AckLevel {
        self.inner.default_ack_level
    }

    /// All configured indexes in the order of their names.
    #[must_use]
    pub fn indexes(&self) -> &[IndexSettings] {
        &self.inner.indexes
    }

    /// How to cut a source into events. Cached: callers may ask per batch.
    #[must_use]
    pub fn parsing_rules(&self, sourcetype: &str, source: &str, host: &str) -> Arc<ParsingRules> {
        let stanzas = self.inner.props.matching(sourcetype, source, host);
        let mut cache = self.inner.parsing.lock();
        if let Some(rules) = cache.get(&stanzas) {
            return rules.clone();
        }
        let values = self.inner.props.merged(&stanzas);
        let transforms = &self.inner.transforms;
        let rules = Arc::new(ParsingRules::read(
            &values,
            transforms,
            self.inner.layers.files(),
            &mut Vec::new(),
        ));
        bounded(&mut cache).insert(stanzas, rules.clone());
        rules
    }

    /// Whether there are events that have rules to go through as they arrive.
    #[must_use]
    pub fn has_index_time_rules(&self) -> bool {
        self.inner.index_time
    }

    /// How to extract the fields of an event. Cached: callers may ask per batch.
    #[must_use]
    pub fn field_rules(&self, sourcetype: &str, source: &str, host: &str) -> Arc<FieldRules> {
        let stanzas = self.inner.props.matching(sourcetype, source, host);
        let mut cache = self.inner.fields.lock();
        let general = (stanzas, None);
        if let Some(rules) = cache.get(&general) {
            return rules.clone();
        }
        let owned = [host, source, sourcetype].map(str::to_owned);
        let special = (general.0, Some(owned));
        if let Some(rules) = cache.get(&special) {
            return rules.clone();
        }
        let values = self.inner.props.merged(&special.0);
        let metadata = [("host", host), ("source", source), ("sourcetype", sourcetype)];
        let (transforms, limits) = (&self.inner.transforms, self.inner.limits);
        let errors = &mut Vec::new();
        let rules = Arc::new(searching::field_rules(&values, transforms, limits, metadata, errors));
        let key = if rules.reads_metadata() { special } else { (special.0, None) };
        bounded(&mut cache).insert(key, rules.clone());
        rules
    }

    /// The rule of a stanza of `transforms.conf`; `None` if there is no such stanza.
    ///
    /// # Errors
    /// What is wrong with the stanza, or that it does not extract fields.
    #[must_use]
    pub fn extractor(&self, stanza: &str) -> Option<Result<Extractor, String>> {
        let values = Values::of(self.inner.transforms.stanza(stanza)?);
        let mut errors = Vec::new();
        let transform = searching::transform(&values, &mut errors);
        Some(match (transform, errors.first()) {
            (Some(transform), None) => Ok(Extractor::of(transform)),
            (_, Some(error)) => Err(error.to_string()),
            (None, None) => Err("it has neither REGEX nor DELIMS".to_owned()),
        })
    }

    /// A number that changes whenever the fields of some event of the sourcetype could change,
    /// whatever its source and host. Stored with columns made from the rules.
    #[must_use]
    pub fn fingerprint(&self, sourcetype: &str) -> u64 {
        self.field_rules(sourcetype, "", "").fingerprint() ^ self.inner.anywhere.rotate_left(1)
    }

    /// All calculated fields, in the order of precedence of their stanzas.
    #[must_use]
    pub fn calculated_fields(&self) -> Vec<CalculatedField> {
        let mut fields = Vec::new();
        for stanza in &self.inner.props.stanzas {
            for (field, entry) in Values::of(&stanza.stanza).family(&keys::EVAL) {
                fields.push(CalculatedField {
                    matcher: stanza.matcher.clone(),
                    field: field.to_owned(),
                    expression: entry.value.clone(),
                    place: entry.place.clone(),
                });
            }
        }
        fields
    }

    /// What others make of the configuration, such as parsed expressions: made once, and kept as long as the
    /// configuration stays the same.
    #[must_use]
    pub fn compiled<T: Send + Sync + 'static>(&self, make: impl FnOnce(&Self) -> T) -> Arc<T> {
        let known = self.inner.compiled.lock().get(&TypeId::of::<T>()).cloned();
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        let made = Arc::new(make(self));
        self.inner.compiled.lock().insert(TypeId::of::<T>(), made.clone());
        made
    }

    /// `transforms.conf` as all layers make it: merged once, as each lookup of a search is found in it.
    #[must_use]
    pub fn transforms(&self) -> &Effective {
        &self.inner.transforms
    }

    /// The stanzas of `props.conf`, in the order of precedence.
    pub(crate) fn props_stanzas(&self) -> &[crate::props::PropsStanza] {
        &self.inner.props.stanzas
    }

    /// The source type of a source without one: what `[source::...]` stanzas assign, else what the
    /// content looks like, else the name of the file. `sample` is the beginning of the source, a few
    /// KiB are enough.
    #[must_use]
    pub fn sourcetype(&self, source: &str, sample: &str) -> String {
        let stanzas = self.inner.props.matching("", source, "");
        let assigned = stanzas.iter().find_map(|at| {
            let stanza = &self.inner.props.stanzas[*at];
            let is_source = matches!(stanza.matcher, StanzaMatcher::Source(_));
            stanza
                .stanza
                .get(keys::SOURCETYPE.name())
                .filter(|entry| is_source && !entry.value.is_empty())
        });
        match assigned {
            Some(entry) => entry.value.clone(),
            None => self.inner.recogniser.recognise(source, sample, &self.inner.transforms),
        }
    }
}

fn bounded<K, V>(cache: &mut HashMap<K, V>) -> &mut HashMap<K, V> {
    if cache.len() >= CACHED {
        cache.clear();
    }
    cache
}

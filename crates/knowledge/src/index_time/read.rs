//! Compiles settings into index-time rules.

use conf::{Effective, Entry, Stanza, Warning};
use eval::Sed;

use super::ingest_eval::{IngestEval, KEYS, UNUSED_KEYS, key};
use super::transform::{DestKey, Format, RegexTransform, SourceKey, Template};
use super::{Action, IndexTimeRules, RuleName, Step};
use crate::error::Error;
use crate::props::{Values, bad_value, is_disabled};
use crate::settings::{props, transforms as keys};

/// Settings that identify a stanza as an index-time transform.
const INDEX_TIME: &[&str] = &[
    keys::DEST_KEY.name(),
    keys::WRITE_META.name(),
    keys::CLONE_SOURCETYPE.name(),
    keys::INGEST_EVAL.name(),
    keys::STOP_PROCESSING_IF.name(),
];
/// Settings that identify a stanza as a lookup or an extraction by delimiters.
const OTHER: &[&str] = &[
    keys::FILENAME.name(),
    keys::EXTERNAL_CMD.name(),
    keys::EXTERNAL_TYPE.name(),
    keys::COLLECTION.name(),
    keys::DELIMS.name(),
];
/// The group of the steps of TRANSFORMS, which `STOP_PROCESSING_IF` in TRANSFORMS ends.
const TRANSFORMS: usize = 1;

/// Compiles the rules; invalid settings are added to `errors` and left out.
pub(crate) fn read(
    values: &Values<'_>,
    transforms: &Effective,
    errors: &mut Vec<Error>,
) -> IndexTimeRules {
    let mut rules = IndexTimeRules {
        annotate_punct: values.read(&props::ANNOTATE_PUNCT, errors),
        ..IndexTimeRules::default()
    };
    for (_, entry) in values.family(&props::SEDCMD).filter(|(_, entry)| !entry.value.is_empty()) {
        match Sed::compile(&entry.value) {
            Ok(sed) => rules.add(0, &entry.key, entry, Action::Sed(sed)),
            Err(reason) => errors.push(Error::Expression {
                place: entry.place.clone(),
                key: entry.key.clone(),
                reason,
            }),
        }
    }
    if let Some(entry) = values.get(&props::PLAIN_TRANSFORMS) {
        rules.add_list(TRANSFORMS, entry, transforms, errors);
    }
    for (_, entry) in values.family(&props::TRANSFORMS) {
        rules.add_list(TRANSFORMS, entry, transforms, errors);
    }
    for (number, (_, entry)) in values.family(&props::RULESET).enumerate() {
        rules.add_list(TRANSFORMS + 1 + number, entry, transforms, errors);
    }
    rules
}

/// Validates all index-time transforms, used or not.
pub(crate) fn check_all(transforms: &Effective, errors: &mut Vec<Error>) {
    for stanza in transforms.stanzas.iter().filter(|stanza| is_index_time(stanza)) {
        let _ = action(stanza, errors);
    }
}

/// Returns a warning if the stanza of `transforms.conf` is an index-time transform whose key has no effect.
#[must_use]
pub fn without_effect(stanza: &Stanza) -> Option<Warning> {
    let entry = stanza.get(keys::DEST_KEY.name()).filter(|_| is_index_time(stanza))?;
    let text = format!("setting {} = {} has no effect in this version", entry.key, entry.value);
    unused_key(entry).map(|entry| Warning { place: entry.place.clone(), text })
}

/// Returns the entry of a `DEST_KEY` if its key has no effect.
fn unused_key(entry: &Entry) -> Option<&Entry> {
    UNUSED_KEYS.contains(&entry.value.trim()).then_some(entry)
}

/// Returns whether a stanza is an index-time transform. Lookups and extractions by delimiters are not, even
/// if they have some of the settings: programs write stanzas with all their defaults.
fn is_index_time(stanza: &Stanza) -> bool {
    let has = |key: &str| stanza.get(key).is_some_and(|entry| !entry.value.is_empty());
    INDEX_TIME.iter().any(|key| has(key))
        && !OTHER.iter().any(|key| has(key))
        && !is_disabled(stanza)
}

impl IndexTimeRules {
    fn add(&mut self, group: usize, name: &str, entry: &Entry, action: Action) {
        let rule = self.rules.len();
        self.rules.push(RuleName { name: name.to_owned(), place: entry.place.clone() });
        self.steps.push(Step { rule, group, action });
    }

    fn add_list(
        &mut self,
        group: usize,
        entry: &Entry,
        transforms: &Effective,
        errors: &mut Vec<Error>,
    ) {
        for name in entry.value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let Some(stanza) = transforms.stanza(name) else {
                errors.push(Error::Missing {
                    place: entry.place.clone(),
                    key: entry.key.clone(),
                    target: name.to_owned(),
                    conf: "transforms",
                });
                continue;
            };
            if is_disabled(stanza) {
                continue;
            }
            let mut found = Vec::new();
            if let Some(action) = action(stanza, &mut found) {
                self.add(group, name, entry, action);
            }
            // `check_all` reports errors in index-time transforms. If the stanza is of another kind, the
            // reference is the error: the stanza itself may be used correctly elsewhere.
            if let (Some(error), false) = (found.first(), is_index_time(stanza)) {
                errors.push(Error::Expression {
                    place: entry.place.clone(),
                    key: entry.key.clone(),
                    reason: format!(
                        "[{name}] of transforms.conf is not an index-time transform: {error}"
                    ),
                });
            }
        }
    }
}

fn action(stanza: &Stanza, errors: &mut Vec<Error>) -> Option<Action> {
    let values = Values::of(stanza);
    let (eval, stop) = (values.get(&keys::INGEST_EVAL), values.get(&keys::STOP_PROCESSING_IF));
    if eval.is_none() && stop.is_none() {
        return regex(stanza, &values, errors).map(|found| Action::Regex(Box::new(found)));
    }
    let mut fail = |entry: &Entry, reason: String| {
        let key = format!("[{}] {}", stanza.name, entry.key);
        errors.push(Error::Expression { place: entry.place.clone(), key, reason });
    };
    let mut compiled = IngestEval::default();
    if let Some(entry) = eval {
        match IngestEval::compile(&entry.value) {
            Ok(assignments) => compiled.assignments = assignments,
            Err(reason) => {
                fail(entry, reason);
                return None;
            }
        }
    }
    if let Some(entry) = stop {
        match super::ingest_eval::compiled(&entry.value) {
            Ok(expression) => compiled.stop_if = Some(expression),
            Err(reason) => {
                fail(entry, reason);
                return None;
            }
        }
    }
    Some(Action::Eval(Box::new(compiled)))
}

fn regex(stanza: &Stanza, values: &Values<'_>, errors: &mut Vec<Error>) -> Option<RegexTransform> {
    let fail = |key: &str, reason: &str| Error::Expression {
        place: stanza.place.clone(),
        key: format!("[{}] {key}", stanza.name),
        reason: reason.to_owned(),
    };
    if values.get(&keys::REGEX).is_none() {
        errors.push(fail("REGEX", "an index-time transform needs one, or INGEST_EVAL"));
        return None;
    }
    let pattern = values.pattern(&keys::REGEX, errors)?;
    let groups = pattern.names().len() - 1;
    let write_meta = values.read(&keys::WRITE_META, errors);
    let clone_to = values.get(&keys::CLONE_SOURCETYPE).map(|entry| entry.value.clone());
    let clone_to = clone_to.filter(|sourcetype| !sourcetype.is_empty());
    // Without a destination key, the copy gets the text of the event.
    let copies = clone_to.is_some() && values.get(&keys::DEST_KEY).is_none() && !write_meta;
    let dest = match values.get(&keys::DEST_KEY) {
        None if write_meta => DestKey::Meta,
        None if copies => DestKey::Raw,
        None => {
            let reason = "an index-time transform needs DEST_KEY, WRITE_META = true, CLONE_SOURCETYPE or \
                          INGEST_EVAL";
            errors.push(fail("DEST_KEY", reason));
            return None;
        }
        Some(entry) => match key(&entry.value) {
            Some(key) => key,
            None if unused_key(entry).is_some() => return None,
            None => {
                let known: Vec<_> = KEYS.iter().map(|(name, _)| *name).collect();
                errors.push(bad_value(entry, &format!("one of {}", known.join(", "))));
                return None;
            }
        },
    };
    let source = match values.get(&keys::SOURCE_KEY) {
        None => SourceKey::Raw,
        Some(entry) => match source_key(&entry.value) {
            Some(source) => source,
            None => {
                let expected = "_raw, _meta, _time, queue, MetaData:Host, MetaData:Source, \
                                MetaData:Sourcetype, _MetaData:Index, field:<name> or fields:<a>,<b>";
                errors.push(bad_value(entry, expected));
                return None;
            }
        },
    };
    let default_format = format!("{}::$1", stanza.name);
    let text = values.get(&keys::FORMAT).map_or(default_format.as_str(), |entry| &entry.value);
    let text = if copies { "$0" } else { text };
    let Some(format) = format(dest, text, groups, write_meta) else {
        let place = values.get(&keys::FORMAT).map_or(&stanza.place, |entry| &entry.place).clone();
        let key = format!("[{}] FORMAT", stanza.name);
        let reason = "expected <field>::<value> pairs such as user::$1".to_owned();
        errors.push(Error::Expression { place, key, reason });
        return None;
    };
    // If the event already has the sourcetype, the event itself is changed instead of a copy, and the default
    // value would replace its text.
    let default = values.get(&keys::DEFAULT_VALUE).filter(|_| !copies);
    let lookahead = usize::try_from(values.read(&keys::LOOKAHEAD, errors));
    Some(RegexTransform {
        pattern,
        source,
        dest,
        format,
        default: default.and_then(|entry| self::format(dest, &entry.value, 0, write_meta)),
        lookahead: lookahead.unwrap_or_else(|_| keys::LOOKAHEAD.default_value() as usize),
        repeat: values.read(&keys::REPEAT_MATCH, errors),
        clone_to,
    })
}

fn source_key(text: &str) -> Option<SourceKey> {
    let text = text.trim();
    if let Some(names) = text.strip_prefix("fields:").or_else(|| text.strip_prefix("field:")) {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<_> = names.map(str::to_owned).collect();
        return (!names.is_empty()).then_some(SourceKey::Fields(names));
    }
    Some(match key(text)? {
        DestKey::Raw => SourceKey::Raw,
        DestKey::Meta => SourceKey::Meta,
        DestKey::Queue => SourceKey::Queue,
        DestKey::Index => SourceKey::Index,
        DestKey::Host => SourceKey::Host,
        DestKey::Source => SourceKey::Source,
        DestKey::Sourcetype => SourceKey::Sourcetype,
        DestKey::Time => SourceKey::Time,
        DestKey::TcpRouting => return None,
    })
}

fn format(dest: DestKey, text: &str, groups: usize, write_meta: bool) -> Option<Format> {
    if dest != DestKey::Meta {
        return Some(Format::Text(Template::parse(text, groups)));
    }
    let mut keep = write_meta;
    let mut pairs = Vec::new();
    for word in words(text) {
        if Template::parse(&word, groups).is_previous() {
            keep = true;
            continue;
        }
        let (name, value) = word.split_once("::")?;
        pairs.push((Template::parse(name, groups), Template::parse(value, groups)));
    }
    (!pairs.is_empty() || keep).then_some(Format::Pairs { pairs, keep })
}

/// Splits a text into words at blanks; quotes keep blanks in a word and are removed.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            blank if blank.is_whitespace() && !quoted => words.push(String::new()),
            other => {
                if let Some(word) = words.last_mut() {
                    word.push(other);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

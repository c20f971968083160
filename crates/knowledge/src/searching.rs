//! How fields are extracted from events: the search-time half of `props.conf` with `transforms.conf`,
//! compiled.

use std::collections::BTreeSet;

use conf::{Effective, Entry, Stanza};
use eval::Pattern;

use crate::error::Error;
use crate::extract::{
    Aliases, ExtractionLimits, FieldRules, FieldRulesBuilder, KvMode, Reading, Transform,
};
use crate::props::{Values, bad_regex, bad_value};
use crate::settings::{props as keys, transforms};

/// Compiles the rules; invalid settings are added to `errors` and left out.
pub(crate) fn field_rules(
    values: &Values<'_>,
    stanzas: &Effective,
    limits: ExtractionLimits,
    metadata: [(&str, &str); 3],
    errors: &mut Vec<Error>,
) -> FieldRules {
    let mut builder = FieldRulesBuilder {
        mode: KvMode::parse(&values.read(&keys::KV_MODE, errors)).unwrap_or_default(),
        auto_json: values.read(&keys::AUTO_KV_JSON, errors),
        limits,
        metadata: metadata.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..FieldRulesBuilder::default()
    };
    builder.canonical = format!("{:?} {} {limits:?}\n", builder.mode, builder.auto_json);
    for (class, entry) in values.family(&keys::EXTRACT) {
        note(&mut builder, "EXTRACT", class, &entry.value);
        builder.transforms.extend(inline(entry, errors));
    }
    for (class, entry) in values.family(&keys::REPORT) {
        note(&mut builder, "REPORT", class, &entry.value);
        for name in entry.value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            report(&mut builder, entry, name, stanzas, errors);
        }
    }
    for (class, entry) in values.family(&keys::FIELDALIAS) {
        note(&mut builder, "FIELDALIAS", class, &entry.value);
        let Aliases { aliases, left } = Aliases::parse(&entry.value);
        if !left.is_empty() {
            let left = left.join(" ");
            let expected = format!("<field> AS <alias>, or ASNEW; \"{left}\" belongs to no alias");
            errors.push(bad_value(entry, &expected));
        }
        builder.aliases.extend(aliases);
    }
    let evals = values.family(&keys::EVAL);
    builder.evals = evals.map(|(name, e)| (name.to_owned(), e.value.clone())).collect();
    builder.build()
}

/// What of the rules decides which fields may have several values in one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MultivalueRules {
    /// Fields that rules with `MV_ADD` name.
    pub names: BTreeSet<String>,
    /// Whether a rule with `MV_ADD` takes names from events.
    pub dynamic: bool,
    /// Fields with their aliases: an alias has as many values as its field.
    pub aliases: Vec<(String, String)>,
}

/// Returns what the rules of stanzas may do to events of a source type. `dynamic` is only about stanzas of
/// source types, as it makes all fields of a search lists, and stanzas of sources and hosts are read for
/// every source type.
pub(crate) fn multivalue_rules<'s>(
    stanzas: impl Iterator<Item = (&'s Stanza, bool)>,
    targets: &Effective,
) -> MultivalueRules {
    // The same mistakes are told where the rules are compiled.
    let errors = &mut Vec::new();
    let mut found = MultivalueRules::default();
    let mut known = BTreeSet::new();
    for (stanza, of_sourcetype) in stanzas {
        let values = Values::of(stanza);
        for (_, entry) in values.family(&keys::REPORT) {
            let names = entry.value.split(',').map(str::trim);
            for name in names.filter(|name| known.insert(((*name).to_owned(), of_sourcetype))) {
                let Some(target) = targets.stanza(name) else { continue };
                let values = Values::of(target);
                if !values.read(&transforms::MV_ADD, errors)
                    || values.read(&transforms::DISABLED, errors)
                {
                    continue;
                }
                let Some(transform) = transform(&values, errors) else { continue };
                match transform.names() {
                    Some(names) => found.names.extend(names),
                    None => found.dynamic |= of_sourcetype,
                }
            }
        }
        for (_, entry) in values.family(&keys::FIELDALIAS) {
            let aliases = Aliases::parse(&entry.value).aliases.into_iter();
            found.aliases.extend(aliases.map(|alias| (alias.field, alias.alias)));
        }
    }
    found
}

fn note(builder: &mut FieldRulesBuilder, kind: &str, class: &str, value: &str) {
    builder.canonical += &format!("{kind}-{class}\n{value}\n");
}

fn inline(entry: &Entry, errors: &mut Vec<Error>) -> Option<Transform> {
    let (regex, source) = split_source(&entry.value);
    let pattern = match Pattern::compile(regex) {
        Ok(pattern) => pattern,
        Err(reason) => {
            errors.push(bad_regex(entry, reason));
            return None;
        }
    };
    let reading = Reading::groups(pattern);
    if matches!(&reading, Reading::Named { fields, .. } if fields.is_empty()) {
        errors.push(bad_regex(entry, "it has no named group, as in (?<field>...)".to_owned()));
        return None;
    }
    Some(Transform {
        source,
        reading,
        clean_keys: false,
        add: false,
        repeat: false,
        keep_empty: false,
    })
}

/// Splits `regex in field`.
fn split_source(text: &str) -> (&str, Option<String>) {
    if let Some((regex, field)) = text.rsplit_once(" in ") {
        let field = field.trim();
        let is_name =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '{' | '}' | ':');
        if !field.is_empty() && field.chars().all(is_name) {
            let source = (field != "_raw").then(|| field.to_owned());
            return (regex.trim_end(), source);
        }
    }
    (text, None)
}

fn report(
    builder: &mut FieldRulesBuilder,
    entry: &Entry,
    name: &str,
    stanzas: &Effective,
    errors: &mut Vec<Error>,
) {
    let Some(stanza) = stanzas.stanza(name) else {
        errors.push(Error::Missing {
            place: entry.place.clone(),
            key: entry.key.clone(),
            target: name.to_owned(),
            conf: "transforms",
        });
        return;
    };
    for line in &stanza.entries {
        note(builder, name, &line.key, &line.value);
    }
    let values = Values::of(stanza);
    if values.read(&transforms::DISABLED, errors) {
        return;
    }
    if let Some(transform) = transform(&values, errors) {
        builder.transforms.push(transform);
    }
}

/// Compiles a stanza of `transforms.conf`; `None` if it does not extract fields.
pub(crate) fn transform(values: &Values<'_>, errors: &mut Vec<Error>) -> Option<Transform> {
    let source = values
        .get(&transforms::SOURCE_KEY)
        .map(|entry| source_key(&entry.value))
        .unwrap_or_default();
    let (reading, dynamic) = match values.get(&transforms::DELIMS) {
        Some(entry) => (delimited(values, entry, errors)?, false),
        None => matched(values, errors)?,
    };
    let add = values.read(&transforms::MV_ADD, errors);
    let repeat = values.read(&transforms::REPEAT_MATCH, errors);
    Some(Transform {
        source,
        reading,
        clean_keys: values.read(&transforms::CLEAN_KEYS, errors),
        add,
        repeat: repeat || add || dynamic,
        keep_empty: values.read(&transforms::KEEP_EMPTY_VALS, errors),
    })
}

fn source_key(text: &str) -> Option<String> {
    let name = text.trim();
    let plain = name.strip_prefix("field:").unwrap_or(name);
    match plain {
        "_raw" => None,
        "MetaData:Host" => Some("host".to_owned()),
        "MetaData:Source" => Some("source".to_owned()),
        "MetaData:Sourcetype" => Some("sourcetype".to_owned()),
        other => Some(other.to_owned()),
    }
}

/// Compiles a reading by regex, and returns whether its names come from the event.
fn matched(values: &Values<'_>, errors: &mut Vec<Error>) -> Option<(Reading, bool)> {
    let regex = values.get(&transforms::REGEX)?;
    let pattern = values.pattern(&transforms::REGEX, errors)?;
    let Some(format) = values.get(&transforms::FORMAT) else {
        let reading = Reading::groups(pattern);
        if matches!(&reading, Reading::Named { fields, .. } if fields.is_empty()) {
            let reason = "it has no named group and the stanza no FORMAT".to_owned();
            errors.push(bad_regex(regex, reason));
            return None;
        }
        let dynamic = matches!(reading, Reading::Keyed { .. });
        return Some((reading, dynamic));
    };
    let Some(pairs) = crate::extract::parse_format(&format.value) else {
        errors.push(bad_value(format, "<field>::<value> pairs such as user::$1"));
        return None;
    };
    let dynamic = pairs.iter().any(|(name, _)| !name.is_constant());
    Some((Reading::Format { pattern, pairs }, dynamic))
}

fn delimited(values: &Values<'_>, entry: &Entry, errors: &mut Vec<Error>) -> Option<Reading> {
    let mut sets = quoted(&entry.value);
    // A single comma is a delimiter, not the separator of two sets.
    if sets.is_empty() && entry.value.trim() == "," {
        sets.push(",".to_owned());
    }
    if let Some(keys) = sets.get(1).cloned() {
        return Some(Reading::Pairs { pairs: sets.swap_remove(0), keys });
    }
    let delimiters = sets.pop().filter(|set| !set.is_empty());
    let names =
        values.get(&transforms::FIELDS).map(|entry| names(&entry.value)).unwrap_or_default();
    let (Some(delimiters), false) = (delimiters, names.is_empty()) else {
        errors.push(bad_value(entry, "two sets of delimiters, or one together with FIELDS"));
        return None;
    };
    Some(Reading::Columns { delimiters, names })
}

/// Splits sets of delimiters at commas; sets may be quoted and contain `\t`, `\n`, `\r`, `\\` and `\"`.
/// Blanks count only inside of quotes.
fn quoted(text: &str) -> Vec<String> {
    items(text, false)
}

/// Splits names at commas or blanks.
fn names(text: &str) -> Vec<String> {
    items(text, true)
}

fn items(text: &str, blanks_separate: bool) -> Vec<String> {
    let mut items = Vec::new();
    let mut item = String::new();
    let (mut inside, mut was_quoted) = (false, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if inside || !was_quoted => match chars.next() {
                Some('t') => item.push('\t'),
                Some('n') => item.push('\n'),
                Some('r') => item.push('\r'),
                Some(other) => item.push(other),
                None => item.push('\\'),
            },
            '"' => {
                inside = !inside;
                was_quoted = true;
            }
            ',' if !inside => {
                items.push(std::mem::take(&mut item));
                was_quoted = false;
            }
            c if c.is_whitespace() && !inside => {
                if blanks_separate {
                    items.push(std::mem::take(&mut item));
                    was_quoted = false;
                }
            }
            c => item.push(c),
        }
    }
    items.push(item);
    items.retain(|item| !item.is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_be_quoted() {
        assert_eq!(quoted(r#""a b", c ,"\t","," "#), ["a b", "c", "\t", ","]);
        assert_eq!(quoted(r#""|;" , "=\"\\""#), ["|;", "=\"\\"]);
        assert_eq!(quoted(r"\t"), ["\t"]);
        assert_eq!(names("a b, \"c d\"  cs(e)\n\"f\" \"g\""), ["a", "b", "c d", "cs(e)", "f", "g"]);
    }

    #[test]
    fn a_source_field_follows_in() {
        assert_eq!(split_source("(?<a>x) in uri"), ("(?<a>x)", Some("uri".to_owned())));
        assert_eq!(split_source("(?<a>x) in (y)"), ("(?<a>x) in (y)", None));
        assert_eq!(split_source("(?<a>x) in _raw"), ("(?<a>x)", None));
    }
}

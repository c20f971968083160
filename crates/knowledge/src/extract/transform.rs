//! Rules that read a field and extract others from it: `EXTRACT`, and stanzas of `transforms.conf`.

use std::borrow::Cow;

use eval::{Groups, Pattern};

use super::kv::clean_key;

/// A compiled rule.
#[derive(Debug, Clone)]
pub(crate) struct Transform {
    /// `SOURCE_KEY`, or the field after `in`; `None` for `_raw`.
    pub(crate) source: Option<String>,
    pub(crate) reading: Reading,
    pub(crate) clean_keys: bool,
    /// `MV_ADD`.
    pub(crate) add: bool,
    /// Whether the regex is applied repeatedly until it no longer matches.
    pub(crate) repeat: bool,
    pub(crate) keep_empty: bool,
}

/// How a rule reads its source field.
#[derive(Debug, Clone)]
pub(crate) enum Reading {
    /// Named groups: group number and field name.
    Named { pattern: Pattern, fields: Vec<(usize, String)> },
    /// Groups `_KEY_x` and `_VAL_x`, and other named groups.
    Keyed { pattern: Pattern, groups: Vec<(usize, usize)>, fields: Vec<(usize, String)> },
    /// `FORMAT`.
    Format { pattern: Pattern, pairs: Vec<(Template, Template)> },
    /// `DELIMS` with one set: delimiters, and field names by position.
    Columns { delimiters: String, names: Vec<String> },
    /// `DELIMS` with two sets: delimiters of pairs, and delimiters between key and value.
    Pairs { pairs: String, keys: String },
}

/// A text in which `$1` stands for a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
}

impl Template {
    fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            let text_end = if digits == 0 { at + 1 } else { at };
            if text_end > 0 {
                parts.push(Part::Text(rest[..text_end].to_owned()));
            }
            if digits > 0 {
                let group = rest[at + 1..at + 1 + digits].parse().unwrap_or(usize::MAX);
                parts.push(Part::Group(group));
            }
            rest = &rest[at + 1 + digits..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Self(parts)
    }

    /// Returns the text if it contains no groups.
    fn constant(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns whether it contains no groups.
    pub(crate) fn is_constant(&self) -> bool {
        self.constant().is_some()
    }

    fn expand<'t>(&self, groups: &Groups<'t>) -> Cow<'t, str> {
        if let [Part::Group(group)] = self.0.as_slice() {
            return Cow::Borrowed(groups.get(*group).unwrap_or_default());
        }
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(group) => out.push_str(groups.get(*group).unwrap_or_default()),
            }
        }
        Cow::Owned(out)
    }
}

/// What stands for the previous fields in rules at index time; rules at search time always keep them.
const PREVIOUS: &str = "$0";

/// Parses the pairs of a `FORMAT`: `name::$1 "other name"::$2`, `$1::$2`. A `$0` beside them has no effect.
pub(crate) fn parse_format(text: &str) -> Option<Vec<(Template, Template)>> {
    let mut pairs = Vec::new();
    let mut word = String::new();
    let mut words = Vec::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    for word in words.iter().filter(|word| !word.is_empty() && *word != PREVIOUS) {
        let (name, value) = word.split_once("::")?;
        pairs.push((Template::parse(name), Template::parse(value)));
    }
    (!pairs.is_empty()).then_some(pairs)
}

impl Reading {
    /// Creates a reading by the groups of a pattern: named groups, or `_KEY_x` and `_VAL_x`.
    pub(crate) fn groups(pattern: Pattern) -> Self {
        let named = |group: usize| pattern.names()[group].as_deref();
        let mut fields = Vec::new();
        let mut groups = Vec::new();
        for group in 1..pattern.names().len() {
            let Some(name) = named(group) else { continue };
            let Some(suffix) = name.strip_prefix("_KEY_") else {
                if !name.starts_with("_VAL_") {
                    fields.push((group, name.to_owned()));
                }
                continue;
            };
            let value = (1..pattern.names().len())
                .find(|other| named(*other).and_then(|n| n.strip_prefix("_VAL_")) == Some(suffix));
            if let Some(value) = value {
                groups.push((group, value));
            }
        }
        match groups.is_empty() {
            true => Self::Named { pattern, fields },
            false => Self::Keyed { pattern, groups, fields },
        }
    }
}

impl Transform {
    /// Returns the fields that the rule can produce; `None` if their names come from the event.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        match &self.reading {
            Reading::Named { fields, .. } => {
                Some(fields.iter().map(|(_, name)| name.clone()).collect())
            }
            Reading::Format { pairs, .. } => pairs
                .iter()
                .map(|(name, _)| name.constant().map(|name| self.cleaned(name).into_owned()))
                .collect(),
            Reading::Columns { names, .. } => Some(names.clone()),
            Reading::Keyed { .. } | Reading::Pairs { .. } => None,
        }
    }

    fn cleaned<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.clean_keys { clean_key(name) } else { Cow::Borrowed(name) }
    }

    /// Visits all fields that the rule finds in a text.
    pub(crate) fn apply<'t>(&self, text: &'t str, visit: &mut dyn FnMut(&str, Cow<'t, str>)) {
        let mut emit = |name: &str, value: Cow<'t, str>| {
            if !name.is_empty() && (self.keep_empty || !value.is_empty()) {
                visit(name, value);
            }
        };
        match &self.reading {
            Reading::Named { pattern, fields } => self.each_match(pattern, text, |groups| {
                each_named(fields, groups, &mut emit);
            }),
            Reading::Keyed { pattern, groups: keyed, fields } => {
                self.each_match(pattern, text, |groups| {
                    each_named(fields, groups, &mut emit);
                    for (key, value) in keyed {
                        if let (Some(key), Some(value)) = (groups.get(*key), groups.get(*value)) {
                            emit(&self.cleaned(key), Cow::Borrowed(value));
                        }
                    }
                });
            }
            Reading::Format { pattern, pairs } => self.each_match(pattern, text, |groups| {
                for (name, value) in pairs {
                    emit(&self.cleaned(&name.expand(groups)), value.expand(groups));
                }
            }),
            Reading::Columns { delimiters, names } => {
                let mut rest = Some(text);
                for name in names {
                    let Some(current) = rest else { break };
                    let (value, next) = delimited(current, delimiters);
                    emit(name, Cow::Borrowed(value));
                    rest = next;
                }
            }
            Reading::Pairs { pairs, keys } => {
                let mut rest = Some(text);
                while let Some(current) = rest {
                    let (name, value, next) = delimited_pair(current, pairs, keys);
                    if let Some(value) = value {
                        emit(&self.cleaned(name.trim()), Cow::Borrowed(value));
                    }
                    rest = next;
                }
            }
        }
    }

    fn each_match<'t>(&self, pattern: &Pattern, text: &'t str, mut visit: impl FnMut(&Groups<'t>)) {
        let mut from = 0;
        while let Some(groups) = pattern.groups_at(text, from) {
            visit(&groups);
            let (start, end) = groups.span(0).unwrap_or((from, text.len()));
            if !self.repeat {
                return;
            }
            from = end;
            if start == end {
                let Some(next) = text[end..].chars().next() else { return };
                from += next.len_utf8();
            }
        }
    }
}

/// Visits the fields of named groups.
fn each_named<'t>(
    fields: &[(usize, String)],
    groups: &Groups<'t>,
    emit: &mut impl FnMut(&str, Cow<'t, str>),
) {
    for (group, name) in fields {
        if let Some(value) = groups.get(*group) {
            emit(name, Cow::Borrowed(value));
        }
    }
}

/// Returns the value up to a delimiter, without quotes, and the text after the delimiter.
fn delimited<'t>(text: &'t str, delimiters: &str) -> (&'t str, Option<&'t str>) {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(|c| delimiters.contains(c));
    if let Some(inner) = text.strip_prefix('"')
        && let Some(close) = inner.find('"')
        && ends(&inner[close + 1..])
    {
        let rest = inner[close + 1..].chars();
        let mut after = rest.clone();
        let next = after.next().map(|_| after.as_str());
        return (&inner[..close], next);
    }
    match text.find(|c| delimiters.contains(c)) {
        Some(at) => {
            let mut rest = text[at..].chars();
            rest.next();
            (&text[..at], Some(rest.as_str()))
        }
        None => (text, None),
    }
}

/// Returns a key, its value if a key delimiter precedes the end of the pair, and the text after the pair.
fn delimited_pair<'t>(
    text: &'t str,
    pairs: &str,
    keys: &str,
) -> (&'t str, Option<&'t str>, Option<&'t str>) {
    let Some(at) = text.find(|c| pairs.contains(c) || keys.contains(c)) else {
        return (text, None, None);
    };
    let mut rest = text[at..].chars();
    let is_key = rest.next().is_some_and(|c| keys.contains(c));
    if !is_key {
        return (&text[..at], None, Some(rest.as_str()));
    }
    let (value, next) = delimited(rest.as_str(), pairs);
    (&text[..at], Some(value), next)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn rule(reading: Reading) -> Transform {
        Transform {
            source: None,
            reading,
            clean_keys: true,
            add: false,
            repeat: true,
            keep_empty: false,
        }
    }

    fn check(transform: &Transform, text: &str, expected: &[&str]) {
        let mut out = Vec::new();
        transform.apply(text, &mut |name, value| out.push(format!("{name}={value}")));
        assert_eq!(out, expected, "{text}");
    }

    fn format(pattern: &str, format: &str) -> Transform {
        let pattern = Pattern::compile(pattern).unwrap();
        rule(Reading::Format { pattern, pairs: parse_format(format).unwrap() })
    }

    #[test]
    fn formats_make_names_and_values_of_groups() {
        check(&format(r"(\w+)-(\w+)", "$1::$2"), "a-1 b-2", &["a=1", "b=2"]);
        check(&format(r"(\d)(\d)", "x::$1.$2 \"a b\"::$2"), "12", &["x=1.2", "a_b=2"]);
        check(&format(r"(\d)(\d)", "$0 x::$1 y::$2"), "12", &["x=1", "y=2"]);
        assert!(parse_format("$0").is_none() && parse_format("$1 x::$1").is_none());
    }

    #[test]
    fn key_and_value_groups_make_pairs() {
        let pattern = Pattern::compile(r"(?<_KEY_1>\w+):(?<_VAL_1>\w+)").unwrap();
        check(&rule(Reading::groups(pattern)), "a:1 b:2", &["a=1", "b=2"]);
        let beside = r"a(?<num>\d+)b(?<_KEY_1>\w+)-(?<_VAL_1>\w+)";
        let pattern = Pattern::compile(beside).unwrap();
        check(&rule(Reading::groups(pattern)), "a12bkey-val", &["num=12", "key=val"]);
    }

    #[test]
    fn delimiters_name_columns_by_position() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let columns = rule(Reading::Columns { delimiters: ",".to_owned(), names });
        check(&columns, "1,\"x,y\",3,4", &["a=1", "b=x,y", "c=3"]);
        check(&columns, "1,,3", &["a=1", "c=3"]);
    }

    #[test]
    fn two_sets_of_delimiters_make_pairs() {
        let pairs = rule(Reading::Pairs { pairs: "|;".to_owned(), keys: "=:".to_owned() });
        check(&pairs, "a=1|b:\"x|y\";;c|d=", &["a=1", "b=x|y"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}|[a=,\"|é]{0,30}") {
            let pairs = rule(Reading::Pairs { pairs: "|,".to_owned(), keys: "=".to_owned() });
            pairs.apply(&text, &mut |_, _| {});
            format("(a*)(.?)", "$1::$2").apply(&text, &mut |_, _| {});
        }
    }
}

//! Finds the stanzas of `props.conf` that apply to an event, and merges their settings.
//!
//! The order of precedence is `[source::pattern]`, `[host::pattern]`, `[sourcetype]`, `[default]`. Among
//! stanzas of one kind, the higher `priority` takes precedence (default: 100 for literal names, 0 for
//! patterns), then the name that sorts first. `[(?::){0}pattern]` matches several source types; the group may
//! have other text beside `::`, by which apps keep their stanzas apart.

use std::collections::{BTreeMap, HashMap};

use conf::{Effective, Entry, FromValue, Invalid, Key, Place, Setting, Stanza, Warning};
use eval::Pattern;

use crate::error::Error;
use crate::settings::props as keys;

/// Part of the warning about a stanza that was probably meant as a pattern.
pub const LOOKS_LIKE_PATTERN: &str = "looks like a pattern";

/// The events to which a stanza of `props.conf` applies.
#[derive(Debug, Clone)]
pub enum StanzaMatcher {
    /// `[default]`.
    Everything,
    /// `[name]`.
    Sourcetype(String),
    /// `[(?::){0}pattern]`.
    SourcetypePattern(Pattern),
    /// `[source::pattern]`.
    Source(Pattern),
    /// `[host::pattern]`.
    Host(Pattern),
}

impl StanzaMatcher {
    /// Returns whether the stanza applies to an event.
    #[must_use]
    pub fn matches(&self, sourcetype: &str, source: &str, host: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Sourcetype(name) => name == sourcetype,
            Self::SourcetypePattern(pattern) => pattern.is_match(sourcetype),
            Self::Source(pattern) => pattern.is_match(source),
            Self::Host(pattern) => pattern.is_match(host),
        }
    }

    /// Returns whether no event can match both this and the other stanza.
    #[must_use]
    pub fn excludes(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Sourcetype(own), Self::Sourcetype(other)) if own != other)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Source(_) => 0,
            Self::Host(_) => 1,
            Self::Sourcetype(_) | Self::SourcetypePattern(_) => 2,
            Self::Everything => 3,
        }
    }
}

#[derive(Debug)]
pub(crate) struct PropsStanza {
    pub(crate) matcher: StanzaMatcher,
    pub(crate) priority: i64,
    pub(crate) stanza: Stanza,
}

/// All stanzas, in the order of precedence.
#[derive(Debug)]
pub(crate) struct Props {
    pub(crate) stanzas: Vec<PropsStanza>,
    by_sourcetype: HashMap<String, usize>,
    /// Indexes of the stanzas with patterns.
    patterned: Vec<usize>,
    default: Option<usize>,
}

impl Props {
    pub(crate) fn new(conf: &Effective, warnings: &mut Vec<Warning>) -> Self {
        let mut stanzas = Vec::new();
        for stanza in &conf.stanzas {
            if ["rule::", "delayedrule::"].iter().any(|kind| stanza.name.starts_with(kind)) {
                // These stanzas are read by the recogniser of source types.
                continue;
            }
            if is_disabled(stanza) {
                continue;
            }
            match matcher(&stanza.name) {
                Ok((matcher, literal)) => {
                    if let StanzaMatcher::Sourcetype(name) = &matcher
                        && looks_like_pattern(name)
                    {
                        let remedy = remedy(name);
                        let text = format!(
                            "stanza [{name}] {LOOKS_LIKE_PATTERN}, but applies only to the source \
                             type of exactly this name; {remedy}"
                        );
                        warnings.push(Warning { place: stanza.place.clone(), text });
                    }
                    let set = stanza.get(keys::PRIORITY.name());
                    let set = set.and_then(|entry| keys::PRIORITY.value(&entry.value));
                    let priority = set.unwrap_or(if literal { 100 } else { 0 });
                    stanzas.push(PropsStanza { matcher, priority, stanza: stanza.clone() });
                }
                Err(text) => warnings.push(Warning { place: stanza.place.clone(), text }),
            }
        }
        stanzas.sort_by(|a, b| {
            let kind = a.matcher.rank().cmp(&b.matcher.rank());
            kind.then(b.priority.cmp(&a.priority)).then(a.stanza.name.cmp(&b.stanza.name))
        });
        let mut by_sourcetype = HashMap::new();
        let mut patterned = Vec::new();
        let mut default = None;
        for (at, stanza) in stanzas.iter().enumerate() {
            match &stanza.matcher {
                StanzaMatcher::Sourcetype(name) => {
                    by_sourcetype.insert(name.clone(), at);
                }
                StanzaMatcher::Everything => default = Some(at),
                _ => patterned.push(at),
            }
        }
        Self { stanzas, by_sourcetype, patterned, default }
    }

    /// Returns the indexes of the stanzas that apply, in the order of precedence.
    pub(crate) fn matching(&self, sourcetype: &str, source: &str, host: &str) -> Vec<usize> {
        let patterned = self.patterned.iter().copied();
        let mut found: Vec<usize> = patterned
            .filter(|at| self.stanzas[*at].matcher.matches(sourcetype, source, host))
            .collect();
        if let Some(own) = self.by_sourcetype.get(sourcetype) {
            // A pattern of source types may take precedence over the stanza of the literal name, or vice
            // versa.
            let place = found.partition_point(|at| at < own);
            found.insert(place, *own);
        }
        found.extend(self.default);
        found
    }

    /// Returns the stanzas that apply to events of a source type with some source and some host, and whether
    /// they apply with all of them.
    pub(crate) fn possible<'p>(
        &'p self,
        sourcetype: &'p str,
    ) -> impl Iterator<Item = (&'p Stanza, bool)> {
        self.stanzas.iter().filter_map(move |stanza| match &stanza.matcher {
            StanzaMatcher::Source(_) | StanzaMatcher::Host(_) => Some((&stanza.stanza, false)),
            other => other.matches(sourcetype, "", "").then_some((&stanza.stanza, true)),
        })
    }

    /// Returns the merged settings of stanzas.
    pub(crate) fn merged(&self, stanzas: &[usize]) -> Values<'_> {
        let mut entries = BTreeMap::new();
        for at in stanzas {
            for entry in &self.stanzas[*at].stanza.entries {
                entries.entry(entry.key.as_str()).or_insert(entry);
            }
        }
        Values { entries }
    }
}

fn matcher(name: &str) -> Result<(StanzaMatcher, bool), String> {
    let compile = |text: &str, fold: bool| {
        let regex = glob(text, fold);
        let literal = !text.contains(['*', '|', '(', '[']) && !text.contains("...");
        let escaped = || Pattern::compile(&glob_without_regex(text, fold));
        match Pattern::compile(&regex).or_else(|_| escaped()) {
            Ok(pattern) => Ok((pattern, literal)),
            Err(reason) => Err(format!("stanza [{name}] is ignored: bad pattern: {reason}")),
        }
    };
    if let Some(text) = name.strip_prefix("source::") {
        return compile(text, false)
            .map(|(pattern, literal)| (StanzaMatcher::Source(pattern), literal));
    }
    if let Some(text) = name.strip_prefix("host::") {
        return compile(text, true)
            .map(|(pattern, literal)| (StanzaMatcher::Host(pattern), literal));
    }
    if name == "default" {
        return Ok((StanzaMatcher::Everything, true));
    }
    if let Some(text) = sourcetype_pattern(name) {
        return compile(text, false)
            .map(|(pattern, literal)| (StanzaMatcher::SourcetypePattern(pattern), literal));
    }
    Ok((StanzaMatcher::Sourcetype(name.to_owned()), true))
}

/// Returns the pattern of source types in a stanza name. Before it is a group with `::` that occurs zero
/// times: most often `(?::){0}`, but also `(::zTs){0}`.
fn sourcetype_pattern(name: &str) -> Option<&str> {
    let (group, pattern) = name.strip_prefix('(')?.split_once("){0}")?;
    (group.contains("::") && !group.contains(['(', ')'])).then_some(pattern)
}

/// Whether the name of a source type was probably meant as a pattern.
fn looks_like_pattern(name: &str) -> bool {
    ["*", "...", "::", "{0}", "(?"].iter().any(|part| name.contains(part))
}

/// Returns what to write instead of such a name.
fn remedy(name: &str) -> String {
    match name.strip_prefix("sourcetype::").filter(|name| !looks_like_pattern(name)) {
        Some(name) => format!("a source type has no prefix: write [{name}]"),
        None => "patterns begin with source::, host:: or (?::){0}".to_owned(),
    }
}

/// Translates Splunk's patterns: `...` matches anything, `*` anything but a path separator, `.` itself; the
/// rest is a regular expression.
fn glob(text: &str, fold: bool) -> String {
    let mut out = String::from(if fold { "(?is)^(?:" } else { "(?s)^(?:" });
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            out.push_str(".*");
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '*' => out.push_str(r"[^/\\]*"),
            '.' => out.push_str(r"\."),
            '\\' => match rest.chars().next() {
                Some(escaped) if !escaped.is_alphanumeric() => {
                    out.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
                    rest = &rest[escaped.len_utf8()..];
                }
                // A single backslash in a Windows path.
                _ => out.push_str(r"\\"),
            },
            c => out.push(c),
        }
    }
    out.push_str(")$");
    out
}

/// Like `glob`, but every character other than `...`, `*`, `|` and brackets stands for itself, for names that
/// are not valid regular expressions.
fn glob_without_regex(text: &str, fold: bool) -> String {
    let mut out = String::from(if fold { "(?is)^(?:" } else { "(?s)^(?:" });
    for (at, part) in text.split("...").enumerate() {
        if at > 0 {
            out.push_str(".*");
        }
        for c in part.chars() {
            match c {
                '*' => out.push_str(r"[^/\\]*"),
                '|' => out.push('|'),
                c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            }
        }
    }
    out.push_str(")$");
    out
}

/// Returns whether a stanza is disabled.
pub(crate) fn is_disabled(stanza: &Stanza) -> bool {
    let entry = stanza.get(keys::DISABLED.name());
    entry.and_then(|entry| keys::DISABLED.value(&entry.value)) == Some(true)
}

/// Settings by name, with typed access; an invalid value counts as not set.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    entries: BTreeMap<&'a str, &'a Entry>,
}

impl<'a> Values<'a> {
    pub(crate) fn of(stanza: &'a Stanza) -> Self {
        Self { entries: stanza.entries.iter().map(|e| (e.key.as_str(), e)).collect() }
    }

    /// Adds the settings of a stanza, which override those that are already set.
    pub(crate) fn put(&mut self, stanza: &'a Stanza) {
        self.entries.extend(stanza.entries.iter().map(|entry| (entry.key.as_str(), entry)));
    }

    /// Returns the entries of a setting that have a value: one, or several for a family.
    pub(crate) fn named(&self, setting: &Setting) -> Vec<&'a Entry> {
        let entries = self.entries.values().copied();
        entries.filter(|one| !one.value.is_empty() && setting.has_name("", &one.key)).collect()
    }

    /// Returns the entry of a key unless its value is empty.
    pub(crate) fn get<T>(&self, key: &Key<T>) -> Option<&'a Entry> {
        self.entries.get(key.name()).copied().filter(|entry| !entry.value.is_empty())
    }

    /// Returns the entries of a family such as `EXTRACT-`, with their classes, in the order of the classes.
    /// An empty value switches off the setting of a lower layer.
    pub(crate) fn family<T>(&self, key: &Key<T>) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        let prefix = key.prefix();
        let entries = self.entries.range(prefix..);
        entries
            .map_while(move |(key, entry)| Some((key.strip_prefix(prefix)?, *entry)))
            .filter(|(_, entry)| !entry.value.trim().is_empty())
    }

    /// Returns the value of a setting, or its default if it is not set or invalid.
    pub(crate) fn read<T: FromValue>(&self, key: &Key<T>, errors: &mut Vec<Error>) -> T {
        let Some(entry) = self.get(key) else { return key.default_value() };
        key.value(&entry.value).unwrap_or_else(|| {
            errors.push(bad_value(entry, &key.setting.kind.expected()));
            key.default_value()
        })
    }

    pub(crate) fn pattern(&self, key: &Key<Pattern>, errors: &mut Vec<Error>) -> Option<Pattern> {
        let entry = self.get(key)?;
        match Pattern::compile(&entry.value) {
            Ok(pattern) => Some(pattern),
            Err(reason) => {
                errors.push(bad_regex(entry, reason));
                None
            }
        }
    }
}

pub(crate) fn bad_value(entry: &Entry, expected: &str) -> Error {
    refused(entry, format!("expected {expected}"))
}

/// Returns the error for an invalid value; the reason is a complete sentence.
pub(crate) fn refused(entry: &Entry, reason: String) -> Error {
    Error::Setting(Invalid {
        place: Some(entry.place.clone()),
        conf: String::new(),
        stanza: String::new(),
        key: entry.key.clone(),
        value: entry.value.clone(),
        reason,
    })
}

pub(crate) fn bad_regex(entry: &Entry, reason: String) -> Error {
    let place: Place = entry.place.clone();
    Error::Regex { place, key: entry.key.clone(), reason }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use conf::ConfFile;

    fn props(text: &str) -> Props {
        let mut stanzas = ConfFile::parse("props.conf", text).stanzas;
        stanzas.sort_by(|a, b| a.name.cmp(&b.name));
        Props::new(&Effective { conf: "props".to_owned(), stanzas }, &mut Vec::new())
    }

    fn value(text: &str, sourcetype: &str, source: &str, host: &str) -> Option<String> {
        let props = props(text);
        let merged = props.merged(&props.matching(sourcetype, source, host));
        merged.entries.get("k").map(|entry| entry.value.clone())
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(
            value(text, "st", "/var/log/a.log", "web1").as_deref(),
            Some(expected),
            "{text}"
        );
    }

    #[test]
    fn sources_go_before_hosts_before_source_types_before_default() {
        let all = "[default]\nk=d\n[st]\nk=st\n[host::web*]\nk=h\n[source::/var/...]\nk=s\n";
        check(all, "s");
        check(&all.replace("source::/var/", "source::/usr/"), "h");
        check("[default]\nk=d\n[st]\nk=st", "st");
        check("[default]\nk=d\n[other]\nk=st", "d");
    }

    #[test]
    fn priority_then_literal_names_then_order_decide_between_sources() {
        check("[source::...a.log]\nk=1\n[source::/var/...]\nk=2", "1");
        check("[source::...a.log]\nk=1\n[source::/var/log/a.log]\nk=2", "2");
        check("[source::...a.log]\nk=1\npriority=101\n[source::/var/log/a.log]\nk=2", "1");
    }

    #[test]
    fn stars_stop_at_separators_and_dots_do_not() {
        let matches = |pattern: &str, source: &str| {
            value(&format!("[source::{pattern}]\nk=1"), "x", source, "h").is_some()
        };
        assert!(matches("/var/*/a.log", "/var/log/a.log"));
        assert!(!matches("/var/*", "/var/log/a.log"));
        assert!(matches("...(.log|.txt)", "/x/y.txt"));
        assert!(!matches("/a.log", "/aXlog"));
        assert!(matches(r"C:\\logs\\*.log", r"C:\logs\a.log"));
    }

    #[test]
    fn hosts_match_in_any_case_unless_told_otherwise() {
        assert_eq!(value("[host::WEB*]\nk=1", "x", "s", "web1").as_deref(), Some("1"));
        assert_eq!(value("[host::(?-i)WEB*]\nk=1", "x", "s", "web1"), None);
    }

    #[test]
    fn patterns_may_be_regular_expressions() {
        let matches = |pattern: &str, source: &str| {
            value(&format!("[source::{pattern}]\nk=1"), "x", source, "h").is_some()
        };
        assert!(matches("....(?<!tar.)(gz|bz2)", "/x/a.gz"));
        assert!(!matches("....(?<!tar.)(gz|bz2)", "/x/a.tar.gz"));
        assert!(
            matches("/var/[ab]+.log", "/var/ab.log") && !matches("/var/[ab]+.log", "/var/c.log")
        );
        assert!(matches("/odd(name", "/odd(name"), "what is no regular expression is a name");
    }

    #[test]
    fn sourcetypes_have_patterns_too() {
        let text = "[(?::){0}app:*]\nk=pattern\n[app:web]\nk=name\n[default]\nk=d";
        assert_eq!(value(text, "app:db", "s", "h").as_deref(), Some("pattern"));
        assert_eq!(value(text, "app:web", "s", "h").as_deref(), Some("name"));
        assert_eq!(value(text, "web", "s", "h").as_deref(), Some("d"));
        let first = text.replace("k=pattern", "k=pattern\npriority=101");
        assert_eq!(value(&first, "app:web", "s", "h").as_deref(), Some("pattern"));
    }

    #[test]
    fn patterns_of_sourcetypes_begin_with_a_group_that_occurs_zero_times() {
        for prefix in ["(?::){0}", "(::){0}", "(::zTs){0}", "(?:::x){0}"] {
            let text = format!("[{prefix}app*]\nk=1");
            assert_eq!(value(&text, "app:db", "s", "h").as_deref(), Some("1"), "{prefix}");
            assert_eq!(value(&text, "db", "s", "h"), None, "{prefix}");
        }
        for name in ["(::x)app", "(:x){0}app", "((::)x){0}app"] {
            assert_eq!(value(&format!("[{name}]\nk=1"), "app", "s", "h"), None, "{name}");
        }
    }

    #[test]
    fn names_that_look_like_patterns_have_a_warning() {
        let text = "[app*]\nk=1\n[(::x)app]\nk=1\n[sourcetype::a]\nk=1\n[a...]\nk=1\n\
                    [(::x){0}app*]\nk=1\n[source::a*]\nk=1\n[host::a*]\nk=1\n[rule::a]\nk=1\n[a:b.c-d]\nk=1\n";
        let stanzas = ConfFile::parse("props.conf", text).stanzas;
        let mut warnings = Vec::new();
        Props::new(&Effective { conf: "props".to_owned(), stanzas }, &mut warnings);
        let lines: Vec<u32> = warnings.iter().map(|warning| warning.place.line).collect();
        assert_eq!(lines, [1, 3, 5, 7], "{warnings:?}");
        assert!(warnings[0].text.contains("stanza [app*] looks like a pattern"), "{warnings:?}");
        assert!(warnings[0].text.ends_with("or (?::){0}"), "{warnings:?}");
        assert!(warnings[2].text.ends_with("write [a]"), "{warnings:?}");
    }

    #[test]
    fn stanzas_complete_each_other_and_the_first_that_sorts_wins_a_tie() {
        let text = "[source::...a...]\nk=1\nx=1\n[source::...log]\nk=2\ny=2\n[st]\nz=3";
        let props = props(text);
        let merged = props.merged(&props.matching("st", "/var/log/a.log", "h"));
        let all: Vec<_> = ["k", "x", "y", "z"]
            .iter()
            .map(|key| merged.entries.get(*key).unwrap().value.clone())
            .collect();
        assert_eq!(all, ["1", "1", "2", "3"]);
        let raised = text.replace("y=2", "y=2\npriority=5");
        check(&raised, "2");
    }
}

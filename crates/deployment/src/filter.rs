//! Selects the forwarders of a server class or an app: whitelists, blacklists, machine types.
//!
//! Patterns are those of `serverclass.conf`: `*` matches any text and `.` a dot, the rest is a regular
//! expression, which has to match the whole text, ignoring case.

use std::collections::BTreeMap;

use conf::{Effective, Entry, Key};
use eval::Pattern;

use crate::Error;
use crate::settings::{BLACKLIST, FILTER_TYPE, MACHINE_TYPES, WHITELIST};

/// Whether forwarders are included if no pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterType {
    /// No: whitelists include, blacklists exclude.
    Whitelist,
    /// Yes: blacklists exclude, whitelists include.
    Blacklist,
}

impl FilterType {
    /// The value of the setting.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whitelist => "whitelist",
            Self::Blacklist => "blacklist",
        }
    }
}

/// The properties of a forwarder that filters match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// `clientName` of its `deploymentclient.conf`.
    pub client_name: String,
    /// The name of its machine.
    pub hostname: String,
    /// The address from which it phones home.
    pub ip: String,
    /// Its identity.
    pub guid: String,
    /// Its machine type, such as `linux-x86_64`.
    pub utsname: String,
}

/// A pattern: its text and its compiled form.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) text: String,
    pattern: Pattern,
}

impl Written {
    fn of(text: &str) -> Result<Self, String> {
        let expression = format!("(?i)^(?:{})$", translated(text.trim()));
        let pattern = Pattern::compile(&expression).map_err(|reason| {
            format!("\"{text}\" is not a pattern (read as {expression}): {reason}")
        })?;
        Ok(Self { text: text.trim().to_owned(), pattern })
    }

    fn fits(&self, text: &str) -> bool {
        self.pattern.is_match(text)
    }
}

/// Translates `.` to `\.` and `*` to `.*`, except after a backslash and within brackets.
fn translated(text: &str) -> String {
    // By the general rule, it would mean "a dot, then any text", which users do not intend.
    if text == ".*" {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    let (mut is_escaped, mut is_class) = (false, false);
    for c in text.chars() {
        match c {
            _ if is_escaped => {
                is_escaped = false;
                out.push(c);
                continue;
            }
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '.' if !is_class => out.push('\\'),
            '*' if !is_class => out.push('.'),
            _ => {}
        }
        out.push(c);
    }
    out
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) kind: FilterType,
    /// By number.
    pub(crate) whitelist: BTreeMap<u32, Written>,
    pub(crate) blacklist: BTreeMap<u32, Written>,
    /// Empty for all types.
    pub(crate) machine_types: Vec<Written>,
}

impl Filter {
    /// Reads the filter of some stanzas, the innermost first. Both lists come from the same stanza: a
    /// stanza with a whitelist or a blacklist replaces both lists of the outer ones.
    pub(crate) fn read(conf: &Effective, stanzas: &[&str]) -> Result<Self, Error> {
        let kind = match value(conf, stanzas, &FILTER_TYPE)?.as_str() {
            "blacklist" => FilterType::Blacklist,
            _ => FilterType::Whitelist,
        };
        let has_lists = |name: &&&str| !entries(conf, name, &[&WHITELIST, &BLACKLIST]).is_empty();
        let (mut whitelist, mut blacklist) = (BTreeMap::new(), BTreeMap::new());
        if let Some(stanza) = stanzas.iter().chain(&["default"]).find(has_lists) {
            for (list, key) in [(&mut whitelist, &WHITELIST), (&mut blacklist, &BLACKLIST)] {
                for entry in entries(conf, stanza, &[key]) {
                    let Some(number) = number(entry, key) else { continue };
                    let written = Written::of(&entry.value);
                    let written = written.map_err(|reason| Error::rule(&entry.place, reason))?;
                    list.insert(number, written);
                }
            }
        }
        Ok(Self { kind, whitelist, blacklist, machine_types: machine_types(conf, stanzas)? })
    }

    /// Whether a forwarder is included.
    pub(crate) fn takes(&self, facts: &Facts) -> bool {
        let names = [&facts.client_name, &facts.ip, &facts.hostname, &facts.guid];
        let listed = |list: &BTreeMap<u32, Written>| {
            list.values()
                .any(|pattern| names.iter().any(|name| !name.is_empty() && pattern.fits(name)))
        };
        let is_in = match self.kind {
            FilterType::Whitelist => listed(&self.whitelist) && !listed(&self.blacklist),
            FilterType::Blacklist => !listed(&self.blacklist) || listed(&self.whitelist),
        };
        let kinds = &self.machine_types;
        is_in && (kinds.is_empty() || kinds.iter().any(|kind| kind.fits(&facts.utsname)))
    }
}

fn machine_types(conf: &Effective, stanzas: &[&str]) -> Result<Vec<Written>, Error> {
    let fail = |reason: String| match entry(conf, stanzas, &MACHINE_TYPES) {
        Some(entry) => Error::rule(&entry.place, reason),
        None => Error::rule("serverclass.conf", reason),
    };
    let written = value(conf, stanzas, &MACHINE_TYPES)?.into_iter().map(|text| Written::of(&text));
    written.map(|one| one.map_err(fail)).collect()
}

/// Whether a stanza itself has lists, and machine types.
pub(crate) fn has_filter(conf: &Effective, stanza: &str) -> (bool, bool) {
    let lists = !entries(conf, stanza, &[&WHITELIST, &BLACKLIST]).is_empty();
    (lists, entry(conf, &[stanza], &MACHINE_TYPES).is_some())
}

/// The number of an entry of a list; `None` for other settings (`whitelist.from_pathname`).
pub(crate) fn number(entry: &Entry, key: &Key<String>) -> Option<u32> {
    entry.key.strip_prefix(key.prefix())?.parse().ok()
}

/// The numbered entries of the lists of a stanza.
fn entries<'c>(conf: &'c Effective, stanza: &str, keys: &[&Key<String>]) -> Vec<&'c Entry> {
    let all = conf.stanza(stanza).map_or(&[][..], |stanza| &stanza.entries);
    let is_listed = |entry: &&Entry| {
        !entry.value.trim().is_empty() && keys.iter().any(|key| number(entry, key).is_some())
    };
    all.iter().filter(is_listed).collect()
}

/// The effective entry of a setting: that of the first stanza that sets it.
pub(crate) fn entry<'c, T>(
    conf: &'c Effective,
    stanzas: &[&str],
    key: &Key<T>,
) -> Option<&'c Entry> {
    let of = |name: &&str| {
        let entry = conf.stanza(name)?.get(key.setting.name)?;
        (!entry.value.trim().is_empty()).then_some(entry)
    };
    stanzas.iter().find_map(of).or_else(|| of(&"default"))
}

/// The value of a setting in nested stanzas, the innermost first.
pub(crate) fn value<T: conf::FromValue>(
    conf: &Effective,
    stanzas: &[&str],
    key: &Key<T>,
) -> Result<T, Error> {
    let is_set = |name: &&&str| entry(conf, &[**name], key).is_some();
    let stanza = stanzas.iter().find(is_set).copied().unwrap_or("default");
    Ok(conf::Reader::new(conf, stanza).get(key)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn filter(text: &str) -> Result<Filter, Error> {
        let text = format!("[a]\n{text}");
        let layers = Layers::builtin().with(Layer::SystemLocal, "serverclass", &text);
        Filter::read(&layers.effective("serverclass"), &["a"])
    }

    fn facts() -> Facts {
        Facts {
            client_name: "web-1".to_owned(),
            hostname: "Web1.example.com".to_owned(),
            ip: "10.1.2.3".to_owned(),
            guid: "abc".to_owned(),
            utsname: "linux-x86_64".to_owned(),
        }
    }

    #[test]
    fn patterns_match_names_hosts_and_addresses_as_a_whole() {
        for (pattern, fits) in [
            ("*", true),
            (".*", true),
            ("web-1", true),
            ("WEB-*", true),
            ("web", false),
            ("10.1.*", true),
            ("10.1.2", false),
            (r"10.1.2.\d", true),
            ("10.1.2.33?", true),
            ("10x1x2x3", false),
            ("*.example.com", true),
            ("web1.example.(com|org)", true),
            ("web[12].example.com", true),
            (r"web\d.example.com", true),
            (r"web\d\.example\.com", true),
            ("(?!web).*", false),
            ("abc", true),
            ("10.1.2.[.0-9]+", true),
        ] {
            let filter = filter(&format!("whitelist.0 = {pattern}")).unwrap();
            assert_eq!(filter.takes(&facts()), fits, "{pattern}");
        }
    }

    #[test]
    fn blacklists_keep_out_of_whitelists_and_whitelists_let_into_blacklists() {
        for (text, fits) in [
            ("", false),
            ("whitelist.7 = web*\nwhitelist.2 = x", true),
            ("whitelist.0 = *\nblacklist.0 = web*", false),
            ("whitelist.0 = *\nblacklist.0 = db*", true),
            ("filterType = blacklist", true),
            ("filterType = blacklist\nblacklist.0 = web*", false),
            ("filterType = blacklist\nblacklist.0 = *\nwhitelist.0 = 10.1.*", true),
            ("whitelist.0 = *\nmachineTypesFilter = windows-*", false),
            ("whitelist.0 = *\nmachineTypesFilter = windows-x64, LINUX-*", true),
            ("whitelist.from_pathname = /etc/x", false),
        ] {
            assert_eq!(filter(text).unwrap().takes(&facts()), fits, "{text}");
        }
    }

    #[test]
    fn lists_of_an_inner_stanza_replace_both_lists_around_it() {
        let text = "[global]\nwhitelist.0 = *\nblacklist.0 = web*\nmachineTypesFilter = linux-*\n\
                    [serverClass:a]\nwhitelist.1 = web-1\n[serverClass:b]\nrestartSplunkd = 1\n";
        let layers = Layers::builtin().with(Layer::SystemLocal, "serverclass", text);
        let conf = layers.effective("serverclass");
        let takes = |class: &str, facts: &Facts| {
            Filter::read(&conf, &[class, "global"]).unwrap().takes(facts)
        };
        assert!(takes("serverClass:a", &facts()) && !takes("serverClass:b", &facts()));
        let other = Facts { client_name: "db".to_owned(), ip: String::new(), ..Facts::default() };
        assert!(!takes("serverClass:a", &other) && !takes("serverClass:b", &other));
        let linux = Facts { utsname: "linux-aarch64".to_owned(), ..other };
        assert!(takes("serverClass:b", &linux));
    }

    #[test]
    fn a_bad_pattern_is_named_with_its_place() {
        for text in ["whitelist.0 = web(", "machineTypesFilter = linux["] {
            let error = filter(text).unwrap_err().to_string();
            assert!(error.contains("serverclass.conf:2: \""), "{error}");
            assert!(error.contains("is not a pattern"), "{error}");
        }
        let error = filter("filterType = both").unwrap_err().to_string();
        assert!(error.contains("expected whitelist or blacklist"), "{error}");
    }
}

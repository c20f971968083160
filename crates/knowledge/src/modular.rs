//! Modular regular expressions: `[[name]]` in the `REGEX` of a stanza of `transforms.conf` stands for the
//! `REGEX` of another stanza, `[[name:field]]` for the same as a field.
//!
//! A field's text goes before the names of the groups that the other has (`[[ipv4:src_]]` gives `src_ip`
//! and `src_port`); what has none is a group of that name as a whole. A name between brackets that is no
//! stanza is left as it is: it may be a class of characters.

use std::collections::HashMap;

use conf::{Effective, Entry};

use crate::error::Error;
use crate::props::bad_regex;
use crate::settings::transforms::REGEX;

/// Maximum depth of nested modules.
const MAX_DEPTH: usize = 20;
/// Maximum length of an expanded regex, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// Expands the `REGEX` of all stanzas.
pub(crate) fn expand(transforms: &mut Effective, errors: &mut Vec<Error>) {
    let modules = Modules::of(transforms);
    for stanza in &mut transforms.stanzas {
        for entry in stanza.entries.iter_mut().filter(|entry| entry.key == REGEX.name()) {
            modules.expand_entry(entry, errors);
        }
    }
}

/// Returns the text with all its modules expanded.
///
/// # Errors
/// If a module does not exist, or refers to itself.
pub(crate) fn expanded(text: &str, transforms: &Effective) -> Result<String, String> {
    match Modules::of(transforms).expanded(text, 0) {
        Ok(text) => Ok(named(&text, None)),
        Err(Mistake::Missing(name)) => {
            Err(format!("it names [{name}], which transforms.conf does not define"))
        }
        Err(Mistake::Endless(name)) => {
            Err(format!("[[{name}]] refers to itself or expands to too much text"))
        }
    }
}

/// Returns the length of the module reference at the beginning of a text.
pub(crate) fn reference_length(text: &str) -> Option<usize> {
    Reference::read(text).map(|reference| reference.length)
}

/// `REGEX` by stanza.
struct Modules(HashMap<String, String>);

impl Modules {
    fn of(transforms: &Effective) -> Self {
        let regexes = transforms.stanzas.iter().filter_map(|stanza| {
            let entry = stanza.entries.iter().find(|entry| entry.key == REGEX.name())?;
            Some((stanza.name.clone(), entry.value.clone()))
        });
        Self(regexes.collect())
    }

    fn expand_entry(&self, entry: &mut Entry, errors: &mut Vec<Error>) {
        if !entry.value.contains("[[") {
            return;
        }
        match self.expanded(&entry.value, 0) {
            // In a stanza that is used on its own, groups with an empty name get no name.
            Ok(text) => entry.value = named(&text, None),
            Err(Mistake::Missing(target)) => {
                let (place, key) = (entry.place.clone(), entry.key.clone());
                errors.push(Error::Missing { place, key, target, conf: "transforms" });
            }
            Err(Mistake::Endless(name)) => {
                errors.push(bad_regex(
                    entry,
                    format!("[[{name}]] refers to itself or expands to too much text"),
                ));
            }
        }
    }

    fn expanded(&self, text: &str, depth: usize) -> Result<String, Mistake> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("[[") {
            let (before, found) = rest.split_at(at);
            out.push_str(before);
            let escaped = before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
            let Some(reference) = Reference::read(found).filter(|_| !escaped) else {
                out.push('[');
                rest = &found[1..];
                continue;
            };
            match self.0.get(reference.name) {
                Some(regex) if depth < MAX_DEPTH => {
                    let regex = self.expanded(regex, depth + 1)?;
                    out.push_str(&as_part(&regex, reference.field));
                    rest = &found[reference.length..];
                }
                Some(_) => return Err(Mistake::Endless(reference.name.to_owned())),
                None if reference.field.is_some() => {
                    return Err(Mistake::Missing(reference.name.to_owned()));
                }
                None => {
                    out.push('[');
                    rest = &found[1..];
                }
            }
            if out.len() > MAX_BYTES {
                return Err(Mistake::Endless(reference.name.to_owned()));
            }
        }
        out.push_str(rest);
        Ok(out)
    }
}

enum Mistake {
    Missing(String),
    Endless(String),
}

/// `[[name]]` or `[[name:field]]`.
struct Reference<'a> {
    name: &'a str,
    field: Option<&'a str>,
    length: usize,
}

impl<'a> Reference<'a> {
    /// Parses the reference at the beginning of a text.
    fn read(text: &'a str) -> Option<Self> {
        let inside = text.strip_prefix("[[")?;
        let inside = &inside[..inside.find("]]")?];
        let (name, field) = match inside.split_once(':') {
            Some((name, field)) => (name, Some(field)),
            None => (inside, None),
        };
        let is_name = |text: &str, more: &[char]| {
            let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || more.contains(&c);
            !text.is_empty() && text.chars().all(known)
        };
        let read = is_name(name, &['-', '.']) && field.is_none_or(|field| is_name(field, &[]));
        read.then_some(Self { name, field, length: inside.len() + 4 })
    }
}

/// Returns a regex as a part of another regex.
fn as_part(regex: &str, field: Option<&str>) -> String {
    match field {
        Some(field) if has_named_group(regex) => format!("(?:{})", named(regex, Some(field))),
        Some(field) => format!("(?<{field}>{regex})"),
        None => format!("(?:{regex})"),
    }
}

fn has_named_group(regex: &str) -> bool {
    !named_groups(regex).is_empty()
}

/// Returns the regex with a prefix before the names of its groups. Groups with an empty name get the prefix
/// as their name; without a prefix they become non-capturing.
pub(crate) fn named(regex: &str, prefix: Option<&str>) -> String {
    let mut out = String::with_capacity(regex.len());
    let mut from = 0;
    for (start, end) in named_groups(regex) {
        out.push_str(&regex[from..start]);
        match (prefix, start == end) {
            (Some(prefix), _) => {
                out.push_str(prefix);
                out.push_str(&regex[start..end]);
                from = end;
            }
            (None, false) => from = start,
            (None, true) => {
                // `(?<` becomes `(?:`, and the `>` is removed.
                let opened = out.rfind("(?").map_or(out.len(), |at| at + 2);
                out.truncate(opened);
                out.push(':');
                from = end + 1;
            }
        }
    }
    out.push_str(&regex[from..]);
    out
}

/// Returns the positions of the names of named groups.
fn named_groups(regex: &str) -> Vec<(usize, usize)> {
    let bytes = regex.as_bytes();
    let (mut groups, mut at, mut class) = (Vec::new(), 0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => class = true,
            b']' => class = false,
            b'(' if !class => {
                let opening = ["(?<", "(?P<", "(?'"].into_iter();
                let opening = opening.filter(|opening| regex[at..].starts_with(opening));
                for opening in opening {
                    let close = if opening.ends_with('\'') { '\'' } else { '>' };
                    let start = at + opening.len();
                    let looks_behind = matches!(bytes.get(start), Some(b'=' | b'!'));
                    if let (Some(length), false) = (regex[start..].find(close), looks_behind) {
                        groups.push((start, start + length));
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    groups
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Knowledge;
    use conf::{ConfFile, Layer, Layers};

    const MODULES: &str = r#"
[number]
REGEX = \d+
[quoted_text]
REGEX = "(?<>[^"]*)"
[address]
REGEX = (?<ip>[[part]](?:\.[[part]]){3})(?::[[number:port]])?
[part]
REGEX = [0-9]{1,3}
"#;

    fn expanded(regex: &str) -> (String, String) {
        let text = format!("{MODULES}\n[asked]\nREGEX = {regex}\n");
        let mut transforms = super::Effective {
            conf: "transforms".to_owned(),
            stanzas: ConfFile::parse("transforms.conf", &text).stanzas,
        };
        transforms.stanzas.sort_by(|one, two| one.name.cmp(&two.name));
        let mut errors = Vec::new();
        super::expand(&mut transforms, &mut errors);
        let found = transforms.stanza("asked").unwrap().entries[0].value.clone();
        (found, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn modules_stand_for_their_regex() {
        let cases = [
            ("a=[[number]]", r"a=(?:\d+)"),
            ("a=[[number:a]]", r"a=(?<a>\d+)"),
            ("[[quoted_text:agent]]", r#"(?:"(?<agent>[^"]*)")"#),
            ("[[quoted_text]]", r#"(?:"(?:[^"]*)")"#),
            (
                "from [[address:src_]]",
                concat!(
                    r"from (?:(?<src_ip>(?:[0-9]{1,3})(?:\.(?:[0-9]{1,3})){3})",
                    r"(?::(?<src_port>\d+))?)",
                ),
            ),
            // Classes of characters, and texts that only look like modules.
            ("[[:alpha:]]+", "[[:alpha:]]+"),
            ("[[abc]]x", "[[abc]]x"),
            (r"\[[number]]", r"\[[number]]"),
            (r"(?<=x)[[number:n]]", r"(?<=x)(?<n>\d+)"),
        ];
        for (regex, expected) in cases {
            assert_eq!(expanded(regex), (expected.to_owned(), String::new()), "{regex}");
        }
    }

    #[test]
    fn what_is_not_there_or_has_no_end_is_said() {
        assert!(expanded("[[nothing:x]]").1.contains("names [nothing]"));
        assert!(expanded("x[[asked]]").1.contains("refers to itself"));
    }

    #[test]
    fn built_in_modules_read_an_access_log() {
        let layers = Layers::builtin().with(
            Layer::SystemLocal,
            "props",
            "[web]\nREPORT-a = access-extractions",
        );
        let knowledge = Knowledge::new(layers);
        assert!(knowledge.errors().is_empty(), "{:?}", knowledge.errors());
        let rules = knowledge.field_rules("web", "s", "h");
        let mut found = Vec::new();
        let line = concat!(
            r#"10.0.0.7 - bob [10/Oct/2000:13:55:36 -0700] "GET /a/b.gif?x=1 HTTP/1.0" 200 2326 "#,
            r#""http://www.example.com/start.html" "Mozilla/4.08 [en]" "id=7" 12"#
        );
        let _ = rules.extract(line, &mut |name, value| found.push(format!("{name}={value}")));
        for expected in [
            "clientip=10.0.0.7",
            "user=bob",
            "req_time=10/Oct/2000:13:55:36 -0700",
            "method=GET",
            "uri=/a/b.gif?x=1",
            "file=b.gif",
            "uri_path=/a/b.gif",
            "uri_query=x=1",
            "version=HTTP/1.0",
            "status=200",
            "bytes=2326",
            "referer_domain=http://www.example.com",
            "useragent=Mozilla/4.08 [en]",
            "cookie=id=7",
            "other= 12",
        ] {
            assert!(found.iter().any(|found| found == expected), "{expected} of {found:#?}");
        }
    }
}

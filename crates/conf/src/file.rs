//! The syntax of `.conf` files: stanzas of `key = value`, each value with its file and line
//! (docs/decisions/0020).
//!
//! Guarantees: parsing never fails; each line that is not understood becomes a [`Warning`] with the line
//! and the consequence. Not here: precedence of files (`layers`), known keys (`registry`), and the meaning
//! of values (`props` and similar).

use std::fmt;
use std::sync::Arc;

/// The directory with apps in a path.
const APPS: &str = "/apps/";

/// A line of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file, as a path or, for built-in files, as `system/default/props.conf`.
    pub file: Arc<str>,
    /// Line number from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", shown(&self.file), self.line)
    }
}

/// The name of a file in messages. The path of a file of an app installed at run time is shortened to start
/// with the app: the directory of the copy, `<data>/installed/<SHA-256>/apps`, does not help a reader.
fn shown(file: &str) -> &str {
    let is_digest = |name: &str| name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let is_copy = |at: usize| file[..at].rsplit(['/', '\\']).next().is_some_and(is_digest);
    let copy = file.match_indices(APPS).find(|(at, _)| is_copy(*at));
    copy.map_or(file, |(at, _)| &file[at + APPS.len()..])
}

/// A part of a configuration that is probably a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub place: Place,
    /// The problem and its consequence.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// One `key = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name of the setting.
    pub key: String,
    /// Its value, without surrounding blanks; continued lines are joined by a newline.
    pub value: String,
    /// File and line of the setting.
    pub place: Place,
}

/// A `[name]` and its settings. Keys are unique: the last of repeated keys counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stanza {
    /// The name between the brackets; `default` for what precedes the first stanza.
    pub name: String,
    /// File and line of its first appearance.
    pub place: Place,
    /// Settings in the order of their first appearance.
    pub entries: Vec<Entry>,
}

impl Stanza {
    /// Adds the settings of the same stanza in a lower layer that this one does not set.
    pub(crate) fn complete(&mut self, lower: &Self) {
        for entry in &lower.entries {
            if self.get(&entry.key).is_none() {
                self.entries.push(entry.clone());
            }
        }
    }

    /// The entry of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn set(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
    }
}

/// A parsed file: stanzas in the order of their first appearance, repeated ones merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfFile {
    /// Name or path of the file.
    pub file: Arc<str>,
    /// Its stanzas.
    pub stanzas: Vec<Stanza>,
    /// Warnings about probable mistakes.
    pub warnings: Vec<Warning>,
}

impl ConfFile {
    /// Parses the text of a file.
    #[must_use]
    pub fn parse(file: &str, text: &str) -> Self {
        Parser::new(file).run(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// The stanza with a name.
    #[must_use]
    pub fn stanza(&self, name: &str) -> Option<&Stanza> {
        self.stanzas.iter().find(|stanza| stanza.name == name)
    }
}

/// Writes the file in `.conf` syntax; parsing the result gives the same stanzas and values.
impl fmt::Display for ConfFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stanza in &self.stanzas {
            writeln!(f, "[{}]", stanza.name)?;
            for entry in &stanza.entries {
                writeln!(f, "{} = {}", entry.key, entry.value.replace('\n', "\\\n"))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

struct Parser {
    out: ConfFile,
    current: Option<usize>,
}

impl Parser {
    fn new(file: &str) -> Self {
        let out = ConfFile { file: file.into(), stanzas: Vec::new(), warnings: Vec::new() };
        Self { out, current: None }
    }

    fn run(mut self, text: &str) -> ConfFile {
        let mut lines = text.lines().zip(1u32..);
        while let Some((line, number)) = lines.next() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            if let Some(rest) = trimmed.strip_prefix('[') {
                self.open(rest, number);
                continue;
            }
            let mut logical = line.to_owned();
            while let Some(kept) = continued(&logical) {
                logical.truncate(kept);
                let Some((next, _)) = lines.next() else { break };
                logical.push('\n');
                logical.push_str(next);
            }
            self.entry(&logical, number);
        }
        self.out
    }

    fn place(&self, line: u32) -> Place {
        Place { file: self.out.file.clone(), line }
    }

    fn warn(&mut self, line: u32, text: String) {
        let place = self.place(line);
        self.out.warnings.push(Warning { place, text });
    }

    fn open(&mut self, rest: &str, line: u32) {
        let name = match rest.rfind(']') {
            Some(end) => {
                let tail = rest[end + 1..].trim();
                if !tail.is_empty() && !tail.starts_with('#') {
                    self.warn(line, format!("text after the stanza name is ignored: {tail}"));
                }
                rest[..end].trim()
            }
            None => {
                self.warn(line, format!("stanza [{rest} has no closing bracket; one is assumed"));
                rest.trim()
            }
        };
        self.select(name, line);
    }

    fn select(&mut self, name: &str, line: u32) {
        let known = self.out.stanzas.iter().position(|stanza| stanza.name == name);
        self.current = Some(known.unwrap_or_else(|| {
            let place = self.place(line);
            self.out.stanzas.push(Stanza { name: name.to_owned(), place, entries: Vec::new() });
            self.out.stanzas.len() - 1
        }));
    }

    fn entry(&mut self, logical: &str, line: u32) {
        let Some((key, value)) = logical.split_once('=') else {
            let beginning: String = logical.trim().chars().take(60).collect();
            let shown = visible(&beginning);
            return self.warn(line, format!("expected \"key = value\", ignored: {shown}"));
        };
        let key = key.trim();
        if key.is_empty() {
            return self.warn(line, "a value without a key is ignored".to_owned());
        }
        if self.current.is_none() {
            self.select("default", line);
        }
        let entry =
            Entry { key: key.to_owned(), value: value.trim().to_owned(), place: self.place(line) };
        if let Some(at) = self.current {
            self.out.stanzas[at].set(entry);
        }
    }
}

/// The text with escapes such as `\u{feff}` for characters that cannot be seen.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// The end of the text before a continuation mark; `None` if the line has no such mark.
fn continued(line: &str) -> Option<usize> {
    let trimmed = line.trim_end_matches([' ', '\t', '\r']);
    trimmed.ends_with('\\').then(|| trimmed.len() - 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<(String, String, String, u32)> {
        let file = ConfFile::parse("t.conf", text);
        let mut out = Vec::new();
        for stanza in &file.stanzas {
            for e in &stanza.entries {
                out.push((stanza.name.clone(), e.key.clone(), e.value.clone(), e.place.line));
            }
        }
        out
    }

    fn check(text: &str, expected: &[(&str, &str, &str, u32)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(s, k, v, l)| ((*s).to_owned(), (*k).to_owned(), (*v).to_owned(), *l))
            .collect();
        assert_eq!(values(text), expected, "{text}");
    }

    #[test]
    fn files_of_installed_apps_are_shown_from_the_app_on() {
        let shown = |file: &str| Place { file: file.into(), line: 7 }.to_string();
        let copy = format!("/data/apps/installed/{}/apps/ta/default/x.conf", "0a".repeat(32));
        assert_eq!(shown(&copy), "ta/default/x.conf:7");
        assert_eq!(shown("conf/apps/ta/default/x.conf"), "conf/apps/ta/default/x.conf:7");
        assert_eq!(shown("system/local/x.conf"), "system/local/x.conf:7");
    }

    #[test]
    fn stanzas_hold_keys_with_their_lines() {
        check("[a]\nx = 1\n\n[b]\ny=2", &[("a", "x", "1", 2), ("b", "y", "2", 5)]);
    }

    #[test]
    fn odd_spacing_a_byte_order_mark_and_comments_are_tolerated() {
        let text = "\u{feff}# c\n [a]  \n  # c\n\tx  =  1 = 2 # kept \r\n";
        check(text, &[("a", "x", "1 = 2 # kept", 4)]);
    }

    #[test]
    fn keys_before_the_first_stanza_belong_to_default() {
        check("x = 1\n[default]\ny = 2", &[("default", "x", "1", 1), ("default", "y", "2", 3)]);
    }

    #[test]
    fn a_backslash_continues_the_value_on_the_next_line() {
        check("[a]\nx = 1 \\\n  2\ny = 3", &[("a", "x", "1 \n  2", 2), ("a", "y", "3", 4)]);
    }

    #[test]
    fn repeated_stanzas_merge_and_the_last_value_counts() {
        check("[a]\nx = 1\n[b]\n[a]\nx = 2\nz =", &[("a", "x", "2", 5), ("a", "z", "", 6)]);
    }

    #[test]
    fn brackets_inside_a_stanza_name_are_kept() {
        check("[source::/a[1].log]\nx = 1", &[("source::/a[1].log", "x", "1", 2)]);
    }

    #[test]
    fn what_cannot_be_understood_is_a_warning_with_its_line() {
        let file = ConfFile::parse("t.conf", "[a\nx\n= 1\n[b] c");
        let shown: Vec<_> = file.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 4);
        assert!(shown[0].starts_with("t.conf:1: stanza [a has no closing bracket"));
        assert!(shown[1].starts_with("t.conf:2: expected \"key = value\""));
    }

    #[test]
    fn characters_that_cannot_be_seen_are_named() {
        let file = ConfFile::parse("t.conf", "[a]\n\u{feff}\n\"x\\\u{200b}\"");
        let shown: Vec<_> = file.warnings.iter().map(|warning| warning.text.as_str()).collect();
        let expected = [r"\u{feff}", r#""x\\u{200b}""#];
        let expected = expected.map(|text| format!("expected \"key = value\", ignored: {text}"));
        assert_eq!(shown, expected);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,200}|[\\[\\]=\\\\\n a#]{0,80}") {
            let _ = ConfFile::parse("t.conf", &text);
        }

        #[test]
        fn a_written_file_reads_back_the_same(
            stanzas in proptest::collection::btree_map(
                "[a-z:/.]{1,8}",
                proptest::collection::btree_map("[A-Z_]{1,6}", "[a-z]{1,3}( ?[=#a-z]|\n[a-z]){0,4}[a-z]", 0..4),
                0..4,
            )
        ) {
            let mut text = String::new();
            for (name, entries) in &stanzas {
                text += &format!("[{name}]\n");
                for (key, value) in entries {
                    text += &format!("{key}={}\n", value.replace('\n', "\\\n"));
                }
            }
            let once = ConfFile::parse("t.conf", &text);
            let again = ConfFile::parse("t.conf", &once.to_string());
            prop_assert_eq!(values(&text), values(&text));
            let plain = |f: &ConfFile| f.stanzas.iter().map(|s| (s.name.clone(), s.entries.iter()
                .map(|e| (e.key.clone(), e.value.clone())).collect::<Vec<_>>())).collect::<Vec<_>>();
            prop_assert_eq!(plain(&once), plain(&again));
            for (name, entries) in &stanzas {
                for (key, value) in entries {
                    let found = once.stanza(name).unwrap().get(key).unwrap();
                    prop_assert_eq!(&found.value, value);
                }
            }
        }
    }
}

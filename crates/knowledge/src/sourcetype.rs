//! Recognises the source type of a source without one.
//!
//! `[rule::...]` stanzas of `props.conf` are tried first. Then the content: the source gets the type of the
//! first entry in the list below whose pattern matches enough of its first lines. Then the name of its file,
//! then `[delayedrule::...]` stanzas; otherwise, the type is the stem of the file name. Splunk's names are
//! used if Splunk has one.
//!
//! The columns of Zeek's TSV logs are named by a header that is not part of the events. A log whose header
//! says `#path x` gets the type `zeek:x:tsv` if `transforms.conf` has a stanza `[zeek_x]` whose FIELDS are
//! those of the header, and otherwise the type `zeek:tsv`, whose columns are indexed. [`zeek_conf`] writes
//! the stanzas for a header.

mod content;

use std::borrow::Cow;

use conf::{Effective, Stanza, Warning};
use eval::Pattern;

use crate::settings::{props as keys, transforms};

/// Maximum number of lines of a sample that are examined.
const LINES: usize = 100;

/// Source type, and pattern of the file name in lower case without directories.
const NAMES: &[(&str, &str)] = &[
    ("csv", r"\.csv(?:\.(?:gz|zst|bz2|old|\d+))*$"),
    ("tsv", r"\.tsv(?:\.(?:gz|zst|bz2|old|\d+))*$"),
    ("psv", r"\.psv(?:\.(?:gz|zst|bz2|old|\d+))*$"),
    ("linux_secure", r"^(?:auth\.log|secure)(?:[.-]|$)"),
    ("syslog", r"^(?:messages|syslog|daemon\.log|kern\.log|mail\.log|user\.log)(?:[.-]|$)"),
    ("access_combined", r"access[._-]log"),
    ("apache_error", r"^(?:httpd|apache2?)?[._-]?error[._-]log"),
];

/// The source type of a source that came without one, and how it was determined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The source type.
    pub sourcetype: String,
    /// How it was determined.
    pub by: RecognisedBy,
}

/// How the type of a source was determined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecognisedBy {
    /// A stanza of `props.conf`: `[source::...]`, `[rule::...]` or `[delayedrule::...]`.
    Stanza {
        /// The name of the stanza.
        name: String,
        /// File and line.
        place: conf::Place,
    },
    /// A header that names the columns: that of Zeek or of the W3C format.
    Header,
    /// The content of its first lines.
    Content,
    /// The name of its file.
    FileName,
    /// No rule matched: the type is the stem of the file name.
    Nothing,
}

/// The compiled rules and patterns.
#[derive(Debug)]
pub(crate) struct Recogniser {
    names: Vec<(&'static str, Pattern)>,
    rules: Vec<Rule>,
    delayed: Vec<Rule>,
}

/// A `[rule::...]` stanza.
#[derive(Debug)]
struct Rule {
    stanza: String,
    place: conf::Place,
    sourcetype: String,
    /// Pattern, percentage of the lines, and whether more or fewer of them must match.
    shares: Vec<(Pattern, usize, bool)>,
}

impl Rule {
    fn read(stanza: &Stanza, warnings: &mut Vec<Warning>) -> Option<Self> {
        let mut warn = |place: &conf::Place, text: String| {
            let text = format!("stanza [{}] is ignored: {text}", stanza.name);
            warnings.push(Warning { place: place.clone(), text });
        };
        let Some(sourcetype) =
            stanza.get(keys::SOURCETYPE.name()).filter(|entry| !entry.value.is_empty())
        else {
            warn(&stanza.place, "it names no sourcetype".to_owned());
            return None;
        };
        let mut shares = Vec::new();
        for entry in &stanza.entries {
            let more = entry.key.strip_prefix(keys::MORE_THAN.prefix());
            let Some(percent) = more.or_else(|| entry.key.strip_prefix(keys::LESS_THAN.prefix()))
            else {
                continue;
            };
            // A class may follow, so that several patterns can have the same percentage.
            let digits = percent.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            let Ok(percent) = digits.parse::<usize>() else {
                warn(&entry.place, format!("{} names no percentage", entry.key));
                return None;
            };
            match Pattern::compile(&entry.value) {
                Ok(pattern) => shares.push((pattern, percent, more.is_some())),
                Err(reason) => {
                    warn(&entry.place, format!("bad regular expression: {reason}"));
                    return None;
                }
            }
        }
        let (name, place) = (stanza.name.clone(), stanza.place.clone());
        let sourcetype = sourcetype.value.clone();
        (!shares.is_empty()).then_some(Self { stanza: name, place, sourcetype, shares })
    }

    fn recognised(&self) -> Recognised {
        let by = RecognisedBy::Stanza { name: self.stanza.clone(), place: self.place.clone() };
        Recognised { sourcetype: self.sourcetype.clone(), by }
    }

    fn fits(&self, lines: &[&str]) -> bool {
        let share = |(pattern, percent, more): &(Pattern, usize, bool)| {
            let matching = lines.iter().filter(|line| pattern.is_match(line)).count() * 100;
            let bound = lines.len() * percent;
            if *more { matching > bound } else { matching < bound }
        };
        !lines.is_empty() && self.shares.iter().all(share)
    }
}

fn stanzas(kind: &str, props: &Effective, warnings: &mut Vec<Warning>) -> Vec<Rule> {
    let named = props.stanzas.iter().filter(|stanza| stanza.name.starts_with(kind));
    let enabled = named.filter(|stanza| !crate::props::is_disabled(stanza));
    enabled.filter_map(|stanza| Rule::read(stanza, warnings)).collect()
}

impl Recogniser {
    pub(crate) fn new(props: &Effective, warnings: &mut Vec<Warning>) -> Self {
        let names = NAMES.iter().filter_map(|(name, pattern)| {
            Pattern::compile(pattern).ok().map(|pattern| (*name, pattern))
        });
        Self {
            names: names.collect(),
            rules: stanzas("rule::", props, warnings),
            delayed: stanzas("delayedrule::", props, warnings),
        }
    }

    /// Returns the source type of a source, given its name and the beginning of its text.
    pub(crate) fn recognise(&self, source: &str, sample: &str, conf: &Effective) -> Recognised {
        let found = |sourcetype: &str, by| Recognised { sourcetype: sourcetype.to_owned(), by };
        let sample = sample.trim_start_matches('\u{feff}');
        if let Some(header) = ZeekHeader::read(sample) {
            return found(&header.sourcetype(conf), RecognisedBy::Header);
        }
        let lines: Vec<&str> =
            sample.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).take(LINES).collect();
        if let Some(rule) = self.rules.iter().find(|rule| rule.fits(&lines)) {
            return rule.recognised();
        }
        if let Some(w3c) = w3c(&lines) {
            return found(w3c, RecognisedBy::Header);
        }
        if is_pretty_json(&lines) {
            return found("_json", RecognisedBy::Content);
        }
        let plain: Vec<Cow<'_, str>> = lines.iter().map(|line| without_colours(line)).collect();
        let plain: Vec<&str> = plain.iter().map(AsRef::as_ref).collect();
        if let Some(name) = content::sourcetype(&plain) {
            return found(name, RecognisedBy::Content);
        }
        let file = source.rsplit(['/', '\\']).next().unwrap_or(source).to_lowercase();
        if let Some((name, _)) = self.names.iter().find(|(_, pattern)| pattern.is_match(&file)) {
            return found(name, RecognisedBy::FileName);
        }
        let delayed = self.delayed.iter().find(|rule| rule.fits(&lines));
        delayed.map_or_else(|| found(&stem(&file), RecognisedBy::Nothing), Rule::recognised)
    }
}

/// Returns whether the lines are pretty-printed JSON: an opening bracket alone on the first line, and a key
/// soon after it.
fn is_pretty_json(lines: &[&str]) -> bool {
    let is_key = |line: &str| {
        let key = line.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
        key.is_some_and(|(_, after)| after.trim_start().starts_with(':'))
    };
    let opens = |line: &&str| matches!(line.trim(), "{" | "[");
    lines.first().is_some_and(opens) && lines.iter().skip(1).take(2).any(|line| is_key(line))
}

/// Returns a line without terminal colour codes, such as `ESC[32m`.
fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\x1b') {
        return line.into();
    }
    let mut plain = String::with_capacity(line.len());
    let mut parts = line.split('\x1b');
    plain.extend(parts.next());
    for part in parts {
        let numbers = |c: char| c.is_ascii_digit() || c == ';';
        let code = part.strip_prefix('[').map(|rest| rest.trim_start_matches(numbers));
        match code.and_then(|rest| rest.strip_prefix('m')) {
            Some(rest) => plain.push_str(rest),
            None => {
                plain.push('\x1b');
                plain.push_str(part);
            }
        }
    }
    plain.into()
}

/// Recognises the W3C extended log format by its directives.
fn w3c(lines: &[&str]) -> Option<&'static str> {
    let directives = lines.iter().take_while(|line| line.starts_with('#'));
    let directives: Vec<&str> = directives.copied().collect();
    let fields = directives.iter().find_map(|line| line.strip_prefix("#Fields:"))?;
    if fields.contains(" x-edge-location ") {
        return Some("aws:cloudfront:accesslogs");
    }
    let by_iis = |line: &&str| line.contains("Microsoft Internet Information Serv");
    Some(if directives.iter().any(by_iis) { "iis" } else { "w3c" })
}

/// Returns the name of a file without its extensions; special characters are replaced.
fn stem(file: &str) -> String {
    let ends = ["gz", "zst", "bz2", "log", "txt", "json", "out", "csv", "xml", "old"];
    let mut stem = file;
    while let Some((rest, extension)) = stem.rsplit_once('.') {
        let number = extension.bytes().all(|byte| byte.is_ascii_digit());
        if rest.is_empty() || !(number || ends.contains(&extension)) {
            break;
        }
        stem = rest;
    }
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let name: String = stem.chars().map(|c| if keep(c) { c } else { '_' }).collect();
    if name.chars().any(char::is_alphanumeric) { name } else { "unknown".to_owned() }
}

struct ZeekHeader<'a> {
    path: &'a str,
    fields: Vec<&'a str>,
}

impl<'a> ZeekHeader<'a> {
    fn read(sample: &'a str) -> Option<Self> {
        if !sample.starts_with("#separator") && !sample.contains("\n#fields\t") {
            return None;
        }
        let mut path = None;
        let mut fields = None;
        for line in sample.lines().take_while(|line| line.starts_with('#')) {
            match line.split_once('\t') {
                Some(("#path", value)) => path = Some(value.trim()),
                Some(("#fields", value)) => fields = Some(value.trim_end().split('\t').collect()),
                _ => {}
            }
        }
        Some(Self { path: path?, fields: fields? })
    }

    fn sourcetype(&self, conf: &Effective) -> String {
        let known = conf
            .stanza(&format!("zeek_{}", self.path))
            .and_then(|stanza| stanza.get(transforms::FIELDS.name()))
            .is_some_and(|entry| {
                let names = entry.value.split(',').map(|name| name.trim().trim_matches('"'));
                names.eq(self.fields.iter().copied())
            });
        if known { format!("zeek:{}:tsv", self.path) } else { "zeek:tsv".to_owned() }
    }
}

/// Returns stanzas for `props.conf` and `transforms.conf` that name the columns of a Zeek TSV log, derived
/// from its header.
#[must_use]
pub fn zeek_conf(sample: &str) -> Option<(String, String)> {
    let ZeekHeader { path, fields } = ZeekHeader::read(sample)?;
    let props = format!(
        "[zeek:{path}:tsv]\nSHOULD_LINEMERGE = false\nPREAMBLE_REGEX = ^#\nTIME_FORMAT = %s.%6N\n\
         KV_MODE = none\nREPORT-zeek = zeek_{path}\n"
    );
    let transforms = format!("[zeek_{path}]\nDELIMS = \"\\t\"\nFIELDS = {}\n", fields.join(", "));
    Some((props, transforms))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Knowledge;
    use conf::{Layer, Layers};

    #[test]
    fn codes_of_colours_hide_no_source_type() {
        check(
            "app.log",
            "\x1b[32m2024-05-02 10:11:12,123\x1b[0m [main] \x1b[1;31mERROR\x1b[0m x.Y - z\n",
            "log4j",
        );
        assert_eq!(without_colours("\x1b[0;1ma\x1b[mb\x1b[2Kc\x1b"), "ab\x1b[2Kc\x1b");
    }

    fn check(source: &str, sample: &str, expected: &str) {
        assert_eq!(Knowledge::builtin().sourcetype(source, sample), expected, "{source}");
    }

    #[test]
    fn every_pattern_compiles_and_every_type_has_rules() {
        let props = Knowledge::builtin().conf("props");
        let recogniser = Recogniser::new(&props, &mut Vec::new());
        assert_eq!(recogniser.names.len(), NAMES.len());
        let by_directives = ["csv", "tsv", "psv", "iis", "w3c", "aws:cloudfront:accesslogs"];
        for name in content::CONTENT.iter().map(|entry| entry.0).chain(by_directives) {
            assert!(props.stanza(name).is_some(), "{name}");
        }
    }

    #[test]
    fn unknown_content_takes_the_name_of_the_file() {
        check("/opt/shop/orders.log.2.gz", "hello\nworld", "orders");
        check("/var/log/auth.log.1", "", "linux_secure");
        check("tcp:5140", "hello", "tcp:5140");
        check("", "", "unknown");
    }

    #[test]
    fn content_goes_before_the_name() {
        check("/var/log/syslog", "{\"a\":1}\n{\"a\":2}", "_json");
        check("x", "[\n  {\n    \"a\": 1,\n    \"b\": 2\n  }\n]", "_json");
        check("x.log", "{\n  \"a b\" : 1\n}\n{\n", "_json");
        check("x.log", "{\n  a = 1\n}\n", "x");
        check("x.log", "<34>1 2003-10-11T22:14:15.003Z host su - ID47 - x", "syslog");
        check("x.log", "Jun  1 01:02:03 host cron[12]: run", "syslog");
        check("x", "2024-01-01 10:00:00,123 [main] INFO a.B - x\n\tat x\n\tat y", "log4j");
    }

    #[test]
    fn tables_are_recognised_by_the_name_of_their_file_and_w3c_by_its_directives() {
        check("/data/orders.csv", "a,b\n1,2", "csv");
        check("/data/orders.tsv.1.gz", "a\tb", "tsv");
        let iis = "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time\n2024-01-01 00:00:00";
        check("u_ex.log", iis, "iis");
        check("x.log", "#Version: 1.0\n#Fields: date time\n2024-01-01 00:00:00", "w3c");
    }

    #[test]
    fn rules_of_the_configuration_go_first_and_delayed_ones_last() {
        let text = "[rule::bars]\nsourcetype = bars\nMORE_THAN_50 = ^--\nLESS_THAN_10 = error\n\
                    [delayedrule::rest]\nsourcetype = dashes\nMORE_THAN_0 = -\n[rule::bad]\nMORE_THAN_1 = a";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", text));
        assert_eq!(knowledge.sourcetype("x", "--a\n--b\nc"), "bars");
        assert_eq!(knowledge.sourcetype("x", "--a\n--error"), "dashes");
        assert_eq!(knowledge.sourcetype("x", "{\"a\":\"-\"}"), "_json");
        assert_eq!(knowledge.sourcetype("name.log", "abc"), "name");
        let warnings: Vec<_> = knowledge.warnings().iter().map(ToString::to_string).collect();
        assert!(warnings.iter().any(|text| text.contains("names no sourcetype")), "{warnings:?}");
    }

    const HEADER: &str =
        "#separator \\x09\n#path\tmine\n#fields\tts\tuid\n#types\ttime\tstring\n1.5\tC1";

    #[test]
    fn zeek_columns_are_named_where_a_stanza_agrees_with_the_header() {
        check("mine.log", HEADER, "zeek:tsv");
        let (props, transforms) = zeek_conf(HEADER).unwrap();
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props).with(
            Layer::SystemLocal,
            "transforms",
            &transforms,
        );
        let knowledge = Knowledge::new(layers);
        assert!(knowledge.errors().is_empty());
        assert_eq!(knowledge.sourcetype("mine.log", HEADER), "zeek:mine:tsv");
        let mut found = Vec::new();
        let rules = knowledge.field_rules("zeek:mine:tsv", "mine.log", "h");
        let _ = rules.extract("1.5\tC1", &mut |name, value| found.push(format!("{name}={value}")));
        assert_eq!(found, ["ts=1.5", "uid=C1"]);
    }

    #[test]
    fn a_source_stanza_may_assign_the_type() {
        let text = "[source::.../shop/*]\nsourcetype = shop";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", text));
        assert_eq!(knowledge.sourcetype("/opt/shop/a.log", "{}"), "shop");
    }

    #[test]
    fn what_told_the_type_is_known() {
        let text = "[source::.../shop/*]\nsourcetype = shop\n[rule::dashes]\nsourcetype = dashes\n\
                    MORE_THAN_50 = ^--";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", text));
        let by = |source, sample| knowledge.recognise(source, sample).by;
        let stanza = |name: &str, line| RecognisedBy::Stanza {
            name: name.to_owned(),
            place: conf::Place { file: "system/local/props.conf".into(), line },
        };
        assert_eq!(by("/opt/shop/a.log", "{}"), stanza("source::.../shop/*", 2));
        assert_eq!(by("x", "--a\n--b"), stanza("rule::dashes", 3));
        assert_eq!(by("x", "#Version: 1.0\n#Fields: date time\n"), RecognisedBy::Header);
        assert_eq!(by("x", "{\"a\":1}"), RecognisedBy::Content);
        assert_eq!(by("x.csv", "a,b\n1,2"), RecognisedBy::FileName);
        assert_eq!(by("x.log", "hello"), RecognisedBy::Nothing);
    }
}

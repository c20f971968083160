//! The text of a `.conf` file with the settings of objects, and without secrets.
//!
//! Guarantees: each part that is left out is named, without the secret; all other lines stay as they are,
//! comments included; the time is linear in the text and in the settings.

use std::collections::{HashMap, HashSet};

use crate::Settings;
use crate::conf_lines::{Meaning, lines};
use crate::install::Remark;
use crate::redaction::{has_secret, is_left_out, is_left_out_of_comment, is_padded};

/// The remark about a secret.
pub(crate) const SECRET: &str = "a secret";

/// A file after the changes.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub(crate) text: String,
    /// Whether it differs from the file before.
    pub(crate) is_changed: bool,
    pub(crate) left_out: Vec<Remark>,
}

/// Sets the settings of stanzas in a file, and removes the secrets that it has. `conf` is the name of a file
/// of settings; `None` for a file without secrets.
pub(crate) fn changed(
    path: &str,
    conf: Option<&str>,
    text: &str,
    added: &[(String, Settings)],
) -> Changed {
    let keys = added.iter().flat_map(|(stanza, settings)| {
        settings.iter().map(move |(key, _)| (stanza.as_str(), key.as_str()))
    });
    let stanzas = added.iter().map(|(stanza, settings)| (stanza.as_str(), settings));
    let mut changing = Changing {
        path,
        conf,
        replaced: keys.collect(),
        added: stanzas.collect(),
        out: Changed::default(),
    };
    changing.lines(text);
    for (stanza, _) in added {
        changing.append(stanza);
    }
    changing.out
}

struct Changing<'a> {
    path: &'a str,
    conf: Option<&'a str>,
    /// The stanzas and keys of the added settings.
    replaced: HashSet<(&'a str, &'a str)>,
    /// The settings that are not yet written, by stanza.
    added: HashMap<&'a str, &'a Settings>,
    out: Changed,
}

impl Changing<'_> {
    fn lines(&mut self, text: &str) {
        let (mut stanza, mut is_skipped, mut continues) = ("default", false, false);
        for line in lines(text) {
            let is_rest = std::mem::take(&mut continues);
            match line.meaning() {
                Meaning::Stanza(name, tail) => {
                    (stanza, is_skipped) = (name, self.conf.is_some() && has_secret(name));
                    if is_skipped {
                        self.leave_out_line(line.number, "a stanza with a secret in its name");
                        continue;
                    }
                    if self.is_secret_comment(tail) {
                        self.leave_out_line(line.number, "a comment with a secret");
                        self.out.text.push_str(&format!("[{name}]\n"));
                    } else {
                        self.out.text.push_str(line.text);
                    }
                    self.insert(name);
                }
                _ if is_skipped => {}
                // A setting of several lines that is commented out.
                Meaning::Comment(text) if is_rest && text.starts_with('#') => {
                    continues = text.ends_with('\\');
                }
                Meaning::Comment(text) if self.is_secret_comment(text) => {
                    self.leave_out_line(line.number, "a comment with a secret");
                    continues = text.ends_with('\\');
                }
                Meaning::Setting(key, _) if self.replaced.contains(&(stanza, key)) => {
                    self.out.is_changed = true;
                }
                Meaning::Setting(key, _) if self.conf.is_some() && has_secret(key) => {
                    self.leave_out_line(line.number, SECRET);
                }
                Meaning::Setting(key, value)
                    if self.conf.is_some_and(|conf| is_left_out(conf, key, &value)) =>
                {
                    self.leave_out(format!("{}: [{stanza}] {key}", self.path), SECRET);
                }
                // Perhaps a line of a secret of several lines.
                Meaning::Unknown if self.conf.is_some() => {
                    self.leave_out_line(line.number, "neither a stanza nor a setting");
                }
                Meaning::Setting(..) if self.conf.is_some() && is_padded(line.text.trim()) => {
                    self.leave_out_line(line.number, "a line that may be the end of a secret");
                }
                Meaning::Comment(_) | Meaning::Setting(..) | Meaning::Unknown => {
                    self.out.text.push_str(line.text);
                }
            }
        }
    }

    fn leave_out_line(&mut self, number: usize, text: &str) {
        self.leave_out(format!("{}:{number}", self.path), text);
    }

    fn leave_out(&mut self, place: String, text: &str) {
        self.out.is_changed = true;
        self.out.left_out.push(Remark { place, text: text.to_owned() });
    }

    /// Whether a comment has a secret: a setting that is commented out counts as the setting.
    fn is_secret_comment(&self, text: &str) -> bool {
        let Some(conf) = self.conf else { return false };
        let text = text.trim_start_matches(['#', ';', ' ', '\t']);
        let is_setting = |separator: char| {
            text.split_once(separator).is_some_and(|(key, value)| {
                let value = value.trim().trim_end_matches('\\').trim_end();
                // `token: the token of the user` explains a setting.
                let is_one = separator == '=' || !value.contains(char::is_whitespace);
                is_one && is_left_out_of_comment(conf, key.trim(), value)
            })
        };
        has_secret(text) || is_setting('=') || is_setting(':')
    }

    /// Writes the settings of a stanza after its name.
    fn insert(&mut self, stanza: &str) {
        let Some(settings) = self.added.remove(stanza) else { return };
        self.out.is_changed = true;
        let text = &mut self.out.text;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for (key, value) in settings {
            text.push_str(&written(key, value));
        }
    }

    /// Writes a stanza that the file does not have.
    fn append(&mut self, stanza: &str) {
        if !self.added.contains_key(stanza) {
            return;
        }
        let text = &mut self.out.text;
        // After an empty line, the last setting of the file does not continue.
        while !text.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        text.push_str(&format!("[{stanza}]\n"));
        self.insert(stanza);
        self.out.text.push('\n');
    }
}

/// A setting as it is in a file.
fn written(key: &str, value: &str) -> String {
    format!("{key} = {}\n", value.replace('\n', "\\\n"))
}

/// Whether a file can have a setting: a value that ends in a backslash would continue in the next line.
pub(crate) fn is_readable(key: &str, value: &str) -> bool {
    let text = format!("{}[next]\n", written(key, value));
    let mut read = lines(&text).map(|line| line.meaning());
    let is_same = matches!(
        read.next(),
        Some(Meaning::Setting(found, of)) if found == key && of == value
    );
    is_same && read.next() == Some(Meaning::Stanza("next", ""))
}

/// Whether a file can have a stanza with this name.
pub(crate) fn is_readable_stanza(name: &str) -> bool {
    let text = format!("[{name}]\n");
    let mut read = lines(&text).map(|line| line.meaning());
    read.next() == Some(Meaning::Stanza(name, "")) && read.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::settings;

    fn places(changed: &Changed) -> Vec<&str> {
        changed.left_out.iter().map(|remark| remark.place.as_str()).collect()
    }

    #[test]
    fn secrets_and_settings_that_are_commented_out_are_left_out_and_comments_stay() {
        let text = "# Ours, with a key\nx = 1\n# password = hunter2\n#token: K4711\n[a] # secret = s\n\
                    token = 4711 \\\n  4712\nindex = main\n# sslPassword = a\\\n#  b\n# c\n\
                    [rest://https://u:p@h]\npolling = 60\n[b]\nMIIEvQIBADANBgkqhkiG9w0\nurl = http://b/\n";
        let changed = changed("local/inputs.conf", Some("inputs"), text, &[]);
        let kept = "# Ours, with a key\nx = 1\n[a]\nindex = main\n# c\n[b]\nurl = http://b/\n";
        assert_eq!(changed.text, kept);
        let expected = [
            "local/inputs.conf:3",
            "local/inputs.conf:4",
            "local/inputs.conf:5",
            "local/inputs.conf: [a] token",
            "local/inputs.conf:9",
            "local/inputs.conf:12",
            "local/inputs.conf:15",
        ];
        assert_eq!(places(&changed), expected);
    }

    #[test]
    fn the_last_line_of_an_encoded_secret_is_left_out() {
        let text = "[a]\n#token = MIIEvQIBADANBgkqhkiG9w0\\\nMIIEvQIBADANBgkqhkiG9w==\n\
                    MIIEvQIBADANBgkqhkiG9w0=\nindex=\n\
                    acceptFromEverybody=\nx=MIIEvQIBADANBgkqhkiG9w==\n";
        let changed = changed("local/inputs.conf", Some("inputs"), text, &[]);
        let kept = "[a]\nindex=\nacceptFromEverybody=\nx=MIIEvQIBADANBgkqhkiG9w==\n";
        assert_eq!(changed.text, kept);
        let expected = ["local/inputs.conf:2", "local/inputs.conf:3", "local/inputs.conf:4"];
        assert_eq!(places(&changed), expected);
    }

    #[test]
    fn settings_replace_those_of_the_file_and_all_other_lines_stay() {
        let text = "# Ours\n[m]\n# first\ndefinition = a\\\nb\nargs = x\n[n]\ndefinition = n\\";
        let added = [
            ("new".to_owned(), settings(&[("definition", "1\n2")])),
            ("m".to_owned(), settings(&[("definition", "c")])),
        ];
        let changed = changed("local/macros.conf", Some("macros"), text, &added);
        let expected = "# Ours\n[m]\ndefinition = c\n# first\nargs = x\n[n]\ndefinition = n\\\n\n\
                        [new]\ndefinition = 1\\\n2\n\n";
        assert_eq!(changed.text, expected);
        let same = super::changed("a", Some("macros"), text, &[]);
        assert!(!same.is_changed && same.text == text && places(&same).is_empty());
    }

    #[test]
    fn the_time_is_linear_in_the_number_of_stanzas() {
        let added: Vec<_> = (0..50_000)
            .map(|number| (format!("m{number}"), settings(&[("definition", "new")])))
            .collect();
        let text: String = (0..50_000).map(|n| format!("[m{n}]\ndefinition = old\n")).collect();
        let began = std::time::Instant::now();
        let changed = changed("local/macros.conf", Some("macros"), &text, &added);
        assert_eq!(changed.text, text.replace("old", "new"));
        // A search among all stanzas for each of them takes minutes.
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn values_that_no_file_can_have_are_recognized() {
        for (key, value) in [("a", "1"), ("a", "1 |\n 2"), ("key", "value"), ("a", "\\x")] {
            assert!(is_readable(key, value), "{key} {value}");
        }
        for (key, value) in [("a", "x\\"), ("a", " x"), ("a=b", "x"), ("#a", "x"), ("", "x")] {
            assert!(!is_readable(key, value), "{key} {value}");
        }
        assert!(is_readable_stanza("next") && is_readable_stanza("a[1]"));
        assert!(!is_readable_stanza("a\nb") && !is_readable_stanza(" a"));
    }
}

//! The lines of a `.conf` file with their text, for changes that keep all other lines as they are.
//!
//! Guarantees: stanzas and settings are those of [`conf::ConfFile`], and the time is linear in the text.
//! Leaves to others: repeated stanzas and keys, which are returned as they are.

/// One line; a setting has its continued lines, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// Its text, with the line break.
    pub(crate) text: &'t str,
}

/// The meaning of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning<'t> {
    /// Nothing: an empty line, or a comment with this text.
    Comment(&'t str),
    /// `[name]`, and the ignored text after it.
    Stanza(&'t str, &'t str),
    /// `key = value`; continued lines are joined by a newline.
    Setting(&'t str, String),
    /// A line that is ignored because it is neither.
    Unknown,
}

/// Returns the lines of a file in order.
pub(crate) fn lines(text: &str) -> Lines<'_> {
    Lines { left: text.strip_prefix('\u{feff}').unwrap_or(text), number: 1 }
}

/// Iterates over the lines of a file.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    left: &'t str,
    number: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        if self.left.is_empty() {
            return None;
        }
        let number = self.number;
        let mut end = end_of_line(self.left, 0);
        let first = self.left[..end].trim();
        let is_setting = !first.is_empty() && !first.starts_with(['#', '[']);
        self.number += 1;
        let mut start = 0;
        while is_setting && end < self.left.len() && continued(&self.left[start..end]).is_some() {
            start = end;
            end = end_of_line(self.left, start);
            self.number += 1;
        }
        let (text, left) = self.left.split_at(end);
        self.left = left;
        Some(Line { number, text })
    }
}

/// The end of the line that begins here, with its line break.
fn end_of_line(text: &str, start: usize) -> usize {
    text[start..].find('\n').map_or(text.len(), |at| start + at + 1)
}

/// The line before a continuation mark; `None` if it has no such mark.
fn continued(line: &str) -> Option<&str> {
    line.trim_end_matches(['\n', ' ', '\t', '\r']).strip_suffix('\\')
}

impl<'t> Line<'t> {
    /// What the line means.
    pub(crate) fn meaning(&self) -> Meaning<'t> {
        let trimmed = self.text.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return Meaning::Comment(trimmed);
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            return match rest.rsplit_once(']') {
                Some((name, tail)) => Meaning::Stanza(name.trim(), tail.trim()),
                None => Meaning::Stanza(rest.trim(), ""),
            };
        }
        let Some((key, value)) = self.text.split_once('=') else { return Meaning::Unknown };
        let key = key.trim();
        // A key in several lines is one that no file can have on purpose.
        if key.is_empty() || key.contains('\n') {
            return Meaning::Unknown;
        }
        let parts = value.split_inclusive('\n').map(|part| match continued(part) {
            Some(before) => before,
            None => part.strip_suffix('\n').unwrap_or(part),
        });
        let joined = parts.collect::<Vec<_>>().join("\n");
        Meaning::Setting(key, joined.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use conf::ConfFile;

    use super::*;

    /// The stanzas, keys and values of a file whose keys are unique.
    fn settings(text: &str) -> Vec<(String, String, String)> {
        let (mut found, mut stanza) = (Vec::new(), "default");
        for line in lines(text) {
            match line.meaning() {
                Meaning::Stanza(name, _) => stanza = name,
                Meaning::Setting(key, value) => {
                    found.push((stanza.to_owned(), key.to_owned(), value));
                }
                Meaning::Comment(_) | Meaning::Unknown => {}
            }
        }
        found
    }

    #[test]
    fn lines_mean_what_they_mean_in_the_parser_of_files() {
        let texts = [
            "",
            "x = 1",
            "\u{feff}# c\n [a]  \n  # c\n\tx  =  1 = 2 # kept \r\ny=2\r\n",
            "[a]\nx = 1 \\\n  2\\ \n[b]\ny = 3\n",
            "[a]\nx = 1\\",
            "[a]\nx = 1\\\n\n[b]\ny = 2",
            "# c \\\nx = 1\n[source::/a[1].log] # z\ny = 2\n",
            "[a\nx\n= 1\n[b] c\nz =\n",
            "x\\\ny = 1\n",
            "[]\nexport = system\n",
        ];
        for text in texts {
            let file = ConfFile::parse("t.conf", text);
            let mut expected = Vec::new();
            for stanza in &file.stanzas {
                for entry in stanza.entries.iter().filter(|entry| !entry.key.contains('\n')) {
                    expected.push((stanza.name.clone(), entry.key.clone(), entry.value.clone()));
                }
            }
            assert_eq!(settings(text), expected, "{text}");
            let all: String = lines(text).map(|line| line.text).collect();
            assert_eq!(all, text.trim_start_matches('\u{feff}'), "every line is returned");
        }
        let numbers: Vec<usize> = lines("a = 1\\\n2\n\n[b]").map(|line| line.number).collect();
        assert_eq!(numbers, [1, 3, 4]);
    }
}

//! Templates of commands: texts with placeholders for names and values.
//!
//! Guarantees: an inserted text stays one token, whatever characters it contains: within quotes it is
//! escaped, and on its own it is quoted if necessary. Adjacent to other characters of a name, it is inserted
//! unchanged.

/// The replacement of a placeholder.
#[derive(Debug, Clone)]
pub struct Replacement<'r> {
    /// The placeholder in a template.
    pub placeholder: &'r str,
    /// The text that replaces it.
    pub text: String,
}

/// Returns the template with placeholders replaced by field names.
#[must_use]
pub fn named(template: &str, replacements: &[Replacement<'_>]) -> String {
    let mut scan = Scan::new(template);
    while let Some(found) = scan.next(|rest| longest(rest, replacements)) {
        let Replacement { placeholder, text } = &replacements[found];
        let alone = scan.alone(placeholder.len(), |rest| longest(rest, replacements).is_some());
        let piece = scan.fit(text, alone, Kind::Name);
        scan.put(placeholder.len(), &piece);
    }
    scan.out
}

fn longest(rest: &str, replacements: &[Replacement<'_>]) -> Option<usize> {
    let starts = |found: &Replacement<'_>| {
        !found.placeholder.is_empty() && rest.starts_with(found.placeholder)
    };
    let found = replacements.iter().enumerate().filter(|(_, found)| starts(found));
    found.max_by_key(|(_, found)| found.placeholder.len()).map(|(at, _)| at)
}

/// The meaning of an inserted text that stands on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A field name.
    Name,
    /// A value.
    Value,
    /// A part of a search, such as the terms that `format` creates.
    Terms,
}

/// A scan over a template.
#[derive(Debug)]
pub struct Scan<'t> {
    rest: &'t str,
    /// The output so far.
    pub out: String,
    quote: Option<char>,
    /// The start of the current command in the output.
    command: usize,
    /// Whether the output ends with an inserted text.
    after_piece: bool,
}

impl<'t> Scan<'t> {
    /// Starts at the beginning of a template.
    #[must_use]
    pub fn new(template: &'t str) -> Self {
        Self { rest: template, out: String::new(), quote: None, command: 0, after_piece: false }
    }

    /// Returns the rest of the template.
    #[must_use]
    pub fn rest(&self) -> &'t str {
        self.rest
    }

    /// Copies text up to the next position at which `find` returns a result.
    pub fn next<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        loop {
            if let Some(found) = find(self.rest) {
                return Some(found);
            }
            let c = self.rest.chars().next()?;
            self.copy(c);
        }
    }

    fn copy(&mut self, c: char) {
        self.after_piece = false;
        match (c, self.quote) {
            ('\\', _) => {
                let escaped = self.rest[1..].chars().next();
                self.out.push('\\');
                self.rest = &self.rest[1..];
                let Some(escaped) = escaped.filter(|c| "\\\"'".contains(*c)) else { return };
                self.out.push(escaped);
                self.rest = &self.rest[escaped.len_utf8()..];
                return;
            }
            ('"' | '\'', None) => self.quote = Some(c),
            (quote, Some(open)) if quote == open => self.quote = None,
            ('|' | '[', None) => self.command = self.out.len() + 1,
            _ => {}
        }
        self.out.push(c);
        self.rest = &self.rest[c.len_utf8()..];
    }

    /// Replaces the next `length` bytes by a text.
    pub fn put(&mut self, length: usize, piece: &str) {
        self.out.push_str(piece);
        self.rest = &self.rest[length..];
        self.after_piece = true;
    }

    /// Returns the enclosing quotation mark, if there is one.
    #[must_use]
    pub fn quote(&self) -> Option<char> {
        self.quote
    }

    /// Whether the next token is not adjacent to other characters of a name.
    #[must_use]
    pub fn alone(&self, length: usize, is_piece: impl Fn(&str) -> bool) -> bool {
        let behind = &self.rest[length..];
        let joins = |c: char| c.is_alphanumeric() || "_.:{}@*$".contains(c);
        let before = self.out.chars().next_back().is_some_and(joins);
        let after = behind.chars().next().is_some_and(joins);
        !before && !after && !self.after_piece && !is_piece(behind)
    }

    /// Returns a text in the form that is required at this position.
    #[must_use]
    pub fn fit(&self, text: &str, alone: bool, kind: Kind) -> String {
        match self.quote {
            Some(quote) => escaped(text, quote),
            None if !alone || kind == Kind::Terms => text.to_owned(),
            None if kind == Kind::Value || self.in_search() => {
                let bare = |c: char| !c.is_whitespace() && !"|()[]\"'=<>!,\\`".contains(c);
                let bare = !text.is_empty() && text.chars().all(bare);
                if bare { text.to_owned() } else { format!("\"{}\"", escaped(text, '"')) }
            }
            None => {
                let bare = text.chars().all(|c| c.is_alphanumeric() || c == '_');
                if bare { text.to_owned() } else { format!("'{}'", escaped(text, '\'')) }
            }
        }
    }

    /// Whether the current command is `search`, which does not support single quotes.
    fn in_search(&self) -> bool {
        let written = self.out.get(self.command..).unwrap_or_default().trim_start();
        let word = written.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        word.eq_ignore_ascii_case("search")
    }
}

/// Returns a text escaped for quotes of a kind.
fn escaped(text: &str, quote: char) -> String {
    text.replace('\\', "\\\\").replace(quote, &format!("\\{quote}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(template: &str, name: &str) -> String {
        let field = Replacement { placeholder: "<<FIELD>>", text: name.to_owned() };
        let part = Replacement { placeholder: "<<MATCHSTR>>", text: "m".to_owned() };
        named(template, &[field, part])
    }

    #[test]
    fn names_stay_in_one_piece() {
        assert_eq!(of("eval <<FIELD>>=<<FIELD>>+1", "a_b"), "eval a_b=a_b+1");
        assert_eq!(of("eval <<FIELD>>=<<FIELD>>+1", "a.b"), "eval 'a.b'='a.b'+1");
        assert_eq!(of("eval x='<<FIELD>>'", "a b"), "eval x='a b'");
        assert_eq!(of("eval x=\"<<FIELD>>\"", "a\"b"), "eval x=\"a\\\"b\"");
        assert_eq!(of("eval x_<<FIELD>>=1", "a-b"), "eval x_a-b=1");
        assert_eq!(
            of("search <<FIELD>>=1 | where <<FIELD>>>2", "a.b"),
            "search a.b=1 | where 'a.b'>2"
        );
        assert_eq!(of("eval <<MATCHSTR>><<FIELD>>=1", "a-b"), "eval ma-b=1");
        assert_eq!(of(r#"rex "\"<<FIELD>>\\" | x"#, "a"), r#"rex "\"a\\" | x"#);
    }
}

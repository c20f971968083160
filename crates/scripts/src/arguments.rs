//! Splits the arguments of a command like Splunk: at blanks and commas, except within quotes.

/// Arguments, as written and without quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// As written.
    pub raw: Vec<String>,
    /// Without quotes, with `\"` replaced by `"`.
    pub plain: Vec<String>,
}

impl Arguments {
    /// Splits a text. Blanks around `=` belong to the option.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut raw = String::new();
        let mut plain = String::new();
        let mut quoted = false;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '\\' if quoted => {
                    raw.push(c);
                    if let Some(next) = characters.next() {
                        raw.push(next);
                        if !matches!(next, '"' | '\\') {
                            plain.push(c);
                        }
                        plain.push(next);
                    }
                }
                '"' => {
                    quoted = !quoted;
                    raw.push(c);
                }
                _ if quoted => {
                    raw.push(c);
                    plain.push(c);
                }
                '=' => {
                    // In `name = value`, the name was taken for an argument of its own.
                    if raw.is_empty()
                        && found.raw.last().is_some_and(|name| is_name(name))
                        && let (Some(name), Some(bare)) = (found.raw.pop(), found.plain.pop())
                    {
                        raw = name;
                        plain = bare;
                    }
                    raw.push(c);
                    plain.push(c);
                    while characters.next_if(|c| c.is_whitespace()).is_some() {}
                }
                c if c == ',' || c.is_whitespace() => found.push(&mut raw, &mut plain),
                c => {
                    raw.push(c);
                    plain.push(c);
                }
            }
        }
        found.push(&mut raw, &mut plain);
        found
    }

    fn push(&mut self, raw: &mut String, plain: &mut String) {
        if !raw.is_empty() {
            self.raw.push(std::mem::take(raw));
            self.plain.push(std::mem::take(plain));
        }
        plain.clear();
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together_and_commas_separate() {
        let found = Arguments::of(r#" a=1 "b, c",d  e = "x \"y\" \d" f "#);
        assert_eq!(found.plain, ["a=1", "b, c", "d", r#"e=x "y" \d"#, "f"]);
        assert_eq!(found.raw, ["a=1", "\"b, c\"", "d", r#"e="x \"y\" \d""#, "f"]);
        assert_eq!(Arguments::of(r#"x="" """#).plain, ["x=", ""]);
        assert_eq!(Arguments::of(""), Arguments::default());
    }
}

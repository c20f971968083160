//! `FIELDALIAS`: alternative names of fields.

/// One `<field> AS <alias>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alias {
    /// The existing field.
    pub(crate) field: String,
    /// Its alias.
    pub(crate) alias: String,
    /// `ASNEW`: whether an existing field with the name of the alias is kept.
    pub(crate) keep_existing: bool,
}

/// The aliases in the value of a setting.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Aliases {
    /// The aliases, in order.
    pub(crate) aliases: Vec<Alias>,
    /// Words that are not part of an alias.
    pub(crate) left: Vec<String>,
}

impl Aliases {
    /// Parses all aliases in the value of a setting.
    pub(crate) fn parse(text: &str) -> Self {
        let words = words(text);
        let mut found = Self::default();
        let mut rest = words.as_slice();
        while let Some(first) = rest.first() {
            let alias = match rest {
                [field, how, alias, ..] => Alias::new(field, how, alias),
                _ => None,
            };
            rest = match alias {
                Some(alias) => {
                    found.aliases.push(alias);
                    &rest[3..]
                }
                None => {
                    found.left.push(first.text.clone());
                    &rest[1..]
                }
            };
        }
        found
    }
}

impl Alias {
    fn new(field: &Word, how: &Word, alias: &Word) -> Option<Self> {
        let keep_existing = how.keyword()?;
        let is_name = |word: &Word| word.keyword().is_none() && !word.text.is_empty();
        (is_name(field) && is_name(alias)).then(|| Self {
            field: field.text.clone(),
            alias: alias.text.clone(),
            keep_existing,
        })
    }
}

/// A word, without its quotes.
#[derive(Debug, Default)]
struct Word {
    text: String,
    was_quoted: bool,
}

impl Word {
    /// Returns whether the word is `ASNEW`; `None` if it is neither `AS` nor `ASNEW`.
    fn keyword(&self) -> Option<bool> {
        match self.text.to_ascii_lowercase().as_str() {
            "as" if !self.was_quoted => Some(false),
            "asnew" if !self.was_quoted => Some(true),
            _ => None,
        }
    }
}

/// Splits a text into words at blanks and commas; single or double quotes keep blanks in a word.
fn words(text: &str) -> Vec<Word> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Word>, None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || (c == '\'' && word.is_none()) => {
                quote = Some(c);
                word.get_or_insert_default().was_quoted = true;
            }
            None if c.is_whitespace() || c == ',' => words.extend(word.take()),
            _ => word.get_or_insert_default().text.push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, aliases: &[(&str, &str, bool)], left: &[&str]) {
        let found = Aliases::parse(text);
        let shown: Vec<_> = found
            .aliases
            .iter()
            .map(|one| (one.field.as_str(), one.alias.as_str(), one.keep_existing))
            .collect();
        assert_eq!((shown.as_slice(), found.left.as_slice()), (aliases, left_of(left).as_slice()));
    }

    fn left_of(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn several_aliases_fit_in_one_setting() {
        let all = [("a", "b", false), ("c d", "e", true)];
        check("a AS b \"c d\" asnew e", &all, &[]);
        check("a as b,\n\t'c d'  ASNEW  \"e\" ,", &all, &[]);
        check("a As b , \"c d\"\tAsNew\te", &all, &[]);
        check("\"as\" AS x", &[("as", "x", false)], &[]);
        check("it's AS x", &[("it's", "x", false)], &[]);
    }

    #[test]
    fn what_is_no_alias_leaves_the_others() {
        check("a b", &[], &["a", "b"]);
        check("a AS b c", &[("a", "b", false)], &["c"]);
        check("Issuer Name AS issuer", &[("Name", "issuer", false)], &["Issuer"]);
        check("a AS b AS c", &[("a", "b", false)], &["AS", "c"]);
        check("\"\" AS x", &[], &["", "AS", "x"]);
        check("", &[], &[]);
    }
}

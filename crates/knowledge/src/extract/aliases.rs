//! `FIELDALIAS`: further names for fields.

/// One `<field> AS <alias>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alias {
    /// The field that exists.
    pub(crate) field: String,
    /// Its other name.
    pub(crate) alias: String,
    /// `ASNEW`: an alias that exists already stays as it is.
    pub(crate) keep_existing: bool,
}

impl Alias {
    /// The aliases of a setting's value.
    ///
    /// # Errors
    /// What is expected instead.
    pub(crate) fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let words = words(text);
        let mut aliases = Vec::new();
        for part in words.chunks(3) {
            let [field, how, alias] = part else {
                return Err("<field> AS <alias>, or ASNEW".to_owned());
            };
            let keep_existing = match how.to_ascii_lowercase().as_str() {
                "as" => false,
                "asnew" => true,
                _ => return Err("<field> AS <alias>, or ASNEW".to_owned()),
            };
            aliases.push(Self { field: field.clone(), alias: alias.clone(), keep_existing });
        }
        Ok(aliases)
    }
}

/// Words separated by blanks or commas; quotes keep blanks together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if !quoted && (c.is_whitespace() || c == ',') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_aliases_fit_in_one_setting() {
        let one = |field: &str, alias: &str, keep_existing| Alias {
            field: field.to_owned(),
            alias: alias.to_owned(),
            keep_existing,
        };
        let parsed = Alias::parse_all("a AS b \"c d\" asnew e");
        assert_eq!(parsed, Ok(vec![one("a", "b", false), one("c d", "e", true)]));
        assert!(Alias::parse_all("a b").is_err());
    }
}

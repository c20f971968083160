//! Parsers of the name and the site of a process.

/// A site, or an empty name: orchestrators copy labels that a machine may not have.
pub(super) fn site(text: &str) -> Result<String, String> {
    match text.is_empty() || ::cluster::is_site(text) {
        true => Ok(text.to_owned()),
        false => Err("is not a name of letters, digits, - _ and ., such as site1 or eu-central-1a (not origin \
                      or total)"
            .to_owned()),
    }
}

/// The name of a process, or an empty one.
pub(super) fn server_name(text: &str) -> Result<String, String> {
    match text.is_empty() || ::cluster::is_server_name(text) {
        true => Ok(text.to_owned()),
        false => Err("is not a name of up to 64 letters, digits, - _ and .".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_are_words_or_empty() {
        for name in ["", "indexer1", "idx-1.example.org", "A_b"] {
            assert_eq!(server_name(name).as_deref(), Ok(name));
        }
        for wrong in ["two words", "a/b", "\u{e4}", "x".repeat(65).as_str()] {
            assert!(server_name(wrong).is_err(), "{wrong}");
        }
    }
}

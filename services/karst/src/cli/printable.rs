//! Texts that quote files, as they are printed on a terminal.

/// Replaces control characters, which a terminal would execute: a quoted file may be damaged, or made by
/// somebody else.
pub(super) fn printable(text: &str) -> String {
    let shown = |letter: char| letter == '\t' || letter == '\n' || !letter.is_control();
    text.chars().map(|letter| if shown(letter) { letter } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(printable("a\u{1b}[31m\tb\u{0}\u{e9}"), "a\u{fffd}[31m\tb\u{fffd}\u{e9}");
    }
}

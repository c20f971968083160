//! `punct`: the shape of an event by its punctuation.

/// Characters of the field at most.
const MOST: usize = 30;

/// The first 30 characters of the first line that are no letters or digits, a blank as `_` and a tab
/// as `t`.
#[must_use]
pub fn punct(raw: &str) -> String {
    let mut out = String::new();
    let mut count = 0;
    for character in raw.chars() {
        let shown = match character {
            '\n' | '\r' => break,
            ' ' => '_',
            '\t' => 't',
            other if other.is_alphanumeric() => continue,
            other => other,
        };
        out.push(shown);
        count += 1;
        if count == MOST {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::punct;

    #[test]
    fn punctuation_of_the_first_line_is_the_shape_of_an_event() {
        let cases = [
            ("<34>Oct 11 22:14:15 host su: 'su root' failed", "<>__::__:_'_'_"),
            ("a\tb_c\nd!", "t_"),
            ("", ""),
        ];
        for (raw, expected) in cases {
            assert_eq!(punct(raw), expected, "{raw}");
        }
        assert_eq!(punct(&"-".repeat(99)).len(), 30);
    }
}

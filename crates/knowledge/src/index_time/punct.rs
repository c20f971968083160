//! `punct`: the punctuation of an event, which characterises its format.

/// Maximum number of characters of the field.
const MOST: usize = 30;

/// Returns the first 30 characters of the first line that are neither letters nor digits; a blank becomes `_`
/// and a tab `t`.
#[must_use]
pub fn punct(raw: &str) -> String {
    let mut out = String::with_capacity(MOST);
    let mut count = 0;
    let bytes = raw.as_bytes();
    let mut at = 0;
    while count < MOST {
        // This is the fast path: most characters are ASCII letters and digits.
        let Some(&byte) = bytes.get(at) else { break };
        if byte.is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let shown = match byte {
            b'\n' | b'\r' => break,
            b' ' => '_',
            b'\t' => 't',
            0x80.. => {
                let Some(character) = raw[at..].chars().next() else { break };
                at += character.len_utf8();
                if !character.is_alphanumeric() {
                    out.push(character);
                    count += 1;
                }
                continue;
            }
            ascii => char::from(ascii),
        };
        out.push(shown);
        at += 1;
        count += 1;
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
            ("größe – a", "_–_"),
        ];
        for (raw, expected) in cases {
            assert_eq!(punct(raw), expected, "{raw}");
        }
        assert_eq!(punct(&"–".repeat(99)).chars().count(), 30);
    }
}

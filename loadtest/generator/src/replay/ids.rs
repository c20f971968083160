//! Words of a line that name one thing: long numbers and hexadecimal words.

use std::ops::Range;

/// Shorter numbers are sizes, counts and ports.
const DIGITS: usize = 6;
/// Shorter hexadecimal words may be words.
const HEX: usize = 8;

/// Where a text has ids.
pub(super) fn find(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if is_id(&text[at..at + length]) {
            found.push(at..at + length);
        }
        at += length.max(1);
    }
    found
}

fn is_id(word: &[u8]) -> bool {
    if word.iter().all(u8::is_ascii_digit) {
        return word.len() >= DIGITS;
    }
    let lower = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let upper = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    word.len() >= HEX
        && word.iter().any(u8::is_ascii_digit)
        && (word.iter().all(lower) || word.iter().all(upper))
}

/// Appends the id that stands for this one in a repetition: digits for digits, letters for letters,
/// leading zeros as they are.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn write(id: &[u8], repetition: u64, out: &mut Vec<u8>) {
    if repetition == 0 {
        out.extend_from_slice(id);
        return;
    }
    let mut state = repetition.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in id {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut leading = true;
    for byte in id {
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(1);
        let draw = (state >> 33) as u32;
        out.push(match byte {
            b'0' if leading => b'0',
            b'0'..=b'9' if leading => b'1' + (draw % 9) as u8,
            b'0'..=b'9' => b'0' + (draw % 10) as u8,
            b'a'..=b'f' => b'a' + (draw % 6) as u8,
            _ => b'A' + (draw % 6) as u8,
        });
        leading &= *byte == b'0';
    }
}

//! Words: Splunk's minor segments, and the hash that stands for one in the term index.
//!
//! Everything here is part of the format: a change of the breakers, of lower-casing or of the hash
//! makes old indexes miss rows.

/// Longest part of a word that the index tells apart, in bytes of its lower-cased form.
pub const MAX_TERM_BYTES: usize = 255;

const MAJOR: &[u8] = b"[]<>(){}|!;,'\"*\n\r \t&?+";
const MINOR: &[u8] = b"/:=@.-$#%\\_";

const BREAKER: u8 = 1;
const MAJOR_BREAKER: u8 = 2;
/// The byte is an ASCII digit.
pub(crate) const DIGIT: u8 = 4;
const NON_ASCII: u8 = 8;

/// What each byte is.
const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut class = [0; 256];
    let mut at = 0;
    while at < MAJOR.len() {
        class[MAJOR[at] as usize] = BREAKER | MAJOR_BREAKER;
        at += 1;
    }
    at = 0;
    while at < MINOR.len() {
        class[MINOR[at] as usize] = BREAKER;
        at += 1;
    }
    at = b'0' as usize;
    while at <= b'9' as usize {
        class[at] = DIGIT;
        at += 1;
    }
    at = 0x80;
    while at < 256 {
        class[at] = NON_ASCII;
        at += 1;
    }
    class
}

/// Whether the byte separates minor segments: every major breaker, and `/ : = @ . - $ # % \ _`.
#[must_use]
pub const fn is_breaker(byte: u8) -> bool {
    CLASS[byte as usize] & BREAKER != 0
}

/// Whether the byte separates major segments: `[ ] < > ( ) { } | ! ; , ' " * & ? +`, space, tab,
/// carriage return and newline. Splunk's percent-encoded major breakers (`%20`) are not special.
#[must_use]
pub const fn is_major_breaker(byte: u8) -> bool {
    CLASS[byte as usize] & MAJOR_BREAKER != 0
}

/// The minor segments of a text in order, as they stand (not lower-cased).
pub fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && is_breaker(c as u8)).filter(|word| !word.is_empty())
}

/// A word as the term index knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermHash(pub u64);

impl TermHash {
    /// The hash of a word in any case. Two words that are equal lower-cased have the same hash.
    #[must_use]
    pub fn of(word: &str) -> Self {
        Self(hash(lower(word).as_bytes()))
    }

    /// The hash of a stem: what stands for all words with digits that begin alike.
    pub(crate) fn of_stem(stem: &[u8]) -> Self {
        let mut key = [0; 1 + STEM_BYTES];
        let length = stem.len().min(STEM_BYTES);
        key[1..=length].copy_from_slice(&stem[..length]);
        Self(hash(&key[..=length]))
    }
}

/// Longest stem in bytes: enough to tell `err*` from `web*`, few enough to stay a small vocabulary.
pub(crate) const STEM_BYTES: usize = 3;

/// The bytes before the first digit, at most [`STEM_BYTES`].
pub(crate) fn stem(word: &[u8]) -> &[u8] {
    let head = &word[..word.len().min(STEM_BYTES)];
    let digit = head.iter().position(u8::is_ascii_digit);
    &head[..digit.unwrap_or(head.len())]
}

/// Lower case, character by character: ASCII and Unicode simple rules, without context (a final
/// capital sigma becomes the ordinary small one).
pub(crate) fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

/// A lower-cased word of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    /// Its bytes, lower-cased.
    pub(crate) bytes: &'a [u8],
    /// Its hash.
    pub(crate) hash: u64,
    /// Whether it has an ASCII digit.
    pub(crate) digits: bool,
}

/// Finds, lower-cases and hashes words; owns the memory for it, so that a text costs no allocation.
#[derive(Debug, Default)]
pub(crate) struct Segmenter {
    text: Vec<u8>,
    word: String,
}

impl Segmenter {
    /// Calls `found` for every word of the text in order.
    pub(crate) fn words(&mut self, text: &str, mut found: impl FnMut(Word<'_>)) {
        let Self { text: lowered, word } = self;
        lowered.clear();
        lowered.extend_from_slice(text.as_bytes());
        lowered.make_ascii_lowercase();
        let mut start = 0;
        let mut seen = 0;
        for (at, byte) in lowered.iter().enumerate() {
            let class = CLASS[usize::from(*byte)];
            if class & BREAKER == 0 {
                seen |= class;
                continue;
            }
            if start < at {
                emit(&lowered[start..at], &text[start..at], seen, word, &mut found);
            }
            start = at + 1;
            seen = 0;
        }
        if start < lowered.len() {
            emit(&lowered[start..], &text[start..], seen, word, &mut found);
        }
    }
}

#[inline]
fn emit(
    bytes: &[u8],
    original: &str,
    seen: u8,
    scratch: &mut String,
    found: &mut impl FnMut(Word<'_>),
) {
    let digits = seen & DIGIT != 0;
    if seen & NON_ASCII == 0 {
        found(Word { bytes, hash: hash(bytes), digits });
        return;
    }
    scratch.clear();
    scratch.extend(original.chars().flat_map(char::to_lowercase));
    found(Word { bytes: scratch.as_bytes(), hash: hash(scratch.as_bytes()), digits });
}

const KEYS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];

/// The term hash, version 1, of a lower-cased word; `schemas/bucket/README.md` has it in prose.
#[inline]
pub(crate) fn hash(word: &[u8]) -> u64 {
    let word = &word[..word.len().min(MAX_TERM_BYTES)];
    let length = word.len();
    let mut seed = KEYS[0];
    let (a, b) = match length {
        0 => (0, 0),
        1..4 => {
            let parts = [word[0], word[length / 2], word[length - 1]].map(u64::from);
            (parts[0] << 16 | parts[1] << 8 | parts[2], 0)
        }
        4..=8 => (u64::from(read_u32(word, 0)), u64::from(read_u32(word, length - 4))),
        9..=16 => (read_u64(word, 0), read_u64(word, length - 8)),
        _ => {
            let mut at = 0;
            while length - at > 16 {
                seed = mix(read_u64(word, at) ^ KEYS[1], read_u64(word, at + 8) ^ seed);
                at += 16;
            }
            (read_u64(word, length - 16), read_u64(word, length - 8))
        }
    };
    mix(KEYS[1] ^ length as u64, mix(a ^ KEYS[1], b ^ seed))
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let part = bytes[at..at + 4].first_chunk::<4>().expect("four bytes were cut");
    u32::from_le_bytes(*part)
}

#[inline]
fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let part = bytes[at..at + 8].first_chunk::<8>().expect("eight bytes were cut");
    u64::from_le_bytes(*part)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Segmenter::default().words(text, |word| {
            assert_eq!(TermHash::of(std::str::from_utf8(word.bytes).unwrap()).0, word.hash);
            assert_eq!(word.digits, word.bytes.iter().any(u8::is_ascii_digit));
            found.push(String::from_utf8(word.bytes.to_vec()).unwrap());
        });
        found
    }

    #[test]
    fn words_end_at_major_and_minor_breakers_and_are_lower_case() {
        let text = "GET /a/b-c.html?x=1&y=[Z] %20 foo_bar \"q\" 10.1.2.3:80 ^~`";
        let expected =
            "get a b c html x 1 y z 20 foo bar q 10 1 2 3 80 ^~`".split(' ').collect::<Vec<_>>();
        assert_eq!(words(text), expected);
        assert!(words("").is_empty() && words(" =/ ").is_empty());
    }

    #[test]
    fn unicode_words_are_lower_cased_character_by_character() {
        assert_eq!(words("ÄPFEL ΣΑΣ İx \u{212a}"), ["äpfel", "σασ", "i\u{307}x", "k"]);
        assert_eq!(TermHash::of("ÄPFEL"), TermHash::of("äpfel"));
    }

    #[test]
    fn words_alike_in_their_first_255_bytes_are_the_same_term() {
        let long = "x".repeat(300);
        assert_eq!(TermHash::of(&long), TermHash::of(&long[..255]));
        assert_ne!(TermHash::of(&long), TermHash::of(&long[..254]));
    }

    /// The format is forever: these values never change.
    #[test]
    fn the_hash_keeps_its_values() {
        let known = [
            ("a", 0x6cf8_4e5a_2465_e867),
            ("error", 0x9d6e_b035_d583_80ad),
            ("0123456789", 0x3c7b_3e95_ba08_bd0c),
            ("the quick brown fox jumps over", 0x34fb_14fb_063f_c50b),
        ];
        for (word, expected) in known {
            assert_eq!(hash(word.as_bytes()), expected, "{word}: {:#x}", hash(word.as_bytes()));
        }
    }
}

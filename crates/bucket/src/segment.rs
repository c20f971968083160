//! Words: Splunk's minor segments, and the hash that represents a word in the term index.
//!
//! Everything here is part of the format: after a change of the breakers, of lower-casing or of the hash,
//! searches would miss rows in old indexes.

/// Maximum number of bytes of a lower-cased word that the index distinguishes.
pub const MAX_TERM_BYTES: usize = 255;

const MAJOR: &[u8] = b"[]<>(){}|!;,'\"*\n\r \t&?+";
const MINOR: &[u8] = b"/:=@.-$#%\\_";

const BREAKER: u8 = 1;
const MAJOR_BREAKER: u8 = 2;

/// The class of each byte.
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

/// Returns the minor segments of a text in order, not lower-cased.
pub fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && is_breaker(c as u8)).filter(|word| !word.is_empty())
}

/// The hash of a word, as in the term index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermHash(pub u64);

impl TermHash {
    /// Returns the hash of a word, ignoring case: words that are equal when lower-cased have the same hash.
    #[must_use]
    pub fn of(word: &str) -> Self {
        Self(hash(lower(word).as_bytes()))
    }

    /// Returns the hash of a stem, which stands for all words with digits that begin with it.
    pub(crate) fn of_stem(stem: &[u8]) -> Self {
        let mut key = [0; 1 + STEM_BYTES];
        let length = stem.len().min(STEM_BYTES);
        key[1..=length].copy_from_slice(&stem[..length]);
        Self(hash(&key[..=length]))
    }
}

/// Maximum length of a stem in bytes: long enough to tell `err*` from `web*`, short enough for a small
/// vocabulary.
pub(crate) const STEM_BYTES: usize = 3;

/// Returns the bytes before the first digit, at most [`STEM_BYTES`].
pub(crate) fn stem(word: &[u8]) -> &[u8] {
    let head = &word[..word.len().min(STEM_BYTES)];
    let digit = head.iter().position(u8::is_ascii_digit);
    &head[..digit.unwrap_or(head.len())]
}

/// Lower-cases a text character by character, by the simple rules of ASCII and Unicode, without context (a
/// final capital sigma becomes the ordinary small one).
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
}

impl Word<'_> {
    /// Whether it has an ASCII digit.
    pub(crate) fn has_digits(&self) -> bool {
        self.bytes.iter().any(u8::is_ascii_digit)
    }
}

/// The words of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    text: &'a [u8],
    borders: &'a [[u32; 2]],
    pub(crate) hashes: &'a [u64],
}

impl<'a> Words<'a> {
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = Word<'a>> {
        self.borders.iter().zip(self.hashes).map(move |([start, end], hash)| Word {
            bytes: &self.text[*start as usize..*end as usize],
            hash: *hash,
        })
    }
}

/// Finds, lower-cases and hashes words; owns the memory for it, so that a text costs no allocation.
///
/// A text of ASCII alone is looked at 64 bytes at a time: the compiler turns the comparisons into
/// vector instructions, their results become one bit per byte, and only the bits at which words
/// begin and end are walked. All words are hashed before the first one is handed out: that way the
/// processor does several at a time.
#[derive(Debug, Default)]
pub(crate) struct Segmenter {
    /// [`BEFORE`] blanks, the lower-cased text, and blanks up to the end of a stretch.
    text: Vec<u8>,
    /// Alternating starts and ends of words in `text`; entries after the last word are left over from other
    /// texts.
    borders: Vec<u32>,
    hashes: Vec<u64>,
    word: String,
}

/// Number of bytes before the text, so that the eight bytes before any of its positions can be read.
const BEFORE: usize = 8;
/// Number of bytes that are classified at a time.
const STRETCH: usize = 64;
/// Maximum length of a text that is processed in one piece: each byte of it takes nine bytes of memory.
const WINDOW: usize = 1 << 20;

/// Splits a text into parts of at most [`WINDOW`] bytes, at breakers; a longer word is a part of its own. The
/// parts have the same words as the whole.
pub(crate) fn windows(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        if text.len() <= WINDOW {
            return Some(text);
        }
        let breaker = |byte: &u8| is_breaker(*byte);
        let (head, tail) = text.as_bytes().split_at(WINDOW);
        let cut = head.iter().rposition(breaker).map(|last| last + 1);
        let cut = cut.or_else(|| tail.iter().position(breaker).map(|next| WINDOW + next));
        // Breakers are ASCII, so this is a character boundary.
        let (window, others) = text.split_at(cut.unwrap_or(text.len()));
        rest = Some(others).filter(|others| !others.is_empty());
        Some(window)
    })
}

impl Segmenter {
    /// Calls `found` for every word of the text in order.
    #[inline]
    pub(crate) fn words(&mut self, text: &str, mut found: impl FnMut(Word<'_>)) {
        for window in windows(text) {
            match self.split(window) {
                Some(words) => words.iter().for_each(&mut found),
                None => self.any_words(window, &mut found),
            }
        }
    }

    /// Returns all words of a window; `None` if the window must be processed by [`Self::any_words`].
    #[inline]
    pub(crate) fn split(&mut self, text: &str) -> Option<Words<'_>> {
        if text.len() > WINDOW || !text.is_ascii() {
            return None;
        }
        let words = self.find_words(text.as_bytes());
        let borders = &self.borders.as_chunks::<2>().0[..words];
        Some(Words { text: &self.text, borders, hashes: &self.hashes[..words] })
    }

    /// Fills all buffers except `word`. Returns the number of words.
    fn find_words(&mut self, text: &[u8]) -> usize {
        let Self { text: lowered, borders, hashes, .. } = self;
        // At least one blank follows, which ends the last word, and seven more bytes can be read.
        let stretches = text.len() / STRETCH + 1;
        lowered.clear();
        lowered.extend_from_slice(&[b' '; BEFORE]);
        lowered.extend_from_slice(text);
        lowered[BEFORE..].make_ascii_lowercase();
        lowered.resize(BEFORE + stretches * STRETCH + BEFORE, b' ');
        if borders.len() < stretches * STRETCH {
            borders.resize(stretches * STRETCH, 0);
            hashes.resize(stretches * STRETCH / 2, 0);
        }
        let words = find_borders(&lowered[BEFORE..], stretches, borders) / 2;
        let borders = borders.as_chunks::<2>().0;
        for ([start, end], hashed) in borders[..words].iter().zip(hashes) {
            let (start, end) = (*start as usize, *end as usize);
            *hashed = match end - start {
                1..=16 => short_hash(lowered, start, end),
                _ => hash(&lowered[start..end]),
            };
        }
        words
    }

    /// Calls `found` for every word of any text, byte by byte.
    pub(crate) fn any_words(&mut self, text: &str, mut found: impl FnMut(Word<'_>)) {
        for word in segments(text) {
            self.word.clear();
            self.word.extend(word.chars().flat_map(char::to_lowercase));
            let bytes = self.word.as_bytes();
            found(Word { bytes, hash: hash(bytes) });
        }
        // Releases the memory of an unusually long word.
        self.word.clear();
        self.word.shrink_to(WINDOW);
    }
}

/// Writes alternating starts and ends of words, as offsets from [`BEFORE`]. Returns the number of borders.
#[inline]
fn find_borders(text: &[u8], stretches: usize, borders: &mut [u32]) -> usize {
    let mut count = 0;
    let mut place = BEFORE as u32;
    let mut before = 1;
    for stretch in &text.as_chunks::<STRETCH>().0[..stretches] {
        let breakers = breakers(stretch);
        // One bit for each byte at which a word begins or ends: breaker after non-breaker, or the other way
        // round.
        let mut changes = breakers ^ (breakers << 1 | before);
        before = breakers >> 63;
        while changes != 0 {
            borders[count] = place + changes.trailing_zeros();
            count += 1;
            changes &= changes - 1;
        }
        place += STRETCH as u32;
    }
    count
}

/// Returns one bit per byte: whether it is a breaker.
#[inline]
fn breakers(bytes: &[u8; STRETCH]) -> u64 {
    let mut flags = [0u8; STRETCH];
    for (flag, byte) in flags.iter_mut().zip(bytes) {
        *flag = breaks(*byte);
    }
    let mut mask = 0;
    for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Collects the lowest bits of eight bytes in the highest byte of the product.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (8 * at);
    }
    mask
}

/// [`is_breaker`] for lower-cased bytes, as comparisons without a table, which the compiler vectorizes.
#[inline]
const fn breaks(byte: u8) -> u8 {
    let blank_to_slash = byte.wrapping_sub(b' ') < 16;
    let colon_to_at = byte.wrapping_sub(b':') < 7;
    let brackets = byte.wrapping_sub(b'[') < 3;
    let braces = byte.wrapping_sub(b'{') < 3;
    let tab_or_feed = byte.wrapping_sub(b'\t') < 2;
    let single = (byte == b'_') | (byte == b'\r');
    (blank_to_slash | colon_to_at | brackets | braces | tab_or_feed | single) as u8
}

/// Whether two byte strings are equal. Most are short and equal, so a call of `memcmp` would not pay off.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(first), Some(theirs)) = (a.first_chunk::<8>(), b.first_chunk::<8>()) {
        return first == theirs
            && a.last_chunk::<8>() == b.last_chunk::<8>()
            && (a.len() <= 16 || a == b);
    }
    if let (Some(first), Some(theirs)) = (a.first_chunk::<4>(), b.first_chunk::<4>()) {
        return first == theirs && a.last_chunk::<4>() == b.last_chunk::<4>();
    }
    a.iter().zip(b).all(|(a, b)| a == b)
}

/// Computes the [`hash`] of the word at `start..end`, which has 1 to 16 bytes, without a branch on its
/// length. There must be eight bytes before its end and after its start.
#[inline(always)]
fn short_hash(bytes: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start;
    let (first, last) = (read_u64(bytes, start), read_u64(bytes, end - 8));
    let middle = first >> ((8 * (length / 2)) & 63) & 0xff;
    let few = ((first & 0xff) << 16 | middle << 8 | last >> 56, 0);
    let some = (first & 0xffff_ffff, last >> 32);
    let (low, high) = std::hint::select_unpredictable(length < 4, few, some);
    let low = std::hint::select_unpredictable(length > 8, first, low);
    let high = std::hint::select_unpredictable(length > 8, last, high);
    mix(KEYS[1] ^ length as u64, mix(low ^ KEYS[1], high ^ KEYS[0]))
}

const KEYS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];

/// Computes the term hash, version 1, of a lower-cased word; `schemas/bucket/README.md` describes it.
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

#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let part = bytes[at..at + 4].first_chunk::<4>().expect("four bytes were cut");
    u32::from_le_bytes(*part)
}

#[inline(always)]
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
    fn comparisons_find_the_breakers_of_the_table() {
        for byte in 0..=u8::MAX {
            assert_eq!(breaks(byte) == 1, is_breaker(byte), "{byte:#x}");
            let mut bytes = [b'x'; STRETCH];
            bytes[usize::from(byte) % STRETCH] = byte;
            assert_eq!(breakers(&bytes), u64::from(is_breaker(byte)) << (byte % 64), "{byte:#x}");
        }
    }

    #[test]
    fn words_of_any_length_lie_anywhere() {
        for length in 1..200 {
            for before in [0, 1, 7, 62, 63, 64, 65] {
                let word = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(6)[..length].to_owned();
                let text = format!("{}{word}", " ".repeat(before));
                assert_eq!(words(&text), [&*word]);
                assert_eq!(words(&format!("{text}=\"{word}\"")), [&*word, &*word]);
            }
        }
    }

    #[test]
    fn strings_are_the_same_only_when_all_their_bytes_are() {
        let long = b"a string that is rather long";
        for length in 0..long.len() {
            let string = &long[..length];
            assert!(same(string, &Vec::from(string)));
            assert!(!same(string, &long[..=length]));
            for at in 0..length {
                let mut other = string.to_vec();
                other[at] = b'X';
                assert!(!same(string, &other), "{length} at {at}");
            }
        }
    }

    #[test]
    fn unicode_words_are_lower_cased_character_by_character() {
        assert_eq!(words("ÄPFEL ΣΑΣ İx \u{212a}"), ["äpfel", "σασ", "i\u{307}x", "k"]);
        assert_eq!(TermHash::of("ÄPFEL"), TermHash::of("äpfel"));
    }

    #[test]
    fn the_words_of_a_long_text_are_found_window_by_window() {
        let long = "x".repeat(2 * WINDOW + 5);
        let many = "word=1 ".repeat(WINDOW / 3);
        let other = "größe ".repeat(WINDOW / 4);
        let text = format!("{many}{long} {other}{long}7,end");
        let mut expected: Vec<&str> = segments(&many).collect();
        expected.push(&long);
        expected.extend(segments(&other));
        let last = format!("{long}7");
        expected.extend([&*last, "end"]);
        assert!(windows(&text).all(|part| part.len() <= WINDOW || part.starts_with('x')));
        assert_eq!(windows(&text).collect::<String>(), text);
        assert!(words(&text) == expected);
    }

    #[test]
    fn memory_stays_that_of_a_window() {
        let mut segmenter = Segmenter::default();
        segmenter.words(&"a b ".repeat(WINDOW), |_| ());
        segmenter.words(&"x".repeat(4 * WINDOW), |_| ());
        let Segmenter { text, borders, hashes, word } = &segmenter;
        let bytes = text.capacity() + borders.capacity() * 4 + hashes.capacity() * 8;
        assert!(bytes + word.capacity() < 12 * WINDOW, "{bytes}");
    }

    #[test]
    fn words_alike_in_their_first_255_bytes_are_the_same_term() {
        let long = "x".repeat(300);
        assert_eq!(TermHash::of(&long), TermHash::of(&long[..255]));
        assert_ne!(TermHash::of(&long), TermHash::of(&long[..254]));
    }

    /// The hash is part of the format: these values must never change.
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

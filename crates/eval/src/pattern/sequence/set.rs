//! Sets of bytes and of characters, and runs of them.

use regex_syntax::hir::Class;

/// A set of bytes.
#[derive(Debug, Clone)]
pub(super) struct Bytes(Box<[bool; 256]>);

impl Default for Bytes {
    fn default() -> Self {
        Self(Box::new([false; 256]))
    }
}

impl Bytes {
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }

    pub(super) fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte)] = true;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0.iter()) {
            *mine |= theirs;
        }
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0.iter()).any(|(mine, theirs)| *mine && *theirs)
    }
}

/// A set of characters: a subset of ASCII, and either all other characters or none of them. Thus bytes need
/// not be decoded: the table has all bytes of non-ASCII characters, or none.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub(super) bytes: Bytes,
    /// The missing bytes if there are at most two: then `memchr` finds the end of a run.
    all_but: AllBut,
}

#[derive(Debug, Clone, Copy)]
enum AllBut {
    One(u8),
    Two(u8, u8),
    /// None, or more than two.
    Others,
}

impl AllBut {
    fn of(bytes: &Bytes) -> Self {
        let mut missing = (0..=255u8).filter(|byte| !bytes.has(*byte));
        match (missing.next(), missing.next(), missing.next()) {
            (Some(one), None, _) => Self::One(one),
            (Some(one), Some(other), None) => Self::Two(one, other),
            _ => Self::Others,
        }
    }
}

impl Set {
    pub(super) fn new(class: &Class) -> Option<Self> {
        let mut bytes = Bytes::default();
        let mut beyond = false;
        let mut add = |start: u32, end: u32| {
            for byte in start..=end.min(0x7f) {
                bytes.0[byte as usize] = true;
            }
        };
        match class {
            Class::Unicode(class) => {
                for range in class.ranges() {
                    add(range.start().into(), range.end().into());
                    // A set has all characters beyond ASCII or none of them; a class with some of them is
                    // not supported.
                    if range.end() == char::MAX && range.start() <= '\u{80}' {
                        beyond = true;
                    } else if !range.end().is_ascii() {
                        return None;
                    }
                }
            }
            Class::Bytes(class) => {
                for range in class.ranges() {
                    add(range.start().into(), range.end().into());
                    if !range.end().is_ascii() {
                        return None;
                    }
                }
            }
        }
        if beyond {
            bytes.0[0x80..].fill(true);
        }
        // Classes such as `[^"]` lack a single byte, `[^"\\]` two.
        let all_but = AllBut::of(&bytes);
        Some(Self { bytes, all_but })
    }

    /// Returns the set of one byte, which must be ASCII.
    pub(super) fn only(byte: u8) -> Self {
        let mut bytes = Bytes::default();
        bytes.insert(byte);
        Self { bytes, all_but: AllBut::Others }
    }

    /// Returns whether all characters of the set are ASCII.
    pub(super) fn is_ascii(&self) -> bool {
        !self.bytes.has(0x80)
    }

    /// Returns the end of a run that starts at a position. `most` is in bytes: see `Compiler::repetition`.
    pub(super) fn run(&self, text: &[u8], from: usize, most: u32) -> usize {
        let rest = &text[from..];
        let rest = &rest[..rest.len().min(most as usize)];
        let length = match self.all_but {
            AllBut::One(byte) => memchr::memchr(byte, rest),
            AllBut::Two(one, other) => memchr::memchr2(one, other, rest),
            AllBut::Others => rest.iter().position(|byte| !self.bytes.has(*byte)),
        };
        from + length.unwrap_or(rest.len())
    }
}

/// Returns the length of a character in bytes, given its first byte. Steps never begin inside of a character.
pub(super) fn width(byte: u8) -> usize {
    match byte {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0.. => 4,
    }
}

/// Returns the end of the longest run of characters and escaped characters that starts at a position.
pub(super) fn behind_escaped(
    text: &[u8],
    from: usize,
    plain: &Set,
    escape: u8,
    after: &Set,
) -> usize {
    let mut at = from;
    loop {
        at = plain.run(text, at, u32::MAX);
        match (text.get(at), text.get(at + 1)) {
            (Some(first), Some(second)) if *first == escape && after.bytes.has(*second) => {
                at += 1 + width(*second);
            }
            _ => return at,
        }
    }
}

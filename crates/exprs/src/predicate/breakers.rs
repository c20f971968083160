//! Characters that end tokens: Splunk's major and minor breakers.
//!
//! The term index uses the same characters; a test of `search` checks that both are equal.

const MAJOR: &[u8] = b"[]<>(){}|!;,'\"*\n\r \t&?+";
const MINOR: &[u8] = b"/:=@.-$#%\\_";

const IS_MAJOR: [bool; 256] = table(&[MAJOR]);
const IS_ANY: [bool; 256] = table(&[MAJOR, MINOR]);

const fn table(sets: &[&[u8]]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut set = 0;
    while set < sets.len() {
        let mut at = 0;
        while at < sets[set].len() {
            table[sets[set][at] as usize] = true;
            at += 1;
        }
        set += 1;
    }
    table
}

/// The characters that delimit a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Breakers {
    /// Major breakers only, as in `TERM()`.
    Major,
    /// Major and minor breakers.
    Any,
}

impl Breakers {
    /// Whether a byte is such a breaker.
    #[must_use]
    pub fn contains(self, byte: u8) -> bool {
        match self {
            Self::Major => IS_MAJOR[usize::from(byte)],
            Self::Any => IS_ANY[usize::from(byte)],
        }
    }
}

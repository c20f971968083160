//! The values of one field during the pass over the rows, in the form in which they are likely to be stored:
//! integers, distinct texts with a number per value, or plain text.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use model::ColumnKind;

use crate::segment::{MAX_TERM_BYTES, hash, same};

/// Number of values at which it is first checked whether texts repeat; then at every doubling.
const FIRST_LOOK: usize = 1 << 16;
/// The same number for texts that are a large part of their events.
const FREE_TEXT_LOOK: usize = 1 << 13;
/// Maximum bytes of distinct texts; only the last text may exceed it, so 32 bits are enough for
/// `Entry::start`.
const DISTINCT_BYTES: usize = 16 << 20;
/// Minimum number of values for judging them to be all distinct.
const FEW: usize = 4096;
/// The values are a large part of their events if they have more than one in this number of the bytes.
const FREE_TEXT_SHARE: u64 = 4;
/// Number of values at which memory is reserved for all remaining rows, if most rows so far have a value.
const MANY: u32 = 4096;

/// Parameters of a bucket that are known before its values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Number of rows of the bucket.
    pub(super) rows: u32,
    /// Whether to keep texts that hardly ever repeat, or that are a large part of the event.
    pub(super) unique_texts: bool,
}

/// A value that is about to be added to a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) text: &'a str,
    /// Length of its event in bytes.
    pub(super) event: usize,
}

/// The values of a field in row order; a row with several values has them in succession.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) places: Places,
    pub(super) data: Data,
    /// Number of rows with a value.
    pub(super) count: u64,
    /// Whether some row has several values.
    pub(super) multivalue: bool,
    /// Bytes of the values, and of their events.
    share: (u64, u64),
}

/// The row of each value.
#[derive(Debug)]
pub(super) enum Places {
    /// The first rows, this number of them, have one value each: most fields need no list of their rows.
    First(u32),
    /// The row of each value, in ascending order.
    Rows(Vec<u32>),
}

#[derive(Debug)]
pub(super) enum Data {
    /// Integers: every text so far is the decimal form of one.
    Integers(Vec<i64>),
    Interned(Interned),
    /// Plain texts, which vary too much to be interned; true if a column of them would not pay off
    /// ([`Values::is_dear`]).
    Plain(Texts, bool),
    /// Dropped: a column would not pay off, and `unique_text_columns` is off. Only extracted values are
    /// dropped, because they can be extracted from `_raw` again.
    Left,
}

/// Concatenated texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) lengths: Vec<u32>,
    pub(super) bytes: Vec<u8>,
}

/// Distinct texts, and the key of each value.
#[derive(Debug, Default)]
pub(super) struct Interned {
    /// The table has entries instead of keys, so that a lookup needs no access to `entries`.
    known: HashTable<Entry>,
    hasher: DefaultHashBuilder,
    /// The entries by key.
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    pub(super) keys: Vec<u32>,
}

/// The location of a distinct text.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u32,
    start: u32,
    length: u32,
}

impl Entry {
    #[inline]
    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..][..self.length as usize]
    }
}

/// Which texts to keep.
#[derive(Debug, Clone, Copy)]
struct Keep {
    all: bool,
    /// Whether the values are a large part of their events.
    is_large: bool,
}

impl Default for Places {
    fn default() -> Self {
        Self::First(0)
    }
}

impl Default for Data {
    fn default() -> Self {
        Self::Integers(Vec::new())
    }
}

impl Places {
    /// Returns the last row that has a value.
    pub(super) fn last(&self) -> Option<u32> {
        match self {
            Self::First(count) => count.checked_sub(1),
            Self::Rows(rows) => rows.last().copied(),
        }
    }

    #[inline]
    fn push(&mut self, row: u32) {
        match self {
            Self::First(count) if *count == row => *count += 1,
            Self::First(count) => *self = Self::Rows((0..*count).chain([row]).collect()),
            Self::Rows(rows) => rows.push(row),
        }
    }

    /// Returns the number of values in the rows before `row`.
    pub(super) fn values_before(&self, row: usize) -> usize {
        match self {
            Self::First(count) => row.min(*count as usize),
            Self::Rows(rows) => rows.partition_point(|one| (*one as usize) < row),
        }
    }
}

impl Values {
    #[inline]
    pub(super) fn push(&mut self, row: u32, value: Value<'_>, plan: Plan) {
        if self.places.last() == Some(row) {
            self.multivalue = true;
        } else {
            self.count += 1;
            if self.count == u64::from(MANY) && row < MANY * 2 {
                self.data.reserve(plan.rows.saturating_sub(row) as usize);
            }
        }
        self.places.push(row);
        self.share.0 += value.text.len() as u64;
        self.share.1 += value.event as u64;
        let is_large = self.share.0 > self.share.1 / FREE_TEXT_SHARE;
        self.data.push(value.text, Keep { all: plan.unique_texts, is_large });
    }

    pub(super) fn kind(&self) -> ColumnKind {
        match (self.multivalue, &self.data) {
            // A column of lists has texts, even if all values are integers.
            (true, _) => ColumnKind::Multivalue,
            (false, Data::Integers(_)) => ColumnKind::Integer,
            (false, _) => ColumnKind::Text,
        }
    }

    /// Returns the number of distinct texts, if they were counted.
    pub(super) fn distinct(&self) -> Option<u64> {
        match &self.data {
            Data::Interned(texts) if !self.multivalue => Some(texts.distinct() as u64),
            _ => None,
        }
    }

    /// Whether a column would not pay off: its texts hardly ever repeat (at most one in a hundred does), or
    /// mostly differ and are a large part of the events, which are stored anyway.
    pub(super) fn is_dear(&self) -> bool {
        match &self.data {
            Data::Integers(_) => false,
            Data::Plain(_, dear) => *dear,
            Data::Left => true,
            Data::Interned(texts) => texts.keys.len() >= FEW && texts.is_unique(),
        }
    }

    /// Finishes the values. List columns have texts: integers of a field with several values in some row are
    /// converted back to texts.
    pub(super) fn finish(mut self) -> Self {
        if self.multivalue {
            // The column is chosen, so no value may be dropped any more.
            self.data.make_texts(Keep { all: true, is_large: false });
        }
        self
    }
}

impl Data {
    #[inline]
    fn push(&mut self, text: &str, keep: Keep) {
        if let Self::Integers(values) = self {
            if let Some(value) = canonical_integer(text) {
                return values.push(value);
            }
            self.make_texts(keep);
        }
        match self {
            Self::Interned(texts) => {
                texts.push(text.as_bytes());
                if texts.is_too_varied(keep.is_large) {
                    self.give_up(keep);
                }
            }
            Self::Plain(texts, _) => texts.push(text.as_bytes()),
            Self::Integers(_) | Self::Left => {}
        }
    }

    /// Stops interning, because the texts vary too much.
    #[cold]
    fn give_up(&mut self, keep: Keep) {
        let Self::Interned(texts) = self else { return };
        let dear = texts.keys.len() >= FEW && (texts.is_unique() || keep.is_large);
        *self = if dear && !keep.all {
            Self::Left
        } else {
            Self::Plain(texts.spread(0..texts.keys.len()), dear)
        };
    }

    /// Converts integers back to their texts.
    #[cold]
    fn make_texts(&mut self, keep: Keep) {
        if let Self::Integers(values) = self {
            let values = std::mem::take(values);
            *self = Self::Interned(Interned::default());
            for value in values {
                self.push(&value.to_string(), keep);
            }
        }
    }

    /// Reserves memory for this number of further values.
    #[cold]
    fn reserve(&mut self, more: usize) {
        match self {
            Self::Integers(values) => values.reserve_exact(more),
            Self::Interned(texts) => texts.keys.reserve_exact(more),
            Self::Plain(texts, _) => texts.lengths.reserve_exact(more),
            Self::Left => {}
        }
    }
}

impl Texts {
    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        self.lengths.push(u32::try_from(text.len()).expect("Arrow's texts are shorter"));
        self.bytes.extend_from_slice(text);
    }
}

impl Interned {
    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        let Self { known, hasher, entries, bytes, keys } = self;
        // Many fields have the same value most of the time: then no hash is needed.
        let last = keys.last().copied();
        if let Some(key) = last.filter(|key| same(entries[*key as usize].of(bytes), text)) {
            return keys.push(key);
        }
        let hash = hash_of(hasher, text);
        if let Some(entry) = known.find(hash, |entry| same(entry.of(bytes), text)) {
            return keys.push(entry.key);
        }
        let (key, start) = (entries.len() as u32, bytes.len() as u32);
        let entry = Entry { key, start, length: text.len() as u32 };
        bytes.extend_from_slice(text);
        entries.push(entry);
        known.insert_unique(hash, entry, |entry| hash_of(hasher, entry.of(bytes)));
        keys.push(key);
    }

    pub(super) fn distinct(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn text(&self, key: u32) -> &[u8] {
        self.entries[key as usize].of(&self.bytes)
    }

    /// Returns a range of the values as plain texts.
    pub(super) fn spread(&self, values: std::ops::Range<usize>) -> Texts {
        let mut texts = Texts::default();
        for key in &self.keys[values] {
            texts.push(self.text(*key));
        }
        texts
    }

    fn is_unique(&self) -> bool {
        self.distinct() >= self.keys.len() - self.keys.len() / 100
    }

    #[inline]
    fn is_too_varied(&self, is_large: bool) -> bool {
        let count = self.keys.len();
        let is_free = || is_large && self.distinct() > count - count / 8;
        // Values may stop repeating later, so this is checked at every doubling.
        count.is_power_of_two()
            && (count >= FIRST_LOOK && self.distinct() > count / 2
                || count >= FREE_TEXT_LOOK && is_free())
            || self.bytes.len() > DISTINCT_BYTES
    }
}

#[inline]
fn hash_of(hasher: &DefaultHashBuilder, text: &[u8]) -> u64 {
    // The term hash is faster, but reads a limited number of bytes: longer texts with the same beginning
    // would collide.
    if text.len() <= MAX_TERM_BYTES { hash(text) } else { hasher.hash_one(text) }
}

/// Parses an integer whose decimal form is exactly this text, because an integer column must reproduce the
/// texts.
#[inline]
pub(super) fn canonical_integer(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let first = *digits.first()?;
    // Up to 18 digits cannot overflow.
    if digits.len() > 18 {
        return long_integer(text, digits);
    }
    // Also rejects `-0`.
    if first == b'0' && bytes.len() > 1 {
        return None;
    }
    let mut value = 0i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

#[cold]
fn long_integer(text: &str, digits: &[u8]) -> Option<i64> {
    let canonical = digits.len() == 19 && (b'1'..=b'9').contains(&digits[0]);
    canonical.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { rows: 10, unique_texts: true };

    #[test]
    fn an_integer_is_canonical_only_when_its_text_can_be_restored() {
        for good in ["0", "7", "-7", "10", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(canonical_integer(good).unwrap().to_string(), good);
        }
        for bad in ["", "-", "-0", "+1", "007", "00", " 1", "1 ", "1.0", "9223372036854775808", "x"]
        {
            assert_eq!(canonical_integer(bad), None, "{bad}");
        }
        assert_eq!(canonical_integer("-007"), None);
        assert_eq!(canonical_integer("1234567890123456789x"), None);
    }

    #[test]
    fn integers_become_texts_again_when_one_value_is_none() {
        let mut values = Values::default();
        for (row, text) in ["1", "-20", "1", "x"].into_iter().enumerate() {
            values.push(row as u32, Value { text, event: 100 }, PLAN);
        }
        assert_eq!(values.kind(), ColumnKind::Text);
        let Data::Interned(texts) = values.data else { panic!("{values:?}") };
        assert_eq!(texts.keys, [0, 1, 0, 2]);
        assert_eq!(texts.spread(1..4).bytes, b"-201x");
    }

    fn unique(plan: Plan) -> Values {
        let mut values = Values::default();
        for row in 0..FIRST_LOOK as u32 + 10 {
            values.push(row, Value { text: &format!("u{row}"), event: 100 }, plan);
        }
        values
    }

    #[test]
    fn texts_that_do_not_repeat_are_not_interned() {
        let values = unique(PLAN);
        assert!(values.is_dear());
        let Data::Plain(texts, _) = values.data else { panic!("interned") };
        assert_eq!(texts.lengths.len(), FIRST_LOOK + 10);
        assert!(texts.bytes.starts_with(b"u0u1u2"));
    }

    #[test]
    fn texts_that_do_not_repeat_are_not_even_kept_where_nobody_wants_them() {
        let values = unique(Plan { unique_texts: false, ..PLAN });
        assert!(values.is_dear() && matches!(values.data, Data::Left));
        assert_eq!((values.count, values.kind()), (FIRST_LOOK as u64 + 10, ColumnKind::Text));
    }

    #[test]
    fn free_text_is_left_where_it_is_early_and_a_varied_name_is_not() {
        let plan = Plan { unique_texts: false, ..PLAN };
        let (mut long, mut short) = (Values::default(), Values::default());
        for row in 0..FREE_TEXT_LOOK as u32 + 10 {
            let text = format!("request {} took long", row - row % 10 / 9);
            long.push(row, Value { text: &text, event: 50 }, plan);
            short.push(row, Value { text: &text, event: 500 }, plan);
        }
        assert!(long.is_dear() && matches!(long.data, Data::Left));
        assert!(!short.is_dear());
    }

    #[test]
    fn rows_are_listed_only_when_some_have_no_value() {
        let mut places = Places::default();
        (0..3).for_each(|row| places.push(row));
        assert!(matches!(places, Places::First(3)));
        assert_eq!(places.values_before(2), 2);
        places.push(5);
        places.push(5);
        assert_eq!(places.last(), Some(5));
        assert_eq!([3, 5, 6].map(|row| places.values_before(row)), [3, 3, 5]);
    }
}

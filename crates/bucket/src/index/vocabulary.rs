//! The sorted words without digits of a bucket, by which wildcards are expanded into words; and the stems of
//! the words with digits, which are too many to store.

use fst::{IntoStreamer, Set, Streamer};
use hashbrown::HashTable;

use crate::segment::{MAX_TERM_BYTES, STEM_BYTES};

/// The byte that precedes a stem in the vocabulary. A word that really begins with it only makes a wildcard
/// read more.
const STEM_MARK: u8 = 0;

/// A collector of distinct words and stems, up to a limit.
#[derive(Debug)]
pub(crate) struct VocabularyBuilder {
    words: HashTable<Entry>,
    text: Vec<u8>,
    limit: usize,
    overflown: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    start: u32,
    length: u16,
}

impl Entry {
    fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..][..usize::from(self.length)]
    }
}

impl VocabularyBuilder {
    pub(crate) fn new(limit: usize) -> Self {
        Self { words: HashTable::new(), text: Vec::new(), limit, overflown: false }
    }

    pub(crate) fn add(&mut self, hash: u64, word: &[u8]) {
        self.insert(hash, &word[..word.len().min(MAX_TERM_BYTES)]);
    }

    pub(crate) fn add_stem(&mut self, hash: u64, stem: &[u8]) {
        let mut key = [STEM_MARK; 1 + STEM_BYTES];
        key[1..=stem.len()].copy_from_slice(stem);
        self.insert(hash, &key[..=stem.len()]);
    }

    fn insert(&mut self, hash: u64, word: &[u8]) {
        if self.overflown {
            return;
        }
        let Self { words, text, .. } = self;
        let same = |entry: &Entry| entry.hash == hash && entry.of(text) == word;
        if words.find(hash, same).is_some() {
            return;
        }
        let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        if self.words.len() >= self.limit || start == u32::MAX {
            self.overflown = true;
            self.words.clear();
            self.text = Vec::new();
            return;
        }
        self.text.extend_from_slice(word);
        let length = u16::try_from(word.len()).expect("words are cut at 255 bytes");
        self.words.insert_unique(hash, Entry { hash, start, length }, |entry| entry.hash);
    }

    /// Returns the vocabulary as an fst set; empty if the limit was reached.
    pub(crate) fn finish(self) -> Vec<u8> {
        if self.overflown {
            return Vec::new();
        }
        let mut words: Vec<&[u8]> = self.words.iter().map(|entry| entry.of(&self.text)).collect();
        words.sort_unstable();
        words.dedup();
        let mut builder = fst::SetBuilder::memory();
        for word in words {
            builder.insert(word).expect("words are sorted and memory does not fail");
        }
        builder.into_inner().expect("memory does not fail")
    }
}

/// The words and stems that a wildcard may match in one bucket.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expansion {
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) stems: Vec<Vec<u8>>,
}

/// The decoded vocabulary of a bucket.
#[derive(Debug)]
pub(crate) struct Vocabulary(Set<Vec<u8>>);

impl Vocabulary {
    /// Decodes stored bytes; returns `None` if they are damaged.
    pub(crate) fn open(bytes: Vec<u8>) -> Option<Self> {
        Set::new(bytes).ok().map(Self)
    }

    /// Returns the words that begin with `prefix` and that `matches` accepts, and the stems of words with
    /// digits that may begin with it; `None` if there are more than `limit`. Words of the maximum length in
    /// the index are always included, because their remaining characters are unknown.
    pub(crate) fn expand(
        &self,
        prefix: &[u8],
        matches: impl Fn(&[u8]) -> bool,
        limit: usize,
    ) -> Option<Expansion> {
        let mut found = Expansion::default();
        let prefix = &prefix[..prefix.len().min(MAX_TERM_BYTES)];
        let mut words = self.0.range().ge(prefix).into_stream();
        while let Some(word) = words.next() {
            if !word.starts_with(prefix) {
                break;
            }
            if matches(word) || word.len() >= MAX_TERM_BYTES {
                if found.words.len() >= limit {
                    return None;
                }
                found.words.push(word.to_vec());
            }
        }
        found.stems = self.stems(prefix, limit)?;
        Some(found)
    }

    /// Returns the stems that a word with digits that begins with `prefix` can have.
    fn stems(&self, prefix: &[u8], limit: usize) -> Option<Vec<Vec<u8>>> {
        let known = crate::segment::stem(prefix);
        if known.len() == STEM_BYTES || known.len() < prefix.len() {
            return Some(vec![known.to_vec()]);
        }
        let mut from = vec![STEM_MARK];
        from.extend_from_slice(known);
        let mut stems = self.0.range().ge(&from).into_stream();
        let mut found = Vec::new();
        while let Some(stem) = stems.next() {
            if !stem.starts_with(&from) {
                break;
            }
            if found.len() >= limit {
                return None;
            }
            found.push(stem[1..].to_vec());
        }
        Some(found)
    }
}

//! Filters of the words of hot rows, which have no term index: one small Bloom filter for each granule of
//! consecutive rows, by which a search skips granules that lack its words.
//!
//! Guarantees that a granule with a row that satisfies a [`TermQuery`] is never skipped. The words are those
//! of the term index, found by the same segmenter: of `_raw`, host, source, source type, indexed fields and,
//! if rules are given, of the values that they extract. Wildcards may match everywhere. When filters are made
//! and for how long they are kept is decided by `search`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, AsArray, DictionaryArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{Int32Type, TimestampMicrosecondType};
use hashbrown::HashMap;
use model::{EventTime, columns};

use crate::index::GranuleTerms;
use crate::read::{Resolved, resolve};
use crate::segment::Segmenter;
use crate::write::{ends_at_breakers, read_fields};
use crate::{FIELDS, FieldExtractor, FieldSource, GranuleSet, TermHash, TermQuery};

/// Bits of a filter per distinct word: about one word in 200 that a granule lacks seems to be in it. With 8
/// bits it is one in 30, and a search for a rare word would read 20 of 600 granules in vain.
const TERM_BITS: usize = 12;
/// Bits of a block. A word sets one bit in each of its eight parts, so a lookup reads half a cache line.
const BLOCK_BITS: usize = 256;
/// Maximum number of words of a test; a list of values has up to 100,000, each of which would be looked up in
/// every granule.
const MOST_TERMS: usize = 256;
/// Maximum number of extractors that are kept; a batch with more origins resolves some of them again.
const KNOWN_ORIGINS: usize = 10_000;

type Block = [u32; 8];

/// A query over words, prepared for [`WordFilters::candidates`].
#[derive(Debug)]
pub struct WordTest(Resolved);

impl WordTest {
    /// Prepares a query; `None` if it cannot exclude any rows, or has too many words.
    #[must_use]
    pub fn of(query: &TermQuery) -> Option<Self> {
        if words_in(query) > MOST_TERMS {
            return None;
        }
        let resolved = resolve(query, None, false);
        let mut terms = Vec::new();
        resolved.terms(&mut terms);
        let excludes = terms.len() <= MOST_TERMS && !resolved.may_hold(&|_| false);
        excludes.then_some(Self(resolved))
    }
}

/// The words of the rows of a batch, by granule; see the module documentation.
#[derive(Debug)]
pub struct WordFilters {
    rows: usize,
    granules: Box<[Granule]>,
    /// The blocks of all granules.
    blocks: Box<[Block]>,
    /// Fingerprints of the rules whose values are included, by source type.
    rules: Option<Vec<(String, u64)>>,
}

#[derive(Debug)]
struct Granule {
    blocks: Range<usize>,
    first_time: EventTime,
    last_time: EventTime,
    /// Whether some words of its rows are unknown, so that every query may match.
    is_open: bool,
}

impl WordFilters {
    /// Number of rows of a granule, except the last one of a batch.
    pub const GRANULE_ROWS: usize = 1_024;

    /// Reads all words of hot rows; with rules, also those of the values that they extract. `None` if
    /// `goes_on`, which is called before each granule, returns false, or if the columns are not those of
    /// [`hot_schema`](crate::hot_schema).
    #[must_use]
    pub fn of(
        batch: &RecordBatch,
        fields: Option<&dyn FieldSource>,
        goes_on: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let mut words = Words::of(batch, fields)?;
        let rows = batch.num_rows();
        let mut granules = Vec::with_capacity(rows.div_ceil(Self::GRANULE_ROWS));
        for first in (0..rows).step_by(Self::GRANULE_ROWS) {
            if !goes_on() {
                return None;
            }
            let end = rows.min(first + Self::GRANULE_ROWS);
            granules.push(words.granule(granules.len(), first..end));
        }
        let Words { blocks, extractors, .. } = words;
        Some(Self {
            rows,
            granules: granules.into_boxed_slice(),
            blocks: blocks.into_boxed_slice(),
            rules: extractors.map(|extractors| extractors.rules.into_iter().collect()),
        })
    }

    /// Returns the granules that may have a row that satisfies the query.
    #[must_use]
    pub fn candidates(&self, test: &WordTest) -> GranuleSet {
        let mut found = GranuleSet::none(self.granules.len());
        for (at, granule) in self.granules.iter().enumerate() {
            let blocks = &self.blocks[granule.blocks.clone()];
            if granule.is_open || test.0.may_hold(&|term| may_have(blocks, term)) {
                found.insert(at);
            }
        }
        found
    }

    /// Returns the number of granules.
    #[must_use]
    pub fn granules(&self) -> usize {
        self.granules.len()
    }

    /// Returns the rows of a granule.
    #[must_use]
    pub fn rows(&self, granule: usize) -> Range<usize> {
        let first = granule * Self::GRANULE_ROWS;
        first..self.rows.min(first + Self::GRANULE_ROWS)
    }

    /// Returns the times of the oldest and the newest row of a granule.
    #[must_use]
    pub fn times(&self, granule: usize) -> (EventTime, EventTime) {
        let Granule { first_time, last_time, .. } = &self.granules[granule];
        (*first_time, *last_time)
    }

    /// Returns the fingerprints of the rules whose values are included, by source type; `None` if no
    /// extracted values are.
    #[must_use]
    pub fn rules(&self) -> Option<&[(String, u64)]> {
        self.rules.as_deref()
    }

    /// Returns the memory that the filters take, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.granules) + size_of_val(&*self.blocks)
    }
}

/// Returns the number of words of a query, some of which may have breakers and consist of several.
fn words_in(query: &TermQuery) -> usize {
    match query {
        TermQuery::And(parts) | TermQuery::Or(parts) => parts.iter().map(words_in).sum(),
        TermQuery::InRaw(inner) => words_in(inner),
        TermQuery::Word(_) => 1,
        TermQuery::Prefix(_) | TermQuery::Pattern(_) | TermQuery::All | TermQuery::Nothing => 0,
    }
}

/// Returns one bit for each part of a block.
#[inline]
fn bits(term: TermHash) -> Block {
    // Odd constants, as in the split block Bloom filters of Parquet.
    const SALTS: Block = [
        0x47b6_137b,
        0x4497_4d91,
        0x8824_ad5b,
        0xa2b7_289d,
        0x7054_95c7,
        0x2df1_424b,
        0x9efc_4947,
        0x5c6b_fb31,
    ];
    SALTS.map(|salt| 1 << ((term.0 as u32).wrapping_mul(salt) >> 27))
}

/// Returns the block of a term: the upper half of its hash, scaled to the number of blocks.
#[inline]
fn place(term: TermHash, blocks: usize) -> usize {
    (((term.0 >> 32) * blocks as u64) >> 32) as usize
}

fn may_have(blocks: &[Block], term: TermHash) -> bool {
    let block = &blocks[place(term, blocks.len())];
    block.iter().zip(bits(term)).all(|(part, bit)| part & bit != 0)
}

/// Collects the words of a batch, granule by granule.
struct Words<'a> {
    time: &'a TimestampMicrosecondArray,
    raw: &'a StringViewArray,
    /// Host, source and source type.
    names: [Names<'a>; 3],
    fields: &'a StringArray,
    extractors: Option<Extractors<'a>>,
    segmenter: Segmenter,
    terms: GranuleTerms,
    blocks: Vec<Block>,
}

impl<'a> Words<'a> {
    fn of(batch: &'a RecordBatch, fields: Option<&'a dyn FieldSource>) -> Option<Self> {
        let names =
            |name: &str| Names::of(batch.column_by_name(name)?.as_dictionary_opt::<Int32Type>()?);
        Some(Self {
            time: batch
                .column_by_name(columns::TIME)?
                .as_primitive_opt::<TimestampMicrosecondType>()?,
            raw: batch.column_by_name(columns::RAW)?.as_string_view_opt()?,
            names: [names(columns::HOST)?, names(columns::SOURCE)?, names(columns::SOURCETYPE)?],
            fields: batch.column_by_name(FIELDS)?.as_string_opt::<i32>()?,
            extractors: fields.map(Extractors::new),
            segmenter: Segmenter::default(),
            terms: GranuleTerms::new(),
            blocks: Vec::new(),
        })
    }

    fn granule(&mut self, number: usize, rows: Range<usize>) -> Granule {
        let times = &self.time.values()[rows.clone()];
        let first_time = EventTime(times.iter().copied().min().unwrap_or(i64::MIN));
        let last_time = EventTime(times.iter().copied().max().unwrap_or(i64::MAX));
        let mut is_open = false;
        for row in rows {
            // All rows are read: those that follow add their rules to the fingerprints.
            is_open |= !self.row(number, row);
        }
        let Self { terms, blocks, .. } = self;
        let first = blocks.len();
        let count = (terms.len() * TERM_BITS).div_ceil(BLOCK_BITS).max(1);
        blocks.resize(first + count, Block::default());
        terms.take(|hash| {
            let term = TermHash(hash);
            let block = &mut blocks[first + place(term, count)];
            block.iter_mut().zip(bits(term)).for_each(|(part, bit)| *part |= bit);
        });
        Granule { blocks: first..first + count, first_time, last_time, is_open }
    }

    /// Adds the words of a row. Returns whether these are all.
    fn row(&mut self, granule: usize, row: usize) -> bool {
        let Self { raw, names, fields, extractors, segmenter, terms, .. } = self;
        let mut add = |text: &str| {
            segmenter.words(text, |word| {
                terms.add(word.hash);
            });
        };
        let text = raw.value(row);
        add(text);
        for name in names.iter_mut() {
            if let Some(name) = name.first_of(granule, row) {
                add(name);
            }
        }
        let mut is_whole = true;
        if fields.is_valid(row) {
            is_whole &= read_fields(fields.value(row), |_, value| add(value)).is_ok();
        }
        if let Some(extractors) = extractors {
            is_whole &= extractors.of(names, row).extract(text, &mut |_, value| {
                if !ends_at_breakers(text, value) {
                    add(value);
                }
            });
        }
        is_whole
    }
}

/// A column of hosts, sources or source types.
struct Names<'a> {
    column: &'a DictionaryArray<Int32Type>,
    texts: &'a StringArray,
    /// The last granule of each value, whose words are added once per granule.
    last_granule: Vec<usize>,
}

impl<'a> Names<'a> {
    fn of(column: &'a DictionaryArray<Int32Type>) -> Option<Self> {
        let texts: &StringArray = column.values().as_string_opt::<i32>()?;
        Some(Self { column, texts, last_granule: vec![usize::MAX; texts.len()] })
    }

    /// Returns the name of a row, unless an earlier row of the granule had it.
    fn first_of(&mut self, granule: usize, row: usize) -> Option<&'a str> {
        let key = self.column.key(row)?;
        let before = std::mem::replace(&mut self.last_granule[key], granule);
        let texts = self.texts;
        (before != granule).then(|| texts.value(key))
    }

    fn key(&self, row: usize) -> Option<usize> {
        self.column.key(row)
    }

    fn value(&self, row: usize) -> &'a str {
        let texts = self.texts;
        self.key(row).map_or("", |key| texts.value(key))
    }
}

/// The extractor of each origin, resolved once, and the rules used.
struct Extractors<'a> {
    source: &'a dyn FieldSource,
    known: HashMap<[Option<usize>; 3], usize>,
    made: Vec<Arc<dyn FieldExtractor>>,
    last: Option<([Option<usize>; 3], usize)>,
    rules: BTreeMap<String, u64>,
}

impl<'a> Extractors<'a> {
    fn new(source: &'a dyn FieldSource) -> Self {
        let (known, made, rules) = (HashMap::new(), Vec::new(), BTreeMap::new());
        Self { source, known, made, last: None, rules }
    }

    fn of(&mut self, names: &[Names<'_>; 3], row: usize) -> &dyn FieldExtractor {
        let origin = [names[0].key(row), names[1].key(row), names[2].key(row)];
        let at = match self.last {
            Some((last, at)) if last == origin => at,
            _ => self.known.get(&origin).copied().unwrap_or_else(|| self.resolve(names, row)),
        };
        self.last = Some((origin, at));
        &*self.made[at]
    }

    #[cold]
    fn resolve(&mut self, names: &[Names<'_>; 3], row: usize) -> usize {
        if self.made.len() >= KNOWN_ORIGINS {
            self.made.clear();
            self.known.clear();
        }
        let [host, source, sourcetype] = names;
        let made = self.source.extractor(sourcetype.value(row), source.value(row), host.value(row));
        self.rules.insert(sourcetype.value(row).to_owned(), made.fingerprint());
        let at = self.made.len();
        self.made.push(made);
        self.known.insert([host.key(row), source.key(row), sourcetype.key(row)], at);
        at
    }
}

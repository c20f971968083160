//! Writes hot rows as one finished bucket object.

mod chunk;
mod column;
mod encode;
mod encodings;
mod indexed;
mod phases;
mod rows;
mod shred;
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use hashbrown::HashMap;
use model::{BucketId, BucketSummary, EventTime, IndexName};
use parquet::errors::ParquetError;

#[doc(hidden)]
pub use self::phases::phases;

use self::encode::Encoder;
pub(crate) use self::indexed::read_fields;
use self::rows::{Names, Rows};
use self::shred::{RowText, Shredded, Shredder};
use crate::index::{BuiltIndex, IndexBuilder};
use crate::tail::{self, Directory};
use crate::{Error, FieldExtractor, FieldSource, is_breaker, origin_rules, texts};

/// The layout options of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Rows per granule, the unit of pruning and of reading. Smaller granules read less per needle
    /// and cost index bytes (1,024 rows: about 3.4 % of raw). A power of two from 64 to 65,536.
    pub granule_rows: usize,
    /// Rows per row group, a multiple of `granule_rows`. Larger ones compress dictionaries better,
    /// smaller ones let other engines read in parallel.
    pub row_group_rows: usize,
    /// zstd level, 1 to 19. Level 3 costs a third of the speed and is no smaller on logs.
    pub zstd_level: i32,
    /// Maximum number of fields that become columns, the most frequent ones. Indexed fields always become
    /// columns, because the column is their only copy.
    pub max_columns: usize,
    /// A field becomes a column when at least one in this many rows has it.
    pub column_rows_per_value: u64,
    /// Whether extracted text fields become columns whose values hardly ever repeat (of at least
    /// 4,096 values 99 % are distinct: session and trace ids), or mostly differ and are more than a
    /// quarter of their events (messages). They would store that text a second time, incompressible
    /// (a 16-digit id in every line of 300 bytes: 2.6 % of raw). One of their values is found through
    /// the term index in any case; a report over all of them reads `_raw` instead of the column.
    pub unique_text_columns: bool,
    /// Maximum number of distinct field names in the catalogue; beyond it, `fields_complete` is false.
    pub max_fields: usize,
    /// Maximum number of distinct words without digits in the vocabulary; beyond it, the bucket has no
    /// vocabulary, and only the scan evaluates wildcards.
    pub max_vocabulary: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            granule_rows: 1024,
            row_group_rows: 131_072,
            zstd_level: 1,
            max_columns: 512,
            column_rows_per_value: 1_000,
            unique_text_columns: false,
            max_fields: 10_000,
            max_vocabulary: 200_000,
        }
    }
}

impl WriteOptions {
    /// Checks that the options are consistent.
    ///
    /// # Errors
    /// [`Error::Options`] names the invalid option.
    pub fn validate(&self) -> Result<(), Error> {
        let fail = |option, found: usize, expected| {
            Err(Error::Options { option, found: found as u64, expected })
        };
        let rows = self.granule_rows;
        if !rows.is_power_of_two() || !(64..=65_536).contains(&rows) {
            return fail("granule_rows", rows, "a power of two from 64 to 65536");
        }
        if self.row_group_rows == 0 || !self.row_group_rows.is_multiple_of(rows) {
            return fail("row_group_rows", self.row_group_rows, "a multiple of granule_rows");
        }
        if !(1..=19).contains(&self.zstd_level) {
            return fail("zstd_level", self.zstd_level.unsigned_abs() as usize, "from 1 to 19");
        }
        Ok(())
    }
}

/// A finished bucket.
#[derive(Debug, Clone)]
pub struct Written {
    /// The object.
    pub bytes: Bytes,
    /// Its summary, which is also stored inside the object.
    pub summary: BucketSummary,
}

/// Sorts the rows by (`_time`, `_indextime`), makes frequent fields columns, builds the term index, and
/// encodes everything as one object. The same rows, rules and options result in the same bytes. It takes
/// seconds for a full bucket, so call it where blocking is allowed.
///
/// # Errors
/// [`Error::Empty`] without rows, [`Error::Schema`] if a batch is not hot rows, [`Error::Options`] and
/// [`Error::TooLarge`] if a limit is exceeded.
pub fn write_bucket(
    id: BucketId,
    index: &IndexName,
    batches: &[RecordBatch],
    fields: &dyn FieldSource,
    options: &WriteOptions,
) -> Result<Written, Error> {
    options.validate()?;
    let rows = Rows::gather(id, batches)?;
    let (shredded, built, made_by) = scan(id, &rows, fields, options)?;
    let of_origins = made_by.of_origins.note();
    let summary = summarize(&rows, &shredded, made_by.of_sourcetypes);
    let sourcetypes = &rows.sourcetype.values;
    let texts = texts::encode(&shredded.sourcetypes, sourcetypes, &summary.sourcetypes);
    let notes = (texts, of_origins);
    let encoded = encode((id, index, notes), &rows, &shredded, built, options);
    let file = encoded.and_then(|(file, directory)| tail::splice(file, directory, &summary));
    let bytes = file.map_err(|source| Error::Encode { id, source })?.into();
    Ok(Written { bytes, summary })
}

type Rules = BTreeSet<(u32, u64)>;

/// The rules that produced the fields.
#[derive(Default)]
struct MadeBy {
    of_sourcetypes: Rules,
    of_origins: origin_rules::CollectedRules,
}

/// Adds words to the index and fields to columns, in one pass over all events.
fn scan(
    id: BucketId,
    rows: &Rows,
    fields: &dyn FieldSource,
    options: &WriteOptions,
) -> Result<(Shredded, BuiltIndex, MadeBy), Error> {
    let mut index =
        IndexBuilder::new(options.max_vocabulary, rows.len().div_ceil(options.granule_rows));
    let mut shredder = Shredder::new(rows.len(), options);
    let mut origins = Origins::new(fields);
    let mut seen = [&rows.host, &rows.source, &rows.sourcetype].map(Seen::new);
    for row in 0..rows.len() {
        let within = row % options.granule_rows;
        if within == 0 && row > 0 {
            index.end_granule();
        }
        let granule = row / options.granule_rows;
        for names in &mut seen {
            names.visit(row, granule, &mut index);
        }
        let text = rows.text(row);
        index.raw(within as u32, text);
        shredder.start_row(rows.sourcetype.keys[row], text);
        if let Some(json) = rows.fields(row) {
            read_fields(json, |name, value| {
                shredder.indexed(row as u32, name, value);
                index.other(value);
            })
            .map_err(|error| bad_fields(id, row, &error))?;
        }
        let is_whole = origins.extractor(rows, row).extract(text, &mut |name, value| {
            shredder.extracted(row as u32, name, value);
            if !ends_at_breakers(text, value) {
                index.other(value);
            }
        });
        if !is_whole {
            shredder.cut();
        }
    }
    index.end_granule();
    let shredded = shredder.finish(rows.len() as u64, options);
    Ok((shredded, index.finish(), origins.made_by))
}

fn bad_fields(id: BucketId, row: usize, error: &serde_json::Error) -> Error {
    let found = format!("unreadable {} in sorted row {row}: {error}", crate::FIELDS);
    Error::Schema { id, batch: 0, found, expected: "an object of texts or lists of texts".into() }
}

/// Whether the words of the value are words of the event's text, so that the index already has them.
pub(crate) fn ends_at_breakers(text: &str, value: &str) -> bool {
    let Some(start) = (RowText { text }).offset_of(value) else { return false };
    let text = text.as_bytes();
    let breaker = |byte: Option<&u8>| byte.is_none_or(|byte| is_breaker(*byte));
    let before = start.checked_sub(1).and_then(|at| text.get(at));
    breaker(before) && breaker(text.get(start + value.len()))
}

/// The last granule of each value of a name column, so that a granule has each value once in the index.
struct Seen<'a> {
    names: &'a Names,
    last_granule: Vec<usize>,
}

impl<'a> Seen<'a> {
    fn new(names: &'a Names) -> Self {
        Self { names, last_granule: vec![usize::MAX; names.values.len()] }
    }

    fn visit(&mut self, row: usize, granule: usize, index: &mut IndexBuilder) {
        let key = self.names.keys[row] as usize;
        if std::mem::replace(&mut self.last_granule[key], granule) != granule {
            index.other(&self.names.values[key]);
        }
    }
}

/// The extractor of each origin, resolved once.
struct Origins<'a> {
    source: &'a dyn FieldSource,
    known: HashMap<[u32; 3], usize>,
    extractors: Vec<Arc<dyn FieldExtractor>>,
    last: Option<([u32; 3], usize)>,
    made_by: MadeBy,
}

/// Maximum number of extractors that are kept; a bucket with more origins resolves some of them again.
const KNOWN_ORIGINS: usize = 10_000;

impl<'a> Origins<'a> {
    fn new(source: &'a dyn FieldSource) -> Self {
        let (known, extractors) = (HashMap::new(), Vec::new());
        Self { source, known, extractors, last: None, made_by: MadeBy::default() }
    }

    #[inline]
    fn extractor(&mut self, rows: &Rows, row: usize) -> &dyn FieldExtractor {
        let origin = [&rows.sourcetype, &rows.source, &rows.host].map(|names| names.keys[row]);
        let at = match self.last {
            Some((last, at)) if last == origin => at,
            _ => self.known.get(&origin).copied().unwrap_or_else(|| self.resolve(rows, row)),
        };
        self.last = Some((origin, at));
        &*self.extractors[at]
    }

    #[cold]
    fn resolve(&mut self, rows: &Rows, row: usize) -> usize {
        if self.extractors.len() >= KNOWN_ORIGINS {
            self.extractors.clear();
            self.known.clear();
        }
        let origin = [&rows.sourcetype, &rows.source, &rows.host].map(|names| names.keys[row]);
        let (source, host) = (rows.source.value(row), rows.host.value(row));
        let made = self.source.extractor(rows.sourcetype.value(row), source, host);
        self.made_by.of_sourcetypes.insert((origin[0], made.fingerprint()));
        self.made_by.of_origins.add(made.origin_rules());
        let at = self.extractors.len();
        self.extractors.push(made);
        self.known.insert(origin, at);
        at
    }
}

fn summarize(rows: &Rows, shredded: &Shredded, rules: Rules) -> BucketSummary {
    let bounds = |values: &[i64]| {
        let least = values.iter().copied().min().unwrap_or_default();
        (EventTime(least), EventTime(values.iter().copied().max().unwrap_or_default()))
    };
    let (first_time, last_time) = bounds(&rows.time);
    let (first_index_time, last_index_time) = bounds(&rows.index_time);
    let name = |key: u32| rows.sourcetype.values[key as usize].to_string();
    let mut rules: Vec<_> = rules.into_iter().map(|(key, print)| (name(key), print)).collect();
    rules.sort();
    BucketSummary {
        rows: rows.len() as u64,
        raw_bytes: rows.raw_bytes,
        first_time,
        last_time,
        first_index_time,
        last_index_time,
        hosts: rows.host.counts(rows),
        sources: rows.source.counts(rows),
        sourcetypes: rows.sourcetype.counts(rows),
        fields: shredded.catalogue.clone(),
        fields_complete: shredded.complete,
        rules,
    }
}

/// Encodes everything except the tail.
fn encode(
    (id, index, (texts, of_origins)): (BucketId, &IndexName, (String, Option<String>)),
    rows: &Rows,
    shredded: &Shredded,
    built: BuiltIndex,
    options: &WriteOptions,
) -> Result<(Vec<u8>, Directory), ParquetError> {
    // A rough estimate is enough: reserved memory that is never touched costs nothing, while a growing vector
    // is copied.
    let size = built.bytes.len() + rows.raw_bytes as usize / 3;
    let mut encoder = Encoder::new(shredded, options, size)?;
    encoder.rows(rows, shredded, options)?;
    let start = encoder.position();
    encoder.embed(&built.bytes)?;
    encoder.embed(&built.vocabulary)?;
    let vocabulary_start = start + built.bytes.len() as u64;
    encoder.note("karst.format", tail::FORMAT.to_string());
    encoder.note("karst.bucket", id.to_string());
    encoder.note("karst.index", index.to_string());
    encoder.note("karst.granule_rows", options.granule_rows.to_string());
    encoder.note("karst.term_index", format!("{start}+{}", built.bytes.len()));
    encoder.note(texts::NOTE, texts);
    if let Some(of_origins) = of_origins {
        encoder.note(origin_rules::NOTE, of_origins);
    }
    encoder.note("karst.vocabulary", format!("{vocabulary_start}+{}", built.vocabulary.len()));
    let mut block_starts = vec![start];
    for length in &built.lengths {
        block_starts.push(block_starts.last().copied().unwrap_or(start) + *length as u64);
    }
    let granule_times = |times: &[i64]| (EventTime(times[0]), EventTime(times[times.len() - 1]));
    let directory = Directory {
        rows: rows.len() as u64,
        granule_rows: options.granule_rows as u64,
        layout: built.layout,
        pairs: built.pairs as u64,
        block_starts,
        vocabulary: (built.vocabulary.len() as u64, crc32fast::hash(&built.vocabulary)),
        page_index: (0, 0),
        pages: 0,
        chunk_checksums: Vec::new(),
        times: rows.time.chunks(options.granule_rows).map(granule_times).collect(),
    };
    Ok((encoder.finish()?, directory))
}

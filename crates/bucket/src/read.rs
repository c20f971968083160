//! An open bucket object: its summary, its term index and its rows.

mod candidates;
mod describe;
mod object;
mod rows;
mod scan;
mod verify;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use futures::stream::BoxStream;
use hashbrown::HashMap;
use model::{BucketSummary, EventTime, TimeRange};
use object_store::ObjectStore;
use object_store::path::Path;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataPushDecoder, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;
use tokio::sync::OnceCell;

pub use self::candidates::Found;
pub(crate) use self::candidates::{Resolved, resolve};
pub use self::describe::{ColumnDescription, Description, RowGroupDescription};
use self::object::Object;
pub use self::rows::sent_fields;
pub use self::scan::RowTest;
use crate::checksums::{self, Checksums};
use crate::index::Vocabulary;
use crate::index::block::Block;
use crate::tail::{Directory, FORMAT, PARQUET_END, TRAILER, Trailer};
use crate::texts::{self, Texts};
use crate::{Error, GranuleSet, TermHash, TermQuery, origin_rules};

/// Rows of a bucket, ascending by (`_time`, `_indextime`).
pub type EventStream = BoxStream<'static, Result<RecordBatch, Error>>;

/// Minimum and maximum size of the first read of [`BucketReader::open`], in bytes: it includes footer,
/// directory and summary of most buckets.
const TAIL_READ: [u64; 2] = [64 << 10, 256 << 10];

/// The occurrences of a word in one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postings {
    /// The granules with a row that has the word.
    pub granules: GranuleSet,
    /// For each granule of the set in ascending order, the number of rows that have the word in `_raw` (0 if
    /// it is only in `host`, `source`, `sourcetype` or a field).
    pub rows: Vec<u32>,
    /// Whether the result is certainly for this word alone: then `rows` are exact counts, and without
    /// granules the word does not occur. If not, another word may have the same fingerprint (about 1 in 1,000
    /// words), and the granules are still a superset. Words in few granules are never exact; words in many
    /// always are.
    pub exact: bool,
}

impl Postings {
    /// Returns the granules with a row that has the word in `_raw`.
    #[must_use]
    pub fn in_raw(&self) -> GranuleSet {
        let mut set = GranuleSet::none(self.granules.granules());
        for (granule, rows) in self.granules.iter().zip(&self.rows) {
            if *rows > 0 {
                set.insert(granule);
            }
        }
        set
    }

    /// Returns the number of rows that have the word in `_raw`.
    #[must_use]
    pub fn total_rows(&self) -> u64 {
        self.rows.iter().map(|rows| u64::from(*rows)).sum()
    }
}

/// An open bucket. It holds the decoded footer, directory and summary, and from their first use on the
/// vocabulary and the page index; everything else is read on demand. Clones share all of it.
#[derive(Debug, Clone)]
pub struct BucketReader {
    object: Object,
    known: Arc<Known>,
}

/// The decoded parts, which do not depend on the store that is used to read the object.
#[derive(Debug)]
struct Known {
    directory: Directory,
    summary: BucketSummary,
    texts: OnceLock<Texts>,
    vocabulary: OnceCell<Option<Vocabulary>>,
    whole_chunks: Pages,
    page_index: OnceCell<Pages>,
}

/// The layout for reading pages: whole column chunks, or single pages.
#[derive(Debug, Clone)]
struct Pages {
    metadata: ArrowReaderMetadata,
    checksums: Arc<Checksums>,
}

impl BucketReader {
    /// Opens an object of known size, usually with one range read of its end.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the bytes are not a bucket, [`Error::Version`] if its format is newer,
    /// [`Error::Store`] if the store fails.
    pub async fn open(store: Arc<dyn ObjectStore>, path: &Path, size: u64) -> Result<Self, Error> {
        let object = Object::new(store, path.clone(), size);
        let (directory, summary, footer) = open_tail(&object).await?;
        let footer = ParquetMetaDataReader::decode_metadata(&footer)
            .and_then(|footer| ArrowReaderMetadata::try_new(footer.into(), Default::default()))
            .map_err(|error| object.undecodable("footer", &error))?;
        let counted: i64 =
            footer.metadata().row_groups().iter().map(|group| group.num_rows()).sum();
        if u64::try_from(counted) != Ok(directory.rows) || summary.rows != directory.rows {
            let reason = format!("{} rows, but the footer has {counted}", directory.rows);
            return Err(object.corrupt("directory", reason));
        }
        let chunks = checksums::chunks(footer.metadata());
        let checksums = Checksums::new(chunks, &directory.chunk_checksums)
            .ok_or_else(|| object.corrupt("directory", "chunks lack checksums".into()))?;
        let whole_chunks = Pages { metadata: footer, checksums: checksums.into() };
        let (vocabulary, page_index) = (OnceCell::new(), OnceCell::new());
        let texts = OnceLock::new();
        let known = Known { directory, summary, texts, vocabulary, whole_chunks, page_index };
        Ok(Self { object, known: Arc::new(known) })
    }

    /// Returns the same open bucket that reads through another store with the same object: a cache, or one
    /// that counts requests of one search.
    #[must_use]
    pub fn through(&self, store: Arc<dyn ObjectStore>) -> Self {
        Self { object: self.object.through(store), known: Arc::clone(&self.known) }
    }

    /// Returns the summary of the bucket.
    #[must_use]
    pub fn summary(&self) -> &BucketSummary {
        &self.known.summary
    }

    /// Whether the text of some event of a source type may have a field, according to the rules that produced
    /// the columns of fields.
    #[must_use]
    pub fn may_be_in_texts(&self, field: &str, sourcetype: &str) -> bool {
        let Some(noted) = self.sourcetypes_with(field) else { return true };
        let known = &self.known.summary.sourcetypes;
        let at = known.binary_search_by(|known| known.value.as_str().cmp(sourcetype));
        at.map_or(true, |at| noted.iter().any(|noted| *noted as usize == at))
    }

    /// Whether no text has the field, according to the same rules: it is only an indexed field.
    #[must_use]
    pub fn is_in_no_text(&self, field: &str) -> bool {
        self.sourcetypes_with(field).is_some_and(<[u32]>::is_empty)
    }

    /// Returns the positions of the source types whose texts have the field, if they are noted.
    fn sourcetypes_with(&self, field: &str) -> Option<&[u32]> {
        let fields = &self.known.summary.fields;
        let at = fields.binary_search_by(|known| known.name.as_str().cmp(field)).ok()?;
        let texts = self
            .known
            .texts
            .get_or_init(|| self.note(texts::NOTE).map(Texts::decode).unwrap_or_default());
        texts.of(at)
    }

    /// Returns the contribution of all rules of sources and hosts to the fingerprints in the summary
    /// ([`OriginRules::all`](crate::OriginRules)), if it is noted and if exactly these rules applied to some
    /// event.
    #[must_use]
    pub fn made_by_origin_rules(&self, applied: impl FnOnce() -> BTreeSet<u64>) -> Option<u64> {
        let (all, noted) = origin_rules::read(self.note(origin_rules::NOTE)?)?;
        (noted == origin_rules::of_set(&applied())).then_some(all)
    }

    /// Returns a note in the footer.
    fn note(&self, key: &str) -> Option<&str> {
        let metadata = self.known.whole_chunks.metadata.metadata();
        let mut notes = metadata.file_metadata().key_value_metadata().into_iter().flatten();
        notes.find(|note| note.key == key)?.value.as_deref()
    }

    /// Returns the schema: six fixed columns, then fields by name.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.known.whole_chunks.metadata.schema()
    }

    /// Returns the number of granules of the bucket.
    #[must_use]
    pub fn granules(&self) -> usize {
        self.known.directory.layout.granules
    }

    /// Returns the number of rows of the granule: the same for all but the last; 0 beyond it.
    #[must_use]
    pub fn granule_rows(&self, granule: usize) -> usize {
        let full = self.known.directory.granule_rows;
        let before = (granule as u64).saturating_mul(full);
        self.known.directory.rows.saturating_sub(before).min(full) as usize
    }

    /// Returns the first and last `_time` of each granule, both inclusive.
    #[must_use]
    pub fn granule_times(&self) -> &[(EventTime, EventTime)] {
        &self.known.directory.times
    }

    /// Returns the granules that may have a row in the range.
    #[must_use]
    pub fn granules_in(&self, range: &TimeRange) -> GranuleSet {
        let mut set = GranuleSet::none(self.granules());
        for (granule, (first, last)) in self.known.directory.times.iter().enumerate() {
            if range.overlaps(*first, *last) {
                set.insert(granule);
            }
        }
        set
    }

    /// Returns the granules that may have a row whose integer in a column passes a test. The test gets the
    /// minimum and the maximum of the row group, which are in the footer.
    #[must_use]
    pub fn granules_where(&self, column: &str, may_pass: impl Fn(i64, i64) -> bool) -> GranuleSet {
        let mut set = GranuleSet::all(self.granules());
        let metadata = self.known.whole_chunks.metadata.metadata();
        let columns = metadata.file_metadata().schema_descr();
        let is_asked = |leaf: &usize| columns.column(*leaf).path().parts() == [column];
        let Some(leaf) = (0..columns.num_columns()).find(is_asked) else { return set };
        let per_granule = self.granule_rows(0).max(1);
        let mut first_row = 0;
        for group in metadata.row_groups() {
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let bounds = match group.column(leaf).statistics() {
                Some(Statistics::Int64(values)) => values.min_opt().zip(values.max_opt()),
                _ => None,
            };
            if bounds.is_some_and(|(least, most)| !may_pass(*least, *most)) {
                let granules = first_row / per_granule..(first_row + rows).div_ceil(per_granule);
                granules.for_each(|granule| set.remove(granule));
            }
            first_row += rows;
        }
        set
    }

    /// Looks up words in one batch of small range reads (about 5 KB per word).
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Store`].
    pub async fn lookup(&self, terms: &[TermHash]) -> Result<Vec<Postings>, Error> {
        let layout = self.known.directory.layout;
        let mut blocks: Vec<usize> = terms.iter().map(|term| layout.block_of(term.0)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let starts = &self.known.directory.block_starts;
        let ranges: Vec<Range<u64>> =
            blocks.iter().map(|block| starts[*block]..starts[*block + 1]).collect();
        let bytes = self.object.read_index_parts(&ranges).await?;
        let mut found = Vec::with_capacity(terms.len());
        for term in terms {
            let block = blocks.partition_point(|block| *block < layout.block_of(term.0));
            found.push(self.find(*term, &bytes[block])?);
        }
        Ok(found)
    }

    fn find(&self, term: TermHash, bytes: &[u8]) -> Result<Postings, Error> {
        let found =
            Block::open(self.known.directory.layout, bytes).and_then(|block| block.find(term.0));
        let found = found.ok_or_else(|| {
            self.object.corrupt("term index", "a block's checksum does not match".into())
        })?;
        let (granules, rows, exact) = found.into_parts(self.granules());
        Ok(Postings { granules, rows, exact })
    }

    /// Returns the granules that may have a row that satisfies the query: a superset, in at most two rounds
    /// of range reads (first the vocabulary, once, if the query has wildcards; then the index blocks).
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Store`].
    pub async fn candidates(&self, query: &TermQuery) -> Result<GranuleSet, Error> {
        Ok(self.find_rows(query).await?.granules)
    }

    /// As [`Self::candidates`], with an estimate of the rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Store`].
    pub async fn find_rows(&self, query: &TermQuery) -> Result<Found, Error> {
        let vocabulary =
            if candidates::needs_vocabulary(query) { self.vocabulary().await? } else { None };
        let resolved = resolve(query, vocabulary, false);
        let mut terms = Vec::new();
        resolved.terms(&mut terms);
        terms.sort_unstable();
        terms.dedup();
        let postings = self.lookup(&terms).await?;
        let known: HashMap<TermHash, Postings> = terms.into_iter().zip(postings).collect();
        let (granules, rows) = (GranuleSet::all(self.granules()), self.known.directory.rows);
        Ok(resolved.evaluate(&known, &Found { granules, rows }))
    }

    /// Reads the index data that a search with this query reads, besides what opening has read, so that it is
    /// in a cache below: index blocks, the vocabulary for wildcards, and the page index if only some granules
    /// may have matching rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Store`].
    pub async fn read_index_for(&self, query: &TermQuery) -> Result<(), Error> {
        if *query == TermQuery::All {
            return Ok(());
        }
        let granules = self.find_rows(query).await?.granules;
        if !granules.is_empty() && !granules.is_all() {
            self.single_pages().await?;
        }
        Ok(())
    }

    /// Returns the vocabulary, if the bucket has one.
    async fn vocabulary(&self) -> Result<Option<&Vocabulary>, Error> {
        let opened = self.known.vocabulary.get_or_try_init(|| self.open_vocabulary()).await?;
        Ok(opened.as_ref())
    }

    async fn open_vocabulary(&self) -> Result<Option<Vocabulary>, Error> {
        let (length, checksum) = self.known.directory.vocabulary;
        if length == 0 {
            return Ok(None);
        }
        let start = self.known.directory.index_end();
        let bytes = self.section("vocabulary", start, length, checksum).await?;
        let opened = Vocabulary::open(bytes.to_vec());
        let damaged = || self.object.corrupt("vocabulary", "it does not parse".into());
        opened.ok_or_else(damaged).map(Some)
    }

    async fn section(
        &self,
        name: &'static str,
        start: u64,
        length: u64,
        checksum: u32,
    ) -> Result<Bytes, Error> {
        let bytes = self.object.read_index(start..start.saturating_add(length)).await?;
        if crc32fast::hash(&bytes) == checksum {
            return Ok(bytes);
        }
        Err(self.object.corrupt(name, "its checksum does not match".into()))
    }

    fn object(&self) -> &Object {
        &self.object
    }

    fn whole_chunks(&self) -> &Pages {
        &self.known.whole_chunks
    }

    /// Returns the footer with the offsets of all pages; read once, on demand.
    async fn single_pages(&self) -> Result<&Pages, Error> {
        self.known.page_index.get_or_try_init(|| self.open_page_index()).await
    }

    async fn open_page_index(&self) -> Result<Pages, Error> {
        let (length, checksum) = self.known.directory.page_index;
        let start = self.known.directory.page_index_start();
        let section = self.known.directory.page_section();
        let mut index = self.section("page index", start, section, checksum).await?;
        let stored =
            index.split_off(usize::try_from(length).unwrap_or(usize::MAX).min(index.len()));
        let footer = self.known.whole_chunks.metadata.metadata().as_ref().clone();
        let metadata = decode_page_index(self.object.size(), footer, start, &index)
            .map_err(|error| self.object.undecodable("page index", &error))?;
        let pages = checksums::pages(metadata.metadata());
        let checksums = Checksums::new(pages, &crate::tail::numbers(&stored))
            .ok_or_else(|| self.object.corrupt("page index", "pages lack checksums".into()))?;
        Ok(Pages { metadata, checksums: checksums.into() })
    }
}

fn decode_page_index(
    size: u64,
    footer: parquet::file::metadata::ParquetMetaData,
    start: u64,
    bytes: &Bytes,
) -> parquet::errors::Result<ArrowReaderMetadata> {
    let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(size, footer)?
        .with_column_index_policy(PageIndexPolicy::Skip)
        .with_offset_index_policy(PageIndexPolicy::Required);
    let end = start + bytes.len() as u64;
    loop {
        match decoder.try_decode()? {
            DecodeResult::Data(metadata) => {
                return ArrowReaderMetadata::try_new(metadata.into(), ArrowReaderOptions::new());
            }
            DecodeResult::NeedsData(ranges) => {
                let inside = |range: &&Range<u64>| {
                    start <= range.start && range.start <= range.end && range.end <= end
                };
                if let Some(outside) = ranges.iter().find(|range| !inside(range)) {
                    let message = format!("bytes {outside:?} are outside of the page index");
                    return Err(parquet::errors::ParquetError::General(message));
                }
                let cut = |range: &Range<u64>| {
                    bytes.slice((range.start - start) as usize..(range.end - start) as usize)
                };
                let parts = ranges.iter().map(cut).collect();
                decoder.push_ranges(ranges, parts)?;
            }
            DecodeResult::Finished => {
                return Err(parquet::errors::ParquetError::General("nothing is left".into()));
            }
        }
    }
}

/// Returns the size of the first read: a quarter of the object, within limits. For a small object this
/// includes the term index, so that a search that finds nothing in it needs one read; for a large one such a
/// read would be too long.
fn first_read(size: u64) -> u64 {
    let [least, most] = TAIL_READ;
    (size / 4).clamp(least, most).min(size)
}

/// Reads directory, summary and the bytes of the footer.
async fn open_tail(object: &Object) -> Result<(Directory, BucketSummary, Bytes), Error> {
    let corrupt = |(section, reason)| object.corrupt(section, reason);
    let size = object.size();
    if size == 0 {
        return Err(object.corrupt("object", "it is empty".into()));
    }
    let mut end = read_end(object, Bytes::new(), first_read(size)).await?;
    let Some((_, last)) = end.split_last_chunk::<PARQUET_END>() else {
        return Err(object.corrupt("object", format!("its {size} bytes are too few")));
    };
    if &last[4..] != b"PAR1" {
        return Err(object.corrupt("object", "it does not end as a Parquet file".into()));
    }
    let footer = last.first_chunk().copied().map_or(0, u32::from_le_bytes) as usize;
    let trailer_end = footer + PARQUET_END;
    end = read_end(object, end, (trailer_end + TRAILER) as u64).await?;
    let at = end.len() - trailer_end;
    let trailer = Trailer::decode(&end[at - TRAILER..at]).map_err(corrupt)?;
    if trailer.format != FORMAT {
        let (found, supported) = (trailer.format, FORMAT);
        return Err(Error::Version { path: object.path(), found, supported });
    }
    let tail = trailer_end + TRAILER + trailer.body_length();
    end = read_end(object, end, tail as u64).await?;
    let at = end.len() - trailer_end;
    let footer = end.slice(at..end.len() - PARQUET_END);
    trailer.check_footer(&footer).map_err(corrupt)?;
    let body = &end[at - TRAILER - trailer.body_length()..at - TRAILER];
    let (directory, summary) = trailer.open_body(body).map_err(corrupt)?;
    Ok((directory, summary, footer))
}

/// Returns at least the last `length` bytes of the object, of which `have` is already read.
async fn read_end(object: &Object, have: Bytes, length: u64) -> Result<Bytes, Error> {
    if have.len() as u64 >= length && !have.is_empty() {
        return Ok(have);
    }
    let size = object.size();
    if length > size {
        let reason = format!("its end needs {length} bytes, it has {size}");
        return Err(object.corrupt("object", reason));
    }
    object.read_index(size - length..size).await
}

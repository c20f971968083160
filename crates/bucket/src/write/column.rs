//! Chooses how a column chunk is written, by trying each form on its first values, and cuts it into pages
//! at granule borders.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use hashbrown::HashTable;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

use super::chunk::{ChunkWriter, Packer};
use super::encodings::{put_deltas, put_hybrid, put_run};
use super::rows::Rows;
use super::values::Places;

/// Maximum bytes of text in a page. A granule with more has several pages: Parquet's page headers have
/// signed 32-bit lengths.
const PAGE_BYTES: usize = 256 << 20;
/// Maximum size of a page that small granules share, in bytes: reading one of them reads hardly more, and
/// there are fewer page headers and checksums.
const SHARED_PAGE_BYTES: usize = 4 << 10;
/// Maximum number of granules with values in a page. Granules without values do not count, because they cost
/// readers nothing; otherwise the columns of rare fields would consist of headers of empty pages.
const SHARED_PAGE_GRANULES: usize = 8;
/// Maximum size of a dictionary, in bytes of texts and in integers: reading one page of the chunk also reads
/// its dictionary.
const DICTIONARY_BYTES: usize = 512 << 10;
const DICTIONARY_INTEGERS: usize = 8 << 10;
/// Compression must save at least one byte in this number to be worth the decompression.
const WORTH: usize = 20;
/// It must also save one byte per this number of rows: reading a compressed chunk needs a decompression
/// context (20 us, docs/decisions/0009), which costs a search for a few rows more than a small chunk saves.
const WORTH_ROWS: usize = 8;

/// A column in the rows of one row group.
pub(super) struct Cells<'a> {
    pub(super) column: ColumnDescPtr,
    pub(super) rows: Range<usize>,
    pub(super) granule_rows: usize,
    /// The rows that have values; `None` if every row has one.
    pub(super) places: Option<&'a Places>,
    pub(super) source: Source<'a>,
}

/// The values of the chunk.
pub(super) enum Source<'a> {
    Integers(&'a [i64]),
    /// Numbers of distinct texts; the whole column has `distinct` of them.
    Keys {
        keys: &'a [u32],
        distinct: usize,
        text: &'a dyn Fn(u32) -> &'a [u8],
    },
    Texts {
        lengths: &'a [u32],
        bytes: &'a [u8],
    },
    Raw(&'a Rows),
}

/// The encoding of the values.
enum Form<'a> {
    Deltas(&'a [i64]),
    Keys(Keys),
    Texts { lengths: Cow<'a, [u32]>, bytes: Cow<'a, [u8]> },
    Raw(&'a Rows, usize),
}

/// Dictionary encoding with a dictionary of the chunk.
struct Keys {
    keys: Vec<u32>,
    /// The values, in PLAIN encoding.
    dictionary: Vec<u8>,
    entries: usize,
    width: u32,
}

/// The size of a form in bytes, without and with compression.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    plain: usize,
    packed: usize,
}

impl Cost {
    fn pack(self) -> bool {
        self.packed + self.plain / WORTH < self.plain
    }

    fn least(self) -> usize {
        if self.pack() { self.packed } else { self.plain }
    }
}

impl<'v> Cells<'v> {
    /// Encodes the chunk.
    pub(super) fn encode(&self, packer: &mut Packer) -> Result<(Bytes, ColumnCloseResult)> {
        let (form, cost) = self.form(packer)?;
        let memory = packer.memory();
        // Parquet has one codec per chunk, so either all of its pages are compressed or none.
        let packs = cost.pack() && (cost.plain - cost.packed) * WORTH_ROWS >= self.rows.len();
        let packer = packs.then_some(packer);
        let mut chunk = ChunkWriter::new(self.column.clone(), memory, packer)?;
        if let Form::Keys(keys) = &form {
            chunk.dictionary(&keys.dictionary, keys.entries)?;
        }
        let mut pages = Pages { cells: self, form: &form, chunk, body: Vec::new(), text: 0 };
        for (rows, values) in self.pages(&form, cost) {
            pages.put(rows, values)?;
        }
        pages.chunk.finish(self.statistics())
    }

    fn form(&self, packer: &mut Packer) -> Result<(Form<'v>, Cost)> {
        let sample = self.granule_rows;
        match self.source {
            Source::Integers(values) => {
                let form = Form::Deltas(values);
                let cost = form.cost(sample, packer)?;
                let keyed = keyed(keys_of_integers(values), cost, sample, packer)?;
                Ok(keyed.unwrap_or((form, cost)))
            }
            Source::Texts { lengths, bytes } => {
                let form = Form::Texts { lengths: lengths.into(), bytes: bytes.into() };
                let cost = form.cost(sample, packer)?;
                Ok((form, cost))
            }
            Source::Keys { keys, distinct, text } => {
                // The estimate only copies the texts of the sample; those of the whole chunk are copied if
                // they are written as texts.
                let few = keys.len().min(sample);
                let cost = spread(&keys[..few], text).cost(sample, packer)?.times(keys.len(), few);
                let keyed = keyed(keys_of_texts(keys, distinct, text), cost, sample, packer)?;
                Ok(keyed.unwrap_or_else(|| (spread(keys, text), cost)))
            }
            // Text of events always compresses, so nothing is tried. The division prevents an overflow of the
            // product in `encode`.
            Source::Raw(rows) => {
                let cost = Cost { plain: usize::MAX / WORTH_ROWS, packed: 1 };
                Ok((Form::Raw(rows, self.rows.start), cost))
            }
        }
    }

    /// Returns the rows and values of each page.
    fn pages(&self, form: &Form<'_>, cost: Cost) -> Vec<(Range<usize>, Range<usize>)> {
        let first = self.values_before(self.rows.start);
        let total = self.values_before(self.rows.end) - first;
        let mut pages: Vec<(Range<usize>, Range<usize>)> = Vec::new();
        let (mut granules, mut page_bytes) = (0, 0);
        let mut value = 0;
        for start in self.rows.clone().step_by(self.granule_rows) {
            let end = (start + self.granule_rows).min(self.rows.end);
            let values = value..self.values_before(end) - first;
            value = values.end;
            let bytes = match form {
                // The format requires that a page of `_raw` has one granule.
                Form::Raw(..) => usize::MAX,
                Form::Texts { lengths, .. } => length_of(&lengths[values.clone()]) + values.len(),
                Form::Deltas(_) => cost.plain * values.len() / total.max(1),
                Form::Keys(keys) => keys.width as usize * values.len() / 8,
            };
            let counted = usize::from(!values.is_empty());
            let fits = granules + counted <= SHARED_PAGE_GRANULES
                && bytes.saturating_add(page_bytes) <= SHARED_PAGE_BYTES;
            match pages.last_mut().filter(|_| fits) {
                Some((page_rows, page_values)) => {
                    (page_rows.end, page_values.end) = (end, values.end);
                    (granules, page_bytes) = (granules + counted, page_bytes + bytes);
                }
                None => {
                    pages.push((start..end, values));
                    (granules, page_bytes) = (counted, bytes);
                }
            }
        }
        pages
    }

    fn values_before(&self, row: usize) -> usize {
        self.places.map_or(row, |places| places.values_before(row))
    }

    /// Returns the minimum and maximum integer, by which `BucketReader::granules_where` skips row groups.
    fn statistics(&self) -> Option<Statistics> {
        let Source::Integers(values) = self.source else { return None };
        let (least, most) = (values.iter().copied().min(), values.iter().copied().max());
        // No row has several integers, because multivalue columns are texts (`Values::finish`).
        let nulls = self.rows.len() - values.len();
        Some(Statistics::int64(least, most, None, Some(nulls as u64), false))
    }

    /// Appends the repetition and definition levels of a page. Returns their number, which a page header
    /// calls the number of values, nulls included. The fixed columns are required, so they have no levels.
    fn put_levels(&self, rows: &Range<usize>, values: &Range<usize>, body: &mut Vec<u8>) -> usize {
        let Some(places) = self.places else { return rows.len() };
        if self.column.max_rep_level() > 0 {
            return self.put_list_levels(rows, values, body);
        }
        let start = open_levels(body);
        match places {
            Places::First(_) => {
                put_run(1, values.len(), 1, body);
                if values.len() < rows.len() {
                    put_run(0, rows.len() - values.len(), 1, body);
                }
            }
            Places::Rows(_) if values.len() == rows.len() => put_run(1, rows.len(), 1, body),
            Places::Rows(with_value) => {
                let mut levels = vec![0; rows.len()];
                let before = self.values_before(self.rows.start);
                for row in &with_value[before + values.start..before + values.end] {
                    levels[*row as usize - rows.start] = 1;
                }
                put_hybrid(&levels, 1, body);
            }
        }
        close_levels(body, start);
        rows.len()
    }

    fn put_list_levels(
        &self,
        rows: &Range<usize>,
        values: &Range<usize>,
        body: &mut Vec<u8>,
    ) -> usize {
        // A row is a null list (level 0) or a list of values: no list is empty and no item is null, so
        // intermediate definition levels do not occur.
        let present = self.column.max_def_level() as u32;
        let first = self.values_before(self.rows.start) + values.start;
        let (mut repetition, mut definition) = (Vec::new(), Vec::new());
        let mut before = first;
        for row in rows.clone() {
            let end = self.values_before(row + 1);
            if before == end {
                repetition.push(0);
                definition.push(0);
            }
            for at in before..end {
                repetition.push(u32::from(at > before));
                definition.push(present);
            }
            before = end;
        }
        let start = open_levels(body);
        put_hybrid(&repetition, 1, body);
        close_levels(body, start);
        let start = open_levels(body);
        put_hybrid(&definition, u32::BITS - present.leading_zeros(), body);
        close_levels(body, start);
        definition.len()
    }
}

/// Returns the dictionary form if it costs at most an eighth (and 64 bytes) more than the other form, because
/// it is faster to read.
fn keyed(
    keys: Option<Keys>,
    other: Cost,
    sample: usize,
    packer: &mut Packer,
) -> Result<Option<(Form<'static>, Cost)>> {
    let repeats = |keys: &Keys| keys.entries <= 4 || keys.entries * 2 <= keys.keys.len();
    let Some(mut keys) = keys.filter(repeats) else { return Ok(None) };
    let mut best: Option<(u32, Cost)> = None;
    // Whole bytes are larger, but compress better if some values are more frequent.
    for width in [keys.width, keys.width.next_multiple_of(8)] {
        keys.width = width;
        let cost = keys.cost(sample, packer)?;
        if best.is_none_or(|(_, known)| cost.least() < known.least()) {
            best = Some((width, cost));
        }
    }
    let bound = other.least() + other.least() / 8 + 64;
    let best = best.filter(|(_, cost)| cost.least() <= bound);
    Ok(best.map(|(width, cost)| (Form::Keys(Keys { width, ..keys }), cost)))
}

/// The pages of a chunk that is being written.
struct Pages<'c, 'v, 'a> {
    cells: &'c Cells<'v>,
    form: &'c Form<'v>,
    chunk: ChunkWriter<'a>,
    body: Vec<u8>,
    /// Number of bytes of text written so far.
    text: usize,
}

impl Pages<'_, '_, '_> {
    fn put(&mut self, rows: Range<usize>, values: Range<usize>) -> Result<()> {
        // A single row has one page, however long its text is, because pages begin and end at rows.
        if rows.len() > 1 && self.form.text_bytes(&values) > PAGE_BYTES {
            let middle = rows.start + rows.len() / 2;
            let first = self.cells.values_before(self.cells.rows.start);
            let cut = self.cells.values_before(middle) - first;
            self.put(rows.start..middle, values.start..cut)?;
            return self.put(middle..rows.end, cut..values.end);
        }
        self.body.clear();
        let levels = self.cells.put_levels(&rows, &values, &mut self.body);
        self.text += self.form.put(values, self.text, &mut self.body);
        self.chunk.page(&self.body, self.form.encoding(), rows.len(), levels)
    }
}

impl Form<'_> {
    fn encoding(&self) -> Encoding {
        match self {
            Self::Deltas(_) => Encoding::DELTA_BINARY_PACKED,
            Self::Keys(_) => Encoding::RLE_DICTIONARY,
            Self::Texts { .. } | Self::Raw(..) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        }
    }

    fn text_bytes(&self, values: &Range<usize>) -> usize {
        match self {
            Self::Deltas(_) | Self::Keys(_) => 0,
            Self::Texts { lengths, .. } => length_of(&lengths[values.clone()]),
            Self::Raw(rows, start) => {
                values.clone().map(|value| rows.text(start + value).len()).sum()
            }
        }
    }

    /// Appends some values, whose texts begin at `text`. Returns the number of bytes of text.
    fn put(&self, values: Range<usize>, text: usize, body: &mut Vec<u8>) -> usize {
        match self {
            Self::Deltas(integers) => {
                put_deltas(&integers[values], body);
                0
            }
            Self::Keys(keys) => {
                keys.put(values, body);
                0
            }
            Self::Texts { lengths, bytes } => {
                let lengths: Vec<i64> = lengths[values].iter().copied().map(i64::from).collect();
                put_deltas(&lengths, body);
                let length = lengths.iter().sum::<i64>() as usize;
                body.extend_from_slice(&bytes[text..text + length]);
                length
            }
            Self::Raw(rows, start) => {
                let texts = || values.clone().map(|value| rows.text(start + value).as_bytes());
                let lengths: Vec<i64> = texts().map(|text| text.len() as i64).collect();
                put_deltas(&lengths, body);
                let before = body.len();
                body.reserve(lengths.iter().sum::<i64>() as usize);
                texts().for_each(|text| body.extend_from_slice(text));
                body.len() - before
            }
        }
    }

    /// Estimates the cost from the first values.
    fn cost(&self, sample: usize, packer: &mut Packer) -> Result<Cost> {
        let all = match self {
            Self::Deltas(values) => values.len(),
            Self::Keys(keys) => return keys.cost(sample, packer),
            Self::Texts { lengths, .. } => lengths.len(),
            Self::Raw(..) => 0,
        };
        let mut body = Vec::new();
        let count = all.min(sample);
        self.put(0..count, 0, &mut body);
        Ok(Cost { plain: body.len(), packed: packer.pack(&body)?.len() }.times(all, count))
    }
}

impl Keys {
    fn put(&self, values: Range<usize>, body: &mut Vec<u8>) {
        // RLE_DICTIONARY: a byte with the width, then the hybrid encoding, without the length that precedes
        // levels.
        body.push(self.width as u8);
        put_hybrid(&self.keys[values], self.width, body);
    }

    /// Estimates the cost from the first values and the dictionary.
    fn cost(&self, sample: usize, packer: &mut Packer) -> Result<Cost> {
        let mut body = Vec::new();
        let count = self.keys.len().min(sample);
        self.put(0..count, &mut body);
        let cost = Cost { plain: body.len(), packed: packer.pack(&body)?.len() };
        let mut cost = cost.times(self.keys.len(), count);
        cost.plain += self.dictionary.len();
        cost.packed += packer.pack(&self.dictionary)?.len();
        Ok(cost)
    }
}

impl Cost {
    /// Extrapolates the cost of `some` values to `all` values.
    fn times(self, all: usize, some: usize) -> Self {
        let scale = |bytes: usize| bytes * all / some.max(1);
        Self { plain: scale(self.plain), packed: scale(self.packed) }
    }
}

fn length_of(lengths: &[u32]) -> usize {
    lengths.iter().map(|length| *length as usize).sum()
}

fn spread<'a>(keys: &[u32], text: &dyn Fn(u32) -> &'a [u8]) -> Form<'static> {
    let lengths = keys.iter().map(|key| text(*key).len() as u32).collect();
    let mut bytes = Vec::new();
    keys.iter().for_each(|key| bytes.extend_from_slice(text(*key)));
    Form::Texts { lengths: Cow::Owned(lengths), bytes: Cow::Owned(bytes) }
}

/// Returns the number of bits of a key of a dictionary with this number of entries; 0 for one entry.
fn width_of(entries: usize) -> u32 {
    usize::BITS - entries.saturating_sub(1).leading_zeros()
}

/// Numbers the texts of the chunk in order of their first occurrence; returns `None` if the dictionary would
/// be too large. With the numbers of the column, the dictionary would have the texts of other chunks.
fn keys_of_texts<'a>(
    keys: &[u32],
    distinct: usize,
    text: &dyn Fn(u32) -> &'a [u8],
) -> Option<Keys> {
    const NEW: u32 = u32::MAX;
    let mut numbers = vec![NEW; distinct];
    let mut dictionary = Vec::new();
    let mut entries = 0u32;
    let mut local = Vec::with_capacity(keys.len());
    for key in keys {
        let number = &mut numbers[*key as usize];
        if *number == NEW {
            *number = entries;
            entries += 1;
            let text = text(*key);
            dictionary.extend_from_slice(&(text.len() as u32).to_le_bytes());
            dictionary.extend_from_slice(text);
            if dictionary.len() > DICTIONARY_BYTES {
                return None;
            }
        }
        local.push(*number);
    }
    let entries = entries as usize;
    (entries > 0).then(|| Keys { keys: local, dictionary, entries, width: width_of(entries) })
}

/// Numbers the integers of the chunk in order of their first occurrence; returns `None` if there are too
/// many.
fn keys_of_integers(values: &[i64]) -> Option<Keys> {
    let mut known: HashTable<u32> = HashTable::new();
    let mut distinct: Vec<i64> = Vec::new();
    // The hash table uses the low bits of the hash, but a multiplication only mixes the high bits well.
    let hash = |value: i64| {
        let product = (value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    };
    let mut keys = Vec::with_capacity(values.len());
    for value in values {
        let same = |key: &u32| distinct[*key as usize] == *value;
        if let Some(key) = known.find(hash(*value), same) {
            keys.push(*key);
            continue;
        }
        if distinct.len() == DICTIONARY_INTEGERS {
            return None;
        }
        let key = distinct.len() as u32;
        distinct.push(*value);
        known.insert_unique(hash(*value), key, |key| hash(distinct[*key as usize]));
        keys.push(key);
    }
    let entries = distinct.len();
    let dictionary = distinct.iter().flat_map(|value| value.to_le_bytes()).collect();
    (entries > 0).then(|| Keys { keys, dictionary, entries, width: width_of(entries) })
}

/// Reserves room for the length that precedes levels in data pages of version 1.
fn open_levels(body: &mut Vec<u8>) -> usize {
    body.extend_from_slice(&[0; 4]);
    body.len()
}

fn close_levels(body: &mut [u8], start: usize) {
    let length = (body.len() - start) as u32;
    body[start - 4..start].copy_from_slice(&length.to_le_bytes());
}

//! The Parquet part of a bucket: its schema, its row groups column by column, and its footer.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;

use super::WriteOptions;
use super::chunk::Packer;
use super::column::{Cells, Source};
use super::rows::{Names, Rows};
use super::shred::{Column, Shredded};
use crate::hot::fixed_fields;

/// Bytes of text after which a row group ends at the next granule (schemas/bucket/README.md, "Rows").
const GRANULE_BYTES: u64 = 64 << 20;
/// Number of fixed columns.
const FIXED: usize = 6;

/// A file that is being written: row groups, then embedded sections, then the footer.
pub(crate) struct Encoder {
    file: SerializedFileWriter<Vec<u8>>,
    schema: Arc<Schema>,
    packer: Packer,
}

impl Encoder {
    /// Creates an encoder; `size` is an estimate of the size of the object.
    pub(crate) fn new(
        shredded: &Shredded,
        options: &WriteOptions,
        size: usize,
    ) -> Result<Self, ParquetError> {
        let mut fields = fixed_fields();
        fields.extend(shredded.columns.iter().map(Column::field));
        let schema = Arc::new(Schema::new(fields));
        // The writer is only used for the schema, which is converted to Parquet and also stored as Arrow in
        // the footer, so that readers know views and dictionaries. `Cells` encodes the columns.
        let writer =
            ArrowWriter::try_new(Vec::with_capacity(size), schema.clone(), Some(properties()))?;
        let (file, _) = writer.into_serialized_writer()?;
        Ok(Self { file, schema, packer: Packer::new(options.zstd_level)? })
    }

    /// Writes all row groups.
    pub(crate) fn rows(
        &mut self,
        rows: &Rows,
        shredded: &Shredded,
        options: &WriteOptions,
    ) -> Result<(), ParquetError> {
        let mut texts = vec![0; shredded.columns.len()];
        for range in row_groups(rows, options) {
            let mut chunks = Vec::with_capacity(self.schema.fields().len());
            for number in 0..self.schema.fields().len() {
                chunks.push(self.chunk(number, &range, rows, shredded, &mut texts, options)?);
            }
            let mut group = self.file.next_row_group()?;
            for (bytes, close) in chunks {
                group.append_column(&bytes, close)?;
                self.packer.reuse(bytes);
            }
            group.close()?;
        }
        Ok(())
    }

    /// Encodes a column in the rows of a row group. `texts` has, per column, the bytes of plain text written
    /// so far, so the row groups of a column must be encoded in order.
    pub(crate) fn chunk(
        &mut self,
        number: usize,
        range: &Range<usize>,
        rows: &Rows,
        shredded: &Shredded,
        texts: &mut [usize],
        options: &WriteOptions,
    ) -> Result<Chunk, ParquetError> {
        // Every column has exactly one leaf.
        if number >= self.file.schema_descr().num_columns() {
            return Err(missing_leaf(self.schema.field(number)));
        }
        let column = self.file.schema_descr().column(number);
        let shape = Shape { column, range, granule_rows: options.granule_rows };
        match number.checked_sub(FIXED) {
            None => shape.fixed(number, rows, &mut self.packer),
            Some(at) => shape.shredded(&shredded.columns[at], &mut texts[at], &mut self.packer),
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.schema.fields().len()
    }

    pub(crate) fn name(&self, number: usize) -> &str {
        self.schema.field(number).name()
    }

    /// Returns the offset of the next embedded byte.
    pub(crate) fn position(&self) -> u64 {
        self.file.bytes_written() as u64
    }

    pub(crate) fn embed(&mut self, bytes: &[u8]) -> Result<(), ParquetError> {
        Ok(self.file.write_all(bytes)?)
    }

    /// Adds a note (key-value metadata), which any Parquet reader shows.
    pub(crate) fn note(&mut self, key: &str, value: String) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Writes page index and footer.
    pub(crate) fn finish(self) -> Result<Vec<u8>, ParquetError> {
        self.file.into_inner()
    }
}

fn missing_leaf(field: &Field) -> ParquetError {
    ParquetError::General(format!("column \"{}\" has no leaf", field.name()))
}

/// Returns the rows of each row group: at most `row_group_rows`, in whole granules.
pub(crate) fn row_groups(rows: &Rows, options: &WriteOptions) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = 0;
    let mut end = 0;
    while end < rows.len() {
        let granule_end = (end + options.granule_rows).min(rows.len());
        let text: u64 = (end..granule_end).map(|row| rows.text(row).len() as u64).sum();
        end = granule_end;
        if end - start >= options.row_group_rows || text > GRANULE_BYTES || end == rows.len() {
            groups.push(start..end);
            start = end;
        }
    }
    groups
}

/// The position of a chunk in the file.
struct Shape<'r> {
    column: ColumnDescPtr,
    range: &'r Range<usize>,
    granule_rows: usize,
}

/// An encoded chunk, and its metadata for the footer.
pub(crate) type Chunk = (Bytes, ColumnCloseResult);

impl Shape<'_> {
    fn cells<'a>(self, source: Source<'a>) -> Cells<'a> {
        let Self { column, range, granule_rows } = self;
        Cells { column, rows: range.clone(), granule_rows, places: None, source }
    }

    /// Encodes one of the six columns that every bucket has.
    fn fixed(self, number: usize, rows: &Rows, packer: &mut Packer) -> Result<Chunk, ParquetError> {
        let range = self.range.clone();
        let names = |names: &Names, shape: Self, packer: &mut Packer| {
            let text = |key: u32| names.values[key as usize].as_bytes();
            let (keys, distinct) = (&names.keys[range.clone()], names.values.len());
            shape.cells(Source::Keys { keys, distinct, text: &text }).encode(packer)
        };
        match number {
            0 => self.cells(Source::Integers(&rows.time[range])).encode(packer),
            1 => self.cells(Source::Integers(&rows.index_time[range])).encode(packer),
            2 => self.cells(Source::Raw(rows)).encode(packer),
            3 => names(&rows.host, self, packer),
            4 => names(&rows.source, self, packer),
            _ => names(&rows.sourcetype, self, packer),
        }
    }

    /// Encodes the column of a field; `text` counts the bytes of plain text that are written.
    fn shredded(
        self,
        values: &Column,
        text: &mut usize,
        packer: &mut Packer,
    ) -> Result<Chunk, ParquetError> {
        let lookup = |key| values.text(key);
        let source = values.source(self.range, *text, &lookup);
        if let Source::Texts { lengths, .. } = source {
            *text += lengths.iter().map(|length| *length as usize).sum::<usize>();
        }
        let cells = Cells { places: Some(values.places()), ..self.cells(source) };
        cells.encode(packer)
    }
}

/// Returns the properties for the footer; encodings, pages and statistics are decided per chunk (`Cells`).
fn properties() -> WriterProperties {
    let sorted = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("karst version {}", env!("CARGO_PKG_VERSION")))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_sorting_columns(Some(vec![sorted(0), sorted(1)]))
        .build()
}

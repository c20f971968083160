//! The Parquet part of a bucket: which encoding each column gets, and pages cut at granules.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Field, Schema};
use arrow::error::ArrowError;
use hashbrown::HashSet;
use model::ColumnKind;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::WriteOptions;
use super::rows::{Names, Rows};
use super::shred::{Column, Shredded};
use crate::hot::fixed_fields;

/// A page holds one granule, unless its text is larger than this: pages have 31-bit lengths.
const PAGE_BYTES: usize = 256 << 20;
/// A row group ends early behind a granule with more text than this, so that pages cut for their
/// size do not shift the borders of those that follow.
const GRANULE_BYTES: u64 = 64 << 20;
/// Dictionaries are chosen by looking at values first; this only stops a wrong choice.
const DICTIONARY_BYTES: usize = 16 << 20;
/// How many values are looked at.
const SAMPLE: usize = 4096;
/// A dictionary pays where a value occurs about this often.
const REPEATS: usize = 8;

/// An open file: row groups, then whatever is embedded, then the footer.
pub(crate) struct Encoder {
    file: SerializedFileWriter<Vec<u8>>,
    factory: ArrowRowGroupWriterFactory,
    schema: Arc<Schema>,
}

impl Encoder {
    pub(crate) fn new(
        rows: &Rows,
        shredded: &Shredded,
        options: &WriteOptions,
    ) -> Result<Self, ParquetError> {
        let mut fields = fixed_fields();
        fields.extend(shredded.columns.iter().map(Column::field));
        let schema = Arc::new(Schema::new(fields));
        let properties = properties(rows, shredded, options)?;
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        Ok(Self { file, factory, schema })
    }

    /// Writes all row groups.
    pub(crate) fn rows(
        &mut self,
        rows: &Rows,
        shredded: &Shredded,
        options: &WriteOptions,
    ) -> Result<(), ParquetError> {
        let names = [&rows.host, &rows.source, &rows.sourcetype].map(Dictionary::new);
        for (at, (start, end)) in row_groups(rows, options).into_iter().enumerate() {
            let mut writers = self.factory.create_column_writers(at)?.into_iter();
            let mut chunks: Vec<ArrowColumnChunk> = Vec::with_capacity(self.schema.fields().len());
            for (column, field) in self.schema.fields().iter().enumerate() {
                let writer = writers.next().ok_or_else(|| missing_leaf(field))?;
                let array = match column {
                    0 => times(&rows.time[start..end]),
                    1 => times(&rows.index_time[start..end]),
                    2 => Arc::new(rows.raw.slice(start, end - start)) as ArrayRef,
                    3..6 => names[column - 3].array(start, end)?,
                    _ => shredded.columns[column - 6].array(start, end)?,
                };
                chunks.push(encode(writer, field, &array, options.granule_rows)?);
            }
            let mut group = self.file.next_row_group()?;
            for chunk in chunks {
                chunk.append_to_row_group(&mut group)?;
            }
            group.close()?;
        }
        Ok(())
    }

    /// Where the next embedded byte goes.
    pub(crate) fn position(&self) -> u64 {
        self.file.bytes_written() as u64
    }

    pub(crate) fn embed(&mut self, bytes: &[u8]) -> Result<(), ParquetError> {
        Ok(self.file.write_all(bytes)?)
    }

    /// Notes that any Parquet reader shows.
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

/// Rows of each row group: at most `row_group_rows`, whole granules.
fn row_groups(rows: &Rows, options: &WriteOptions) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    let mut start = 0;
    let mut end = 0;
    while end < rows.len() {
        let granule_end = (end + options.granule_rows).min(rows.len());
        let text: u64 =
            rows.raw.views()[end..granule_end].iter().map(|v| u64::from(*v as u32)).sum();
        end = granule_end;
        if end - start >= options.row_group_rows || text > GRANULE_BYTES || end == rows.len() {
            groups.push((start, end));
            start = end;
        }
    }
    groups
}

fn encode(
    mut writer: ArrowColumnWriter,
    field: &Field,
    array: &ArrayRef,
    granule_rows: usize,
) -> Result<ArrowColumnChunk, ParquetError> {
    // The page writer looks at its limits once per batch of levels. Flat columns have one level per
    // row, so batches are granules; lists have to be handed over granule by granule.
    let flat = !field.data_type().is_nested();
    let step = if flat { array.len() } else { granule_rows };
    let mut start = 0;
    while start < array.len() {
        let length = step.min(array.len() - start);
        for leaf in compute_leaves(field, &array.slice(start, length))? {
            writer.write(&leaf)?;
        }
        start += length;
    }
    writer.close()
}

fn times(values: &[i64]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.to_vec()).with_timezone("UTC"))
}

struct Dictionary<'a> {
    keys: &'a [i32],
    values: ArrayRef,
}

impl<'a> Dictionary<'a> {
    fn new(names: &'a Names) -> Self {
        Self { keys: &names.keys, values: Arc::new(names.array()) }
    }

    fn array(&self, start: usize, end: usize) -> Result<ArrayRef, ArrowError> {
        let keys = Int32Array::from(self.keys[start..end].to_vec());
        Ok(Arc::new(DictionaryArray::try_new(keys, self.values.clone())?))
    }
}

fn properties(
    rows: &Rows,
    shredded: &Shredded,
    options: &WriteOptions,
) -> Result<WriterProperties, ParquetError> {
    let sorted = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("karst version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(options.zstd_level)?))
        .set_write_batch_size(options.granule_rows)
        .set_data_page_row_count_limit(options.granule_rows)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_max_row_group_row_count(None)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_sorting_columns(Some(vec![sorted(0), sorted(1)]));
    for name in [model::columns::TIME, model::columns::INDEX_TIME] {
        builder = integer(builder, path(name), false);
    }
    let names = [
        (model::columns::HOST, &rows.host),
        (model::columns::SOURCE, &rows.source),
        (model::columns::SOURCETYPE, &rows.sourcetype),
    ];
    for (name, column) in names {
        let pays = column.values.len() * REPEATS <= rows.len() || column.values.len() <= 64;
        builder = builder.set_column_dictionary_enabled(path(name), pays);
    }
    for column in &shredded.columns {
        let dictionary = repeats(&column.sample(SAMPLE)?);
        let path = match column.kind {
            ColumnKind::Multivalue => list_path(&column.name),
            ColumnKind::Text | ColumnKind::Integer => path(&column.name),
        };
        builder = match column.kind {
            ColumnKind::Integer => integer(builder, path, dictionary),
            _ => builder.set_column_dictionary_enabled(path, dictionary),
        };
    }
    Ok(builder.build())
}

fn integer(
    builder: WriterPropertiesBuilder,
    path: ColumnPath,
    dictionary: bool,
) -> WriterPropertiesBuilder {
    builder
        .set_column_dictionary_enabled(path.clone(), dictionary)
        .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
        .set_column_statistics_enabled(path, EnabledStatistics::Page)
}

fn path(name: &str) -> ColumnPath {
    ColumnPath::new(vec![name.to_owned()])
}

fn list_path(name: &str) -> ColumnPath {
    ColumnPath::new(vec![name.to_owned(), "list".to_owned(), "item".to_owned()])
}

/// Whether values repeat often enough for a dictionary.
fn repeats(sample: &StringViewArray) -> bool {
    let distinct: HashSet<&str> = sample.iter().flatten().collect();
    distinct.len() * REPEATS <= sample.len() || distinct.len() <= 4
}

//! Writes one column chunk: compresses its encoded pages, writes Parquet's page headers before them, and
//! collects the metadata for footer and offset index.
//!
//! Offsets count from the start of the chunk: `append_column` of the parquet crate makes them offsets in the
//! file.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// A zstd context and memory that all chunks of a bucket share.
pub(super) struct Packer {
    level: i32,
    context: zstd::bulk::Compressor<'static>,
    packed: Vec<u8>,
    /// Memory of chunks that have been written to the file, reused for the next ones: touching memory for the
    /// first time can cost 1 to 2.7 s per GB (docs/benchmarks.md).
    spare: Vec<Vec<u8>>,
}

impl Packer {
    pub(super) fn new(level: i32) -> Result<Self> {
        let context = zstd::bulk::Compressor::new(level)?;
        Ok(Self { level, context, packed: Vec::new(), spare: Vec::new() })
    }

    /// Takes back the memory of a chunk.
    pub(super) fn reuse(&mut self, chunk: Bytes) {
        // No copy, because nothing else refers to these bytes any more.
        let mut memory = Vec::from(chunk);
        memory.clear();
        self.spare.push(memory);
    }

    pub(super) fn memory(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(super) fn codec(&self) -> Result<Compression> {
        Ok(Compression::ZSTD(ZstdLevel::try_new(self.level)?))
    }

    pub(super) fn pack(&mut self, bytes: &[u8]) -> Result<&[u8]> {
        self.packed.clear();
        // `compress_to_buffer` does not grow the buffer.
        self.packed.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        self.context.compress_to_buffer(bytes, &mut self.packed)?;
        Ok(&self.packed)
    }
}

/// A writer of the pages of a chunk, in order and with the dictionary first.
pub(super) struct ChunkWriter<'a> {
    column: ColumnDescPtr,
    packer: Option<&'a mut Packer>,
    codec: Compression,
    sink: TrackedWrite<Vec<u8>>,
    offsets: OffsetIndexBuilder,
    encodings: Vec<Encoding>,
    dictionary: Option<i64>,
    first_page: Option<i64>,
    uncompressed: usize,
    values: usize,
    rows: usize,
}

impl<'a> ChunkWriter<'a> {
    /// Creates a writer. Pages are compressed if there is a packer.
    pub(super) fn new(
        column: ColumnDescPtr,
        memory: Vec<u8>,
        packer: Option<&'a mut Packer>,
    ) -> Result<Self> {
        let codec = match &packer {
            Some(packer) => packer.codec()?,
            None => Compression::UNCOMPRESSED,
        };
        Ok(Self {
            column,
            packer,
            codec,
            sink: TrackedWrite::new(memory),
            offsets: OffsetIndexBuilder::new(),
            // The encoding of levels.
            encodings: vec![Encoding::RLE],
            dictionary: None,
            first_page: None,
            uncompressed: 0,
            values: 0,
            rows: 0,
        })
    }

    /// Writes the dictionary page: the distinct values in PLAIN encoding.
    pub(super) fn dictionary(&mut self, body: &[u8], entries: usize) -> Result<()> {
        let (encoding, num_values) = (Encoding::PLAIN, entries as u32);
        let place = self.put(body, |buf| Page::DictionaryPage {
            buf,
            num_values,
            encoding,
            is_sorted: false,
        })?;
        self.dictionary = Some(place.0);
        self.encodings.push(Encoding::PLAIN);
        Ok(())
    }

    /// Writes a page of `rows` rows. `values` is the number of its levels: nulls count, and so does each item
    /// of a list.
    pub(super) fn page(
        &mut self,
        body: &[u8],
        encoding: Encoding,
        rows: usize,
        values: usize,
    ) -> Result<()> {
        let (offset, size) = self.put(body, |buf| Page::DataPage {
            buf,
            num_values: values as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.offsets.append_row_count(rows as i64);
        self.offsets.append_offset_and_size(offset, size);
        self.first_page.get_or_insert(offset);
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        self.rows += rows;
        self.values += values;
        Ok(())
    }

    /// Writes a page. Returns its offset and size.
    fn put(&mut self, body: &[u8], page: impl FnOnce(Bytes) -> Page) -> Result<(i64, i32)> {
        let packed = match &mut self.packer {
            Some(packer) => packer.pack(body)?,
            None => body,
        };
        // Lengths in a page header are signed 32-bit integers, and the text of a single row is never split.
        if packed.len().max(body.len()) > i32::MAX as usize {
            let message = format!("a page of \"{}\" has {} bytes", self.column.name(), body.len());
            return Err(ParquetError::General(message));
        }
        // Copied, because the buffer of the packer is reused for the next page.
        let page = CompressedPage::new(page(Bytes::copy_from_slice(packed)), body.len());
        let spec = SerializedPageWriter::new(&mut self.sink).write_page(page)?;
        self.uncompressed += spec.uncompressed_size;
        Ok((spec.offset as i64, spec.compressed_size as i32))
    }

    /// Returns the bytes of the chunk, and its metadata for the footer.
    pub(super) fn finish(
        self,
        statistics: Option<Statistics>,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        let bytes = self.sink.into_inner()?;
        let mut metadata = ColumnChunkMetaData::builder(self.column)
            .set_encodings(self.encodings)
            .set_compression(self.codec)
            .set_num_values(self.values as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_data_page_offset(self.first_page.unwrap_or(0))
            .set_dictionary_page_offset(self.dictionary);
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let result = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            // `BucketReader` does not read a column index: it prunes granules by their times and the term
            // index, and row groups by the statistics of their chunks.
            column_index: None,
            offset_index: Some(self.offsets.build()),
        };
        Ok((bytes.into(), result))
    }
}

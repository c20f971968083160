//! The output of `karst inspect bucket`: the parts of an object and their sizes.

use model::BucketSummary;
use parquet::file::metadata::ColumnChunkMetaData;
use serde::Serialize;

use super::BucketReader;

/// A description of an object. Sizes are in bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// Path of the object.
    pub path: String,
    /// Size of the object.
    pub size: u64,
    /// Format version.
    pub format: u32,
    /// Rows per granule.
    pub granule_rows: u64,
    /// Number of granules.
    pub granules: usize,
    /// Row groups in order.
    pub row_groups: Vec<RowGroupDescription>,
    /// Columns in order, over all row groups.
    pub columns: Vec<ColumnDescription>,
    /// Number of blocks of the term index.
    pub index_blocks: usize,
    /// Size of the term index.
    pub index_bytes: u64,
    /// Number of (term, granule) pairs in the term index.
    pub index_pairs: u64,
    /// Number of hash bits stored per term.
    pub fingerprint_bits: u32,
    /// Size of the vocabulary; 0 if there were too many words for one.
    pub vocabulary_bytes: u64,
    /// Size of Parquet's page index and the pages' checksums.
    pub page_index_bytes: u64,
    /// Size of directory, summary and footer.
    pub tail_bytes: u64,
    /// Notes in the footer.
    pub notes: Vec<(String, String)>,
    /// What the catalog knows of the bucket.
    pub summary: BucketSummary,
}

/// A row group.
#[derive(Debug, Clone, Serialize)]
pub struct RowGroupDescription {
    /// Number of rows.
    pub rows: u64,
    /// Compressed size.
    pub compressed_bytes: u64,
    /// Decompressed size.
    pub uncompressed_bytes: u64,
}

/// A column over all row groups.
#[derive(Debug, Clone, Serialize)]
pub struct ColumnDescription {
    /// Name.
    pub name: String,
    /// Type of its values.
    pub data_type: String,
    /// Encodings that occur, with `+` between.
    pub encodings: String,
    /// Compressed size.
    pub compressed_bytes: u64,
    /// Decompressed size.
    pub uncompressed_bytes: u64,
}

impl BucketReader {
    /// Describes the object, from the parts that are already in memory.
    #[must_use]
    pub fn describe(&self) -> Description {
        let directory = &self.known.directory;
        let footer = self.known.whole_chunks.metadata.metadata();
        let row_groups = footer.row_groups().iter().map(|group| RowGroupDescription {
            rows: group.num_rows().unsigned_abs(),
            compressed_bytes: group.compressed_size().unsigned_abs(),
            uncompressed_bytes: group.total_byte_size().unsigned_abs(),
        });
        let notes = footer.file_metadata().key_value_metadata().into_iter().flatten();
        let notes = notes.filter(|note| note.key.starts_with("karst."));
        let first = directory.block_starts.first().copied().unwrap_or(0);
        Description {
            path: self.object.path(),
            size: self.object.size(),
            format: crate::tail::FORMAT,
            granule_rows: directory.granule_rows,
            granules: self.granules(),
            row_groups: row_groups.collect(),
            columns: self.columns(),
            index_blocks: directory.layout.blocks(),
            index_bytes: directory.index_end() - first,
            index_pairs: directory.pairs,
            fingerprint_bits: directory.layout.fingerprint_bits,
            vocabulary_bytes: directory.vocabulary.0,
            page_index_bytes: directory.page_section(),
            tail_bytes: self
                .object
                .size()
                .saturating_sub(directory.page_index_start() + directory.page_section()),
            notes: notes
                .map(|note| (note.key.clone(), note.value.clone().unwrap_or_default()))
                .collect(),
            summary: self.known.summary.clone(),
        }
    }

    /// Returns the decompressed size of the pages of some columns, in bytes. Unknown names count as 0.
    #[must_use]
    pub fn decompressed_bytes(&self, columns: &[&str]) -> u64 {
        let groups = self.known.whole_chunks.metadata.metadata().row_groups();
        // Every column has exactly one leaf.
        let places = columns.iter().filter_map(|name| self.schema().index_of(name).ok());
        let chunks =
            |place: usize| groups.iter().filter_map(move |group| group.columns().get(place));
        places.flat_map(chunks).map(|chunk| chunk.uncompressed_size().unsigned_abs()).sum()
    }

    fn columns(&self) -> Vec<ColumnDescription> {
        let groups = self.known.whole_chunks.metadata.metadata().row_groups();
        let describe = |(column, field): (usize, &std::sync::Arc<arrow::datatypes::Field>)| {
            // Every column has exactly one leaf.
            let chunks = || groups.iter().filter_map(|group| group.columns().get(column));
            ColumnDescription {
                name: field.name().clone(),
                data_type: field.data_type().to_string(),
                encodings: encodings(chunks()),
                compressed_bytes: chunks().map(|one| one.compressed_size().unsigned_abs()).sum(),
                uncompressed_bytes: chunks()
                    .map(|one| one.uncompressed_size().unsigned_abs())
                    .sum(),
            }
        };
        self.schema().fields().iter().enumerate().map(describe).collect()
    }
}

fn encodings<'a>(chunks: impl Iterator<Item = &'a ColumnChunkMetaData>) -> String {
    let mut names: Vec<String> =
        chunks.flat_map(|chunk| chunk.encodings()).map(|encoding| encoding.to_string()).collect();
    names.sort();
    names.dedup();
    names.join("+")
}

//! A checksum for every page, so that the decoder never sees damaged bytes.
//!
//! Parquet's decoders trust their input: for a flipped bit they may return wrong rows or panic.

use std::ops::Range;

use parquet::errors::Result;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

/// Returns the byte range of each column chunk: row group by row group, column by column.
pub(crate) fn chunks(footer: &ParquetMetaData) -> Vec<Range<u64>> {
    let columns = footer.row_groups().iter().flat_map(|group| group.columns());
    let range = |(start, length): (u64, u64)| start..start.saturating_add(length);
    columns.map(|column| range(column.byte_range())).collect()
}

/// Returns the byte range of each page, in the order of the file; the bytes before the first data page of a
/// chunk are its dictionary. Needs the offset index.
pub(crate) fn pages(metadata: &ParquetMetaData) -> Vec<Range<u64>> {
    let mut pages = Vec::new();
    let indexes = metadata.offset_index().into_iter().flatten().flatten();
    for (chunk, index) in chunks(metadata).into_iter().zip(indexes) {
        let mut start = chunk.start;
        let borders = index.page_locations().iter().map(|page| page.offset);
        for border in borders.filter_map(|border| u64::try_from(border).ok()).chain([chunk.end]) {
            if start < border {
                pages.push(start..border);
                start = border;
            }
        }
    }
    pages.sort_unstable_by_key(|page| page.start);
    pages
}

/// Computes the checksums of the chunks and of the pages of a finished file.
pub(crate) fn compute(file: &bytes::Bytes) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut reader =
        ParquetMetaDataReader::new().with_offset_index_policy(PageIndexPolicy::Required);
    reader.try_parse(file)?;
    let metadata = reader.finish()?;
    let sum = |range: Range<u64>| crc32fast::hash(&file[range.start as usize..range.end as usize]);
    let chunks = chunks(&metadata).into_iter().map(sum).collect();
    Ok((chunks, pages(&metadata).into_iter().map(sum).collect()))
}

/// Byte ranges of an object with their checksums, in the order of the file.
#[derive(Debug)]
pub(crate) struct Checksums {
    stretches: Vec<(Range<u64>, u32)>,
}

impl Checksums {
    /// Returns `None` if the number of checksums differs from the number of ranges.
    pub(crate) fn new(ranges: Vec<Range<u64>>, checksums: &[u32]) -> Option<Self> {
        if ranges.len() != checksums.len() {
            return None;
        }
        let mut stretches: Vec<_> = ranges.into_iter().zip(checksums.iter().copied()).collect();
        stretches.sort_unstable_by_key(|(range, _)| range.start);
        Some(Self { stretches })
    }

    /// Returns the ranges, in the order of the file.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.stretches.iter().map(|(range, _)| range.clone())
    }

    /// Whether the range consists of whole checksummed ranges, and the bytes match their checksums.
    pub(crate) fn verify(&self, range: &Range<u64>, bytes: &[u8]) -> bool {
        let mut at = self.stretches.partition_point(|(stretch, _)| stretch.start < range.start);
        let mut start = range.start;
        while start < range.end {
            let Some((stretch, checksum)) = self.stretches.get(at) else { return false };
            if stretch.start != start || stretch.end > range.end {
                return false;
            }
            let part = (start - range.start) as usize..(stretch.end - range.start) as usize;
            if bytes.get(part).is_none_or(|part| crc32fast::hash(part) != *checksum) {
                return false;
            }
            start = stretch.end;
            at += 1;
        }
        true
    }
}

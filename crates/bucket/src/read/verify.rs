//! Verifies the checksums of a whole bucket.

use std::ops::Range;

use super::BucketReader;
use crate::Error;
use crate::index::block::Block;

/// Number of bytes read at a time, unless a single checksummed range is larger.
const AT_A_TIME: u64 = 8 << 20;

impl BucketReader {
    /// Reads every column chunk, the page index, the vocabulary and the term index, and compares their
    /// checksums. The end of the object has been checked when it was opened.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names the first damaged section; [`Error::Store`].
    pub async fn verify(&self) -> Result<(), Error> {
        for range in joined(self.known.whole_chunks.checksums.ranges()) {
            let bytes = self.object.read_rows(std::slice::from_ref(&range)).await?;
            let whole = bytes
                .first()
                .is_some_and(|bytes| self.known.whole_chunks.checksums.verify(&range, bytes));
            if !whole {
                let reason = format!("the checksum of bytes {range:?} does not match");
                return Err(self.object.corrupt("columns", reason));
            }
        }
        self.single_pages().await?;
        self.vocabulary().await?;
        let starts = &self.known.directory.block_starts;
        let blocks: Vec<Range<u64>> = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        for some in blocks.chunks(1024) {
            for bytes in self.object.read_index_parts(some).await? {
                if Block::open(self.known.directory.layout, &bytes).is_none() {
                    let reason = "a block's checksum does not match".to_owned();
                    return Err(self.object.corrupt("term index", reason));
                }
            }
        }
        Ok(())
    }
}

/// Joins adjacent ranges that are read together.
fn joined(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start && range.end - last.start <= AT_A_TIME => {
                last.end = range.end;
            }
            _ => joined.push(range),
        }
    }
    joined
}

//! The end of a bucket object: directory and summary, located and verified from its last bytes.
//!
//! ```text
//! ... [page index][page checksums][directory, zstd][summary, zstd][trailer, 40 bytes][footer][length]["PAR1"]
//! ```

use bytes::Bytes;
use model::{BucketSummary, EventTime};

use crate::checksums;
use crate::index::bits::{put_varint, take, take_varint};
use crate::index::block::Layout;

/// The format version that is written, and the newest that can be read.
pub(crate) const FORMAT: u32 = 1;
/// Length and magic number at the very end of a Parquet file.
pub(crate) const PARQUET_END: usize = 8;
pub(crate) const TRAILER: usize = 40;
const MAGIC: &[u8; 8] = b"KARSTBK1";

/// The layout of all sections that are not Parquet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) rows: u64,
    pub(crate) granule_rows: u64,
    pub(crate) layout: Layout,
    pub(crate) pairs: u64,
    /// The start of each index block, and the end of the last one.
    pub(crate) block_starts: Vec<u64>,
    /// Length and checksum of the vocabulary, which follows the blocks.
    pub(crate) vocabulary: (u64, u32),
    /// Length of Parquet's page index, which follows the vocabulary, and checksum of it together
    /// with the page checksums.
    pub(crate) page_index: (u64, u32),
    /// Number of page checksums after the page index.
    pub(crate) pages: u64,
    /// Checksum per column chunk, row group by row group.
    pub(crate) chunk_checksums: Vec<u32>,
    /// First and last `_time` per granule.
    pub(crate) times: Vec<(EventTime, EventTime)>,
}

impl Directory {
    pub(crate) fn index_end(&self) -> u64 {
        self.block_starts.last().copied().unwrap_or(0)
    }

    pub(crate) fn page_index_start(&self) -> u64 {
        self.index_end() + self.vocabulary.0
    }

    /// Returns the size of page index and page checksums in bytes.
    pub(crate) fn page_section(&self) -> u64 {
        self.page_index.0.saturating_add(self.pages.saturating_mul(4))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let start = self.block_starts.first().copied().unwrap_or(0);
        let layout = &self.layout;
        let bits = [u64::from(layout.block_bits), u64::from(layout.fingerprint_bits)];
        for number in [self.rows, self.granule_rows, bits[0], bits[1], self.pairs, start] {
            put_varint(&mut bytes, number);
        }
        for pair in self.block_starts.windows(2) {
            put_varint(&mut bytes, pair[1] - pair[0]);
        }
        for (length, checksum) in [self.vocabulary, self.page_index] {
            put_varint(&mut bytes, length);
            bytes.extend_from_slice(&checksum.to_le_bytes());
        }
        put_varint(&mut bytes, self.pages);
        put_varint(&mut bytes, self.chunk_checksums.len() as u64);
        for checksum in &self.chunk_checksums {
            bytes.extend_from_slice(&checksum.to_le_bytes());
        }
        let mut before = 0i64;
        for (first, last) in &self.times {
            put_varint(&mut bytes, zigzag(first.0.wrapping_sub(before)));
            put_varint(&mut bytes, last.0.wrapping_sub(first.0) as u64);
            before = last.0;
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let rows = take_varint(bytes)?;
        let granule_rows = take_varint(bytes)?;
        let block_bits = u32::try_from(take_varint(bytes)?).ok()?;
        let fingerprint_bits = u32::try_from(take_varint(bytes)?).ok()?;
        let sensible = block_bits < 32
            && fingerprint_bits <= 64
            && fingerprint_bits >= block_bits.max(8)
            && fingerprint_bits - block_bits <= 48
            && (1..=1 << 32).contains(&granule_rows);
        if !sensible {
            return None;
        }
        let granules = usize::try_from(rows.div_ceil(granule_rows)).ok()?;
        let layout = Layout { block_bits, fingerprint_bits, granules };
        let pairs = take_varint(bytes)?;
        let mut block_starts = vec![take_varint(bytes)?];
        for _ in 0..layout.blocks() {
            let start = block_starts.last()?.checked_add(take_varint(bytes)?)?;
            block_starts.push(start);
        }
        let mut sections = [(0, 0); 2];
        for section in &mut sections {
            let length = take_varint(bytes)?;
            *section = (length, u32::from_le_bytes(*take(bytes, 4)?.first_chunk()?));
        }
        let pages = take_varint(bytes)?;
        let chunks = usize::try_from(take_varint(bytes)?).ok()?;
        let chunk_checksums = numbers(take(bytes, chunks.checked_mul(4)?)?);
        let mut times = Vec::new();
        let mut before = 0i64;
        for _ in 0..granules {
            let first = before.wrapping_add(unzigzag(take_varint(bytes)?));
            let last = first.wrapping_add(take_varint(bytes)? as i64);
            times.push((EventTime(first), EventTime(last)));
            before = last;
        }
        let [vocabulary, page_index] = sections;
        Some(Self {
            rows,
            granule_rows,
            layout,
            pairs,
            block_starts,
            vocabulary,
            page_index,
            pages,
            chunk_checksums,
            times,
        })
    }
}

/// Decodes little-endian 32-bit numbers, such as stored checksums.
pub(crate) fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect()
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Inserts page checksums, directory and summary between the page index and the footer of a finished Parquet
/// file.
pub(crate) fn splice(
    file: Vec<u8>,
    mut directory: Directory,
    summary: &BucketSummary,
) -> parquet::errors::Result<Vec<u8>> {
    let whole = Bytes::from(file);
    let (chunk_checksums, page_checksums) = checksums::compute(&whole)?;
    let mut file = Vec::from(whole);
    let end = file.len() - PARQUET_END;
    let length = file[end..].first_chunk().copied().map_or(0, u32::from_le_bytes);
    let footer = file.split_off(end - length as usize);
    let start = directory.page_index_start() as usize;
    let page_index_length = file.len() - start;
    for checksum in &page_checksums {
        file.extend_from_slice(&checksum.to_le_bytes());
    }
    directory.page_index = (page_index_length as u64, crc32fast::hash(&file[start..]));
    directory.pages = page_checksums.len() as u64;
    directory.chunk_checksums = chunk_checksums;
    let directory = directory.encode();
    let summary = serde_json::to_vec(summary).expect("a summary is plain data");
    let packed = [&directory, &summary]
        .map(|part| zstd::bulk::compress(part, 3).expect("zstd compresses memory"));
    let start = file.len();
    file.extend_from_slice(&packed[0]);
    file.extend_from_slice(&packed[1]);
    let body = crc32fast::hash(&file[start..]);
    let footer_checksum = crc32fast::hash(&footer[..length as usize]);
    let lengths = [packed[0].len(), directory.len(), packed[1].len(), summary.len()];
    let trailer = file.len();
    for length in lengths {
        let length = u32::try_from(length).expect("directory and summary stay below 4 GiB");
        file.extend_from_slice(&length.to_le_bytes());
    }
    for number in [body, footer_checksum, FORMAT] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    let checksum = crc32fast::hash(&file[trailer..]);
    file.extend_from_slice(&checksum.to_le_bytes());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&footer);
    Ok(file)
}

/// The fixed-size part of the tail, right before the footer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trailer {
    lengths: [u32; 4],
    body_checksum: u32,
    footer_checksum: u32,
    pub(crate) format: u32,
}

/// Why the end of an object is invalid: section and reason.
pub(crate) type Damage = (&'static str, String);

impl Trailer {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        if bytes.len() != TRAILER || &bytes[32..] != MAGIC {
            return Err(("trailer", "its magic number is missing".into()));
        }
        let numbers = numbers(bytes);
        if crc32fast::hash(&bytes[..28]) != numbers[7] {
            return Err(("trailer", "its checksum does not match".into()));
        }
        Ok(Self {
            lengths: [numbers[0], numbers[1], numbers[2], numbers[3]],
            body_checksum: numbers[4],
            footer_checksum: numbers[5],
            format: numbers[6],
        })
    }

    /// Returns the size of directory and summary before the trailer, in bytes.
    pub(crate) fn body_length(&self) -> usize {
        self.lengths[0] as usize + self.lengths[2] as usize
    }

    pub(crate) fn check_footer(&self, footer: &[u8]) -> Result<(), Damage> {
        if crc32fast::hash(footer) == self.footer_checksum {
            return Ok(());
        }
        Err(("footer", "its checksum does not match".into()))
    }

    pub(crate) fn open_body(&self, body: &[u8]) -> Result<(Directory, BucketSummary), Damage> {
        if crc32fast::hash(body) != self.body_checksum {
            return Err(("directory", "its checksum does not match".into()));
        }
        let [directory, directory_raw, _, summary_raw] = self.lengths.map(|length| length as usize);
        let (packed, packed_summary) = body
            .split_at_checked(directory)
            .ok_or_else(|| ("directory", "it is shorter than the trailer says".into()))?;
        let unpack = |section, packed: &[u8], length| {
            zstd::bulk::decompress(packed, length)
                .map_err(|error| (section, format!("it does not decompress: {error}")))
        };
        let raw = unpack("directory", packed, directory_raw)?;
        let directory = Directory::decode(&raw)
            .ok_or_else(|| ("directory", "its numbers contradict each other".to_owned()))?;
        let raw = unpack("summary", packed_summary, summary_raw)?;
        let summary = serde_json::from_slice(&raw)
            .map_err(|error| ("summary", format!("it does not parse: {error}")))?;
        Ok((directory, summary))
    }
}

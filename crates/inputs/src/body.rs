//! Decompresses request bodies in bounded steps.
//!
//! Pure: the caller makes room for a step, runs it, and stops when a limit is reached. A body that claims, or
//! turns out, to decompress to far more than text can is refused before it is decompressed: a gibibyte of
//! zeros is a megabyte of gzip.

use std::io::{self, Cursor, Read, Write as _};

use bytes::Bytes;

/// Why a body is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body, compressed or decompressed, is larger than the limit: HTTP 413.
    #[error("the body has more than {limit} bytes; send smaller requests")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The ratio of its decompressed to its compressed size is above the limit: HTTP 413.
    #[error(
        "the body decompresses to more than {ratio} times its size (max_compression_ratio); send \
         smaller requests, or compress them less"
    )]
    Ratio {
        /// The limit.
        ratio: usize,
    },
    /// One event of the body is longer than the limit: HTTP 413.
    #[error("event {number} has more than {limit} bytes (maxEventSize)")]
    Event {
        /// The number of the event, counted from 0.
        number: u64,
        /// The limit.
        limit: usize,
    },
    /// One line of the body is longer than the limit: HTTP 413.
    #[error("line {number} has more than {limit} bytes (maxEventSize)")]
    Line {
        /// The number of the line, counted from 1.
        number: u64,
        /// The limit.
        limit: usize,
    },
    /// The body is not valid in its encoding: HTTP 400.
    #[error("the body is not valid {encoding}")]
    Broken {
        /// The encoding.
        encoding: &'static str,
    },
    /// The sender broke off: HTTP 400.
    #[error("the body is incomplete: {reason}")]
    Incomplete {
        /// The error of the connection.
        reason: String,
    },
    /// The encoding is not supported: HTTP 415.
    #[error("content encoding {encoding} is not supported; use gzip, deflate, zstd or none")]
    Unsupported {
        /// The encoding asked for.
        encoding: String,
    },
    /// There is no memory for the body now, HTTP 503, or never, HTTP 413.
    #[error(transparent)]
    Memory(#[from] runtime::OverBudget),
}

/// Log2 of the largest window of a zstd body (2^23 bytes), which every sender may expect of a receiver.
const ZSTD_WINDOW_LOG: u32 = 23;

/// Below this, a body may unpack to as many times its size as it likes.
const FREE: usize = 16 << 20;

/// A packed body that is being unpacked.
pub struct Unpacker {
    reader: Box<dyn Read + Send>,
    encoding: &'static str,
    packed: usize,
    /// The decompressed size that the body itself claims.
    claimed: Option<usize>,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").field("encoding", &self.encoding).finish_non_exhaustive()
    }
}

impl Unpacker {
    /// Creates the decompressor for a `Content-Encoding`; `None` if the body is not compressed.
    ///
    /// # Errors
    /// [`BodyError`] says which HTTP status fits.
    pub fn new(packed: &Bytes, encoding: &str) -> Result<Option<Self>, BodyError> {
        let encoding = encoding.trim().to_ascii_lowercase();
        let (length, body) = (packed.len(), Cursor::new(packed.clone()));
        let (reader, encoding, claimed): (Box<dyn Read + Send>, _, _) = match encoding.as_str() {
            "" | "identity" => return Ok(None),
            "gzip" | "x-gzip" => {
                (Box::new(flate2::bufread::MultiGzDecoder::new(body)), "gzip", gzip_length(packed))
            }
            "deflate" => (Box::new(flate2::bufread::ZlibDecoder::new(body)), "deflate", None),
            "zstd" => (Box::new(zstd_reader(body)?), "zstd", None),
            _ => return Err(BodyError::Unsupported { encoding }),
        };
        Ok(Some(Self { reader, encoding, packed: length, claimed }))
    }

    /// Returns an initial capacity: the size that the body claims, if it is plausible, otherwise an estimate.
    #[must_use]
    pub fn first_capacity(&self) -> usize {
        // Log lines pack to a fifth or less.
        let guess = self.packed.saturating_mul(5).min(8 << 20);
        // One byte more, so that the end is found without growing the buffer.
        self.claimed.map_or(guess, |length| length.min(self.most(64)) + 1).max(1 << 10)
    }

    /// Returns the maximum decompressed size for a ratio.
    fn most(&self, ratio: usize) -> usize {
        self.packed.saturating_mul(ratio).max(FREE)
    }

    /// Checks the number of decompressed bytes against a limit and a ratio.
    ///
    /// # Errors
    /// If the number is above one of them.
    pub fn check(&self, unpacked: usize, limit: usize, ratio: usize) -> Result<(), BodyError> {
        let unpacked = unpacked.max(self.claimed.unwrap_or(0));
        if unpacked > limit {
            return Err(BodyError::TooLarge { limit });
        }
        if unpacked > self.most(ratio) { Err(BodyError::Ratio { ratio }) } else { Ok(()) }
    }

    /// Decompresses into the spare capacity of `out`, at most `step` bytes; returns the number of bytes, 0 at
    /// the end.
    ///
    /// # Errors
    /// If the body is not valid in its encoding.
    pub fn step(&mut self, out: &mut Vec<u8>, step: usize) -> Result<usize, BodyError> {
        let room = (out.capacity() - out.len()).min(step);
        let read = self.reader.by_ref().take(room as u64).read_to_end(out);
        read.map_err(|_| BodyError::Broken { encoding: self.encoding })
    }
}

/// A gzip body that is decompressed as it arrives: it may have no end.
#[derive(Debug)]
pub struct GzipStream {
    decoder: flate2::write::MultiGzDecoder<Vec<u8>>,
    packed: usize,
    unpacked: usize,
}

impl Default for GzipStream {
    fn default() -> Self {
        let decoder = flate2::write::MultiGzDecoder::new(Vec::new());
        Self { decoder, packed: 0, unpacked: 0 }
    }
}

impl GzipStream {
    /// Most packed bytes of a step: they unpack to 16 MB at most.
    pub const STEP: usize = 16 << 10;

    /// Unpacks the next bytes of the body, at most [`GzipStream::STEP`].
    ///
    /// # Errors
    /// The body is not gzip, or unpacks to more than `ratio` times its size.
    pub fn step(&mut self, packed: &[u8], ratio: usize) -> Result<Bytes, BodyError> {
        let written = self.decoder.write_all(packed);
        let flushed = written.and_then(|()| self.decoder.flush());
        flushed.map_err(|_| BodyError::Broken { encoding: "gzip" })?;
        let bytes = std::mem::take(self.decoder.get_mut());
        self.packed = self.packed.saturating_add(packed.len());
        self.unpacked = self.unpacked.saturating_add(bytes.len());
        if self.unpacked > self.packed.saturating_mul(ratio).max(FREE) {
            return Err(BodyError::Ratio { ratio });
        }
        Ok(bytes.into())
    }

    /// Whether the body is complete.
    ///
    /// # Errors
    /// It ends within its gzip.
    pub fn finish(mut self) -> Result<(), BodyError> {
        if self.packed == 0 {
            return Ok(());
        }
        self.decoder.try_finish().map_err(|_| BodyError::Broken { encoding: "gzip" })
    }
}

fn zstd_reader(body: Cursor<Bytes>) -> Result<impl Read + Send, BodyError> {
    let decoder = zstd::stream::read::Decoder::with_buffer(body);
    let limited = decoder.and_then(|mut decoder| {
        decoder.window_log_max(ZSTD_WINDOW_LOG)?;
        io::Result::Ok(decoder)
    });
    limited.map_err(|_| BodyError::Broken { encoding: "zstd" })
}

/// The length that the end of gzip states, of its last member and without the bits above 32; `None` where
/// gzip cannot pack that much into so few bytes, so that it is something else.
fn gzip_length(packed: &[u8]) -> Option<usize> {
    const MOST_PER_BYTE: usize = 1_040;
    let last = packed.last_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*last)).ok()?;
    Some(length).filter(|length| *length <= packed.len().saturating_mul(MOST_PER_BYTE))
}

/// Decompresses a body by its `Content-Encoding`, to at most `limit` bytes, in memory.
///
/// # Errors
/// [`BodyError`] says which HTTP status fits.
pub fn unpack(body: Bytes, encoding: &str, limit: usize, ratio: usize) -> Result<Bytes, BodyError> {
    let Some(mut unpacker) = Unpacker::new(&body, encoding)? else {
        return if body.len() > limit { Err(BodyError::TooLarge { limit }) } else { Ok(body) };
    };
    unpacker.check(0, limit, ratio)?;
    let mut out = Vec::with_capacity(unpacker.first_capacity());
    loop {
        if out.len() == out.capacity() {
            out.reserve(out.len());
        }
        if unpacker.step(&mut out, usize::MAX)? == 0 {
            return Ok(out.into());
        }
        unpacker.check(out.len(), limit, ratio)?;
    }
}

/// Returns the decompressed size that a snappy block claims, before any of it is decompressed.
///
/// # Errors
/// If it is not a snappy block, or the size is above the limit or the ratio.
pub fn snappy_length(packed: &[u8], limit: usize, ratio: usize) -> Result<usize, BodyError> {
    let length = snap::raw::decompress_len(packed);
    let length = length.map_err(|_| BodyError::Broken { encoding: "snappy" })?;
    if length > limit {
        return Err(BodyError::TooLarge { limit });
    }
    let most = packed.len().saturating_mul(ratio).max(FREE);
    if length > most { Err(BodyError::Ratio { ratio }) } else { Ok(length) }
}

/// Unpacks a snappy block, which takes the memory of [`snappy_length`].
///
/// # Errors
/// It is not a snappy block, or not one of the length that it claims.
pub fn unpack_snappy(packed: &[u8]) -> Result<Vec<u8>, BodyError> {
    let unpacked = snap::raw::Decoder::new().decompress_vec(packed);
    unpacked.map_err(|_| BodyError::Broken { encoding: "snappy" })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_packed_body_is_unpacked_up_to_the_limit() {
        let packed = gzip(&[b'x'; 1000]);
        let unpacked = |limit| unpack(packed.clone(), "gzip", limit, 100);
        assert_eq!(unpacked(1000).unwrap().len(), 1000);
        assert_eq!(unpacked(999), Err(BodyError::TooLarge { limit: 999 }));
        let torn = packed.slice(..packed.len() / 2);
        let broken = Err(BodyError::Broken { encoding: "gzip" });
        assert_eq!(unpack(torn, "gzip", 1_000_000, 100), broken);
        assert_eq!(unpack(Bytes::from_static(b"\x1f\x8bnot gzip"), "gzip", 1000, 100), broken);
        let other = unpack(packed.clone(), "br", 9, 100);
        assert!(matches!(other, Err(BodyError::Unsupported { .. })));
    }

    #[test]
    fn a_stream_is_unpacked_piece_by_piece_and_its_end_is_checked() {
        let packed = [gzip(b"first "), gzip(b"second")].concat();
        for size in [1, 7, packed.len()] {
            let mut stream = GzipStream::default();
            let pieces = packed.chunks(size).map(|piece| stream.step(piece, 100).unwrap());
            assert_eq!(pieces.collect::<Vec<_>>().concat(), b"first second", "{size}");
            assert_eq!(stream.finish(), Ok(()));
        }
        let broken = Err(BodyError::Broken { encoding: "gzip" });
        let mut torn = GzipStream::default();
        torn.step(&packed[..12], 100).unwrap();
        assert_eq!(torn.finish(), broken);
        assert_eq!(GzipStream::default().finish(), Ok(()));
        let text = GzipStream::default().step(b"an event that is plain text", 100);
        assert_eq!(text, Err(BodyError::Broken { encoding: "gzip" }));
    }

    #[test]
    fn several_members_are_one_body() {
        let packed = [gzip(&[b'x'; 100_000]), gzip(b"y")].concat();
        assert_eq!(unpack(packed.into(), "gzip", 1 << 20, 100).unwrap().len(), 100_001);
    }

    #[test]
    fn a_body_that_unpacks_to_far_more_than_text_would_is_refused_by_every_encoding() {
        let zeros = vec![0; 20 << 20];
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(&zeros).unwrap();
        // A gzip whose last member is short claims little.
        let lying = Bytes::from([gzip(&zeros), gzip(b"x")].concat());
        let bodies = [
            ("gzip", gzip(&zeros)),
            ("gzip", lying),
            ("deflate", zlib.finish().unwrap().into()),
            ("zstd", zstd::encode_all(&zeros[..], 3).unwrap().into()),
        ];
        for (encoding, packed) in bodies {
            let unpacked = unpack(packed, encoding, 1 << 30, 64);
            assert_eq!(unpacked, Err(BodyError::Ratio { ratio: 64 }), "{encoding}");
        }
    }

    #[test]
    fn a_snappy_block_is_unpacked_and_one_that_lies_or_is_torn_is_refused() {
        let text = b"a line of a log file, and another one; ".repeat(50);
        let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        assert_eq!(snappy_length(&packed, 10_000, 64), Ok(text.len()));
        assert_eq!(unpack_snappy(&packed), Ok(text));
        assert_eq!(snappy_length(&packed, 100, 64), Err(BodyError::TooLarge { limit: 100 }));
        let broken = BodyError::Broken { encoding: "snappy" };
        assert_eq!(unpack_snappy(&packed[..packed.len() / 2]), Err(broken.clone()));
        assert_eq!(unpack_snappy(b""), Err(broken.clone()));
        // A length of more bytes than the block has, of 32 MiB in eight bytes, and one without an end.
        assert_eq!(unpack_snappy(b"\x05\x00x"), Err(broken.clone()));
        let bomb = b"\x80\x80\x80\x10\x00xxx";
        assert_eq!(snappy_length(bomb, 64 << 20, 64), Err(BodyError::Ratio { ratio: 64 }));
        assert_eq!(snappy_length(&[0xff; 12], 64 << 20, 64), Err(broken));
    }

    fn gzip(text: &[u8]) -> Bytes {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(text).unwrap();
        packer.finish().unwrap().into()
    }
}

//! Compression of record payloads. Codecs of earlier versions stay readable.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// How journal payloads are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// No compression: least CPU time, most disk bandwidth.
    None,
    /// LZ4: a quarter of the disk bandwidth for about 1 ms of CPU time per megabyte.
    Lz4,
    /// zstd level 1: a sixth of the disk bandwidth for about twice the CPU time of LZ4.
    Zstd,
}

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
const LZ4: u8 = 2;

/// Minimum size of a payload that is compressed, in bytes.
const PACKED_FROM: usize = 512;

/// A compressor of payloads, which reuses its memory.
pub(crate) struct Packer {
    codec: Codec,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    packed: Vec<u8>,
}

impl Packer {
    /// Creates a packer. If zstd cannot allocate memory, payloads stay uncompressed.
    pub(crate) fn new(codec: Codec) -> Self {
        let zstd = match codec {
            Codec::Zstd => zstd::bulk::Compressor::new(1).ok(),
            Codec::None | Codec::Lz4 => None,
        };
        Self { codec, zstd, packed: Vec::new() }
    }

    /// Returns the payload as it is stored, and the code of its codec.
    pub(crate) fn pack<'a>(&'a mut self, plain: &'a [u8]) -> (u8, &'a [u8]) {
        if plain.len() < PACKED_FROM {
            return (PLAIN, plain);
        }
        let (code, bound) = match self.codec {
            Codec::None => return (PLAIN, plain),
            Codec::Lz4 => (LZ4, lz4_flex::block::get_maximum_output_size(plain.len())),
            Codec::Zstd => (ZSTD, zstd::zstd_safe::compress_bound(plain.len())),
        };
        if self.packed.len() < bound {
            self.packed.resize(bound, 0);
        }
        let length = match &mut self.zstd {
            Some(zstd) => zstd.compress_to_buffer(plain, self.packed.as_mut_slice()).ok(),
            None if code == LZ4 => lz4_flex::block::compress_into(plain, &mut self.packed).ok(),
            None => None,
        };
        match length {
            Some(length) if length < plain.len() => (code, &self.packed[..length]),
            _ => (PLAIN, plain),
        }
    }
}

/// Decompresses a payload. Fails with a reason if it is damaged or its codec is unknown.
pub(crate) fn unpack(code: u8, payload: &[u8], plain_len: usize) -> Result<Bytes, &'static str> {
    const BROKEN: &str = "the payload does not decompress";
    match code {
        PLAIN => Ok(Bytes::copy_from_slice(payload)),
        ZSTD => zstd::bulk::decompress(payload, plain_len).map(Bytes::from).map_err(|_| BROKEN),
        LZ4 => {
            let plain = lz4_flex::block::decompress(payload, plain_len).map_err(|_| BROKEN)?;
            if plain.len() == plain_len { Ok(plain.into()) } else { Err(BROKEN) }
        }
        _ => Err("the compression is unknown; the file is of a newer version"),
    }
}

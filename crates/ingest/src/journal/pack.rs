//! Compression of record payloads. Every codec that was ever written stays readable.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// How journal payloads are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// As they are: least processor time, most disk bandwidth.
    None,
    /// LZ4: a quarter of the disk bandwidth for about 1 ms of processor per megabyte.
    Lz4,
    /// zstd level 1: a sixth of the disk bandwidth for about twice the processor time of LZ4.
    Zstd,
}

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
const LZ4: u8 = 2;

/// Payloads below this size are not worth compressing.
const PACKED_FROM: usize = 512;

/// Compresses payloads, with memory that lives on between them.
pub(crate) struct Packer {
    codec: Codec,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    packed: Vec<u8>,
}

impl Packer {
    /// A packer; without memory for zstd it leaves payloads as they are.
    pub(crate) fn new(codec: Codec) -> Self {
        let zstd = match codec {
            Codec::Zstd => zstd::bulk::Compressor::new(1).ok(),
            Codec::None | Codec::Lz4 => None,
        };
        Self { codec, zstd, packed: Vec::new() }
    }

    /// The payload as it is stored, and the code of how.
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

/// The payload as it was; the reason if it cannot be had.
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

//! Digests of files of apps.

use std::fmt::Write;

use ring::digest::{Context, Digest, SHA256, digest};

/// SHA-256, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&digest(&SHA256, bytes))
}

/// SHA-256 of several parts and their lengths.
pub(crate) fn sha256_of<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    hexadecimal(&context.finish())
}

/// SHA-256 of a content that comes in pieces.
pub(crate) struct Digesting(Context);

impl Digesting {
    pub(crate) fn begin() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest, in hexadecimal digits.
    pub(crate) fn end(self) -> String {
        hexadecimal(&self.0.finish())
    }
}

fn hexadecimal(digest: &Digest) -> String {
    let mut text = String::with_capacity(64);
    for byte in digest.as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

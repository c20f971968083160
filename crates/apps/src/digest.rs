//! Digests of files of apps.

use std::fmt::Write;

/// SHA-256, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let mut text = String::with_capacity(64);
    for byte in digest.as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

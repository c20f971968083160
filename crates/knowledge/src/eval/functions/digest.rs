//! `md5`, `sha1`, `sha256`, `sha512`: digests of texts in hexadecimal.

use std::fmt::Write;

use md5::{Digest, Md5};

use super::{Function, each};

pub(super) const FUNCTIONS: &[Function] = &[
    each(&["md5"], |arguments| arguments.each(|text| Some(hex(&Md5::digest(text.as_bytes()))))),
    each(&["sha1"], |arguments| {
        arguments.each(|text| sha(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text))
    }),
    each(&["sha256"], |arguments| arguments.each(|text| sha(&ring::digest::SHA256, text))),
    each(&["sha512"], |arguments| arguments.each(|text| sha(&ring::digest::SHA512, text))),
];

fn sha(algorithm: &'static ring::digest::Algorithm, text: &str) -> Option<String> {
    Some(hex(ring::digest::digest(algorithm, text.as_bytes()).as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

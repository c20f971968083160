//! `md5`, `sha1`, `sha256`, `sha512`: digests of texts in hexadecimal.

use std::fmt::Write;

use md5::{Digest, Md5};

use super::{Function, Preparation, shown, text_of_each};

pub(super) const FUNCTIONS: &[Function] = &[
    shown("md5", |_| digest(of_md5)),
    shown("sha1", |_| digest(of_sha1)),
    shown("sha256", |_| digest(of_sha256)),
    shown("sha512", |_| digest(of_sha512)),
];

/// Appends the digest of a text to another text.
pub type TextDigest = fn(&[u8], &mut String);

/// The functions with their names, for evaluators of other languages.
pub const DIGESTS: &[(&str, TextDigest)] =
    &[("md5", of_md5), ("sha1", of_sha1), ("sha256", of_sha256), ("sha512", of_sha512)];

fn of_md5(text: &[u8], out: &mut String) {
    hex(&Md5::digest(text), out);
}

fn of_sha1(text: &[u8], out: &mut String) {
    sha(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text, out);
}

fn of_sha256(text: &[u8], out: &mut String) {
    sha(&ring::digest::SHA256, text, out);
}

fn of_sha512(text: &[u8], out: &mut String) {
    sha(&ring::digest::SHA512, text, out);
}

fn sha(algorithm: &'static ring::digest::Algorithm, text: &[u8], out: &mut String) {
    hex(ring::digest::digest(algorithm, text).as_ref(), out);
}

fn hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
}

fn digest(compute: TextDigest) -> Preparation {
    Ok(text_of_each(move |row, out| {
        compute(row.text(0)?.as_bytes(), out);
        Some(())
    }))
}

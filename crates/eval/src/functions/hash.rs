//! `md5`, `sha1`, `sha256`, `sha512`: digests of texts in hexadecimal.

use std::fmt::Write;

use md5::{Digest, Md5};

use super::{Function, Preparation, shown, text_of_each};

pub(super) const FUNCTIONS: &[Function] = &[
    shown("md5", |_| digest(|text, out| hex(&Md5::digest(text), out))),
    shown("sha1", |_| digest(|text, out| sha(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text, out))),
    shown("sha256", |_| digest(|text, out| sha(&ring::digest::SHA256, text, out))),
    shown("sha512", |_| digest(|text, out| sha(&ring::digest::SHA512, text, out))),
];

fn sha(algorithm: &'static ring::digest::Algorithm, text: &[u8], out: &mut String) {
    hex(ring::digest::digest(algorithm, text).as_ref(), out);
}

fn hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
}

fn digest(compute: fn(&[u8], &mut String)) -> Preparation {
    Ok(text_of_each(move |row, out| {
        compute(row.text(0)?.as_bytes(), out);
        Some(())
    }))
}

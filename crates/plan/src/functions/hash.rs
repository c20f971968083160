//! `md5`, `sha1`, `sha256`, `sha512`: digests of texts in hexadecimal.

use std::fmt::Write;

use md5::{Digest, Md5};

use crate::Error;
use crate::expr::Typed;
use crate::expr::kernel::text_of_each;
use crate::functions::{Function, Invocation, shown_values};

pub(crate) const FUNCTIONS: &[Function] = &[
    shown_values(&["md5"], (1, 1), |call| {
        digest("md5", call, |text, out| hex(&Md5::digest(text), out))
    }),
    shown_values(&["sha1"], (1, 1), |call| {
        digest("sha1", call, |text, out| sha(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text, out))
    }),
    shown_values(&["sha256"], (1, 1), |call| {
        digest("sha256", call, |text, out| sha(&ring::digest::SHA256, text, out))
    }),
    shown_values(&["sha512"], (1, 1), |call| {
        digest("sha512", call, |text, out| sha(&ring::digest::SHA512, text, out))
    }),
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

fn digest(
    name: &'static str,
    call: Invocation<'_>,
    compute: fn(&[u8], &mut String),
) -> Result<Typed, Error> {
    let function = text_of_each(name, move |row, out| {
        compute(row.text(0)?.as_bytes(), out);
        Some(())
    });
    Ok(function.call(call.texts()))
}

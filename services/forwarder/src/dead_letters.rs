//! Batches that an indexer refuses permanently: kept as files for an administrator.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use protocol::{Batch, content_body::Body};
use serde::Serialize;

use crate::Error;
use crate::queue::Place;

/// Metadata of a refused batch.
#[derive(Debug, Serialize)]
struct Letter<'a> {
    reason: &'a str,
    stream: &'a str,
    origins: Vec<[&'a str; 4]>,
    bytes: usize,
}

/// Writes the text of a batch and, beside it, the reason for the refusal; returns the path of the text.
///
/// # Errors
/// If the batch cannot be read or the files cannot be written.
pub(crate) fn keep(directory: &Path, place: &Place, reason: &str) -> Result<PathBuf, Error> {
    let header = place.header;
    let batch = Batch {
        sequence: header.sequence,
        settled: 0,
        compression: i32::from(header.compression),
        plain_len: header.plain_len,
        content: place.read()?,
    };
    let path = directory.join(format!("{:020}.txt", header.sequence));
    let fail = |error| Error::queue("write", &path, error);
    let content = protocol::unpack(&batch, usize::MAX >> 1)
        .map_err(|error| fail(std::io::Error::other(error)))?;
    let (origins, text) = match &content.body {
        None => (&[][..], &[][..]),
        Some(Body::Text(text)) => (text.origin.as_slice(), &text.bytes[..]),
        Some(Body::Events(events)) => (&events.origins[..], &events.text[..]),
    };
    let named = origins.iter().map(|origin| {
        let sourcetype = origin.sourcetype.as_deref().unwrap_or_default();
        [&*origin.index, &*origin.host, &*origin.source, sourcetype]
    });
    let letter =
        Letter { reason, stream: &content.stream, origins: named.collect(), bytes: text.len() };
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(directory)?;
        let mut file = File::create(&path)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::write(path.with_extension("json"), serde_json::to_vec_pretty(&letter)?)
    };
    write().map_err(fail)?;
    Ok(path)
}

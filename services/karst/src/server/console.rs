//! The web console's files, built by Vite and embedded in the binary.

use std::collections::HashMap;
use std::io::Write;

use api::ConsoleFiles;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../console/dist"]
struct Files;

/// The files that the API serves below `/`.
#[derive(Debug, Default)]
pub(crate) struct EmbeddedConsole {
    /// Gzip-compressed files, created on first request; `None` for files that do not get smaller.
    packed: Mutex<HashMap<String, Option<Bytes>>>,
}

/// Smaller files are not compressed.
const SMALL: usize = 1 << 10;

const NOT_BUILT: &str = "<!doctype html><title>Karst</title><p>This binary was built without the web \
                         console. Build it with <code>make console</code>, then build again.";

impl ConsoleFiles for EmbeddedConsole {
    fn file(&self, path: &str) -> Option<(Bytes, String)> {
        match Files::get(path) {
            Some(file) => {
                let media_type = file.metadata.mimetype().to_owned();
                Some((Bytes::from(file.data.into_owned()), media_type))
            }
            None if path == "index.html" => {
                Some((Bytes::from_static(NOT_BUILT.as_bytes()), "text/html".to_owned()))
            }
            None => None,
        }
    }
    fn packed(&self, path: &str) -> Option<Bytes> {
        let known = self.packed.lock().get(path).cloned();
        if let Some(known) = known {
            return known;
        }
        let (bytes, media_type) = self.file(path)?;
        let text = ["text/", "application/javascript", "application/json", "image/svg"];
        let worth = bytes.len() >= SMALL && text.iter().any(|kind| media_type.starts_with(kind));
        let packed = worth.then(|| pack(&bytes)).flatten();
        let mut kept = self.packed.lock();
        kept.insert(path.to_owned(), packed.clone());
        packed
    }
}

fn pack(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from).filter(|packed| packed.len() < bytes.len())
}

//! The web console's files, built by Vite and embedded in the binary.

use api::ConsoleFiles;
use bytes::Bytes;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../console/dist"]
struct Files;

/// What the API serves below `/`.
#[derive(Debug)]
pub(crate) struct EmbeddedConsole;

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
}

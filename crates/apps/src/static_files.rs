//! Files of apps for browsers: images and styles below `appserver/static`.
//!
//! Guarantees: no files outside that folder, no links, no scripts and no pages are served: the content of an
//! app must not run with the rights of the user who views it.

use std::fs;
use std::io;
use std::path::{Component, Path};

use crate::media_types::media_type;
use crate::{Apps, Error};

/// Bytes of one file.
const MAX_BYTES: u64 = 16 << 20;
/// A file for browsers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// The value of `Content-Type`.
    pub media_type: &'static str,
}

impl Apps {
    /// A file below `appserver/static` of an app.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a file that is not there or not served, [`Error::File`] if it cannot be read.
    pub fn static_file(&self, app: &str, path: &str) -> Result<StaticFile, Error> {
        let missing = || Error::NotFound(format!("{app}/{path}"));
        let plain = |path: &Path| {
            let mut parts = path.components();
            parts.all(|part| matches!(part, Component::Normal(_))) && !path.as_os_str().is_empty()
        };
        let (inside, one) = (Path::new(path), Path::new(app));
        if !plain(inside) || !plain(one) || one.components().count() != 1 || path.contains('\\') {
            return Err(missing());
        }
        let media_type = media_type(inside).ok_or_else(missing)?;
        let directory = self.directory_at(&self.files(), app).ok_or_else(missing)?;
        let mut file = directory.join("apps");
        let below = Path::new(app).join("appserver/static").join(inside);
        for part in below.components() {
            file.push(part);
            // Checks every folder of the path, too: a link in the middle may also lead out of the app.
            let known =
                fs::symlink_metadata(&file).map_err(|source| failed(&file, source, missing))?;
            if known.is_symlink() {
                return Err(missing());
            }
        }
        let known = fs::symlink_metadata(&file).map_err(|source| failed(&file, source, missing))?;
        if !known.is_file() {
            return Err(missing());
        }
        if known.len() > MAX_BYTES {
            let (bytes, most) = (known.len(), MAX_BYTES >> 20);
            return Err(Error::Invalid(format!(
                "{app}/{path} has {bytes} bytes; files of apps of more than {most} MiB are not served"
            )));
        }
        let bytes = fs::read(&file).map_err(|source| failed(&file, source, missing))?;
        Ok(StaticFile { bytes, media_type })
    }
}

fn failed(file: &Path, source: io::Error, missing: impl Fn() -> Error) -> Error {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing(),
        _ => Error::File { action: "read", path: file.display().to_string(), source },
    }
}

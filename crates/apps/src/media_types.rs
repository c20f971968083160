//! The files of apps that are served to browsers, and their media types.

use std::path::Path;

/// Suffixes of files that are served, and their media types.
const MEDIA_TYPES: [(&str, &str); 9] = [
    ("css", "text/css; charset=utf-8"),
    ("gif", "image/gif"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("webp", "image/webp"),
    ("bmp", "image/bmp"),
];

/// The media type of a file that is served, by the suffix of its name.
#[must_use]
pub fn media_type(path: &Path) -> Option<&'static str> {
    let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
    MEDIA_TYPES.iter().find(|(known, _)| *known == suffix).map(|(_, kind)| *kind)
}

//! The monitored targets, and the metadata of their events.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use knowledge::Pattern;
use model::IndexName;

use super::fingerprint::Fingerprint;
use super::paths::PathPattern;
use super::turn::Shared;
use crate::{InputMeta, Utf16};

/// Bytes that identify a file unless `initCrcLength` is set.
pub(crate) const INIT_LENGTH: usize = 256;

/// The salt of the checksum of a file's start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Salt {
    /// No salt: a file is identified by its content, under any name.
    #[default]
    None,
    /// `<SOURCE>`: files under different paths are different files.
    Source,
    /// A text: files that were read without it, or with another text, are read again.
    Text(String),
}

/// The source of the host of a file's events.
#[derive(Debug, Clone)]
pub enum HostFrom {
    /// The target's `host`.
    Setting,
    /// The first group of a regular expression on the path, if it matches.
    Path(Pattern),
    /// The name at that place of the path, counted from 1.
    Segment(usize),
}

/// Files to follow, or with `delete_when_read` to take in once and delete.
#[derive(Debug, Clone)]
pub struct MonitorTarget {
    pub(crate) text: String,
    pub(crate) pattern: PathPattern,
    /// The index of events.
    pub index: IndexName,
    /// The host of events.
    pub host: Arc<str>,
    /// A source of the host that replaces it if possible.
    pub host_from: HostFrom,
    /// Their source; `None`: the path of each file.
    pub source: Option<Arc<str>>,
    /// Their format; `None`: recognised per file.
    pub sourcetype: Option<Arc<str>>,
    /// Paths to take; `None`: all.
    pub whitelist: Option<Pattern>,
    /// Paths to leave.
    pub blacklist: Option<Pattern>,
    /// Whether directories below a directory are entered.
    pub recursive: bool,
    /// Whether symbolic links are followed.
    pub follow_symlink: bool,
    /// See [`Salt`].
    pub salt: Salt,
    /// Bytes at the start of a file that distinguish it from others.
    pub init_crc_length: usize,
    /// Files that have not been written for longer are left, until they are.
    pub ignore_older_than: Option<Duration>,
    /// Whether files that are there at the first look are read from their end.
    pub follow_tail: bool,
    /// A file that has not grown for that long is complete for now: its unfinished event is taken as
    /// it is and the file is closed. `None`: as long as the sink lets streams be silent.
    pub time_before_close: Option<Duration>,
    /// Whether files are deleted once all of their events are safe (`move_policy = sinkhole`).
    pub delete_when_read: bool,
    /// Whether the file belongs to the program, such as its log: it may be in a directory of the program.
    pub of_program: bool,
}

impl MonitorTarget {
    /// The files of a path, which may have the wildcards `*` and `...`.
    ///
    /// # Errors
    /// Why the path does not make a pattern.
    pub fn new(path: &str, index: IndexName, host: Arc<str>) -> Result<Self, String> {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        Ok(Self {
            text: path.to_owned(),
            pattern: PathPattern::compile(path)?,
            index,
            host,
            host_from: HostFrom::Setting,
            source: None,
            sourcetype: None,
            whitelist: None,
            blacklist: None,
            recursive: true,
            follow_symlink: true,
            salt: Salt::None,
            init_crc_length: INIT_LENGTH,
            ignore_older_than: None,
            follow_tail: false,
            time_before_close: None,
            delete_when_read: false,
            of_program: false,
        })
    }

    pub(crate) fn host_of(&self, path: &Path) -> Arc<str> {
        let text = path.to_string_lossy();
        let found = match &self.host_from {
            HostFrom::Setting => None,
            HostFrom::Path(pattern) => {
                pattern.groups_at(&text, 0).and_then(|groups| groups.get(1).map(str::to_owned))
            }
            HostFrom::Segment(place) => {
                let names = text.split('/').filter(|name| !name.is_empty());
                place.checked_sub(1).and_then(|at| names.into_iter().nth(at)).map(str::to_owned)
            }
        };
        match found {
            Some(host) if !host.is_empty() => host.into(),
            _ => Arc::clone(&self.host),
        }
    }

    /// Returns the metadata of a file's events.
    pub(crate) fn meta(&self, path: &Path, sample: &[u8], shared: &Shared) -> InputMeta {
        let source = self.source.clone().unwrap_or_else(|| path.to_string_lossy().into());
        let sourcetype = match &self.sourcetype {
            Some(sourcetype) => Arc::clone(sourcetype),
            // Decided once: later chunks of the file may look different.
            None => shared.sink.recognise(&source, sample),
        };
        InputMeta {
            index: self.index.clone(),
            host: self.host_of(path),
            source,
            sourcetype: Some(sourcetype),
        }
    }

    /// The byte order of a file whose configured character set is UTF-16.
    pub(crate) fn utf16(&self, path: &Path, shared: &Shared) -> Option<Utf16> {
        let path_text = path.to_string_lossy();
        let source = self.source.as_deref().unwrap_or(&path_text);
        shared.sink.utf16(source, self.sourcetype.as_deref(), &self.host_of(path))
    }

    pub(crate) fn salted(&self, path: &Path) -> Fingerprint {
        match &self.salt {
            Salt::None => Fingerprint::EMPTY,
            Salt::Source => Fingerprint::of(path.as_os_str().as_encoded_bytes()),
            Salt::Text(text) => Fingerprint::of(text.as_bytes()),
        }
    }

    /// Whether a file found under another name may be one that is known by its content.
    pub(crate) fn knows_content(&self) -> bool {
        !self.delete_when_read
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_host_can_be_a_part_of_the_path() {
        let index = IndexName::new("main").unwrap();
        let mut target = MonitorTarget::new("/logs/*/app.log", index, "me".into()).unwrap();
        let path = Path::new("/logs/web01/app.log");
        assert_eq!(&*target.host_of(path), "me");
        target.host_from = HostFrom::Segment(2);
        assert_eq!(&*target.host_of(path), "web01");
        target.host_from = HostFrom::Segment(9);
        assert_eq!(&*target.host_of(path), "me");
        target.host_from = HostFrom::Path(Pattern::compile(r"/(web\d+)/").unwrap());
        assert_eq!(&*target.host_of(path), "web01");
        assert_eq!(&*target.host_of(Path::new("/logs/db/app.log")), "me");
    }
}

//! The file with the sessions of `karst login`.
//!
//! It contains session keys, no passwords, and is readable by its user only. A session ends when the server
//! ends it (`sessionTimeout`); commands then ask the user to log in again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::config::sessions_file;

/// A session on a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) key: String,
    pub(super) user: String,
    /// Whether the login accepted any certificate.
    pub(super) insecure: bool,
}

/// The sessions by address.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Sessions(BTreeMap<String, Session>);

impl Sessions {
    pub(super) fn read() -> Result<Self> {
        sessions_file().map_or_else(|| Ok(Self::default()), |path| Self::read_from(&path))
    }

    pub(super) fn read_from(path: &Path) -> Result<Self> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
                format!("{} is damaged: remove it and log in again", path.display())
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// The session on a server.
    pub(super) fn of(&self, uri: &str) -> Option<Session> {
        self.0.get(uri.trim_end_matches('/')).cloned()
    }

    /// Adds or replaces the session on a server.
    pub(super) fn put(&mut self, uri: &str, session: Session) {
        self.0.insert(uri.to_owned(), session);
    }

    /// Forgets the session on a server.
    pub(super) fn remove(&mut self, uri: &str) {
        self.0.remove(uri);
    }

    /// Replaces the file as a whole, so that a kill leaves the old one or the new one.
    pub(super) fn write_to(&self, path: &Path) -> Result<()> {
        let failed = || format!("cannot write {}", path.display());
        let folder = path.parent().with_context(failed)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(failed)?;
        let new = path.with_extension("new");
        // The mode applies to new files only; an existing file may be readable by others.
        let _ = fs::remove_file(&new);
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
        let mut file = file.with_context(failed)?;
        file.write_all(&serde_json::to_vec(self)?).with_context(failed)?;
        fs::rename(&new, path).with_context(failed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn sessions_are_kept_by_address_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("karst/sessions.json");
        let mut sessions = Sessions::read_from(&path).unwrap();
        assert!(sessions.of("https://a:8089").is_none());
        let session = Session { key: "k".to_owned(), user: "u".to_owned(), insecure: true };
        sessions.put("https://a:8089", session);
        sessions.write_to(&path).unwrap();
        let read = Sessions::read_from(&path).unwrap();
        assert_eq!(read.of("https://a:8089/").unwrap().key, "k");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "{").unwrap();
        assert!(Sessions::read_from(&path).unwrap_err().to_string().contains("log in again"));
    }
}

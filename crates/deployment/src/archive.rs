//! An app in transit: a tar.gz of its files, with paths below the app's directory.
//!
//! Guarantees of unpacking, for archives from any source: no path leads outside of the app, only regular
//! files are unpacked, and the limits of bytes and files are kept. Other archives are refused with the
//! reason.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::{Component, Path};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::EntryType;

use crate::Error;
use crate::checksum::AppFile;

/// Maximum length of a path in bytes.
const MAX_PATH: usize = 1_000;
/// Maximum size of the headers of a file in an archive, with a long path.
const HEADERS: u64 = 4_096;

/// Limits of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of all files in bytes.
    pub bytes: u64,
    /// Maximum number of files.
    pub files: usize,
}

/// Packs an app. Equal files result in an equal archive.
///
/// # Errors
/// If a path cannot be in an archive, or the writer fails.
pub fn pack(files: &[AppFile], to: impl Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(to, Compression::default()));
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(if file.executable { 0o755 } else { 0o644 });
        header.set_mtime(0);
        archive.append_data(&mut header, &file.path, file.bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?.flush()
}

/// Unpacks an app.
///
/// # Errors
/// [`Error::App`] with the reason; [`Error::Archive`] for bytes that are not an archive.
pub fn unpack(packed: impl Read, limits: Limits) -> Result<Vec<AppFile>, Error> {
    // Paths and directories count, too, because a decompression bomb may consist of them only.
    let most = limits.bytes.saturating_add(HEADERS.saturating_mul(limits.files as u64 + 16));
    let mut archive = tar::Archive::new(GzDecoder::new(packed).take(most));
    let broken = |error: io::Error| Error::Archive(error.to_string());
    let (mut files, mut seen) = (Vec::new(), BTreeSet::new());
    let mut left = limits.bytes;
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = path_of(&entry.path().map_err(broken)?)?;
        match entry.header().entry_type() {
            EntryType::Regular => {}
            EntryType::Directory => continue,
            kind => {
                let kind = match kind {
                    EntryType::Symlink => "a symbolic link",
                    EntryType::Link => "a hard link",
                    EntryType::Fifo => "a FIFO",
                    EntryType::Char | EntryType::Block => "a device",
                    _ => "not a regular file",
                };
                return Err(Error::App(format!("{path} is {kind}: apps have regular files only")));
            }
        }
        if files.len() >= limits.files {
            return Err(too_many_files(limits));
        }
        let mut bytes = Vec::new();
        entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut bytes).map_err(broken)?;
        left = left.checked_sub(bytes.len() as u64).ok_or_else(|| too_large(limits))?;
        if !seen.insert(path.clone()) {
            return Err(Error::App(format!("{path} occurs twice")));
        }
        let executable = entry.header().mode().unwrap_or(0) & 0o111 != 0;
        files.push(AppFile { path, bytes, executable });
    }
    Ok(files)
}

pub(crate) fn too_large(limits: Limits) -> Error {
    Error::App(format!("the app has more than {} bytes (maxAppSize)", limits.bytes))
}

pub(crate) fn too_many_files(limits: Limits) -> Error {
    Error::App(format!("the app has more than {} files (maxAppFiles)", limits.files))
}

/// The path of a file in the form of apps.
pub(crate) fn path_of(path: &Path) -> Result<String, Error> {
    let shown = path.display();
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => {
                let part = part.to_str().filter(|part| !part.chars().any(char::is_control));
                let reason = || Error::App(format!("{shown}: names are UTF-8, without controls"));
                parts.push(part.ok_or_else(reason)?);
            }
            _ => return Err(Error::App(format!("{shown} leads outside of the app"))),
        }
    }
    let path = parts.join("/");
    if path.len() > MAX_PATH {
        return Err(Error::App(format!("{shown}: a path has at most {MAX_PATH} bytes")));
    }
    Ok(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::checksum::checksum;

    const LIMITS: Limits = Limits { bytes: 10_000, files: 10 };

    fn file(path: &str, bytes: &[u8]) -> AppFile {
        AppFile {
            path: path.to_owned(),
            bytes: bytes.to_vec(),
            executable: path.starts_with("bin"),
        }
    }

    /// An archive with unchecked headers.
    fn raw(path: &str, kind: EntryType, bytes: &[u8]) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(kind);
        header.set_mode(0o644);
        if kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        archive.append(&header, bytes).unwrap();
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn refused(packed: &[u8], limits: Limits) -> String {
        unpack(packed, limits).unwrap_err().to_string()
    }

    #[test]
    fn an_app_is_unpacked_as_it_was_packed() {
        let long = format!("default/{}/x.conf", "d".repeat(200));
        let files = [file("bin/run.sh", b"#!"), file("default/app.conf", b""), file(&long, b"x")];
        let mut packed = Vec::new();
        pack(&files, &mut packed).unwrap();
        let unpacked = unpack(&packed[..], LIMITS).unwrap();
        assert_eq!(unpacked, files);
        assert_eq!(checksum(&unpacked), checksum(&files));
        let mut again = Vec::new();
        pack(&files, &mut again).unwrap();
        assert_eq!(packed, again);
    }

    #[test]
    fn paths_that_lead_outside_are_refused() {
        for path in ["../x", "a/../../x", "/etc/x"] {
            let said = refused(&raw(path, EntryType::Regular, b"x"), LIMITS);
            assert!(said.contains("leads outside of the app"), "{path}: {said}");
        }
    }

    #[test]
    fn links_and_devices_are_refused() {
        for (kind, name) in [
            (EntryType::Symlink, "a symbolic link"),
            (EntryType::Link, "a hard link"),
            (EntryType::Fifo, "a FIFO"),
            (EntryType::Char, "a device"),
        ] {
            let said = refused(&raw("default/x.conf", kind, b""), LIMITS);
            assert!(said.contains(name), "{said}");
        }
        assert!(unpack(&raw("default", EntryType::Directory, b"")[..], LIMITS).unwrap().is_empty());
    }

    #[test]
    fn what_is_larger_than_the_limits_is_refused() {
        let mut packed = Vec::new();
        pack(&[file("a", &[0; 6_000]), file("b", &[0; 6_000])], &mut packed).unwrap();
        assert!(packed.len() < 500);
        assert!(refused(&packed, LIMITS).contains("more than 10000 bytes"));
        let many: Vec<AppFile> = (0..11).map(|n| file(&n.to_string(), b"")).collect();
        let mut packed = Vec::new();
        pack(&many, &mut packed).unwrap();
        assert!(refused(&packed, LIMITS).contains("more than 10 files"));
    }

    #[test]
    fn what_is_not_an_archive_is_refused() {
        let mut packed = Vec::new();
        pack(&[file("a", &[7; 3_000])], &mut packed).unwrap();
        for broken in [&b"text"[..], &packed[..20], &packed[..packed.len() - 30]] {
            assert!(refused(broken, LIMITS).contains("the archive cannot be read"));
        }
    }

    #[test]
    fn a_changed_bit_is_refused_or_changes_the_checksum() {
        let files = [file("bin/run.sh", b"#!/bin/sh"), file("default/app.conf", b"[ui]\n")];
        let mut packed = Vec::new();
        pack(&files, &mut packed).unwrap();
        let (sum, mut kept) = (checksum(&files), 0_usize);
        for at in 0..packed.len() * 8 {
            let mut changed = packed.clone();
            changed[at / 8] ^= 1 << (at % 8);
            // The header and the end of an archive have unused bits.
            if let Ok(found) = unpack(&changed[..], LIMITS)
                && checksum(&found) == sum
            {
                assert_eq!(found, files, "bit {at}");
                kept += 1;
            }
        }
        assert!(kept * 4 < packed.len() * 8, "{kept} of {} bits", packed.len() * 8);
    }

    #[test]
    fn a_path_twice_is_refused() {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        for path in ["a", "./a"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            archive.append_data(&mut header, path, &b""[..]).unwrap();
        }
        let packed = archive.into_inner().unwrap().finish().unwrap();
        assert!(refused(&packed, LIMITS).contains("a occurs twice"));
    }
}

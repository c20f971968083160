//! Apps on their way from a client to a server that has most of their files: those of the versions in effect.
//!
//! ```text
//! packages --pack_changes--> archive: <app>/<path> of the files that the server does not have,
//!                                     bundle.json: paths and digests of the others
//!          --unpack--------> packages: what was sent, and the list of the rest
//! ```
//!
//! Guarantees: a file that is not sent is the one with the same path and the same digest in the version of
//! the same app that is in effect; a client cannot name any other content. Of these files, only those are
//! read from the disk whose contents rules or reports need. An app has no more bytes and files than if all of
//! them had been sent. Leaves to others: how a version is stored (`installed.rs`).

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::blocking::{in_place, on_own_thread};
use crate::digest::sha256;
use crate::install::is_examined;
use crate::installed::InstalledApps;
use crate::package::{Listed, append, check_app_name, packer, unpacked};
use crate::{Error, Package, PackedFile};

/// The entry of the archive that names the files which are not in it.
const LIST: &str = "bundle.json";
/// What errors call the apps.
const BUNDLE: &str = "the bundle";

/// The digests of the files that a server has, by app and path.
pub type InEffect = BTreeMap<String, BTreeMap<String, String>>;

/// A file of an app that the server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    app: String,
    path: String,
    sha256: String,
    executable: bool,
}

/// Packed apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The archive.
    pub archive: Vec<u8>,
    /// Number of files in it.
    pub sent: usize,
    /// Number of files that are not in it, because the server has them.
    pub kept: usize,
}

/// Packs apps, but for the files that the server has.
///
/// # Errors
/// A path that no archive can have.
pub fn pack_changes(packages: &[Package], there: &InEffect) -> io::Result<Changes> {
    let mut archive = tar::Builder::new(packer());
    let (mut sent, mut kept) = (0, Vec::new());
    for Package { app, files, .. } in packages {
        let of_app = there.get(app);
        for file in files {
            let path = file.path.to_str();
            let known = path.and_then(|path| Some((path, of_app?.get(path)?)));
            // Of a file that the server does not know, the digest is of no use.
            match known.filter(|(_, digest)| **digest == sha256(&file.bytes)) {
                Some((path, digest)) => kept.push(Kept {
                    app: app.clone(),
                    path: path.to_owned(),
                    sha256: digest.clone(),
                    executable: file.executable,
                }),
                None => {
                    append(&mut archive, file, Path::new(app))?;
                    sent += 1;
                }
            }
        }
    }
    let list = PackedFile {
        path: PathBuf::from(LIST),
        bytes: serde_json::to_vec(&kept)?,
        executable: false,
    };
    append(&mut archive, &list, Path::new(""))?;
    let archive = archive.into_inner()?.finish()?;
    Ok(Changes { archive, sent, kept: kept.len() })
}

/// The files of an archive, by app: those that were sent, and those that were not, by path.
type Archived = BTreeMap<String, (Vec<PackedFile>, BTreeMap<String, Kept>)>;

/// Reads an archive of apps.
fn read(archive: impl BufRead) -> Result<Archived, Error> {
    let mut apps = Archived::new();
    // The command that packs apps leaves links out.
    let (sent, _) = unpacked(archive, BUNDLE)?;
    for file in sent {
        if file.path == Path::new(LIST) {
            let kept: Vec<Kept> = serde_json::from_slice(&file.bytes)
                .map_err(|error| Error::Invalid(format!("{LIST}: {error}")))?;
            for file in kept {
                let (_, of_app) = apps.entry(file.app.clone()).or_default();
                of_app.insert(file.path.clone(), file);
            }
            continue;
        }
        let mut parts = file.path.components();
        let app = parts.next().map(|app| app.as_os_str().to_string_lossy().into_owned());
        let path = parts.as_path().to_owned();
        let Some(app) = app.filter(|_| path != Path::new("")) else {
            let text = format!(
                "{} does not belong to an app: pack a directory of apps",
                file.path.display()
            );
            return Err(Error::Invalid(text));
        };
        let (of_app, _) = apps.entry(app).or_default();
        of_app.push(PackedFile { path, ..file });
    }
    Ok(apps)
}

impl InstalledApps {
    /// Reads the apps of an archive ([`pack_changes`], or any archive of a directory of apps). Files that are
    /// not in it are those of the versions in effect.
    pub(crate) async fn unpack(&self, archive: impl BufRead + Send) -> Result<Vec<Package>, Error> {
        let apps = in_place(|| on_own_thread(|| read(archive)))?;
        let mut packages = Vec::with_capacity(apps.len());
        for (app, (mut files, mut not_sent)) in apps {
            check_app_name(&app)?;
            for path in files.iter().filter_map(|file| file.path.to_str()) {
                not_sent.remove(path);
            }
            let (examined, kept) = self.files_in_effect(&app, not_sent).await?;
            files.extend(examined);
            files.sort();
            let package = Package { app, files, kept, links: Vec::new() };
            package.check_size()?;
            packages.push(package);
        }
        if packages.is_empty() {
            return Err(Error::Invalid("the bundle has no apps".to_owned()));
        }
        Ok(packages)
    }

    /// Looks for files in the version of an app that is in effect. The contents of those that rules or
    /// reports read come with them; the others are listed.
    async fn files_in_effect(
        &self,
        app: &str,
        named: BTreeMap<String, Kept>,
    ) -> Result<(Vec<PackedFile>, Vec<Listed>), Error> {
        if named.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let Some(version) = self.all()?.remove(app) else {
            return Err(gone(app, named.into_keys().next().unwrap_or_default()));
        };
        let manifest = self.manifest(app, &version.manifest).await?;
        let (mut examined, mut kept) = (Vec::new(), Vec::new());
        {
            let in_effect: HashMap<&str, &Listed> =
                manifest.files.iter().map(|file| (file.path.as_str(), file)).collect();
            for (path, Kept { sha256: digest, executable, .. }) in named {
                let known = in_effect.get(path.as_str()).filter(|file| file.sha256 == digest);
                let Some(known) = known else { return Err(gone(app, path)) };
                let file = Listed { executable, ..(*known).clone() };
                match is_examined(Path::new(&path)) {
                    true => examined.push(file),
                    false => kept.push(file),
                }
            }
        }
        let contents = self.contents(app, examined.clone()).await?;
        let file = |(file, bytes): (Listed, Bytes)| PackedFile {
            path: PathBuf::from(file.path),
            bytes: bytes.into(),
            executable: file.executable,
        };
        Ok((examined.into_iter().zip(contents).map(file).collect(), kept))
    }
}

/// The error for a file that is neither sent nor in effect.
fn gone(app: &str, path: String) -> Error {
    Error::Changed(format!(
        "{app}/{path} no longer exists here: another version of the app is in effect; send all files"
    ))
}

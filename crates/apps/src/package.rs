//! Packed apps: a directory or an archive as the name and the files of one app.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, Metadata};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Bytes that an app may have unpacked: it is in memory while it is installed.
const MAX_BYTES: u64 = 512 << 20;
/// Maximum bytes that are reserved for a file because its archive says so.
const EXPECTED: u64 = 1 << 20;
/// Maximum number of files of an app.
const MAX_FILES: usize = 100_000;
/// Bytes of an app's name.
const MAX_NAME: usize = 100;
/// The first bytes of gzip files.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of zip files.
const ZIP: [u8; 4] = *b"PK\x03\x04";
/// The bits of a file's mode that make it a program.
const EXECUTABLE: u32 = 0o111;

/// A file of a packed app.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackedFile {
    /// Its path below the directory of the app.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub executable: bool,
}

impl PackedFile {
    /// Writes the file below the directory of its app.
    pub(crate) fn write_below(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(&self.path);
        let write = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, &self.bytes)?;
            if self.executable {
                let mode = fs::metadata(&path)?.permissions().mode();
                // Users who may read the file may execute it.
                fs::set_permissions(&path, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))?;
            }
            Ok(())
        };
        let fail =
            |source| Error::File { action: "write", path: path.display().to_string(), source };
        write().map_err(fail)
    }
}

/// The directories of files that are written: each is created once.
#[derive(Debug, Default)]
pub(crate) struct Parents(HashSet<PathBuf>);

impl Parents {
    /// Creates the directory of a file, unless this has created it before.
    pub(crate) fn create(&mut self, file: &Path) -> io::Result<()> {
        let Some(parent) = file.parent().filter(|parent| !self.0.contains(*parent)) else {
            return Ok(());
        };
        fs::create_dir_all(parent)?;
        self.0.insert(parent.to_owned());
        Ok(())
    }
}

/// A file of an app as the manifest of a version lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its path below the directory of the app.
    pub path: String,
    /// The digest of its content.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Whether it is a program.
    pub executable: bool,
}

/// The files of an archive, and its links.
pub(crate) type Unpacked = (Vec<PackedFile>, Vec<PathBuf>);

/// An app that is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub app: String,
    /// Its files, by path.
    pub files: Vec<PackedFile>,
    /// Further files of it: those of the version in effect that a client did not send. Their contents are not
    /// in memory; no rule and no report reads them.
    pub kept: Vec<Listed>,
    /// Links in its archive, which are left out: they may lead anywhere.
    pub links: Vec<PathBuf>,
}

impl Package {
    /// Reads a directory, or a `.tgz`, `.tar.gz`, `.spl` or `.tar` file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the source is not an app, or a file that cannot be read.
    pub fn read(from: &Path) -> Result<Self, Error> {
        if from.is_dir() {
            return app_of((of_directory(from)?, Vec::new()), from);
        }
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => {
                Error::Invalid(format!("cannot read {}: {source}", from.display()))
            }
            _ => Error::File { action: "read", path: from.display().to_string(), source },
        };
        let packed = fs::read(from).map_err(fail)?;
        Self::unpack(packed.as_slice(), &from.to_string_lossy())
    }

    /// Reads an archive, compressed or not; `name` identifies it in errors, and is the name of an app whose
    /// archive has no directory.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn unpack(archive: impl BufRead, name: &str) -> Result<Self, Error> {
        app_of(unpacked(archive, name)?, Path::new(name))
    }

    /// The paths of all files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let kept = self.kept.iter().map(|file| Path::new(&file.path));
        self.files.iter().map(|file| file.path.as_path()).chain(kept)
    }

    /// Refuses an app of more bytes or files than one may have.
    pub(crate) fn check_size(&self) -> Result<(), Error> {
        let mut left = Limits::of(&self.app);
        let sent = self.files.iter().map(|file| file.bytes.len() as u64);
        for bytes in sent.chain(self.kept.iter().map(|file| file.bytes)) {
            left.take_file()?;
            left.take_bytes(bytes)?;
        }
        Ok(())
    }
}

/// The files of an archive, compressed or not, and its links.
pub(crate) fn unpacked(mut archive: impl BufRead, name: &str) -> Result<Unpacked, Error> {
    let first = archive.fill_buf().map_err(|source| Error::File {
        action: "read",
        path: name.to_owned(),
        source,
    })?;
    let (is_zip, is_gzip) = (first.starts_with(&ZIP), first.starts_with(&GZIP));
    if is_zip {
        let message = format!("{name} is a zip file: pack the app as .tgz, .tar.gz or .spl");
        return Err(Error::Invalid(message));
    }
    let name = Path::new(name);
    match is_gzip {
        true => {
            of_archive(GzDecoder::new(archive), name, "its content is not a tar file or is damaged")
        }
        false => of_archive(archive, name, "it is neither a gzip nor a tar file"),
    }
}

/// A compressor of archives.
pub(crate) fn packer() -> GzEncoder<Vec<u8>> {
    // Somebody waits for it: the default level takes several times as long, and makes text a little smaller.
    GzEncoder::new(Vec::new(), Compression::fast())
}

fn compressed<F: Borrow<PackedFile>>(
    files: impl IntoIterator<Item = F>,
    below: &Path,
) -> io::Result<Vec<u8>> {
    write_archive(packer(), files, below)?.finish()
}

/// Writes files below a directory as an archive (`.tar`).
fn write_archive<W: Write, F: Borrow<PackedFile>>(
    to: W,
    files: impl IntoIterator<Item = F>,
    below: &Path,
) -> io::Result<W> {
    let mut archive = tar::Builder::new(to);
    for file in files {
        let file: &PackedFile = file.borrow();
        append(&mut archive, file, below)?;
    }
    archive.into_inner()
}

/// Adds a file to an archive, below a directory.
pub(crate) fn append<W: Write>(
    archive: &mut tar::Builder<W>,
    file: &PackedFile,
    below: &Path,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(file.bytes.len() as u64);
    header.set_mode(if file.executable { 0o755 } else { 0o644 });
    archive.append_data(&mut header, below.join(&file.path), file.bytes.as_slice())
}

impl Package {
    /// The app as a compressed archive (`.tgz`).
    ///
    /// # Errors
    /// A path that no archive can have.
    pub fn pack(&self) -> io::Result<Vec<u8>> {
        compressed(&self.files, Path::new(&self.app))
    }

    /// The same; each file is dropped as soon as it is packed, so that the app is in memory once.
    ///
    /// # Errors
    /// As [`Self::pack`].
    pub fn into_packed(self) -> io::Result<Vec<u8>> {
        compressed(self.files, Path::new(&self.app))
    }

    /// The app as an archive (`.tar`).
    ///
    /// # Errors
    /// A path that no archive can have.
    pub fn archive(&self) -> io::Result<Vec<u8>> {
        write_archive(Vec::new(), &self.files, Path::new(&self.app))
    }
}

/// The bytes and files that an app may still have.
#[derive(Debug)]
pub(crate) struct Limits {
    /// The app, for errors.
    pub(crate) app: String,
    pub(crate) bytes: u64,
    pub(crate) files: usize,
}

impl Limits {
    pub(crate) fn of(app: &str) -> Self {
        Self { app: app.to_owned(), bytes: MAX_BYTES, files: MAX_FILES }
    }

    /// Counts a file, or another entry of a directory.
    pub(crate) fn take_file(&mut self) -> Result<(), Error> {
        let left = self.files.checked_sub(1);
        self.files = left.ok_or_else(|| too_large(Path::new(&self.app)))?;
        Ok(())
    }

    /// Counts bytes that stay in memory.
    pub(crate) fn take_bytes(&mut self, bytes: u64) -> Result<(), Error> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or_else(|| too_large(Path::new(&self.app)))?;
        Ok(())
    }

    /// Counts bytes of a file that is dropped.
    pub(crate) fn give_back(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
    }
}

/// The files of a directory. Links to directories are refused, as they may lead back.
fn of_directory(root: &Path) -> Result<Vec<PackedFile>, Error> {
    let mut files = Vec::new();
    let mut left = MAX_BYTES;
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        let fail = |path: &Path| {
            let path = path.display().to_string();
            move |source| Error::File { action: "read", path, source }
        };
        for entry in fs::read_dir(&folder).map_err(fail(&folder))? {
            let entry = entry.map_err(fail(&folder))?;
            let path = entry.path();
            if entry.file_type().map_err(fail(&path))?.is_dir() {
                waiting.push(path);
                continue;
            }
            let metadata = fs::metadata(&path).map_err(fail(&path))?;
            // Reading a FIFO or a device may never end.
            if !metadata.is_file() {
                let kind = match metadata.is_dir() {
                    true => "a link to a directory: replace it with a copy",
                    false => "not a regular file: remove it",
                };
                let message = format!("{} is {kind}", path.display());
                return Err(Error::Invalid(message));
            }
            if metadata.len() > left || files.len() >= MAX_FILES {
                return Err(too_large(root));
            }
            left -= metadata.len();
            let bytes = fs::read(&path).map_err(fail(&path))?;
            let executable = is_executable(&metadata);
            let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
            files.push(PackedFile { path, bytes, executable });
        }
    }
    files.sort();
    Ok(files)
}

pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & EXECUTABLE != 0
}

fn too_large(path: &Path) -> Error {
    let (path, mib) = (path.display(), MAX_BYTES >> 20);
    Error::Invalid(format!("{path} has more than {mib} MiB or {MAX_FILES} files"))
}

/// The files of an archive, and its links. `otherwise`: what the file is if not even its first header can be
/// read. The errors of the library have bytes of the file, and words of its own, so they are not quoted.
fn of_archive(packed: impl Read, path: &Path, otherwise: &str) -> Result<Unpacked, Error> {
    let mut archive = tar::Archive::new(packed.take(MAX_BYTES));
    let (mut files, mut links) = (BTreeMap::new(), Vec::new());
    let mut left = MAX_BYTES;
    let invalid = |reason: &str| {
        let message =
            format!("{} is not an app archive (.tgz, .tar.gz, .spl): {reason}", path.display());
        Error::Invalid(message)
    };
    let damaged = |_: io::Error| invalid("it is damaged or incomplete");
    let mut is_first = true;
    for found in archive.entries().map_err(damaged)? {
        let mut entry = match found {
            Err(_) if is_first => return Err(invalid(otherwise)),
            found => found.map_err(damaged)?,
        };
        is_first = false;
        let kind = entry.header().entry_type();
        let is_link = kind.is_symlink() || kind.is_hard_link();
        if !kind.is_file() && !is_link {
            continue;
        }
        let inside = entry.path().map_err(damaged)?.into_owned();
        let inside: PathBuf = inside.components().filter(|c| *c != Component::CurDir).collect();
        if is_link {
            if links.len() >= MAX_FILES {
                return Err(too_large(path));
            }
            links.push(inside);
            continue;
        }
        let sound = inside.components().all(|part| matches!(part, Component::Normal(_)));
        if !sound {
            let message =
                format!("{} has a file outside of it: {}", path.display(), inside.display());
            return Err(Error::Invalid(message));
        }
        let expected = entry.size().min(left).min(EXPECTED);
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
        // A sparse file has more bytes than the archive.
        entry.by_ref().take(left + 1).read_to_end(&mut bytes).map_err(damaged)?;
        if bytes.len() as u64 > left || files.len() >= MAX_FILES {
            return Err(too_large(path));
        }
        left -= bytes.len() as u64;
        let mode = entry.header().mode().unwrap_or(0);
        let executable = mode & EXECUTABLE != 0;
        // If two files have the same path, the last one counts, as for `tar`.
        files.insert(inside.clone(), PackedFile { path: inside, bytes, executable });
    }
    Ok((files.into_values().collect(), links))
}

/// Directories of which an app has at least one.
const PARTS: [&str; 4] = ["default", "local", "lookups", "metadata"];

/// The name of the app, and its files without its directory in front of them.
fn app_of((files, links): Unpacked, from: &Path) -> Result<Package, Error> {
    if files.iter().any(|file| PARTS.iter().any(|part| file.path.starts_with(part))) {
        let name = from.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let ends = [".tar.gz", ".tgz", ".spl", ".tar"];
        let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        return named(name, files, links);
    }
    let folder_of_app = |path: &Path| {
        let mut parts = path.components().map(|part| part.as_os_str().to_string_lossy());
        let (folder, part) = (parts.next()?, parts.next()?);
        (PARTS.contains(&&*part)).then(|| folder.into_owned())
    };
    let apps: BTreeSet<String> =
        files.iter().filter_map(|file| folder_of_app(&file.path)).collect();
    let shown = from.display();
    let mut names = apps.into_iter();
    let Some(name) = names.next() else {
        let message = format!("{shown} is not an app: it has no {}", PARTS.join(", no "));
        return Err(Error::Invalid(message));
    };
    let others: Vec<String> = names.collect();
    if !others.is_empty() {
        let others = others.join(", ");
        let message =
            format!("{shown} has several apps: {name}, {others}; install each of them separately");
        return Err(Error::Invalid(message));
    }
    let inside = |file: PackedFile| {
        let path = file.path.strip_prefix(&name).ok()?.to_owned();
        Some(PackedFile { path, ..file })
    };
    let files = files.into_iter().filter_map(inside).collect();
    let without_folder = |link: PathBuf| {
        let inside = link.strip_prefix(&name).map(Path::to_owned);
        inside.unwrap_or(link)
    };
    let links = links.into_iter().map(without_folder).collect();
    named(&name, files, links)
}

/// A package whose name can be that of a directory.
fn named(app: &str, files: Vec<PackedFile>, links: Vec<PathBuf>) -> Result<Package, Error> {
    check_app_name(app)?;
    Ok(Package { app: app.to_owned(), files, kept: Vec::new(), links })
}

pub(crate) fn check_app_name(name: &str) -> Result<(), Error> {
    let plain = !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.chars().any(char::is_control);
    if plain {
        return Ok(());
    }
    Err(Error::Invalid(format!("\"{name}\" cannot be the name of an app")))
}

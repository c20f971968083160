//! The paths that a program may use. Landlock can only grant: a directory that contains a private one is
//! replaced by its other entries.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::settings::{PATH, Settings};

/// Directories of the system.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/var/lib/ca-certificates",
];
/// Keys of the machine, in case root runs the server.
const KEYS: [&str; 3] = ["/etc/ssl/private", "/etc/pki/tls/private", "/etc/ssh"];
/// What belongs to an interpreter, in the directory that also has its `bin`. The directory itself is not
/// granted: it may be somebody's home.
const INSTALLED: [&str; 6] = ["bin", "lib", "lib64", "share", "ssl", "pyvenv.cfg"];
/// The code of other apps, and their defaults. Their `local` may have passwords.
const OF_OTHER_APPS: [&str; 3] = ["bin", "lib", "default"];

/// The paths for a run of a program.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// What it may read and execute.
    pub(super) read: Vec<PathBuf>,
    /// What it may also write.
    pub(super) write: Vec<PathBuf>,
    /// The directory of apps: names of files, not their content.
    pub(super) listed: Option<PathBuf>,
}

impl Paths {
    /// The paths for a program in `bin` of its app, with the directory of its run.
    pub(super) fn of(file: &Path, scratch: &Path, settings: &Settings) -> Self {
        let mut private: Vec<PathBuf> = settings.private_paths.iter().map(|at| real(at)).collect();
        private.extend(KEYS.iter().map(|at| real(Path::new(at))));
        let mut paths = Self::default();
        let system = SYSTEM.iter().map(PathBuf::from).chain(public(Path::new("/etc")));
        for path in system.chain(public(Path::new("/proc"))) {
            grant(&path, &private, &mut paths.read);
        }
        let (apps, listed) = of_apps(file);
        let given = settings.sandbox_read.iter().map(PathBuf::from);
        for path in apps.into_iter().chain(interpreter(&settings.python)).chain(given) {
            grant_named(&path, &private, &mut paths.read);
        }
        let given = settings.sandbox_write.iter().map(PathBuf::from);
        for path in [scratch.to_owned()].into_iter().chain(given) {
            grant_named(&path, &private, &mut paths.write);
        }
        paths.listed = listed;
        paths
    }
}

/// Adds a path, without what is private below it.
fn grant(path: &Path, private: &[PathBuf], granted: &mut Vec<PathBuf>) {
    // Otherwise it does not exist, or the server cannot read it either.
    let Ok(path) = path.canonicalize() else { return };
    // `/etc/mtab`, for example, leads to the entry of the server.
    if is_of_process(&path) || private.iter().any(|private| path.starts_with(private)) {
        return;
    }
    if !private.iter().any(|private| private.starts_with(&path)) {
        granted.push(path);
        return;
    }
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        // The target of a link is granted at its own place, or not.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            grant(&entry.path(), private, granted);
        }
    }
}

/// Adds a path that an administrator or the program's app names. It may be in a private directory, as apps
/// are in the directory of configuration.
fn grant_named(path: &Path, private: &[PathBuf], granted: &mut Vec<PathBuf>) {
    let at = real(path);
    let below: Vec<PathBuf> = private.iter().filter(|one| !at.starts_with(one)).cloned().collect();
    grant(&at, &below, granted);
}

/// The path without links.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// The entries of a directory that all users of the machine may read, without those of processes.
fn public(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_public = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
    };
    // Their names come first: a machine may have many processes.
    entries.map(|entry| entry.path()).filter(|path| !is_of_process(path)).filter(is_public)
}

/// Whether a path without links is the entry of a process in `/proc`, or below it. Root may read the
/// environment of the server there, and all users its command line. The entry of the program itself is not
/// known before it is started.
fn is_of_process(path: &Path) -> bool {
    let entry = path.strip_prefix("/proc").ok().and_then(|below| below.iter().next());
    entry.is_some_and(|name| name.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()))
}

/// The app of a program, parts of the other apps, and the directory of all apps.
fn of_apps(file: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    // Programs of lookups may be in directories below `bin`.
    let bin = file.ancestors().skip(1).find(|at| at.ends_with("bin")).or_else(|| file.parent());
    let Some(own) = bin.and_then(Path::parent) else { return (Vec::new(), None) };
    let mut read = vec![own.to_owned()];
    let apps = own.parent().filter(|apps| apps.ends_with("apps"));
    for entry in apps.and_then(|apps| fs::read_dir(apps).ok()).into_iter().flatten().flatten() {
        read.extend(OF_OTHER_APPS.map(|part| entry.path().join(part)));
    }
    (read, apps.map(Path::to_owned))
}

/// An interpreter with its libraries, both where the name is and where its links lead: the first is a virtual
/// environment, for example.
fn interpreter(python: &str) -> Vec<PathBuf> {
    let named = Path::new(python);
    let found = match named.is_absolute() {
        true => Some(named.to_owned()),
        false => PATH.split(':').map(|at| Path::new(at).join(named)).find(|file| file.is_file()),
    };
    let mut paths = Vec::new();
    for file in
        [found.as_ref().and_then(|file| file.canonicalize().ok()), found].into_iter().flatten()
    {
        let bin = file.parent().filter(|directory| directory.ends_with("bin"));
        if let Some(home) = bin.and_then(Path::parent) {
            paths.extend(INSTALLED.map(|part| home.join(part)));
        }
        paths.push(file);
    }
    paths
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with these files.
    fn directory(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let made = tempfile::tempdir().unwrap();
        let at = made.path().canonicalize().unwrap();
        for file in files {
            fs::create_dir_all(at.join(file).parent().unwrap()).unwrap();
            fs::write(at.join(file), "").unwrap();
        }
        (made, at)
    }

    #[test]
    fn a_private_directory_is_left_out_of_what_is_around_it_also_behind_links() {
        let (_made, at) = directory(&["opt/a/x", "opt/b/data/key", "opt/b/lib/x", "opt/c"]);
        symlink(at.join("opt/b"), at.join("opt/link")).unwrap();
        let private = [at.join("opt/b/data")];
        let granted = |path: &str| {
            let mut granted = Vec::new();
            grant(&at.join(path), &private, &mut granted);
            granted.sort();
            granted
        };
        let around = ["opt/a", "opt/b/lib", "opt/c"].map(|path| at.join(path));
        assert_eq!(granted("opt"), around);
        assert_eq!(granted("opt/link"), [at.join("opt/b/lib")]);
        assert_eq!(granted("opt/b/data/key"), Vec::<PathBuf>::new());
        assert_eq!(granted("opt/a"), [at.join("opt/a")]);
    }

    #[test]
    fn entries_of_processes_are_not_granted_also_behind_links() {
        let mut granted = Vec::new();
        for path in ["/proc/self/mounts", "/proc/mounts", "/proc/1", "/proc/meminfo"] {
            grant(Path::new(path), &[], &mut granted);
        }
        assert_eq!(granted, [Path::new("/proc/meminfo")]);
    }

    #[test]
    fn a_program_reads_its_app_and_the_code_of_others_in_a_private_directory_of_configuration() {
        let (_made, etc) = directory(&[
            "apps/own/bin/x.py",
            "apps/own/bin/linux/x.sh",
            "apps/own/local/x.conf",
            "apps/other/bin/lib.py",
            "apps/other/local/passwords.conf",
            "system/local/server.conf",
        ]);
        let settings = Settings { private_paths: vec![etc.clone()], ..Settings::default() };
        for program in ["apps/own/bin/x.py", "apps/own/bin/linux/x.sh"] {
            let paths = Paths::of(&etc.join(program), Path::new("/tmp"), &settings);
            let reads = |path: &str| paths.read.iter().any(|read| etc.join(path).starts_with(read));
            assert!(reads("apps/own/local/x.conf") && reads("apps/other/bin/lib.py"), "{paths:?}");
            assert!(!reads("apps/other/local/passwords.conf"), "{paths:?}");
            assert!(!reads("system/local/server.conf"), "{paths:?}");
            assert_eq!(paths.listed, Some(etc.join("apps")));
        }
    }

    #[test]
    fn an_interpreter_comes_with_its_libraries_and_not_with_the_home_around_them() {
        let (_made, at) = directory(&["home/bin/real", "venv/pyvenv.cfg"]);
        fs::create_dir(at.join("venv/bin")).unwrap();
        symlink(at.join("home/bin/real"), at.join("venv/bin/python")).unwrap();
        let paths = interpreter(&at.join("venv/bin/python").display().to_string());
        for path in ["venv/bin/python", "venv/pyvenv.cfg", "home/lib", "home/bin/real"] {
            assert!(paths.contains(&at.join(path)), "{path}");
        }
        assert!(!paths.contains(&at.join("home")) && !paths.contains(&at.join("venv")));
        assert_eq!(interpreter("no-such-python"), Vec::<PathBuf>::new());
    }
}

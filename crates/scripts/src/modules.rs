//! The Python modules `splunk.*`: an implementation of Karst of those that programs of apps use most.
//!
//! Guarantees: programs find them after the modules in their own directory, so that an app with a package
//! `splunk` uses its own. Not here: which programs need other modules of Splunk (`apps`).

use std::io::Result;
use std::path::{Path, PathBuf};

/// The directory of the modules, below the directory of the run.
const DIRECTORY: &str = "python";

/// The files of the package.
const FILES: [(&str, &str); 14] = [
    ("__init__.py", include_str!("../python/splunk/__init__.py")),
    ("Intersplunk.py", include_str!("../python/splunk/Intersplunk.py")),
    ("admin.py", include_str!("../python/splunk/admin.py")),
    ("auth.py", include_str!("../python/splunk/auth.py")),
    ("entity.py", include_str!("../python/splunk/entity.py")),
    ("input.py", include_str!("../python/splunk/input.py")),
    ("rest.py", include_str!("../python/splunk/rest.py")),
    ("util.py", include_str!("../python/splunk/util.py")),
    (
        "appserver/mrsparkle/lib/util.py",
        include_str!("../python/splunk/appserver/mrsparkle/lib/util.py"),
    ),
    ("clilib/bundle_paths.py", include_str!("../python/splunk/clilib/bundle_paths.py")),
    ("clilib/cli_common.py", include_str!("../python/splunk/clilib/cli_common.py")),
    ("mining/dcutils.py", include_str!("../python/splunk/mining/dcutils.py")),
    ("models/base.py", include_str!("../python/splunk/models/base.py")),
    ("models/field.py", include_str!("../python/splunk/models/field.py")),
];

/// Writes the modules below the directory of a run, unless they are there, and returns the directory for
/// `PYTHONPATH`.
///
/// # Errors
/// If the files cannot be written.
pub(crate) fn write(scratch: &Path) -> Result<PathBuf> {
    let directory = scratch.join(DIRECTORY);
    if directory.is_dir() {
        return Ok(directory);
    }
    for (name, text) in FILES {
        let path = directory.join("splunk").join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(directory)
}

//! `$SPLUNK_HOME` in the names of inputs, as apps write it.
//!
//! `$SPLUNK_HOME/etc` and `$SPLUNK_ETC` are the directory of configuration (`--conf-dir`), so
//! `$SPLUNK_HOME/etc/apps/<app>` is the directory of an app. Other directories of `$SPLUNK_HOME` exist only
//! if the directory of configuration is the `etc` of a Splunk. `$SPLUNK_DB` does not exist: buckets are
//! objects.

use std::path::{Path, PathBuf};

/// Names of the folders whose `.conf` files are read.
const LAYERS: [&str; 2] = ["local", "default"];

/// The directory of configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    etc: PathBuf,
}

/// The folder above `local` or `default` of a file: that of an app, or `system`. `None` for objects that were
/// made over REST, which have no file.
pub(super) fn owner(file: &Path) -> Option<&Path> {
    let layer = file.parent()?;
    let is_layer = LAYERS.iter().any(|name| layer.ends_with(name));
    layer.parent().filter(|_| is_layer)
}

impl Home {
    /// The directory that has a file of an app, or of the system.
    pub(super) fn of(file: &Path) -> Option<Self> {
        let owner = owner(file)?;
        let above = owner.parent()?;
        let etc = if owner.ends_with("system") { above } else { above.parent()? };
        let etc = if etc.as_os_str().is_empty() { Path::new(".") } else { etc };
        // Scripts may change their directory.
        Some(Self { etc: std::path::absolute(etc).unwrap_or_else(|_| etc.to_owned()) })
    }

    /// The directory above `etc`; if the directory of configuration has another name, that directory itself,
    /// as for the commands of apps.
    fn home(&self) -> &Path {
        self.above().unwrap_or(&self.etc)
    }

    fn above(&self) -> Option<&Path> {
        self.etc.parent().filter(|_| self.etc.ends_with("etc"))
    }

    /// Variables for the programs of apps.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let variable = |name: &str, path: &Path| (name.to_owned(), path.display().to_string());
        vec![variable("SPLUNK_HOME", self.home()), variable("SPLUNK_ETC", &self.etc)]
    }

    /// Expands the variables of a path.
    ///
    /// # Errors
    /// If the path is impossible, with the reason.
    pub(super) fn expand(&self, path: &str) -> Result<String, String> {
        let path = path.trim();
        if below(path, "$SPLUNK_DB").is_some() {
            return Err("there is no $SPLUNK_DB: buckets are in the object store".to_owned());
        }
        if let Some(rest) = below(path, "$SPLUNK_ETC") {
            return Ok(format!("{}{rest}", self.etc.display()));
        }
        let Some(rest) = below(path, "$SPLUNK_HOME") else { return Ok(path.to_owned()) };
        if let Some(rest) = below(rest, "/etc") {
            return Ok(format!("{}{rest}", self.etc.display()));
        }
        let Some(home) = self.above() else {
            return Err(format!(
                "there is no {path}: of $SPLUNK_HOME, only $SPLUNK_HOME/etc exists ({}); write an absolute path",
                self.etc.display()
            ));
        };
        Ok(format!("{}{rest}", home.display()))
    }
}

/// Returns the rest of a path after a directory: nothing, or a slash and names; `None` if the path is
/// outside.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory)?;
    // The command of a script has arguments.
    (rest.is_empty() || rest.starts_with(['/', '\\', ' '])).then_some(rest)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn home(file: &str) -> Home {
        Home::of(Path::new(file)).unwrap()
    }

    #[test]
    fn etc_is_the_directory_of_configuration() {
        for file in ["/srv/conf/apps/a/default/inputs.conf", "/srv/conf/system/local/inputs.conf"] {
            let home = home(file);
            let path = |text: &str| home.expand(text).unwrap();
            assert_eq!(path("$SPLUNK_HOME/etc/apps/a/bin/x.py -v"), "/srv/conf/apps/a/bin/x.py -v");
            assert_eq!(path("$SPLUNK_ETC/apps/a/logs"), "/srv/conf/apps/a/logs");
            assert_eq!(path("/var/log/$SPLUNK_HOME"), "/var/log/$SPLUNK_HOME");
            assert_eq!(path("$SPLUNK_HOMES/x"), "$SPLUNK_HOMES/x");
        }
        assert_eq!(Home::of(Path::new("apps/a/inputs")), None, "an object without a file");
    }

    #[test]
    fn other_directories_exist_only_beside_etc() {
        let splunk = home("/opt/splunk/etc/apps/a/local/inputs.conf");
        assert_eq!(splunk.expand("$SPLUNK_HOME/var/log").unwrap(), "/opt/splunk/var/log");
        assert_eq!(splunk.variables()[0], ("SPLUNK_HOME".to_owned(), "/opt/splunk".to_owned()));
        let other = home("/srv/conf/apps/a/local/inputs.conf");
        let error = other.expand("$SPLUNK_HOME/var/log").unwrap_err();
        assert!(error.starts_with("there is no $SPLUNK_HOME/var/log: "), "{error}");
        assert_eq!(other.variables()[0], ("SPLUNK_HOME".to_owned(), "/srv/conf".to_owned()));
        assert!(splunk.expand("$SPLUNK_DB/main").is_err());
    }
}

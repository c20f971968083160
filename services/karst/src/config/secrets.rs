//! Secrets in files: where a container gets them mounted, neither the command line nor the environment has
//! them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::ServerOptions;

/// Maximum size of a file with a secret.
const MAX_BYTES: u64 = 64 << 10;

impl ServerOptions {
    /// Reads the files of secrets in place of their flags.
    ///
    /// # Errors
    /// If a file cannot be read, is empty, or has more than one line.
    pub(crate) fn read_secrets(&mut self) -> Result<()> {
        for (flag, file, secret) in [
            ("--password-file", &self.password_file, &mut self.password),
            ("--hec-token-file", &self.hec_token_file, &mut self.hec_token),
            ("--metrics-token-file", &self.metrics_token_file, &mut self.metrics_token),
        ] {
            if let Some(path) = file {
                let read = read(path).with_context(|| format!("{flag} {}", path.display()))?;
                *secret = Some(read);
            }
        }
        Ok(())
    }
}

/// The line of a file, without the line break that editors add.
fn read(path: &Path) -> Result<String> {
    let bytes = fs::metadata(path)?.len();
    ensure!(bytes <= MAX_BYTES, "the file has {bytes} bytes, a secret at most {MAX_BYTES}");
    let text = fs::read_to_string(path)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    ensure!(!line.is_empty(), "the file is empty");
    ensure!(!line.contains(['\n', '\r']), "the file has more than one line");
    Ok(line.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_one_line_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        for (text, secret) in [("abc", "abc"), ("abc\n", "abc"), (" a b \r\n", " a b ")] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path).unwrap(), secret);
        }
        for (text, reason) in [("", "empty"), ("\n", "empty"), ("a\nb\n", "more than one line")] {
            fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}

//! The instance ID and keys in the data directory, each written once.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// The ID in `<data>/instance.id`, if it exists.
pub(crate) fn known(data_dir: &Path) -> Option<String> {
    let text = fs::read_to_string(data_dir.join("instance.id")).ok()?;
    Some(text.trim().to_owned())
}

/// The key in `<data>/auth/secrets.key` that encrypts stored passwords, created at the first start.
/// There is no other copy: without it they cannot be read.
pub(crate) fn secret_key(data_dir: &Path) -> Result<[u8; access::Secrets::KEY_BYTES]> {
    key_file(data_dir, "secrets.key")
}

/// The key in `<data>/auth/tokens.key` that signs API tokens, created at the first start. Without
/// it all tokens are invalid.
pub(crate) fn token_key(data_dir: &Path) -> Result<[u8; access::ApiTokens::KEY_BYTES]> {
    key_file(data_dir, "tokens.key")
}

fn key_file(data_dir: &Path, name: &str) -> Result<[u8; access::Secrets::KEY_BYTES]> {
    let path = data_dir.join("auth").join(name);
    match fs::read(&path) {
        Ok(bytes) => {
            bytes.try_into().ok().with_context(|| format!("{} is damaged", path.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = data_dir.join("auth");
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
            let key = access::Secrets::new_key()?;
            write_once(&path, &key, 0o600)?;
            Ok(key)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes a file atomically.
pub(crate) fn write_once(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let context = || format!("cannot write {}", path.display());
    let draft = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&draft)
        .with_context(context)?;
    file.write_all(bytes).with_context(context)?;
    file.sync_all().with_context(context)?;
    fs::rename(&draft, path).with_context(context)
}

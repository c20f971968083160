//! The limit of open files and sockets.

use anyhow::{Context, Result, ensure};
use rlimit::Resource;

/// Descriptors needed for sockets, journal, catalog and object storage before the first client.
const NEEDED: u64 = 128;
/// Size of a cache file on NVMe.
const CACHE_FILE_MIB: u64 = 16;

/// Raises the limit as far as permitted. `cache_mib`: size of the cache on NVMe.
///
/// # Errors
/// If it is too low for the server to start.
pub(crate) fn raise(cache_mib: u64) -> Result<()> {
    let (soft, hard) = Resource::NOFILE.get().context("cannot read the limit of open files")?;
    if soft < hard && Resource::NOFILE.set(hard, hard).is_err() {
        tracing::warn!(soft, hard, "cannot raise the limit of open files");
    }
    check(limit(), cache_mib)
}

/// The current limit.
pub(crate) fn limit() -> u64 {
    const ANY_SYSTEM_HAS: u64 = 256;
    Resource::NOFILE.get().map_or(ANY_SYSTEM_HAS, |(soft, _)| soft)
}

fn check(limit: u64, cache_mib: u64) -> Result<()> {
    let needed = NEEDED + cache_mib / CACHE_FILE_MIB;
    ensure!(
        limit >= needed,
        "the process may open {limit} files and sockets, and needs {needed} at least: raise the limit \
         (ulimit -n, LimitNOFILE= of the service; thousands are usual), or make the cache smaller \
         (--cache-nvme-mib)"
    );
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn too_few_descriptors_are_an_error_that_says_how_many_are_needed() {
        assert!(check(400, 4_096).is_ok());
        let error = check(256, 4_096).unwrap_err().to_string();
        assert!(error.contains("may open 256") && error.contains("needs 384"), "{error}");
    }
}

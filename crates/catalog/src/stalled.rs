//! Why the catalog of this process accepts no changes.

use std::fmt;

/// The cause, for the health of the process. Its text is for administrators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stalled {
    /// This process leads, and the object store does not accept its writes.
    Committing {
        /// The duration.
        seconds: u64,
        /// The last error of the store.
        reason: String,
    },
    /// This process follows, and no control plane sends it the catalog.
    Following {
        /// The addresses that are asked.
        leader: String,
        /// The duration.
        seconds: u64,
        /// The last failure.
        reason: String,
    },
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Committing { seconds, reason } => write!(
                f,
                "object storage has accepted no write of the catalog for {seconds} s: {reason}; changes and \
                 commits of buckets wait: {}",
                remedy(reason)
            ),
            Self::Following { leader, seconds, reason } => write!(
                f,
                "no control plane ({leader}) has given the catalog for {seconds} s: {reason}; changes and commits \
                 of buckets wait, and changes of other processes are not known here"
            ),
        }
    }
}

/// Returns what helps. An object store that is a directory has no keys, and its disk may be full.
fn remedy(reason: &str) -> &'static str {
    if reason.to_ascii_lowercase().contains("no space left on device") {
        return "free space, or inodes, on the disk of the object store";
    }
    if runtime::store::is_clock_skew(reason) {
        return "the clock of this machine differs from that of the object store: set it, for example with NTP";
    }
    "check the object store, its address and its keys"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_for_a_full_disk_is_space_and_not_the_keys() {
        let told = |reason: &str| {
            Stalled::Committing { seconds: 20, reason: reason.to_owned() }.to_string()
        };
        let full = told("unable to create a file: No space left on device (os error 28)");
        assert!(full.contains("inodes") && !full.contains("keys"), "{full}");
        assert!(told("403 Forbidden").ends_with("its address and its keys"));
    }

    #[test]
    fn the_remedy_for_a_wrong_clock_is_the_clock_and_not_the_keys() {
        let reason = "403 Forbidden: <Code>RequestTimeTooSkewed</Code>".to_owned();
        let told = Stalled::Committing { seconds: 20, reason }.to_string();
        assert!(told.contains("clock") && !told.contains("keys"), "{told}");
    }
}

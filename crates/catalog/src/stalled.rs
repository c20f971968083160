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
                 commits of buckets wait: check the object store, its address and its keys"
            ),
            Self::Following { leader, seconds, reason } => write!(
                f,
                "no control plane ({leader}) has given the catalog for {seconds} s: {reason}; changes and commits \
                 of buckets wait, and changes of other processes are not known here"
            ),
        }
    }
}

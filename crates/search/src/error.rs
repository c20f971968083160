//! Why a search could not be taken on or finished.

use model::{BucketHeader, ErrorKind};

/// An error of searching.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The search itself is at fault; `text` is a diagnostic that points at the place.
    #[error("{text}")]
    Search {
        /// Rendered for a terminal, with the line and a caret.
        text: String,
        /// What the caller can do.
        kind: ErrorKind,
    },
    /// A request parameter is at fault.
    #[error("{0}")]
    Request(String),
    /// A setting is at fault.
    #[error(transparent)]
    Setting(#[from] conf::Invalid),
    /// Too many searches wait already.
    #[error(
        "{waiting} searches are waiting already, the limit (max_queued_searches); try again later"
    )]
    TooManySearches {
        /// How many wait.
        waiting: usize,
    },
    /// Kept results take all the memory they may.
    #[error(
        "the results of {jobs} kept jobs take {bytes} bytes, the limit (kept_result_bytes); delete jobs, \
         or wait until they expire"
    )]
    TooManyResults {
        /// Jobs that are kept.
        jobs: usize,
        /// What their results take.
        bytes: usize,
    },
    /// The result takes more memory than a search may hold.
    #[error(
        "the result takes more than {} MB of memory: narrow the search, or raise max_mem_usage_mb in \
         limits.conf [search]", limit >> 20
    )]
    ResultBytes {
        /// The setting, in bytes.
        limit: usize,
    },
    /// A user, or a role, runs as many searches as allowed.
    #[error(
        "{user}: {used} searches are already running or waiting, the quota is {quota} ({name} of the \
         roles); wait for one to end, or cancel one"
    )]
    UserQuota {
        /// Which quota.
        name: &'static str,
        /// Whose.
        user: String,
        /// Searches that run or wait.
        used: usize,
        /// How many may.
        quota: usize,
    },
    /// The results of a user's jobs take as much as they may.
    #[error(
        "{user}: the results of kept jobs take {bytes} bytes, the quota is {quota} (srchDiskQuota of the \
         roles); delete jobs, or wait until they expire"
    )]
    ResultQuota {
        /// Whose.
        user: String,
        /// What they take.
        bytes: u64,
        /// What they may.
        quota: u64,
    },
    /// The result of a job is too large to be stored.
    #[error(
        "the result takes more than {} MB of object storage: keep fewer rows or fields, or raise \
         max_saved_result_mb in limits.conf [search]", limit >> 20
    )]
    SavedResultBytes {
        /// The setting, in bytes.
        limit: usize,
    },
    /// The stored results of a user take as much as they may.
    #[error(
        "{user}: the results of saved jobs would take {bytes} bytes of object storage, the quota is {quota} \
         (srchDiskQuota of the roles); delete saved jobs, or wait until they expire"
    )]
    SavedQuota {
        /// Whose.
        user: String,
        /// What they would take.
        bytes: u64,
        /// What they may.
        quota: u64,
    },
    /// There are as many stored jobs as there may be.
    #[error(
        "{jobs} jobs are saved already, the limit (max_saved_jobs in limits.conf [search]); delete some, or \
         wait until they expire"
    )]
    TooManySavedJobs {
        /// How many there are.
        jobs: usize,
    },
    /// The object of a stored job is not what was written.
    #[error("the results of the job cannot be read: {path}: {reason}; start the search again")]
    StoredJob {
        /// Where it is.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No such job, or it has expired.
    #[error("Unknown sid.")]
    UnknownJob,
    /// Stored events cannot be read.
    #[error("bucket {bucket}: {message}")]
    Bucket {
        /// Which one.
        bucket: String,
        /// What happened.
        message: String,
        /// Whether its object is not what was written, or is missing.
        damaged: bool,
    },
    /// Events of other processes cannot be read now, and the answer may not miss them.
    #[error("{0}")]
    Unavailable(String),
    /// The job was cancelled.
    #[error("the search was cancelled")]
    Cancelled,
    /// It may not begin: what is to be recorded of it cannot be.
    #[error("{0}")]
    Unrecorded(String),
    /// A defect in Karst.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// An error of the planner in a search text.
    pub(crate) fn of_search(error: &plan::Error, text: &str) -> Self {
        Self::Search { text: error.render(text), kind: error.kind() }
    }

    /// A bucket that cannot be read, with what the store said: where it was asked, and why it failed.
    pub(crate) fn unreadable(entry: &BucketHeader, error: &bucket::Error) -> Self {
        let cause = std::error::Error::source(error);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        let damaged = is_damage(error);
        Self::Bucket { bucket: entry.path(), message: format!("{error}{cause}"), damaged }
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Search { kind, .. } => *kind,
            Self::Request(_) | Self::Setting(_) | Self::Cancelled => ErrorKind::Invalid,
            Self::UserQuota { .. }
            | Self::ResultQuota { .. }
            | Self::TooManySearches { .. }
            | Self::TooManyResults { .. }
            | Self::ResultBytes { .. }
            | Self::SavedResultBytes { .. }
            | Self::SavedQuota { .. }
            | Self::TooManySavedJobs { .. } => ErrorKind::Exhausted,
            Self::StoredJob { .. } => ErrorKind::Corrupt,
            Self::UnknownJob => ErrorKind::NotFound,
            Self::Bucket { .. } | Self::Unavailable(_) | Self::Unrecorded(_) => {
                ErrorKind::Unavailable
            }
            Self::Internal(_) => ErrorKind::Internal,
        }
    }
}

/// Whether the object is not what was written, rather than out of reach.
pub(crate) fn is_damage(error: &bucket::Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound)
}

//! Why a search was refused or failed.

use model::{BucketHeader, ErrorKind};

/// An error of a search.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The search text is invalid; `text` is a diagnostic with its position.
    #[error("{text}")]
    Search {
        /// The diagnostic rendered for a terminal, with the line and a caret.
        text: String,
        /// The kind of the error for the caller.
        kind: ErrorKind,
    },
    /// A request parameter is invalid.
    #[error("{0}")]
    Request(String),
    /// A setting is invalid.
    #[error(transparent)]
    Setting(#[from] conf::Invalid),
    /// The queue of searches is full.
    #[error(
        "{waiting} searches are waiting already, the limit (max_queued_searches); try again later"
    )]
    TooManySearches {
        /// Number of queued searches.
        waiting: usize,
    },
    /// The results of kept jobs use all the memory for results.
    #[error(
        "the results of {jobs} kept jobs take {bytes} bytes, the limit (kept_result_bytes); delete jobs, \
         or wait until they expire"
    )]
    TooManyResults {
        /// Number of kept jobs.
        jobs: usize,
        /// Size of their results in bytes.
        bytes: usize,
    },
    /// The result exceeds the memory limit of a search.
    #[error(
        "the result takes more than {} MB of memory: narrow the search, or raise max_mem_usage_mb in \
         limits.conf [search]", limit >> 20
    )]
    ResultBytes {
        /// The limit in bytes.
        limit: usize,
    },
    /// A user or role has reached the quota of concurrent searches.
    #[error(
        "{user}: {used} searches are already running or waiting, the quota is {quota} ({name} of the \
         roles); wait for one to end, or cancel one"
    )]
    UserQuota {
        /// Name of the quota.
        name: &'static str,
        /// Name of the user.
        user: String,
        /// Number of running and queued searches.
        used: usize,
        /// The quota.
        quota: usize,
    },
    /// The results of a user's jobs have reached their quota.
    #[error(
        "{user}: the results of kept jobs take {bytes} bytes, the quota is {quota} bytes (srchDiskQuota of \
         the roles, {} MB); delete jobs, whose diskUsage tells what each takes, or wait until they expire",
        quota >> 20
    )]
    ResultQuota {
        /// Name of the user.
        user: String,
        /// Size of the results in bytes.
        bytes: u64,
        /// The quota in bytes.
        quota: u64,
    },
    /// The result of a job is too large to be stored.
    #[error(
        "the result takes more than {} MB of object storage: keep fewer rows or fields, or raise \
         max_saved_result_mb in limits.conf [search]", limit >> 20
    )]
    SavedResultBytes {
        /// The limit in bytes.
        limit: usize,
    },
    /// The stored results of a user would exceed their quota.
    #[error(
        "{user}: the results of saved jobs would take {bytes} bytes of object storage, the quota is {quota} \
         (srchDiskQuota of the roles); delete saved jobs, or wait until they expire"
    )]
    SavedQuota {
        /// Name of the user.
        user: String,
        /// Size of the results in bytes, including the new one.
        bytes: u64,
        /// The quota in bytes.
        quota: u64,
    },
    /// The maximum number of stored jobs is reached.
    #[error(
        "{jobs} jobs are saved already, the limit (max_saved_jobs in limits.conf [search]); delete some, or \
         wait until they expire"
    )]
    TooManySavedJobs {
        /// Number of stored jobs.
        jobs: usize,
    },
    /// The id that a client has chosen is that of another job.
    #[error("a job with the id \"{sid}\" exists already, or is being started")]
    IdTaken {
        /// The id.
        sid: String,
    },
    /// Another job with the same id is stored.
    #[error(
        "another search head has saved a job with the id \"{sid}\" already: start the search again with \
         another id, or with none"
    )]
    SavedElsewhere {
        /// The id.
        sid: String,
    },
    /// The object of a stored job is damaged.
    #[error("the results of the job cannot be read: {path}: {reason}; start the search again")]
    StoredJob {
        /// Path of the object.
        path: String,
        /// Description of the damage.
        reason: String,
    },
    /// The job does not exist or has expired.
    #[error("Unknown sid.")]
    UnknownJob,
    /// Stored events cannot be read.
    #[error("bucket {bucket}: {message}")]
    Bucket {
        /// Id of the bucket.
        bucket: String,
        /// The cause.
        message: String,
        /// Whether the object is damaged or missing.
        damaged: bool,
    },
    /// Events of other processes are unavailable, and incomplete results are not allowed.
    #[error("{0}")]
    Unavailable(String),
    /// The job was cancelled.
    #[error("the search was cancelled")]
    Cancelled,
    /// The server stops before the end of the search.
    #[error("the server is stopping: start the search again when it is back")]
    Stopping,
    /// The search must not start, because its audit record cannot be written.
    #[error("{0}")]
    Unrecorded(String),
    /// A defect in Karst.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// Converts an error of the planner in a search text.
    pub(crate) fn of_search(error: &plan::Error, text: &str) -> Self {
        Self::Search { text: error.render(text), kind: error.kind() }
    }

    /// Returns the error for an unreadable bucket, with the location and the cause reported by the store.
    pub(crate) fn unreadable(entry: &BucketHeader, error: &bucket::Error) -> Self {
        let cause = std::error::Error::source(error);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        let damaged = is_damage(error);
        Self::Bucket { bucket: entry.path(), message: format!("{error}{cause}"), damaged }
    }

    /// Returns the kind of the error for the caller.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Search { kind, .. } => *kind,
            Self::Request(_) | Self::Setting(_) | Self::IdTaken { .. } | Self::Cancelled => {
                ErrorKind::Invalid
            }
            Self::UserQuota { .. }
            | Self::ResultQuota { .. }
            | Self::TooManySearches { .. }
            | Self::TooManyResults { .. }
            | Self::ResultBytes { .. }
            | Self::SavedResultBytes { .. }
            | Self::SavedQuota { .. }
            | Self::TooManySavedJobs { .. } => ErrorKind::Exhausted,
            Self::SavedElsewhere { .. } => ErrorKind::Conflict,
            Self::StoredJob { .. } => ErrorKind::Corrupt,
            Self::UnknownJob => ErrorKind::NotFound,
            Self::Bucket { .. } | Self::Unavailable(_) | Self::Unrecorded(_) | Self::Stopping => {
                ErrorKind::Unavailable
            }
            Self::Internal(_) => ErrorKind::Internal,
        }
    }
}

/// Whether an error means that the object is damaged, rather than unavailable.
pub(crate) fn is_damage(error: &bucket::Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound)
}

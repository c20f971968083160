//! What a caller can do about an error, the same eight answers for every crate.

/// Every crate's error maps onto one of these; HTTP statuses and exit codes derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is wrong: change it.
    Invalid,
    /// Whoever asks may not: ask somebody who may, or for the right.
    Forbidden,
    /// The thing named does not exist.
    NotFound,
    /// Somebody else changed it, or it exists already: read again.
    Conflict,
    /// A dependency is away: retry later.
    Unavailable,
    /// A limit is reached: slow down, or raise the limit.
    Exhausted,
    /// Stored bytes are not what was written: repair.
    Corrupt,
    /// A defect in Karst: report it.
    Internal,
}

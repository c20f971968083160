//! The kinds of errors, by what a caller can do about them; the same eight for every crate.

/// The kind of an error of any crate; HTTP statuses and exit codes derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is wrong: change it.
    Invalid,
    /// The caller lacks permission: ask for it, or let another user do it.
    Forbidden,
    /// The named object does not exist.
    NotFound,
    /// The object was changed meanwhile or exists already: read it again.
    Conflict,
    /// A dependency is not available: retry later.
    Unavailable,
    /// A limit is reached: slow down, or raise the limit.
    Exhausted,
    /// Stored bytes are damaged: repair them.
    Corrupt,
    /// A defect in Karst: report it.
    Internal,
}

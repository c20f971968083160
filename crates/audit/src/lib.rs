//! The audit trail: who did what, from where, with what outcome, in append-only files whose records
//! are chained, so that changes are detected.
//!
//! Not part of this crate: which actions are recorded (`api` and the server decide), how records
//! are indexed, how the head of the chain is saved outside the files. `docs/audit.md` describes who
//! can forge what.
//!
//! ```text
//! Record -> AuditLog (bounded queue) -> write, fsync -> audit-<seq>.log -> Reader -> index _audit
//!                                          \-> Head -> anchors                 \-> Verifier
//! ```
//!
//! Invariants: sequence numbers have no gaps; a record's hash covers its text and the hash before
//! it; records are synced before [`AuditLog::append`] returns and before they are indexed.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod chain;
mod error;
mod files;
mod limiter;
mod log;
mod reader;
mod record;
mod recovery;
mod settings;
mod shared;
mod verify;
mod writer;

pub use chain::{Digest, Head, Key};
pub use error::Error;
pub use limiter::{Limiter, Verdict};
pub use log::{AuditLog, Opened};
pub use reader::{Entry, Reader};
pub use record::{Info, Line, Record};
pub use settings::{OnFailure, Settings};
pub use verify::{Anchor, Finding, Kind, Summary, Verifier, verify_directory};

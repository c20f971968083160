//! The audit trail: who did what, from where, with what outcome, in files that only grow and whose
//! records are chained, so that a change to them is found.
//!
//! Not here: what is worth a record (`api` and the server decide), where records are indexed, how the
//! head of the chain is anchored outside of the files; `docs/audit.md` says who can forge what.
//!
//! ```text
//! Record -> AuditLog (bounded queue) -> write, fsync -> audit-<seq>.log -> Reader -> index _audit
//!                                          \-> Head -> anchors                 \-> Verifier
//! ```
//!
//! Invariants: sequence numbers have no gaps; a record's hash covers its text and the hash before it;
//! what [`AuditLog::append`] has answered is synced; what is read to be indexed was synced before.

mod chain;
mod error;
mod files;
mod limiter;
mod log;
mod reader;
mod record;
mod recovery;
mod settings;
mod verify;
mod writer;

pub use chain::{Digest, Key};
pub use error::Error;
pub use limiter::{Limiter, Verdict};
pub use log::{AuditLog, Head, Opened};
pub use reader::{Entry, Reader};
pub use record::{Info, Line, Record};
pub use settings::{OnFailure, Settings};
pub use verify::{Anchor, Finding, Kind, Summary, Verifier, verify_directory};

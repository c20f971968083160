//! Who may do what: users and their sessions, roles and their capabilities, tokens of senders,
//! permissions of shared objects, passwords that apps keep.
//!
//! All of them are documents of the catalog, read at the start and kept in memory; a change is written
//! first and seen afterwards. Nothing here knows HTTP: `api` asks, and makes answers of it.
//!
//! ```text
//! accounts  sessions     who asks
//! roles  capabilities    what they may do, which indexes they search
//! authority  limits      the same as one answer: the Rights of a user
//! permissions            which roles read and change a shared object
//! tokens                 who sends events
//! secrets                passwords of apps, sealed
//! ```

mod accounts;
mod authority;
pub mod capabilities;
mod error;
pub mod limits;
mod passwords;
mod permissions;
mod roles;
mod secrets;
mod sessions;
mod tokens;

pub use accounts::{Accounts, NewUser, User, UserChange};
pub use authority::{Authority, Object, Rights};
pub use error::Error;
pub use limits::SearchLimits;
pub use passwords::Checked;
pub use permissions::{Permissions, Perms};
pub use roles::{Imported, Role, Roles, is_built_in, like};
pub use secrets::{Secret, Secrets};
pub use sessions::SessionInfo;
pub use tokens::{HecToken, HecTokens};

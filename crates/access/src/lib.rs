//! Authentication and authorization: users, sessions, roles, capabilities, tokens, permissions of
//! shared objects, stored passwords of apps.
//!
//! All of these are documents of the catalog, read at the start and kept in memory; a change is
//! written to the catalog first. This crate does not depend on HTTP; `api` builds the responses.
//!
//! ```text
//! accounts  login        who asks: passwords, password_policy, lockout, sessions
//! api_tokens             the same for programs
//! external  ldap  oidc  saml   users that others keep
//! roles  capabilities    what they may do, which indexes they search
//! authority  limits      the same as one answer: the Rights of a user
//! permissions            which roles read and change a shared object
//! tokens                 who sends events
//! secrets                passwords of apps, sealed
//! ```

mod accounts;
mod api_tokens;
mod authentication;
mod authority;
pub mod capabilities;
mod error;
mod external;
pub mod ldap;
pub mod limits;
pub mod lockout;
mod login;
pub mod oidc;
pub mod password_policy;
mod passwords;
mod permissions;
mod roles;
pub mod saml;
mod secrets;
mod server_settings;
mod sessions;
pub mod settings;
mod shared_sessions;
mod stanza;
#[cfg(test)]
mod tests;
mod tokens;

pub use accounts::{Accounts, NewUser, User, UserChange};
pub use api_tokens::{
    ApiToken, ApiTokens, Bearer, MAX_EPHEMERAL_SECONDS, NewToken, Scope, Use, looks_like_jwt,
};
pub use authentication::{AuthenticationSettings, Console, ProviderSettings};
pub use authority::{Authority, Object, Reach, Rights};
pub use error::Error;
pub use external::{ExternalUser, LoginRequest, RoleMap, user_name_fault};
pub use limits::SearchLimits;
pub use login::{Attempt, Entered, Refusal};
pub use passwords::Checked;
pub use permissions::{Permissions, Perms};
pub use roles::{Imported, Role, Roles, is_built_in, like, role_name_fault};
pub use secrets::{Secret, Secrets, derived_key};
pub use server_settings::ServerSettings;
pub use sessions::{AtProvider, ExpiredSession, SessionInfo, SessionSettings, SessionUser};
pub use settings::time_span;
pub use tokens::{HecToken, HecTokens};

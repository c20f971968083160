//! SAML 2.0 web browser single sign-on, as a service provider.
//!
//! Functions here do no I/O and have no clock: time, randomness and the contents of files are arguments,
//! and the caller keeps all state.
//!
//! ```text
//! settings                 authentication.conf
//! request      metadata    to the provider: login, logout, who this server is
//! response  assertion      from the provider: who logged in
//! signature  certificate   who said so
//! c14n  xml                the text that was signed
//! pending  replay          logins under way; an assertion is good once
//! ```
//!
//! The accepted messages are a small part of SAML: responses of the HTTP-POST binding to a request of this
//! server, with one assertion that is signed by a configured certificate, or is in a response signed by
//! one. [`response`] and `signature` explain why other messages are refused.

mod assertion;
mod c14n;
mod certificate;
mod error;
mod login;
mod metadata;
mod pending;
mod replay;
pub mod request;
pub mod response;
mod settings;
mod signature;
mod time;
mod xml;

pub use certificate::{Certificate, SignatureAlgorithm, SigningKey};
pub use error::Error;
pub use login::{Expected, Login, Subject};
pub use metadata::metadata;
pub use pending::PendingLogins;
pub use replay::UsedAssertions;

pub use settings::{ACS_PATH, AttributeNames, Console, DECLARED, Settings};
pub use signature::DigestAlgorithm;

//! The deployment server: which apps a forwarder is to have, and the messages by which it gets them.
//!
//! ```text
//! serverclass.conf -> ServerClasses --+
//! deployment-apps/ -> Repository -----+-> DeploymentServer: phone_home -> Answer (apps by checksum)
//!                                     |                      download  -> archive of one version
//! forwarder: PhoneHome, signed -------+-> Clients (who phoned home, for people)
//! ```
//!
//! Guarantees: a forwarder that does not prove the key learns nothing; an answer is signed with the key, and
//! an app is what its checksum says, so that nobody in between can put programs on forwarders; a mistake in
//! the configuration or in an app never takes an app away from a forwarder: the rules before stay in force,
//! or the forwarder keeps what it has.
//!
//! Leaves to others: HTTP and who may see the lists (`api`), when files are read again (`services/karst`),
//! polling and installing (`services/forwarder`). The clock is an argument; the only I/O is `repository`
//! and the archives that [`DeploymentServer`] keeps in a directory of its own.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod archive;
mod checksum;
mod classes;
mod clients;
mod error;
mod filter;
mod messages;
mod proof;
mod repository;
mod server;
mod settings;

pub use archive::{Limits, pack, unpack};
pub use checksum::{AppFile, checksum, is_checksum};
pub use classes::{AppRule, ClassRule, Facts, FilterType, ServerClasses, StateOnClient};
pub use clients::{Client, ClientApp, Counts};
pub use error::Error;
pub use messages::{
    Answer, DownloadRequest, InstalledApp, Outcome, PhoneHome, VERSION, WantedApp, Work, work,
};
pub use proof::{Key, PROOF_HEADER, TIME_HEADER};
pub use repository::{KnownApp, Repository, is_app_name};
pub use server::{DeploymentServer, Download, Parts, View};
pub use settings::Settings;

/// The declarations of settings.
pub const DECLARED: &[&[conf::Setting]] = settings::DECLARED;

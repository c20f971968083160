//! The deployment server: which apps a forwarder gets, and the messages of their distribution. Also indexer
//! discovery: the messages by which a forwarder learns the indexers ([`IndexerDiscovery`]).
//!
//! ```text
//! serverclass.conf -> ServerClasses --+
//! deployment-apps/ -> Repository -----+-> DeploymentServer: phone_home -> Answer (apps by checksum)
//!                                     |                      download  -> archive of one version
//! forwarder: PhoneHome, signed -------+-> Clients (who phoned home, for people)
//! ```
//!
//! Guarantees: a forwarder that does not prove that it has the key learns nothing. An answer is signed with
//! the key, and the contents of an app have to match its checksum, so that a man in the middle cannot
//! install programs on forwarders. An error in the configuration or in an app never removes an app from a
//! forwarder: the previous rules stay in force, or the forwarder keeps the installed version.
//!
//! Not here: HTTP and the permissions for the lists (`api`), the time of reloads (`services/karst`),
//! polling and installing (`services/forwarder`). The clock is an argument; the only I/O is in `repository`
//! and in the archives that [`DeploymentServer`] keeps in its own directory.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod archive;
mod checksum;
mod classes;
mod clients;
mod discovery;
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
pub use discovery::{
    DISCOVERY_VERSION, DiscoveredIndexers, DiscoveryRequest, IndexerDiscovery, ReceivingIndexer,
    ReceivingPort,
};
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

//! HTTP in front of Karst: HEC, OTLP, Elasticsearch's bulk interface, Loki's push API,
//! Splunk-compatible REST, SQL, metrics, the console's files.
//!
//! Not here: decisions. A route reads a request, calls `ingest`, `search` or `catalog`, and writes
//! the answer in the format that was asked for; statuses come from error kinds in `error.rs`.
//!
//! ```text
//! 8088 hec::router         events in, tokens
//! 4317 otlp, 9200 elastic, 3100 loki  the same from the shippers of OpenTelemetry, Elasticsearch, Loki
//! 8089 rest::router        Splunk REST, sessions; flight: Arrow Flight SQL
//! 8000 rest::router + console files
//! ```
//!
//! One file per resource in `routes/`, which declares its routes with what they need.

mod arrival;
mod atom;
mod audit;
mod authorize;
mod body;
mod call;
mod control;
mod cookies;
mod copy_fixups;
mod credentials;
mod declared;
mod effects;
mod elastic;
mod error;
mod filter;
mod flight;
mod hec;
mod http_input;
mod intake;
mod loki;
mod messages;
mod namespace;
mod origin;
mod others;
mod otlp;
mod output;
mod params;
mod portable;
mod receiver;
mod receivers;
mod rest;
mod rights;
mod routes;
mod routing;
mod security_headers;
mod session;
mod status_streams;
#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::unwrap_used)]
mod tests;
mod traced;
mod work;

use std::sync::Arc;

use ::apps::{Apps, Suppressions};
use access::{Accounts, Authority, HecTokens, Permissions, Roles, Secrets, ServerSettings};
use catalog::Catalog;
use ingest::{IndexCatalog, Ingest};
use knowledge::Knowledge;
use runtime::{Clock, Health, Shutdown};
use search::SearchService;

pub use arrival::Arrival;
pub use audit::{Audit, Proxies, Requester, WithinSearch, logged_uri, record_expired_sessions};
pub use control::Control;
pub use copy_fixups::CopyFixups;
pub use declared::{Declared, FlagSetting};
pub use elastic::elasticsearch_error;
pub use error::Error;
pub use http_input::{ConnectionHost, DECLARED, HttpInput};
pub use intake::{Intake, IntakeKind, IntakePort};
pub use messages::Messages;
pub use others::{FromOther, Others, Question};
pub use receivers::Receivers;
pub use rest::router as rest_router;
pub use routes::cluster_watch::watch_cluster;
pub use routes::data_inputs::ending::{Ending, EndingApps, end_inputs_of, follow_inputs};
pub use routes::data_inputs::following::FollowedInputs;
pub use routes::health::unavailable;
pub use status_streams::StatusStreams;

/// The components that the routes use.
#[derive(Debug, Clone)]
pub struct ApiState {
    /// Searches.
    pub search: SearchService,
    /// Events in.
    pub ingest: Arc<Ingest>,
    /// The other processes of the cluster, if this one is part of one.
    pub directory: Option<peers::Directory>,
    /// Since when journals have too few copies.
    pub copy_fixups: Arc<CopyFixups>,
    /// The pages that follow their jobs.
    pub status_streams: StatusStreams,
    /// The other search heads of the cluster, if this process is one.
    pub heads: Option<Arc<dyn Others>>,
    /// The other indexers of the cluster, if this process is one.
    pub indexers: Option<Arc<dyn Others>>,
    /// Users and sessions.
    pub accounts: Arc<Accounts>,
    /// Roles and their capabilities.
    pub roles: Arc<Roles>,
    /// Computes a user's rights, from users, roles and permissions.
    pub authority: Authority,
    /// API tokens of users.
    pub api_tokens: Arc<access::ApiTokens>,
    /// HEC tokens of senders.
    pub tokens: Arc<HecTokens>,
    /// Notices for administrators.
    pub messages: Arc<Messages>,
    /// Settings of the server that can be changed at run time.
    pub server_settings: Arc<ServerSettings>,
    /// The log levels of the server's components.
    pub loggers: Arc<dyn LogLevels>,
    /// The deployment server, which assigns apps to forwarders.
    pub deployment: Arc<deployment::DeploymentServer>,
    /// Tells forwarders which indexers there are.
    pub discovery: Arc<deployment::IndexerDiscovery>,
    /// The audit trail.
    pub audit: Arc<Audit>,
    /// Ends and begins the process.
    pub control: Control,
    /// The indexes.
    pub indexes: Arc<IndexCatalog>,
    /// Durable truth about buckets.
    pub catalog: Catalog,
    /// Configuration, as it was at the start.
    pub knowledge: Arc<Knowledge>,
    /// The declared settings, and those that the command line sets.
    pub declared: Arc<Declared>,
    /// The ports that receive events.
    pub intake: Arc<Intake>,
    /// Objects that are created at run time: macros, saved searches, lookups, collections.
    pub apps: Apps,
    /// The apps whose inputs have ended because their rules are about to end.
    pub ending_apps: EndingApps,
    /// Reports on the use of apps.
    pub app_reports: Arc<dyn AppReports>,
    /// Permissions of shared objects.
    pub permissions: Arc<Permissions>,
    /// Passwords that apps keep.
    pub secrets: Arc<Secrets>,
    /// Until when alerts are held back.
    pub suppressions: Arc<Suppressions>,
    /// Cache counters and control.
    pub cache: Arc<dyn CacheView>,
    /// The text of `/metrics`.
    pub metrics: Arc<dyn MetricsView>,
    /// The machine and the process, as they were last observed.
    pub observations: Arc<dyn Observations>,
    /// Inputs that read and listen, as they run.
    pub inputs: inputs::configured::RunningInputs,
    /// The status of the monitored files.
    pub files: inputs::monitor::MonitorStatus,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Tells when the process is going down.
    pub shutdown: Shutdown,
    /// The current conditions.
    pub health: Health,
    /// Properties of the server.
    pub info: Arc<ServerInfo>,
    /// The memory budget that the bodies of all requests share.
    pub request_memory: runtime::Budget,
    /// Limits of requests.
    pub settings: Arc<Settings>,
    /// Files of the web console by path.
    pub console: Arc<dyn ConsoleFiles>,
}

/// Properties of the server.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// Name for users (`serverName`), by default the host name.
    pub server_name: String,
    /// The host name, which is the host of events that have none.
    pub host: String,
    /// Identity of this installation.
    pub guid: String,
    /// Cores.
    pub cores: usize,
    /// When it started, epoch seconds.
    pub startup_time: i64,
    /// The directory of the server's own files.
    pub home: std::path::PathBuf,
    /// Port of the REST API.
    pub management_port: u16,
    /// Port of the web console.
    pub web_port: u16,
    /// Whether the console is served with TLS.
    pub web_tls: bool,
    /// Memory, as it is divided.
    pub memory: MemoryLimits,
    /// Its site.
    pub site: String,
    /// The required copies of journals and their sites.
    pub placement: cluster::Placement,
}

/// The limit of memory of the process and its parts.
#[derive(Debug, Clone, Default)]
pub struct MemoryLimits {
    /// Bytes that the process may take; `None` if nothing is derived from a limit.
    pub limit: Option<u64>,
    /// Bytes of the machine or container; `None` if unknown.
    pub available: Option<u64>,
    /// The shares of the components.
    pub shares: Vec<MemoryShare>,
}

/// The memory limit of a component.
#[derive(Debug, Clone)]
pub struct MemoryShare {
    /// The part.
    pub name: &'static str,
    /// File, stanza and name of its setting; `None` if it has none.
    pub setting: Option<String>,
    /// The setting's value, in bytes.
    pub setting_bytes: u64,
    /// Bytes of memory that this may take.
    pub bytes: u64,
    /// `derived` from the limit, `set` by a file or flag, or `default`.
    pub source: &'static str,
}

/// Limits of requests.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `sessionTimeout`: how long a session lives without requests.
    pub session_timeout: std::time::Duration,
    /// Rows a page of results may have; `count=0` asks for that many.
    pub max_page_rows: usize,
    /// `max_content_length` of `[httpServer]`: bytes of a REST request's body.
    pub max_content_length: usize,
    /// `maxFormParameters` of `[httpServer]`: parameters of a form.
    pub max_form_parameters: usize,
    /// `max_upload_size` of `web.conf`: bytes of a packed app.
    pub max_upload_bytes: usize,
    /// `maxStatusStreams` of `[httpServer]`: streams of job statuses that a user has open.
    pub max_status_streams: usize,
    /// `sendStrictTransportSecurityHeader`: whether browsers are told to use only TLS after their first
    /// visit.
    pub hsts: bool,
    /// The token with which scrapers read `/metrics` without a login.
    pub metrics_token: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            session_timeout: std::time::Duration::from_secs(3_600),
            max_page_rows: 500_000,
            max_content_length: 64 << 20,
            max_form_parameters: 10_000,
            max_upload_bytes: 500 << 20,
            max_status_streams: 32,
            hsts: true,
            metrics_token: None,
        }
    }
}

/// Reports on the use of apps.
pub trait AppReports: Send + Sync + std::fmt::Debug {
    /// Reports the parts of a packed app that are used.
    fn report(&self, package: &apps::Package) -> apps::Installed;
    /// Returns the searches of a packed app.
    fn searches(&self, package: &apps::Package) -> Vec<apps::AppSearch>;
    /// Checks searches against the objects that their app sees; `all` has those of all apps.
    fn check_searches(
        &self,
        searches: &[apps::AppSearch],
        seen: &Knowledge,
        all: &Knowledge,
    ) -> apps::SearchCheck;
    /// Returns the invalid settings of apps that these rules ignore, each with its app. `ignored` are the
    /// settings that were left out of the rules.
    fn mistakes(
        &self,
        rules: &Knowledge,
        ignored: &[conf::Warning],
    ) -> Vec<(Option<String>, String)>;
    /// Returns settings of some apps that are in force, but make searches which use them fail.
    fn warnings(&self, rules: &Knowledge, apps: &std::collections::BTreeSet<&str>) -> Vec<String>;
    /// Returns the ignored invalid settings of an app that is in force.
    fn ignored(&self, app: &str) -> Vec<String>;
    /// Returns unusual settings of an app that are in force.
    fn notes(&self, app: &str) -> Vec<String>;
    /// Reads the files of the configuration directory again, as a start does.
    ///
    /// # Errors
    /// The mistakes that would prevent a start, with their places.
    fn read(&self) -> Result<apps::FileRules, String>;
}

/// The cache as the API shows it.
pub trait CacheView: Send + Sync + std::fmt::Debug {
    /// Counters per tier since start: name and value.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// The log levels of the server's components, in Splunk's names: `DEBUG`, `INFO`, `WARN`, `ERROR`, `CRIT`,
/// `FATAL`.
pub trait LogLevels: Send + Sync + std::fmt::Debug {
    /// Every part with its level, by name.
    fn all(&self) -> Vec<(String, String)>;
    /// Changes the level of a component until the process ends; false if the component does not exist.
    fn set(&self, name: &str, level: &str) -> bool;
}

/// The source of `/metrics`.
pub trait MetricsView: Send + Sync + std::fmt::Debug {
    /// Prometheus text.
    fn render(&self) -> String;
}

/// The latest observations of the machine and of the process: `resource_usage.log` and `disk_objects.log`.
pub trait Observations: Send + Sync + std::fmt::Debug {
    /// The data of the last events of a component: `Hostwide`, `PerProcess`, `Partitions`. Empty before the
    /// first ones, and where the system does not tell.
    fn of(&self, component: &str) -> Vec<serde_json::Map<String, serde_json::Value>>;
}

/// The source of the console's files.
pub trait ConsoleFiles: Send + Sync + std::fmt::Debug {
    /// Bytes and media type of a file.
    fn file(&self, path: &str) -> Option<(bytes::Bytes, String)>;
    /// The file packed with gzip; none if it does not get smaller.
    fn packed(&self, path: &str) -> Option<bytes::Bytes>;
}

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
pub use audit::{Audit, Proxies, record_expired_sessions};
pub use control::Control;
pub use copy_fixups::CopyFixups;
pub use declared::{Declared, FlagSetting};
pub use error::Error;
pub use http_input::{ConnectionHost, DECLARED, HttpInput};
pub use intake::{Intake, IntakeKind, IntakePort};
pub use messages::Messages;
pub use others::{FromOther, Others, Question};
pub use receivers::Receivers;
pub use rest::router as rest_router;
pub use routes::cluster_watch::watch_cluster;
pub use routes::health::unavailable;
pub use status_streams::StatusStreams;

/// What the routes call.
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
    /// Who may ask.
    pub accounts: Arc<Accounts>,
    /// What they may do.
    pub roles: Arc<Roles>,
    /// Answers what a user may do, from users, roles and permissions.
    pub authority: Authority,
    /// Tokens that stand for users.
    pub api_tokens: Arc<access::ApiTokens>,
    /// Who may send.
    pub tokens: Arc<HecTokens>,
    /// Notices for administrators.
    pub messages: Arc<Messages>,
    /// What can be changed of the server while it runs.
    pub server_settings: Arc<ServerSettings>,
    /// From which level on the parts of the server write their log.
    pub loggers: Arc<dyn LogLevels>,
    /// Which apps forwarders are to have.
    pub deployment: Arc<deployment::DeploymentServer>,
    /// Who did what.
    pub audit: Arc<Audit>,
    /// Ends and begins the process.
    pub control: Control,
    /// Which indexes exist.
    pub indexes: Arc<IndexCatalog>,
    /// Durable truth about buckets.
    pub catalog: Catalog,
    /// Configuration, as it was at the start.
    pub knowledge: Arc<Knowledge>,
    /// Which settings there are, and which of them the command line sets.
    pub declared: Arc<Declared>,
    /// Where events are taken in.
    pub intake: Arc<Intake>,
    /// Macros, saved searches, lookups, collections: what is made at run time.
    pub apps: Apps,
    /// What is used of an app.
    pub app_reports: Arc<dyn AppReports>,
    /// Who reads and changes shared objects.
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
    /// Where the monitored files are.
    pub files: inputs::monitor::MonitorStatus,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Tells when the process is going down.
    pub shutdown: Shutdown,
    /// What is wrong right now.
    pub health: Health,
    /// What the server says of itself.
    pub info: Arc<ServerInfo>,
    /// Memory that the bodies of all requests may take together.
    pub request_memory: runtime::Budget,
    /// Limits of requests.
    pub settings: Arc<Settings>,
    /// Files of the web console by path.
    pub console: Arc<dyn ConsoleFiles>,
}

/// What the server says of itself.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// Name for people, usually the host name.
    pub server_name: String,
    /// Identity of this installation.
    pub guid: String,
    /// Cores.
    pub cores: usize,
    /// When it started, epoch seconds.
    pub startup_time: i64,
    /// The directory it keeps its own files in.
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
    /// How many indexers have a journal, and in which sites.
    pub placement: cluster::Placement,
}

/// The limit of memory of the process and its parts.
#[derive(Debug, Clone, Default)]
pub struct MemoryLimits {
    /// Bytes that the process may take; `None` if nothing is derived from a limit.
    pub limit: Option<u64>,
    /// Bytes of the machine or container; `None` if unknown.
    pub available: Option<u64>,
    /// By part.
    pub shares: Vec<MemoryShare>,
}

/// What a part of the process may take.
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
    /// `sendStrictTransportSecurityHeader`: browsers are to come with TLS only, once they did.
    pub hsts: bool,
    /// What scrapers of `/metrics` show in place of a login.
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

/// What the server makes of apps.
pub trait AppReports: Send + Sync + std::fmt::Debug {
    /// What is used of a packed app.
    fn report(&self, package: &apps::Package) -> apps::Installed;
    /// What is ignored of apps by these rules, because it is wrong: the app and what. `ignored` are the
    /// settings that were left out of the rules.
    fn mistakes(
        &self,
        rules: &Knowledge,
        ignored: &[conf::Warning],
    ) -> Vec<(Option<String>, String)>;
    /// What is not ignored of some apps, and makes searches fail that use it.
    fn warnings(&self, rules: &Knowledge, apps: &std::collections::BTreeSet<&str>) -> Vec<String>;
    /// What is ignored of an app that is in force, because it is wrong.
    fn ignored(&self, app: &str) -> Vec<String>;
    /// What is oddly written in an app that is in force, and counts.
    fn notes(&self, app: &str) -> Vec<String>;
}

/// The cache as the API shows it.
pub trait CacheView: Send + Sync + std::fmt::Debug {
    /// Counters per tier since start: name and value.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// From which level on the parts of the server write their log, in Splunk's names: `DEBUG`, `INFO`,
/// `WARN`, `ERROR`, `CRIT`, `FATAL`.
pub trait LogLevels: Send + Sync + std::fmt::Debug {
    /// Every part with its level, by name.
    fn all(&self) -> Vec<(String, String)>;
    /// Changes the level of a part until the process ends; false if there is no such part.
    fn set(&self, name: &str, level: &str) -> bool;
}

/// Where `/metrics` comes from.
pub trait MetricsView: Send + Sync + std::fmt::Debug {
    /// Prometheus text.
    fn render(&self) -> String;
}

/// What the process has last observed of the machine and of itself: `resource_usage.log` and
/// `disk_objects.log`.
pub trait Observations: Send + Sync + std::fmt::Debug {
    /// The data of the last events of a component: `Hostwide`, `PerProcess`, `Partitions`. Empty before the
    /// first ones, and where the system does not tell.
    fn of(&self, component: &str) -> Vec<serde_json::Map<String, serde_json::Value>>;
}

/// Where the console's files come from.
pub trait ConsoleFiles: Send + Sync + std::fmt::Debug {
    /// Bytes and media type of a file.
    fn file(&self, path: &str) -> Option<(bytes::Bytes, String)>;
    /// The file packed with gzip; none if it does not get smaller.
    fn packed(&self, path: &str) -> Option<bytes::Bytes>;
}

//! The command line: commands, flags, and the `KARST_*` variables of the flags. Doc comments of
//! fields are the help texts.
//!
//! The only place that reads the environment. Settings about data (indexes, source types, limits)
//! are in `.conf` files.

mod audit;
mod cluster;
mod identity;
mod operate;
mod place;
mod search;
mod secrets;
mod short_forms;
mod spl;
mod store_url;
mod syslog;
mod thaw;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use audit::{AuditExportOptions, AuditOptions, AuditVerifyOptions, AuditWhat};
pub(crate) use cluster::{
    BundleOptions, BundleWhat, ClusterInitOptions, ClusterOptions, ClusterRemoveOptions,
    ClusterWhat, MaintenanceOptions, MaintenanceWhat, OfflineOptions, RollingRestartOptions,
};
pub(crate) use identity::{
    AddUserOptions, CreateTokenOptions, ListingOptions, PasswordOptions, TokenOptions, TokenWhat,
    UserOptions, UserWhat,
};
pub(crate) use operate::{
    CompletionsOptions, CostOptions, LoginOptions, LogoutOptions, ManOptions, ReloadOptions,
    Reloadable, StatusOptions, StopOptions,
};
use place::{server_name, site};
pub(crate) use search::SearchOptions;
pub(crate) use short_forms::words;
pub(crate) use spl::{CheckOptions, ExplainOptions, FileKind, ReportFormat, SplOptions, SplWhat};
use store_url::store_url;
pub(crate) use syslog::SyslogOptions;
pub(crate) use thaw::{FreezeOptions, ThawOptions};

/// The machine-data engine on object storage.
#[derive(Debug, Parser)]
#[command(name = "karst", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run Karst: all roles in one process, or some of them.
    // Otherwise, the usage of an error lists every option that the environment sets, as if it were required.
    #[command(override_usage = "karst server [OPTIONS]")]
    Server(Box<ServerOptions>),
    /// Run a search and print what it finds.
    Search(SearchOptions),
    /// Load data.
    Add(AddOptions),
    /// List indexes, buckets, jobs, queues, cache counters, HEC tokens.
    List(ListOptions),
    /// Reload configuration files.
    Reload(ReloadOptions),
    /// Roll hot buckets into object storage now.
    Roll(RollOptions),
    /// Make archived buckets searchable again.
    Thaw(ThawOptions),
    /// Remove thawed buckets from searches; the archive keeps them.
    Freeze(FreezeOptions),
    /// Quarantine a damaged bucket, or release it.
    Bucket(BucketOptions),
    /// Check the catalog against the buckets, or rebuild it from them.
    Catalog(CatalogOptions),
    /// Look inside stored data.
    Inspect(InspectOptions),
    /// Show the effective configuration and the file of each value.
    Btool(BtoolOptions),
    /// Install an app or add-on.
    App(AppOptions),
    /// Verify or export the audit trail.
    Audit(AuditOptions),
    /// Manage users: set passwords, add, list, lock, unlock, remove.
    User(UserOptions),
    /// Manage API tokens: create, list, revoke.
    Token(TokenOptions),
    /// Check searches in files, or explain one.
    Spl(SplOptions),
    /// Show whether a server is running, its addresses, and its problems.
    Status(StatusOptions),
    /// Estimate the monthly bill from measured rates and a price list; try other volumes and retentions.
    Cost(CostOptions),
    /// Create the credentials of a new cluster, or manage the processes of a running one.
    Cluster(ClusterOptions),
    /// Stop the server on --data-dir, and wait until it has ended.
    Stop(StopOptions),
    /// Log in to a server on another machine; commands with the same --uri use the session.
    Login(LoginOptions),
    /// End the session of `karst login`.
    Logout(LogoutOptions),
    /// Print completions for a shell, for example for source <(karst completions bash).
    Completions(CompletionsOptions),
    /// Print the manual page, or write those of all commands into a directory.
    Man(ManOptions),
}

/// A role of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Indexes events, builds buckets, searches them.
    Indexer,
    /// Plans searches, keeps jobs, serves the console.
    SearchHead,
    /// Manages buckets and peers.
    ControlPlane,
}

/// When a port uses TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsMode {
    /// Always.
    #[value(name = "true", aliases = ["1", "yes", "on"])]
    On,
    /// Never.
    #[value(name = "false", aliases = ["0", "no", "off"])]
    Off,
    /// On every address except loopback.
    Auto,
}

impl TlsMode {
    /// Whether a port at the address uses TLS.
    pub(crate) fn at(self, address: SocketAddr) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Auto => !address.ip().to_canonical().is_loopback(),
        }
    }
}

/// The memory of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryLimit {
    /// A part of what the machine or container has.
    Auto,
    /// So many bytes.
    Bytes(u64),
}

#[derive(Debug, Args)]
pub(crate) struct ServerOptions {
    /// Roles of this process; default: those of `mode` in `server.conf`, stanza `clustering`, or all.
    #[arg(long = "role", env = "KARST_ROLE", value_delimiter = ',')]
    pub(crate) roles: Vec<Role>,
    /// Serve the other processes of a cluster at this address: the catalog, and hot buckets to searches.
    /// Required in a cluster; other machines need the credentials of --cluster-dir.
    #[arg(long, env = "KARST_CLUSTER_ADDRESS")]
    pub(crate) cluster_address: Option<SocketAddr>,
    /// The cluster address (HOST:PORT) that other processes use for this one, where it is not the one that
    /// --cluster-address binds: in a pod, behind a NAT. Default: that address; the host name for 0.0.0.0.
    #[arg(long, env = "KARST_CLUSTER_ADVERTISE", requires = "cluster_address", value_parser = host_and_port)]
    pub(crate) cluster_advertise: Option<String>,
    /// The site of this process, such as a data centre or a zone: site1, eu-central-1a. Copies of journals
    /// may be spread over sites. Default, also for an empty name: `site` of `server.conf`, stanza `general`.
    #[arg(long, env = "KARST_SITE", value_parser = site)]
    pub(crate) site: Option<String>,
    /// The name of this process for users, such as indexer1. Default, also for an empty name: `serverName` of
    /// `server.conf`, stanza `general`, or the host name.
    #[arg(long, env = "KARST_SERVER_NAME", value_parser = server_name)]
    pub(crate) server_name: Option<String>,
    /// Cluster addresses (HOST:PORT) of the control planes: one of them leads, the others stand by. Required
    /// without the role control-plane; with it, it makes this process one of them. Default: `manager_uri` of
    /// `server.conf`, stanza `clustering`.
    #[arg(long, env = "KARST_MANAGER_URI", value_delimiter = ',', value_parser = manager)]
    pub(crate) manager_uri: Vec<String>,
    /// Directory with the credentials of the cluster, written by karst cluster init. Without it, all
    /// processes have to run on this machine.
    #[arg(long, env = "KARST_CLUSTER_DIR")]
    pub(crate) cluster_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataDir,
    /// Where buckets and catalog are kept: a directory, or s3://bucket/prefix (credentials, region
    /// and endpoint from the AWS_* variables). Default: DATA_DIR/objects.
    #[arg(long, env = "KARST_OBJECT_STORE", value_parser = store_url)]
    pub(crate) object_store: Option<String>,
    /// Take the catalog over from a running server, which is then fenced and stops, or stands by in a
    /// cluster. The start waits until that server has noticed it (12 s). Without this flag, the start fails
    /// if another live server uses the catalog, and a control plane of a cluster stands by.
    #[arg(long, env = "KARST_TAKE_OVER")]
    pub(crate) take_over: bool,
    /// Seconds a fenced server keeps running, to report that its catalog was taken over.
    #[arg(long, env = "KARST_FENCED_SECONDS", default_value_t = 20)]
    pub(crate) fenced_seconds: u64,
    /// Take over the journal of another instance.id. Events that are already in buckets are
    /// recognized by their arrival times. The object store is not compared with that of store.id either: set
    /// this for one start only.
    #[arg(long, env = "KARST_NEW_INSTANCE")]
    pub(crate) new_instance: bool,
    /// Directory of .conf layers (system/local, apps/*/default, apps/*/local).
    #[arg(long, env = "KARST_CONF_DIR")]
    pub(crate) conf_dir: Option<PathBuf>,
    /// Address of the HTTP Event Collector.
    #[arg(long, env = "KARST_HEC_ADDRESS", default_value = "127.0.0.1:8088")]
    pub(crate) hec_address: SocketAddr,
    /// Serve HEC (and OTLP, Elasticsearch and Loki, if enabled) with TLS: true, false, or auto (TLS on
    /// every address except loopback). Without a value: true.
    #[arg(long, env = "KARST_HEC_TLS", value_enum, ignore_case = true, num_args = 0..=1,
        default_value = "auto", default_missing_value = "true")]
    pub(crate) hec_tls: TlsMode,
    /// Receive OpenTelemetry logs over gRPC at this address, usually port 4317.
    #[arg(long, env = "KARST_OTLP_GRPC")]
    pub(crate) otlp_grpc: Option<SocketAddr>,
    /// Receive OpenTelemetry logs over HTTP at this address, usually port 4318; the HEC port takes them, too.
    #[arg(long, env = "KARST_OTLP_HTTP")]
    pub(crate) otlp_http: Option<SocketAddr>,
    /// Receive Elasticsearch _bulk requests at this address, usually port 9200.
    #[arg(long, env = "KARST_ELASTICSEARCH")]
    pub(crate) elasticsearch: Option<SocketAddr>,
    /// The Elasticsearch version reported to clients.
    #[arg(long, env = "KARST_ELASTICSEARCH_VERSION", default_value = "8.17.0")]
    pub(crate) elasticsearch_version: String,
    /// Receive Loki push requests at this address, usually port 3100.
    #[arg(long, env = "KARST_LOKI")]
    pub(crate) loki: Option<SocketAddr>,
    /// Receive from karst-forwarder at this address, usually port 9997.
    #[arg(long, env = "KARST_FORWARDING_ADDRESS")]
    pub(crate) forwarding_address: Option<SocketAddr>,
    /// Receive from forwarders with TLS.
    #[arg(long, env = "KARST_FORWARDING_TLS")]
    pub(crate) forwarding_tls: bool,
    /// The only address of this process in indexer discovery (HOST:PORT); it leads to --forwarding-address,
    /// and is ignored without it.
    #[arg(long, env = "KARST_FORWARDING_ADVERTISE", value_parser = host_and_port)]
    pub(crate) forwarding_advertise: Option<String>,
    /// Token required from forwarders (token in their outputs.conf); default: none.
    #[arg(long, env = "KARST_FORWARDING_TOKEN", hide_env_values = true)]
    pub(crate) forwarding_token: Option<String>,
    /// Address of the management REST API.
    #[arg(long, env = "KARST_MANAGEMENT_ADDRESS", default_value = "127.0.0.1:8089")]
    pub(crate) management_address: SocketAddr,
    /// Serve the management API without TLS.
    #[arg(long, env = "KARST_MANAGEMENT_PLAIN")]
    pub(crate) management_plain: bool,
    /// Answer /livez, /readyz and /metrics without TLS at this address, usually port 8090. It opens before
    /// anything is read, and closes when the process ends.
    #[arg(long, env = "KARST_HEALTH_ADDRESS")]
    pub(crate) health_address: Option<SocketAddr>,
    /// Address of the web console.
    #[arg(long, env = "KARST_WEB_ADDRESS", default_value = "127.0.0.1:8000")]
    pub(crate) web_address: SocketAddr,
    /// Serve the web console with TLS: true, false, or auto (TLS on every address except loopback).
    /// Without a value: true.
    #[arg(long, env = "KARST_WEB_TLS", value_enum, ignore_case = true, num_args = 0..=1,
        default_value = "auto", default_missing_value = "true")]
    pub(crate) web_tls: TlsMode,
    /// TLS certificate, PEM. Default: a self-signed one in DATA_DIR/auth.
    #[arg(long, env = "KARST_TLS_CERT", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert.
    #[arg(long, env = "KARST_TLS_KEY", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) syslog: SyslogOptions,
    /// Monitor these files or directories (may be given more than once).
    #[arg(long, env = "KARST_MONITOR", value_delimiter = ',')]
    pub(crate) monitor: Vec<PathBuf>,
    /// Index of monitored files.
    #[arg(long, env = "KARST_MONITOR_INDEX", default_value = "main")]
    pub(crate) monitor_index: String,
    /// Password of the user admin, at the first start. Default: generated and printed once.
    #[arg(long, env = "KARST_PASSWORD", hide_env_values = true)]
    pub(crate) password: Option<String>,
    /// File with the password of the user admin, in place of --password.
    #[arg(long, env = "KARST_PASSWORD_FILE", conflicts_with = "password")]
    pub(crate) password_file: Option<PathBuf>,
    /// HEC token, at the first start. Default: generated and printed once.
    #[arg(long, env = "KARST_HEC_TOKEN", hide_env_values = true)]
    pub(crate) hec_token: Option<String>,
    /// File with the HEC token, in place of --hec-token.
    #[arg(long, env = "KARST_HEC_TOKEN_FILE", conflicts_with = "hec_token")]
    pub(crate) hec_token_file: Option<PathBuf>,
    /// Token for scraping /metrics from other machines (Authorization: Bearer); without it they need a login.
    #[arg(long, env = "KARST_METRICS_TOKEN", hide_env_values = true)]
    pub(crate) metrics_token: Option<String>,
    /// File with the token for scraping /metrics, in place of --metrics-token.
    #[arg(long, env = "KARST_METRICS_TOKEN_FILE", conflicts_with = "metrics_token")]
    pub(crate) metrics_token_file: Option<PathBuf>,
    /// Seconds that a stop (SIGTERM) may take: unfinished requests, then hot buckets into object storage.
    #[arg(long, env = "KARST_DRAIN_TIMEOUT", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(20..=86_400))]
    pub(crate) drain_timeout: u64,
    /// Seconds of --drain-timeout in which a stopping server is not ready but still responds, until load
    /// balancers have noticed. At most the drain timeout minus 20.
    #[arg(long, env = "KARST_DRAIN_DELAY", value_name = "SECONDS", default_value_t = 0)]
    pub(crate) drain_delay: u64,
    /// Maximum memory of the process, such as 8GiB, divided among hot buckets, searches, cache and the other
    /// parts whose size is not set. auto: 80 % of the memory of the machine or container. Default: none, each
    /// setting has its own default.
    #[arg(long, env = "KARST_MEMORY_LIMIT", value_name = "SIZE", value_parser = memory_limit)]
    pub(crate) memory_limit: Option<MemoryLimit>,
    /// Directory of the NVMe cache, on another disk. Default: DATA_DIR.
    #[arg(long, env = "KARST_CACHE_DIR", value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Directory of the journal, on another disk. DATA_DIR/journal becomes a link to it. Default: DATA_DIR.
    #[arg(long, env = "KARST_JOURNAL_DIR", value_name = "DIR")]
    pub(crate) journal_dir: Option<PathBuf>,
    /// Directory of buckets that wait for object storage, on another disk. DATA_DIR/spool becomes a link to
    /// it. Default: DATA_DIR.
    #[arg(long, env = "KARST_SPOOL_DIR", value_name = "DIR")]
    pub(crate) spool_dir: Option<PathBuf>,
    /// Number of parallel ingestion pipeline sets.
    #[arg(long, env = "KARST_PARALLEL_INGESTION_PIPELINES")]
    pub(crate) parallel_ingestion_pipelines: Option<u16>,
    /// DRAM for cached blocks, in MiB. Default: dram_size in server.conf, 512.
    #[arg(long, env = "KARST_CACHE_DRAM_MIB")]
    pub(crate) cache_dram_mib: Option<usize>,
    /// NVMe for cached blocks (DATA_DIR/cache), in MiB; 0: off. Default: max_cache_size of server.conf, 4096.
    #[arg(long, env = "KARST_CACHE_NVME_MIB")]
    pub(crate) cache_nvme_mib: Option<usize>,
    /// Maximum raw text of hot buckets, in MiB; maxDataSize of an index may be lower.
    #[arg(long, env = "KARST_MAX_DATA_SIZE_MIB")]
    pub(crate) max_data_size_mib: Option<u64>,
    /// What to log: error, warn, info, debug, or directives such as "info,ingest=debug".
    #[arg(long, env = "KARST_LOG", default_value = "info")]
    pub(crate) log: String,
}

/// The data directory.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataDir {
    /// Directory of a server's journal, cache, keys and logs.
    #[arg(long, env = "KARST_DATA_DIR", default_value = "data", global = true)]
    pub(crate) data_dir: PathBuf,
}

/// Server and credentials.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClientOptions {
    #[command(flatten)]
    pub(crate) data: DataDir,
    /// Management address of the server. Default: that of the server on --data-dir, or
    /// https://127.0.0.1:8089.
    #[arg(long, env = "KARST_URI")]
    pub(crate) uri: Option<String>,
    /// user:password. Default: the local session of the server on --data-dir.
    #[arg(long, env = "KARST_AUTH", hide_env_values = true)]
    pub(crate) auth: Option<String>,
    /// Seconds to wait for each response of the server; 0 for no limit. Default: 60; for thawing, freezing,
    /// apps and bundles: 600.
    #[arg(long, env = "KARST_TIMEOUT", value_name = "SECONDS", hide_default_value = true)]
    pub(crate) timeout: Option<u64>,
    /// Accept any certificate.
    #[arg(long, env = "KARST_INSECURE")]
    pub(crate) insecure: bool,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Aligned columns, without lines if not on a terminal; events as time and text.
    Table,
    /// One object per line.
    Json,
    /// Comma-separated values with a header.
    Csv,
    /// The text of events; cells of other rows separated by tabs.
    Raw,
}

/// Format of what a command lists.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OutputOption {
    /// Format of the output. Default: table.
    #[arg(long, short = 'o', value_enum)]
    pub(crate) output: Option<Output>,
}

#[derive(Debug, Args)]
pub(crate) struct AddOptions {
    #[command(subcommand)]
    pub(crate) what: AddWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AddWhat {
    /// Load files or S3 objects once; gzip and zstd are decompressed, directories are read
    /// recursively. `karst add FILE` is short for `karst add oneshot FILE`.
    Oneshot(OneshotOptions),
}

#[derive(Debug, Args)]
pub(crate) struct OneshotOptions {
    /// Files or directories, s3://bucket/prefix (credentials, region and endpoint from the AWS_*
    /// variables); - for standard input.
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Skip this many bytes (decompressed) at the start of the file, to resume an interrupted
    /// upload. Its error message has the number, and says whether resuming may index up to 4 MiB twice.
    #[arg(long, default_value_t = 0)]
    pub(crate) skip_bytes: u64,
    /// Target index.
    #[arg(long, default_value = "main")]
    pub(crate) index: String,
    /// Source type. Default: recognized from name and content.
    #[arg(long)]
    pub(crate) sourcetype: Option<String>,
    /// Host of the events. Default: this machine.
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Source of the events. Default: the path of each file.
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Add files that are not text, too: those with NUL bytes in their first 8 KiB.
    #[arg(long)]
    pub(crate) no_binary_check: bool,
    /// Load nothing: print the first events of each file as they would be indexed, with their time, its
    /// origin, and their source type.
    #[arg(long)]
    pub(crate) preview: bool,
    /// With --preview: a setting of props.conf to try, such as TIME_FORMAT=%s. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE", requires = "preview")]
    pub(crate) props: Vec<String>,
    /// With --preview: maximum number of events to print. Default: 10.
    #[arg(long, short = 'n', requires = "preview")]
    pub(crate) limit: Option<usize>,
    /// With --preview: format of the output. Default: table; json has all details.
    #[arg(long, short = 'o', value_enum, requires = "preview")]
    pub(crate) output: Option<Output>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Indexes with events, sizes and times.
    Indexes,
    /// Stored buckets with their events, sizes and times.
    Buckets,
    /// Search jobs.
    Jobs,
    /// Ingest queues: fill level, throughput, time writers waited; and pending uploads.
    Queues,
    /// Reads from DRAM, NVMe and S3, and the hit rate.
    Cache,
    /// Forwarders that have phoned home to this deployment server.
    DeployClients,
    /// HEC tokens.
    Tokens,
    /// Monitored files and their progress.
    Inputstatus,
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: Listing,
    /// For cache: print the reads of each interval of this many seconds, until Ctrl-C.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) interval: Option<u64>,
    #[command(flatten)]
    pub(crate) format: OutputOption,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RollOptions {
    /// The index whose hot buckets roll.
    pub(crate) index: String,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct BucketOptions {
    #[command(subcommand)]
    pub(crate) what: BucketWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BucketWhat {
    /// Quarantine a bucket: searches skip it and report that results are incomplete.
    Quarantine(QuarantineOptions),
    /// Release a quarantined bucket.
    Release(QuarantineOptions),
}

#[derive(Debug, Args)]
pub(crate) struct QuarantineOptions {
    /// The bucket ID, see `karst list buckets`.
    pub(crate) id: String,
    /// The reason, stored with the bucket.
    #[arg(long)]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct CatalogOptions {
    #[command(subcommand)]
    pub(crate) what: CatalogWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogWhat {
    /// Compare the catalog with the buckets. Read-only, also next to a running server. The exit
    /// code is 1 if something is damaged or missing.
    Check(CatalogCheckOptions),
    /// Rebuild the catalog from the buckets, and from the old catalog as far as it is readable. The
    /// server must be stopped; the old catalog is kept as a copy.
    Rebuild(StoreOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CatalogCheckOptions {
    /// Read every byte of every bucket and compare it with its checksum.
    #[arg(long)]
    pub(crate) deep: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    pub(crate) data: DataDir,
    /// Where buckets and catalog are kept: a directory, or s3://bucket/prefix. Default: DATA_DIR/objects.
    #[arg(long, env = "KARST_OBJECT_STORE", value_parser = store_url)]
    pub(crate) object_store: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InspectOptions {
    #[command(subcommand)]
    pub(crate) what: InspectWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InspectWhat {
    /// Print a bucket's summary, row groups, columns, term index and sizes.
    Bucket(InspectBucketOptions),
}

#[derive(Debug, Args)]
pub(crate) struct InspectBucketOptions {
    /// A bucket's object: a file, or s3://bucket/path/to.parquet.
    pub(crate) url: String,
    /// Format of the output.
    #[arg(long, short = 'o', value_enum, default_value_t = Description::Table)]
    pub(crate) output: Description,
    /// Same as --output json.
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,
}

/// Format of a description with nested parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Description {
    /// Names and values, indented; lists as aligned columns.
    Table,
    /// One JSON object.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct BtoolOptions {
    /// A file without its extension: props, transforms, indexes, inputs, limits, server. `check` lists the
    /// mistakes in all files.
    pub(crate) conf: String,
    /// Only this stanza, or those that begin so. `list` in front, as in Splunk's command, can be left out.
    #[arg(num_args = 0..=2, value_name = "STANZA")]
    pub(crate) words: Vec<String>,
    /// Splunk's `--debug` adds the files, which are always shown here.
    #[arg(long, hide = true)]
    #[allow(dead_code)]
    pub(crate) debug: bool,
    /// With `check`: only the mistakes in this app.
    #[arg(long)]
    pub(crate) app: Option<String>,
    /// Directory of .conf layers.
    #[arg(long, env = "KARST_CONF_DIR")]
    pub(crate) conf_dir: Option<PathBuf>,
    /// Data directory of a server on this machine: apps that are installed in the server count, too.
    #[arg(long, env = "KARST_DATA_DIR", default_value = "data")]
    pub(crate) data_dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AppOptions {
    #[command(subcommand)]
    pub(crate) what: AppWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AppWhat {
    /// Install an app in all processes of a running server, without a restart, and report which parts of it
    /// are used. With --conf-dir: copy it into that directory.
    Install(AppInstallOptions),
    /// List the apps of a server.
    List(ListingOptions),
    /// Remove an app from a server, with its objects.
    Remove(AppRemoveOptions),
    /// Write an app with its shared objects to a file that can be installed here and in Splunk.
    Export(AppExportOptions),
    /// Report which parts of the dashboards of apps the console shows, without installing anything.
    Check(AppCheckOptions),
}

#[derive(Debug, Args)]
pub(crate) struct AppCheckOptions {
    /// Directories of apps, or single views.
    #[arg(required = true)]
    pub(crate) from: Vec<PathBuf>,
    /// Print only the totals.
    #[arg(long)]
    pub(crate) totals: bool,
    /// Also list what has no effect: unknown options and attributes.
    #[arg(long)]
    pub(crate) ignored: bool,
    /// Print one JSON object per view, one per line.
    #[arg(long, conflicts_with_all = ["totals", "ignored"])]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AppInstallOptions {
    /// A directory, or an app archive (.tgz, .tar.gz, .spl, .tar).
    pub(crate) from: PathBuf,
    /// Replace an app of the same name; its `local` directory is kept.
    #[arg(long)]
    pub(crate) update: bool,
    /// Copy the app into this directory of .conf layers, which a server reads when it starts.
    #[arg(long)]
    pub(crate) conf_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AppRemoveOptions {
    /// The app.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AppExportOptions {
    /// The app.
    pub(crate) name: String,
    /// The file to write. Default: NAME.spl in the current directory.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// Parses a host or address with a port, to which others connect.
fn host_and_port(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port != 0) {
        Some(_) => Ok(text.to_owned()),
        None => Err("is not HOST:PORT, for example indexer-0.indexers:9887".to_owned()),
    }
}

/// The address of a control plane. A scheme before it, as in Splunk, has no meaning.
pub(crate) fn manager(text: &str) -> Result<String, String> {
    let place = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    host_and_port(place.unwrap_or(text).trim_end_matches('/'))
}

/// `auto`, or bytes: `8GiB`, `8GB` and `8G` are the same.
fn memory_limit(text: &str) -> Result<MemoryLimit, String> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(MemoryLimit::Auto);
    }
    let plain = text.to_ascii_uppercase().replace("IB", "B");
    conf::size(&plain).map(MemoryLimit::Bytes).ok_or_else(|| {
        "is not a size such as 8GiB, 8192MB or a number of bytes, or auto".to_owned()
    })
}

/// Returns the variables with S3 credentials, region and endpoint.
#[expect(clippy::disallowed_methods, reason = "options of the object store's library")]
pub(crate) fn aws_variables() -> BTreeMap<String, String> {
    std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect()
}

/// Returns the variables of OpenTelemetry, which configure the export of traces.
#[expect(clippy::disallowed_methods, reason = "the variables that all programs have for traces")]
pub(crate) fn otel_variables() -> BTreeMap<String, String> {
    std::env::vars().filter(|(name, _)| name.starts_with("OTEL_")).collect()
}

/// The file of `karst login`'s sessions; `None` without a home directory.
#[expect(clippy::disallowed_methods, reason = "the place for a user's files is in the environment")]
pub(crate) fn sessions_file() -> Option<PathBuf> {
    let directory =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = directory("XDG_CONFIG_HOME").or_else(|| Some(directory("HOME")?.join(".config")));
    Some(folder?.join("karst/sessions.json"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn web_tls(flags: &[&str]) -> [bool; 3] {
        let arguments = Arguments::parse_from([&["karst", "server"], flags].concat());
        let Command::Server(options) = arguments.command else { unreachable!("it is server") };
        ["127.0.0.1:1", "[::1]:1", "0.0.0.0:1"]
            .map(|address| options.web_tls.at(address.parse().unwrap()))
    }

    #[test]
    fn every_address_but_loopback_speaks_tls_unless_it_is_said() {
        assert_eq!(web_tls(&[]), [false, false, true]);
        assert_eq!(web_tls(&["--web-tls", "auto"]), [false, false, true]);
        assert_eq!(web_tls(&["--web-tls", "false"]), [false; 3]);
        assert_eq!(web_tls(&["--web-tls=true"]), [true; 3]);
    }

    #[test]
    fn an_advertised_address_names_a_host_and_a_port() {
        for text in ["indexer-0.indexers:9887", "10.0.0.7:9887", "[fd00::7]:9887"] {
            assert_eq!(host_and_port(text).as_deref(), Ok(text));
        }
        for text in ["", "indexer-0", ":9887", "indexer-0:", "indexer-0:0", "indexer-0:70000"] {
            assert!(host_and_port(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_manager_is_a_host_and_a_port() {
        assert_eq!(manager("https://manager:9887/").as_deref(), Ok("manager:9887"));
        assert_eq!(manager("10.0.0.7:9887").as_deref(), Ok("10.0.0.7:9887"));
        let arguments = ["karst", "server", "--manager-uri", "a:9887,foo"];
        let error = Arguments::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains("'foo'") && error.contains("is not HOST:PORT"), "{error}");
    }

    #[test]
    fn a_limit_of_memory_is_a_size_or_auto() {
        for text in ["8GiB", "8GB", "8g", "8192MiB", "8589934592"] {
            assert_eq!(memory_limit(text), Ok(MemoryLimit::Bytes(8 << 30)), "{text}");
        }
        assert_eq!(memory_limit("AUTO"), Ok(MemoryLimit::Auto));
        for text in ["", "much", "-1", "1.5GiB", "80%"] {
            assert!(memory_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_flag_without_a_value_is_still_yes() {
        assert_eq!(web_tls(&["--web-tls"]), [true; 3]);
        assert_eq!(web_tls(&["--web-tls", "--hec-tls"]), [true; 3]);
    }
}

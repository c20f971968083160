//! Settings of `serverclass.conf`, and `[deployment]` and `[indexer_discovery]` of `server.conf`.

use std::time::Duration;

use conf::{Setting, Type, Unit};

const STATES: Type = Type::Choice(&["enabled", "disabled", "noop"]);
const FILTERS: Type = Type::Choice(&["whitelist", "blacklist"]);
const DOWNLOADS: Type = Type::range(1, 100_000);

conf::keys! {
    "server"["deployment"] {
        /// Secret shared by the deployment server and its forwarders; set it on both sides. Default: the
        /// token that forwarders send to indexers (`--forwarding-token` of the server, `token` of
        /// `[tcpout]`). Without either, the server does not respond to forwarders, and forwarders send no
        /// requests.
        PASS4SYMMKEY: Option<String> = "pass4SymmKey", "", Type::Secret;
    }
    "server"["indexer_discovery"] {
        /// Secret shared with the forwarders that ask for the indexers (`indexerDiscovery` of
        /// `outputs.conf`); set it on all processes that they ask. Default: the token that forwarders send
        /// to indexers (`--forwarding-token`). Without either, no forwarder gets an answer.
        DISCOVERY_KEY: Option<String> = "pass4SymmKey", "", Type::Secret;
    }
    "serverclass"["global"] {
        /// Whether the deployment server is disabled.
        DISABLED: bool = "disabled", "false", Type::Boolean;
        /// Interval between checks of `serverclass.conf` and the apps. A change takes effect after no
        /// further change in one interval. 0: they are only reloaded with `reload deploy-server`.
        RELOAD_CHECK_INTERVAL: Duration = "reloadCheckInterval", "10", Type::of(Unit::Seconds, 0, 86_400);
        /// Maximum number of concurrent downloads of apps; further forwarders are told to retry later.
        MAX_CONCURRENT_DOWNLOADS: usize = "maxConcurrentDownloads", "100", DOWNLOADS;
    }
    "serverclass"["global, serverClass:<name>"] {
        /// Directory with the apps. Default: `deployment-apps` in the configuration directory.
        REPOSITORY: Option<String> = "repositoryLocation", "", Type::Text;
        /// Whether server classes after a matching one are also considered.
        CONTINUE_MATCHING: bool = "continueMatching", "true", Type::Boolean;
    }
    "serverclass"["global, serverClass:<name>, serverClass:<name>:app:<app>"] {
        /// `whitelist`: forwarders are excluded unless a whitelist matches. `blacklist`: forwarders are
        /// included unless a blacklist matches.
        FILTER_TYPE: String = "filterType", "whitelist", FILTERS;
        /// `whitelist.<number>`: pattern of names, host names or addresses of included forwarders. `*`
        /// matches any text, `.` a dot; the rest is a regular expression that must match the whole name,
        /// ignoring case.
        WHITELIST: String = "whitelist.*", "", Type::Regex;
        /// `blacklist.<number>`: the same for excluded forwarders, even if a whitelist matches them.
        BLACKLIST: String = "blacklist.*", "", Type::Regex;
        /// Patterns of machine types, such as `linux-x86_64`, with the same syntax; other types are
        /// excluded.
        MACHINE_TYPES: Vec<String> = "machineTypesFilter", "", Type::LIST;
        /// Whether the forwarder's process restarts after a change of the app. Otherwise only its inputs
        /// and outputs restart within the process.
        RESTART: bool = "restartSplunkd", "false", Type::Boolean;
        /// `enabled` and `noop`: the app is installed. `disabled`: the app is not installed, because a
        /// disabled app has no effect on a forwarder.
        STATE_ON_CLIENT: String = "stateOnClient", "enabled", STATES;
        /// Files and directories at the top level of the app, as `$app_root$/name`, that an update does not
        /// change on the forwarder.
        EXCLUDE: Vec<String> = "excludeFromUpdate", "", Type::LIST;
    }
}

/// Settings of Splunk that have no effect: every change is a reload, the checksum is the same on every
/// server, and Karst's protocol has no endpoints to choose.
const UNUSED: &[Setting] = &conf::without_effect(
    "serverclass",
    [
        "appFile",
        "crossServerChecksum",
        "endpoint",
        "issueReload",
        "packageTypesFilter",
        "precompressBundles",
        "restartIfNeeded",
        "restartSplunkWeb",
        "syncMode",
        "targetRepositoryLocation",
        "tmpFolder",
        "updaterRunningFilter",
    ],
);

conf::settings! {
    /// Limits of the deployment server.
    #[derive(Debug, Clone)]
    pub struct Settings {
        "server"["deployment"] {
            /// Maximum number of listed forwarders; above it, the forwarders that have been silent for the
            /// longest time are removed from the list.
            "maxClients" => pub max_clients: usize = "10000", Type::range(1, 1_000_000);
            /// Maximum size of the files of an app; larger apps are not distributed.
            "maxAppSize" => pub max_app_bytes: u64 = "512MB", Type::size(1);
            /// Maximum number of files of an app.
            "maxAppFiles" => pub max_app_files: usize = "100000", Type::range(1, 1_000_000);
            /// Maximum size of the message with which a forwarder phones home.
            "maxPhoneHomeSize" => pub max_phone_home_bytes: usize = "256KB", Type::size(4_096);
            /// Maximum clock difference between forwarder and server. Older requests are refused, because
            /// they may be replayed.
            "maxClockDifference" => pub clock_difference: Duration = "300", Type::of(Unit::Seconds, 1, 86_400);
        }
    }
}

conf::settings! {
    /// Settings of indexer discovery.
    #[derive(Debug, Clone)]
    pub(crate) struct DiscoverySettings {
        "server"["indexer_discovery"] {
            /// Limits the requests of all forwarders together to about this number per second: a forwarder
            /// asks again after 30 s, and 1 s more for each `polling_rate` forwarders.
            "polling_rate" => pub(crate) polling_rate: u64 = "10", Type::range(1, 10_000);
        }
    }
}

pub(crate) const DECLARED: &[&[Setting]] =
    &[SETTINGS, UNUSED, Settings::SETTINGS, DiscoverySettings::SETTINGS];

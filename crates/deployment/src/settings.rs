//! Settings of `serverclass.conf`, and `[deployment]` of `server.conf`.

use std::time::Duration;

use conf::{Setting, Type, Unit};

const STATES: Type = Type::Choice(&["enabled", "disabled", "noop"]);
const FILTERS: Type = Type::Choice(&["whitelist", "blacklist"]);
const DOWNLOADS: Type = Type::range(1, 100_000);

conf::keys! {
    "server"["deployment"] {
        /// The secret that the deployment server and its forwarders share: set it on both sides. Default: the
        /// token that forwarders show to indexers (`--forwarding-token` of the server, `token` of
        /// `[tcpout]`). Without either, the server answers no forwarder, and forwarders do not ask.
        PASS4SYMMKEY: Option<String> = "pass4SymmKey", "", Type::Secret;
    }
    "serverclass"["global"] {
        /// Whether the deployment server is switched off.
        DISABLED: bool = "disabled", "false", Type::Boolean;
        /// How often `serverclass.conf` and the apps are looked at; what has changed counts once it has not
        /// changed for that long. 0: they are read again with `reload deploy-server` only.
        RELOAD_CHECK_INTERVAL: Duration = "reloadCheckInterval", "10", Type::of(Unit::Seconds, 0, 86_400);
        /// Downloads of apps at a time; further forwarders are told to come back.
        MAX_CONCURRENT_DOWNLOADS: usize = "maxConcurrentDownloads", "100", DOWNLOADS;
    }
    "serverclass"["global, serverClass:<name>"] {
        /// The directory with the apps. Default: `deployment-apps` in the directory of configuration.
        REPOSITORY: Option<String> = "repositoryLocation", "", Type::Text;
        /// Whether server classes below one that matches are looked at, too.
        CONTINUE_MATCHING: bool = "continueMatching", "true", Type::Boolean;
    }
    "serverclass"["global, serverClass:<name>, serverClass:<name>:app:<app>"] {
        /// Whether forwarders are in unless a blacklist names them (`blacklist`), or out unless a whitelist
        /// does.
        FILTER_TYPE: String = "filterType", "whitelist", FILTERS;
        /// `whitelist.<number>`: names, host names or addresses of forwarders that are in. `*` stands for any
        /// text, `.` for a dot; the rest is a regular expression, which has to match the whole, in any case.
        WHITELIST: String = "whitelist.*", "", Type::Regex;
        /// `blacklist.<number>`: the same for forwarders that are out, also if a whitelist names them.
        BLACKLIST: String = "blacklist.*", "", Type::Regex;
        /// Kinds of machines, such as `linux-x86_64`, with the same patterns; another kind is out.
        MACHINE_TYPES: Vec<String> = "machineTypesFilter", "", Type::LIST;
        /// Whether the forwarder's process restarts after a change of the app. Otherwise its inputs and
        /// outputs start again within the process.
        RESTART: bool = "restartSplunkd", "false", Type::Boolean;
        /// `enabled` and `noop`: the app is installed. `disabled`: it is not, as a disabled app has no effect
        /// on a forwarder.
        STATE_ON_CLIENT: String = "stateOnClient", "enabled", STATES;
        /// Files and directories directly in the app, as `$app_root$/name`, that an update leaves as they are
        /// on the forwarder.
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
            /// Forwarders that are listed; of more, those that have been silent longest are left out.
            "maxClients" => pub max_clients: usize = "10000", Type::range(1, 1_000_000);
            /// Bytes that the files of an app may have; a larger app is not handed out.
            "maxAppSize" => pub max_app_bytes: u64 = "512MB", Type::size(1);
            /// Files that an app may have.
            "maxAppFiles" => pub max_app_files: usize = "100000", Type::range(1, 1_000_000);
            /// Bytes of what a forwarder says when it phones home.
            "maxPhoneHomeSize" => pub max_phone_home_bytes: usize = "256KB", Type::size(4_096);
            /// How much the clocks of forwarder and server may differ: what is older is refused, as somebody
            /// may repeat it.
            "maxClockDifference" => pub clock_difference: Duration = "300", Type::of(Unit::Seconds, 1, 86_400);
        }
    }
}

pub(crate) const DECLARED: &[&[Setting]] = &[SETTINGS, UNUSED, Settings::SETTINGS];

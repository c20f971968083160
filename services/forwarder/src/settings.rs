//! Settings of `outputs.conf` and of the forwarder's part of `server.conf`, and a list of all declarations
//! of this program. The settings of `deploymentclient.conf` are next to their reader.

use std::time::Duration;

use conf::{Registry, Setting, Type, Unit};

use crate::deployment_client;

const SPAN: Type = Type::Span { least: 0 };
const SIZE: Type = Type::Form {
    expected: "bytes, or a size such as 500KB, 7MB, 2GB, or auto for the default",
    fits: |text| text == "auto" || conf::size(text).is_some(),
};
const SECONDS: Type = Type::of(Unit::Seconds, 1, 3_600);
const PATIENCE: Type = Type::of(Unit::Seconds, i64::MIN, i64::MAX);

conf::keys! {
    "outputs"["tcpout"] {
        /// Groups that receive events that no input routes to other groups.
        DEFAULT_GROUP: String = "defaultGroup", "", Type::LIST;
        /// Whether the filters are disabled, so that all indexes are forwarded.
        FILTER_DISABLE: bool = "forwardedindex.filter.disable", "false", Type::Boolean;
        /// `forwardedindex.<number>.whitelist` and `.blacklist`: patterns of index names that are
        /// forwarded, or not forwarded; the last matching filter decides.
        FILTER: String = "forwardedindex.*", "", Type::Regex;
    }
    "outputs"["tcpout, tcpout:<group>"] {
        /// Whether the group is disabled.
        DISABLED: bool = "disabled", "false", Type::Boolean;
        /// The indexers, as host:port.
        SERVER: Vec<String> = "server", "", Type::LIST;
        /// The `[indexer_discovery:<name>]` at which the indexers are asked for, instead of `server`.
        INDEXER_DISCOVERY: Option<String> = "indexerDiscovery", "", Type::Text;
        /// Interval after which another indexer becomes the target.
        LB_FREQUENCY: Duration = "autoLBFrequency", "30", SPAN;
        /// Size of text after which another indexer becomes the target; 0 for no limit.
        LB_VOLUME: String = "autoLBVolume", "0", SIZE;
        /// Maximum size of data in memory that waits for the queue on disk, from 64 KB to 1 GB. An indexer
        /// may have three times as much unacknowledged data.
        MAX_QUEUE_SIZE: String = "maxQueueSize", "4MB", SIZE;
        /// Maximum size of the queue on disk per pipeline set, 1 MB or more.
        PERSISTENT_QUEUE_SIZE: String = "persistentQueueSize", "1GB", SIZE;
        /// Whether batches are compressed on disk and on the network.
        COMPRESSED: bool = "compressed", "true", Type::Boolean;
        /// If the queue is full for this long, new events are dropped. 0 or less: inputs wait.
        DROP_ON_QUEUE_FULL: i64 = "dropEventsOnQueueFull", "-1", PATIENCE;
        /// Time for which batches that an indexer may have received are kept for this indexer.
        DEAD_INDEXER_TIMEOUT: Duration = "deadIndexerTimeout", "3600", SPAN;
        /// Time limit for connecting.
        CONNECTION_TIMEOUT: Duration = "connectionTimeout", "20", SPAN;
        /// Maximum time without data from an indexer.
        READ_TIMEOUT: Duration = "readTimeout", "300", SPAN;
        /// Interval between heartbeats on an idle connection.
        HEARTBEAT: Duration = "heartbeatFrequency", "30", SPAN;
        /// Token that the indexers require.
        TOKEN: Option<String> = "token", "", Type::Secret;
        /// Batches are always acknowledged; a value of false causes a warning.
        USE_ACK: bool = "useACK", "true", Type::Boolean;
    }
    "outputs"["indexer_discovery:<name>"] {
        /// Processes of the cluster that know its indexers, usually the control planes: host:port of their
        /// management API, or https://host:port. With http://, connections are not encrypted. The first one
        /// that answers counts.
        MANAGER_URI: Vec<String> = "manager_uri", "", Type::LIST;
        /// The former name of `manager_uri`.
        MASTER_URI: Vec<String> = "master_uri", "", Type::LIST;
        /// Secret shared with these processes (`pass4SymmKey` of `[indexer_discovery]` in their
        /// `server.conf`). Default: `token` of the group.
        DISCOVERY_KEY: Option<String> = "pass4SymmKey", "", Type::Secret;
        /// Time limit for connecting.
        CXN_TIMEOUT: Duration = "cxn_timeout", "20", SECONDS;
        /// Maximum time without data from the process that is asked.
        RCV_TIMEOUT: Duration = "rcv_timeout", "30", SECONDS;
    }
    "outputs"["tcpout, tcpout:<group>, tcpout-server://<host:port>"] {
        /// Whether connections are encrypted. Default: true if `sslRootCAPath` is set.
        USE_SSL: Option<bool> = "useSSL", "", Type::Boolean;
        /// Whether the server's certificate is verified. Default: true if `sslRootCAPath` is set.
        VERIFY: Option<bool> = "sslVerifyServerCert", "", Type::Boolean;
        /// File with trusted certificates.
        ROOT_CA: Option<String> = "sslRootCAPath", "", Type::Text;
        /// Name in the server's certificate, if it differs from the name in `server`.
        COMMON_NAME: Option<String> = "sslCommonNameToCheck", "", Type::Text;
    }
}

/// Settings of Splunk's file that have no effect: load is always balanced, events are always cooked, and a
/// request for indexers is small.
const UNUSED: &[Setting] = &conf::without_effect(
    "outputs",
    [
        "autoLB",
        "blockOnCloning",
        "sendCookedData",
        "send_timeout",
        "useClientSSLCompression",
        "writeTimeout",
    ],
);

conf::settings! {
    /// Settings of the process.
    #[derive(Debug, Clone)]
    pub(crate) struct Process {
        "server"["general"] {
            /// Pipeline sets that run side by side.
            "parallelIngestionPipelines" => pub(crate) pipelines: u16 = "1", Type::range(1, 64);
            /// Site of the forwarder: of the indexers that it asks for, those of this site are preferred.
            "site" => pub(crate) site: Option<String> = "", Type::Text;
        }
    }
}

/// The settings of the files that configure a forwarder. `server.conf` and `limits.conf` are not checked:
/// the forwarder reads few settings of them, and they are shared with other programs.
#[must_use]
pub fn registry() -> Registry {
    let own: &[&[Setting]] = &[SETTINGS, UNUSED];
    let client = deployment_client::settings::DECLARED;
    Registry::new(&[knowledge::settings::DECLARED, inputs::settings::DECLARED, own, client])
        .only(&["deploymentclient", "inputs", "outputs", "props", "transforms"])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    #[test]
    fn the_pages_of_files_of_forwarders_are_written_from_the_declarations() {
        for conf in ["outputs", "deploymentclient"] {
            let path = format!("{}/../../docs/conf/{conf}.md", env!("CARGO_MANIFEST_DIR"));
            let page = registry().page(conf);
            if std::env::var_os("KARST_BLESS").is_some() {
                std::fs::write(path, page).unwrap();
                continue;
            }
            let written = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(written == page, "docs/conf/{conf}.md: run this test with KARST_BLESS=1");
        }
    }

    #[test]
    fn unknown_settings_and_those_without_effect_are_reported() {
        let outputs = "[tcpout:a]\nservr = c\nautoLB = true\nforwardedindex.0.whitelist = x";
        let layers = Layers::builtin().with(Layer::SystemLocal, "outputs", outputs);
        let warnings = registry().warnings(&layers);
        let shown: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        let place = "system/local/outputs.conf";
        let unknown =
            format!("{place}:2: unknown setting servr in [tcpout:a]; did you mean server?");
        let unused = format!("{place}:3: setting autoLB has no effect in this version");
        assert_eq!(shown, [unknown, unused]);
    }

    #[test]
    fn defaults_are_values() {
        let client = deployment_client::settings::DECLARED.iter().copied().flatten();
        let settings = SETTINGS.iter().chain(client);
        for setting in settings.filter(|setting| !setting.default.is_empty()) {
            assert!(setting.kind.read(setting.default).is_some(), "{}", setting.name);
        }
    }
}

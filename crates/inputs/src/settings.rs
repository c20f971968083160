//! Settings of `inputs.conf`, a stanza per input.

use std::time::Duration;

use conf::{FromValue, Setting, Type, Unit, Value};
use knowledge::Pattern;

use crate::exec::Schedule;
use crate::s3::Decoder;

const SCHEDULE: Type = Type::Form {
    expected: "seconds from 0, -1 for once, or a cron expression of five fields",
    fits: |text| Schedule::parse(text).is_some(),
};

impl FromValue for Schedule {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Self::parse(text),
            _ => None,
        }
    }
}

impl FromValue for Decoder {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Self::parse(text),
            _ => None,
        }
    }
}

conf::keys! {
    "inputs"[""] {
        /// Host of the input's events. Default: this machine's name.
        HOST: Option<String> = "host", "", Type::Text;
        /// Source of the input's events. Default: the path or address.
        SOURCE: Option<String> = "source", "", Type::Text;
        /// Source type of the input's events. Default: recognised automatically.
        SOURCETYPE: Option<String> = "sourcetype", "", Type::Text;
        /// Index of the input's events.
        INDEX: String = "index", "main", Type::Text;
        /// Whether the input is disabled.
        DISABLED: bool = "disabled", "false", Type::Boolean;
        /// Forwarder: groups of outputs.conf that receive the input's events, or `*`. Default:
        /// `defaultGroup`.
        TCP_ROUTING: String = "_TCP_ROUTING", "", Type::LIST;
    }
    "inputs"["monitor://<path>, batch://<path>"] {
        /// Pattern of full paths to read. Default: all.
        WHITELIST: Pattern = "whitelist", "", Type::Regex;
        /// Pattern of full paths to ignore. Default: none.
        BLACKLIST: Pattern = "blacklist", "", Type::Regex;
        /// Older name of `whitelist`.
        OLD_WHITELIST: Pattern = "_whitelist", "", Type::Regex;
        /// Older name of `blacklist`.
        OLD_BLACKLIST: Pattern = "_blacklist", "", Type::Regex;
        /// Whether subdirectories are monitored.
        RECURSIVE: bool = "recursive", "true", Type::Boolean;
        /// Whether symbolic links are followed.
        FOLLOW_SYMLINK: bool = "followSymlink", "true", Type::Boolean;
        /// Pattern whose first group, matched against the path, is the host.
        HOST_REGEX: Pattern = "host_regex", "", Type::Regex;
        /// Number of the path segment that is the host, starting at 1.
        HOST_SEGMENT: Option<usize> = "host_segment", "", Type::number(1);
        /// Time without new data after which a file is considered complete for now. Default: 3, and longer
        /// for large compressed files.
        TIME_BEFORE_CLOSE: Option<Duration> = "time_before_close", "", Type::seconds(0);
        /// Text added to the checksum that identifies a file; `<SOURCE>` for the path.
        CRC_SALT: Option<String> = "crcSalt", "", Type::Text;
        /// Number of bytes at the start of a file that identify it.
        INIT_CRC_LENGTH: usize = "initCrcLength", "256", Type::of(Unit::Bytes, 256, 1 << 20);
        /// Files that have been unchanged for this long are ignored until they change; 0 for no limit.
        IGNORE_OLDER_THAN: Duration = "ignoreOlderThan", "0", Type::Span { least: 0 };
        /// Whether files that exist at startup are read from their end. Not for `[batch://...]`.
        FOLLOW_TAIL: bool = "followTail", "false", Type::Boolean;
    }
    "inputs"["batch://<path>"] {
        /// Required: files are deleted after all their events are durable.
        MOVE_POLICY: Option<String> = "move_policy", "", Type::Choice(&["sinkhole"]);
    }
    "inputs"["script://<command>"] {
        /// Seconds between starts, 0 for immediately, -1 for once, or a cron expression of five fields.
        INTERVAL: Schedule = "interval", "60", SCHEDULE;
    }
    "inputs"["tcp://<port>, tcp-ssl://<port>, tcp-ssl:<port>, udp://<port>"] {
        /// Origin of the host: the sender's address (ip, dns) or the setting `host` (none).
        CONNECTION_HOST: String = "connection_host", "ip", Type::Choice(&["ip", "dns", "none"]);
    }
    "inputs"["tcp://<port>, tcp-ssl://<port>, tcp-ssl:<port>, udp://<port>, splunktcp://<port>, splunktcp-ssl://<port>, splunktcp-ssl:<port>"] {
        /// The only host that may send data, by name or address. It may also precede the port in the name
        /// of the stanza. Default: all.
        RESTRICT_TO_HOST: Option<String> = "restrictToHost", "", Type::Text;
    }
    "inputs"["tcp://<port>, tcp-ssl://<port>, tcp-ssl:<port>"] {
        /// Maximum number of connections; 0 for the default.
        MAX_SOCKETS: usize = "maxSockets", "0", Type::number(0);
    }
    "inputs"["udp://<port>"] {
        /// Size of the receive buffer of the socket, where datagrams wait until they are read; 0 for the
        /// default of the system. The system limits it (`net.core.rmem_max`).
        RECEIVE_BUFFER: usize = "_rcvbuf", "8388608", Type::of(Unit::Bytes, 0, 1 << 30);
    }
    "inputs"["SSL"] {
        /// PEM file with the certificate of `[tcp-ssl://...]` inputs and `--syslog-tls`, its chain and its
        /// private key, which must not be encrypted. Default: the certificate of the server.
        SERVER_CERT: Option<String> = "serverCert", "", Type::Text;
        /// Whether clients of these inputs must present a certificate that is signed by `sslRootCAPath`.
        REQUIRE_CLIENT_CERT: bool = "requireClientCert", "false", Type::Boolean;
        /// PEM file with the CA of client certificates.
        ROOT_CA: Option<String> = "sslRootCAPath", "", Type::Text;
        /// Older name of `sslRootCAPath`.
        OLD_ROOT_CA: Option<String> = "rootCA", "", Type::Text;
        /// Not supported: names in client certificates are not checked. With `requireClientCert = true`, it
        /// is refused.
        CLIENT_NAME: Option<String> = "sslCommonNameToCheck", "", Type::Text;
        /// Not supported, as `sslCommonNameToCheck`.
        CLIENT_ALT_NAME: Option<String> = "sslAltNameToCheck", "", Type::Text;
    }
    "inputs"["http://<name>"] {
        /// The token of an HTTP event collector input.
        TOKEN: Option<String> = "token", "", Type::Secret;
        /// Indexes to which the token may write. Default: all.
        INDEXES: Vec<String> = "indexes", "", Type::LIST;
        /// Whether events sent with the token are acknowledged.
        USE_ACK: bool = "useACK", "false", Type::Boolean;
    }
    "inputs"["http://<name>, http"] {
        /// Whether the token may be sent as the query parameter `token`. In `[http]`: for the tokens whose
        /// stanzas do not have it. Default: false, or the value that was set over REST.
        QUERY_STRING_AUTH: Option<bool> = "allowQueryStringAuth", "", Type::Boolean;
    }
    "inputs"["aws_sqs_based_s3://<name>, aws_sqs_s3://<name>"] {
        /// URL of the queue with notifications of new objects.
        SQS_QUEUE_URL: Option<String> = "sqs_queue_url", "", Type::Text;
        /// Region of the queue. Default: derived from its URL.
        SQS_QUEUE_REGION: Option<String> = "sqs_queue_region", "", Type::Text;
        /// Maximum number of messages per request.
        SQS_BATCH_SIZE: i32 = "sqs_batch_size", "10", Type::range(1, 10);
        /// Time for which a message is invisible to other readers; extended while its object is read.
        SQS_VISIBILITY: Duration = "sqs_visibility_timeout", "300", Type::of(Unit::Seconds, 10, 43_200);
        /// Endpoint of SQS, if not AWS.
        SQS_ENDPOINT: Option<String> = "sqs_private_endpoint_url", "", Type::Text;
        /// Endpoint of S3, if not AWS.
        S3_ENDPOINT: Option<String> = "s3_private_endpoint_url", "", Type::Text;
        /// CustomLogs: events by the rules for line breaking. CloudTrail: one event per record.
        S3_DECODER: Decoder = "s3_file_decoder", "CustomLogs", Type::Choice(&["CustomLogs", "CloudTrail"]);
    }
}

const UNUSED: &[Setting] = &conf::without_effect(
    "inputs",
    [
        "acceptFrom",
        "alwaysOpenFile",
        "aws_account",
        "dedicatedIoThreads",
        "description",
        "enableSSL",
        "maxThreads",
        "no_appending_timestamp",
        "no_priority_stripping",
        "outputgroup",
        "parallelIngestionPipelines",
        "passAuth",
        "persistentQueueSize",
        "port",
        "python.required",
        "python.version",
        "queue",
        "queueSize",
        "rawTcpDoneTimeout",
        "sslPassword",
        "useDeploymentServer",
        "using_dlq",
    ],
);

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[
    SETTINGS,
    UNUSED,
    crate::hec::AckSettings::SETTINGS,
    crate::monitor::MonitorSettings::SETTINGS,
];

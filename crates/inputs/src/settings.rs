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
        /// Source type of the input's events. Default: recognised.
        SOURCETYPE: Option<String> = "sourcetype", "", Type::Text;
        /// Index of the input's events.
        INDEX: String = "index", "main", Type::Text;
        /// Whether the input is switched off.
        DISABLED: bool = "disabled", "false", Type::Boolean;
        /// Forwarder: groups of outputs.conf that get the input, separated by commas, or `*`. Default:
        /// `defaultGroup`.
        TCP_ROUTING: String = "_TCP_ROUTING", "", Type::LIST;
    }
    "inputs"["monitor://<path>, batch://<path>"] {
        /// Full paths to take. Default: all.
        WHITELIST: Pattern = "whitelist", "", Type::Regex;
        /// Full paths to leave. Default: none.
        BLACKLIST: Pattern = "blacklist", "", Type::Regex;
        /// Older name of `whitelist`.
        OLD_WHITELIST: Pattern = "_whitelist", "", Type::Regex;
        /// Older name of `blacklist`.
        OLD_BLACKLIST: Pattern = "_blacklist", "", Type::Regex;
        /// Whether folders below a folder are entered.
        RECURSIVE: bool = "recursive", "true", Type::Boolean;
        /// Whether symbolic links are followed.
        FOLLOW_SYMLINK: bool = "followSymlink", "true", Type::Boolean;
        /// The first group of the match on the path is the host.
        HOST_REGEX: Pattern = "host_regex", "", Type::Regex;
        /// Which name of the path, from 1, is the host.
        HOST_SEGMENT: Option<usize> = "host_segment", "", Type::number(1);
        /// Time without growth after which a file is complete for now. Default: 3, of large packed files
        /// more.
        TIME_BEFORE_CLOSE: Option<Duration> = "time_before_close", "", Type::seconds(0);
        /// Text mixed into the checksum that tells files apart, `<SOURCE>` for the path.
        CRC_SALT: Option<String> = "crcSalt", "", Type::Text;
        /// Bytes at a file's start that tell it apart.
        INIT_CRC_LENGTH: usize = "initCrcLength", "256", Type::of(Unit::Bytes, 256, 1 << 20);
        /// Files unchanged for this long are left until they change; 0 is none.
        IGNORE_OLDER_THAN: Duration = "ignoreOlderThan", "0", Type::Span { least: 0 };
        /// Whether files that are there at the start are read from their end. Not for `[batch://...]`.
        FOLLOW_TAIL: bool = "followTail", "false", Type::Boolean;
    }
    "inputs"["batch://<path>"] {
        /// Required: files are deleted once all their events are safe.
        MOVE_POLICY: Option<String> = "move_policy", "", Type::Choice(&["sinkhole"]);
    }
    "inputs"["script://<command>"] {
        /// Seconds between starts, 0 for at once, -1 for once, or five fields of cron.
        INTERVAL: Schedule = "interval", "60", SCHEDULE;
    }
    "inputs"["tcp://<port>, udp://<port>"] {
        /// Host from the sender's address (ip, dns) or the setting (none).
        CONNECTION_HOST: String = "connection_host", "ip", Type::Choice(&["ip", "dns", "none"]);
    }
    "inputs"["tcp://<port>, udp://<port>, splunktcp://<port>, splunktcp-ssl://<port>"] {
        /// The only host that may send, by name or address, which may stand before the port in the stanza's
        /// name. Default: all.
        RESTRICT_TO_HOST: Option<String> = "restrictToHost", "", Type::Text;
    }
    "inputs"["tcp://<port>"] {
        /// Connections at a time, 0 for the default.
        MAX_SOCKETS: usize = "maxSockets", "0", Type::number(0);
    }
    "inputs"["http://<name>"] {
        /// The token of an HTTP event collector input.
        TOKEN: Option<String> = "token", "", Type::Secret;
        /// Indexes the token may write to. Default: all.
        INDEXES: Vec<String> = "indexes", "", Type::LIST;
        /// Whether the token's senders ask for acknowledgements.
        USE_ACK: bool = "useACK", "false", Type::Boolean;
    }
    "inputs"["aws_sqs_based_s3://<name>, aws_sqs_s3://<name>"] {
        /// Address of the queue that tells of new objects.
        SQS_QUEUE_URL: Option<String> = "sqs_queue_url", "", Type::Text;
        /// Region of the queue. Default: from its address.
        SQS_QUEUE_REGION: Option<String> = "sqs_queue_region", "", Type::Text;
        /// Messages at a time.
        SQS_BATCH_SIZE: i32 = "sqs_batch_size", "10", Type::range(1, 10);
        /// Time a message is nobody else's, extended while it is read.
        SQS_VISIBILITY: Duration = "sqs_visibility_timeout", "300", Type::of(Unit::Seconds, 10, 43_200);
        /// Where SQS is, instead of AWS.
        SQS_ENDPOINT: Option<String> = "sqs_private_endpoint_url", "", Type::Text;
        /// Where S3 is, instead of AWS.
        S3_ENDPOINT: Option<String> = "s3_private_endpoint_url", "", Type::Text;
        /// CustomLogs: by line rules. CloudTrail: one event per record.
        S3_DECODER: Decoder = "s3_file_decoder", "CustomLogs", Type::Choice(&["CustomLogs", "CloudTrail"]);
    }
}

const UNUSED: &[Setting] = &conf::without_effect(
    "inputs",
    [
        "_rcvbuf",
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
        "queue",
        "queueSize",
        "rawTcpDoneTimeout",
        "requireClientCert",
        "serverCert",
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

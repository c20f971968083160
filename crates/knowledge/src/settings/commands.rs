//! Settings of `commands.conf`: custom search commands of apps.

use std::time::Duration;

use conf::{Setting, Type, Unit};

conf::keys! {
    "commands"["<command>"] {
        /// Program in the app's directory `bin`. Default: the name of the command with `.py`.
        FILENAME: Option<String> = "filename", "", Type::Text;
        /// Whether the program uses protocol 2.
        CHUNKED: bool = "chunked", "false", Type::Boolean;
        /// Arguments of the program before all others, in the order of their numbers.
        ARGUMENT: String = "command.arg.*", "", Type::Text;
        /// Maximum number of rows passed to the program at once; 0 for no limit. Commands of protocol 1
        /// that are not `streaming` receive no further rows.
        MAXINPUTS: usize = "maxinputs", "50000", Type::number(0);
        /// Time limit for one response of the program; 0 for the limit of `limits.conf [scripts] maxwait`.
        MAXWAIT: Duration = "maxwait", "0", Type::seconds(0);
        /// Maximum size of one response of the program; 0 for the limit of `limits.conf [scripts]
        /// maxchunksize`.
        MAXCHUNKSIZE: u64 = "maxchunksize", "0", Type::of(Unit::Bytes, 0, i64::MAX);
        /// Protocol 1: whether the program generates rows; `stream` is equivalent to `true`.
        GENERATING: String = "generating", "false", Type::Text;
        /// Protocol 1: whether the program processes each row independently.
        STREAMING: bool = "streaming", "false", Type::Boolean;
        /// Protocol 1: whether the input of the program starts with header lines `name:value`.
        ENABLEHEADER: bool = "enableheader", "true", Type::Boolean;
        /// Protocol 1: whether the header has a session key of the user, which requires `enableheader`.
        /// Programs of protocol 2 always get one.
        PASSAUTH: bool = "passauth", "false", Type::Boolean;
        /// Protocol 1: whether the output of the program starts with header lines `name=value` and an empty
        /// line.
        OUTPUTHEADER: bool = "outputheader", "false", Type::Boolean;
        /// Protocol 1: whether the properties of the program are queried with `__GETINFO__`.
        SUPPORTS_GETINFO: bool = "supports_getinfo", "false", Type::Boolean;
        /// Protocol 1: whether arguments keep their quotes.
        SUPPORTS_RAWARGS: bool = "supports_rawargs", "false", Type::Boolean;
        /// Protocol 1: whether rows have columns `__mv_<field>` for multivalue fields.
        SUPPORTS_MULTIVALUES: bool = "supports_multivalues", "false", Type::Boolean;
    }
}

/// Settings of Splunk's file that have no effect.
pub(crate) const UNUSED: &[Setting] = &conf::without_effect(
    "commands",
    [
        "changes_colorder",
        "clear_required_fields",
        "distributed",
        "environment",
        "generates_timeorder",
        "is_order_sensitive",
        "is_risky",
        "local",
        "needs_empty_results",
        "overrides_timeorder",
        "perf_warn_limit",
        "python.required",
        "python.version",
        "required_fields",
        "requires_preop",
        "requires_srinfo",
        "retainsevents",
        "run_in_preview",
        "stderr_dest",
        "streaming_preop",
        "type",
        "undo_scheduler_escaping",
    ],
);

//! Settings of `commands.conf`: custom search commands of apps.

use std::time::Duration;

use conf::{Setting, Type, Unit};

conf::keys! {
    "commands"["<command>"] {
        /// The program in the directory `bin` of the app. Default: the name of the command with `.py`.
        FILENAME: Option<String> = "filename", "", Type::Text;
        /// Whether the program speaks protocol 2.
        CHUNKED: bool = "chunked", "false", Type::Boolean;
        /// Arguments of the program before all others, in the order of their numbers.
        ARGUMENT: String = "command.arg.*", "", Type::Text;
        /// Rows that the program gets at once; 0 is no limit. Of commands of protocol 1 that are not
        /// `streaming` it is the number of rows that they get at all.
        MAXINPUTS: usize = "maxinputs", "50000", Type::number(0);
        /// Time for one answer; 0: as long as `limits.conf [scripts] maxwait` allows.
        MAXWAIT: Duration = "maxwait", "0", Type::seconds(0);
        /// Bytes of one answer; 0: as many as `limits.conf [scripts] maxchunksize` allows.
        MAXCHUNKSIZE: u64 = "maxchunksize", "0", Type::of(Unit::Bytes, 0, i64::MAX);
        /// Protocol 1: whether the program makes rows, `stream` is as `true`.
        GENERATING: String = "generating", "false", Type::Text;
        /// Protocol 1: whether the program works on each row by itself.
        STREAMING: bool = "streaming", "false", Type::Boolean;
        /// Protocol 1: whether lines `name:value` stand before the rows that the program gets.
        ENABLEHEADER: bool = "enableheader", "true", Type::Boolean;
        /// Protocol 1: whether the program prints lines `name=value` and an empty line before its rows.
        OUTPUTHEADER: bool = "outputheader", "false", Type::Boolean;
        /// Protocol 1: whether the program is asked with `__GETINFO__` what it is.
        SUPPORTS_GETINFO: bool = "supports_getinfo", "false", Type::Boolean;
        /// Protocol 1: whether arguments keep their quotes.
        SUPPORTS_RAWARGS: bool = "supports_rawargs", "false", Type::Boolean;
        /// Protocol 1: whether rows have columns `__mv_<field>`.
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
        "passauth",
        "perf_warn_limit",
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

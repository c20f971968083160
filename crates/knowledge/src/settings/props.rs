//! Settings of `props.conf`: stanzas of source types, sources and hosts.

use conf::{Setting, Type, Unit};

use crate::charset::Charset;
use crate::extract::KvMode;
use eval::Pattern;

const CHARACTER: Type = Type::Form {
    expected: "one character, or space, tab, fs, gs, rs, us, whitespace or \\xHH",
    fits: |text| {
        let is_blanks = ["whitespace", "ws"].iter().any(|word| word.eq_ignore_ascii_case(text));
        is_blanks || character(text).flatten().is_some()
    },
};
const QUOTE: Type = Type::Form {
    expected: "one character, none, or \\xHH",
    fits: |text| character(text).is_some(),
};
const ENCODING: Type = Type::Form {
    expected: "the name of an encoding such as UTF-8, LATIN-1, UTF-16LE, SHIFT-JIS, EUC-JP, GBK, BIG5, KOI8-R or \
               CP1251, or AUTO",
    fits: |text| Charset::parse(text).is_some(),
};
const MODE: Type = Type::Form {
    expected: "none, auto, auto_escaped, json, xml or multi",
    fits: |text| KvMode::parse(text).is_some(),
};
const STRUCTURE: Type = Type::Form {
    expected: "csv, tsv, psv, w3c, json or otlp (hec is not supported)",
    fits: |text| {
        let known = ["csv", "tsv", "psv", "w3c", "json", "otlp", "none", "false"];
        known.iter().any(|name| name.eq_ignore_ascii_case(text))
    },
};
const ALIASES: Type = Type::Form {
    expected: "<field> AS <alias>, or ASNEW",
    fits: |text| text.is_empty() || !crate::extract::Aliases::parse(text).aliases.is_empty(),
};
const ANY: Type = Type::number(i64::MIN);
const SIGNED_SECONDS: Type = Type::of(Unit::Seconds, i64::MIN, i64::MAX);
const SIGNED_DAYS: Type = Type::of(Unit::Days, i64::MIN, i64::MAX);

conf::keys! {
    "props"["<source type>, source::<pattern>, host::<pattern>"] {
        /// Pattern of line ends. The text of the first group that matches is dropped, and a new line begins
        /// after it.
        LINE_BREAKER: Pattern = "LINE_BREAKER", "([\\r\\n]+)", Type::Regex, live;
        /// Number of bytes before the end of a chunk in which a break may begin that the next chunk
        /// completes; at least 65536 are used.
        LINE_BREAKER_LOOKBEHIND: usize = "LINE_BREAKER_LOOKBEHIND", "100", Type::number(0), live;
        /// Whether lines are joined into events.
        SHOULD_LINEMERGE: bool = "SHOULD_LINEMERGE", "true", Type::Boolean, live;
        /// When merging, a line with a timestamp starts an event.
        BREAK_ONLY_BEFORE_DATE: bool = "BREAK_ONLY_BEFORE_DATE", "true", Type::Boolean, live;
        /// When merging, pattern of lines that start an event.
        BREAK_ONLY_BEFORE: Pattern = "BREAK_ONLY_BEFORE", "", Type::Regex, live;
        /// When merging, pattern of lines that end an event.
        MUST_BREAK_AFTER: Pattern = "MUST_BREAK_AFTER", "", Type::Regex, live;
        /// When merging, pattern of lines that never start an event.
        MUST_NOT_BREAK_BEFORE: Pattern = "MUST_NOT_BREAK_BEFORE", "", Type::Regex, live;
        /// When merging, pattern of lines after which no event starts until a line matches
        /// `MUST_BREAK_AFTER`.
        MUST_NOT_BREAK_AFTER: Pattern = "MUST_NOT_BREAK_AFTER", "", Type::Regex, live;
        /// Maximum number of lines of a merged event.
        MAX_EVENTS: usize = "MAX_EVENTS", "256", Type::number(0), live;
        /// Maximum length of a line in bytes; the rest is truncated. 0 for no limit.
        TRUNCATE: usize = "TRUNCATE", "10000", Type::number(0), live;
        /// Encoding of the source; AUTO detects it.
        CHARSET: String = "CHARSET", "UTF-8", ENCODING, live;
        /// Pattern of lines that are not events, such as headers.
        PREAMBLE_REGEX: Pattern = "PREAMBLE_REGEX", "", Type::Regex, live;
        /// Pattern after whose first match the timestamp is searched.
        TIME_PREFIX: String = "TIME_PREFIX", "", Type::Regex, live;
        /// `strptime` format of the timestamp. Default: common formats are recognised.
        TIME_FORMAT: String = "TIME_FORMAT", "", Type::Text, live;
        /// Number of bytes after the prefix that are searched; 0 or -1 for all. Default: the timestamp
        /// begins within 128 bytes, or anywhere in JSON.
        MAX_TIMESTAMP_LOOKAHEAD: Option<i64> = "MAX_TIMESTAMP_LOOKAHEAD", "", ANY, live;
        /// Time zone of timestamps without one: IANA name, offset or POSIX rule. Default: UTC.
        TZ: String = "TZ", "", Type::Text, live;
        /// Maximum age of a timestamp in days; 30 years, so that samples of old logs keep their dates.
        /// Splunk: 2000.
        MAX_DAYS_AGO: i64 = "MAX_DAYS_AGO", "10951", SIGNED_DAYS, live;
        /// Maximum number of days that a timestamp may be in the future.
        MAX_DAYS_HENCE: i64 = "MAX_DAYS_HENCE", "2", SIGNED_DAYS, live;
        /// Maximum time by which a timestamp of unusual format may precede the previous timestamp without
        /// being counted.
        MAX_DIFF_SECS_AGO: i64 = "MAX_DIFF_SECS_AGO", "3600", SIGNED_SECONDS, live;
        /// Maximum time by which such a timestamp may follow the previous timestamp without being counted.
        MAX_DIFF_SECS_HENCE: i64 = "MAX_DIFF_SECS_HENCE", "604800", SIGNED_SECONDS, live;
        /// CURRENT: the time of arrival. NONE: the time of the input, such as that of a file. Or a file of
        /// patterns, such as /etc/apps/x/local/datetime.xml.
        DATETIME_CONFIG: String = "DATETIME_CONFIG", "", Type::Text, live;
        /// Format from which fields are extracted and indexed with the event. For csv, tsv, psv and w3c, a
        /// header names the fields. otlp: a line is a request of the OpenTelemetry protocol in JSON, whose
        /// log records are the events.
        INDEXED_EXTRACTIONS: String = "INDEXED_EXTRACTIONS", "", STRUCTURE, live;
        /// Column names of a structured source without a header.
        FIELD_NAMES: String = "FIELD_NAMES", "", Type::LIST, live;
        /// Delimiter of values. Default: that of the format.
        FIELD_DELIMITER: String = "FIELD_DELIMITER", "", CHARACTER, live;
        /// Quote character of values.
        FIELD_QUOTE: String = "FIELD_QUOTE", "\"", QUOTE, live;
        /// Delimiter of the names in the header. Default: `FIELD_DELIMITER`.
        HEADER_FIELD_DELIMITER: String = "HEADER_FIELD_DELIMITER", "", CHARACTER, live;
        /// Quote character of the names in the header. Default: `FIELD_QUOTE`.
        HEADER_FIELD_QUOTE: String = "HEADER_FIELD_QUOTE", "", QUOTE, live;
        /// Line number of the header, without empty lines; 0 for the first line that is not a preamble.
        HEADER_FIELD_LINE_NUMBER: i64 = "HEADER_FIELD_LINE_NUMBER", "0", ANY, live;
        /// Special characters in the header's names that are not replaced with `_`.
        SPECIAL_CHARACTERS: String = "HEADER_FIELD_ACCEPTABLE_SPECIAL_CHARACTERS", "", Type::Text, live;
        /// Pattern of a prefix of the header line, which is not part of the header.
        FIELD_HEADER_REGEX: Pattern = "FIELD_HEADER_REGEX", "", Type::Regex, live;
        /// Pattern of values in structured sources that are treated as missing.
        MISSING_VALUE_REGEX: Pattern = "MISSING_VALUE_REGEX", "", Type::Regex, live;
        /// Fields of a structured source that contain the timestamp.
        TIMESTAMP_FIELDS: String = "TIMESTAMP_FIELDS", "", Type::LIST, live;
        /// Whether `INDEXED_EXTRACTIONS = json` names arrays without `{}`.
        TRIM_BRACES: bool = "JSON_TRIM_BRACES_IN_ARRAY_NAMES", "false", Type::Boolean, live;
        /// `s/regex/replacement/flags` and `y/abc/xyz/` over `_raw` as events arrive, in the order of the
        /// classes.
        SEDCMD: String = "SEDCMD-*", "", Type::Text, live;
        /// Stanzas of transforms.conf that run on events as they arrive, before those of `TRANSFORMS-*`.
        PLAIN_TRANSFORMS: String = "TRANSFORMS", "", Type::LIST, live;
        /// Stanzas of transforms.conf that run on events as they arrive.
        TRANSFORMS: String = "TRANSFORMS-*", "", Type::LIST, live;
        /// The same, but applied after all `TRANSFORMS`.
        RULESET: String = "RULESET-*", "", Type::LIST, live;
        /// Whether an event's punctuation is stored in the indexed field `punct`. Splunk: true.
        ANNOTATE_PUNCT: bool = "ANNOTATE_PUNCT", "false", Type::Boolean, live;
        /// Precedence among matching stanzas of the same kind. Default: 0 for patterns, 100 for literal
        /// names.
        PRIORITY: i64 = "priority", "", ANY, live;
        /// Whether the stanza is ignored.
        DISABLED: bool = "disabled", "false", Type::Boolean, live;
    }
    "props"["<source type>, source::<pattern>, host::<pattern>"] {
        /// Automatic extraction at search time.
        KV_MODE: String = "KV_MODE", "auto", MODE, live;
        /// Whether `KV_MODE = auto` extracts from events that are JSON objects.
        AUTO_KV_JSON: bool = "AUTO_KV_JSON", "true", Type::Boolean, live;
        /// Pattern whose named groups become fields; may be followed by `in <field>`.
        EXTRACT: String = "EXTRACT-*", "", Type::Regex, live;
        /// Stanzas of transforms.conf that extract fields at search time.
        REPORT: String = "REPORT-*", "", Type::LIST, live;
        /// Aliases of fields; `ASNEW` keeps an existing field with the name of the alias. A value may have
        /// several aliases.
        FIELDALIAS: String = "FIELDALIAS-*", "", ALIASES, live;
        /// Expression of a calculated field.
        EVAL: String = "EVAL-*", "", Type::Text, live;
        /// Automatic lookup: the name of a lookup, and the arguments of the command `lookup`.
        LOOKUP: String = "LOOKUP-*", "", Type::Text, live;
    }
    "props"["<source type>"] {
        /// Name of the source type in searches; the search-time settings of this name then apply. The field
        /// `_sourcetype` has the original name.
        RENAME: String = "rename", "", Type::Text, live;
    }
    "props"["source::<pattern>, rule::<name>, delayedrule::<name>"] {
        /// Source type of matching sources.
        SOURCETYPE: String = "sourcetype", "", Type::Text, live;
    }
    "props"["rule::<name>, delayedrule::<name>"] {
        /// Pattern that more than this percentage of the lines must match.
        MORE_THAN: Pattern = "MORE_THAN_*", "", Type::Regex, live;
        /// Pattern that fewer than this percentage of the lines must match.
        LESS_THAN: Pattern = "LESS_THAN_*", "", Type::Regex, live;
    }
}

/// Parses a character as it is written in `FIELD_DELIMITER` and `FIELD_QUOTE`; `Some(None)` if the value says
/// that there is none.
pub(crate) fn character(text: &str) -> Option<Option<char>> {
    Some(Some(match text.to_ascii_lowercase().as_str() {
        "none" => return Some(None),
        "space" => ' ',
        "tab" | "\\t" => '\t',
        "fs" => '\u{1c}',
        "gs" => '\u{1d}',
        "rs" => '\u{1e}',
        "us" => '\u{1f}',
        lower => {
            if let Some(hex) = lower.strip_prefix("\\x") {
                return u8::from_str_radix(hex, 16).ok().map(|byte| Some(char::from(byte)));
            }
            let mut characters = text.chars();
            match (characters.next(), characters.next(), characters.next()) {
                (Some(one), None, None) => one,
                // A quoted delimiter.
                (Some('"'), Some(one), Some('"')) if text.chars().count() == 3 => one,
                _ => return None,
            }
        }
    }))
}

/// Settings that are stored with a stanza and have no effect.
pub(crate) const NOTES: &[Setting] =
    &conf::notes("props", ["category", "description", "pulldown_type"]);

/// Settings of Splunk's file that have no effect.
pub(crate) const UNUSED: &[Setting] = &conf::without_effect(
    "props",
    [
        "ADD_EXTRA_TIME_FIELDS",
        "CHECK_FOR_HEADER",
        "CHECK_METHOD",
        "DEPTH_LIMIT",
        "DETERMINE_TIMESTAMP_DATE_WITH_SYSTEM_TIME",
        "EVENT_BREAKER",
        "EVENT_BREAKER_ENABLE",
        "HEADER_MODE",
        "KV_TRIM_SPACES",
        "LB_CHUNK_BREAKER",
        "LB_CHUNK_BREAKER_TRUNCATE",
        "LEARN_MODEL",
        "LEARN_SOURCETYPE",
        "MATCH_LIMIT",
        "MAX_EXPECTED_EVENT_LINES",
        "METRIC-SCHEMA-TRANSFORMS",
        "METRICS_PROTOCOL",
        "NO_BINARY_CHECK",
        "PREFIX_SOURCETYPE",
        "RULESET_DESC-*",
        "SEGMENTATION",
        "SEGMENTATION-*",
        "TZ_ALIAS",
        "detect_trailing_nulls",
        "force_local_processing",
        "given_type",
        "initCrcLength",
        "invalid_cause",
        "is_valid",
        "maxDist",
        "unarchive_cmd",
        "unarchive_sourcetype",
    ],
);

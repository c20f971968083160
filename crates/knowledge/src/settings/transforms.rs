//! Settings of `transforms.conf`: index-time transforms, extractions at search time, and lookups.

use conf::{Setting, Type, Unit};

use eval::Pattern;

const COUNT: Type = Type::number(i64::MIN);
const OFFSET: Type = Type::of(Unit::Seconds, i64::MIN, i64::MAX);

conf::keys! {
    "transforms"["<transform>"] {
        /// Searched in `SOURCE_KEY`; named groups become fields where there is no `FORMAT`.
        REGEX: Pattern = "REGEX", "", Type::Regex, live;
        /// `<field>::<value>` pairs, or text for `DEST_KEY`, with `$1`, `$2` ... for the groups of `REGEX`,
        /// `$0` for what `DEST_KEY` held.
        FORMAT: String = "FORMAT", "", Type::Text, live;
        /// Key or field the transform reads.
        SOURCE_KEY: String = "SOURCE_KEY", "_raw", Type::Text, live;
        /// "characters" between values, or "pair", "key" delimiters of key-value text.
        DELIMS: String = "DELIMS", "", Type::Text, live;
        /// Names of the values that `DELIMS` separates, by position.
        FIELDS: String = "FIELDS", "", Type::LIST, live;
        /// Whether a field that exists gets further values.
        MV_ADD: bool = "MV_ADD", "false", Type::Boolean, live;
        /// Whether other characters than letters, digits and `_` in names become `_`.
        CLEAN_KEYS: bool = "CLEAN_KEYS", "true", Type::Boolean, live;
        /// Whether `REGEX` is applied until it no longer matches.
        REPEAT_MATCH: bool = "REPEAT_MATCH", "false", Type::Boolean, live;
        /// Whether empty values are fields.
        KEEP_EMPTY_VALS: bool = "KEEP_EMPTY_VALS", "false", Type::Boolean, live;
        /// Whether the stanza is ignored.
        DISABLED: bool = "disabled", "false", Type::Boolean, live;
    }
    "transforms"["<index-time transform>"] {
        /// Key that the transform writes: `_raw`, `_meta`, `_time`, `queue`, `_MetaData:Index`,
        /// `MetaData:Host`, `MetaData:Source`, `MetaData:Sourcetype`, `_TCP_ROUTING`.
        DEST_KEY: String = "DEST_KEY", "", Type::Text, live;
        /// What `DEST_KEY` gets where `REGEX` does not match.
        DEFAULT_VALUE: String = "DEFAULT_VALUE", "", Type::Text, live;
        /// Whether `FORMAT` adds indexed fields.
        WRITE_META: bool = "WRITE_META", "false", Type::Boolean, live;
        /// Characters that `REGEX` searches.
        LOOKAHEAD: i64 = "LOOKAHEAD", "4096", COUNT, live;
        /// Assignments by expressions, separated by commas; `:=` replaces a field.
        INGEST_EVAL: String = "INGEST_EVAL", "", Type::Text, live;
        /// Expression that, where true, ends the list of transforms for an event.
        STOP_PROCESSING_IF: String = "STOP_PROCESSING_IF", "", Type::Text, live;
        /// Source type of a copy that the transform changes instead of the event.
        CLONE_SOURCETYPE: String = "CLONE_SOURCETYPE", "", Type::Text, live;
    }
    "transforms"["<lookup>"] {
        /// The CSV file in the directory `lookups` of an app, also packed (.csv.gz).
        FILENAME: Option<String> = "filename", "", Type::Text, live;
        /// The collection of the KV store.
        COLLECTION: Option<String> = "collection", "", Type::Text, live;
        /// The program of an external lookup, in the directory `bin` of the app, and its arguments.
        EXTERNAL_CMD: Option<String> = "external_cmd", "", Type::Text, live;
        /// The fields of a collection; those that `external_cmd` reads and fills in.
        FIELDS_LIST: Vec<String> = "fields_list", "", Type::LIST, live;
        /// Matches taken per event. Default: 100, of time-based lookups 1. Splunk: 1000, 1.
        MAX_MATCHES: Option<i64> = "max_matches", "", COUNT, live;
        /// Matches below which `default_match` fills up. Default: 0, with `default_match` 1.
        MIN_MATCHES: Option<i64> = "min_matches", "", COUNT, live;
        /// What outputs are where too few rows match.
        DEFAULT_MATCH: Option<String> = "default_match", "", Type::Text, live;
        /// Whether case counts.
        CASE_SENSITIVE: bool = "case_sensitive_match", "true", Type::Boolean, live;
        /// `WILDCARD(<field>)` or `CIDR(<field>)`, separated by commas; others match exactly.
        MATCH_TYPE: Option<String> = "match_type", "", Type::Text, live;
        /// Time by which an event may be later than a row of a time-based lookup.
        MAX_OFFSET: i64 = "max_offset_secs", "2000000000", OFFSET, live;
        /// Time by which an event must be later than such a row.
        MIN_OFFSET: i64 = "min_offset_secs", "0", OFFSET, live;
        /// The field with the time of rows, which makes the lookup time-based.
        TIME_FIELD: Option<String> = "time_field", "", Type::Text, live;
        /// How `time_field` is written. Default: epoch seconds.
        TIME_FORMAT: Option<String> = "time_format", "", Type::Text, live;
    }
}

/// Settings that are kept with a stanza and have nothing to do: a stanza with a collection is of the KV
/// store, and the name of a program tells how it is run.
pub(crate) const NOTES: &[Setting] = &conf::notes("transforms", ["external_type"]);

/// Settings of Splunk's file that have no effect.
pub(crate) const UNUSED: &[Setting] = &conf::without_effect(
    "transforms",
    [
        "CAN_OPTIMIZE",
        "DEPTH_LIMIT",
        "MATCH_LIMIT",
        "METRIC-SCHEMA-*",
        "allow_caching",
        "batch_index_query",
        "reverse_lookup_honor_case_sensitive_match",
    ],
);

//! Settings of `transforms.conf`: index-time transforms, extractions at search time, and lookups.

use conf::{Setting, Type, Unit};

use eval::Pattern;

const COUNT: Type = Type::number(i64::MIN);
const OFFSET: Type = Type::of(Unit::Seconds, i64::MIN, i64::MAX);

conf::keys! {
    "transforms"["<transform>"] {
        /// Pattern that is searched in `SOURCE_KEY`; without `FORMAT`, named groups become fields.
        REGEX: Pattern = "REGEX", "", Type::Regex, live;
        /// `<field>::<value>` pairs, or text for `DEST_KEY`, with `$1`, `$2` ... for the groups of `REGEX`,
        /// and `$0` for the previous value of `DEST_KEY`.
        FORMAT: String = "FORMAT", "", Type::Text, live;
        /// Key or field that the transform reads; of a multivalue field, each value is a line.
        SOURCE_KEY: String = "SOURCE_KEY", "_raw", Type::Text, live;
        /// Delimiter characters of values, or delimiters of pairs and of keys in key-value text: "pair",
        /// "key".
        DELIMS: String = "DELIMS", "", Type::Text, live;
        /// Field names of the values that `DELIMS` separates, by position.
        FIELDS: String = "FIELDS", "", Type::LIST, live;
        /// Whether values are added to an existing field.
        MV_ADD: bool = "MV_ADD", "false", Type::Boolean, live;
        /// Whether characters other than letters, digits and `_` in field names are replaced with `_`.
        CLEAN_KEYS: bool = "CLEAN_KEYS", "true", Type::Boolean, live;
        /// Whether `REGEX` is applied until it no longer matches.
        REPEAT_MATCH: bool = "REPEAT_MATCH", "false", Type::Boolean, live;
        /// Whether fields with empty values are kept.
        KEEP_EMPTY_VALS: bool = "KEEP_EMPTY_VALS", "false", Type::Boolean, live;
        /// Whether the stanza is ignored.
        DISABLED: bool = "disabled", "false", Type::Boolean, live;
    }
    "transforms"["<index-time transform>"] {
        /// Key that the transform writes: `_raw`, `_meta`, `_time`, `queue`, `_MetaData:Index`,
        /// `MetaData:Host`, `MetaData:Source`, `MetaData:Sourcetype`, `_TCP_ROUTING`.
        DEST_KEY: String = "DEST_KEY", "", Type::Text, live;
        /// Value of `DEST_KEY` if `REGEX` does not match.
        DEFAULT_VALUE: String = "DEFAULT_VALUE", "", Type::Text, live;
        /// Whether `FORMAT` adds indexed fields.
        WRITE_META: bool = "WRITE_META", "false", Type::Boolean, live;
        /// Number of characters that `REGEX` searches.
        LOOKAHEAD: i64 = "LOOKAHEAD", "4096", COUNT, live;
        /// Comma-separated assignments of expressions; `:=` replaces a field.
        INGEST_EVAL: String = "INGEST_EVAL", "", Type::Text, live;
        /// Expression that ends the list of transforms for an event if it is true.
        STOP_PROCESSING_IF: String = "STOP_PROCESSING_IF", "", Type::Text, live;
        /// Source type of a copy of the event; the transform changes the copy instead of the event.
        CLONE_SOURCETYPE: String = "CLONE_SOURCETYPE", "", Type::Text, live;
    }
    "transforms"["<lookup>"] {
        /// CSV file in the directory `lookups` of an app, optionally compressed (.csv.gz).
        FILENAME: Option<String> = "filename", "", Type::Text, live;
        /// Collection of the KV store. Default: the name of the stanza, with `external_type = kvstore`.
        COLLECTION: Option<String> = "collection", "", Type::Text, live;
        /// Program of an external lookup in the directory `bin` of the app, and its arguments.
        EXTERNAL_CMD: Option<String> = "external_cmd", "", Type::Text, live;
        /// `kvstore` makes a stanza without `filename`, `collection` and `external_cmd` a lookup of the KV
        /// store; other values have no effect.
        EXTERNAL_TYPE: Option<String> = "external_type", "", Type::Text, live;
        /// Fields of a collection, or fields that `external_cmd` reads and fills in.
        FIELDS_LIST: Vec<String> = "fields_list", "", Type::LIST, live;
        /// Maximum number of matches per event. Default: 100, or 1 for time-based lookups. Splunk: 1000, 1.
        MAX_MATCHES: Option<i64> = "max_matches", "", COUNT, live;
        /// Minimum number of matches; missing ones are filled with `default_match`. Default: 0.
        MIN_MATCHES: Option<i64> = "min_matches", "", COUNT, live;
        /// Value of the output fields if fewer than `min_matches` rows match.
        DEFAULT_MATCH: Option<String> = "default_match", "", Type::Text, live;
        /// Whether matching is case-sensitive.
        CASE_SENSITIVE: bool = "case_sensitive_match", "true", Type::Boolean, live;
        /// `WILDCARD(<field>)` or `CIDR(<field>)`, separated by commas; other fields match exactly.
        MATCH_TYPE: Option<String> = "match_type", "", Type::Text, live;
        /// Maximum time by which an event may be later than a matching row of a time-based lookup.
        MAX_OFFSET: i64 = "max_offset_secs", "2000000000", OFFSET, live;
        /// Minimum time by which an event must be later than a matching row of a time-based lookup.
        MIN_OFFSET: i64 = "min_offset_secs", "0", OFFSET, live;
        /// Field with the time of the rows; it makes the lookup time-based.
        TIME_FIELD: Option<String> = "time_field", "", Type::Text, live;
        /// Format of `time_field`. Default: epoch seconds.
        TIME_FORMAT: Option<String> = "time_format", "", Type::Text, live;
        /// Search filter over the fields of the rows, such as `enabled=1 NOT owner=test*`; other rows are not
        /// read. A word without a field is an error. Without effect for `external_cmd`.
        FILTER: Option<String> = "filter", "", Type::Text, live;
    }
}

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
        "python.required",
        "python.version",
        "reverse_lookup_honor_case_sensitive_match",
    ],
);

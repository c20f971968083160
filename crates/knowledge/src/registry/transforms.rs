//! Settings of `transforms.conf`.

use super::{Setting, unused, used};

pub(super) const SETTINGS: &[Setting] = &[
    used("REGEX", "regex over SOURCE_KEY; named groups become fields where there is no FORMAT"),
    used(
        "FORMAT",
        "<field>::<value> pairs, or text for DEST_KEY, with $1, $2 ... for the groups of REGEX, $0 for what DEST_KEY held",
    ),
    used("SOURCE_KEY", "key or field the transform reads; default _raw"),
    used(
        "DEST_KEY",
        "key an index-time transform writes: _raw, _meta, _time, queue, _MetaData:Index, MetaData:Host, MetaData:Source, MetaData:Sourcetype, _TCP_ROUTING",
    ),
    used("DEFAULT_VALUE", "at index time: what DEST_KEY gets where REGEX does not match"),
    used("WRITE_META", "whether FORMAT adds indexed fields; default false"),
    used("LOOKAHEAD", "characters that REGEX searches at index time; default 4096"),
    used(
        "INGEST_EVAL",
        "assignments by expressions at index time, separated by commas; := replaces a field",
    ),
    used(
        "STOP_PROCESSING_IF",
        "expression that, where true, ends the list of transforms for an event",
    ),
    used(
        "CLONE_SOURCETYPE",
        "source type of a copy that the transform changes instead of the event",
    ),
    used(
        "DELIMS",
        "\"characters\" between values, or \"pair\", \"key\" delimiters of key-value text",
    ),
    used("FIELDS", "names of the values that DELIMS separates, by position"),
    used("MV_ADD", "whether a field that exists gets further values; default false"),
    used(
        "CLEAN_KEYS",
        "whether other characters than letters, digits and _ in names become _; default true",
    ),
    used("REPEAT_MATCH", "whether REGEX is applied until it no longer matches; default false"),
    used("KEEP_EMPTY_VALS", "whether empty values are fields; default false"),
    used("disabled", "whether the stanza is ignored; default false"),
    unused("CAN_OPTIMIZE"),
    unused("MATCH_LIMIT"),
    unused("DEPTH_LIMIT"),
    used(
        "filename",
        "lookup: the CSV file in the directory lookups of an app, also packed (.csv.gz)",
    ),
    used("collection", "lookup: the collection of the KV store"),
    unused("external_cmd"),
    used("external_type", "lookup: kvstore or geo; programs are not run"),
    used("fields_list", "lookup: the fields of a collection, separated by commas"),
    used(
        "max_matches",
        "lookup: matches taken per event; default 100, of time-based lookups 1 (Splunk: 1000, 1)",
    ),
    used(
        "min_matches",
        "lookup: matches below which default_match fills up; default 0, with default_match 1",
    ),
    used("default_match", "lookup: what outputs are where too few rows match"),
    used("case_sensitive_match", "lookup: whether case counts; default true"),
    used(
        "match_type",
        "lookup: WILDCARD(<field>) or CIDR(<field>), separated by commas; others match exactly",
    ),
    used(
        "max_offset_secs",
        "lookup: seconds an event may be later than a row of a time-based lookup; default 2000000000",
    ),
    used("min_offset_secs", "lookup: seconds an event must be later than such a row; default 0"),
    used(
        "time_field",
        "lookup: the field with the time of rows, which makes the lookup time-based",
    ),
    used("time_format", "lookup: how time_field is written; default epoch seconds"),
    unused("batch_index_query"),
    unused("allow_caching"),
    unused("reverse_lookup_honor_case_sensitive_match"),
    unused("METRIC-SCHEMA-*"),
];

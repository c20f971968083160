//! Settings of `limits.conf`.

use super::{Setting, unused, used};

pub(super) const SETTINGS: &[Setting] = &[
    used(
        "limit",
        "[kv]: fields automatic extraction takes from one event, 0 for no limit; default 10000 (Splunk: 100)",
    ),
    used(
        "maxcols",
        "[kv]: fields of one event in all, 0 for no limit; default 10000 (Splunk: 512)",
    ),
    used(
        "maxchars",
        "[kv]: bytes of an event that automatic extraction reads, 0 for all; default 1048576 (Splunk: 10240)",
    ),
    used("maxresultrows", "[searchresults]: rows a search keeps; default 500000 (Splunk: 50000)"),
    used("max_count", "[search]: newest events a search keeps; default 10000 (Splunk: 500000)"),
    used(
        "max_mem_usage_mb",
        "[search]: memory of one search in MB, over which it spills to disk or fails; default 512 (Splunk: 200)",
    ),
    used("max_plan_depth", "[search]: steps that a search's plan may be deep; default 5000"),
    used(
        "max_plan_time",
        "[search]: seconds that planning of one search may take, over which it is refused; default 60",
    ),
    used(
        "total_mem_usage_mb",
        "[search]: the same of all searches together; a search waits until there is room; default 2048",
    ),
    used(
        "allow_partial_results",
        "[search]: whether searches go on without damaged buckets, and say so, rather than fail; default true",
    ),
    used("max_queued_searches", "[search]: searches that may wait; default 1000"),
    used(
        "batch_search_max_pipeline",
        "[search]: partitions of buckets searched side by side; default: the processors (Splunk: 1)",
    ),
    used("base_max_searches", "[search]: searches at a time, base; default 6"),
    used("max_searches_per_cpu", "[search]: further searches at a time per processor; default 1"),
    used(
        "db_path",
        "[iplocation]: file with places of addresses (MaxMind's .mmdb); none by default",
    ),
    used("ttl", "[search]: seconds a finished search is kept; default 600"),
    unused("default_save_ttl"),
    used("preview_interval_ms", "[search]: time between two previews of a search; default 600"),
    used(
        "preview_duty_cycle",
        "[search]: part of a search's time that making previews may take, above 0 and below 1; default 0.25",
    ),
    used(
        "preview_memory_mb",
        "[search]: memory in MB that one search may keep for previews; over it there are no more; default 128",
    ),
    used(
        "s3_price_get_per_1000",
        "[search]: dollars of 1,000 GET requests, for the job inspector; default 0.0004",
    ),
    unused("max_rows_per_query"),
    used("status_buckets", "[search]: bars of the timeline; default 0"),
    used(
        "maxout",
        "[subsearch]: rows of a subsearch that become a filter; default 50000 (Splunk: 10000)",
    ),
    used(
        "maxtime",
        "[subsearch]: seconds of a search within a search, over which the whole search fails; default 600 \
         (Splunk: 60, and it goes on with what was found)",
    ),
    used(
        "subsearch_maxout",
        "[join]: rows that join, append and the like take from their searches; default 500000 (Splunk: 50000)",
    ),
    used("maxbins", "[discretize]: buckets of a bin, chart or timechart; default 50000"),
    used("max_stream_window", "[streamstats]: events of a window; default 10000"),
    used("maxvalues", "[stats]: values of values() and list(), 0 for no limit; default 0"),
    used("list_maxsize", "[stats]: values of list(); default 100"),
    used("max_content_length", "[http_input]: bytes of a request body; default 838860800"),
    used("max_fd", "[inputproc]: files that the monitor keeps open; default 100"),
    used(
        "max_compression_ratio",
        "[http_input]: how many times its size a packed body may unpack to, above 16 MB; default 100",
    ),
    used("max_number_of_tokens", "[http_input]: tokens; default 10000"),
    used("max_number_of_ack_channel", "[http_input]: channels at a time; default 1000000"),
    used(
        "max_number_of_acked_requests_pending_query",
        "[http_input]: requests whose acknowledgement was not asked for; default 10000000",
    ),
    used(
        "max_number_of_acked_requests_pending_query_per_ack_channel",
        "[http_input]: the same in one channel; default 1000000",
    ),
    unused("max_extractor_time"),
    unused("avg_extractor_time"),
    unused("indexed_kv_limit"),
    unused("max_mem_usage"),
    unused("extract_all"),
    unused("extraction_cutoff"),
    unused("maxvaluesize"),
    unused("maxp"),
    unused("subsearch_maxtime"),
    unused("subsearch_timeout"),
    unused("ttl_*"),
    unused("dc_digest_bits"),
    unused("approx_dc_threshold"),
];

//! Bounds of one search.

use std::time::Duration;

use conf::Type;

conf::settings! {
    /// Bounds of one search. Reaching one is a message or an error, never a silent cut.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Limits {
        "limits"["search"] {
            /// Steps that a plan may be deep.
            "max_plan_depth" => pub plan_depth: usize = "5000", Type::number(1);
            /// How long planning of one search may take, its subsearches excluded; over it the search is
            /// refused.
            "max_plan_time" => pub plan_time: Duration = "60", Type::seconds(1);
        }
        "limits"["subsearch"] {
            /// Rows of a subsearch that become a filter. Splunk: 10000.
            "maxout" => pub subsearch_rows: usize = "50000", Type::number(1);
            /// How long a search within a search may take, over which the whole search fails. Splunk: 60,
            /// and it goes on with what was found.
            "maxtime" => pub subsearch_time: Duration = "600", Type::seconds(1);
        }
        "limits"["join"] {
            /// Rows that `join`, `append` and the like take from their searches. Splunk: 50000.
            "subsearch_maxout" => pub joined_rows: usize = "500000", Type::number(1);
        }
        "limits"["discretize"] {
            /// Time buckets of a `timechart` or `chart`, and value buckets of a `bin`.
            "maxbins" => pub bins: usize = "50000", Type::number(1);
        }
        "limits"["streamstats"] {
            /// Events a `streamstats` window may hold.
            "max_stream_window" => pub stream_window: usize = "10000", Type::number(1);
        }
        "limits"["stats"] {
            /// Values of one `list`; 0 is no limit.
            "list_maxsize" => pub listed_values: usize = "100", Type::number(0);
            /// Values of one `values` or `list`; 0 is no limit.
            "maxvalues" => pub distinct_values: usize = "0", Type::number(0);
        }
        fixed {
            /// Rows `sort` keeps where the search gives no count.
            pub sort_rows: usize = 10_000;
            /// Rows held in memory between two stages, and by commands that need all rows at once.
            pub stage_rows: usize = 1_000_000;
            /// Columns of a `chart`, `timechart`, `xyseries` or `transpose`.
            pub columns: usize = 5_000;
            /// Rows `makeresults` may make.
            pub generated_rows: usize = 1_000_000;
            /// Fields that no row may have, from which on rows are collected only once it is known which
            /// of them have values.
            pub wide_fields: usize = 1_000;
            /// Groups that `dedup`, `streamstats` and the like remember.
            pub groups: usize = 5_000_000;
            /// Pipeline length, subsearches included.
            pub commands: usize = 500;
            /// Bytes that the rows between two stages, and what one step makes of a batch, may take.
            pub memory_bytes: usize = 512 << 20;
        }
    }
}

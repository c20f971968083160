//! Bounds of one search.

use std::time::Duration;

use conf::Type;

conf::settings! {
    /// Bounds of one search. Reaching one is a message or an error, never a silent cut.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Limits {
        "limits"["search"] {
            /// Maximum depth of a plan, in steps.
            "max_plan_depth" => pub plan_depth: usize = "5000", Type::number(1);
            /// Time limit for planning one search, without its subsearches; above it, the search is
            /// refused.
            "max_plan_time" => pub plan_time: Duration = "60", Type::seconds(1), live;
        }
        "limits"["subsearch"] {
            /// Maximum number of rows of a subsearch that are turned into a filter. Splunk: 10000.
            "maxout" => pub subsearch_rows: usize = "50000", Type::number(1), live;
            /// Time limit of a subsearch; above it, the whole search fails. Splunk: 60, and the search
            /// continues with the rows found so far.
            "maxtime" => pub subsearch_time: Duration = "600", Type::seconds(1), live;
        }
        "limits"["join"] {
            /// Maximum number of rows that `join`, `append` and similar commands use from their
            /// subsearches. Splunk: 50000.
            "subsearch_maxout" => pub joined_rows: usize = "500000", Type::number(1), live;
        }
        "limits"["discretize"] {
            /// Maximum number of time bins of a `timechart` or `chart`, and of value bins of a `bin`.
            "maxbins" => pub bins: usize = "50000", Type::number(1), live;
        }
        "limits"["streamstats"] {
            /// Maximum number of events in a `streamstats` window.
            "max_stream_window" => pub stream_window: usize = "10000", Type::number(1), live;
        }
        "limits"["stats"] {
            /// Maximum number of values of a `list`; 0 for no limit.
            "list_maxsize" => pub listed_values: usize = "100", Type::number(0), live;
            /// Maximum number of values of a `values` or `list`; 0 for no limit.
            "maxvalues" => pub distinct_values: usize = "0", Type::number(0), live;
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

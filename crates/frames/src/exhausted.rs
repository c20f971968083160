//! Explains in terms of SPL which operation exceeded the memory limit of a search.
//!
//! The engine names its own operators: `ExternalSorter[0]`, `TopK[1]`. Users do not know to which commands of
//! the search these belong, so this module, and no other, translates them to terms of SPL. Messages of
//! Karst's own functions and sources already use such terms and are not changed.

/// Prefixes of the engine's operator names, with a description of their work. The first match in a message is
/// used.
const WORK: &[(&str, &str)] = &[
    ("ExternalSorter", SORTING),
    ("SortPreservingMerge", SORTING),
    ("TopK", FIRST),
    ("PartitionedTopK", FIRST),
    ("NewestExec", "collecting rows for previews"),
    ("spill_merge", SORTING),
    ("HashJoinInput", JOINING),
    ("NestedLoopJoin", JOINING),
    ("CrossJoin", JOINING),
    ("PiecewiseMergeJoin", JOINING),
    ("SMJStream", JOINING),
    ("SymmetricHashJoin", JOINING),
    ("AggregateStream", GROUPING),
    ("HashAggregate", GROUPING),
    ("PartialReduce", GROUPING),
    ("RecursiveQuery", "the recursive query"),
    ("Repartition", "handing rows on between threads"),
    ("GatherExec", "collecting the rows of the indexers"),
    ("SlicesExec", "collecting rows for previews"),
    ("BufferExec", "collecting rows"),
];
/// Sorting also occurs in commands other than `sort`.
const SORTING: &str = "putting rows in order (sort, top, append, transpose, uniq and others)";
const FIRST: &str = "keeping the first rows in order (head, tail, top, rare, sort with a count)";
const JOINING: &str = "joining rows (join, lookup)";
const GROUPING: &str = "grouping rows (stats, chart, timechart, top, rare)";

/// Part of the message of functions about a text that exceeds the maximum length of texts, which is
/// independent of the memory limit.
const LONG_TEXT: &str = " makes a text of more than ";

/// Returns the message for the user about a refused allocation.
pub(crate) fn explained(reason: &str) -> String {
    // No setting raises this limit.
    if reason.contains(LONG_TEXT) {
        return format!("{reason}: one string can have at most 16 MiB");
    }
    let place = |(name, work): &(&str, &'static str)| Some((reason.find(name)?, *work));
    let Some((_, work)) = WORK.iter().filter_map(place).min() else {
        return format!(
            "the search holds more than it may: narrow it, or raise max_mem_usage_mb in limits.conf [search] \
             ({reason})"
        );
    };
    let limit = pool(reason).map_or(String::new(), |size| format!(" ({size})"));
    format!(
        "{work} takes more memory than a search may hold{limit}: search for fewer events, keep fewer fields \
         (with the fields command), or raise max_mem_usage_mb in limits.conf [search]"
    )
}

/// Returns the memory of the search, which the engine writes as `pool_size: 512.0 MB`.
fn pool(reason: &str) -> Option<&str> {
    let (_, rest) = reason.split_once(POOL_SIZE)?;
    Some(rest[..rest.find([')', ','])?].trim())
}

/// The text before the size of a pool.
pub(crate) const POOL_SIZE: &str = "pool_size: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_the_engine_are_said_in_words_of_searches() {
        let cases = [
            (
                "Failed to allocate additional 95.2 MB for SortPreservingMergeExec[0] with 0.0 B already \
                 allocated for this reservation - 127.4 MB remain available for the total memory pool: \
                 fair(pool_size: 512.0 MB)",
                "putting rows in order (sort, top, append, transpose, uniq and others) takes more memory \
                 than a search may hold (512.0 MB): ",
            ),
            (
                "ExternalSorter[1] has to do with less: 1 of 58720256 bytes are held (pool_size: 64 MB)",
                "putting rows in order (sort, top, append, transpose, uniq and others) takes more memory \
                 than a search may hold (64 MB): ",
            ),
            (
                "Failed to allocate additional 1 B for TopK[0]",
                "keeping the first rows in order (head, tail, top, rare, sort with a count) takes more",
            ),
            (
                "Failed to allocate additional 1 B for FinalHashAggregateStream[3] (group_aggregate)",
                "grouping rows (stats, chart, timechart, top, rare) takes more memory",
            ),
            (
                "Failed to allocate additional 1 B for NewestExec[0]",
                "collecting rows for previews takes more memory than",
            ),
            ("Resources exhausted for HashJoinInput", "joining rows (join, lookup) takes more"),
        ];
        for (reason, begin) in cases {
            let found = explained(reason);
            assert!(found.starts_with(begin), "{found}");
            assert!(found.ends_with("raise max_mem_usage_mb in limits.conf [search]"), "{found}");
            assert!(!found.contains("Exec") && !found.contains("Stream"), "{found}");
        }
    }

    #[test]
    fn a_limit_that_no_setting_raises_is_said_without_one() {
        let found = explained("replace makes a text of more than 16777216 bytes");
        assert!(!found.contains("max_mem_usage_mb"), "{found}");
    }

    #[test]
    fn what_values_take_is_said_as_it_is() {
        let reason = "computed values take more than max_mem_usage_mb = 8: 1 bytes and 2 more";
        assert!(explained(reason).contains(reason));
    }
}

//! The job inspector on the terminal: reads, cost and plans of a search.

use std::io::{Result, Write};

use serde_json::Value;

/// Counters, phases, reads by tier.
pub(crate) fn print_stats(out: &mut impl Write, inspection: &Value) -> Result<()> {
    let scan = &inspection["scan"];
    writeln!(
        out,
        "{:.3} s, {} events scanned, {} matched",
        number(&inspection["run_duration"]),
        scan["events_scanned"],
        scan["events_matched"]
    )?;
    writeln!(
        out,
        "buckets: {} considered, {} pruned by time, {} by summary, {} by terms, {} counted by the \
         catalog, {} searched",
        scan["buckets_considered"],
        scan["buckets_pruned_by_time"],
        scan["buckets_pruned_by_summary"],
        scan["buckets_pruned_by_terms"],
        scan["buckets_counted"],
        scan["buckets_searched"]
    )?;
    writeln!(
        out,
        "granules: {} read, {} counted by the index, {} pruned by numbers, of {}",
        scan["granules_read"],
        scan["granules_counted"],
        scan["granules_pruned_by_bounds"],
        scan["granules_considered"]
    )?;
    for expression in texts(&scan["pruned_by"]) {
        writeln!(out, "pruned by: {expression}")?;
    }
    for phase in list(&inspection["phases"]).filter(|phase| number(&phase["seconds"]) > 0.0) {
        let milliseconds = number(&phase["seconds"]) * 1000.0;
        let name = phase["name"].as_str().unwrap_or_default();
        writeln!(out, "{name:>10}: {milliseconds:10.3} ms in {}", phase["invocations"])?;
    }
    let reads = &inspection["reads"];
    for tier in ["dram", "nvme", "store"] {
        let read = &reads[tier];
        writeln!(out, "{tier:>10}: {} bytes in {} blocks", read["bytes"], read["blocks"])?;
    }
    writeln!(
        out,
        "requests to object storage: {}, {:.7} $ at {} $ per 1,000",
        reads["store_requests"],
        number(&inspection["dollars"]),
        number(&inspection["s3_price_get_per_1000"])
    )
}

/// Prints the plans, each operator with its rows and time, and the parts that were answered without reading
/// events.
pub(crate) fn print_plans(out: &mut impl Write, inspection: &Value) -> Result<()> {
    for text in texts(&inspection["answered_from"]) {
        writeln!(out, "{text}")?;
    }
    for expression in texts(&inspection["scan"]["pruned_by"]) {
        writeln!(out, "pruned by: {expression}")?;
    }
    for (at, plan) in list(&inspection["plans"]).enumerate() {
        writeln!(out, "plan {}", at + 1)?;
        print_operator(out, plan, 1)?;
    }
    for part in list(&inspection["part_plans"]) {
        writeln!(out, "part on {}", part["indexer"].as_str().unwrap_or_default())?;
        print_operator(out, &part["plan"], 1)?;
    }
    Ok(())
}

fn print_operator(out: &mut impl Write, operator: &Value, depth: usize) -> Result<()> {
    let indent = "  ".repeat(depth);
    let name = operator["name"].as_str().unwrap_or_default();
    let detail = operator["detail"].as_str().unwrap_or_default();
    let rows = operator["rows"].as_u64().map(|rows| format!("{rows} rows, ")).unwrap_or_default();
    let milliseconds = number(&operator["seconds"]) * 1000.0;
    let spilled = match operator["spilled_bytes"].as_u64() {
        None | Some(0) => String::new(),
        Some(bytes) => format!(", {bytes} bytes spilled"),
    };
    writeln!(out, "{indent}{name} ({rows}{milliseconds:.3} ms{spilled}) {detail}")?;
    list(&operator["inputs"]).try_for_each(|input| print_operator(out, input, depth + 1))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_is_printed_with_rows_and_time_of_each_operator() {
        let scan =
            json!({"name": "BucketScanExec", "detail": "buckets=2", "rows": 7, "seconds": 0.25});
        let plan = json!({"name": "AggregateExec", "detail": "mode=Single", "seconds": 0.001,
                          "spilled_bytes": 9, "inputs": [scan]});
        let inspection = json!({"answered_from": ["answered from summaries: 1 of 3 buckets"],
                                "scan": {"pruned_by": ["error"]}, "plans": [plan],
                                "part_plans": [{"indexer": "idx1", "plan": {"name": "Scan"}}]});
        let mut out = Vec::new();
        print_plans(&mut out, &inspection).unwrap();
        let expected = "answered from summaries: 1 of 3 buckets\npruned by: error\nplan 1\n  \
                        AggregateExec (1.000 ms, 9 bytes spilled) mode=Single\n    \
                        BucketScanExec (7 rows, 250.000 ms) buckets=2\npart on idx1\n  \
                        Scan (0.000 ms) \n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

//! Aggregates in one phase, in two, grouped, and as windows.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, SortExpr};
use datafusion::prelude::{SessionConfig, SessionContext, col};
use spl::ast::{Command, StatsCall};

use crate::Report;
use crate::Scope;
use crate::aggregates::{AggregateOptions, aggregate_with};
use crate::compile::testing::{Table, shown};
use crate::types::ArrowType;

fn table() -> Table {
    Table::new()
        .text("host", &[Some("a"), Some("b"), Some("a"), Some("b"), Some("a")])
        .text("n", &[Some("10"), Some("9"), Some("x"), None, Some("2")])
        .text("num", &[Some("10"), Some("9"), Some("100"), None, Some("2")])
        .float("f", &[Some(1.0), Some(2.0), Some(3.0), Some(4.0), None])
        .integer("i", &[Some(1), Some(2), Some(3), Some(4), Some(5)])
        .multi("mv", &[&["1", "2"], &["2"], &[], &["z", "1"], &["3"]])
        .time(
            "_time",
            &[Some(5_000_000), Some(4_000_000), Some(3_500_000), Some(2_000_000), Some(1_000_000)],
        )
}

fn call(text: &str) -> StatsCall {
    let pipeline = spl::parse(&format!("x | stats {text}")).unwrap();
    match &pipeline.commands.last().unwrap().node {
        Command::Stats(stats) => stats.calls[0].clone(),
        other => panic!("{other:?} is no stats"),
    }
}

/// Newest first, the display order of searches.
fn order() -> Vec<SortExpr> {
    vec![col("_time").sort(false, false)]
}

/// Returns the result per host, with the rows split over `partitions`, so that the engine merges states.
async fn by_host(text: &str, partitions: usize) -> Vec<String> {
    let table = table();
    let options = AggregateOptions { span_seconds: Some(10.0), ..AggregateOptions::default() };
    let typed = aggregate_with(&call(text), &table as &dyn Scope, &order(), &options).unwrap();
    let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(2);
    let context = SessionContext::new_with_config(config);
    let batch = table.batch();
    let parts = match partitions {
        1 => vec![vec![batch.clone()]],
        _ => (0..batch.num_rows()).map(|row| vec![batch.slice(row, 1)]).collect(),
    };
    let memory = datafusion::datasource::MemTable::try_new(batch.schema(), parts).unwrap();
    let source = datafusion::datasource::provider_as_source(Arc::new(memory));
    let scan = LogicalPlanBuilder::scan("t", source, None).unwrap().build().unwrap();
    let kind = typed.kind;
    let mut inner = Vec::new();
    let result = lift_aggregates(typed.expr, &mut inner);
    let plan = LogicalPlanBuilder::from(scan).aggregate(vec![col("host")], inner).unwrap();
    let plan = plan.project(vec![col("host"), result.alias("result")]).unwrap();
    let plan = plan.sort(vec![col("host").sort(true, false)]).unwrap().build().unwrap();
    let frame = context.execute_logical_plan(plan).await.unwrap();
    let found_kind = frame.schema().field(1).data_type().clone();
    assert_eq!(found_kind, kind.data_type(), "{text} is of another type than planned");
    let mut found = Vec::new();
    for batch in frame.collect().await.unwrap() {
        let values = shown(batch.column(1));
        found.extend(values.into_iter().map(|value| value.unwrap_or_else(|| "-".to_owned())));
    }
    found
}

/// Replaces the aggregates in an expression by columns and collects them.
fn lift_aggregates(expr: Expr, inner: &mut Vec<Expr>) -> Expr {
    let lifted = expr.transform_down(|node| {
        if matches!(node, Expr::AggregateFunction(_)) {
            let name = format!("__{}", inner.len());
            inner.push(node.alias(&name));
            return Ok(Transformed::new(col(name), true, TreeNodeRecursion::Jump));
        }
        Ok(Transformed::no(node))
    });
    lifted.unwrap().data
}

#[tokio::test]
async fn results_do_not_depend_on_how_events_are_split() {
    let cases = [
        ("count", "3", "2"),
        ("count(n)", "3", "1"),
        ("count(mv)", "3", "3"),
        ("count(eval(i > 2))", "2", "1"),
        ("dc(n)", "3", "1"),
        ("dc(mv)", "3", "3"),
        ("estdc(mv)", "3", "3"),
        ("sum(n)", "12", "9"),
        ("sum(mv)", "6", "3"),
        ("sum(i)", "9", "6"),
        ("avg(num)", "37.333333333333336", "9"),
        ("avg(mv)", "2", "1.5"),
        ("min(num)", "2", "9"),
        ("max(num)", "100", "9"),
        ("min(n)", "2", "9"),
        ("max(n)", "10", "9"),
        ("max(i)", "5", "4"),
        ("max(_time)", "5", "4"),
        ("range(num)", "98", "0"),
        ("sumsq(i)", "35", "20"),
        ("var(i)", "4", "2"),
        ("varp(i)", "2.6666666666666665", "1"),
        ("stdev(i)", "2", "1.4142135623730951"),
        ("stdevp(f)", "1", "1"),
        ("median(i)", "3", "4"),
        ("perc90(i)", "4.6", "3.8"),
        ("exactperc90(i)", "4.6", "3.8"),
        ("mode(mv)", "1", "1"),
        ("values(mv)", "1|2|3", "1|2|z"),
        ("list(i)", "1|3|5", "2|4"),
        ("list(mv)", "1|2|3", "2|z|1"),
        ("first(n)", "10", "9"),
        ("last(n)", "2", "9"),
        ("last(f)", "3", "4"),
        ("earliest(i)", "5", "4"),
        ("latest(i)", "1", "2"),
        ("latest(mv)", "1|2", "2"),
        ("earliest_time(f)", "3.500000", "2.000000"),
        ("latest_time(n)", "5.000000", "4.000000"),
        ("rate(i)", "0.25", "1"),
        ("estdc_error(i)", "0", "0"),
        ("sum(eval(i > 2))", "2", "1"),
        ("values(eval(round(f, 1)))", "1.0|3.0", "2.0|4.0"),
        ("eval(sum(i) / count)", "3", "3"),
        ("eval(max(sum(i), 8) + count)", "12", "10"),
        ("eval(round(avg(f), 2) . \"!\")", "2.00!", "3.00!"),
        ("sum(missing)", "-", "-"),
        ("count(missing)", "0", "0"),
        ("values(missing)", "-", "-"),
    ];
    for (text, a, b) in cases {
        for partitions in [1, 4] {
            assert_eq!(by_host(text, partitions).await, [a, b], "{text} in {partitions}");
        }
    }
}

#[tokio::test]
async fn a_sliding_window_forgets_rows() {
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::{ExprFunctionExt, WindowFrameBound, WindowFrameUnits};
    use datafusion::logical_expr::{WindowFrame, WindowFunctionDefinition, expr::WindowFunction};
    let table = table();
    let cases = [
        ("dc(mv)", ["2", "2", "1", "2", "3"]),
        ("sum(i)", ["1", "3", "5", "7", "9"]),
        ("sum(mv)", ["3", "5", "2", "1", "4"]),
        ("sumsq(i)", ["1", "5", "13", "25", "41"]),
        ("var(i)", ["0", "0.5", "0.5", "0.5", "0.5"]),
        ("range(i)", ["0", "1", "1", "1", "1"]),
        ("max(mv)", ["2", "2", "2", "1", "3"]),
        ("dc(n)", ["1", "2", "2", "1", "1"]),
        ("first(num)", ["10", "10", "9", "100", "2"]),
        ("last(num)", ["10", "9", "100", "100", "2"]),
        ("earliest(num)", ["10", "9", "100", "100", "2"]),
        ("latest(num)", ["10", "10", "9", "100", "2"]),
        ("values(mv)", ["1|2", "1|2", "2", "1|z", "1|3|z"]),
    ];
    for (text, expected) in cases {
        let options = AggregateOptions::default();
        let typed = aggregate_with(&call(text), &table, &order(), &options).unwrap();
        let Expr::AggregateFunction(function) = typed.expr else { panic!("{text}") };
        let definition = WindowFunctionDefinition::AggregateUDF(function.func);
        let frame = WindowFrame::new_bounds(
            WindowFrameUnits::Rows,
            WindowFrameBound::Preceding(ScalarValue::UInt64(Some(1))),
            WindowFrameBound::CurrentRow,
        );
        let window = Expr::from(WindowFunction::new(definition, function.params.args))
            .order_by(order())
            .window_frame(frame)
            .build()
            .unwrap();
        let context = SessionContext::new();
        let rows = context.read_batch(table.batch()).unwrap();
        let rows = rows.window(vec![window.alias("result")]).unwrap();
        let rows = rows.sort(order()).unwrap().select_columns(&["result"]).unwrap();
        let batches = rows.collect().await.unwrap();
        let found: Vec<_> = batches.iter().flat_map(|batch| shown(batch.column(0))).collect();
        let found: Vec<_> = found.iter().map(|value| value.as_deref().unwrap_or("-")).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[tokio::test]
async fn a_cut_list_is_reported() {
    let said = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let report = Report::new(move |text| heard.lock().push(text.to_owned()));
    let options =
        AggregateOptions { list_limit: 2, values_limit: 1, report, ..AggregateOptions::default() };
    let table = table();
    let list = aggregate_with(&call("list(i)"), &table, &order(), &options).unwrap();
    let values = aggregate_with(&call("values(i)"), &table, &order(), &options).unwrap();
    let context = SessionContext::new();
    let rows = context.read_batch(table.batch()).unwrap();
    let rows = rows.aggregate(vec![], vec![list.expr.alias("l"), values.expr.alias("v")]).unwrap();
    let batches = rows.collect().await.unwrap();
    assert_eq!(shown(batches[0].column(0)), [Some("1|2".to_owned())]);
    assert_eq!(shown(batches[0].column(1)), [Some("1".to_owned())]);
    let said = said.lock().join(" ");
    assert!(said.contains("list()") && said.contains("values()"), "{said}");
}

#[test]
fn a_call_that_means_nothing_is_refused() {
    let table = Table::new().text("n", &[Some("1")]);
    let options = AggregateOptions::default();
    let error = aggregate_with(&call("rate(n)"), &table, &[], &options).unwrap_err();
    assert!(error.to_string().contains("_time"), "{error}");
}

//! Frames of many columns.
#![allow(clippy::unwrap_used)]

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::LogicalPlanBuilder;

use super::*;

/// More columns than a frame searches linearly.
const MANY: usize = 5_000;

fn name(at: usize) -> String {
    format!("c{at}")
}

/// Returns a row with this number of columns.
fn frame(columns: usize) -> Frame {
    let row = LogicalPlanBuilder::empty(true).build().unwrap();
    let each = (0..columns).map(|at| lit(i64::from(at == 7)).alias(name(at)));
    let plan = LogicalPlan::Projection(projection(each.collect(), Arc::new(row)).unwrap());
    let column = |name| FrameColumn { name, kind: ValueType::Integer };
    Frame::new(plan, (0..columns).map(name).map(column).collect())
}

fn projections(plan: &LogicalPlan) -> usize {
    let mut found = 0;
    let counted = plan.apply(|node| {
        found += usize::from(matches!(node, LogicalPlan::Projection(_)));
        Ok(TreeNodeRecursion::Continue)
    });
    counted.unwrap();
    found
}

#[test]
fn a_column_of_many_is_found_by_its_name() {
    let mut frame = frame(MANY);
    assert_eq!((frame.kind("c4999"), frame.kind("c5000")), (Some(ValueType::Integer), None));
    frame.set_kind("c4999", ValueType::Float);
    assert_eq!(frame.kind("c4999"), Some(ValueType::Float));
}

#[test]
fn columns_are_found_after_others_have_come_and_gone() {
    let before = frame(MANY);
    assert!(before.kind("c0").is_some());
    let kept: Vec<String> = (1..100).map(name).collect();
    let kept = before.clone().select(&kept).unwrap();
    assert_eq!((kept.kind("c0"), kept.kind("c99")), (None, Some(ValueType::Integer)));
    let value = Typed::column("c1", ValueType::Integer);
    let more = kept.with_columns(vec![("new".to_owned(), value)]).unwrap();
    assert_eq!((more.kind("new"), more.kind("c100")), (Some(ValueType::Integer), None));
    let none = before.aggregate(Vec::new(), Vec::new()).unwrap();
    assert_eq!(none.kind("c0"), None);
}

#[test]
fn commands_over_many_columns_are_one_projection() {
    let mut frame = frame(MANY);
    for at in 0..10 {
        let value = Typed::new(column(&name(at)) + lit(1_i64), ValueType::Integer);
        frame = frame.with_columns(vec![(name(at), value)]).unwrap();
    }
    let kept: Vec<String> = (10..MANY).map(name).collect();
    let (plan, columns) = frame.select(&kept).unwrap().finish().unwrap();
    assert_eq!((columns.len(), projections(&plan)), (MANY - 10, 1));
}

#[test]
fn counts_of_many_columns_are_finished_in_one_projection() {
    let counts =
        (0..MANY).map(|at| (name(at), Typed::new(count(column(&name(at))), ValueType::Integer)));
    let counted = frame(MANY).aggregate(Vec::new(), counts.collect()).unwrap();
    let (plan, _) = counted.finish().unwrap();
    let LogicalPlan::Projection(top) = plan else { panic!("{}", plan.display()) };
    assert!(matches!(&*top.input, LogicalPlan::Aggregate(_)));
}

//! `trendline`: moving averages.
//!
//! Split: runs at the search head, which sees rows in order.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder};
use arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use exprs::Typed;
use exprs::column::read;
use exprs::types::ValueType;
use frames::Frame;
use frames::stream::{Output, StreamNode, StreamOp, StreamRun};
use spl::ast::{TrendKind, TrendlineCommand};
use tables::series::trendline::Average;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for TrendlineCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.trends.iter().for_each(|trend| fields.name(&trend.field.node));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame).map(Step::Next)
    }
}

pub(super) fn plan(
    command: &TrendlineCommand,
    mut frame: Frame,
) -> std::result::Result<Frame, Error> {
    let period = |period| usize::try_from(period).unwrap_or(usize::MAX);
    let averages = command.trends.iter().map(|trend| (trend.kind, period(trend.period)));
    let op = Arc::new(Trendline { averages: averages.collect() });
    let arguments = command.trends.iter().map(|trend| frame.field(&trend.field.node).expr);
    let arguments = arguments.collect();
    let mut added = Vec::new();
    let mut values = Vec::new();
    for trend in &command.trends {
        let name = frame.fresh("trend");
        added.push(Field::new(&name, DataType::Float64, true));
        values.push((trend.output_name(), Typed::column(&name, ValueType::Float)));
    }
    let (order, plan) = (frame.sort_exprs(), frame.plan().clone());
    let node = StreamNode::try_new(plan, op, arguments, order, added)?;
    frame.stream(node).with_columns(values)
}

/// For each argument, the moving average of its numbers and its window length in rows.
#[derive(Debug, Clone)]
struct Trendline {
    averages: Vec<(TrendKind, usize)>,
}

impl StreamOp for Trendline {
    fn name(&self) -> &'static str {
        "Trendline"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        let start = |(kind, period): &(TrendKind, usize)| Average::new(*kind, *period);
        Ok(Box::new(Run { averages: self.averages.iter().map(start).collect() }))
    }
}

struct Run {
    averages: Vec<Average>,
}

impl StreamRun for Run {
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output> {
        let mut added: Vec<ArrayRef> = Vec::with_capacity(arguments.len());
        for (argument, average) in arguments.iter().zip(&mut self.averages) {
            let values = read(argument)?;
            let mut averages = Float64Builder::with_capacity(rows);
            for row in 0..rows {
                let number = values.get(row).number();
                averages.append_option(number.and_then(|number| average.next(number)));
            }
            added.push(Arc::new(averages.finish()));
        }
        Ok(Output { added, ..Output::default() })
    }
}

//! Operators that depend on previous rows: `accum`, `delta`, `filldown`.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Builder, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use exprs::column::read;

use super::{Output, StreamOp, StreamRun};

/// The running sum of the argument's numbers; null in rows without a number.
#[derive(Debug, Clone)]
pub struct RunningTotal;

impl StreamOp for RunningTotal {
    fn name(&self) -> &'static str {
        "RunningTotal"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(TotalRun { total: 0.0 }))
    }
}

struct TotalRun {
    total: f64,
}

impl StreamRun for TotalRun {
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output> {
        let values = read(&arguments[0])?;
        let mut totals = Float64Builder::with_capacity(rows);
        for row in 0..rows {
            let number = values.get(row).number();
            self.total += number.unwrap_or_default();
            totals.append_option(number.map(|_| self.total));
        }
        Ok(Output { added: vec![Arc::new(totals.finish())], ..Output::default() })
    }
}

/// The difference between the argument's number and that of `back` rows before.
#[derive(Debug, Clone)]
pub struct Delta {
    /// The distance of the earlier row, in rows.
    pub back: usize,
}

impl StreamOp for Delta {
    fn name(&self) -> &'static str {
        "Delta"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(DeltaRun { back: self.back, before: VecDeque::new() }))
    }
}

struct DeltaRun {
    back: usize,
    before: VecDeque<Option<f64>>,
}

impl StreamRun for DeltaRun {
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output> {
        let values = read(&arguments[0])?;
        let mut deltas = Float64Builder::with_capacity(rows);
        for row in 0..rows {
            let number = values.get(row).number();
            let old = if self.before.len() >= self.back { self.before.pop_front() } else { None };
            deltas.append_option(number.zip(old.flatten()).map(|(new, old)| new - old));
            self.before.push_back(number);
        }
        Ok(Output { added: vec![Arc::new(deltas.finish())], ..Output::default() })
    }
}

/// For each argument, its last non-null value.
#[derive(Debug, Clone)]
pub struct FillDown;

impl StreamOp for FillDown {
    fn name(&self) -> &'static str {
        "FillDown"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(FillRun { last: Vec::new() }))
    }
}

struct FillRun {
    last: Vec<ScalarValue>,
}

impl StreamRun for FillRun {
    fn push(&mut self, arguments: &[ArrayRef], _: usize) -> Result<Output> {
        if self.last.is_empty() {
            let nulls = arguments.iter().map(|a| ScalarValue::try_from(a.data_type()));
            self.last = nulls.collect::<Result<_>>()?;
        }
        let mut added = Vec::with_capacity(arguments.len());
        for (argument, last) in arguments.iter().zip(&mut self.last) {
            added.push(fill(argument, last)?);
        }
        Ok(Output { added, ..Output::default() })
    }
}

fn fill(array: &ArrayRef, last: &mut ScalarValue) -> Result<ArrayRef> {
    if *array.data_type() == DataType::Utf8View {
        return fill_text(array, last);
    }
    let mut filled = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_valid(row) {
            *last = ScalarValue::try_from_array(array, row)?;
        }
        filled.push(last.clone());
    }
    ScalarValue::iter_to_array(filled)
}

fn fill_text(array: &ArrayRef, last: &mut ScalarValue) -> Result<ArrayRef> {
    let mut current = match &*last {
        ScalarValue::Utf8View(text) => text.clone(),
        _ => None,
    };
    let values = read(array)?;
    let mut filled = StringViewBuilder::with_capacity(array.len());
    for row in 0..array.len() {
        if let Some(text) = values.get(row).text()
            && current.as_deref() != Some(&*text)
        {
            current = Some(text.to_string());
        }
        filled.append_option(current.as_deref());
    }
    *last = ScalarValue::Utf8View(current);
    Ok(Arc::new(filled.finish()))
}

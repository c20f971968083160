//! A `CASE` over integers: each branch is evaluated only for its rows, over the columns that it reads.
//!
//! It replaces `CASE <number> WHEN 0 THEN ... WHEN 1 THEN ...`, the form of calculated fields. For each
//! branch, the engine copies its rows with all columns that any of the branches reads.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, FieldRef, Int64Type, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CaseExpr, Literal};
use hashbrown::HashMap;

use super::parts::Part;

#[derive(Debug)]
pub(super) struct Branches {
    /// The original expression.
    case: Arc<dyn PhysicalExpr>,
    number: Arc<dyn PhysicalExpr>,
    /// The index of the branch of each number.
    places: HashMap<i64, usize>,
    /// The branches; the last one is `ELSE`, which is `None` if it is missing.
    branches: Vec<Option<Part>>,
}

impl Branches {
    /// Returns the replacement; `None` if the `WHEN` values are not integers, or all results are constants,
    /// for which the engine is efficient.
    pub(super) fn of(expr: &Arc<dyn PhysicalExpr>, case: &CaseExpr) -> Option<Self> {
        let number = case.expr()?;
        let otherwise = case.else_expr();
        let thens = case.when_then_expr().iter().map(|(_, then)| then);
        if thens.chain(otherwise).all(|value| value.is::<Literal>()) {
            return None;
        }
        let (mut places, mut branches) = (HashMap::new(), Vec::new());
        for (when, then) in case.when_then_expr() {
            let literal = when.downcast_ref::<Literal>().map(Literal::value);
            let Some(ScalarValue::Int64(Some(when))) = literal else { return None };
            places.entry(*when).or_insert(branches.len());
            branches.push(Some(Part::of(then)));
        }
        branches.push(otherwise.map(Part::of));
        Some(Self { case: Arc::clone(expr), number: Arc::clone(number), places, branches })
    }

    /// Returns the branch of each row; `None` if the numbers have another type.
    fn of_rows(&self, numbers: &dyn Array) -> Option<Vec<usize>> {
        let numbers = numbers.as_primitive_opt::<Int64Type>()?;
        let others = self.branches.len() - 1;
        let place = |number: Option<i64>| {
            number.and_then(|number| self.places.get(&number).copied()).unwrap_or(others)
        };
        Some(numbers.iter().map(place).collect())
    }

    /// Returns the values of a branch for its rows, and whether the array has values for all rows of the
    /// batch.
    fn values(&self, branch: usize, rows: &[u32], batch: &RecordBatch) -> Result<(ArrayRef, bool)> {
        let Some(part) = &self.branches[branch] else {
            return Ok((new_null_array(&self.data_type(&batch.schema())?, rows.len()), false));
        };
        if let Some(column) = part.as_column() {
            return Ok((Arc::clone(batch.column(column)), true));
        }
        if rows.len() == batch.num_rows() {
            return Ok((part.of_all(batch)?.into_array(rows.len())?, true));
        }
        let values = part.of_rows(&UInt32Array::from(rows.to_vec()), batch)?;
        Ok((values.into_array(rows.len())?, false))
    }
}

impl PartialEq for Branches {
    fn eq(&self, other: &Self) -> bool {
        self.case.eq(&other.case)
    }
}

impl Eq for Branches {}

impl Hash for Branches {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.case.hash(state);
    }
}

impl fmt::Display for Branches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.case.fmt(f)
    }
}

impl PhysicalExpr for Branches {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.case.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.case.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.case.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let numbers = self.number.evaluate(batch)?.into_array(batch.num_rows())?;
        let Some(of_rows) = self.of_rows(&numbers) else { return self.case.evaluate(batch) };
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.branches.len()];
        for (row, branch) in (0..).zip(&of_rows) {
            rows[*branch].push(row);
        }
        // The arrays of branches with rows; for each branch, the index of its array and of its next value.
        let mut arrays: Vec<ArrayRef> = Vec::new();
        let mut next: Vec<(usize, bool, usize)> = vec![(0, false, 0); self.branches.len()];
        for (branch, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let (array, is_whole) = self.values(branch, rows, batch)?;
            if rows.len() == batch.num_rows() {
                return Ok(ColumnarValue::Array(array));
            }
            next[branch] = (arrays.len(), is_whole, 0);
            arrays.push(array);
        }
        if arrays.is_empty() {
            let kind = self.data_type(&batch.schema())?;
            return Ok(ColumnarValue::Array(new_null_array(&kind, 0)));
        }
        let mut places = Vec::with_capacity(of_rows.len());
        for (row, branch) in of_rows.into_iter().enumerate() {
            let (array, is_whole, at) = &mut next[branch];
            places.push((*array, if *is_whole { row } else { *at }));
            *at += 1;
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(interleave(&arrays, &places)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.case.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let made = Arc::clone(&self.case).with_new_children(children)?;
        let branches = made.downcast_ref().and_then(|case| Self::of(&made, case));
        Ok(branches.map_or(made, |branches| Arc::new(branches) as _))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.case.fmt_sql(f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Int64Array, StringViewArray};
    use datafusion::physical_expr::expressions::{Column, case};
    use proptest::prelude::*;

    use super::*;

    const TEXTS: [&str; 4] = ["", "a", "a text that is longer than a view", "b"];

    fn column(at: usize) -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new(["n", "x", "y", "z"][at], at))
    }

    fn literal(value: ScalarValue) -> Arc<dyn PhysicalExpr> {
        Arc::new(Literal::new(value))
    }

    fn texts(picks: &[Option<usize>]) -> ArrayRef {
        Arc::new(StringViewArray::from_iter(picks.iter().map(|pick| pick.map(|at| TEXTS[at]))))
    }

    proptest! {
        #[test]
        fn a_choice_has_the_values_of_the_case(
            rows in prop::collection::vec(
                (prop::option::of(0_i64..4), prop::option::of(0_usize..4), prop::option::of(0_usize..4)),
                0..40,
            ),
            has_else in any::<bool>(),
        ) {
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0)));
            let (x, y): (Vec<_>, Vec<_>) = rows.iter().map(|row| (row.1, row.2)).unzip();
            let batch = RecordBatch::try_from_iter_with_nullable([
                ("n", numbers, true), ("x", texts(&x), true), ("y", texts(&y), true),
            ]).unwrap();
            let when = |number| literal(ScalarValue::Int64(Some(number)));
            let inner = case(
                Some(column(0)),
                vec![(when(2), column(1))],
                Some(literal(ScalarValue::Utf8View(Some("other".to_owned())))),
            ).unwrap();
            let whole = case(
                Some(column(0)),
                vec![
                    (when(0), column(1)),
                    (when(1), inner),
                    (when(0), column(2)),
                    (when(3), literal(ScalarValue::Utf8View(Some("3".to_owned())))),
                ],
                has_else.then(|| column(2)),
            ).unwrap();
            let made = Branches::of(&whole, whole.downcast_ref().unwrap()).unwrap();
            let values = |expr: &dyn PhysicalExpr| {
                expr.evaluate(&batch).unwrap().into_array(rows.len()).unwrap()
            };
            let (ours, theirs) = (values(&made), values(whole.as_ref()));
            prop_assert_eq!(&ours, &theirs);
        }
    }
}

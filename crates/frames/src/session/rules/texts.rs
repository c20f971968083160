//! Stores long constant texts only once in memory.
//!
//! DataFusion repeats a constant for each row of a batch: `fillnull value=<text>` of 200 fields with a text
//! of 10,000 bytes takes 16 GB for 8,192 rows. Here, the rows of a column share the bytes of the text.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{RecordBatch, StringViewBuilder};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::rewrites::Rewritten;

/// Minimum length of a shared text in bytes; shorter ones need little memory.
const LONG: usize = 64;

/// Shares the long constant texts of projections.
pub(super) fn in_projection(node: &Arc<dyn ExecutionPlan>) -> Rewritten {
    let Some(projection) = node.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let exprs = projection.expr();
    if !exprs.iter().any(|of| shared(&of.expr).is_some()) {
        return Ok(None);
    }
    let share = |of: &ProjectionExpr| ProjectionExpr {
        expr: shared(&of.expr).unwrap_or_else(|| Arc::clone(&of.expr)),
        alias: of.alias.clone(),
    };
    let exprs: Vec<ProjectionExpr> = exprs.iter().map(share).collect();
    let made = ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?;
    Ok(Some(Arc::new(made)))
}

/// Returns the length of the longest of the long constant texts in an expression.
pub(crate) fn longest(expr: &Arc<dyn PhysicalExpr>) -> usize {
    let own = match expr.downcast_ref::<Literal>().map(Literal::value) {
        Some(ScalarValue::Utf8View(Some(text))) => text.len(),
        _ => expr.downcast_ref::<SharedText>().map_or(0, |text| text.0.len()),
    };
    let own = if own < LONG { 0 } else { own };
    own.max(expr.children().into_iter().map(longest).max().unwrap_or(0))
}

/// Returns a shared text that replaces a long constant text.
fn shared(expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Utf8View(Some(text)) if text.len() >= LONG => {
            Some(Arc::new(SharedText(Buffer::from(text.as_bytes()))))
        }
        _ => None,
    }
}

/// A constant text.
#[derive(Debug)]
struct SharedText(Buffer);

impl SharedText {
    fn text(&self) -> &str {
        std::str::from_utf8(self.0.as_slice()).unwrap_or_default()
    }
}

impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for SharedText {}

impl Hash for SharedText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl PhysicalExpr for SharedText {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(false)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let mut rows = StringViewBuilder::with_capacity(batch.num_rows());
        let block = rows.append_block(self.0.clone());
        for _ in 0..batch.num_rows() {
            rows.try_append_view(block, 0, length)?;
        }
        Ok(ColumnarValue::Array(Arc::new(rows.finish())))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Array, ArrayRef, AsArray, Int64Array};

    use super::*;

    #[test]
    fn the_rows_of_a_long_constant_share_its_bytes() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..8192));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let text = "x".repeat(10_000);
        let literal: Arc<dyn PhysicalExpr> =
            Arc::new(Literal::new(ScalarValue::Utf8View(Some(text.clone()))));
        let made = shared(&literal).unwrap().evaluate(&batch).unwrap().into_array(8192).unwrap();
        assert_eq!((made.len(), made.as_string_view().value(8191)), (8192, text.as_str()));
        assert!(made.get_buffer_memory_size() < 1 << 20);
        let short: Arc<dyn PhysicalExpr> = Arc::new(Literal::new(ScalarValue::from("x")));
        assert!(shared(&short).is_none());
    }
}

//! Evaluation of expressions on small batches, for tests.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, StringViewArray, StringViewBuilder,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use jiff::tz::TimeZone;
use model::EventTime;

use crate::column::Values;
use crate::kernel::Texts;
use crate::types::{ArrowType, ValueType};
use crate::{Scope, Typed};

/// Named columns, which also serve as a scope.
pub(crate) struct Table {
    pub(crate) columns: Vec<(String, ValueType, ArrayRef)>,
    zone: TimeZone,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { columns: Vec::new(), zone: TimeZone::UTC }
    }

    fn with(mut self, name: &str, kind: ValueType, array: ArrayRef) -> Self {
        self.columns.push((name.to_owned(), kind, array));
        self
    }

    pub(crate) fn text(self, name: &str, values: &[Option<&str>]) -> Self {
        let array: StringViewArray = values.iter().copied().collect();
        self.with(name, ValueType::Text, Arc::new(array))
    }

    pub(crate) fn float(self, name: &str, values: &[Option<f64>]) -> Self {
        let array: Float64Array = values.iter().copied().collect();
        self.with(name, ValueType::Float, Arc::new(array))
    }

    pub(crate) fn integer(self, name: &str, values: &[Option<i64>]) -> Self {
        let array: Int64Array = values.iter().copied().collect();
        self.with(name, ValueType::Integer, Arc::new(array))
    }

    pub(crate) fn time(self, name: &str, micros: &[Option<i64>]) -> Self {
        let array: TimestampMicrosecondArray = micros.iter().copied().collect();
        self.with(name, ValueType::Time, Arc::new(array.with_timezone("UTC")))
    }

    pub(crate) fn multi(self, name: &str, rows: &[&[&str]]) -> Self {
        let mut built = Texts::new(StringViewBuilder::new());
        for row in rows {
            row.iter().for_each(|text| built.values().append_value(text));
            built.append(!row.is_empty());
        }
        self.with(name, ValueType::Multi, Arc::new(built.finish()))
    }

    pub(crate) fn batch(&self) -> RecordBatch {
        let field = |(name, kind, array): &(String, ValueType, ArrayRef)| {
            debug_assert_eq!(kind.data_type(), *array.data_type());
            Field::new(name, array.data_type().clone(), true)
        };
        let schema = Schema::new(self.columns.iter().map(field).collect::<Vec<_>>());
        let arrays = self.columns.iter().map(|column| Arc::clone(&column.2)).collect();
        RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
    }

    /// Returns the value of an expression in each row as text; several values are joined by `|`.
    pub(crate) fn evaluate(&self, expr: &Expr) -> Vec<Option<String>> {
        let batch = self.batch();
        let schema = datafusion::common::DFSchema::try_from(batch.schema()).unwrap();
        let physical = SessionContext::new().create_physical_expr(expr.clone(), &schema).unwrap();
        let result = physical.evaluate(&batch).unwrap().into_array(batch.num_rows()).unwrap();
        shown(&result)
    }

    /// Returns the value of an SPL expression in each row.
    pub(crate) fn eval(&self, text: &str) -> Vec<Option<String>> {
        let expr = spl::parse_expression(text).unwrap();
        let typed = crate::compile(&expr, self).unwrap().shown();
        let shown = self.evaluate(&typed.expr);
        let physical_kind = self.kind_of(&typed);
        assert_eq!(physical_kind, typed.kind, "{text} is of another type than planned");
        shown
    }

    fn kind_of(&self, typed: &Typed) -> ValueType {
        use datafusion::logical_expr::ExprSchemable;
        let schema = datafusion::common::DFSchema::try_from(self.batch().schema()).unwrap();
        ValueType::of(&typed.expr.get_type(&schema).unwrap()).unwrap()
    }
}

/// Returns the values of an array as texts.
pub(crate) fn shown(array: &ArrayRef) -> Vec<Option<String>> {
    let values = Values::new(array).unwrap();
    let show = |row| {
        let value = values.get(row);
        let mut parts = Vec::new();
        value.each_text(|text| parts.push(text.to_owned()));
        (!value.is_null()).then(|| parts.join("|"))
    };
    (0..array.len()).map(show).collect()
}

impl Scope for Table {
    fn field(&self, name: &str) -> Option<ValueType> {
        self.columns.iter().find(|column| column.0 == name).map(|column| column.1)
    }

    fn now(&self) -> EventTime {
        EventTime(1_700_000_000_000_000)
    }

    fn timezone(&self) -> &TimeZone {
        &self.zone
    }
}

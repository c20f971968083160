//! Aggregates whose value is added to every row of its group (`eventstats`).
//!
//! DataFusion repeats the result of a window function for each row: a list of 100,000 values in 100,000 rows.
//! Here, a large value is stored once, with an index for each row, until a batch of rows is processed; the
//! memory of a batch is accounted for.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef, Int32Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::ledger::Meter;

/// Minimum size of a list element in bytes.
const VIEW: usize = 16;

/// Whether values of a type may be so large that they should not be repeated in memory.
#[must_use]
pub fn is_large(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_) | DataType::Utf8View | DataType::Utf8)
}

/// Returns the aggregate in the form that stores its value once.
#[must_use]
pub fn once(aggregate: Arc<AggregateUDF>) -> AggregateUDF {
    AggregateUDF::new_from_impl(Once(aggregate))
}

/// Returns the values of a column that such an aggregate returned.
#[must_use]
pub fn written_out(column: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(WrittenOut { signature }).call(vec![column])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Once(Arc<AggregateUDF>);

fn numbered(values: &DataType) -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(values.clone()))
}

impl AggregateUDFImpl for Once {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.0.return_type(arguments).map(|values| numbered(&values))
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(arguments)
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(arguments)
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let DataType::Dictionary(_, values) = arguments.return_type() else {
            return exec_err!("{} has no numbered values", self.name());
        };
        let values = values.as_ref().clone();
        let field = Field::new(arguments.return_field.name(), values.clone(), true);
        let inner = AccumulatorArgs { return_field: Arc::new(field), ..arguments };
        Ok(Box::new(OnceAccumulator { inner: self.0.accumulator(inner)?, values }))
    }
}

#[derive(Debug)]
struct OnceAccumulator {
    inner: Box<dyn Accumulator>,
    values: DataType,
}

impl Accumulator for OnceAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.inner.evaluate()?;
        let value = if value.is_null() { ScalarValue::try_from(&self.values)? } else { value };
        Ok(ScalarValue::Dictionary(Box::new(DataType::Int32), Box::new(value)))
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WrittenOut {
    signature: Signature,
}

impl ScalarUDFImpl for WrittenOut {
    fn name(&self) -> &str {
        "written_out"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Dictionary(_, values)] => Ok(values.as_ref().clone()),
            other => exec_err!("written_out takes a dictionary, not {other:?}"),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [argument] = arguments.args.as_slice() else {
            return exec_err!("written_out takes one column");
        };
        let column = argument.to_array(arguments.number_rows)?;
        let Some(numbers) = column.as_dictionary_opt::<Int32Type>() else {
            return exec_err!("written_out takes a dictionary, not {}", column.data_type());
        };
        let mut meter = Meter::new(&arguments.config_options);
        if let Some(lists) = numbers.values().as_list_opt::<i32>() {
            for number in numbers.keys().iter().flatten() {
                let length = usize::try_from(number).map_or(0, |at| lists.value_length(at));
                meter.add(VIEW * usize::try_from(length).unwrap_or_default())?;
            }
            let made = arrow::compute::take(lists, numbers.keys(), None)?;
            return meter.finish(made).map(ColumnarValue::Array);
        }
        // The texts stay in place; only their offsets are copied.
        Ok(ColumnarValue::Array(arrow::compute::take(numbers.values(), numbers.keys(), None)?))
    }
}

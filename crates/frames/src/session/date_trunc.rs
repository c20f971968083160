//! `date_trunc` of times outside the range of nanosecond timestamps.
//!
//! The engine's function computes with nanoseconds, whose range ends in 2262: one event of a later year would
//! fail the query. Here, such a time is shifted by a multiple of 400 years, after which dates and weekdays
//! repeat; the engine truncates it, and the result is shifted back.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{AsArray, PrimitiveArray};
use arrow::compute::binary;
use arrow::datatypes::{DataType, FieldRef, TimestampMicrosecondType};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

/// Microseconds of 400 years.
const ERA: i64 = 146_097 * 86_400_000_000;
/// 1770-01-01 in microseconds: the 400 years from here on, and their truncated times, are in the range of
/// nanoseconds.
const FIRST: i64 = -73_048 * 86_400_000_000;

/// Returns the function that replaces the engine's.
pub(crate) fn function(inner: Arc<ScalarUDF>) -> ScalarUDF {
    ScalarUDF::new_from_impl(DateTrunc { inner })
}

#[derive(Debug)]
struct DateTrunc {
    inner: Arc<ScalarUDF>,
}

impl PartialEq for DateTrunc {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for DateTrunc {}

impl Hash for DateTrunc {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.name().hash(state);
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.inner().schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.inner().return_field_from_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.inner().documentation()
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.inner().output_ordering(input)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let far = args.args.get_mut(1).and_then(|times| {
            let moved = near(times)?;
            Some(std::mem::replace(times, moved))
        });
        let truncated = self.inner.inner().invoke_with_args(args)?;
        match far {
            Some(far) => moved_back(truncated, &far),
            None => Ok(truncated),
        }
    }
}

/// Returns the index of the 400 years that contain a time.
fn era(time: i64) -> i64 {
    time.saturating_sub(FIRST).div_euclid(ERA)
}

/// Returns the corresponding time in the first 400 years. Nulls may be converted to any value.
fn to_first(time: i64) -> i64 {
    time.wrapping_sub(era(time).wrapping_mul(ERA))
}

/// Returns the shifted times; `None` if no shift is necessary, or the times are in another unit.
fn near(times: &ColumnarValue) -> Option<ColumnarValue> {
    match times {
        ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(Some(time), zone)) => {
            let moved = ScalarValue::TimestampMicrosecond(Some(to_first(*time)), zone.clone());
            (era(*time) != 0).then_some(ColumnarValue::Scalar(moved))
        }
        ColumnarValue::Array(array) => {
            let column = array.as_primitive_opt::<TimestampMicrosecondType>()?;
            if column.iter().flatten().all(|time| era(time) == 0) {
                return None;
            }
            let moved: PrimitiveArray<TimestampMicrosecondType> = column.unary(to_first);
            let moved = moved.with_timezone_opt(column.timezone());
            Some(ColumnarValue::Array(Arc::new(moved)))
        }
        ColumnarValue::Scalar(_) => None,
    }
}

/// Returns the truncated times shifted back to their original 400 years.
fn moved_back(truncated: ColumnarValue, far: &ColumnarValue) -> Result<ColumnarValue> {
    let back = |near: i64, far: i64| near.wrapping_add(era(far).wrapping_mul(ERA));
    Ok(match (truncated, far) {
        (
            ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(Some(near), zone)),
            ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(Some(far), _)),
        ) => {
            let time = Some(back(near, *far));
            ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(time, zone))
        }
        (ColumnarValue::Array(near), ColumnarValue::Array(far)) => {
            let near = near.as_primitive::<TimestampMicrosecondType>();
            let far = far.as_primitive::<TimestampMicrosecondType>();
            let times: PrimitiveArray<TimestampMicrosecondType> = binary(near, far, back)?;
            ColumnarValue::Array(Arc::new(times.with_timezone_opt(near.timezone())))
        }
        (truncated, _) => truncated,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Array, ArrayRef, TimestampMicrosecondArray};
    use arrow::datatypes::{Field, TimeUnit};
    use datafusion::common::config::ConfigOptions;

    use super::*;

    fn truncated(unit: &str, times: ColumnarValue, rows: usize) -> ArrayRef {
        let kind = times.data_type();
        let arguments = ScalarFunctionArgs {
            args: vec![ColumnarValue::Scalar(ScalarValue::from(unit)), times],
            arg_fields: vec![
                Arc::new(Field::new("unit", DataType::Utf8, false)),
                Arc::new(Field::new("time", kind.clone(), true)),
            ],
            number_rows: rows,
            return_field: Arc::new(Field::new("date_trunc", kind, true)),
            config_options: Arc::new(ConfigOptions::new()),
        };
        let ours = function(datafusion::functions::datetime::date_trunc());
        ours.invoke_with_args(arguments).unwrap().into_array(rows).unwrap()
    }

    #[test]
    fn far_times_are_truncated_like_near_ones() {
        let time = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let given = "5138-11-16T09:46:39.5Z";
        let cases = [
            ("second", "5138-11-16T09:46:39Z"),
            ("hour", "5138-11-16T09:00:00Z"),
            ("day", "5138-11-16T00:00:00Z"),
            ("month", "5138-11-01T00:00:00Z"),
            ("quarter", "5138-10-01T00:00:00Z"),
            ("year", "5138-01-01T00:00:00Z"),
        ];
        for (unit, expected) in cases {
            let near = Some(time("2024-05-15T10:30:00Z"));
            let times = vec![Some(time(given)), None, near];
            let array = TimestampMicrosecondArray::from(times).with_timezone("UTC");
            let made = truncated(unit, ColumnarValue::Array(Arc::new(array)), 3);
            let kind = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
            assert_eq!(made.data_type(), &kind);
            let made = made.as_primitive::<TimestampMicrosecondType>();
            assert_eq!((made.value(0), made.is_null(1)), (time(expected), true), "{unit}");
            assert!(made.value(2) <= time("2024-05-15T10:30:00Z"), "{unit}");
            let far = ScalarValue::TimestampMicrosecond(Some(time(given)), Some("UTC".into()));
            let made = truncated(unit, ColumnarValue::Scalar(far), 1);
            assert_eq!(
                made.as_primitive::<TimestampMicrosecondType>().value(0),
                time(expected),
                "{unit}"
            );
        }
    }

    #[test]
    fn weeks_of_far_times_begin_on_mondays() {
        let time = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let cases = [
            ("0001-01-03T12:00:00Z", "0001-01-01T00:00:00Z"),
            ("2300-01-03T12:00:00Z", "2300-01-01T00:00:00Z"),
        ];
        for (given, expected) in cases {
            let far = ScalarValue::TimestampMicrosecond(Some(time(given)), None);
            let made = truncated("week", ColumnarValue::Scalar(far), 1);
            assert_eq!(
                made.as_primitive::<TimestampMicrosecondType>().value(0),
                time(expected),
                "{given}"
            );
        }
    }
}

//! Columns as the texts that clients see: one value, several, or none.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Float64Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use knowledge::time::{LocalClock, TimeFormat};
use model::{EventTime, columns};
use plan::value::{NumberText, read_time_among_texts};
use serde::Serialize;

/// A field of a result row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// One value.
    One(String),
    /// A multivalue field.
    Many(Vec<String>),
    /// A list of SQL, with its nulls and the lists in it.
    List(Vec<Option<Value>>),
}

impl Value {
    /// All values as one text, several separated by line breaks, as Splunk joins them in CSV.
    #[must_use]
    pub fn joined(&self) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::Many(texts) => texts.join("\n"),
            Self::List(_) => self.clone().into_texts().join("\n"),
        }
    }

    /// All values, without nulls.
    #[must_use]
    pub fn into_texts(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
            Self::List(items) => items.into_iter().flatten().flat_map(Self::into_texts).collect(),
        }
    }
}

/// Renders columns as texts in one time zone.
#[derive(Debug, Clone)]
pub(crate) struct Renderer {
    timezone: TimeZone,
    /// Whether times include non-zero microseconds.
    has_micros: bool,
    /// Whether lists are kept as they are; otherwise they are multivalue fields.
    keeps_lists: bool,
    /// The requested form of `_time`, and the clock of the zone; `None` is ISO 8601.
    form: Option<Arc<(TimeFormat, LocalClock)>>,
}

impl Renderer {
    /// Creates a renderer that writes times with the offset of the zone and with milliseconds, as Splunk
    /// does.
    #[must_use]
    pub(crate) fn new(timezone: TimeZone) -> Self {
        Self { timezone, has_micros: false, keeps_lists: false, form: None }
    }

    /// Keeps the microseconds of times, so that a time in a result of SQL identifies its event, and lists of
    /// one value, whose column is a list in every row.
    #[must_use]
    pub(crate) fn exact(timezone: TimeZone) -> Self {
        Self { timezone, has_micros: true, keeps_lists: true, form: None }
    }

    /// Writes `_time` in this format, if there is one. The format decides about fractions of seconds.
    #[must_use]
    pub(crate) fn with_times(self, format: Option<&TimeFormat>) -> Self {
        let form =
            format.map(|format| Arc::new((format.clone(), LocalClock::new(self.timezone.clone()))));
        Self { form, ..self }
    }

    /// Renders the value of a row; `None` if it is null. A multivalue field with one value becomes a single
    /// value, as clients of Splunk expect, unless lists are kept.
    #[must_use]
    pub(crate) fn value(&self, name: &str, column: &ArrayRef, row: usize) -> Option<Value> {
        if column.is_null(row) {
            return None;
        }
        let one = match column.data_type() {
            // Such a column has no bitmap of nulls.
            DataType::Null => return None,
            DataType::Utf8View => self.text(name, column.as_string_view().value(row)),
            DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
            DataType::LargeUtf8 => column.as_string::<i64>().value(row).to_owned(),
            DataType::Dictionary(_, _) => dictionary_text(column, row)?,
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::Float64 => {
                let number = column.as_primitive::<Float64Type>().value(row);
                NumberText::float(number).to_string()
            }
            DataType::Boolean => plan::value::truth_text(column.as_boolean().value(row)).to_owned(),
            DataType::Timestamp(unit, _) => {
                let micros = micros(column, *unit, row)?;
                if name == columns::INDEX_TIME {
                    micros.div_euclid(1_000_000).to_string()
                } else {
                    self.time_in(name, micros)
                }
            }
            DataType::List(_) => {
                let items = column.as_list::<i32>().value(row);
                let values = (0..items.len()).map(|item| self.value(name, &items, item));
                if self.keeps_lists {
                    return Some(Value::List(values.collect()));
                }
                let mut texts: Vec<String> = values.flatten().map(|value| value.joined()).collect();
                return match texts.len() {
                    0 => None,
                    1 => texts.pop().map(Value::One),
                    _ => Some(Value::Many(texts)),
                };
            }
            // SQL reaches types that SPL never produces; Arrow's own text form is what its users
            // know.
            _ => arrow::util::display::array_value_to_string(column, row).ok()?,
        };
        Some(Value::One(one))
    }

    /// Renders a text unchanged, unless it is a time among the texts of `_time`.
    fn text(&self, name: &str, text: &str) -> String {
        let is_time = name == columns::TIME && !self.has_micros;
        match is_time.then(|| read_time_among_texts(text)).flatten() {
            Some(micros) => self.time_in(name, micros),
            None => text.to_owned(),
        }
    }

    /// Renders a time of a field: that of `_time` in the requested form, all others in ISO 8601.
    fn time_in(&self, name: &str, micros: i64) -> String {
        match self.form.as_deref() {
            Some((format, clock)) if name == columns::TIME => {
                let mut written = String::new();
                format.strftime(EventTime(micros), clock, &mut written);
                written
            }
            _ => self.time(micros),
        }
    }

    /// `2026-11-20T21:00:00.000+00:00`.
    #[must_use]
    pub(crate) fn time(&self, micros: i64) -> String {
        let format = if self.has_micros && micros.rem_euclid(1_000) != 0 {
            "%Y-%m-%dT%H:%M:%S%.6f%:z"
        } else {
            "%Y-%m-%dT%H:%M:%S%.3f%:z"
        };
        match Timestamp::from_microsecond(micros) {
            Ok(timestamp) => timestamp.to_zoned(self.timezone.clone()).strftime(format).to_string(),
            // Outside of the calendar's years (-9999..9999): the number says more than an error.
            Err(_) => NumberText::time(micros).to_string(),
        }
    }
}

/// Converts a time of any unit to microseconds: some SQL functions return nanoseconds or seconds.
fn micros(column: &ArrayRef, unit: TimeUnit, row: usize) -> Option<i64> {
    match unit {
        TimeUnit::Second => {
            column.as_primitive_opt::<TimestampSecondType>()?.value(row).checked_mul(1_000_000)
        }
        TimeUnit::Millisecond => {
            column.as_primitive_opt::<TimestampMillisecondType>()?.value(row).checked_mul(1_000)
        }
        TimeUnit::Microsecond => {
            Some(column.as_primitive_opt::<TimestampMicrosecondType>()?.value(row))
        }
        TimeUnit::Nanosecond => {
            let nanos = column.as_primitive_opt::<TimestampNanosecondType>()?.value(row);
            Some(nanos.div_euclid(1_000))
        }
    }
}

fn dictionary_text(column: &ArrayRef, row: usize) -> Option<String> {
    let dictionary = column.as_dictionary_opt::<Int32Type>()?;
    let key = dictionary.key(row)?;
    Some(dictionary.values().as_string_opt::<i32>()?.value(key).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        Float64Array, ListBuilder, NullArray, StringViewArray, StringViewBuilder,
        TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    };

    fn text(name: &str, column: ArrayRef) -> Option<Value> {
        Renderer::new(TimeZone::UTC).value(name, &column, 0)
    }

    #[test]
    fn times_are_iso_8601_with_milliseconds_and_offset() {
        let column = Arc::new(TimestampMicrosecondArray::from(vec![1_500]).with_timezone("UTC"));
        let expected = Value::One("1970-01-01T00:00:00.001+00:00".to_owned());
        assert_eq!(text("_time", column), Some(expected));
    }

    #[test]
    fn times_among_texts_are_times_in_the_column_of_times_alone() {
        let column: ArrayRef =
            Arc::new(StringViewArray::from(vec!["7200.000000", "Total", "10", "7200"]));
        let shown = |name: &str| -> Vec<Option<Value>> {
            let renderer = Renderer::new(TimeZone::UTC);
            (0..column.len()).map(|row| renderer.value(name, &column, row)).collect()
        };
        let texts = |texts: [&str; 4]| texts.map(|text| Some(Value::One(text.to_owned()))).to_vec();
        let expected = texts(["1970-01-01T02:00:00.000+00:00", "Total", "10", "7200"]);
        assert_eq!(shown("_time"), expected);
        assert_eq!(shown("t"), texts(["7200.000000", "Total", "10", "7200"]));
    }

    #[test]
    fn times_of_sql_have_their_microseconds() {
        let exact = Renderer::exact(TimeZone::UTC);
        assert_eq!(exact.time(50_675_872), "1970-01-01T00:00:50.675872+00:00");
        assert_eq!(exact.time(50_675_000), "1970-01-01T00:00:50.675+00:00");
        assert_eq!(exact.time(-1), "1969-12-31T23:59:59.999999+00:00");
    }

    #[test]
    fn a_requested_form_applies_to_the_column_of_times_with_all_digits() {
        let micros = 1_795_208_400_123_456;
        let times: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![micros]).with_timezone("UTC"));
        let texts: ArrayRef =
            Arc::new(StringViewArray::from(vec!["1795208400.123456", "Total", "1795208400"]));
        let zone = TimeZone::get("Asia/Tokyo").expect("the zone is known");
        let format = TimeFormat::parse("%s.%6N %H:%M %z");
        let renderer = Renderer::new(zone).with_times(Some(&format));
        let shown =
            |name: &str, column: &ArrayRef, row: usize| match renderer.value(name, column, row) {
                Some(Value::One(text)) => text,
                other => panic!("{other:?}"),
            };
        let written = "1795208400.123456 06:00 +0900";
        assert_eq!(shown("_time", &times, 0), written);
        assert_eq!(shown("_time", &texts, 0), written);
        assert_eq!([1, 2].map(|row| shown("_time", &texts, row)), ["Total", "1795208400"]);
        assert_eq!(shown("t", &times, 0), "2026-11-21T06:00:00.123+09:00");
    }

    #[test]
    fn times_of_other_units_are_the_same_times() {
        let expected = Some(Value::One("1970-01-01T00:00:01.500+00:00".to_owned()));
        let nanos = Arc::new(TimestampNanosecondArray::from(vec![1_500_000_000]));
        let millis = Arc::new(TimestampMillisecondArray::from(vec![1_500]));
        assert_eq!((text("t", nanos), text("t", millis)), (expected.clone(), expected));
    }

    #[test]
    fn lists_of_sql_keep_their_nulls_and_have_one_value_too() {
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        lists.append_value([Some("a")]);
        lists.append_value([Some("a"), None, Some("b")]);
        lists.append_value([None::<&str>]);
        lists.append_value(std::iter::empty::<Option<&str>>());
        lists.append_null();
        let column: ArrayRef = Arc::new(lists.finish());
        let shown = |renderer: &Renderer| -> Vec<Option<String>> {
            let value = |row| renderer.value("t", &column, row);
            let json = |value: Value| serde_json::to_string(&value).expect("texts are JSON");
            (0..column.len()).map(|row| value(row).map(json)).collect()
        };
        let texts = |texts: [Option<&str>; 5]| texts.map(|text| text.map(str::to_owned)).to_vec();
        let exact = [Some("[\"a\"]"), Some("[\"a\",null,\"b\"]"), Some("[null]"), Some("[]"), None];
        assert_eq!(shown(&Renderer::exact(TimeZone::UTC)), texts(exact));
        let multivalue = [Some("\"a\""), Some("[\"a\",\"b\"]"), None, None, None];
        assert_eq!(shown(&Renderer::new(TimeZone::UTC)), texts(multivalue));
        let nested = Value::List(vec![None, Some(Value::List(vec![None, text_of("b")]))]);
        assert_eq!(nested.joined(), "b");
    }

    #[test]
    fn a_column_of_nulls_has_no_values() {
        let column: ArrayRef = Arc::new(NullArray::new(1));
        assert_eq!(text("x", column), None);
    }

    fn text_of(text: &str) -> Option<Value> {
        Some(Value::One(text.to_owned()))
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        let column = Arc::new(Float64Array::from(vec![3.0]));
        assert_eq!(text("x", column), Some(Value::One("3".to_owned())));
    }
}

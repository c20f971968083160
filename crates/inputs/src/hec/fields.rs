//! `fields` of an event: names with plain values or lists of them. The measure of a metric is one number.

use std::borrow::Cow;
use std::sync::Arc;

use model::columns::field_name;

use super::scan::{Malformed, Scanner};
use crate::OverLimit;

/// Why fields are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrongFields {
    /// The value is not an object, or not JSON.
    Shape,
    /// A value that is neither plain nor a list of plain values.
    Nested,
    /// A data point whose measure is not one number.
    Measure,
    /// A data point has no metric name, or several.
    MetricName,
    /// More than an event may have.
    Over(OverLimit),
}

impl From<Malformed> for WrongFields {
    fn from(_: Malformed) -> Self {
        Self::Shape
    }
}

/// Names that repeat from event to event, so that each is allocated once.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Arc<str>>);

impl Names {
    /// The name under which a field is kept.
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.iter().find(|known| ***known == *name) {
            return Arc::clone(known);
        }
        if let Cow::Owned(other) = field_name(name) {
            return self.get(&other);
        }
        let name: Arc<str> = name.into();
        // The list is searched from the front: it only helps while it is short.
        if self.0.len() < 64 {
            self.0.push(Arc::clone(&name));
        }
        name
    }
}

/// Passes every name and value to `emit`; a list gives one value per element, `null` none.
///
/// Data points that are not finite numbers are left out: OpenTelemetry's exporter sends `"NaN"` on purpose,
/// and it cannot be used in computations. An error would refuse the rest of the request.
pub(super) fn take_fields(
    json: &str,
    names: &mut Names,
    mut emit: impl FnMut(Arc<str>, &str) -> Result<(), OverLimit>,
) -> Result<(), WrongFields> {
    let mut scanner = Scanner::new(json);
    scanner.expect(b'{')?;
    let mut first = true;
    let mut single = SinglePoint::default();
    let mut not_finite = None;
    while let Some(name) = scanner.member(first)? {
        first = false;
        let name = names.get(&name);
        if !scanner.take(b'[') {
            if let Some(value) = plain(&mut scanner)? {
                single.check(&name, Some(&value))?;
                // Only possible data points are parsed as numbers.
                if name.starts_with("metric_name:") && is_not_finite(&value) {
                    continue;
                }
                // It is a data point if there is a `metric_name`, which may come later.
                if *name == *"_value" && is_not_finite(&value) {
                    not_finite = Some((name, value));
                    continue;
                }
                emit(name, &value).map_err(WrongFields::Over)?;
            }
            continue;
        }
        single.check(&name, None)?;
        while !scanner.take(b']') {
            if let Some(value) = plain(&mut scanner)? {
                emit(Arc::clone(&name), &value).map_err(WrongFields::Over)?;
            }
            if scanner.peek() != Some(b']') {
                scanner.expect(b',')?;
            }
        }
    }
    if let Some((name, value)) = not_finite.filter(|_| !single.has_name) {
        emit(name, &value).map_err(WrongFields::Over)?;
    }
    single.finish()
}

/// A data point in `metric_name` and `_value`, which may come in any order.
#[derive(Debug, Default)]
struct SinglePoint {
    has_name: bool,
    has_value: bool,
    wrong: Option<WrongFields>,
}

impl SinglePoint {
    /// Takes a field into account; `None` is a list. Points in fields of their own are checked at once.
    fn check(&mut self, name: &str, value: Option<&str>) -> Result<(), WrongFields> {
        match name {
            "metric_name" => {
                self.has_name = true;
                if value.is_none_or(str::is_empty) {
                    self.wrong = Some(WrongFields::MetricName);
                }
            }
            "_value" => {
                self.has_value = true;
                if !is_number(value) {
                    self.wrong = Some(WrongFields::Measure);
                }
            }
            _ => {
                let metric = name.strip_prefix("metric_name:");
                if metric.is_some_and(str::is_empty) {
                    return Err(WrongFields::MetricName);
                }
                if metric.is_some() && !is_number(value) {
                    return Err(WrongFields::Measure);
                }
            }
        }
        Ok(())
    }

    /// Checks the data point. Either of the two fields without the other is an ordinary field.
    fn finish(&self) -> Result<(), WrongFields> {
        let wrong = self.wrong.filter(|_| self.has_name && self.has_value);
        wrong.map_or(Ok(()), Err)
    }
}

fn is_number(value: Option<&str>) -> bool {
    value.is_some_and(|text| text.parse::<f64>().is_ok())
}

/// Whether it is a number that is not finite: `NaN`, `+Inf`, `1e999`.
fn is_not_finite(value: &str) -> bool {
    value.parse::<f64>().is_ok_and(|number| !number.is_finite())
}

fn plain<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Cow<'a, str>>, WrongFields> {
    match scanner.peek() {
        Some(b'"') => Ok(Some(scanner.string()?)),
        Some(b'{' | b'[') => Err(WrongFields::Nested),
        _ => match scanner.value()? {
            "null" => Ok(None),
            value => Ok(Some(Cow::Borrowed(value))),
        },
    }
}

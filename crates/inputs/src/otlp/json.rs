//! Requests in the forms of protobuf's JSON that the generated code does not read: `null` for a field that is
//! not set, and numbers that are not finite, as text.
//!
//! Only for requests that the generated code has refused.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use serde_json::{Map, Value, json};

/// Marks a number that JSON cannot express; its name follows. No sender uses this text.
const MARK: &str = "\u{0}karst-double:";

/// Longest request that is read once more: as a tree, JSON takes up to twenty times its length.
const MAX_LENGTH: usize = 8 << 20;

/// The request; `None` if it is not one in these forms either, or longer than [`MAX_LENGTH`].
pub(super) fn decode(json: &[u8]) -> Option<ExportLogsServiceRequest> {
    if json.len() > MAX_LENGTH {
        return None;
    }
    let mut value: Value = serde_json::from_slice(json).ok()?;
    let mut marked = false;
    normalize(&mut value, &mut marked);
    let mut request: ExportLogsServiceRequest = serde_json::from_value(value).ok()?;
    if marked {
        restore(&mut request);
    }
    Some(request)
}

/// Removes `null` values, and marks numbers that JSON cannot express. The recursion is limited by the depth
/// of the JSON parser.
fn normalize(value: &mut Value, marked: &mut bool) {
    match value {
        Value::Object(members) => {
            let is_attribute = members.contains_key("key") || members.contains_key("value");
            members.retain(|_, member| !member.is_null());
            mark_number(members, marked);
            members.values_mut().for_each(|member| normalize(member, marked));
            complete(members, is_attribute);
        }
        Value::Array(items) => {
            // An item that is `null` is kept as one that is empty.
            items.iter_mut().filter(|item| item.is_null()).for_each(|item| *item = json!({}));
            items.iter_mut().for_each(|item| normalize(item, marked));
        }
        _ => {}
    }
}

/// Adds members that the generated code requires: the key of an attribute, and the values of a list or map.
fn complete(members: &mut Map<String, Value>, is_attribute: bool) {
    if is_attribute {
        members.entry("key").or_insert_with(|| json!(""));
    }
    for name in ["arrayValue", "kvlistValue"] {
        if let Some(Value::Object(list)) = members.get_mut(name) {
            list.entry("values").or_insert_with(|| json!([]));
        }
    }
}

/// Writes `"doubleValue": "NaN"` as a marked text, and `"doubleValue": "1.5"` as a number.
fn mark_number(members: &mut Map<String, Value>, marked: &mut bool) {
    let Some(Value::String(text)) = members.get("doubleValue") else { return };
    let (name, value) = match text.as_str() {
        "NaN" | "Infinity" | "-Infinity" => {
            *marked = true;
            ("stringValue", json!(format!("{MARK}{text}")))
        }
        text => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => ("doubleValue", json!(number)),
            _ => return,
        },
    };
    members.remove("doubleValue");
    members.insert(name.to_owned(), value);
}

/// Makes numbers of the marked texts.
fn restore(request: &mut ExportLogsServiceRequest) {
    for resource in &mut request.resource_logs {
        if let Some(resource) = &mut resource.resource {
            restore_all(&mut resource.attributes);
        }
        for scope in &mut resource.scope_logs {
            if let Some(scope) = &mut scope.scope {
                restore_all(&mut scope.attributes);
            }
            for record in &mut scope.log_records {
                record.body.iter_mut().for_each(restore_value);
                restore_all(&mut record.attributes);
            }
        }
    }
}

fn restore_all(attributes: &mut [KeyValue]) {
    attributes.iter_mut().filter_map(|attribute| attribute.value.as_mut()).for_each(restore_value);
}

fn restore_value(value: &mut AnyValue) {
    match &mut value.value {
        Some(Attribute::ArrayValue(list)) => list.values.iter_mut().for_each(restore_value),
        Some(Attribute::KvlistValue(map)) => restore_all(&mut map.values),
        Some(Attribute::StringValue(text)) => {
            let number = match text.strip_prefix(MARK) {
                Some("NaN") => f64::NAN,
                Some("Infinity") => f64::INFINITY,
                Some("-Infinity") => f64::NEG_INFINITY,
                _ => return,
            };
            value.value = Some(Attribute::DoubleValue(number));
        }
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::otlp::decode_json;

    #[test]
    fn fields_that_are_null_are_not_set() {
        let request = decode_json(
            br#"{"resourceLogs":[{"resource":null,"schemaUrl":null,"scopeLogs":[{"scope":null,"logRecords":[
                {"timeUnixNano":null,"severityNumber":null,"severityText":null,"traceId":null,
                 "body":{"stringValue":"a"},"flags":null,
                 "attributes":[{"key":"a","value":{"arrayValue":{"values":null}}},
                    {"key":null,"value":null}]}]}]}]}"#,
        );
        let request = request.unwrap();
        let record = &request.resource_logs[0].scope_logs[0].log_records[0];
        assert_eq!((record.attributes[0].key.as_str(), &record.attributes[1].value), ("a", &None));
        let text = Some(Attribute::StringValue("a".to_owned()));
        assert_eq!(record.body, Some(AnyValue { value: text }));
        assert_eq!((record.time_unix_nano, record.attributes.len()), (0, 2));
    }

    #[test]
    fn doubles_may_be_text() {
        let request = decode_json(
            br#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"doubleValue":"NaN"},"attributes":[
                {"key":"a","value":{"doubleValue":"-Infinity"}},
                {"key":"b","value":{"arrayValue":{"values":[{"doubleValue":"Infinity"},null]}}},
                {"key":"c","value":{"doubleValue":"1.5"}}]}]}]}]}"#,
        );
        let request = request.unwrap();
        let record = &request.resource_logs[0].scope_logs[0].log_records[0];
        let body = record.body.as_ref().unwrap().value.as_ref();
        assert!(matches!(body, Some(Attribute::DoubleValue(number)) if number.is_nan()));
        let value = |at: usize| record.attributes[at].value.clone().unwrap().value;
        assert_eq!(value(0), Some(Attribute::DoubleValue(f64::NEG_INFINITY)));
        assert_eq!(value(2), Some(Attribute::DoubleValue(1.5)));
        let Some(Attribute::ArrayValue(list)) = value(1) else { panic!("a list was sent") };
        assert_eq!(list.values[0].value, Some(Attribute::DoubleValue(f64::INFINITY)));
        assert_eq!(list.values[1].value, None);
    }

    #[test]
    fn what_is_not_a_request_stays_an_error() {
        for json in [&b"{"[..], b"7", br#"{"resourceLogs":[{"scopeLogs":7}]}"#] {
            assert!(decode_json(json).is_err());
        }
    }
}

//! The collating orders of `sort` and of grouped results, as sort keys.
//!
//! `auto` sorts numbers before IPv4 addresses before other texts, each group in its natural order. A key is a
//! byte string whose order is that of the values; null stays null.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow::array::BinaryBuilder;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use spl::ast::SortOrder;

use crate::Typed;
use crate::column::{Argument, Value};
use crate::kernel::any_arguments;
use crate::types::ValueType;

/// Returns an expression that sorts values in the requested order.
pub fn sort_key(value: Typed, order: SortOrder) -> Expr {
    match (order, value.kind) {
        (SortOrder::Auto | SortOrder::Number, kind) if kind.is_number() => value.expr,
        _ => ScalarUDF::new_from_impl(SortKey::new(Key::Sorted(order))).call(vec![value.expr]),
    }
}

/// Returns an expression that sorts groups: numbers (computed or extracted) by value, then other texts byte
/// by byte (`natural_sort_output` of Splunk).
pub fn group_key(value: Typed) -> Expr {
    match value.kind {
        ValueType::Multi => sort_key(value, SortOrder::String),
        ValueType::Text => {
            ScalarUDF::new_from_impl(SortKey::new(Key::Natural)).call(vec![value.expr])
        }
        _ => value.expr,
    }
}

/// The encoding of values as sort keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// The order requested in `sort`.
    Sorted(SortOrder),
    /// The order of groups.
    Natural,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SortKey {
    order: Key,
    signature: Signature,
}

impl SortKey {
    fn new(order: Key) -> Self {
        Self { order, signature: any_arguments(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for SortKey {
    fn name(&self) -> &'static str {
        match self.order {
            Key::Sorted(SortOrder::Auto) => "sort_key_auto",
            Key::Sorted(SortOrder::Number) => "sort_key_num",
            Key::Sorted(SortOrder::String) => "sort_key_str",
            Key::Sorted(SortOrder::Ip) => "sort_key_ip",
            Key::Natural => "sort_key_natural",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(argument) = args.args.first() else {
            return datafusion::common::internal_err!("a sort key has one argument");
        };
        let argument = Argument::new(argument)?;
        let mut keys = BinaryBuilder::with_capacity(args.number_rows, args.number_rows * 12);
        let mut scratch = Vec::new();
        for row in 0..args.number_rows {
            scratch.clear();
            let value = argument.get(row);
            if write_key(self.order, value, &mut scratch) {
                keys.append_value(&scratch);
            } else {
                keys.append_null();
            }
        }
        Ok(ColumnarValue::Array(Arc::new(keys.finish())))
    }
}

/// Writes the key of a value. Returns false if the value sorts with missing ones.
fn write_key(order: Key, value: Value<'_>, key: &mut Vec<u8>) -> bool {
    let order = match order {
        Key::Sorted(order) => order,
        Key::Natural => return write_natural(value, key),
    };
    match order {
        SortOrder::Number => value.number().map(|number| write_number(number, key)).is_some(),
        SortOrder::String => {
            value.text().map(|text| key.extend_from_slice(text.as_bytes())).is_some()
        }
        SortOrder::Ip => match value.text().and_then(|text| text.trim().parse::<IpAddr>().ok()) {
            Some(address) => {
                key.extend_from_slice(&to_v6(address).octets());
                true
            }
            None => false,
        },
        SortOrder::Auto => write_auto(value, key),
    }
}

fn write_natural(value: Value<'_>, key: &mut Vec<u8>) -> bool {
    let Some(text) = value.text() else { return false };
    match value.number() {
        Some(number) => {
            key.push(1);
            write_number(number, key);
        }
        None => key.push(2),
    }
    // This also distinguishes the groups 7 and 07.
    key.extend_from_slice(text.as_bytes());
    true
}

fn write_auto(value: Value<'_>, key: &mut Vec<u8>) -> bool {
    if let Some(number) = value.number() {
        key.push(1);
        write_number(number, key);
        return true;
    }
    let Some(text) = value.text() else {
        return false;
    };
    let looks_like_address = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
    match text.parse::<Ipv4Addr>() {
        Ok(address) if looks_like_address => {
            key.push(2);
            key.extend_from_slice(&address.octets());
        }
        _ => {
            key.push(3);
            key.extend_from_slice(text.as_bytes());
        }
    }
    true
}

fn to_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Writes bytes that compare like the numbers.
fn write_number(number: f64, key: &mut Vec<u8>) {
    let number = if number == 0.0 { 0.0 } else { number };
    let bits = number.to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | (1 << 63) };
    key.extend_from_slice(&ordered.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(text: &str) -> Vec<u8> {
        let mut key = Vec::new();
        assert!(write_key(Key::Sorted(SortOrder::Auto), Value::Text(text), &mut key));
        key
    }

    #[test]
    fn auto_orders_numbers_then_addresses_then_texts() {
        let sorted = ["-5", "-0.5", "0", "2", "10", "1e3", "9.0.0.1", "10.0.0.1", "A", "a", "a1"];
        for pair in sorted.windows(2) {
            assert!(auto(pair[0]) < auto(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn what_is_no_number_sorts_with_the_missing_ones_by_number() {
        assert!(!write_key(Key::Sorted(SortOrder::Number), Value::Text("x"), &mut Vec::new()));
        assert!(!write_key(Key::Sorted(SortOrder::Auto), Value::Null, &mut Vec::new()));
    }

    #[test]
    fn groups_are_ordered_by_number_then_by_text() {
        let natural = |text: &str| {
            let mut key = Vec::new();
            assert!(write_key(Key::Natural, Value::Text(text), &mut key));
            key
        };
        let sorted = ["-5", "07", "7", "9", "10", "1e3", "10.0.0.1", "9.0.0.1", "A", "a", "a1"];
        for pair in sorted.windows(2) {
            assert!(natural(pair[0]) < natural(pair[1]), "{pair:?}");
        }
    }
}

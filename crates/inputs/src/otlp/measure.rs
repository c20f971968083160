//! Estimates the decoded size of a request before it is decoded: messages of two bytes become structures of a
//! hundred.

/// Estimated bytes of a record, or of a list of records.
const RECORD: usize = 256;
/// Estimated bytes of an attribute or a value.
const VALUE: usize = 96;
/// Maximum depth of the decoder.
const DEPTH: usize = 100;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Request,
    ResourceLogs,
    Resource,
    ScopeLogs,
    Scope,
    Record,
    Attribute,
    Value,
    List,
    Map,
}

impl Kind {
    /// Returns the type of the message in a field; `None` for text, and for fields that are not kept.
    fn child(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Request, 1) => Some(Self::ResourceLogs),
            (Self::ResourceLogs, 1) => Some(Self::Resource),
            (Self::ResourceLogs, 2) => Some(Self::ScopeLogs),
            (Self::Resource | Self::Map, 1) | (Self::Scope, 3) | (Self::Record, 6) => {
                Some(Self::Attribute)
            }
            (Self::ScopeLogs, 1) => Some(Self::Scope),
            (Self::ScopeLogs, 2) => Some(Self::Record),
            (Self::Record, 5) | (Self::Attribute, 2) | (Self::List, 1) => Some(Self::Value),
            (Self::Value, 5) => Some(Self::List),
            (Self::Value, 6) => Some(Self::Map),
            _ => None,
        }
    }

    fn size(self) -> usize {
        match self {
            Self::Attribute | Self::Value | Self::List | Self::Map => VALUE,
            _ => RECORD,
        }
    }
}

/// Estimates the memory of a decoded protobuf request, its text included. An invalid request is measured up
/// to the error: the decoder refuses it.
#[must_use]
pub fn protobuf_memory(request: &[u8]) -> usize {
    let mut memory = request.len();
    walk(Kind::Request, request, DEPTH, &mut memory);
    memory
}

/// The same for a request in JSON.
#[must_use]
pub fn json_memory(request: &[u8]) -> usize {
    request.len() + memchr::memchr_iter(b'{', request).count().saturating_mul(RECORD)
}

fn walk(kind: Kind, mut bytes: &[u8], depth: usize, memory: &mut usize) -> Option<()> {
    *memory = memory.saturating_add(kind.size());
    let depth = depth.checked_sub(1)?;
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        match tag & 7 {
            0 => drop(varint(&mut bytes)?),
            1 => bytes = bytes.get(8..)?,
            5 => bytes = bytes.get(4..)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (inner, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                if let Some(child) = kind.child(tag >> 3) {
                    walk(child, inner, depth, memory)?;
                }
            }
            _ => return None,
        }
    }
    Some(())
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue};
    use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
    use prost::Message;

    use super::*;

    #[test]
    fn empty_values_in_a_list_count_as_what_they_become() {
        let list = ArrayValue { values: vec![AnyValue::default(); 10_000] };
        let body = AnyValue { value: Some(Value::ArrayValue(list)) };
        let record = LogRecord { body: Some(body), ..LogRecord::default() };
        let scope = ScopeLogs { log_records: vec![record], ..ScopeLogs::default() };
        let resource = ResourceLogs { scope_logs: vec![scope], ..ResourceLogs::default() };
        let request = ExportLogsServiceRequest { resource_logs: vec![resource] };
        let packed = request.encode_to_vec();
        assert!(packed.len() < 21_000);
        assert!(protobuf_memory(&packed) > 10_000 * size_of::<AnyValue>());
        assert!(size_of::<AnyValue>() <= VALUE && size_of::<LogRecord>() <= RECORD);
    }

    #[test]
    fn what_is_no_protobuf_is_measured_up_to_there() {
        for torn in
            [&b"\x0a\xff"[..], b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x0b", b""]
        {
            assert!(protobuf_memory(torn) < 1_000);
        }
    }
}

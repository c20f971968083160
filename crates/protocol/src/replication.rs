//! The messages of `schemas/proto/replication.proto`, where their fields are explained.
//!
//! Written by hand, so that building Karst needs no protocol compiler; a test compares both.
#![allow(missing_docs)]

use bytes::Bytes;
use prost::Message;

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Copy {
    #[prost(bytes = "bytes", tag = "1")]
    pub indexer: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub id: Bytes,
    #[prost(uint64, tag = "3")]
    pub epoch: u64,
    #[prost(bytes = "bytes", tag = "4")]
    pub peer: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct PutObject {
    #[prost(message, optional, tag = "1")]
    pub copy: Option<Copy>,
    #[prost(uint64, tag = "2")]
    pub number: u64,
    #[prost(bytes = "bytes", tag = "3")]
    pub data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetObject {
    #[prost(message, optional, tag = "1")]
    pub copy: Option<Copy>,
    #[prost(uint64, tag = "2")]
    pub number: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeepObjects {
    #[prost(message, optional, tag = "1")]
    pub copy: Option<Copy>,
    #[prost(uint64, tag = "2")]
    pub below: u64,
    #[prost(uint64, repeated, tag = "3")]
    pub numbers: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Listing {
    #[prost(message, repeated, tag = "1")]
    pub objects: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    #[prost(uint64, tag = "1")]
    pub number: u64,
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Object {
    #[prost(bytes = "bytes", tag = "1")]
    pub data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Done {}

#[cfg(test)]
mod tests {
    #[test]
    fn schema_and_code_have_the_same_fields_with_the_same_numbers() {
        let schema = include_str!("../../../schemas/proto/replication.proto");
        let fields = crate::schema::in_code(include_str!("replication.rs"));
        assert_eq!(fields, crate::schema::in_schema(schema));
        assert!(fields.len() > 9);
    }
}

//! The messages of `schemas/proto/catalog.proto`, where their fields are explained.
//!
//! Written by hand, so that building Karst needs no protocol compiler; a test compares both.
#![allow(missing_docs)]

use bytes::Bytes;
use prost::{Enumeration, Message};

#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CommitRequest {
    #[prost(message, repeated, tag = "1")]
    pub add: Vec<Entry>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub remove: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub expect: Vec<Bytes>,
    #[prost(message, repeated, tag = "4")]
    pub ranges: Vec<Range>,
    #[prost(message, repeated, tag = "5")]
    pub take_over: Vec<Entry>,
    #[prost(message, repeated, tag = "6")]
    pub discard: Vec<Entry>,
    #[prost(string, repeated, tag = "7")]
    pub forget: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    pub documents: Vec<Entry>,
    #[prost(message, repeated, tag = "9")]
    pub documents_before: Vec<Entry>,
    #[prost(string, optional, tag = "10")]
    pub store_id: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Range {
    #[prost(bytes = "bytes", tag = "1")]
    pub stream: Bytes,
    #[prost(uint64, optional, tag = "2")]
    pub from: Option<u64>,
    #[prost(uint64, tag = "3")]
    pub upto: u64,
    #[prost(uint64, tag = "4")]
    pub epoch: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CommitResponse {
    #[prost(uint64, tag = "1")]
    pub number: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct FollowRequest {
    #[prost(uint64, optional, tag = "1")]
    pub number: Option<u64>,
    #[prost(bytes = "bytes", tag = "2")]
    pub kinds: Bytes,
    #[prost(string, optional, tag = "3")]
    pub store_id: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FollowResponse {
    #[prost(uint64, tag = "1")]
    pub number: u64,
    #[prost(bool, tag = "2")]
    pub begins: bool,
    #[prost(bool, tag = "3")]
    pub ends: bool,
    #[prost(message, repeated, tag = "4")]
    pub entries: Vec<Entry>,
    #[prost(string, optional, tag = "5")]
    pub store_id: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SummariesRequest {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub ids: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SummariesResponse {
    #[prost(message, repeated, tag = "1")]
    pub summaries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Failure {
    #[prost(enumeration = "FailureKind", tag = "1")]
    pub kind: i32,
    #[prost(string, tag = "2")]
    pub path: String,
    #[prost(string, tag = "3")]
    pub what: String,
    #[prost(string, tag = "4")]
    pub reason: String,
    #[prost(bytes = "bytes", tag = "5")]
    pub bucket: Bytes,
    #[prost(bytes = "bytes", tag = "6")]
    pub stream: Bytes,
    #[prost(uint64, tag = "7")]
    pub first: u64,
    #[prost(uint64, tag = "8")]
    pub last: u64,
    #[prost(uint64, tag = "9")]
    pub known: u64,
    #[prost(bytes = "bytes", tag = "10")]
    pub owner: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum FailureKind {
    Unspecified = 0,
    Fenced = 1,
    Closed = 2,
    Store = 3,
    Slow = 4,
    Conflict = 5,
    Overlap = 6,
    OldEpoch = 7,
    Gone = 8,
    Invalid = 9,
    Corrupt = 10,
    Version = 11,
    NotLeading = 12,
    Changed = 13,
    OtherCatalog = 14,
}

#[cfg(test)]
mod tests {
    #[test]
    fn schema_and_code_have_the_same_fields_with_the_same_numbers() {
        let schema = include_str!("../../../schemas/proto/catalog.proto");
        let fields = crate::schema::in_code(include_str!("catalog.rs"));
        assert_eq!(fields, crate::schema::in_schema(schema));
        assert!(fields.len() > 25);
    }
}

//! The messages of `schemas/proto/hot.proto`, where their fields are explained.
//!
//! Written by hand, so that building Karst needs no protocol compiler; a test compares both.
#![allow(missing_docs)]

use bytes::Bytes;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct OpenRequest {
    #[prost(string, repeated, tag = "1")]
    pub indexes: Vec<String>,
    #[prost(int64, tag = "2")]
    pub earliest: i64,
    #[prost(int64, tag = "3")]
    pub latest: i64,
    #[prost(message, repeated, tag = "4")]
    pub known: Vec<Known>,
    #[prost(uint64, optional, tag = "5")]
    pub most_bytes: Option<u64>,
    #[prost(message, optional, tag = "6")]
    pub of_view: Option<OfView>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OfView {
    #[prost(uint64, tag = "1")]
    pub view: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub bucket: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Known {
    #[prost(bytes = "bytes", tag = "1")]
    pub id: Bytes,
    #[prost(uint64, tag = "2")]
    pub rows: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct OpenResponse {
    #[prost(uint64, tag = "1")]
    pub floor: u64,
    #[prost(message, repeated, tag = "2")]
    pub buckets: Vec<Bucket>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub gone: Vec<Bytes>,
    #[prost(message, optional, tag = "4")]
    pub rows: Option<Rows>,
    // Tag 5 was used for the list of indexers without epochs.
    #[prost(uint64, optional, tag = "6")]
    pub view: Option<u64>,
    #[prost(string, tag = "7")]
    pub id: String,
    #[prost(message, repeated, tag = "8")]
    pub adopted: Vec<Owner>,
    #[prost(message, optional, tag = "9")]
    pub searches: Option<Searches>,
    #[prost(string, repeated, tag = "10")]
    pub emptied: Vec<String>,
    #[prost(string, repeated, tag = "11")]
    pub full_disks: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Searches {
    #[prost(uint64, tag = "1")]
    pub incomplete: u64,
    #[prost(uint64, repeated, tag = "2")]
    pub times: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Bucket {
    #[prost(bytes = "bytes", tag = "1")]
    pub id: Bytes,
    #[prost(string, tag = "2")]
    pub index: String,
    #[prost(int64, tag = "3")]
    pub first_time: i64,
    #[prost(int64, tag = "4")]
    pub last_time: i64,
    #[prost(uint64, tag = "5")]
    pub rows: u64,
    #[prost(uint64, tag = "6")]
    pub raw_bytes: u64,
    #[prost(bytes = "bytes", optional, tag = "7")]
    pub stored: Option<Bytes>,
    #[prost(message, optional, tag = "8")]
    pub owner: Option<Owner>,
    #[prost(string, repeated, tag = "9")]
    pub sourcetypes: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Owner {
    #[prost(bytes = "bytes", tag = "1")]
    pub indexer: Bytes,
    #[prost(uint32, tag = "2")]
    pub set: u32,
    #[prost(uint64, tag = "3")]
    pub epoch: u64,
    #[prost(bool, tag = "4")]
    pub is_local: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Rows {
    #[prost(bytes = "bytes", tag = "1")]
    pub id: Bytes,
    #[prost(uint64, tag = "2")]
    pub first: u64,
    #[prost(bytes = "bytes", tag = "3")]
    pub batch: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadRequest {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(uint64, tag = "2")]
    pub start: u64,
    #[prost(uint64, tag = "3")]
    pub end: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadResponse {
    #[prost(bytes = "bytes", tag = "1")]
    pub data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct RollRequest {
    #[prost(string, tag = "1")]
    pub index: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct RollResponse {
    #[prost(string, tag = "1")]
    pub id: String,
}

#[cfg(test)]
mod tests {
    #[test]
    fn schema_and_code_have_the_same_fields_with_the_same_numbers() {
        let schema = include_str!("../../../schemas/proto/hot.proto");
        let fields = crate::schema::in_code(include_str!("hot.rs"));
        assert_eq!(fields, crate::schema::in_schema(schema));
        assert!(fields.len() > 20);
    }
}

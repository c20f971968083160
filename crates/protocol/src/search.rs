//! The messages of `schemas/proto/search.proto`, where their fields are explained.
//!
//! Written by hand, so that building Karst needs no protocol compiler; a test compares both.
#![allow(missing_docs)]

use bytes::Bytes;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct RunRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub recipe: Bytes,
    #[prost(uint32, tag = "2")]
    pub valve: u32,
    #[prost(bool, tag = "3")]
    pub preview: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct RunAnswer {
    #[prost(bytes = "bytes", tag = "1")]
    pub rows: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub preview: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub progress: Bytes,
    #[prost(string, tag = "4")]
    pub refused: String,
    #[prost(string, tag = "5")]
    pub failed: String,
    #[prost(bool, tag = "6")]
    pub done: bool,
    #[prost(bool, tag = "7")]
    pub alive: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct DescribeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub question: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct DescribeAnswer {
    #[prost(bytes = "bytes", tag = "1")]
    pub answer: Bytes,
    #[prost(string, tag = "2")]
    pub refused: String,
    #[prost(bool, tag = "3")]
    pub alive: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct WarmRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub hints: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct WarmAnswer {
    #[prost(uint32, tag = "1")]
    pub taken: u32,
}

#[cfg(test)]
mod tests {
    #[test]
    fn schema_and_code_have_the_same_fields_with_the_same_numbers() {
        let schema = include_str!("../../../schemas/proto/search.proto");
        let fields = crate::schema::in_code(include_str!("search.rs"));
        assert_eq!(fields, crate::schema::in_schema(schema));
        assert_eq!(fields.len(), 16);
    }
}

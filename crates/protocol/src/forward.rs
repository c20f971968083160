//! The messages of `schemas/proto/forward.proto`, where their fields are explained.
//!
//! Written by hand, so that building Karst needs no protocol compiler; a test compares both.
#![allow(missing_docs)]

use bytes::Bytes;
use prost::{Enumeration, Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct ToIndexer {
    #[prost(oneof = "to_indexer::Kind", tags = "1, 2, 3")]
    pub kind: Option<to_indexer::Kind>,
}

pub mod to_indexer {
    //! Messages of a forwarder.
    use super::{Batch, Hello, Oneof, Ping};

    #[derive(Clone, PartialEq, Oneof)]
    pub enum Kind {
        #[prost(message, tag = "1")]
        Hello(Hello),
        #[prost(message, tag = "2")]
        Batch(Batch),
        #[prost(message, tag = "3")]
        Ping(Ping),
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct ToForwarder {
    #[prost(oneof = "to_forwarder::Kind", tags = "1, 2, 3, 4, 5, 6")]
    pub kind: Option<to_forwarder::Kind>,
}

pub mod to_forwarder {
    //! Messages of an indexer.
    use super::{Goodbye, Oneof, ParsingRules, Pong, Receipt, Refusal, Welcome};

    #[derive(Clone, PartialEq, Oneof)]
    pub enum Kind {
        #[prost(message, tag = "1")]
        Welcome(Welcome),
        #[prost(message, tag = "2")]
        Receipt(Receipt),
        #[prost(message, tag = "3")]
        Refusal(Refusal),
        #[prost(message, tag = "4")]
        Pong(Pong),
        #[prost(message, tag = "5")]
        Rules(ParsingRules),
        #[prost(message, tag = "6")]
        Goodbye(Goodbye),
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct Hello {
    #[prost(uint32, tag = "1")]
    pub version: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub forwarder: Bytes,
    #[prost(string, tag = "3")]
    pub host: String,
    #[prost(bytes = "bytes", tag = "4")]
    pub channel: Bytes,
    #[prost(uint64, tag = "5")]
    pub settled: u64,
    #[prost(string, tag = "6")]
    pub token: String,
    #[prost(string, tag = "7")]
    pub build: String,
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub parsing_rules: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Welcome {
    #[prost(uint32, tag = "1")]
    pub version: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub indexer: Bytes,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(uint64, tag = "4")]
    pub below: u64,
    #[prost(uint64, repeated, tag = "5")]
    pub ranges: Vec<u64>,
    #[prost(uint64, tag = "6")]
    pub max_frame: u64,
    #[prost(message, optional, tag = "7")]
    pub parsing_rules: Option<ParsingRules>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ParsingRules {
    #[prost(bytes = "bytes", tag = "1")]
    pub checksum: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub stanzas: Vec<Stanza>,
    #[prost(uint64, tag = "3")]
    pub size: u64,
    #[prost(uint64, tag = "4")]
    pub limit: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Stanza {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, repeated, tag = "2")]
    pub settings: Vec<Setting>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Setting {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Batch {
    #[prost(uint64, tag = "1")]
    pub sequence: u64,
    #[prost(uint64, tag = "2")]
    pub settled: u64,
    #[prost(enumeration = "Compression", tag = "3")]
    pub compression: i32,
    #[prost(uint64, tag = "4")]
    pub plain_len: u64,
    #[prost(bytes = "bytes", tag = "5")]
    pub content: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Compression {
    None = 0,
    Zstd = 1,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Ping {}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Pong {}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Goodbye {}

#[derive(Clone, PartialEq, Message)]
pub struct Receipt {
    #[prost(uint64, repeated, tag = "1")]
    pub sequences: Vec<u64>,
    #[prost(enumeration = "AckLevel", repeated, tag = "2")]
    pub levels: Vec<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum AckLevel {
    Unknown = 0,
    Local = 1,
    Replicated = 2,
    Remote = 3,
}

#[derive(Clone, PartialEq, Message)]
pub struct Refusal {
    #[prost(uint64, tag = "1")]
    pub sequence: u64,
    #[prost(enumeration = "Reason", tag = "2")]
    pub reason: i32,
    #[prost(string, tag = "3")]
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Reason {
    Busy = 0,
    Invalid = 1,
    NotTaken = 2,
}

#[derive(Clone, PartialEq, Message)]
pub struct Content {
    #[prost(string, tag = "1")]
    pub stream: String,
    #[prost(oneof = "content_body::Body", tags = "2, 3")]
    pub body: Option<content_body::Body>,
}

pub mod content_body {
    //! The two formats of events.
    use super::{Events, Oneof, Text};

    #[derive(Clone, PartialEq, Oneof)]
    pub enum Body {
        #[prost(message, tag = "2")]
        Text(Text),
        #[prost(message, tag = "3")]
        Events(Events),
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct Origin {
    #[prost(string, tag = "1")]
    pub index: String,
    #[prost(string, tag = "2")]
    pub host: String,
    #[prost(string, tag = "3")]
    pub source: String,
    #[prost(string, optional, tag = "4")]
    pub sourcetype: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Text {
    #[prost(message, optional, tag = "1")]
    pub origin: Option<Origin>,
    #[prost(bytes = "bytes", tag = "2")]
    pub bytes: Bytes,
    #[prost(sint64, optional, tag = "3")]
    pub modified: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Events {
    #[prost(message, repeated, tag = "1")]
    pub origins: Vec<Origin>,
    #[prost(uint32, repeated, tag = "2")]
    pub runs: Vec<u32>,
    #[prost(bytes = "bytes", tag = "3")]
    pub text: Bytes,
    #[prost(uint32, repeated, tag = "4")]
    pub lengths: Vec<u32>,
    #[prost(sint64, repeated, tag = "5")]
    pub times: Vec<i64>,
    #[prost(message, repeated, tag = "6")]
    pub fields: Vec<Field>,
    #[prost(bool, tag = "7")]
    pub time_from_text: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Field {
    #[prost(uint32, tag = "1")]
    pub row: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub value: String,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rules() -> ParsingRules {
        let setting = Setting { key: "MAX_EVENTS".to_owned(), value: "9".to_owned() };
        let stanza = Stanza { name: "source::/x".to_owned(), settings: vec![setting] };
        let checksum = Bytes::from_static(b"c");
        ParsingRules { checksum, stanzas: vec![stanza], size: 12, limit: 100 }
    }

    #[test]
    fn parsing_rules_survive_the_wire() {
        let welcome = Welcome { parsing_rules: Some(rules()), ..Welcome::default() };
        let message = ToForwarder { kind: Some(to_forwarder::Kind::Welcome(welcome)) };
        assert_eq!(ToForwarder::decode(&*message.encode_to_vec()).unwrap(), message);
        let hello = Hello { parsing_rules: Some(Bytes::new()), ..Hello::default() };
        assert_eq!(Hello::decode(&*hello.encode_to_vec()).unwrap(), hello);
        assert_ne!(hello, Hello::default());
    }

    #[test]
    fn versions_without_parsing_rules_and_goodbyes_ignore_them() {
        /// The messages of the version before.
        #[derive(Clone, PartialEq, Message)]
        struct OldWelcome {
            #[prost(string, tag = "3")]
            name: String,
        }
        #[derive(Clone, PartialEq, Message)]
        struct OldToForwarder {
            #[prost(message, optional, tag = "4")]
            pong: Option<Pong>,
        }
        let welcome =
            Welcome { name: "i".to_owned(), parsing_rules: Some(rules()), ..Welcome::default() };
        assert_eq!(OldWelcome::decode(&*welcome.encode_to_vec()).unwrap().name, "i");
        for later in [to_forwarder::Kind::Rules(rules()), to_forwarder::Kind::Goodbye(Goodbye {})] {
            let message = ToForwarder { kind: Some(later) };
            assert_eq!(ToForwarder::decode(&*message.encode_to_vec()).unwrap(), message);
            assert_eq!(OldToForwarder::decode(&*message.encode_to_vec()).unwrap().pong, None);
        }
    }

    #[test]
    fn receipts_are_read_by_versions_without_levels_and_theirs_by_this_one() {
        #[derive(Clone, PartialEq, Message)]
        struct OldReceipt {
            #[prost(uint64, repeated, tag = "1")]
            sequences: Vec<u64>,
        }
        let levels = vec![AckLevel::Remote.into(), AckLevel::Local.into()];
        let receipt = Receipt { sequences: vec![7, 9], levels };
        let old = OldReceipt::decode(&*receipt.encode_to_vec()).unwrap();
        assert_eq!(old.sequences, [7, 9]);
        let read = Receipt::decode(&*old.encode_to_vec()).unwrap();
        assert_eq!((read.sequences, read.levels), (vec![7, 9], vec![]));
        assert_eq!(Receipt::decode(&*receipt.encode_to_vec()).unwrap(), receipt);
    }

    #[test]
    fn schema_and_code_have_the_same_fields_with_the_same_numbers() {
        let schema = include_str!("../../../schemas/proto/forward.proto");
        let fields = crate::schema::in_code(include_str!("forward.rs"));
        assert_eq!(fields, crate::schema::in_schema(schema));
        assert!(fields.len() > 25);
    }
}

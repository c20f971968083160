//! What a custom search command is: its stanza, and what its program is told of the search.

use std::time::Duration;

use crate::program::Script;

/// A command of `commands.conf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name in a search.
    pub name: String,
    /// Its program.
    pub script: Script,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Rows of one request.
    pub maxinputs: usize,
    /// How long an answer may take; `None`: as long as `limits.conf [scripts] maxwait` allows.
    pub maxwait: Option<Duration>,
    /// Bytes of an answer; `None`: as many as `limits.conf [scripts] maxchunksize` allows.
    pub maxchunksize: Option<u64>,
}

/// How a command is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// Protocol 2 (`chunked = true`): one process, a request and an answer per chunk.
    Chunked,
    /// Protocol 1: one process per chunk, CSV in and out.
    Legacy(Legacy),
}

/// What `commands.conf` says about a command of protocol 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting")]
pub struct Legacy {
    /// Whether lines `name:value` and an empty line stand before the rows.
    pub enableheader: bool,
    /// Whether the program prints lines `name=value` and an empty line before its rows.
    pub outputheader: bool,
    /// Whether the program is asked first what it is.
    pub supports_getinfo: bool,
    /// Whether arguments keep their quotes.
    pub supports_rawargs: bool,
    /// Whether rows have columns `__mv_<field>`.
    pub supports_multivalues: bool,
    /// What it is, if it is not asked.
    pub behaviour: Behaviour,
}

/// What a command does with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// It makes rows and begins a search.
    pub generating: bool,
    /// It works on each row by itself, so that any part of the rows can be given to it.
    pub streaming: bool,
}

/// What a program is told of the search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchInfo {
    /// The search job.
    pub sid: String,
    /// The app of the search.
    pub app: String,
    /// Its user.
    pub owner: String,
    /// Its text.
    pub search: String,
    /// The beginning of its time range in epoch seconds; 0 for none.
    pub earliest: String,
    /// The end of its time range.
    pub latest: String,
    /// The version of Splunk that Karst answers as.
    pub version: String,
    /// The address of the management port; empty if there is none.
    pub uri: String,
    /// A session of the user for the management port; empty without `passauth`.
    pub session_key: String,
    /// The arguments as written.
    pub raw_arguments: Vec<String>,
    /// The arguments without their quotes.
    pub arguments: Vec<String>,
}

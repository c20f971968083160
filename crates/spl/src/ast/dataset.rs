//! Searches that a command runs beside its own: written in brackets or named.

use std::fmt;

use super::{Span, Subsearch};
use crate::display::{Arguments, quoted};
use crate::parser::is_name_character;

/// A search whose rows a command takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Dataset {
    /// `[search ...]`.
    Subsearch(Subsearch),
    /// `savedsearch:name`.
    Named(NamedDataset),
}

impl Dataset {
    /// Its place.
    pub fn span(&self) -> Span {
        match self {
            Self::Subsearch(subsearch) => subsearch.span,
            Self::Named(named) => named.span,
        }
    }
}

/// Rows by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDataset {
    /// What the name is of.
    pub kind: NamedDatasetKind,
    /// The name.
    pub name: String,
    /// Its place.
    pub span: Span,
}

/// What has rows and a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "kinds name themselves")]
pub enum NamedDatasetKind {
    Datamodel,
    Inputlookup,
    Savedsearch,
}

impl NamedDatasetKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Datamodel, Self::Inputlookup, Self::Savedsearch];

    /// The word before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Datamodel => "datamodel",
            Self::Inputlookup => "inputlookup",
            Self::Savedsearch => "savedsearch",
        }
    }
}

/// Bounds of a search that a command runs; what is absent is a setting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubsearchOptions {
    /// `maxtime=` in seconds.
    pub maxtime: Option<u64>,
    /// `maxout=`: rows at most.
    pub maxout: Option<u64>,
    /// `timeout=` in seconds.
    pub timeout: Option<u64>,
    /// `extendtimerange=`.
    pub extendtimerange: bool,
}

impl fmt::Display for SubsearchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("maxtime", self.maxtime)
            .maybe("maxout", self.maxout)
            .maybe("timeout", self.timeout)
            .flag("extendtimerange", self.extendtimerange, false)
            .write(f)
    }
}

impl fmt::Display for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subsearch(subsearch) => subsearch.fmt(f),
            Self::Named(named) => {
                let bare = named.name.chars().all(|c| is_name_character(c) && c != '`');
                let name = if bare { named.name.clone() } else { quoted(&named.name) };
                write!(f, "{}:{name}", named.kind.name())
            }
        }
    }
}

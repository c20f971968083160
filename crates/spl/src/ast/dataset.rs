//! Searches that a command runs in addition to its own: in brackets or by name.

use std::fmt;

use super::{Span, Subsearch};
use crate::display::{Arguments, quoted};
use crate::parser::is_name_character;

/// A search whose rows a command reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Dataset {
    /// `[search ...]`.
    Subsearch(Subsearch),
    /// `savedsearch:name`.
    Named(NamedDataset),
}

impl Dataset {
    /// Returns its position.
    pub fn span(&self) -> Span {
        match self {
            Self::Subsearch(subsearch) => subsearch.span,
            Self::Named(named) => named.span,
        }
    }
}

/// A dataset with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDataset {
    /// The kind of the dataset.
    pub kind: NamedDatasetKind,
    /// The name.
    pub name: String,
    /// Its position.
    pub span: Span,
}

/// The kinds of datasets that have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "kinds name themselves")]
pub enum NamedDatasetKind {
    Datamodel,
    Inputlookup,
    Savedsearch,
}

impl NamedDatasetKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Datamodel, Self::Inputlookup, Self::Savedsearch];

    /// Returns the word before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Datamodel => "datamodel",
            Self::Inputlookup => "inputlookup",
            Self::Savedsearch => "savedsearch",
        }
    }
}

/// Limits of a search that a command runs; a setting applies if a limit is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubsearchOptions {
    /// `maxtime=` in seconds.
    pub maxtime: Option<u64>,
    /// `maxout=`: maximum number of rows.
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

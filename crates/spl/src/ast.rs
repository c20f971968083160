//! The syntax tree of a search: pipelines, commands, search terms and expressions, with spans.
//!
//! Guarantees: every node that can be wrong in a later stage carries the [`Span`] of its text;
//! option values are typed and defaults that depend on settings stay `None`. Values are as the
//! user wrote them once quotes and escapes are resolved; macros are already expanded or refused.
//! Leaves to others: what fields exist, what types values have, and what a command computes.

mod chart;
mod dataset;
mod expr;
mod search;
mod stats;

pub use crate::commands::Command;
pub use crate::commands::arguments::*;
pub use chart::{
    BinOptions, BinSpan, SeriesLimit, SeriesOptions, SplitBy, SplitWhere, SplitWhereCondition,
    TimeSpan, TimeUnit,
};
pub use dataset::{Dataset, NamedDataset, NamedDatasetKind, SubsearchOptions};
pub use expr::{BinaryOperator, Call, Expr, ExprKind, FieldRef, UnaryOperator};
pub use search::{
    ComparisonOperator, Directive, DirectiveKind, PatternPart, SearchComparison, SearchComputed,
    SearchExpr, SearchIn, SearchPattern, SearchValue, Subsearch, Term, TimeModifier,
    TimeModifierKind,
};
pub use stats::{StatsArgument, StatsBy, StatsCall, StatsFunction, StatsKind, aggregation_name};

use serde::{Deserialize, Serialize};
use std::fmt;

/// A range of byte offsets into the text that was parsed; `end` is exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// `5..9`, short because trees hold many.
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// Its place in the text.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// `node`, written at `span`.
    pub fn new(node: T, span: Span) -> Self {
        Self { node, span }
    }
}

/// The exact name of one field, without quotes. Case matters.
pub type Field = Spanned<String>;

/// A field name in which `*` stands for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPattern {
    /// The name without quotes, `*` included.
    pub text: String,
    /// Its place in the text.
    pub span: Span,
}

impl FieldPattern {
    /// A pattern, or an exact name if `text` holds no `*`.
    pub fn new(text: impl Into<String>, span: Span) -> Self {
        let text = text.into();
        Self { text, span }
    }

    /// Whether it can match more than one name.
    pub fn has_wildcard(&self) -> bool {
        self.text.contains('*')
    }

    /// Whether `name` is one of the names meant. Case matters.
    pub fn matches(&self, name: &str) -> bool {
        self.captures(name).is_some()
    }

    /// What each `*` stands for if `name` matches, shortest first; used by `rename a* AS b*`.
    pub fn captures<'n>(&self, name: &'n str) -> Option<Vec<&'n str>> {
        crate::wildcard::captures(&self.text, name)
    }
}

/// A whole search or subsearch: commands joined by `|`, the first one included.
///
/// A leading `search` that the user left out is present as [`Command::Search`].
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// The commands in order; never empty.
    pub commands: Vec<Spanned<Command>>,
}

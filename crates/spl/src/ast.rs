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
pub use crate::span::{Span, Spanned};
pub use crate::stats_functions::StatsKind;
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
pub use stats::{StatsArgument, StatsBy, StatsCall, StatsFunction, aggregation_name};

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

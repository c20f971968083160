//! The syntax tree of a search: pipelines, commands, search terms and expressions, with spans.
//!
//! Guarantees: every node in which a later stage can find an error carries the [`Span`] of its text; option
//! values are typed, and defaults that depend on settings stay `None`. Quotes and escapes of values are
//! resolved; macros are already expanded or rejected. Leaves to others: which fields exist, the types of
//! values, and the results of commands.

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

/// A field name in which `*` matches any run of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPattern {
    /// The name without quotes, including `*`.
    pub text: String,
    /// Its position in the text.
    pub span: Span,
}

impl FieldPattern {
    /// Creates a pattern; without `*` in `text`, it matches exactly one name.
    pub fn new(text: impl Into<String>, span: Span) -> Self {
        let text = text.into();
        Self { text, span }
    }

    /// Returns whether the pattern can match more than one name.
    pub fn has_wildcard(&self) -> bool {
        self.text.contains('*')
    }

    /// Returns whether the pattern matches `name`, case-sensitively.
    pub fn matches(&self, name: &str) -> bool {
        self.captures(name).is_some()
    }

    /// Returns the text that each `*` matches, as short as possible from the left; `None` if `name` does not
    /// match. Used by `rename a* AS b*`.
    pub fn captures<'n>(&self, name: &'n str) -> Option<Vec<&'n str>> {
        crate::wildcard::captures(&self.text, name)
    }
}

/// A search or subsearch: commands joined by `|`, including the first one.
///
/// If the user left out a leading `search`, it is present as [`Command::Search`].
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// The commands in order; never empty.
    pub commands: Vec<Spanned<Command>>,
}

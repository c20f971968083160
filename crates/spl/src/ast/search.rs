//! The tree of the `search` command: terms, comparisons and time modifiers.
//!
//! Guarantees: `And` and `Or` have at least two members; escapes are resolved, so that a literal asterisk
//! differs from a wildcard. Leaves to others: splitting terms into segments.

use super::{Field, Pipeline, Span};

/// The time bound that a modifier sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeModifierKind {
    /// `earliest=`: `_time` at or after the value.
    Earliest,
    /// `latest=`: `_time` before the value.
    Latest,
    /// `_index_earliest=`: `_indextime` at or after the value.
    IndexEarliest,
    /// `_index_latest=`: `_indextime` before the value.
    IndexLatest,
}

impl TimeModifierKind {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::Earliest, Self::Latest, Self::IndexEarliest, Self::IndexLatest];

    /// Returns the name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Earliest => "earliest",
            Self::Latest => "latest",
            Self::IndexEarliest => "_index_earliest",
            Self::IndexLatest => "_index_latest",
        }
    }
}

/// A time modifier such as `earliest=...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeModifier {
    /// The bound that it sets.
    pub kind: TimeModifierKind,
    /// The time as text, without quotes: `-1d@d`, `now`, `10/27/2026:00:00:00`, `1793059200`.
    pub value: String,
    /// `timeformat=` of the search: a format in which the value may be written.
    pub format: Option<String>,
    /// The position of the whole modifier.
    pub span: Span,
}

/// A condition on events.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchExpr {
    /// All of the conditions.
    And(Vec<SearchExpr>),
    /// At least one of the conditions.
    Or(Vec<SearchExpr>),
    /// The negation of a condition.
    Not(Box<SearchExpr>, Span),
    /// A word or phrase in `_raw`.
    Term(Term),
    /// `field=value` and the like.
    Comparison(SearchComparison),
    /// The case-sensitive comparison of `field=CASE(value)`. The parser puts the same comparison without
    /// case-sensitivity before it, which is used for pruning.
    Cased(SearchComparison),
    /// `field IN (a, b)`.
    In(SearchIn),
    /// `TERM(...)` or `CASE(...)`.
    Directive(Directive),
    /// `[search ...]`.
    Subsearch(Subsearch),
    /// `field=[search ...]`.
    Computed(SearchComputed),
    /// A time modifier in a branch of OR, which applies only to that branch.
    Time(TimeModifier),
}

impl SearchExpr {
    /// Returns the conjunction of two conditions; `None` matches all events.
    pub fn all(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        let members = |expr: Option<Self>| match expr {
            None => Vec::new(),
            Some(Self::And(members)) => members,
            Some(other) => vec![other],
        };
        let mut members = [members(first), members(second)].concat();
        match members.len() {
            0 | 1 => members.pop(),
            _ => Some(Self::And(members)),
        }
    }

    /// Returns the position of the first subsearch in the expression.
    pub fn subsearch(&self) -> Option<Span> {
        match self {
            Self::Subsearch(found) => Some(found.span),
            Self::Computed(computed) => Some(computed.subsearch.span),
            other => other.children().iter().find_map(Self::subsearch),
        }
    }

    /// Returns the direct members. Subsearches are not included.
    pub fn children(&self) -> &[Self] {
        match self {
            Self::And(members) | Self::Or(members) => members,
            Self::Not(inner, _) => std::slice::from_ref(inner),
            _ => &[],
        }
    }

    /// Visits this expression and all its members, parents first. Subsearches are not visited.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        self.children().iter().for_each(|child| child.walk(visit));
    }

    /// Like [`Self::walk`], without the expressions inside of `NOT`.
    pub fn walk_positive<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        if !matches!(self, Self::Not(..)) {
            self.children().iter().for_each(|child| child.walk_positive(visit));
        }
    }

    /// Visits this expression and all its members, with mutable access.
    pub fn walk_mut(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        match self {
            Self::And(members) | Self::Or(members) => {
                members.iter_mut().for_each(|child| child.walk_mut(visit));
            }
            Self::Not(inner, _) => inner.walk_mut(visit),
            _ => {}
        }
    }

    /// Returns the field on the left of a comparison, or of `IN`.
    pub fn field(&self) -> Option<&Field> {
        match self {
            Self::Comparison(comparison) | Self::Cased(comparison) => Some(&comparison.field),
            Self::In(list) => Some(&list.field),
            Self::Computed(computed) => Some(&computed.field),
            _ => None,
        }
    }

    /// Returns the position of the whole expression.
    pub fn span(&self) -> Span {
        match self {
            Self::And(members) | Self::Or(members) => {
                members.iter().map(Self::span).reduce(Span::to).unwrap_or_default()
            }
            Self::Not(_, span) => *span,
            Self::Term(term) => term.span,
            Self::Comparison(comparison) | Self::Cased(comparison) => comparison.span,
            Self::In(list) => list.span,
            Self::Directive(directive) => directive.span,
            Self::Subsearch(subsearch) => subsearch.span,
            Self::Computed(computed) => computed.field.span.to(computed.subsearch.span),
            Self::Time(modifier) => modifier.span,
        }
    }

    /// Returns the `timeformat=` of time modifiers in its branches.
    pub fn time_format(&self) -> Option<&str> {
        match self {
            Self::Time(modifier) => modifier.format.as_deref(),
            other => other.children().iter().find_map(Self::time_format),
        }
    }

    /// Returns whether branches of the expression have their own time modifiers.
    pub fn has_times(&self) -> bool {
        matches!(self, Self::Time(_)) || self.children().iter().any(Self::has_times)
    }
}

/// A word or quoted phrase, matched case-insensitively against `_raw`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The text to search for. Wildcards are active inside of quotes, too.
    pub pattern: SearchPattern,
    /// Whether it was written in double quotes.
    pub quoted: bool,
    /// Its position in the text.
    pub span: Span,
}

/// A text with wildcards and resolved escapes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SearchPattern {
    /// Literals and wildcards in order; two of the same kind are never adjacent.
    pub parts: Vec<PatternPart>,
}

/// A part of a [`SearchPattern`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PatternPart {
    /// Matches exactly this text.
    Literal(String),
    /// An unescaped `*`: matches any run of characters.
    Any,
}

impl SearchPattern {
    /// Creates a pattern that matches exactly `text`; `*` is an ordinary character.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { parts: vec![PatternPart::Literal(text.into())] }
    }

    /// Returns whether the pattern has a wildcard.
    pub fn has_wildcard(&self) -> bool {
        self.parts.contains(&PatternPart::Any)
    }

    /// Returns whether the pattern is a single `*`.
    pub fn is_any(&self) -> bool {
        self.parts == [PatternPart::Any]
    }

    /// Returns the text if there is no wildcard.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [PatternPart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the text with `*` for wildcards; a literal asterisk looks the same.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                PatternPart::Literal(text) => text.as_str(),
                PatternPart::Any => "*",
            })
            .collect()
    }

    /// Returns whether the pattern matches a text, case-sensitively.
    pub fn matches(&self, text: &str) -> bool {
        let (mut rest, mut anywhere) = (text, false);
        let last = self.parts.len().saturating_sub(1);
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                PatternPart::Any => anywhere = true,
                PatternPart::Literal(literal) if anywhere && at == last => {
                    return rest.ends_with(literal.as_str());
                }
                PatternPart::Literal(literal) => {
                    let found = rest.find(literal.as_str()).filter(|start| anywhere || *start == 0);
                    let Some(found) = found else { return false };
                    rest = &rest[found + literal.len()..];
                    anywhere = false;
                }
            }
        }
        anywhere || rest.is_empty()
    }

    /// Iterates over the literal parts.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            PatternPart::Literal(text) => Some(text.as_str()),
            PatternPart::Any => None,
        })
    }
}

/// An operator between a field and a value, in `search` and in expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    /// `=` or `==`.
    Equal,
    /// `!=`; in `search` only events with the field match it.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl ComparisonOperator {
    /// Returns the operator as written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// `field=value` in `search`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchComparison {
    /// The field on the left.
    pub field: Field,
    /// The comparison.
    pub operator: ComparisonOperator,
    /// The value on the right.
    pub value: SearchValue,
    /// The position of the whole comparison.
    pub span: Span,
}

/// The right side of a search comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchValue {
    /// The value, with wildcards (also inside of quotes).
    pub pattern: SearchPattern,
    /// Whether it was written in double quotes.
    pub quoted: bool,
    /// Its position in the text.
    pub span: Span,
}

/// `field IN (a, b, "c d", e*)` or `field NOT IN (...)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchIn {
    /// The field on the left.
    pub field: Field,
    /// The values, at least one.
    pub values: Vec<SearchValue>,
    /// Whether `NOT IN` was written; events without the field match it, as with `NOT field IN`.
    pub negated: bool,
    /// The position of the whole expression.
    pub span: Span,
}

/// The kinds of directives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectiveKind {
    /// `CASE(x)`: matches the term case-sensitively.
    Case,
    /// `TERM(x)`: matches the term as one token between major breakers.
    Term,
}

/// `TERM(127.0.0.1)` or `CASE(Error)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// The kind of the directive.
    pub kind: DirectiveKind,
    /// The term.
    pub pattern: SearchPattern,
    /// The position of the whole directive.
    pub span: Span,
}

/// A comparison of a field, or a time modifier, whose value is the result of a subsearch.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchComputed {
    /// The field or modifier on the left.
    pub field: Field,
    /// The comparison.
    pub operator: ComparisonOperator,
    /// The subsearch that returns the value.
    pub subsearch: Subsearch,
}

/// `[search ...]`, parsed; its meaning depends on its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Subsearch {
    /// The commands inside.
    pub pipeline: Box<Pipeline>,
    /// The position, including the brackets.
    pub span: Span,
}

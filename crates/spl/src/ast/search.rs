//! The tree of the `search` command: terms, comparisons and time modifiers.
//!
//! Guarantees: `And` and `Or` have at least two members; escapes are resolved, so a literal
//! asterisk and a wildcard are told apart. Leaves to others: how a term is split into segments.

use super::{Field, Pipeline, Span};

/// Which time bound a modifier sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeModifierKind {
    /// `earliest=`: `_time` at or after.
    Earliest,
    /// `latest=`: `_time` before.
    Latest,
    /// `_index_earliest=`: `_indextime` at or after.
    IndexEarliest,
    /// `_index_latest=`: `_indextime` before.
    IndexLatest,
}

impl TimeModifierKind {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Earliest, Self::Latest, Self::IndexEarliest, Self::IndexLatest];

    /// The name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Earliest => "earliest",
            Self::Latest => "latest",
            Self::IndexEarliest => "_index_earliest",
            Self::IndexLatest => "_index_latest",
        }
    }
}

/// One `earliest=...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeModifier {
    /// Which bound.
    pub kind: TimeModifierKind,
    /// The time as text, without quotes: `-1d@d`, `now`, `10/27/2026:00:00:00`, `1793059200`.
    pub value: String,
    /// `timeformat=` of the search, in which the value may be written.
    pub format: Option<String>,
    /// The place of the whole modifier.
    pub span: Span,
}

/// What an event must satisfy.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchExpr {
    /// All of them.
    And(Vec<SearchExpr>),
    /// Any of them.
    Or(Vec<SearchExpr>),
    /// Not this.
    Not(Box<SearchExpr>, Span),
    /// A word or phrase of `_raw`.
    Term(Term),
    /// `field=value` and the like.
    Comparison(SearchComparison),
    /// The case of `field=CASE(value)`: the value is compared case-sensitively. The parser puts the same
    /// comparison without regard to case in front of it, by which events are pruned.
    Cased(SearchComparison),
    /// `field IN (a, b)`.
    In(SearchIn),
    /// `TERM(...)` or `CASE(...)`.
    Directive(Directive),
    /// `[search ...]`.
    Subsearch(Subsearch),
    /// `field=[search ...]`.
    Computed(SearchComputed),
    /// A time modifier of a branch of OR, which holds for that branch only.
    Time(TimeModifier),
}

impl SearchExpr {
    /// What satisfies both; nothing is satisfied by all.
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

    /// The place of the first subsearch in it.
    pub fn subsearch(&self) -> Option<Span> {
        match self {
            Self::Subsearch(found) => Some(found.span),
            Self::Computed(computed) => Some(computed.subsearch.span),
            other => other.children().iter().find_map(Self::subsearch),
        }
    }

    /// The members that it is made of. Subsearches are not entered.
    pub fn children(&self) -> &[Self] {
        match self {
            Self::And(members) | Self::Or(members) => members,
            Self::Not(inner, _) => std::slice::from_ref(inner),
            _ => &[],
        }
    }

    /// Visits this expression and all in it, each before those in it. Subsearches are not entered.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        self.children().iter().for_each(|child| child.walk(visit));
    }

    /// The same without what is in `NOT`.
    pub fn walk_positive<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        if !matches!(self, Self::Not(..)) {
            self.children().iter().for_each(|child| child.walk_positive(visit));
        }
    }

    /// Visits this expression and all in it, to change them.
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

    /// The field on the left of a comparison, or of `IN`.
    pub fn field(&self) -> Option<&Field> {
        match self {
            Self::Comparison(comparison) | Self::Cased(comparison) => Some(&comparison.field),
            Self::In(list) => Some(&list.field),
            Self::Computed(computed) => Some(&computed.field),
            _ => None,
        }
    }

    /// The place of the whole expression.
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

    /// `timeformat=` of the time ranges of its branches.
    pub fn time_format(&self) -> Option<&str> {
        match self {
            Self::Time(modifier) => modifier.format.as_deref(),
            other => other.children().iter().find_map(Self::time_format),
        }
    }

    /// Whether branches of it have time ranges of their own.
    pub fn has_times(&self) -> bool {
        matches!(self, Self::Time(_)) || self.children().iter().any(Self::has_times)
    }
}

/// A word or quoted phrase, matched against `_raw` without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// What is looked for. Wildcards count inside quotes too.
    pub pattern: SearchPattern,
    /// Whether it was written in double quotes.
    pub quoted: bool,
    /// Its place in the text.
    pub span: Span,
}

/// Text with wildcards, escapes resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SearchPattern {
    /// Literals and wildcards in order; two of a kind never follow each other.
    pub parts: Vec<PatternPart>,
}

/// A piece of a [`SearchPattern`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PatternPart {
    /// Exactly this text.
    Literal(String),
    /// Any run of characters: an unescaped `*`.
    Any,
}

impl SearchPattern {
    /// Exactly `text`, in which `*` is an ordinary character.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { parts: vec![PatternPart::Literal(text.into())] }
    }

    /// Whether it holds a wildcard.
    pub fn has_wildcard(&self) -> bool {
        self.parts.contains(&PatternPart::Any)
    }

    /// Whether it is a lone `*`.
    pub fn is_any(&self) -> bool {
        self.parts == [PatternPart::Any]
    }

    /// The text if there is no wildcard.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [PatternPart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with `*` for wildcards; a literal asterisk is not told apart.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                PatternPart::Literal(text) => text.as_str(),
                PatternPart::Any => "*",
            })
            .collect()
    }

    /// Whether a text is of this form. Case matters.
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

    /// The literal pieces.
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
    /// `!=`; in `search` only events that have the field satisfy it.
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
    /// The operator as written.
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
    /// The place of the whole comparison.
    pub span: Span,
}

/// The right side of a search comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchValue {
    /// The value, with wildcards (inside quotes too).
    pub pattern: SearchPattern,
    /// Whether it was written in double quotes.
    pub quoted: bool,
    /// Its place in the text.
    pub span: Span,
}

/// `field IN (a, b, "c d", e*)` or `field NOT IN (...)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchIn {
    /// The field on the left.
    pub field: Field,
    /// The values, at least one.
    pub values: Vec<SearchValue>,
    /// Whether `NOT IN` was written; events without the field satisfy it, as with `NOT field IN`.
    pub negated: bool,
    /// The place of the whole expression.
    pub span: Span,
}

/// What a directive asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectiveKind {
    /// `CASE(x)`: the term with its case.
    Case,
    /// `TERM(x)`: the term as one token between major breakers.
    Term,
}

/// `TERM(127.0.0.1)` or `CASE(Error)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// Which one.
    pub kind: DirectiveKind,
    /// The term.
    pub pattern: SearchPattern,
    /// The place of the whole directive.
    pub span: Span,
}

/// A comparison of a field, or a time modifier, whose value is the result of a subsearch.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchComputed {
    /// The field or modifier on the left.
    pub field: Field,
    /// The comparison.
    pub operator: ComparisonOperator,
    /// What gives the value.
    pub subsearch: Subsearch,
}

/// `[search ...]`, parsed; what it means depends on where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Subsearch {
    /// The commands inside.
    pub pipeline: Box<Pipeline>,
    /// The place, brackets included.
    pub span: Span,
}

//! The tree of `eval` and `where` expressions.
//!
//! Guarantees: functions exist and have a valid number of arguments; precedence is resolved, so that brackets
//! have no node. Leaves to others: types, and the handling of missing fields.

use super::{ComparisonOperator, Span, Spanned, Subsearch};

/// An expression and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// Its form.
    pub kind: ExprKind,
    /// Its position, without surrounding brackets.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A number with its exact text: `1`, `0.50`, `1e3`.
    Number(String),
    /// A double-quoted string with resolved escapes.
    String(String),
    /// The value of a field.
    Field(FieldRef),
    /// `-x`, `NOT x`.
    Unary(UnaryOperator, Box<Expr>),
    /// `a + b`.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `a IN (b, c)` and the function form `in(a, b, c)`.
    In {
        /// The operand before `IN`.
        value: Box<Expr>,
        /// The values, at least one.
        list: Vec<Expr>,
        /// Whether `NOT IN` was written.
        negated: bool,
    },
    /// `lower(host)`.
    Call(Call),
    /// `[search ... | return $x]`.
    Subsearch(Subsearch),
}

impl Expr {
    /// Returns the direct subexpressions, in the order of the text.
    #[must_use]
    pub fn children(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Number(_)
            | ExprKind::String(_)
            | ExprKind::Field(_)
            | ExprKind::Subsearch(_) => Vec::new(),
            ExprKind::Unary(_, inner) => vec![inner],
            ExprKind::Binary(_, left, right) => vec![left, right],
            ExprKind::In { value, list, .. } => [value.as_ref()].into_iter().chain(list).collect(),
            ExprKind::Call(call) => call.arguments.iter().collect(),
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Self> {
        match &mut self.kind {
            ExprKind::Number(_)
            | ExprKind::String(_)
            | ExprKind::Field(_)
            | ExprKind::Subsearch(_) => Vec::new(),
            ExprKind::Unary(_, inner) => vec![inner],
            ExprKind::Binary(_, left, right) => vec![left, right],
            ExprKind::In { value, list, .. } => [value.as_mut()].into_iter().chain(list).collect(),
            ExprKind::Call(call) => call.arguments.iter_mut().collect(),
        }
    }

    /// Visits this expression and all subexpressions, parents first. Subsearches are not visited.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        self.children().into_iter().for_each(|child| child.walk(visit));
    }

    /// Like [`Self::walk`], with mutable access.
    pub fn walk_mut(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        self.children_mut().into_iter().for_each(|child| child.walk_mut(visit));
    }
}

/// A field by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRef {
    /// The name without quotes.
    pub name: String,
    /// Whether it was written in single quotes.
    pub quoted: bool,
}

/// A function call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function's registered name, lower-case; aliases are resolved.
    pub function: Spanned<String>,
    /// The arguments in order.
    pub arguments: Vec<Expr>,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `-`.
    Negate,
    /// `+`, kept so that writing the tree gives the same text.
    Plus,
    /// `NOT`.
    Not,
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `OR`.
    Or,
    /// `XOR`.
    Xor,
    /// `AND`.
    And,
    /// `=`, `!=`, `<` and so on.
    Compare(ComparisonOperator),
    /// `LIKE`, with `%` and `_` in the right operand.
    Like,
    /// `+`: sum, or concatenation of two strings.
    Add,
    /// `-`.
    Subtract,
    /// `.`: concatenation.
    Concat,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Remainder,
}

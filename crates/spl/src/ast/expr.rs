//! The tree of `eval` and `where` expressions.
//!
//! Guarantees: functions exist and have a permitted number of arguments; precedence is resolved,
//! so brackets leave no node. Leaves to others: types, and what a missing field does.

use super::{ComparisonOperator, Span, Spanned, Subsearch};

/// An expression and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its place, surrounding brackets excluded.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A number with its exact text: `1`, `0.50`, `1e3`.
    Number(String),
    /// A double-quoted string, escapes resolved.
    String(String),
    /// The value of a field.
    Field(FieldRef),
    /// `-x`, `NOT x`.
    Unary(UnaryOperator, Box<Expr>),
    /// `a + b`.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `a IN (b, c)` and the function form `in(a, b, c)`.
    In {
        /// What is looked for.
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
    /// `+`, kept for the round trip.
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

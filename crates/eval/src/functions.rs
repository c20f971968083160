//! The functions of `eval`: one file per family, each function once.
//!
//! Names, aliases, arity and help are in the registry of the parser ([`spl::FUNCTIONS`]); this module
//! implements the functions. A test checks that both have the same functions.
//!
//! Guarantees: arguments that are constants are compiled once per call of the search or rule; a function
//! reads the arguments of one event and nothing else.

mod bits;
mod commands;
mod forms;
mod hash;
pub mod json;
mod json_build;
mod json_edit;
mod math;
mod mv;
mod network;
mod number_format;
mod pattern;
mod printf;
mod random;
mod round;
mod string;
mod time;
mod tonumber;
mod tostring;
mod type_checks;

use crate::kernel::Kernel;
use crate::value::{Value, ValueType};

pub use hash::{DIGESTS, TextDigest};
pub use json_build::json_of;
pub use network::{Network, Networks};

/// A function and its implementation.
#[derive(Debug)]
pub struct Function {
    /// Its name in [`spl::FUNCTIONS`].
    pub name: &'static str,
    /// The implementation.
    pub body: Body,
}

/// The implementation of a function.
pub enum Body {
    /// Computes the result row by row from the values of the arguments.
    Values {
        /// How numbers with a known precision are passed.
        numbers: Numbers,
        /// Checks and compiles the constant arguments.
        prepare: fn(&Call<'_>) -> Result<Prepared, Refusal>,
    },
    /// Gives the same value in every call.
    Constant(Value<'static>),
    /// Is implemented by each evaluator: the arguments are not simply evaluated, or their types decide.
    Form(Form),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Values { .. } => "Values",
            Self::Constant(_) => "Constant",
            Self::Form(_) => "Form",
        })
    }
}

/// Functions that are part of the evaluator: each evaluator implements or rejects each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The value after the first true condition.
    Case,
    /// The first value that is not null.
    Coalesce,
    /// The number with all its digits (no precision attached).
    Exact,
    /// One of two values.
    If,
    /// Whether the value is not null.
    IsNotNull,
    /// Whether the value is null.
    IsNull,
    /// Looks up fields in a lookup.
    Lookup,
    /// The values for which a condition holds.
    MvFilter,
    /// The result of an expression for each value.
    MvMap,
    /// The time of the search, the same for all rows.
    Now,
    /// Null if two values are equal.
    NullIf,
    /// Whether the event matches a search.
    SearchMatch,
    /// The number rounded to its significant digits.
    Sigfig,
    /// The fields of the event.
    ToJson,
    /// The message after the first false condition.
    Validate,
}

/// How a function receives numbers that have a precision ([`crate::value::Operation`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// With all digits.
    Plain,
    /// As a field holds them: rounded to their precision, and as text if trailing zeros are significant.
    Shown,
    /// As `Shown` if it is the only argument, else as `Plain`.
    ShownAlone,
}

impl Numbers {
    /// Returns whether numbers are passed as [`Self::Shown`] in a call with this number of arguments.
    #[must_use]
    pub fn are_shown(self, arguments: usize) -> bool {
        self == Self::Shown || (self == Self::ShownAlone && arguments == 1)
    }
}

/// The properties of a call that are known before any event is read.
#[derive(Debug)]
pub struct Call<'c> {
    /// The name of the function.
    pub name: &'static str,
    /// The arguments.
    pub arguments: Vec<Argument<'c>>,
}

/// The properties of an argument that are known before any event is read.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'c> {
    /// The type of its values.
    pub kind: ValueType,
    /// Its value, if the argument is a literal text or number.
    pub constant: Option<Value<'c>>,
}

impl<'c> Call<'c> {
    fn len(&self) -> usize {
        self.arguments.len()
    }

    /// Returns the literal text of an argument.
    fn text(&self, at: usize) -> Option<&'c str> {
        match self.arguments.get(at)?.constant? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the literal number of an argument.
    fn number(&self, at: usize) -> Option<f64> {
        match self.arguments.get(at)?.constant? {
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    fn kind(&self, at: usize) -> Option<ValueType> {
        self.arguments.get(at).map(|argument| argument.kind)
    }

    /// Returns, for each argument, whether it is a literal text.
    fn literals(&self) -> Vec<bool> {
        (0..self.len()).map(|at| self.text(at).is_some()).collect()
    }
}

/// Why a call cannot be prepared, and which argument is the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The position of the argument.
    pub argument: usize,
    /// What is wrong with it.
    pub message: String,
}

fn refuse<T>(argument: usize, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { argument, message: message.into() })
}

/// A call with compiled constant arguments.
#[derive(Debug)]
pub struct Prepared {
    /// The function that computes the result.
    pub kernel: Kernel,
    /// What the result depends on besides the values of the arguments.
    pub parameters: String,
    /// Whether the result may differ between calls with equal arguments.
    pub is_volatile: bool,
    /// The number of decimals of the result.
    pub decimals: Decimals,
}

/// The number of decimals of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimals {
    /// As many as the number needs.
    AsNeeded,
    /// Always this number.
    Fixed(i64),
    /// As many as the value of the argument at this position.
    Argument(usize),
}

type Preparation = Result<Prepared, Refusal>;

impl From<Kernel> for Prepared {
    fn from(kernel: Kernel) -> Self {
        Self { kernel, parameters: String::new(), is_volatile: false, decimals: Decimals::AsNeeded }
    }
}

impl Prepared {
    fn with(mut self, parameters: impl Into<String>) -> Self {
        self.parameters = parameters.into();
        self
    }

    fn volatile(mut self) -> Self {
        self.is_volatile = true;
        self
    }

    fn decimals(mut self, decimals: Decimals) -> Self {
        self.decimals = decimals;
        self
    }
}

/// Creates a function of values that receives numbers with all their digits.
const fn plain(name: &'static str, prepare: fn(&Call<'_>) -> Preparation) -> Function {
    Function { name, body: Body::Values { numbers: Numbers::Plain, prepare } }
}

/// Creates a function of values that receives numbers as a field holds them.
const fn shown(name: &'static str, prepare: fn(&Call<'_>) -> Preparation) -> Function {
    Function { name, body: Body::Values { numbers: Numbers::Shown, prepare } }
}

const fn constant(name: &'static str, value: Value<'static>) -> Function {
    Function { name, body: Body::Constant(value) }
}

const fn form(name: &'static str, form: Form) -> Function {
    Function { name, body: Body::Form(form) }
}

fn text<F>(kernel: F) -> Prepared
where
    F: for<'a> Fn(crate::Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
{
    Kernel::text(kernel).into()
}

fn text_of_each<F>(kernel: F) -> Prepared
where
    F: for<'a> Fn(crate::Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
{
    Kernel::text_of_each(kernel).into()
}

fn multi<F>(kernel: F) -> Prepared
where
    F: for<'a> Fn(crate::Row<'a>, &mut crate::Several<'_>) -> Option<()> + Send + Sync + 'static,
{
    Kernel::multi(kernel).into()
}

fn number<F>(kernel: F) -> Prepared
where
    F: for<'a> Fn(crate::Row<'a>) -> Option<f64> + Send + Sync + 'static,
{
    Kernel::number(kernel).into()
}

fn integer<F>(kernel: F) -> Prepared
where
    F: for<'a> Fn(crate::Row<'a>) -> Option<i64> + Send + Sync + 'static,
{
    Kernel::integer(kernel).into()
}

fn truth<F>(kernel: F) -> Prepared
where
    F: for<'a> Fn(crate::Row<'a>) -> Option<bool> + Send + Sync + 'static,
{
    Kernel::truth(kernel).into()
}

/// Every function.
const FUNCTIONS: &[&[Function]] = &[
    bits::FUNCTIONS,
    commands::FUNCTIONS,
    forms::FUNCTIONS,
    hash::FUNCTIONS,
    json::FUNCTIONS,
    json_build::FUNCTIONS,
    json_edit::FUNCTIONS,
    math::FUNCTIONS,
    mv::FUNCTIONS,
    network::FUNCTIONS,
    pattern::FUNCTIONS,
    printf::FUNCTIONS,
    random::FUNCTIONS,
    round::FUNCTIONS,
    string::FUNCTIONS,
    time::FUNCTIONS,
    tonumber::FUNCTIONS,
    tostring::FUNCTIONS,
    type_checks::FUNCTIONS,
];

/// Returns the function with this registered name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}

/// Iterates over all functions.
pub fn all() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_those_that_the_parser_knows() {
        let mut defined: Vec<&str> = all().map(|function| function.name).collect();
        defined.sort_unstable();
        // The parser turns calls of `in` into the operator.
        let known = spl::FUNCTIONS.iter().map(|function| function.name);
        let known: Vec<&str> = known.filter(|name| *name != "in").collect();
        assert_eq!(defined, known);
    }
}

//! The functions of `eval`: one file per family, each function once.
//!
//! Names, aliases, arity and help are in the registry of the parser ([`spl::FUNCTIONS`]); here is what each
//! function computes. A test ties the two together.
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

pub use json_build::json_of;
pub use network::{Network, Networks};

/// A function and how a call of it is computed.
#[derive(Debug)]
pub struct Function {
    /// Its name in [`spl::FUNCTIONS`].
    pub name: &'static str,
    /// How a call is computed.
    pub body: Body,
}

/// How a call is computed.
pub enum Body {
    /// Of the values of the arguments, row by row.
    Values {
        /// How numbers that carry decimals arrive.
        numbers: Numbers,
        /// Checks and compiles the constant arguments.
        prepare: fn(&Call<'_>) -> Result<Prepared, Refusal>,
    },
    /// The same value each time.
    Constant(Value<'static>),
    /// By the evaluators themselves: arguments are not simply evaluated, or their types decide.
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

/// Functions that are part of the evaluation: each evaluator has all of them, or refuses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The value behind the first true condition.
    Case,
    /// The first value that is not null.
    Coalesce,
    /// The number with all its digits.
    Exact,
    /// One of two values.
    If,
    /// Whether the value is not null.
    IsNotNull,
    /// Whether the value is null.
    IsNull,
    /// Fields of a lookup.
    Lookup,
    /// The values for which a condition holds.
    MvFilter,
    /// An expression for each value.
    MvMap,
    /// The time that all rows share.
    Now,
    /// Null if two values are equal.
    NullIf,
    /// Whether the event matches a search.
    SearchMatch,
    /// The number rounded to its significant digits.
    Sigfig,
    /// The fields of the event.
    ToJson,
    /// The message behind the first false condition.
    Validate,
}

/// How numbers that carry decimals ([`crate::value::Operation`]) arrive at a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// With all digits.
    Plain,
    /// As a field holds them: rounded to their decimals, and as text if zeros at the end count.
    Shown,
    /// As `Shown` if it is the only argument, else as `Plain`.
    ShownAlone,
}

impl Numbers {
    /// Whether numbers are shown in a call with so many arguments.
    #[must_use]
    pub fn are_shown(self, arguments: usize) -> bool {
        self == Self::Shown || (self == Self::ShownAlone && arguments == 1)
    }
}

/// A call as far as it is known before any event is read.
#[derive(Debug)]
pub struct Call<'c> {
    /// The name of the function.
    pub name: &'static str,
    /// The arguments.
    pub arguments: Vec<Argument<'c>>,
}

/// An argument as far as it is known before any event is read.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'c> {
    /// The type of its values.
    pub kind: ValueType,
    /// Its value, if it is a text or a number in the expression itself.
    pub constant: Option<Value<'c>>,
}

impl<'c> Call<'c> {
    fn len(&self) -> usize {
        self.arguments.len()
    }

    /// The constant text of an argument.
    fn text(&self, at: usize) -> Option<&'c str> {
        match self.arguments.get(at)?.constant? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The constant number of an argument.
    fn number(&self, at: usize) -> Option<f64> {
        match self.arguments.get(at)?.constant? {
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    fn kind(&self, at: usize) -> Option<ValueType> {
        self.arguments.get(at).map(|argument| argument.kind)
    }

    /// Which arguments are texts of the expression itself.
    fn literals(&self) -> Vec<bool> {
        (0..self.len()).map(|at| self.text(at).is_some()).collect()
    }
}

/// Why a call cannot be prepared, and which argument is at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The place of the argument.
    pub argument: usize,
    /// What is wrong with it.
    pub message: String,
}

fn refuse<T>(argument: usize, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { argument, message: message.into() })
}

/// A call whose constant arguments are compiled.
#[derive(Debug)]
pub struct Prepared {
    /// What it computes.
    pub kernel: Kernel,
    /// What the result depends on besides the values of the arguments.
    pub parameters: String,
    /// Whether it may give something else each time.
    pub is_volatile: bool,
    /// The decimals of the result.
    pub decimals: Decimals,
}

/// The decimals that a result carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimals {
    /// As many as it takes.
    AsNeeded,
    /// Always so many.
    Fixed(i64),
    /// As many as the value of this argument.
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

/// A function of values whose numbers have all their digits.
const fn plain(name: &'static str, prepare: fn(&Call<'_>) -> Preparation) -> Function {
    Function { name, body: Body::Values { numbers: Numbers::Plain, prepare } }
}

/// A function of values whose numbers are as a field holds them.
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

/// A function by its name in the registry.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}

/// Every function.
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

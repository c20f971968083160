//! The functions of `eval`, `where` and `fieldformat`: one registry, one file per function or
//! tight family.
//!
//! Guarantees: each function is in `FUNCTIONS` once, whatever its names; arguments that are
//! literals are compiled when planning.
//! It leaves operators and typing to `expr`.

mod bits;
mod commands;
mod conditional;
mod hash;
pub(crate) mod json;
mod json_build;
mod json_edit;
pub(crate) mod lookup;
mod math;
mod mv;
mod mv_each;
pub(crate) mod network;
pub(crate) use network::Network;
mod number_format;
pub(crate) mod pattern;
mod printf;
mod random;
mod round;
mod searchmatch;
mod string;
#[cfg(test)]
mod tests;
mod time;
mod tonumber;
mod tostring;
mod type_checks;
mod validate;

pub(crate) use round::rounded;

use spl::ast::{Call, Span};

use crate::Error;
use crate::expr::{Scope, Typed, compile};

/// A function and how a call of it becomes an expression.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name, then aliases.
    pub(crate) names: &'static [&'static str],
    /// The fewest and the most arguments.
    pub(crate) arity: (usize, usize),
    /// What a call becomes.
    pub(crate) build: Build,
    /// Whether it takes numbers as they are written, decimals included, rather than as numbers.
    shows: bool,
}

/// Two ways to build a call: from the values of the arguments, or from their syntax.
pub(crate) enum Build {
    /// Most functions: the arguments are values.
    Values(fn(Invocation<'_>) -> Result<Typed, Error>),
    /// Functions whose arguments are not simply evaluated, such as `mvfilter`.
    Syntax(fn(&Call, Span, &dyn Scope) -> Result<Typed, Error>),
}

impl std::fmt::Debug for Build {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Values(_) => "Values",
            Self::Syntax(_) => "Syntax",
        })
    }
}

/// Any number of arguments.
pub(crate) const ANY: usize = usize::MAX;

/// A call with evaluated arguments.
pub(crate) struct Invocation<'a> {
    pub(crate) arguments: Vec<Typed>,
    pub(crate) call: &'a Call,
    pub(crate) span: Span,
    pub(crate) scope: &'a dyn Scope,
}

impl Invocation<'_> {
    /// An error at an argument, or at the call if there is no such argument.
    pub(crate) fn error(&self, argument: usize, message: impl Into<String>) -> Error {
        let span = self.call.arguments.get(argument).map_or(self.span, |expr| expr.span);
        Error::invalid(message, span.start..span.end)
    }

    /// Arguments whose numbers are texts as they are written.
    pub(crate) fn texts(self) -> Vec<Typed> {
        self.arguments.into_iter().map(Typed::shown).collect()
    }

    /// The constant text of an argument.
    pub(crate) fn literal(&self, argument: usize) -> Option<&str> {
        self.arguments.get(argument)?.literal_text()
    }
}

/// Every function.
pub(crate) const FUNCTIONS: &[&[Function]] = &[
    bits::FUNCTIONS,
    commands::FUNCTIONS,
    conditional::FUNCTIONS,
    hash::FUNCTIONS,
    json::FUNCTIONS,
    json_build::FUNCTIONS,
    json_edit::FUNCTIONS,
    lookup::FUNCTIONS,
    math::FUNCTIONS,
    mv::FUNCTIONS,
    mv_each::FUNCTIONS,
    network::FUNCTIONS,
    pattern::FUNCTIONS,
    printf::FUNCTIONS,
    random::FUNCTIONS,
    round::FUNCTIONS,
    searchmatch::FUNCTIONS,
    string::FUNCTIONS,
    time::FUNCTIONS,
    tonumber::FUNCTIONS,
    tostring::FUNCTIONS,
    type_checks::FUNCTIONS,
    validate::FUNCTIONS,
];

/// A function by one of its names.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    let mut all = FUNCTIONS.iter().copied().flatten();
    all.find(|function| function.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// The names of all functions, aliases included.
pub fn names() -> impl Iterator<Item = &'static str> {
    let all = FUNCTIONS.iter().copied().flatten();
    all.flat_map(|function| function.names.iter().copied())
}

impl Function {
    /// Refuses a call with too few or too many arguments.
    pub(crate) fn check_arity(&self, call: &Call, span: Span) -> Result<(), Error> {
        let (fewest, most) = self.arity;
        let given = call.arguments.len();
        if (fewest..=most).contains(&given) {
            return Ok(());
        }
        let wanted = match (fewest, most) {
            (fewest, ANY) => format!("at least {fewest}"),
            (fewest, most) if fewest == most => format!("{fewest}"),
            (fewest, most) => format!("{fewest} to {most}"),
        };
        let name = &call.function.node;
        let message = format!("{name}() takes {wanted} arguments, not {given}");
        Err(Error::invalid(message, span.start..span.end))
    }

    /// The expression of a call.
    pub(crate) fn compile(
        &self,
        call: &Call,
        span: Span,
        scope: &dyn Scope,
    ) -> Result<Typed, Error> {
        match self.build {
            Build::Syntax(build) => build(call, span, scope),
            Build::Values(build) => {
                let argument = |expr| {
                    let value = compile(expr, scope)?;
                    Ok::<_, Error>(if self.shows { value } else { value.plain() })
                };
                let arguments = call.arguments.iter().map(argument);
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                build(Invocation { arguments, call, span, scope })
            }
        }
    }
}

/// A function of values, given as numbers where they are numbers.
pub(crate) const fn values(
    names: &'static [&'static str],
    arity: (usize, usize),
    build: fn(Invocation<'_>) -> Result<Typed, Error>,
) -> Function {
    Function { names, arity, build: Build::Values(build), shows: false }
}

/// A function of values whose numbers keep their decimals.
pub(crate) const fn shown_values(
    names: &'static [&'static str],
    arity: (usize, usize),
    build: fn(Invocation<'_>) -> Result<Typed, Error>,
) -> Function {
    Function { names, arity, build: Build::Values(build), shows: true }
}

/// A function of syntax.
pub(crate) const fn syntax(
    names: &'static [&'static str],
    arity: (usize, usize),
    build: fn(&Call, Span, &dyn Scope) -> Result<Typed, Error>,
) -> Function {
    Function { names, arity, build: Build::Syntax(build), shows: false }
}

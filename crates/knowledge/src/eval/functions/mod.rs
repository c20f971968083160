//! The functions of expressions: one registry, one file per family.
//!
//! Guarantees: each name is here once; arguments that are literals are compiled once. The number of
//! arguments is checked by the parser.

mod conditional;
mod digest;
mod json;
mod network;
mod number;
mod printf;
mod random;
mod several;
mod text;
mod time;
mod tostring;
mod types;

use super::node::{Kind, Node, Run, What};
use crate::pattern::Pattern;
use crate::time::{TimeFormat, TimeModifier};

use self::json::JsonPath;
use self::network::Network;
use self::text::Replacement;

/// A function.
#[derive(Debug)]
pub(super) struct Function {
    /// Its name, then aliases.
    pub(super) names: &'static [&'static str],
    pub(super) build: Build,
}

/// How a call becomes a node.
pub(super) enum Build {
    /// From the values of the arguments.
    Values { kind: ResultKind, prepare: Prepare, run: Run },
    /// From the nodes of the arguments, which are not all evaluated.
    Nodes(fn(Vec<Node>) -> Result<Node, String>),
    /// `mvmap` and `mvfilter`.
    Each { filters: bool },
}

impl std::fmt::Debug for Build {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Build")
    }
}

/// The kind of a function's results.
#[derive(Clone, Copy)]
pub(super) enum ResultKind {
    Always(Kind),
    /// A text for a text, several for several.
    OfEach,
    /// A number if all arguments are, else text.
    OfAll,
}

type Prepare = fn(&[Node]) -> Result<Prepared, String>;

/// Literal arguments, compiled.
#[derive(Debug)]
pub(super) enum Prepared {
    Nothing,
    Pattern(Pattern),
    Replace(Option<Pattern>, Option<Replacement>),
    Format(TimeFormat),
    Modifier(TimeModifier),
    Network(Network),
    Path(JsonPath),
}

const FUNCTIONS: &[&[Function]] = &[
    conditional::FUNCTIONS,
    digest::FUNCTIONS,
    json::FUNCTIONS,
    network::FUNCTIONS,
    number::FUNCTIONS,
    printf::FUNCTIONS,
    random::FUNCTIONS,
    several::FUNCTIONS,
    text::FUNCTIONS,
    time::FUNCTIONS,
    tostring::FUNCTIONS,
    types::FUNCTIONS,
];

/// A function by one of its names.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().copied().flatten().find(|function| function.names.contains(&name))
}

/// All names, aliases included.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().copied().flatten().flat_map(|function| function.names.iter().copied())
}

impl Function {
    pub(super) fn compile(&self, arguments: Vec<Node>) -> Result<Node, String> {
        match &self.build {
            Build::Values { kind, prepare, run } => {
                let kind = match kind {
                    ResultKind::Always(kind) => *kind,
                    ResultKind::OfEach => match arguments.first() {
                        Some(first) if first.kind == Kind::Multi => Kind::Multi,
                        _ => Kind::Text,
                    },
                    ResultKind::OfAll if arguments.iter().all(|node| node.kind.is_number()) => {
                        Kind::Number
                    }
                    ResultKind::OfAll => Kind::Text,
                };
                let prepared = Box::new(prepare(&arguments)?);
                Ok(Node::new(kind, What::Call { run: *run, arguments, prepared }))
            }
            Build::Nodes(build) => build(arguments),
            Build::Each { .. } => Err(format!("{}() is compiled by itself", self.names[0])),
        }
    }
}

const fn values(names: &'static [&'static str], kind: Kind, run: Run) -> Function {
    prepared(names, ResultKind::Always(kind), |_| Ok(Prepared::Nothing), run)
}

const fn each(names: &'static [&'static str], run: Run) -> Function {
    prepared(names, ResultKind::OfEach, |_| Ok(Prepared::Nothing), run)
}

const fn prepared(
    names: &'static [&'static str],
    kind: ResultKind,
    prepare: Prepare,
    run: Run,
) -> Function {
    Function { names, build: Build::Values { kind, prepare, run } }
}

const fn nodes(
    names: &'static [&'static str],
    build: fn(Vec<Node>) -> Result<Node, String>,
) -> Function {
    Function { names, build: Build::Nodes(build) }
}

//! `if`, `case`, `validate`, `coalesce`, `nullif`: the value of one of several branches.

use spl::ast::ComparisonOperator;

use super::Scope;
use super::node::{Carried, Evaluated, Node, What, converted};
use crate::row::Environment;
use crate::value::{Datum, ValueType, compare_values};

/// A list of conditions, each with a value.
#[derive(Debug)]
pub(super) struct Choice {
    branches: Vec<(Condition, Node)>,
    otherwise: Option<Box<Node>>,
}

/// The condition of a branch.
#[derive(Debug)]
pub(super) enum Condition {
    /// The expression is true.
    True(Node),
    /// The expression is false.
    False(Node),
    /// The value of the branch is not null.
    HasValue,
    /// The value of the branch is not equal to this one.
    DiffersFrom(Node),
}

impl Choice {
    /// Creates a node that gives the value of the first branch whose condition holds. All branches are
    /// converted to one type.
    pub(super) fn node(branches: Vec<(Condition, Node)>, otherwise: Option<Node>) -> Node {
        let values = || branches.iter().map(|(_, value)| value).chain(&otherwise);
        let kind = values().map(|value| value.kind).fold(ValueType::Null, ValueType::union);
        let carried = match kind {
            ValueType::Float => values().map(|value| value.carried).max().unwrap_or(Carried::No),
            _ => Carried::No,
        };
        let otherwise = otherwise.map(Box::new);
        Node::carrying(kind, carried, What::Choose(Self { branches, otherwise }))
    }

    pub(super) fn evaluate<'a>(
        &'a self,
        node: &'a Node,
        scope: &'a dyn Scope,
        env: &'a Environment,
    ) -> Evaluated<'a> {
        let holds = |(condition, value): &&'a (Condition, Node)| match condition {
            Condition::True(condition) => condition.truth(scope, env) == Some(true),
            Condition::False(condition) => condition.truth(scope, env) == Some(false),
            Condition::HasValue => !value.plain(scope, env).get().is_null(),
            Condition::DiffersFrom(other) => {
                let (value, other) = (value.plain(scope, env), other.plain(scope, env));
                let equal = ComparisonOperator::Equal;
                compare_values(equal, value.get(), other.get()) != Some(true)
            }
        };
        let chosen = self.branches.iter().find(holds);
        let Some(value) = chosen.map(|(_, value)| value).or(self.otherwise.as_deref()) else {
            return Datum::NULL.into();
        };
        if node.carried == Carried::No {
            return value.to(node.kind, scope, env).into();
        }
        // The precision is that of the chosen branch.
        let Evaluated { value, places } = value.evaluate(scope, env);
        Evaluated { value: converted(value, node.kind), places }
    }
}

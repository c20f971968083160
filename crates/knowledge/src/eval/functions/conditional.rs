//! `if`, `case`, `coalesce`, `ifnull`, `nullif`, `validate`, `null`, `true`, `false`.

use spl::ast::ComparisonOperator;

use super::{Function, nodes, values};
use crate::eval::node::{Kind, Node, What};
use crate::eval::value::{Value, compare};

pub(super) const FUNCTIONS: &[Function] = &[
    nodes(&["if"], if_),
    nodes(&["case"], |arguments| choose(arguments, true, None)),
    nodes(&["validate"], |arguments| choose(arguments, false, None)),
    nodes(&["coalesce"], coalesce),
    nodes(&["ifnull"], coalesce),
    values(&["nullif"], Kind::Text, |arguments| {
        let (left, right) = (arguments.value(0), arguments.value(1));
        match compare(ComparisonOperator::Equal, left, right) {
            Some(true) => Value::Null,
            _ => left.clone(),
        }
    }),
    nodes(&["null"], |_| Ok(Node::constant(Kind::Null, Value::Null))),
    nodes(&["true"], |_| Ok(Node::constant(Kind::Truth, Value::Truth(true)))),
    nodes(&["false"], |_| Ok(Node::constant(Kind::Truth, Value::Truth(false)))),
];

fn if_(mut arguments: Vec<Node>) -> Result<Node, String> {
    let otherwise = arguments.pop();
    choose(arguments, true, otherwise)
}

fn choose(arguments: Vec<Node>, when: bool, otherwise: Option<Node>) -> Result<Node, String> {
    if arguments.len() % 2 == 1 {
        return Err("the last condition has no value".to_owned());
    }
    let mut branches = Vec::with_capacity(arguments.len() / 2);
    let mut rest = arguments.into_iter();
    while let (Some(condition), Some(value)) = (rest.next(), rest.next()) {
        branches.push((condition, value));
    }
    let kinds = branches.iter().map(|(_, value)| value.kind);
    let all = kinds.chain(otherwise.as_ref().map(|node| node.kind));
    let kind = all.fold(Kind::Null, Kind::union);
    let otherwise = otherwise.map(Box::new);
    Ok(Node::new(kind, What::Choose { branches, when, otherwise }))
}

fn coalesce(arguments: Vec<Node>) -> Result<Node, String> {
    let kind = arguments.iter().map(|node| node.kind).fold(Kind::Null, Kind::union);
    Ok(Node::new(kind, What::Coalesce(arguments)))
}

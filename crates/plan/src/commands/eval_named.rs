//! `eval {x}=...`: assignments whose field names contain values of other fields.
//!
//! Split: as for all fields whose names are in texts, see `discover`.

use std::sync::Arc;

use exprs::compile;
use exprs::kernel::text;
use frames::Frame;
use spl::Span;
use spl::ast::{Assignment, Command, EvalCommand, Spanned};

use super::Step;
use super::discover::{Discovery, Existing, Finder};
use super::eval::stored;
use crate::Error;
use context::planning::PlanningContext;

/// Temporary columns for the name and the value of the assigned field; `Discovery` removes them.
const COLUMNS: [&str; 2] = ["__assigned_name", "__assigned_value"];

/// A piece of a field name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// Literal text.
    Literal(String),
    /// The value of a field.
    Field(String),
}

/// Splits a name into pieces if it contains a `{field}`. The `{}` of JSON arrays is literal text.
pub(crate) fn pieces(name: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let (mut rest, mut literal) = (name, String::new());
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}').map(|at| open + at) else { break };
        let field = &rest[open + 1..close];
        if field.is_empty() {
            literal.push_str(&rest[..=close]);
        } else {
            literal.push_str(&rest[..open]);
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(Piece::Field(field.to_owned()));
        }
        rest = &rest[close + 1..];
    }
    literal.push_str(rest);
    let named = !pieces.is_empty();
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    named.then_some(pieces)
}

/// Splits an `eval` at its first such assignment: those before it, the assignment alone, and those after it.
/// `None` if there is no such assignment.
pub(super) fn split(command: &EvalCommand, span: Span) -> Option<Vec<Spanned<Command>>> {
    let named = |assignment: &Assignment| pieces(&assignment.field.node).is_some();
    let at = command.assignments.iter().position(named)?;
    let (before, rest) = command.assignments.split_at(at);
    let (alone, behind) = rest.split_at(1);
    let parts = [before, alone, behind].into_iter().filter(|part| !part.is_empty());
    let eval = |part: &[Assignment]| {
        Spanned::new(Command::Eval(EvalCommand { assignments: part.to_vec() }), span)
    };
    Some(parts.map(eval).collect())
}

/// Plans one assignment whose field name depends on the row.
pub(super) fn plan(
    assignment: &Assignment,
    pieces: Vec<Piece>,
    frame: Frame,
    rest: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let value = compile(&assignment.expr, &env.scope(&frame))?.shown();
    let value = stored(value, &assignment.expr)?;
    let fields = pieces.iter().filter_map(|piece| match piece {
        Piece::Field(name) => Some(frame.field(name)),
        Piece::Literal(_) => None,
    });
    let fields: Vec<_> = fields.collect();
    let parameters = format!("{pieces:?}");
    let name = text("assigned_name", move |row, out| {
        let mut field = 0;
        for piece in &pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Field(_) => {
                    out.push_str(&row.text(field)?);
                    field += 1;
                }
            }
        }
        Some(())
    });
    let name = name.with(parameters).call(fields);
    let [name_column, value_column] = COLUMNS.map(str::to_owned);
    let frame =
        frame.with_columns(vec![(name_column.clone(), name), (value_column.clone(), value)])?;
    let discovery = Discovery {
        command: "eval",
        inputs: vec![name_column, value_column],
        finder: Arc::new(Assigned),
        several: |_| false,
        existing: Existing::Replaced,
    };
    discovery.plan(frame, rest, env)
}

#[derive(Debug)]
struct Assigned;

impl Finder for Assigned {
    fn identity(&self) -> String {
        "eval".to_owned()
    }

    fn find(&self, texts: &[Option<&str>], visit: &mut dyn FnMut(&str, &str)) -> Option<String> {
        let [Some(name), Some(value)] = texts else { return None };
        if name.starts_with('_') {
            return Some("a name from a value cannot begin with _".to_owned());
        }
        visit(name, value);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_their_fields() {
        let literal = |text: &str| Piece::Literal(text.to_owned());
        let field = |text: &str| Piece::Field(text.to_owned());
        assert_eq!(pieces("{x}"), Some(vec![field("x")]));
        assert_eq!(
            pieces("cpu_{host}.{core}_now"),
            Some(vec![
                literal("cpu_"),
                field("host"),
                literal("."),
                field("core"),
                literal("_now")
            ])
        );
        assert_eq!(pieces("items{}.name"), None);
        assert_eq!(pieces("items{}.{x}"), Some(vec![literal("items{}."), field("x")]));
        assert_eq!(pieces("plain"), None);
        assert_eq!(pieces("odd{"), None);
    }
}

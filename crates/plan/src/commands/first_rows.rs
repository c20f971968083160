//! How many first rows the commands behind a command use: a later `head` limits its input, too.
//!
//! The engine moves no limit below an operator over rows in order, nor below the merge of several searches,
//! so that these would read everything. How many rows `dedup`, and `head` with a condition, need depends on
//! their values: they say themselves which they use ([`Reduction`](frames::stream::Reduction)). What a
//! wildcard stands for may depend on all rows: no limit moves below a command that asks for it, since
//! planning counts fields for it before [`needed`] is asked.

use frames::Frame;
use spl::ast::{Command, Spanned};

use super::{Rest, eval_named, head};

/// How many of its first rows the commands use, if they say so.
pub(super) fn first_rows(rest: Rest<'_>) -> Option<usize> {
    let ends = rest.iter().find(|command| !keeps_rows(command))?;
    match &ends.node {
        Command::Head(command) => head::taken(command),
        _ => None,
    }
}

/// Whether a command makes one row of each, in their order, whatever other rows there are.
fn keeps_rows(command: &Spanned<Command>) -> bool {
    match &command.node {
        Command::Fields(_) | Command::Table(_) | Command::Rename(_) => true,
        Command::Eval(eval) => {
            let named = |name: &str| eval_named::pieces(name).is_some();
            !eval.assignments.iter().any(|assignment| named(&assignment.field.node))
        }
        _ => false,
    }
}

/// The rows that a command needs. One that keeps each row, and adds what it has seen in the rows before it,
/// needs no more rows than the commands behind it, nor does one that makes at least one row of each.
pub(super) fn needed(command: &Command, frame: Frame, rest: Rest<'_>) -> Frame {
    let is_enough = match command {
        Command::Accum(_)
        | Command::Autoregress(_)
        | Command::Delta(_)
        | Command::Filldown(_)
        | Command::Mvexpand(_)
        | Command::Streamstats(_) => true,
        Command::Dedup(dedup) => dedup.keepevents && dedup.sortby.is_empty(),
        _ => false,
    };
    limited(frame, first_rows(rest).filter(|_| is_enough))
}

/// The rows that are used: all, if it is not certain how many.
pub(super) fn limited(frame: Frame, used: Option<usize>) -> Frame {
    match used {
        Some(rows) => frame.limit(rows),
        None => frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_of(commands: &str) -> Option<usize> {
        let pipeline = spl::parse(&format!("index=main | {commands}")).expect("it is SPL");
        first_rows(&pipeline.commands[1..])
    }

    #[test]
    fn a_head_behind_commands_that_keep_rows_limits_their_input() {
        assert_eq!(first_of("head"), Some(10));
        assert_eq!(first_of("head 3"), Some(3));
        assert_eq!(first_of("eval x=1 | rename x AS y | fields y | table y | head 3"), Some(3));
        assert_eq!(first_of("fields - x | head 3"), Some(3));
        assert_eq!(first_of("head limit=3 (x<3)"), Some(3));
    }

    #[test]
    fn other_commands_need_all_rows() {
        for commands in [
            "eval x=1",
            "where x=1 | head 3",
            "sort x | head 3",
            "dedup x | head 3",
            "fillnull | head 3",
            "eval {x}=1 | head 3",
            "eval y=1, {x}=1 | head 3",
            "head x<3",
            "tail 3",
        ] {
            assert_eq!(first_of(commands), None, "{commands}");
        }
    }
}

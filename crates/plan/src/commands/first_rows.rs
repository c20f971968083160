//! The number of first rows that the next commands use: a later `head` limits the input of a command, too.
//!
//! The engine moves limits neither below an operator over ordered rows nor below the merge of several
//! searches; without this module, such plans would read everything. `dedup`, and `head` with a condition,
//! need a number of rows that depends on the values: they decide themselves which rows they use
//! ([`Reduction`](frames::stream::Reduction)). The fields that match a wildcard may depend on all rows: no
//! limit moves below a command with a wildcard, since planning counts the fields for it before [`needed`] is
//! called.

use frames::Frame;
use spl::ast::{Command, Spanned};

use super::{Rest, eval_named, head};

/// The number of first rows that the next commands use, if it is fixed.
pub(super) fn first_rows(rest: Rest<'_>) -> Option<usize> {
    let ends = rest.iter().find(|command| !keeps_rows(command))?;
    match &ends.node {
        Command::Head(command) => head::taken(command),
        _ => None,
    }
}

/// Whether a command returns one row for each input row, in the same order, independently of other rows.
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

/// Limits the rows to those that a command needs. A command that adds values of earlier rows to each row
/// needs no more rows than the commands after it; the same holds for a command that returns at least one row
/// for each row.
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

/// Limits the frame to the rows that are used; `None` means all rows.
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

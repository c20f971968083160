//! The capabilities that commands require: command definitions declare them, planning enforces them, and
//! `docs/rights.md` lists them.
//!
//! Guarantees: no command is planned without its right. Objects that commands name - lookups, macros, data
//! models - are the business of [`Host`](crate::host::Host) and of the knowledge that a search is
//! planned with.

pub use spl::CommandRight;
use spl::ast::{Command, Spanned};

use crate::plan_context::PlanContext;
use frames::Error;

/// Returns the commands that require more than `search`, by name.
#[must_use]
pub fn guarded() -> Vec<(&'static str, CommandRight)> {
    let rights = spl::COMMANDS.iter().map(|command| (command.name, command.right));
    rights.filter(|(_, right)| *right != CommandRight::FREE).collect()
}

/// Returns the commands that every user with `search` may use, by name.
#[must_use]
pub fn free() -> Vec<&'static str> {
    let free = spl::COMMANDS.iter().filter(|command| command.right == CommandRight::FREE);
    free.map(|command| command.name).collect()
}

/// Returns the capabilities that a command requires, by its registered name; none if it does not exist.
#[must_use]
pub fn right_of(command: &str) -> Option<CommandRight> {
    let found = spl::COMMANDS.iter().find(|found| found.name == command);
    found.map(|command| command.right)
}

/// Rejects a command that the user may not use, or not here.
pub fn check(command: &Spanned<Command>, context: &PlanContext) -> Result<(), Error> {
    let (name, host) = (command.node.name(), &context.host);
    let right = command.node.definition().right;
    if let Some(capability) = right.capability.filter(|capability| !host.may(capability)) {
        let text =
            format!("{name} needs the capability {capability}, which none of your roles has");
        return Err(Error::forbidden(text, command.span));
    }
    if right.writes && host.reads_only() {
        let text =
            format!("{name} writes, which is not allowed in a GET request: send it with POST");
        return Err(Error::forbidden(text, command.span));
    }
    if right.unfiltered && context.restriction.filter.is_some() {
        let text = format!(
            "{name} reads bucket summaries, to which the srchFilter of your roles cannot be applied; \
             use search or tstats"
        );
        return Err(Error::forbidden(text, command.span));
    }
    Ok(())
}

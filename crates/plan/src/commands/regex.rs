//! `regex`: keeps rows whose field matches a regular expression.
//!
//! Split: runs where the rows are, pruned by what every match holds.

use spl::ast::RegexCommand;

use crate::Error;
use crate::frame::Frame;
use crate::pipeline::Env;
use crate::predicate::{RegexTest, regex};

pub(super) fn plan(command: &RegexCommand, frame: Frame, env: &Env<'_>) -> Result<Frame, Error> {
    let test = RegexTest::new(&command.pattern.node, command.negated).map_err(|reason| {
        let message = format!("the regular expression is not valid: {reason}");
        Error::at(message, command.pattern.span)
    })?;
    let name = command.field.as_ref().map_or("_raw", |field| field.node.as_str());
    let condition = regex(name, test, &env.scope(&frame));
    frame.filter(condition)
}

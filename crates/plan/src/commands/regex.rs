//! `regex`: keeps rows whose field matches a regular expression.
//!
//! Split: runs where the rows are.

use std::sync::Arc;

use spl::ast::RegexCommand;

use crate::Error;
use crate::expr::kernel::truth;
use crate::frame::Frame;
use crate::functions::pattern::Pattern;

pub(super) fn plan(command: &RegexCommand, frame: Frame) -> Result<Frame, Error> {
    let source = &command.pattern.node;
    let pattern = Pattern::new(source).map_err(|reason| {
        let message = format!("the regular expression is not valid: {reason}");
        Error::at(message, command.pattern.span)
    })?;
    let name = command.field.as_ref().map_or("_raw", |field| field.node.as_str());
    let (pattern, negated) = (Arc::new(pattern), command.negated);
    let function = truth("regex", move |row| {
        let mut found = false;
        // A field without value matches nothing, so that `!=` keeps its row.
        row.value(0).each_text(|text| found = found || pattern.is_match(text));
        Some(found != negated)
    });
    let matches = function.with(format!("{negated} {source}")).call(vec![frame.field(name)]);
    frame.filter(matches.expr)
}
